"""Acts on believed notices: what they name is fetched now, if it is known, within the budget of its host.

Storage and frontier belong to one thread (:class:`OffThread`).
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from enum import StrEnum
from functools import partial
from typing import ParamSpec, TypeVar
from urllib.parse import urlsplit

from newsbot.clock import Clock, system_clock
from newsbot.crawl.entries import entry_for, page_for
from newsbot.frontier.base import Added, Entry, Frontier
from newsbot.items import Kind, Link, PageRecord, Where
from newsbot.push.budget import Budget
from newsbot.push.trust import TRUST, Ledger, Trust
from newsbot.ranking.judging import Judgement
from newsbot.rules import RuleSet
from newsbot.rules.match import classify
from newsbot.storage.base import Storage
from newsbot.urls import canonicalize, fingerprint, host_key

PRIORITY = 90.0
"""Before all that was found, behind what a person asks for."""
MAX_AGAIN = 1000
UNPROVED = 0.5
"""The part of a host's budget for notices that prove nothing: a flood of them leaves the rest to others."""


class Fate(StrEnum):
    """What became of one address of a notice."""

    QUEUED = "queued"
    UNKNOWN = "unknown"
    """We know neither the page nor a source or rule of its site."""
    BUDGET = "budget"
    BAD = "bad"


class Desk:
    """One for a process; its methods block (storage, frontier) and are called by one thread.

    ``per_hour``: fetches that notices may cause on one host in an hour. Methods raise
    :class:`newsbot.errors.DataError` kinds.
    """

    def __init__(
        self,
        storage: Storage,
        frontier: Frontier,
        rules: RuleSet,
        *,
        per_hour: float,
        clock: Clock = system_clock,
    ) -> None:
        self.storage = storage
        self.notes = storage.notes
        self.frontier = frontier
        self._rules = rules
        self._clock = clock
        burst = max(10.0, per_hour / 6)
        self._budget = Budget(per_hour, burst, clock)
        self._of_notifiers = Budget(per_hour, burst, clock)
        """What each notifier may cause at a host: one of little trust leaves the host's budget to others."""
        self._again: deque[Entry] = deque(maxlen=MAX_AGAIN)
        self.fates: Counter[tuple[str, Fate]] = Counter()
        """What became of notices, by protocol."""
        self.ledger = Ledger(clock)
        self.ledger.trust |= {key: Trust.of_note(note) for key, note in self.notes.all(TRUST).items()}

    def take(self, notifier: str, urls: Iterable[str], *, proved: bool) -> list[Fate]:
        """Let pages be fetched now. ``proved``: who tells of them speaks for their host.

        Without a proof only sources that we read anyway are taken; with one also pages of a site that has
        a rule, or of which we know a source.
        """
        spent: set[str] = set()
        fates = []
        for url in urls:
            try:
                host = host_key(url)
                fate = Fate.BUDGET if host in spent else self._take(notifier, url, host, proved=proved)
            except ValueError:
                fate = Fate.BAD
            if fate is Fate.BUDGET:
                spent.add(host)  # of thousands of addresses the rest costs nothing any more
            fates.append(fate)
        return fates

    def _take(self, notifier: str, url: str, host: str, *, proved: bool) -> Fate:
        rule = self._rules.for_url(url)
        key = fingerprint(canonicalize(url, rule.drop_query))
        page = self.storage.pages.get([key]).get(key)
        if not self._may_be_taken(page, rule.domain, proved=proved):
            return Fate.UNKNOWN
        if not self._may_cost(notifier, host, proved=proved):
            return Fate.BUDGET
        kind = page.kind if page else classify(rule, canonicalize(url, rule.drop_query)).kind or Kind.ARTICLE
        judgement = Judgement(kind=kind, priority=PRIORITY, accepted=True, reason=f"told by {notifier}")
        link = Link(url=page.url if page else url, where=Where.PUSH, kind=kind)
        now = self._clock()
        depth = page.depth if page else 1
        entry = entry_for(link, rule, judgement, depth=depth, referrer=None, now=now, force=True)
        if page is None:
            self.storage.pages.discover([page_for(entry, now)])
            self.frontier.set_politeness(host, delay=rule.delay, concurrency=rule.concurrency, at_least=True)
        self._queue(entry)
        self.ledger.noticed(notifier, entry.url, *self.seen(entry.url, page))
        return Fate.QUEUED

    def _may_cost(self, notifier: str, host: str, *, proved: bool) -> bool:
        """Take a fetch out of the budgets of the notifier and of the host."""
        share = self.ledger.share(notifier)
        if not self._of_notifiers.take(f"{host} {notifier}", share):
            return False
        return self._budget.take(host, reserve=1.0 - min(share, 1.0 if proved else UNPROVED))

    def knows_site(self, url: str) -> bool:
        """Return True if we read the site of ``url``: it has a rule, or we know a source of it."""
        try:
            domain = self._rules.for_url(url).domain
        except ValueError:
            return False
        return self._rules.get(domain) is not None or bool(self.storage.sources.all(domain))

    def is_source(self, url: str) -> bool:
        """Return True if ``url`` is a feed, sitemap or section that we read."""
        try:
            key = fingerprint(canonicalize(url, self._rules.for_url(url).drop_query))
        except ValueError:
            return False
        page = self.storage.pages.get([key]).get(key)
        return page is not None and page.kind.is_source

    def count(self, notifier: str, fates: Iterable[Fate]) -> None:
        """Note what became of a notice."""
        self.fates.update((notifier.partition(":")[0], fate) for fate in fates)

    def _may_be_taken(self, page: PageRecord | None, domain: str, *, proved: bool) -> bool:
        if page is not None:
            return proved or page.kind.is_source
        return proved and (self._rules.get(domain) is not None or bool(self.storage.sources.all(domain)))

    def _queue(self, entry: Entry) -> None:
        (verdict,) = self.frontier.add([entry], force=True)
        if verdict is Added.KNOWN:  # perhaps it is being fetched just now: that may be too early
            self._again.append(entry)

    def queue_again(self) -> None:
        """Queue what was being fetched when its notice came; called every second or so."""
        for _ in range(len(self._again)):
            self._queue_later(self._again.popleft())

    def _queue_later(self, entry: Entry) -> None:
        page = self.storage.pages.get([entry.fingerprint]).get(entry.fingerprint)
        told = float(entry.data["discovered_at"])
        if page is not None and page.last_fetched is not None and page.last_fetched > told + 60:
            return
        known = self.frontier.known([entry.fingerprint]).get(entry.fingerprint)
        if known is not None and known.state == "leased":
            self._again.append(entry)
        elif known is not None and known.state != "pending":
            self.frontier.add([entry], force=True)

    def close(self) -> None:
        """Release storage and frontier."""
        self.frontier.close()
        self.storage.close()

    # --- trust
    def seen(self, url: str, page: PageRecord | None = None) -> tuple[int, int]:
        """How often a place was fetched, and how much that is new it gave (links of a source, changes)."""
        rule = self._rules.for_url(url)
        if page is None:
            key = fingerprint(canonicalize(url, rule.drop_query))
            page = self.storage.pages.get([key]).get(key)
        if page is None:
            return 0, 0
        if not page.kind.is_source:
            return page.checks, page.changes + (page.last_full_fetch is not None)
        sources = self.storage.sources.all(page.source)
        record = next((source for source in sources if source.url == page.url), None)
        return (0, 0) if record is None else (record.polls, record.new_links)

    def review(self) -> None:
        """Look what became of notices; keep what is known of the notifiers."""
        for url in self.ledger.watched:
            self.ledger.observe(url, *self.seen(url))
        while self.ledger.changed:
            notifier = self.ledger.changed.pop()
            self.notes.save(TRUST, notifier, self.ledger.trust[notifier].as_note())


def notifier_name(protocol: str, url: str) -> str:
    """Return the name under which trust in a notifier is kept: protocol and host."""
    return f"{protocol}:{urlsplit(url).hostname or url[:100]}"


_Given = ParamSpec("_Given")
_Answer = TypeVar("_Answer")


class OffThread:
    """One thread; :meth:`call` runs a function in it."""

    def __init__(self) -> None:
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="data")

    async def call(
        self, work: Callable[_Given, _Answer], *given: _Given.args, **more: _Given.kwargs
    ) -> _Answer:
        """Return what ``work`` returns; raise what it raises."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._executor, partial(work, *given, **more))

    def close(self) -> None:
        """Wait for what was begun."""
        self._executor.shutdown(wait=True)
