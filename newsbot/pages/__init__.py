"""The library: from bytes to articles and links. It uses no network, no server and no Scrapy.

* ``extraction``: from the bytes of a page to an article
* ``discovery``: reads feeds, sitemaps and lists, and finds the sources of a site
* ``rules``: the rules of each site, as data
* ``rights``: the rights that sites and pages reserve
* ``text``: words, months, time zones, differences between texts

``from newsbot.pages import extract`` reads one page.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from newsbot.pages.extraction import extract, read_page

__all__ = ["extract", "read_page"]


def __getattr__(name: str) -> Any:
    """Import the functions only when they are used, because parts of the library need less."""
    if name in __all__:
        from importlib import import_module  # noqa: PLC0415  # as above

        return getattr(import_module("newsbot.pages.extraction"), name)
    raise AttributeError(f"module 'newsbot.pages' has no attribute '{name}'")
