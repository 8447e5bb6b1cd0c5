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

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol

from newsbot.config.apps import load
from newsbot.errors import DataUnavailable
from newsbot.storage.articles import Articles, Texts
from newsbot.storage.notes import Notes
from newsbot.storage.pages import Pages
from newsbot.storage.sources import Activity, Sites, Sources
from newsbot.storage.stories import Stories
from newsbot.storage.waiting import WaitingLinks

REMOVED_AT_ONCE = 500
"""Maximum number of articles or pages that callers should pass in one call of :class:`Removal`.

The number is large, because each call may have to read the list of texts of each site once.
"""


class Removal(Protocol):
    """Deletes data on request (methods ``addresses`` to ``site``), and old data (``old_versions`` and below).

    Current versions of articles and page records are never deleted as old data. Without its record, a crawl
    would treat an old page as a new page.
    """

    def addresses(self, canonical_urls: Sequence[str]) -> list[str]:
        """Return the other URLs (aliases) of these articles."""

    def articles(self, canonical_urls: Sequence[str]) -> int:
        """Delete articles with their versions, texts and other URLs. Return the number of deleted articles.

        Their URLs are also removed from ``duplicate_of`` and ``derived_from`` of other articles. If a URL is
        only an alias of an article, the alias is deleted.
        """

    def pages(self, fingerprints: Sequence[bytes]) -> int:
        """Delete page records. Return the number of deleted records."""

    def sources(self, urls: Sequence[str]) -> int:
        """Delete the records of feeds, sitemaps and sections, with their polls.

        Return the number of deleted records.
        """

    def site(self, site: str) -> None:
        """Delete the counters of a site."""

    def old_versions(self, before: datetime) -> int:
        """Return the number of earlier versions of articles that were fetched before this time."""

    def drop_versions(self, before: datetime, limit: int) -> int:
        """Delete at most ``limit`` of the versions that :meth:`old_versions` counts.

        Return the number of deleted versions; 0 means that none were left.
        """

    def old_pages(self, before: float) -> int:
        """Return the number of old page records that still have their history or their referrers.

        A record is old if the page is never due again and was last fetched before this time (POSIX seconds).
        If the page was never fetched, the time when it was first seen counts.
        """

    def slim_pages(self, before: float, limit: int) -> int:
        """Delete history and referrers of at most ``limit`` of the records that :meth:`old_pages` counts.

        Return the number of changed records; 0 means that none were left. The other fields of the records are
        not changed: URL, state, counters, validators and times.
        """


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
    removal: Removal
    handle: Any
    """The open file or server, which the repositories of this backend take."""

    def repository(self, classes: Mapping[str, str]) -> Any:
        """Open a repository that is not a part of this class, for example a repository of an app.

        ``classes`` has its class for each backend: :attr:`place` -> import path. The class takes the
        :attr:`handle`. Raises :class:`newsbot.errors.DataUnavailable` if there is none for this backend.
        """
        if self.place not in classes:
            raise DataUnavailable(f"{self.place}: this needs data in: {', '.join(classes)}")
        return load(classes[self.place])(self.handle)

    def interrupt(self) -> None:
        """Interrupt a read in another thread, so that it raises :class:`newsbot.errors.DataError`.

        Does nothing if the backend cannot interrupt a read. The read then ends at the server's time limit.
        """

    def close(self) -> None:
        """Close the backend."""
        raise NotImplementedError


REPOSITORIES = (
    "pages", "articles", "texts", "stories", "sources", "sites", "activity", "notes", "waiting", "removal",
)  # fmt: skip
"""The attributes of :class:`Storage` that are repositories."""
