"""Parses a page to a tree, and collects its metadata and structured data.

Files in reading order:

* ``page``: parses bytes to a tree of bounded size, and collects its metadata and structured data in one walk
* ``charset``, ``charset_scores``: find the encoding
* ``jsonld``: JSON-LD of the page
* ``visible``: the visible text of the page
* ``canonical``: the canonical URL that the page states; decides whether two URLs are forms of one page
"""
