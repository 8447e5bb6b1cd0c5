"""The text of an article.

Files in reading order:

* ``text``: the text by the rule, else by the extractor, checked against structured data; further articles
  below the page's own are left out
* ``extractor``: trafilatura's text (with ``local_search`` and ``predicates`` in place of XPath),
  corrected by learned trees; ``density`` reads pages that are too large
* ``learned``: which pieces of the page belong to the article, by ``forest``
* ``pieces``: the page cut into pieces, each with the boxes of markup around it
* ``word_features``, ``group_features``, ``context_features``: the features of a piece for the forest;
  ``talk`` counts the subjects of its words
* ``openings``, ``tidy``: lines that open an article, and lines that are not part of it
* ``embedded``: text that a page contains only as data for its scripts, or that its scripts fetch
"""
