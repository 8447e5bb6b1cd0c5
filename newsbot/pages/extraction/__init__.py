"""Extracts an article from the bytes of a page, without Scrapy.

:func:`extract` returns the article of a page. For a crawler, :func:`read_page` does the same with more
arguments, and reports why a page is not an article. Both functions use :func:`parse_html`, which returns the
tree of a page. :class:`SiteMemory` holds the lines that the articles of one site have in common.
:func:`next_page`, :func:`first_page` and :func:`join_pages` handle articles of several pages.
:func:`is_substantial` decides whether an edit makes a new version.

Files in reading order:

* ``article``: makes an article from a page and chooses the value of each field
* ``parsing``: parses bytes to a tree of bounded size
* ``page``: the metadata and structured data of a page
* ``visible``: the visible text of a page, the paragraphs of markup, and elements whose text no reader sees
* ``fields``: title, authors, dates and the smaller fields
* ``body``: the text of the article
* ``verdict``: decides from the evidence in the page, and from its likeness to the articles of the site,
  whether it is an article; recognises errors, logins and cookie notices
* ``comparison``: decides whether an edit makes a new version; finds lines that a site prints around
  its articles
* ``addresses``: the canonical URL of a page, and the next page; joins articles of several pages
"""

from newsbot.pages.extraction.addresses import first_page, join_pages, next_page
from newsbot.pages.extraction.article import Reading, extract, read, read_page
from newsbot.pages.extraction.body.embedded import made_by_scripts
from newsbot.pages.extraction.comparison import SiteMemories, SiteMemory, is_substantial
from newsbot.pages.extraction.parsing import parse_html

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
