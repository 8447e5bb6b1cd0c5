"""Parses a page to a tree, and collects its metadata and structured data.

Files in reading order:

* ``page``: parses bytes to a tree of bounded size, and collects its metadata and structured data in one walk
* ``charset``, ``charset_scores``: find the encoding
* ``shell``: repairs the ``html``, ``head`` and ``body`` tags as browsers do
* ``jsonld``: JSON-LD of the page
* ``hidden``: elements whose text no reader sees
* ``visible``: the visible text of the page
* ``refresh``: the address to which a page forwards its readers
* ``canonical``: the canonical URL that the page states; decides whether two URLs are forms of one page
"""
