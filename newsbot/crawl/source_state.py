"""What is kept of a source in a crawl: its record, its polls, and what its policy has learned."""

from __future__ import annotations

from newsbot.crawl.context import CrawlState
from newsbot.crawl.links.unnamed import UNNAMED
from newsbot.crawl.visit import Visit
from newsbot.items import PageRecord
from newsbot.recrawl.policy import FixedIntervals, Policy
from newsbot.recrawl.sources import SourceIndex
from newsbot.storage.sources import Poll, SourceRecord

_NO_POLL = ("too_young", UNNAMED)
"""Ends of visits that asked the site nothing."""


class SourceBook:
    """The record of the source that a visit polls, and the policy for it."""

    def __init__(self, state: CrawlState, visit: Visit, url: str) -> None:
        self._state, self._visit = state, visit
        known = {source.url: source for source in state.storage.sources.all(visit.rule.domain)}
        self._source = known.get(url) or SourceRecord(url=url, source=visit.rule.domain, kind=visit.kind)
        self._recall_hints()
        self.policy: Policy = FixedIntervals()
        if visit.rule.recrawl.get(visit.kind, "index") == "index" and visit.outcome.error not in _NO_POLL:
            self.policy = SourceIndex(self._source.rhythm, state.poll_budget.threshold(state.storage))

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
        now = self._state.clock()
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
        self._state.storage.sources.save([source])
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
        self._state.storage.sources.log_poll(self._source.url, poll)
