"""What is kept beside pages and articles: of sources, sites, searches and looks at pages; notes, activity."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from newsbot.storage.activity import ALL, Arrival, Hour
from newsbot.storage.base import (
    SiteRecord,
    SourceRecord,
)
from newsbot.storage.checks import CheckedPage, PageCheck
from newsbot.storage.mongo import (
    activity,
    notes,
    polls,
    results,
    sources,
)
from newsbot.storage.mongo import checks as page_checks
from newsbot.storage.mongo.access import Access
from newsbot.storage.polls import Poll
from newsbot.storage.results import SearchResult, SearchSummary


class Records(Access):
    """Each method is one step: all of it or nothing."""

    # --- sources and sites
    def save_sources(self, records: Iterable[SourceRecord]) -> None:
        """See :meth:`newsbot.storage.base.Storage.save_sources`."""
        with self._readable() as database:
            sources.save_sources(database, records)

    def sources(self, source: str | None = None) -> list[SourceRecord]:
        """See :meth:`newsbot.storage.base.Storage.sources`."""
        with self._readable() as database:
            return sources.sources(database, source)

    def count_site(self, record: SiteRecord) -> None:
        """See :meth:`newsbot.storage.base.Storage.count_site`."""
        with self._readable() as database:
            sources.count_site(database, record)

    def sites(self) -> dict[str, SiteRecord]:
        """See :meth:`newsbot.storage.base.Storage.sites`."""
        with self._readable() as database:
            return sources.sites(database)

    # --- what searches over pages found
    def save_results(self, found: Sequence[SearchResult]) -> None:
        """See :meth:`newsbot.storage.results.SearchResults.save_results`."""
        with self._readable() as database:
            results.save_results(database, found)

    def results(
        self, search: str, *, text: str | None = None, source: str | None = None
    ) -> Iterator[SearchResult]:
        """See :meth:`newsbot.storage.results.SearchResults.results`."""
        return self._streamed(results.result_batches(self._place.database, search, text, source))

    def searches(self) -> list[SearchSummary]:
        """See :meth:`newsbot.storage.results.SearchResults.searches`."""
        with self._readable() as database:
            return results.searches(database, patience=self._place.patience)

    def forget_search(self, search: str) -> int:
        """See :meth:`newsbot.storage.results.SearchResults.forget_search`."""
        with self._readable() as database:
            return results.forget_search(database, search)

    # --- what looks at pages found
    def save_checks(self, checks: Sequence[PageCheck]) -> None:
        """See :meth:`newsbot.storage.checks.PageChecks.save_checks`."""
        with self._readable() as database:
            page_checks.save_checks(database, checks)

    def checked(self, fingerprints: Sequence[bytes]) -> dict[bytes, CheckedPage]:
        """See :meth:`newsbot.storage.checks.PageChecks.checked`."""
        with self._readable() as database:
            return page_checks.checked(database, fingerprints)

    def iter_checked(self, source: str | None = None, *, unlisted: bool = False) -> Iterator[CheckedPage]:
        """See :meth:`newsbot.storage.checks.PageChecks.iter_checked`."""
        batches = page_checks.unlisted_batches if unlisted else page_checks.checked_batches
        return self._streamed(batches(self._place.database, source))

    def forget_checks(
        self, *, source: str | None = None, url: str | None = None, before: float | None = None
    ) -> int:
        """See :meth:`newsbot.storage.checks.PageChecks.forget_checks`."""
        with self._readable() as database:
            return page_checks.forget_checks(database, source, url, before)

    # --- notes
    def save_note(self, kind: str, key: str, note: Mapping[str, Any]) -> None:
        """See :meth:`newsbot.storage.notes.Notes.save_note`."""
        with self._readable() as database:
            notes.save_note(database, kind, key, note)

    def swap_note(self, kind: str, key: str, old: Mapping[str, Any] | None, new: Mapping[str, Any]) -> bool:
        """See :meth:`newsbot.storage.notes.Notes.swap_note`."""
        with self._readable() as database:
            return notes.swap_note(database, kind, key, old, new)

    def notes(self, kind: str) -> dict[str, dict[str, Any]]:
        """See :meth:`newsbot.storage.notes.Notes.notes`."""
        with self._readable() as database:
            return notes.notes(database, kind)

    def forget_note(self, kind: str, key: str) -> bool:
        """See :meth:`newsbot.storage.notes.Notes.forget_note`."""
        with self._readable() as database:
            return notes.forget_note(database, kind, key)

    # --- polls
    def log_poll(self, url: str, poll: Poll) -> None:
        """See :meth:`newsbot.storage.polls.PollLog.log_poll`."""
        with self._readable() as database:
            polls.log_poll(database, url, poll)

    def polls(self, url: str | None = None) -> Iterator[tuple[str, Poll]]:
        """See :meth:`newsbot.storage.polls.PollLog.polls`."""
        with self._readable() as database:
            yield from polls.polls(database, url)

    # --- activity
    def add_activity(self, at: float, sites: Mapping[str, Mapping[str, float]]) -> None:
        """See :meth:`newsbot.storage.activity.Activity.add_activity`."""
        with self._readable() as database:
            activity.add_activity(database, at, sites)

    def activity(self, since: float, source: str = ALL) -> list[Hour]:
        """See :meth:`newsbot.storage.activity.Activity.activity`."""
        with self._readable() as database:
            return activity.activity(database, since, source)

    def trends(self, since: float) -> dict[str, dict[int, int]]:
        """See :meth:`newsbot.storage.activity.Activity.trends`."""
        with self._readable() as database:
            return activity.trends(database, since)

    def watched_since(self) -> dict[str, float]:
        """See :meth:`newsbot.storage.activity.Activity.watched_since`."""
        with self._readable() as database:
            return activity.watched_since(database)

    def arrivals(self, limit: int, source: str | None = None) -> list[Arrival]:
        """See :meth:`newsbot.storage.activity.Activity.arrivals`."""
        with self._readable() as database:
            return activity.arrivals(database, limit, source)
