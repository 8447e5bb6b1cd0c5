"""newsbot: a distributed crawler for news sites.

It finds articles in feeds, sitemaps and pages, extracts their text and stores them. The Python interface is
in :mod:`newsbot.api`. The code has three storeys. Each imports only from itself and from those below.

* ``apps``: what can be left out. :mod:`newsbot.config.apps` finds the apps, those of other packages too
* the core crawls and stores, from its top to its bottom:

  * ``commands``: ``crawl``, and the commands of the apps
  * ``extensions``, ``pipelines``, ``spiders``, ``middlewares``: thin Scrapy parts
  * ``crawl``: one crawl, from the lease of a URL to its acknowledgement
  * ``sites``: what workers learn about sites and share with each other
  * ``backends``: opens the frontier, the storage and the index that the settings name
  * ``ranking``: decides whether a link is an article, and how soon it is fetched
  * ``dedup``: finds equal and similar texts
  * ``storage``: pages, articles, stories and sources
  * ``frontier``: which URL is fetched next, by whom, and when
  * ``recrawl``: when a page is fetched again
  * ``cli``: base classes of the commands, the terminal, log lines
  * ``connections``: opens the data file
  * ``config``: the table of settings, the checks of their values, and the apps

* ``pages`` is the library: from bytes to articles and links, without Scrapy, servers and network

Everything uses ``items``, ``urls``, ``clock`` and ``errors``. ``api`` is the Python interface, ``settings``
is Scrapy's settings module, and ``__main__`` is the program ``newsbot``.
"""

import sys
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
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
        return getattr(import_module("newsbot.api"), name)
    raise AttributeError(f"module 'newsbot' has no attribute '{name}'")


MOVED = {
    **{old: f"newsbot.pages.{old}" for old in ("discovery", "extraction", "rights", "rules", "text")},
    **{old: f"newsbot.apps.{old}" for old in ("alerts", "authoring", "push", "search", "simulator", "web")},
    "monitoring": "newsbot.apps.monitor",
    "sensor": "newsbot.apps.push.sensor",
    "warc": "newsbot.apps.archive",
}
"""Former place of a package in newsbot -> its present place. Imports of the former place still work."""


class _Moved:
    """Finds and loads modules under the names of their former places (``importlib.abc.MetaPathFinder``)."""

    def __init__(self) -> None:
        self._specs: dict[str, ModuleSpec | None] = {}

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> ModuleSpec | None:  # noqa: ARG002
        first, _, rest = fullname.removeprefix("newsbot.").partition(".")
        if not fullname.startswith("newsbot.") or first not in MOVED:
            return None
        spec = ModuleSpec(fullname, None, origin=".".join(filter(None, (MOVED[first], rest))))
        spec.loader = self  # type: ignore[assignment]  # importlib.abc imports much
        return spec

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = import_module(str(spec.origin))
        self._specs[spec.name] = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Restore the spec of the module, which the import system has replaced."""
        assert module.__spec__ is not None
        module.__spec__ = self._specs.pop(module.__spec__.name)


# First: an empty folder that is left at a former place would count as a package.
sys.meta_path.insert(0, _Moved())
