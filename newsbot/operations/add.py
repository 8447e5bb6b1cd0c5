"""Queues URLs by hand, even if they are known. They are fetched before all URLs that the crawl found."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from itertools import islice

from newsbot.crawl.entries import entry_for, page_for
from newsbot.errors import ArgumentError
from newsbot.frontier.base import Added, Entry, Frontier
from newsbot.items import Kind, Link, Where
from newsbot.ranking.judging import Judgement
from newsbot.rules import RuleSet
from newsbot.rules.rule import Rule, classify
from newsbot.sites.removals import RemovalNotes
from newsbot.storage.base import Storage
from newsbot.storage.notes import Notes
from newsbot.urls import canonicalize

PRIORITY = 100.0
"""Priority of a URL that was added by hand.

It is higher than the priority of any entry that the crawl found.
"""
BATCH = 1000
LOOKED_AT = 1000
"""Maximum number of pages of a site that are read to find out whether one of its hosts is known."""


def entry_by_hand(url: str, rules: RuleSet, kind: Kind | None, now: float, rule: Rule | None = None) -> Entry:
    """Return the queue entry of a URL that was added by hand.

    If ``kind`` is None, the rule decides the kind; if it does not, the kind is article. ``rule`` is the rule
    of the site. It is needed if the URL may be on another host, as a site's feed can be. ``now`` is in POSIX
    seconds. Raises ``ValueError`` if ``url`` is not an absolute http(s) URL.
    """
    rule = rule or rules.for_url(url)
    match = classify(rule, canonicalize(url, rule.drop_query))
    judgement = Judgement(
        kind=kind or match.kind or Kind.ARTICLE, priority=PRIORITY, accepted=True, reason="added by hand"
    )
    link = Link(url=url, where=Where.ARGUMENT, kind=judgement.kind)
    return entry_for(link, rule, judgement, depth=0, referrer=None, now=now, force=True)


def queue_by_hand(
    entries: Sequence[Entry], rules: RuleSet, storage: Storage, frontier: Frontier
) -> list[Added]:
    """Record the pages in the storage, then queue them. Return one result for each entry, in order.

    The pages are recorded first, so that after a crash no entry is queued without a record. Raises
    :class:`ArgumentError` if one of the URLs was removed and is blocked. In this case nothing is queued.
    """
    _must_be_allowed(entries, storage.notes)
    now = time.time()
    for entry in {entry.host: entry for entry in entries}.values():
        rule = rules.for_url(entry.url)
        if not _host_is_known(storage, rule.domain, entry.host):  # keep a delay that a crawl increased
            frontier.set_politeness(entry.host, delay=rule.delay, concurrency=rule.concurrency)
    verdicts: list[Added] = []
    for start in range(0, len(entries), BATCH):
        batch = entries[start : start + BATCH]
        storage.pages.discover([page_for(entry, now) for entry in batch])
        verdicts += frontier.add(batch, force=True)
    return verdicts


def _host_is_known(storage: Storage, domain: str, host: str) -> bool:
    return any(page.host == host for page in islice(storage.pages.iter(source=domain), LOOKED_AT))


def _must_be_allowed(entries: Iterable[Entry], notes: Notes) -> None:
    """Raise :class:`ArgumentError` if one of the URLs was removed and is blocked."""
    tombstones = RemovalNotes(time.time)
    tombstones.read(notes)
    for entry in entries:
        if tombstones.covers(entry.fingerprint, entry.host):
            raise ArgumentError(
                f"{entry.url}: was removed and is blocked; see scrapy remove --list and --allow"
            )
