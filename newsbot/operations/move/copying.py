"""Copies the chosen data in batches. A batch is recorded in the journal once the target has stored it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any, TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from newsbot.clock import system_clock
from newsbot.crawl.entries import entry_again
from newsbot.crawl.refill import PENDING
from newsbot.dedup.story_merge import rebuild
from newsbot.frontier.base import EntryCopy, Known, LeanFrontier
from newsbot.items import PageRecord
from newsbot.operations.move.journal import Journal
from newsbot.operations.move.side import KINDS, Choice, Side, WholeFrontier
from newsbot.storage.base import Storage

LINE_EVERY = 10_000
"""Number of items after which a line of progress is written, if the output is not a terminal."""

Totals = Mapping[str, int]
"""Approximate number of items by kind. The total of a missing kind is unknown."""


@contextmanager
def bars(console: Console, totals: Totals) -> Iterator[Report]:
    """Yield a function that shows a progress bar for each kind."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeElapsedColumn(), console=console) as drawn:
        tasks: dict[str, TaskID] = {}

        def show(kind: str, number: int) -> None:
            if kind not in tasks:
                _close(drawn, tasks.values())
                tasks[kind] = drawn.add_task(kind, total=totals.get(kind))
            drawn.update(tasks[kind], completed=number)

        yield show
        _close(drawn, tasks.values())


def lines(write: Callable[[str], None], totals: Totals) -> Report:
    """Return a function that writes a line every :data:`LINE_EVERY` items of a kind."""
    told: dict[str, int] = {}

    def show(kind: str, number: int) -> None:
        if number // LINE_EVERY > told.get(kind, 0):
            told[kind] = number // LINE_EVERY
            write(f"{kind}: {number} of {totals[kind]}" if kind in totals else f"{kind}: {number}")

    return show


def _close(drawn: Progress, tasks: Iterable[TaskID]) -> None:
    """Set the total of each bar to the number of items that were moved, because totals are approximate."""
    for task in tasks:
        drawn.update(task, total=drawn.tasks[task].completed)


BATCH = 500
OWNER = "move"
_RIGHT_SECONDS = 60.0
Report = Callable[[str, int], None]
"""A function that is called with a kind and the number of its items that were moved so far."""

_Thing = TypeVar("_Thing")


def copy_all(source: Side, target: Side, choice: Choice, journal: Journal, report: Report) -> None:
    """Copy the chosen data, except for what the journal has recorded.

    Raises subclasses of :class:`newsbot.errors.DataError`; the move can then be continued with the same
    journal.
    """
    assert source.storage is not None
    choice.prepare(source.storage)
    if target.storage is not None:
        for kind in KINDS:
            left = choice.copies(source.storage, kind, journal.after(kind))
            _copy_kind(left, target.storage, kind, journal, report)
        _copy_books(source.storage, target.storage, choice, report)
    if target.frontier is not None:
        assert source.frontier is not None
        _copy_frontier(source, target.frontier, choice, journal, report)
    if target.index is not None:
        # The near-duplicate index is not copied, but built again from the texts. If only a part of the data
        # is moved, the texts are read from the target, because it has fewer texts than the source.
        texts = source.storage if choice.everything else target.storage or source.storage
        rebuild(texts, target.index, time.time(), partial(report, "near"), choice.has_article)


def _copy_kind(copies: Iterable[Any], target: Storage, kind: str, journal: Journal, report: Report) -> None:
    take = getattr(target.load, kind)
    # The target stores a batch before the journal records it. After a crash in between the batch is copied
    # again, which changes nothing.
    for some in batches(copies):
        take(some)
        journal.note(kind, some[-1].key, len(some))
        report(kind, journal.moved(kind))


def _copy_books(source: Storage, target: Storage, choice: Choice, report: Report) -> None:
    """Copy the small kinds of data.

    The journal does not record them, so a continued move copies them again.
    """
    sources = [record for record in source.sources.all() if choice.has_site(record.source)]
    target.sources.save(sources)
    report("sources", len(sources))
    sites = [record for record in source.sites.all().values() if choice.has_site(record.source)]
    target.load.sites(sites)
    report("sites", len(sites))
    number = 0
    for some in batches(choice.results(source)):
        target.searches.save(some)
        number += len(some)
        report("search results", number)
    number = 0
    for checks in batches(choice.checks(source)):
        target.checks.save(checks)
        number += len(checks)
        report("checks", number)
    number = 0
    for books in batches(choice.books(source)):
        target.load.books(books)
        number += len(books)
        report("notes and polls", number)


def _copy_frontier(
    source: Side, target: WholeFrontier, choice: Choice, journal: Journal, report: Report
) -> None:
    assert source.frontier is not None
    assert source.storage is not None
    began = _begin_refill(target, journal)
    # First the entries of the source's queue, then pages of which the source keeps no entry.
    moved = 0
    hosts: set[str] = set()
    for some in batches(_entries(source.frontier, choice)):
        hosts |= {copy.entry.host for copy in some}
        target.take_entries(some)
        moved += len(some)
        report("queue", moved)
    for pages in batches(choice.copies(source.storage, "pages")):
        missing = _missing(source.frontier, target, [copy.page for copy in pages], choice)
        target.take_entries(missing)
        hosts |= {copy.entry.host for copy in missing}
        moved += len(missing)
        report("queue", moved)
    _copy_hosts(source.frontier, target, hosts, choice, report)
    if began is not None and isinstance(target, LeanFrontier):
        # Only the holder of the refill lock may report a refill, so the lock is acquired first.
        target.refill(OWNER, ttl=_RIGHT_SECONDS)
        target.refill(OWNER, ttl=_RIGHT_SECONDS, until=began)


def _begin_refill(target: WholeFrontier, journal: Journal) -> float | None:
    """Return the time until which the target queue is complete after the copying.

    Returns None if the target queue keeps all entries.

    A :class:`LeanFrontier` keeps only entries that are due soon. Its other entries are only in the storage.
    The time is computed at the start of the first run and stored in the journal. So a continued move does not
    read entries again if an earlier run left them out of the queue.
    """
    if not isinstance(target, LeanFrontier):
        return None
    if journal.filled_until is None:
        journal.note_filled_until(target.refill(OWNER, ttl=_RIGHT_SECONDS).now + target.keep_within)
    return journal.filled_until


def _entries(frontier: WholeFrontier, choice: Choice) -> Iterator[EntryCopy]:
    if choice.of_articles:
        return iter(())  # a copy of chosen articles is for reading: its pages are known, but not queued
    return (copy for copy in frontier.copy_entries() if choice.has_site(copy.entry.data.get("source", "")))


def _missing(
    source: WholeFrontier, target: WholeFrontier, pages: list[PageRecord], choice: Choice
) -> list[EntryCopy]:
    """Return entries for pages that the target frontier does not know, made from their page records."""
    keys = [page.fingerprint for page in pages]
    known, here = target.known(keys), source.known(keys)
    return [
        _known_page(page, here.get(page.fingerprint), choice)
        for page in pages
        if page.fingerprint not in known
    ]


def _known_page(page: PageRecord, here: Known | None, choice: Choice) -> EntryCopy:
    # The frontier's state is newer than that of the page record.
    state = page.state if here is None else here.state
    waits = state in PENDING and not choice.of_articles
    entry = entry_again(page)
    return EntryCopy(
        entry=replace(entry, due=0.0) if waits else entry,
        state="pending" if waits else "done",
        at=None if waits else page.next_due,
        last_fetched=page.last_fetched if here is None else here.last_fetched,
    )


def _copy_hosts(
    source: WholeFrontier, target: WholeFrontier, wanted: set[str], choice: Choice, report: Report
) -> None:
    now = system_clock()
    number = 0
    for copy in source.copy_hosts():
        if not choice.everything and copy.host not in wanted:
            continue
        target.set_politeness(copy.host, delay=copy.delay, concurrency=copy.concurrency)
        if copy.next_turn > now:  # a pause that the host requested does not end with the move
            target.back_off(copy.host, copy.next_turn - now)
        number += 1
        report("hosts", number)


def batches(things: Iterable[_Thing]) -> Iterator[list[Any]]:
    """Yield the things in lists of up to :data:`BATCH`."""
    left = iter(things)
    while some := list(islice(left, BATCH)):
        yield some
