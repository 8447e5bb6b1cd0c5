"""newsbot: a distributed crawler for news sites.

It finds articles in feeds, sitemaps and pages, extracts their text and stores them. The Python interface is
in :mod:`newsbot.api`.

The following list shows the packages and modules. It begins with the lowest layer. Each entry imports only
from entries before it:

* ``errors``, ``clock``, ``urls``, ``items``: used everywhere
* ``config``: the table of settings, and the checks of their values
* ``connections``: opens the data file, connects to Redis and MongoDB
* ``cli``: base classes of the commands, the terminal, log lines
* ``text``: words, months, time zones, differences between texts
* ``rules``: the rules of each site, as data
* ``rights``: the rights that sites and pages reserve
* ``warc``: writes and reads WARC files
* ``recrawl``: when a page is fetched again
* ``extraction``: from the bytes of a page to an article
* ``frontier``: which URL is fetched next, by whom, and when
* ``storage``: pages, articles, stories and sources
* ``dedup``: finds equal and similar texts
* ``search``: queries, the search index, snippets
* ``discovery``: feeds, sitemaps, sections and the links in them
* ``ranking``: decides whether a link is an article, and how soon it is fetched
* ``push``: notices of changes
* ``backends``: opens the frontier, the storage and the index that the settings name
* ``sites``: what workers learn about sites and share with each other
* ``alerts``: finds problems of a crawl and sends alerts
* ``monitoring``: makes reports on sites
* ``sensor``: the program that site owners install
* ``crawl``: one crawl, from the lease of a URL to its acknowledgement
* ``middlewares``, ``spiders``, ``pipelines``, ``extensions``: thin Scrapy parts
* ``api``: the Python interface
* ``simulator``: compares polling strategies
* ``operations``: what the commands do: add, remove, prune, move, import, export, explain and more
* ``authoring``: writes the rule of a site
* ``web``: the dashboard, the HTTP API and the receiver of push notifications
* ``demo``: the generated news sites of ``scrapy demo``
* ``commands``: declares the commands
* ``settings``: Scrapy's settings module
* ``__main__``: the program ``newsbot``
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from newsbot.api import Article, crawl, extract, open_storage

__all__ = ["Article", "crawl", "extract", "open_storage"]

__version__ = "0.1.0"


def __dir__() -> list[str]:
    """Return the names of the Python interface, which are imported only when they are used."""
    return [*__all__, "__version__"]


def __getattr__(name: str) -> Any:
    """Import the Python interface only when it is used, because commands do not need it."""
    if name in __all__:
        from importlib import import_module  # noqa: PLC0415  # only programs that use the interface need it

        return getattr(import_module("newsbot.api"), name)
    raise AttributeError(f"module 'newsbot' has no attribute '{name}'")
