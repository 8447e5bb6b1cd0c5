"""A page as a tree, with all that its head and its markup say.

Files in reading order:

* ``parse``: from bytes to a tree, bounded; ``charset`` and ``charset_scores`` find the encoding
* ``page``: the tree with metadata and structured data, collected in one walk
* ``jsonld``: JSON-LD of the page
* ``visible``: what a reader sees of it
* ``canonical``: the canonical address that it names
* ``variants``: whether two addresses are forms of one page
"""
