"""From the bytes of a page to an article, without Scrapy.

:func:`extract` is the whole; :func:`read_page` takes what a crawler knows besides and says why a page
is no article; :func:`parse_html` gives the tree that both share with others. :class:`SiteMemory` holds
what the pages of one site have in common.
"""

from newsbot.extraction.article import extract, read_page
from newsbot.extraction.boilerplate import SiteMemory
from newsbot.extraction.parse import parse_html

__all__ = ["SiteMemory", "extract", "parse_html", "read_page"]
