"""The fields of an article besides its text.

Files in reading order:

* ``evidence``: the value of a field, its source, and the trust in it
* ``titles``: headlines; ``site_name`` removes the name of the site
* ``authors``: a clean list of names; ``author_marks``, ``names`` and ``agencies`` find and clean them
* ``dates``: when the article was published and changed
* ``language``: the language of the text
* ``details``: summary, section, tags, picture
"""
