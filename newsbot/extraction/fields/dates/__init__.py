"""Finds the times at which an article was published and last changed.

Files in reading order:

* ``published``: chooses between the candidates; the time zone of the site
* ``candidates``: times in the metadata and the visible text of a page, its URL and the link to it
* ``moments``: parses dates and times, also with other digits and in other calendars
* ``relative``: parses "5 minutes ago" and "yesterday"
"""
