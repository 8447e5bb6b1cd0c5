"""From the bytes of a page to an article, without Scrapy.

:func:`extract` is the whole; :func:`read_page` takes what a crawler knows besides and says why a page
is no article; :func:`parse_html` gives the tree that both share with others. :class:`SiteMemory` holds
what the pages of one site have in common. :func:`next_page`, :func:`first_page` and :func:`join_pages`
serve articles of several pages, :func:`is_substantial` says whether an edit makes a new version.
"""

from newsbot.extraction.article import extract, read_page
from newsbot.extraction.changes import is_substantial
from newsbot.extraction.page.parse import parse_html
from newsbot.extraction.pagination import first_page, join_pages, next_page
from newsbot.extraction.site_boilerplate import SiteMemories, SiteMemory

__all__ = [
    "SiteMemories",
    "SiteMemory",
    "extract",
    "first_page",
    "is_substantial",
    "join_pages",
    "next_page",
    "parse_html",
    "read_page",
]
