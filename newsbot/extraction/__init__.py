"""From the bytes of a page to an article, without Scrapy.

:func:`extract` is the whole; :func:`read_page` takes what a crawler knows besides and says why a page
is no article; :func:`parse_html` gives the tree that both share with others.
"""

from newsbot.extraction.article import extract, read_page
from newsbot.extraction.parse import parse_html

__all__ = ["extract", "parse_html", "read_page"]
