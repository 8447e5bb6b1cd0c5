"""Extracts an article from the bytes of a page, without Scrapy.

:func:`extract` returns the article of a page. For a crawler, :func:`read_page` does the same with more
arguments, and reports why a page is not an article. Both functions use :func:`parse_html`, which returns the
tree of a page. :class:`SiteMemory` holds the lines that the articles of one site have in common.
:func:`next_page`, :func:`first_page` and :func:`join_pages` handle articles of several pages.
:func:`is_substantial` decides whether an edit makes a new version.

Files in reading order:

* ``article``: makes an article from a page and chooses the value of each field
* ``page``: parses bytes to a tree with its metadata and structured data
* ``fields``: title, authors, dates and the smaller fields
* ``body``: the text of the article
* ``evidence``: measures the evidence that a page is an article, and its likeness to the articles of the site
* ``verdict``: decides whether the page is an article, and recognises errors, logins and cookie notices;
  ``kinds_and_paywalls`` recognises live blogs, galleries and teasers
* ``selectors``: applies the selectors of a site's rule
* ``site_boilerplate``: finds lines that a site prints around its articles
* ``pagination``: joins articles of several pages
* ``changes``: decides whether an edit makes a new version
* ``documents``: the interface for files that are not HTML
* ``strings``: clean strings
"""

from newsbot.pages.extraction.article import Reading, extract, read, read_page
from newsbot.pages.extraction.body.embedded import made_by_scripts
from newsbot.pages.extraction.changes import is_substantial
from newsbot.pages.extraction.page.page import parse_html
from newsbot.pages.extraction.pagination import first_page, join_pages, next_page
from newsbot.pages.extraction.site_boilerplate import SiteMemories, SiteMemory

__all__ = [
    "Reading",
    "SiteMemories",
    "SiteMemory",
    "extract",
    "first_page",
    "is_substantial",
    "join_pages",
    "made_by_scripts",
    "next_page",
    "parse_html",
    "read",
    "read_page",
]
