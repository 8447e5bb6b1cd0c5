"""Finds the text of an article.

Files in reading order:

* ``text``: takes the text from the rule, or decides by decision trees (``forest.json``) which pieces belong
  to it, compares it with structured data, and leaves out further articles below the page's own article
* ``selectors``: applies the selectors of a site's rule
* ``pieces``: cuts the page into pieces of text, each with the boxes of markup around it, in one walk
* ``features``: computes numbers about each piece
* ``furniture``: leaves out comments, captions of galleries, mottos and side columns, lines whose words show
  that they are not part of the article, and the headline, names and date; finds tables and lists between the
  paragraphs of an article
* ``embedded``: finds text that a page contains only as data for its scripts, and pages whose scripts fetch it
"""
