"""Finds the times at which an article was published and last changed.

Files in reading order:

* ``published``: chooses between the candidates
* ``candidates``: times in a page, its URL and the link to it
* ``visible``: dates in the visible text
* ``moments``: parses dates and times, also with other digits and in other calendars
* ``relative``: parses "5 minutes ago" and "yesterday"
* ``zones``: the time zone of a site whose pages give only UTC
"""
