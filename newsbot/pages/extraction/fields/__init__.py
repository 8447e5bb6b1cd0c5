"""Finds the fields of an article besides its text.

Files in reading order:

* ``evidence``: a value of a field, its source, and the confidence in it
* ``titles``: headlines, without the name of the site
* ``authors``: the names of the authors and of news agencies
* ``dates``: when the article was published and changed
* ``language``: the language of the text
* ``details``: summary, section, tags, main picture
* ``media``: pictures, audio and video
"""
