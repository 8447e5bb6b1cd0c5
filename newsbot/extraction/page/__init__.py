"""Parses a page to a tree, and collects its metadata and structured data.

Files in reading order:

* ``parse``: parses bytes to a tree of bounded size; ``charset`` and ``charset_scores`` find the encoding
* ``page``: the tree with metadata and structured data, collected in one walk
* ``jsonld``: JSON-LD of the page
* ``visible``: the visible text of the page
* ``canonical``: the canonical URL that the page states
* ``variants``: decides whether two URLs are forms of one page
"""
