"""Finds the times at which an article was published and last changed.

Files in reading order:

* ``published``: chooses between the candidates
* ``candidates``: times in the metadata and the visible text of a page, in its URL, and in the link to the
  page
* ``own``: decides whether a place on the page can hold the article's own date
* ``zones``: the country and the time zone of a site; parses "5 minutes ago" and "yesterday"
* ``moments``: parses dates and times, including other digits and other calendars
"""
