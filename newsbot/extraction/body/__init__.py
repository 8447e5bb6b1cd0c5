"""Finds the text of an article.

Files in reading order:

* ``text``: takes the text from the rule or from the extractor, checks it against structured data, and leaves
  out further articles below the page's own
* ``extractor``: runs trafilatura (with ``local_search`` and ``predicates`` in place of XPath) and corrects
  its text by learned decision trees; ``density`` reads pages that are too large
* ``learned``: decides by ``forest`` which pieces of the page belong to the article
* ``pieces``: cuts the page into pieces, each with the boxes of markup around it
* ``word_features``, ``group_features``, ``context_features``: compute the features of a piece for the forest;
  ``talk`` counts the subjects of its words
* ``openings``, ``tidy``: find lines that open an article, and lines that are not part of it
* ``embedded``: finds text that a page contains only as data for its scripts, and pages whose scripts fetch it
"""
