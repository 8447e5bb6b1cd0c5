"""The fields of an article besides its text.

Files in reading order:

* ``evidence``: the value of a field, where it was found, how far it is trusted
* ``titles``: headlines; ``site_name`` takes the name of the site off
* ``authors``: a clean list of names; ``author_marks``, ``names`` and ``agencies`` find and clean them
* ``dates``: when it was published and changed
* ``language``: the language of the text
* ``details``: summary, section, tags, picture
"""
