"""Keeps the state of sources: which sites have sources, and the record of each source.

A source is a feed, a sitemap or a section. A poll is a visit of a source. The rhythm of a source is the state
that its recrawl policy keeps between two polls.

:class:`Hubs` stores the WebSub hubs that feeds and sections name.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

from scrapy.http import Response

from newsbot.crawl.context import MAX_HOSTS, Context
from newsbot.crawl.entries import entry_again
from newsbot.crawl.failures import is_no_source
from newsbot.crawl.recrawl_policy import PollBudget
from newsbot.crawl.visit import Visit
from newsbot.frontier.base import Entry, Frontier
from newsbot.items import Bounded, Kind, PageRecord, Reason, Where, batched
from newsbot.pages.discovery.autodiscovery import topic_and_hubs
from newsbot.pages.discovery.list_pages import is_archive, is_pagination
from newsbot.pages.rules import RuleSet
from newsbot.recrawl.pages import OldList
from newsbot.recrawl.policy import FixedIntervals, Policy
from newsbot.recrawl.sources import SourceIndex
from newsbot.sites.silence import is_silent
from newsbot.storage.base import Storage
from newsbot.storage.sources import Poll, SourceRecord
from newsbot.urls import canonicalize, fingerprint

_NO_POLL = (Reason.TOO_YOUNG, Reason.UNNAMED)
"""Errors of visits that sent no request to the site."""
MOST_READ = 20
"""Maximum number of a site's sources of one kind that are read to find one that exists."""
BATCH = 1000
"""Number of pages that :func:`make_due` reads and queues together."""


@dataclass(slots=True)
class SiteSources:
    """The known sources of one site, without sources that are known to be dead."""

    feed: bool = False
    """True if a feed is known."""
    sitemap: bool = False
    """True if a sitemap is known."""

    @property
    def any(self) -> bool:
        """True if a feed or sitemap is known."""
        return self.feed or self.sitemap

    def has(self, kind: Kind | None) -> bool:
        """Return True if a source of this kind, FEED or SITEMAP, is known."""
        return self.sitemap if kind is not None and kind.is_sitemap else self.feed

    def add(self, kind: Kind, *, known: bool = True) -> None:
        """Record whether a source of this kind, FEED or SITEMAP, is known."""
        if kind.is_sitemap:
            self.sitemap = known
        else:
            self.feed = known


class SourceRegistry:
    """Records which sites have feeds or sitemaps, and which feeds and sitemaps are dead.

    The sources of a site are read when they are needed. :data:`MAX_HOSTS` sites are kept in memory.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._sites = Bounded[str, SiteSources](MAX_HOSTS)
        self._dead = Bounded[str, bool](MAX_HOSTS)
        """URLs of feeds and sitemaps. True if no source exists there, although a page or robots.txt names
        it."""
        self.sitemap_files = Bounded[str, int](MAX_HOSTS)
        """The number of files of sitemap indexes that this crawl has queued, by domain."""

    def forget(self) -> None:
        """Read the sources of all sites again when they are needed, because the rules have changed."""
        self._sites.clear()

    def of(self, domain: str) -> SiteSources:
        """Return the sources of a site. Raises :class:`newsbot.errors.DataError`."""
        if domain not in self._sites:
            rule = self._context.rules.get(domain)
            named = SiteSources() if rule is None else SiteSources(bool(rule.feeds), bool(rule.sitemaps))
            for kind in (Kind.FEED, Kind.SITEMAP):
                if not named.has(kind):
                    some = self._context.storage.sources.best(domain, kind, MOST_READ)
                    named.add(kind, known=not all(map(_is_gone, some)))
            self._sites[domain] = named
        return self._sites[domain]

    def found(self, entries: Sequence[Entry]) -> None:
        """Add feeds and sitemaps that were queued. Raises :class:`newsbot.errors.DataError`."""
        for entry in entries:
            site = self.of(entry.data["source"])
            if not site.has(entry.kind) and not self._is_dead(entry.url):
                site.add(entry.kind)

    def judged(self, url: str, *, dead: bool) -> None:
        """Record whether a feed or sitemap is dead."""
        self._dead[url] = dead

    def _is_dead(self, url: str) -> bool:
        if url not in self._dead:
            known = self._context.storage.sources.get(url)
            self._dead[url] = known is not None and _is_gone(known)
        return self._dead[url]


def _is_gone(source: SourceRecord) -> bool:
    # A source counts as dead only if its URL is gone, or leads to something else. A source that timed out may
    # come back.
    return bool(source.failures) and is_no_source(source.last_error or "")


class SourceState:
    """Loads the record of the source that a visit polls, chooses its policy, and updates the record.

    ``url`` is the URL of the page record, which identifies the source.
    """

    def __init__(self, context: Context, budget: PollBudget, visit: Visit, url: str) -> None:
        self._context, self._visit, self.outcome = context, visit, visit.outcome
        known, domain = context.storage.sources.get(url), visit.rule.domain
        if known is None or known.source != domain:
            known = SourceRecord(url=url, source=domain, kind=visit.kind)
        self._source = known
        self._recall_hints()
        self.policy: Policy = FixedIntervals()
        self.as_written = visit.rule.recrawl.get(visit.kind.like) == "fixed"
        """True if the policy's interval is used even if the publisher's hints (such as ``ttl``) differ."""
        if self.as_written or self.outcome.error in _NO_POLL:
            return
        if _is_old_list(visit):
            self.policy, self.as_written = OldList(), True
        else:
            self.policy = SourceIndex(self._source.rhythm, budget.threshold(context.storage, domain))

    def _recall_hints(self) -> None:
        """Store the feed's ``ttl`` and ``skipHours`` in the rhythm, or restore them from it.

        They are restored if the response shows no items, for example because it is a 304 without a body.
        """
        outcome, rhythm = self.outcome, self._source.rhythm
        if outcome.shown:
            rhythm.update(ttl=outcome.ttl, skip_hours=sorted(outcome.skip_hours))
            return
        ttl, hours = rhythm.get("ttl"), rhythm.get("skip_hours")
        self.outcome = replace(
            outcome,
            ttl=float(ttl) if isinstance(ttl, int | float) else None,
            skip_hours=frozenset(hours) if isinstance(hours, list) else frozenset(),
        )

    def write(self, record: PageRecord) -> None:
        """Count the poll in the source's record.

        ``record`` is the page record with the next due time. A second call for the same visit changes
        nothing. This is needed because a visit is completed again after a fault. Raises
        :class:`newsbot.errors.DataError`.
        """
        visit, source, outcome = self._visit, self._source, self.outcome
        if visit.settling.booked:
            return
        now = self._context.clock()
        if outcome.error not in _NO_POLL:
            source.polls += 1
            source.last_poll = now
            self._context.count_site(source.source, "polls")
            source.unchanged += outcome.not_modified or outcome.changed is False
            self._log(now)
        source.new_links += outcome.new_items
        if outcome.new_items:
            source.last_new = now
        # A visit without a request (_NO_POLL) neither continues nor ends a series of failures.
        if outcome.error and outcome.error not in _NO_POLL:
            source.failures += 1
            source.failing_since = source.failing_since or now
            source.last_error = outcome.error
        elif not outcome.error:
            source.failures, source.failing_since, source.last_error = 0, None, None
        source.next_due = record.next_due
        if isinstance(self.policy, SourceIndex):
            source.rhythm = self.policy.rhythm
        source.silent = is_silent(source)
        self._context.storage.sources.save([source])
        visit.settling.booked = True

    def _log(self, now: float) -> None:
        outcome, answer = self.outcome, self._visit.answer
        if outcome.failed:
            return
        poll = Poll(
            at=int(now),
            new=outcome.new_items,
            shown=outcome.shown,
            size=0 if outcome.not_modified else int((answer and answer.fields.get("content_length")) or 0),
            unchanged=outcome.not_modified or outcome.changed is False,
        )
        self._context.storage.sources.log_poll(self._source.url, poll)


def _is_old_list(visit: Visit) -> bool:
    """Return True if the visited page is a list of old articles that neither a rule nor a person named."""
    named = visit.data.get("where") in (Where.SEED, Where.ARGUMENT)
    by_subject = visit.data.get("why") == Reason.SUBJECT_LIST
    return not named and (by_subject or is_old_list(visit.kind, visit.lease.entry.url))


def is_old_list(kind: Kind, url: str) -> bool:
    """Return True for every page of a list after the first one, and for the archive page of a date."""
    return kind is Kind.SECTION and (is_pagination(url) or is_archive(url))


def make_due(
    storage: Storage, frontier: Frontier, rules: RuleSet, domains: Collection[str] | None, now: float
) -> int:
    """Queue the known sources of the sites ``domains`` for an immediate visit. Return their number.

    None means all sites. Lists of old articles are left out. ``now`` is in POSIX seconds. Raises
    :class:`newsbot.errors.DataError`.
    """
    every = (
        one for domain in ([None] if domains is None else domains) for one in storage.sources.iter(domain)
    )
    number = 0
    for some in batched((one for one in every if not is_old_list(one.kind, one.url)), BATCH):
        # The key depends on the rule's drop_query, so it is made with the rule that queued the source.
        chosen = [(one.url, rules.get(one.source) or rules.for_url(one.url)) for one in some]
        keys = [fingerprint(canonicalize(url, rule.drop_query)) for url, rule in chosen]
        entries = [replace(entry_again(page), due=0.0) for page in storage.pages.get(keys).values()]
        # ``Visit.forced`` is True only until the page is fetched after its discovery. The time of discovery
        # is set to now, so that exactly one visit counts as forced.
        for entry in entries:
            entry.data["force"], entry.data["discovered_at"] = True, now
        frontier.add(entries, force=True)
        number += len(keys)
    return number


# --- hubs
# Each page has one note of the kind ``hub``: ``{"topic": …, "hubs": […]}``, so that ``scrapy serve`` can
# subscribe to the hubs. The note is deleted if the page no longer names a hub. WebSub is a W3C
# recommendation. A hub is a server that notifies its subscribers when a page changes.

HUB = "hub"
MAX_HUBS = 10


class Hubs:
    """Reads and writes the hub notes in one crawl."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._offers = Bounded[str, dict[str, Any] | None](MAX_HOSTS)
        """The hub note in the storage, by page URL; None if the page has no note."""

    def offer(self, response: Response, visit: Visit, hubs: Sequence[str], self_url: str | None) -> None:
        """Store the hubs of a page: first the hubs in its Link headers, then ``hubs`` from the document.

        ``self_url`` is the topic that the document names. The topic is the URL to which a subscriber
        subscribes. Raises :class:`newsbot.errors.DataError`.
        """
        headers = [value.decode("latin-1") for value in response.headers.getlist("Link")]
        found = topic_and_hubs(headers, response.url, hubs, self_url)
        notes = self._context.notes
        page, known = visit.lease.entry.url, self._offers
        if page not in known:
            known[page] = notes.get_many([(HUB, page)]).get((HUB, page))
        # ``scrapy serve`` must not renew a subscription to a hub that the page no longer names.
        if found is None:
            if known[page] is not None:
                notes.forget(HUB, page)
                known[page] = None
            return
        offer: dict[str, Any] = {
            "topic": found[0][:2000],
            "hubs": [hub[:2000] for hub in found[1][:MAX_HUBS]],
        }
        if known[page] != offer:
            notes.save(HUB, page, offer)
            known[page] = offer
