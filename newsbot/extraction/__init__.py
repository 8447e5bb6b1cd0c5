"""From the bytes of a page to an article, without Scrapy.

:func:`extract` is the whole; :func:`read_page` takes what a crawler knows besides and says why a page
is no article; :func:`parse_html` gives the tree that both share with others. :class:`SiteMemory` holds
what the pages of one site have in common. :func:`next_page`, :func:`first_page` and :func:`join_pages`
serve articles of several pages, :func:`is_substantial` says whether an edit makes a new version.

Files in reading order:

* ``article``: from a page to an article, each field by evidence
* ``page``: from bytes to a tree with all that its head and its markup state
* ``fields``: title, authors, dates and the smaller fields
* ``body``: the text of the article
* ``verdict``: whether the page is an article; ``notices`` (errors, logins, cookies) and
  ``kinds_and_paywalls`` (live blog, gallery, teaser) serve it
* ``selectors``: what the selectors of a site's rule find
* ``site_boilerplate``: lines that a site prints on page after page, in a ``line_table``
* ``pagination``: articles of several pages
* ``changes``: whether an edit makes a new version
* ``blocks``, ``asides``, ``strings``, ``stopwords``: paragraphs of markup, small signs within a line,
  clean strings, frequent words
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
