"""Reads what a site allows to be done with its pages: robots directives and reservations against use by AI.

Robots directives control newsbot itself. Signals about AI and text and data mining do not: they are recorded
with each article, so that an export can leave out the articles that their owner has reserved
(:func:`opted_out`).

Files in reading order:

* ``directives``: directives and reservations of a page
* ``site_files``: statements about AI in robots.txt, and reservations in ``/.well-known/tdmrep.json``
"""
