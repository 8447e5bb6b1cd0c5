"""Parses a page to a tree, and collects its metadata and structured data.

Files in reading order:

* ``page``: parses bytes to a tree of bounded size, and collects its metadata and structured data in one walk
* ``charset``: finds the encoding
* ``shell``: repairs the ``html``, ``head`` and ``body`` tags as browsers do
* ``jsonld``: JSON-LD of the page
* ``hidden``: elements whose text no reader sees
* ``visible``: the visible text of the page, and the paragraphs of markup
* ``canonical``: the canonical URL that the page states, and the address to which it forwards its readers;
  decides whether two URLs are forms of one page
"""
