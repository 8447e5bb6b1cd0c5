"""The library: from bytes to articles and links. It uses no network, no server and no Scrapy.

* ``extraction``: from the bytes of a page to an article
* ``discovery``: reads feeds, sitemaps and lists, and finds the sources of a site
* ``rules``: the rules of each site, as data
* ``rights``: the rights that sites and pages reserve
* ``text``: words, months, time zones, differences between texts

``from newsbot.pages import extract`` reads one page. The models are loaded at the first page.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from newsbot.items import Article
    from newsbot.pages.rules.rule import Rule

__all__ = ["extract", "read_page"]


def extract(html: bytes | str, url: str, rule: Rule | None = None) -> Article | None:
    """Return the article of a page; see :func:`newsbot.pages.extraction.article.extract`."""
    from newsbot.pages.extraction import article  # noqa: PLC0415  # its import takes longer than a page

    return article.extract(html, url, rule)


def read_page(html: bytes, url: str, **more: Any) -> Article:
    """Return the article of a page, or raise the reason why it is none.

    The arguments are those of :func:`newsbot.pages.extraction.article.read_page`.
    """
    from newsbot.pages.extraction import article  # noqa: PLC0415  # as above

    return article.read_page(html, url, **more)
