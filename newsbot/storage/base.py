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

from collections.abc import Mapping
from typing import Any

from newsbot.config.apps import load
from newsbot.errors import DataUnavailable
from newsbot.storage.articles import Articles, Texts
from newsbot.storage.notes import Notes
from newsbot.storage.pages import Pages
from newsbot.storage.removal import Removal
from newsbot.storage.sources import Activity, Sites, Sources
from newsbot.storage.stories import Stories
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
