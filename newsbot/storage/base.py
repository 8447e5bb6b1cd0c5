"""Defines the class of a storage, which has one repository for each kind of data.

These guarantees hold for every repository and both backends:

- Every write is idempotent and atomic, unless its docstring says otherwise.
- Two articles of one source never have the same canonical URL or the same text (``content_hash``), even if
  several workers store them at the same time.
- A stream can be read while others write. Each record is returned once.
- Failures of the backend are raised as subclasses of :class:`newsbot.errors.DataError`.

Only one thread may use a storage at a time. Several processes can share the same data.
"""

from __future__ import annotations

from newsbot.storage.articles import Articles, Texts
from newsbot.storage.notes import Notes
from newsbot.storage.pages import Pages
from newsbot.storage.sources import Activity, Sites, Sources
from newsbot.storage.spider_results import Checks, Searches
from newsbot.storage.stories import Stories
from newsbot.storage.upkeep import Dump, Load, Removal
from newsbot.storage.waiting import WaitingLinks


class Storage:
    """An open storage. Each backend has a subclass that sets the repositories."""

    place: str
    """The name of the backend in messages: ``data file`` or ``MongoDB``."""
    is_local: bool
    """True for the embedded data file."""

    pages: Pages
    articles: Articles
    texts: Texts
    stories: Stories
    sources: Sources
    sites: Sites
    activity: Activity
    notes: Notes
    waiting: WaitingLinks
    checks: Checks
    searches: Searches
    removal: Removal
    dump: Dump
    load: Load

    def interrupt(self) -> None:
        """Interrupt a read in another thread, so that it raises :class:`newsbot.errors.DataError`.

        Does nothing if the backend cannot interrupt a read. The read then ends at the server's time limit.
        """

    def close(self) -> None:
        """Close the backend."""
        raise NotImplementedError


REPOSITORIES = (
    "pages", "articles", "texts", "stories", "sources", "sites", "activity", "notes", "waiting", "checks",
    "searches", "removal", "dump", "load",
)  # fmt: skip
"""The attributes of :class:`Storage` that are repositories."""
