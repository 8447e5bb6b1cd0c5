"""What was stored lately: a Protocol of its own, which both storages have beside their others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol, runtime_checkable

from newsbot.items import Article
from newsbot.search.query import ArticleFilter


@runtime_checkable
class Changes(Protocol):
    """When an article was stored says the clock of the worker that stored it."""

    def changed(self, where: ArticleFilter | None = None, *, after: float, until: float) -> Iterator[Article]:
        """Articles whose present version, or what their site reserves, was stored later than ``after`` and
        not later than ``until`` (POSIX seconds), in this order, streamed.

        One that changes while this runs is left out: it belongs to a later time.
        """
