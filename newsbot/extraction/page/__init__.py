"""A page as a tree, with its metadata and structured data.

Files in reading order:

* ``parse``: from bytes to a tree, bounded; ``charset`` and ``charset_scores`` find the encoding
* ``page``: the tree with metadata and structured data, collected in one walk
* ``jsonld``: JSON-LD of the page
* ``visible``: the visible text of the page
* ``canonical``: the canonical URL that the page states
* ``variants``: whether two URLs are forms of one page
"""
