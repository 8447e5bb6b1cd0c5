"""The state of sources: which sites have some, and the record of each with its polls and its rhythm."""

from __future__ import annotations

from collections import Counter

from newsbot.crawl.context import Context
from newsbot.crawl.failures import is_no_source
from newsbot.crawl.recrawl_policy import PollBudget
from newsbot.crawl.visit import Visit
from newsbot.items import PageRecord, Reason
from newsbot.recrawl.index import SourceIndex
from newsbot.recrawl.policy import FixedIntervals, Policy
from newsbot.rules import RuleSet
from newsbot.storage.sources import Poll, SourceRecord

_NO_POLL = (Reason.TOO_YOUNG, Reason.UNNAMED)
"""Ends of visits that asked the site nothing."""


class SourceRegistry:
    """Which sites have feeds or sitemaps, and which of those are dead."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self.with_sources: set[str] = set()
        """Domains for which a feed or sitemap is known."""
        self.dead: set[str] = set()
        """Feeds and sitemaps that are not there, whoever names them."""
        self.sitemap_files: Counter[str] = Counter()
        """By domain, files of sitemap indexes that this crawl has queued."""

    def read(self) -> None:
        """Read what earlier crawls found. Raises :class:`newsbot.errors.DataError`."""
        known = [one for one in self._context.storage.sources.all() if one.kind in ("feed", "sitemap")]
        self.dead = {one.url for one in known if one.failures and is_no_source(one.last_error or "")}
        self.with_sources = {one.source for one in known if one.url not in self.dead}
        self.take_rules(self._context.rules)

    def take_rules(self, rules: RuleSet) -> None:
        """Take in the sources that rules name."""
        self.with_sources |= {rule.domain for rule in rules if rule.feeds or rule.sitemaps}


class SourceState:
    """The record of the source that a visit polls, and the policy for it."""

    def __init__(self, context: Context, budget: PollBudget, visit: Visit, url: str) -> None:
        self._context, self._visit = context, visit
        known = {source.url: source for source in context.storage.sources.all(visit.rule.domain)}
        self._source = known.get(url) or SourceRecord(url=url, source=visit.rule.domain, kind=visit.kind)
        self._recall_hints()
        self.policy: Policy = FixedIntervals()
        if visit.rule.recrawl.get(visit.kind, "index") == "index" and visit.outcome.error not in _NO_POLL:
            self.policy = SourceIndex(self._source.rhythm, budget.threshold(context.storage))

    def _recall_hints(self) -> None:
        """An answer of 304 does not repeat what a feed says of itself."""
        outcome, rhythm = self._visit.outcome, self._source.rhythm
        if outcome.shown:
            rhythm.update(ttl=outcome.ttl, skip_hours=sorted(outcome.skip_hours))
            return
        ttl, hours = rhythm.get("ttl"), rhythm.get("skip_hours")
        outcome.ttl = float(ttl) if isinstance(ttl, int | float) else None
        outcome.skip_hours = frozenset(hours) if isinstance(hours, list) else frozenset()

    def write(self, record: PageRecord) -> None:
        """Count the poll in the source's record, once a visit. Raises :class:`newsbot.errors.DataError`."""
        visit, source, outcome = self._visit, self._source, self._visit.outcome
        if visit.booked:
            return
        now = self._context.clock()
        if outcome.error not in _NO_POLL:
            source.polls += 1
            source.last_poll = now
            source.unchanged += outcome.not_modified or outcome.changed is False
            self._log(now)
        source.new_links += outcome.new_items
        if outcome.new_items:
            source.last_new = now
        if outcome.error and outcome.error not in _NO_POLL:
            source.failures += 1
            source.failing_since = source.failing_since or now
            source.last_error = outcome.error
        elif not outcome.error:
            source.failures, source.failing_since, source.last_error = 0, None, None
        source.next_due = record.next_due
        if isinstance(self.policy, SourceIndex):
            source.rhythm = self.policy.rhythm
        self._context.storage.sources.save([source])
        visit.booked = True

    def _log(self, now: float) -> None:
        outcome = self._visit.outcome
        if outcome.failed:
            return
        poll = Poll(
            at=int(now),
            new=outcome.new_items,
            shown=outcome.shown,
            size=0 if outcome.not_modified else int(self._visit.page.get("content_length") or 0),
            unchanged=outcome.not_modified or outcome.changed is False,
        )
        self._context.storage.sources.log_poll(self._source.url, poll)
