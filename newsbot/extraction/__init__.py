"""From the bytes of a page to an article, without Scrapy.

:func:`extract` does the whole work. :func:`read_page` also takes what a crawler knows, and says why a page is
not an article. :func:`parse_html` gives the tree that both use. :class:`SiteMemory` holds what the articles
of one site have in common. :func:`next_page`, :func:`first_page` and :func:`join_pages` handle articles of
several pages. :func:`is_substantial` decides whether an edit makes a new version.

Files in reading order:

* ``article``: from a page to an article, each field by evidence
* ``page``: from bytes to a tree with its metadata and structured data
* ``fields``: title, authors, dates and the smaller fields
* ``body``: the text of the article
* ``verdict``: whether the page is an article; ``notices`` (errors, logins, cookies) and
  ``kinds_and_paywalls`` (live blog, gallery, teaser) serve it
* ``selectors``: the results of the selectors of a site's rule
* ``site_boilerplate``: lines that a site prints around its articles
* ``pagination``: articles of several pages
* ``changes``: whether an edit makes a new version
* ``blocks``, ``strings``, ``stopwords``: paragraphs of markup, clean strings, frequent words
"""

from newsbot.extraction.article import extract, read_page
from newsbot.extraction.body.embedded import made_by_scripts
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
    "made_by_scripts",
    "next_page",
    "parse_html",
    "read_page",
]
