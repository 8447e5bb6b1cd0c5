"""The storage as a whole: one repository for each kind of thing.

These guarantees hold for every repository and both backends:

- Every write is idempotent and atomic, unless its docstring says otherwise.
- Two articles of one source never share a canonical URL or a text (``content_hash``), in any race.
- Streams may be read while others write. Each record is returned once.
- Backend failures are raised as subclasses of :class:`newsbot.errors.DataError`.

One thread uses a storage at a time; several processes may share the same data.
"""

from __future__ import annotations

from newsbot.storage.articles import Articles, Texts
from newsbot.storage.notes import Notes
from newsbot.storage.pages import Pages
from newsbot.storage.sources import Activity, Sites, Sources
from newsbot.storage.spider_results import Checks, Searches
from newsbot.storage.stories import Stories
from newsbot.storage.upkeep import Dump, Load, Removal


class Storage:
    """An open storage. The backends derive from it and fill in the repositories."""

    place: str
    """Name of the data's place in messages: ``data file`` or ``MongoDB``."""
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
    checks: Checks
    searches: Searches
    removal: Removal
    dump: Dump
    load: Load

    def interrupt(self) -> None:
        """Make a long read in another thread fail with :class:`newsbot.errors.DataError`, if possible."""

    def close(self) -> None:
        """Close the backend."""
        raise NotImplementedError


REPOSITORIES = (
    "pages", "articles", "texts", "stories", "sources", "sites", "activity", "notes", "checks", "searches",
    "removal", "dump", "load",
)  # fmt: skip
"""The attributes of :class:`Storage` that are repositories."""
