"""Finds the fields of an article besides its text.

Files in reading order:

* ``evidence``: a value of a field, its source, and the confidence in it
* ``titles``: headlines; ``site_name`` removes the name of the site
* ``authors``: the names of the authors; ``author_marks``, ``names`` and ``agencies`` find and clean them
* ``dates``: when the article was published and changed
* ``language``: the language of the text
* ``details``: summary, section, tags, picture
"""
