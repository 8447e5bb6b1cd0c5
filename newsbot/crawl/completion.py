"""The end of a visit: links are queued, the page record is written, the lease is acknowledged.

In this order, and each step is idempotent: a crash between two of them repeats work and loses nothing.
"""

from __future__ import annotations

import logging
import random
from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.http import Response

from newsbot.crawl.context import Context
from newsbot.crawl.entries import page_for
from newsbot.crawl.links.canonical import Canonical
from newsbot.crawl.links.list_probing import ListProbing
from newsbot.crawl.links.queue import Links
from newsbot.crawl.links.usual_places import UsualPlaces
from newsbot.crawl.recrawl_policy import RecrawlPolicies
from newsbot.crawl.removals import Removals
from newsbot.crawl.scope import Scope
from newsbot.crawl.site_knowledge import SiteKnowledge
from newsbot.crawl.source_state import SourceState
from newsbot.crawl.visit import META_KEY, Ending, Found, Visit
from newsbot.errors import DataError, RecordRefused
from newsbot.frontier.base import Lease
from newsbot.items import Details, EventKind, Kind, Link, PageRecord, Reason, Where
from newsbot.recrawl import may_retry, plan, retry_delay
from newsbot.recrawl.pages import seen_change
from newsbot.recrawl.planning import KNOWN_PAGE, Plan
from newsbot.urls import canonicalize

logger = logging.getLogger(__name__)

NO_TLS = (
    Reason.REFUSED,
    Reason.TLS,
    Reason.PROXY,
    Reason.CONNECTION,
    Reason.TIMEOUT,
    Reason.ROBOTS_UNREACHABLE,
)
NO_HOME = (Reason.DNS, Reason.HTTP_404, Reason.HTTP_410)
_OURS = (Reason.TOO_YOUNG, Reason.OURS, Reason.UNNAMED, *KNOWN_PAGE, Reason.LIMIT)
"""Ends of visits that say nothing of the site."""
NOT_THERE = Plan(None, "gone", "one of the usual places of feeds and sitemaps: nothing is there")
MAX_ATTEMPTS = 3
"""Attempts after which a visit that cannot be settled is set aside."""
REST = 60.0
"""Seconds before it is tried again."""
_JITTER = random.Random()  # noqa: S311  (spreads retries, keeps no secret)


class Completion:
    """Brings visits to their end. ``retry_scale``: factor of the pauses before another attempt."""

    def __init__(
        self,
        *,
        context: Context,
        links: Links,
        probing: ListProbing,
        usual_places: UsualPlaces,
        canonical: Canonical,
        policies: RecrawlPolicies,
        sites: SiteKnowledge,
        removals: Removals,
        retry_scale: float,
    ) -> None:
        self._context, self._links, self._probing, self._usual_places = context, links, probing, usual_places
        self._canonical, self._policies, self._sites, self._removals = canonical, policies, sites, removals
        self._retry_scale = retry_scale

    def settle(self, visit: Visit) -> None:
        """Bring a visit to its end. Raises :class:`newsbot.errors.DataError`; may then be called again."""
        if self._ends_without_a_record(visit):
            return
        outcome = visit.outcome
        while visit.found:
            outcome.new_items += self._links.queue(visit.found[0], visit)
            del visit.found[0]
        self._probing.end(visit)
        self._usual_places.guess(visit)
        if visit.ending is Ending.FAULT:
            outcome.error = Reason.OURS.value
        record = self._record(visit)
        home = _next_guess(visit)
        if home is None and self._retry(visit, record):
            return
        self._canonical.give_back(visit)
        absent = visit.guessed and self._usual_places.end(visit)
        self._usual_places.judge_source(visit)
        counted = visit.keeps_book and not absent and home is None
        book = SourceState(self._context, self._policies.budget, visit, record.url) if counted else None
        decision = NOT_THERE
        if not absent:
            policy = self._policies.of(visit) if book is None else book.policy
            decision = plan(
                record, outcome, visit.rule, self._context.clock(), policy=policy, jitter=_JITTER.random()
            )
        record.state = decision.state
        record.next_due = visit.page.get("next_due", decision.next_due)
        if self._canonical.record_addresses(visit, record):
            record.next_due = None
        changed = seen_change(outcome, record)
        planned: Details = {"next_due": record.next_due, "why": decision.reason}
        if changed is not None and not visit.kind.is_source:
            planned["changed"] = changed
        visit.note(self._context.clock(), EventKind.PLANNED, **planned)
        record.history = visit.events
        self._context.storage.pages.save([record])
        if book is not None:
            book.write(record)
        self._teach(visit)
        # The next guess has the same key, so it is queued when the lease has ended. If the worker is killed
        # in between, the page is due immediately, and not in the minutes that were planned.
        self._context.frontier.ack(
            visit.lease, next_due=record.next_due if home is None else self._context.clock()
        )
        self._context.count("frontier/acked")
        if home is not None:
            link = Link(url=home, where=Where.SEED, kind=Kind.SECTION)
            self._links.queue(Found(links=(link,), referrer=None, depth=0, force=True))

    def _ends_without_a_record(self, visit: Visit) -> bool:
        if visit.ending is Ending.HELD:
            return True  # the lease stays ours until the crawl closes and releases it
        if visit.ending is Ending.RETURNED:
            self._context.frontier.nack(visit.lease, delay=0.0, counted=False)
            self._context.count("frontier/given_back")
            return True
        entry = visit.lease.entry
        if visit.outcome.error == Reason.REMOVED or self._removals.covers(entry.fingerprint, entry.host):
            self._context.frontier.ack(visit.lease, next_due=None)  # it may be taken out while it is fetched
            return True
        return False

    def _record(self, visit: Visit) -> PageRecord:
        """Return the page record with what this visit saw of the page."""
        now, outcome = self._context.clock(), visit.outcome
        known = visit.record or self._known_page(visit) or page_for(visit.lease.entry, visit.discovered_at())
        record = replace(known)  # a copy: a fault may bring us here again, and the visit counts once
        if outcome.error in (Reason.TOO_YOUNG, Reason.UNNAMED):
            return record
        for name in ("content_type", "content_length", "server", "etag", "last_modified", "links_count"):
            if name in visit.page:
                setattr(record, name, visit.page[name])
        record.kind = visit.kind
        record.http_status = outcome.status
        record.checks += 1
        failed = outcome.error is not None or (outcome.status or 0) >= 400
        record.failures = record.failures + 1 if failed else 0
        if outcome.status is not None:
            record.last_fetched = now
        entry, homes = visit.lease.entry, _homes(visit.rule.domain)
        if not failed and entry.url in homes and record.url in homes:
            record.url, record.host = entry.url, entry.host  # of the guesses this is the one that answers
        if not failed and not outcome.not_modified:
            record.last_full_fetch = now
            digest = visit.page.get("content_hash")
            record.changes += None not in (record.content_hash, digest) and digest != record.content_hash
            record.content_hash = digest
        return record

    def _known_page(self, visit: Visit) -> PageRecord | None:
        """Return the record of a page whose visit ended before it was looked up."""
        key = visit.lease.entry.fingerprint
        return self._context.storage.pages.get([key]).get(key)

    def _retry(self, visit: Visit, record: PageRecord) -> bool:
        """Hold the URL back for another attempt if its fault may pass; False if it is final."""
        cause = visit.outcome.error
        attempts = visit.lease.attempts + 1
        if cause is None or not may_retry(cause, attempts):
            return False
        delay = max(
            self._retry_scale * retry_delay(attempts, _JITTER.random()), visit.outcome.retry_after or 0.0
        )
        visit.note(
            self._context.clock(), EventKind.RETRY, cause=cause, after=round(delay, 1), attempt=attempts
        )
        record.history = visit.events
        self._context.storage.pages.save([record])
        self._context.frontier.nack(visit.lease, delay=delay)
        self._context.count("frontier/nacked")
        return True

    def _teach(self, visit: Visit) -> None:
        """Let the site's addresses be learned from what the page turned out to be."""
        told = visit.outcome.is_article
        if visit.taught or visit.kind is not Kind.ARTICLE:
            return
        reason = None if told is None else "" if told else visit.no_article or Reason.NO_ARTICLE.value
        reason = visit.outcome.error if reason is None else reason
        if reason is not None and reason not in _OURS and visit.data.get("why") != Reason.EXPLORED:
            self._sites.health.saw(self._context.notes, visit.rule.domain, reason)
        if told is None:
            visit.taught = True
            return
        url = canonicalize(visit.lease.entry.url, visit.rule.drop_query)
        self._sites.url_learning.fetched(visit.rule, url, article=told, why=str(visit.data.get("why")))
        visit.taught = True


def _next_guess(visit: Visit) -> str | None:
    """Return what to try next when a home page that was only guessed is not there; None: nothing more.

    https first, then http, then the same under ``www.``: many sites answer in one of these ways only.
    """
    domain, error = visit.rule.domain, visit.outcome.error
    if visit.data.get("where") != Where.SEED or error not in (*NO_TLS, *NO_HOME):
        return None
    plain, www = f"http://{domain}/", f"https://www.{domain}/"
    guesses = {
        f"https://{domain}/": plain if error in NO_TLS else www,
        plain: www,
        www: f"http://www.{domain}/",
    }
    guess = guesses.get(visit.lease.entry.url)
    return None if guess is not None and "//www.www." in guess else guess


def _homes(domain: str) -> tuple[str, ...]:
    """Return the addresses that the home page of a site may have; they are one identity."""
    return tuple(f"{scheme}://{www}{domain}/" for www in ("", "www.") for scheme in ("https", "http"))


class CompletionQueue:
    """Visits that ended and wait to be settled; while the data are away they stay here.

    One fault of ours must never stop the others: what cannot be settled is handed back to the frontier and
    logged. The queue also takes in what items and faults say of visits on their way.
    """

    def __init__(self, crawler: Crawler, context: Context, scope: Scope, completion: Completion) -> None:
        self._context, self._scope, self._completion = context, scope, completion
        self._unsettled: deque[Visit] = deque()
        self._held: list[Lease] = []
        crawler.signals.connect(self._item_scraped, signals.item_scraped)
        crawler.signals.connect(self._item_dropped, signals.item_dropped)
        crawler.signals.connect(self._item_error, signals.item_error)
        crawler.signals.connect(self._spider_error, signals.spider_error)

    def __bool__(self) -> bool:
        """True while a visit is not settled."""
        return bool(self._unsettled)

    @property
    def held(self) -> int:
        """Leases of visits that stopped at a limit, on hosts of this crawl: ours until the crawl closes."""
        return sum(self._scope.accepts(lease.entry.host) for lease in self._held)

    def leases(self) -> Iterator[Lease]:
        """Yield the leases of visits that are not settled, or that stopped at a limit."""
        yield from (visit.lease for visit in self._unsettled)
        yield from self._held

    def add(self, visit: Visit) -> None:
        """Take a visit whose request is finished."""
        self._unsettled.append(visit)

    def settle(self) -> None:
        """Settle all. Raises :class:`newsbot.errors.DataError`; the rest is kept for the next call."""
        while self._unsettled:
            visit = self._unsettled[0]
            with self._context.timed("settle"):
                self._settle(visit)
            self._unsettled.popleft()
            if visit.ending is Ending.HELD:
                self._held.append(visit.lease)

    def _settle(self, visit: Visit) -> None:
        try:
            self._completion.settle(visit)
        except RecordRefused as error:
            logger.error("cannot settle url=%s fault=%s", visit.lease.entry.url, error)
            self._give_up(visit)
        except DataError:
            raise
        except Exception:  # whatever it is: it must not keep the visits behind it from their end
            logger.exception("cannot settle url=%s", visit.lease.entry.url)
            self._give_up(visit)

    def _give_up(self, visit: Visit) -> None:
        self._context.count("errors/settlement")
        aside = visit.lease.attempts + 1 >= MAX_ATTEMPTS
        self._context.frontier.nack(visit.lease, delay=REST, aside=aside)

    # --- what is said of a visit on its way
    @staticmethod
    def _visit_of(response: Any) -> Visit | None:
        request = getattr(response, "request", None)
        return None if request is None else request.meta.get(META_KEY)

    def _item_scraped(self, item: Any, response: Response) -> None:
        visit = self._visit_of(response)
        if visit is not None:
            visit.note(self._context.clock(), EventKind.STORED, version=getattr(item, "version", None))

    def _item_dropped(self, response: Response, exception: Exception) -> None:
        visit = self._visit_of(response)
        if visit is not None:
            visit.note(self._context.clock(), EventKind.DROPPED, reason=str(exception))
            reason = getattr(exception, "reason", None)
            if reason == Reason.UNCHANGED:  # the page may differ by its advertisements
                visit.outcome.changed = False
            elif reason == Reason.LIMIT:
                visit.end(Ending.HELD)

    def _item_error(self, response: Response, failure: Any) -> None:
        self._our_fault(response, failure)

    def _spider_error(self, failure: Any, response: Response) -> None:
        self._our_fault(response, failure)

    def _our_fault(self, response: Any, failure: Any) -> None:
        visit = self._visit_of(response)
        if visit is None:
            return
        if isinstance(failure.value, DataError) and not isinstance(failure.value, RecordRefused):
            visit.end(Ending.RETURNED)
            return
        visit.end(Ending.FAULT)
        error = f"{failure.type.__name__}: {failure.value}"[:300]
        visit.note(self._context.clock(), EventKind.FAULT, error=error)
