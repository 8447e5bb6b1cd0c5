"""The text of an article.

Files in reading order:

* ``text``: the text by the rule, else by the extractor, checked against structured data
* ``extractor``: one extractor, checked, and a vote of three in doubt; ``trafilatura_main`` (with
  ``local_search`` and ``predicates`` in place of XPath) and ``density`` are its candidates
* ``learned``: which pieces of the page belong to the article, by ``forest``
* ``pieces``: the page cut into pieces, each with the boxes of markup that it lies in
* ``word_features``, ``group_features``, ``context_features``: what the forest sees of a piece;
  ``talk`` (what the words of a line are about) and ``tallies`` (packed counts) serve them
* ``openings``, ``tidy``, ``remarks``, ``legal_notes``: lines that open an article, and lines that are
  not part of it
* ``next_articles``: whole articles below the page's own
* ``embedded``: text that a page carries only as data for its scripts
"""
