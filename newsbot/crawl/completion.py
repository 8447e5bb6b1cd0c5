"""Completes visits: links are queued, the page record is written, the lease is acknowledged.

The steps are done in this order and are idempotent. After a crash between two steps, work is repeated and
nothing is lost. :mod:`newsbot.crawl.visit` defines a visit and its endings.
"""

from __future__ import annotations

import logging
import math
import random
import time
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.http import Response

from newsbot.crawl.backend_calls import LARGEST, ReadAhead
from newsbot.crawl.context import Context, SiteKnowledge
from newsbot.crawl.entries import page_for
from newsbot.crawl.failures import NO_TLS, Reachability
from newsbot.crawl.links.canonical import Canonical, Spellings, respelled
from newsbot.crawl.links.families import Lists
from newsbot.crawl.links.queue import WAIT, FeedDetails, Links, parts
from newsbot.crawl.links.usual_places import UsualPlaces
from newsbot.crawl.scope import Removals, Scope
from newsbot.crawl.sources import RecrawlPolicies, SourceState
from newsbot.crawl.visit import META_KEY, Ending, Found, Kept, Visit
from newsbot.errors import DataError, RecordRefused
from newsbot.frontier.base import Entry, Lease
from newsbot.items import Article, Details, EventKind, GivenBy, Kind, Link, PageRecord, Reason, Where
from newsbot.pages.rights import PAYMENT
from newsbot.recrawl.planning import KNOWN_PAGE, Plan, may_retry, plan, retry_delay
from newsbot.recrawl.policies import seen_change
from newsbot.sites.health import SESSION_ENDED
from newsbot.urls import canonicalize

logger = logging.getLogger(__name__)

NO_HOME = (Reason.DNS, Reason.HTTP_404, Reason.HTTP_410)
"""Errors that mean that a guessed home page does not exist."""
_OURS = (Reason.TOO_YOUNG, Reason.OURS, Reason.UNNAMED, *KNOWN_PAGE, Reason.LIMIT)
"""Errors of visits that say nothing about the site."""
NOT_THERE = Plan(None, "gone", "the site has no feed or sitemap at this usual address")
"""The plan for a guessed address of a feed or sitemap at which nothing was found."""
MAX_ATTEMPTS = 3
"""If the visit of a URL cannot be completed, the URL is set aside after this number of attempts."""
REST = 60.0
"""If the visit of a URL cannot be completed, the URL is tried again after this number of seconds."""
Step = PageRecord | tuple[Lease, float | None] | None
"""One write of a visit: its page record, or a pair (lease, time when the URL is due again) that acknowledges
the lease. The time is None if the URL is never due again. The step is None if there is nothing to write."""
_JITTER = random.Random()  # noqa: S311  (spreads retries, keeps no secret)


@dataclass(eq=False, kw_only=True)
class Completion:
    """Completes visits. ``retry_scale`` multiplies the pauses before a URL is tried again."""

    context: Context
    links: Links
    lists: Lists
    usual_places: UsualPlaces
    canonical: Canonical
    spellings: Spellings
    feed_details: FeedDetails
    policies: RecrawlPolicies
    sites: SiteKnowledge
    removals: Removals
    pages: ReadAhead[PageRecord]
    known: ReadAhead[bool]
    retry_scale: float

    def queue(self, visit: Visit, until: float = math.inf) -> bool:
        """Queue the links of a visited page.

        Return False if links are left when ``until`` (monotonic seconds) has passed. Raises
        :class:`newsbot.errors.DataError`. After an error or False, the caller calls this method again.
        """
        while visit.found and not self._leaves_no_record(visit):
            some, *rest = parts(visit.found[0], visit)
            steps = visit.settling.steps or self.links.steps(some, visit)
            visit.settling.steps = None  # after an error, all these links are queued again
            for new in steps:
                visit.settling.new_items += new
                if time.monotonic() > until:
                    visit.settling.steps = steps
                    return False
            # Queued links leave the list, so that the next call does not count them again.
            visit.found[:1] = rest
        return True

    def conclude(self, visit: Visit) -> Iterator[Step]:
        """Complete a visit whose links are queued.

        Yields the page record, or None if the visit does not change it. Then yields the acknowledgement of
        the lease, unless the lease was ended in another way. The caller does each of these writes together
        with the writes of other visits, and then continues. Raises :class:`newsbot.errors.DataError`; the
        caller then begins again.
        """
        if visit.settling.concluded is None:
            visit.settling.concluded = len(visit.events)
        del visit.events[visit.settling.concluded :]  # removes the events of an attempt that failed
        if self._leaves_no_record(visit):
            yield None
            yield from self._end_lease(visit)
        else:
            yield from self._conclude(visit)
        key = visit.lease.entry.fingerprint
        self.pages.forget(key)
        self.known.forget(key)

    def _conclude(self, visit: Visit) -> Iterator[Step]:
        self.lists.end(visit)
        self.usual_places.guess(visit)
        if visit.ending is Ending.FAULT:
            visit.settling.error = Reason.OURS.value
        if visit.settling.left_out:
            visit.note(self.context.clock(), EventKind.QUEUE_FULL, left=visit.settling.left_out)
            visit.reads_again = True
        record = self._record(visit)
        home = _next_guess(visit)
        # If a guessed home page does not exist, it is not tried again. The next guess is queued at once.
        if home is None and (delay := self._retry_in(visit, record)) is not None:
            yield record
            self.context.frontier.nack(visit.lease, delay=delay)
            self.context.count("frontier/nacked")
            return
        if home is None and (following := self._respelling(visit, record)) is not None:
            yield respelled(record, following)
            # The page is due at once: if the worker is killed before the next line, the page is tried again
            # with its old spelling.
            yield visit.lease, self.context.clock()
            self.links.queue_spelling(following, again=True)
            self.context.count("links/respelled")
            return
        self.canonical.give_back(visit)
        absent = visit.guessed and self.usual_places.end(visit)
        self.usual_places.judge_source(visit)
        counted = visit.keeps_book and not absent and home is None
        book = SourceState(self.context, self.policies.budget, visit, record.url) if counted else None
        outcome = visit.outcome if book is None else book.outcome
        decision = NOT_THERE
        if not absent:
            policy = self.policies.of(visit) if book is None else book.policy
            decision = plan(
                record,
                outcome,
                visit.rule,
                self.context.clock(),
                policy=policy,
                as_written=book is not None and book.as_written,
                jitter=_JITTER.random(),
            )
        record.state = decision.state
        record.next_due = decision.next_due if visit.due is None else visit.due.at
        if self.canonical.record_addresses(visit, record):
            record.next_due = None
        changed = seen_change(outcome, record)
        planned: Details = {"next_due": record.next_due, "why": decision.reason}
        if changed is not None and not visit.kind.is_source:
            planned["changed"] = changed
        visit.note(self.context.clock(), EventKind.PLANNED, **planned)
        record.history = visit.events
        yield record
        if book is not None:
            book.write(record)
        self._teach(visit)
        self._keep_price(visit)
        self.feed_details.end(visit)
        self.links.queue_released(visit)
        # The next guessed address of the home page has the same key as this page, so it can be queued only
        # after the lease has ended. The page is due at once, because the worker may be killed before the next
        # guess is queued.
        if visit.settling.left_out and visit.kind.is_sitemap:
            self.context.frontier.nack(visit.lease, delay=WAIT)  # read again when there is room
            return
        yield visit.lease, record.next_due if home is None else self.context.clock()
        self.context.count("frontier/acked")
        self._queue_what_follows(visit, home, record.next_due)

    def _queue_what_follows(self, visit: Visit, home: str | None, due: float | None) -> None:
        """Queue URLs that have the same key as the visited page.

        This is possible only after the lease of the page has ended.
        """
        if following := self.spellings.following(visit):  # another worker has just found this spelling
            self.links.queue_spelling(following, again=True)
        if visit.has_other_kind and due is not None:  # its next visit is of the kind that was found
            self.context.frontier.add([replace(visit.lease.entry, due=due)], force=True)
        if home is not None:
            link = Link(url=home, where=Where.SEED, kind=Kind.SECTION)
            self.links.queue(Found(links=(link,), referrer=None, depth=0, force=True))

    def _leaves_no_record(self, visit: Visit) -> bool:
        entry = visit.lease.entry
        if visit.ending in (Ending.HELD, Ending.RETURNED) or visit.outcome.error == Reason.REMOVED:
            return True
        return self.removals.covers(entry.fingerprint, entry.host)  # removed during the visit

    def _end_lease(self, visit: Visit) -> Iterator[Step]:
        if visit.ending is Ending.RETURNED:
            self.context.frontier.nack(visit.lease, delay=0.0, counted=False)
            self.context.count("frontier/given_back")
        elif visit.ending is not Ending.HELD:  # a held lease is kept until the crawl closes and releases it
            yield visit.lease, None

    def _record(self, visit: Visit) -> PageRecord:
        """Return a copy of the page record, updated with the results of this visit."""
        now, outcome = self.context.clock(), visit.outcome
        if visit.record is None:  # the record of a page that was never fetched is not read before the fetch
            visit.check = replace(visit.check, record=self.pages.get(visit.lease.entry.fingerprint))
        known = visit.record or page_for(visit.lease.entry, visit.discovered_at())
        record = replace(known)  # a copy, because after a fault this method runs again on the old record
        if outcome.error in (Reason.TOO_YOUNG, Reason.UNNAMED):
            return record
        for name, value in ({} if visit.answer is None else visit.answer.fields).items():
            setattr(record, name, value)
        if visit.reading.links_count is not None:
            record.links_count = visit.reading.links_count
        if visit.reads_again:
            record.etag = record.last_modified = None
        record.kind = visit.kind
        record.http_status = outcome.status
        record.checks += 1
        failed = outcome.error is not None or (outcome.status or 0) >= 400
        record.failures = record.failures + 1 if failed else 0
        if outcome.status is not None:
            record.last_fetched = now
        entry, homes = visit.lease.entry, _homes(visit.rule.domain)
        if not failed and entry.url in homes and record.url in homes:
            record.url, record.host = entry.url, entry.host  # this guessed address of the home page answers
        if not failed and not outcome.not_modified:
            record.last_full_fetch = now
            digest = None if visit.reads_again else visit.reading.content_hash
            # The first fetch is not a change, because there is no earlier content.
            record.changes += None not in (record.content_hash, digest) and digest != record.content_hash
            record.content_hash = digest
        return record

    def _retry_in(self, visit: Visit, record: PageRecord) -> float | None:
        """Return the number of seconds until the URL is tried again, if its error may be temporary.

        Returns None after success, after a final error, and after the last attempt.
        """
        outcome = visit.outcome
        cause = outcome.error
        attempts = visit.lease.attempts + 1
        if cause is None or not may_retry(cause, attempts):
            return None
        # a site's Retry-After is only a minimum; the growing delay still applies
        delay = max(self.retry_scale * retry_delay(attempts, _JITTER.random()), outcome.retry_after or 0.0)
        visit.note(
            self.context.clock(), EventKind.RETRY, cause=cause, after=round(delay, 1), attempt=attempts
        )
        record.history = visit.events
        return delay

    def _respelling(self, visit: Visit, record: PageRecord) -> Entry | None:
        """Return the entry of a failed page with another spelling of its address.

        Returns None if the page has not failed or no spelling is left (:mod:`newsbot.crawl.links.canonical`).

        If a redirect from another site failed, the page to which it led is queued as well.
        """
        if (target := self.spellings.target(visit)) is not None:
            self.context.storage.pages.discover([page_for(target, self.context.clock())])
            self.links.queue_spelling(target, again=False)
        following = self.spellings.following(visit)
        if following is not None:
            visit.note(self.context.clock(), EventKind.RESPELLED, to=following.url)
            record.history = visit.events
        return following

    def _keep_price(self, visit: Visit) -> None:
        """Record at the stored article of the page that its server wants a payment now (status 402)."""
        if price := visit.reading.price:
            articles = self.context.storage.articles
            kept = articles.get(canonicalize(visit.lease.entry.url, visit.rule.drop_query))
            if kept is not None:
                articles.save_rights(kept.canonical_url, {**kept.rights, PAYMENT: price})

    def _teach(self, visit: Visit) -> None:
        """Report to URL learning and site health whether the page was an article."""
        is_article, no_article = visit.reading.is_article, visit.reading.no_article
        if (
            visit.settling.taught
            or visit.kind is not Kind.ARTICLE
            or self._is_chosen_elsewhere(visit, is_article)
        ):
            return
        # The reason "" means that the page is an article. None means that nothing is known about the page.
        reason = visit.outcome.error
        if is_article is not None:
            reason = "" if is_article else no_article or Reason.NO_ARTICLE.value
        # With a session, articles are complete. If they are not, the session has probably ended.
        if reason == "" and visit.reading.is_teaser and (visit.rule.cookies or visit.rule.auth):
            reason = SESSION_ENDED
        if reason is not None and reason not in _OURS and visit.data.get("why") != Reason.SAMPLE:
            self.sites.health.saw(self.context.notes, visit.rule.domain, reason)
        if is_article is not None:
            if is_article and visit.kept.text_key and GivenBy.of(visit.data).counts_for(visit.rule.domain):
                # The last URL is used, because the text was read there.
                domain, address = visit.rule.domain, canonicalize(visit.url)
                self.sites.session_keys.read_text(domain, address, visit.kept.text_key)
            url = canonicalize(visit.lease.entry.url, visit.rule.drop_query)
            self.sites.url_learning.fetched(visit.rule, url, article=is_article)
        # This comes last: if a call above raises an error, the page must not be counted a second time.
        refusal = None if is_article is None else "" if is_article else no_article or Reason.NO_ARTICLE.value
        self.links.families.fetched(visit, refusal)
        visit.settling.taught = True

    def _is_chosen_elsewhere(self, visit: Visit, is_article: bool | None) -> bool:
        """Return True if another site led to the page. The result then says nothing about the page's own
        site.

        The other site may have chosen only pages that are not articles, so such a page does not count. An
        article counts nevertheless, unless a redirect from another site led to it.
        """
        url, rule_for = visit.lease.entry.url, self.context.rule_for
        if visit.hops and rule_for(url).domain != visit.rule.domain:
            return True
        named = visit.data.get("referrer") is not None
        return named and not is_article and not self.spellings.given_by_site(visit.data, url)


def _next_guess(visit: Visit) -> str | None:
    """Return the next address to try if a guessed home page does not exist, or None if no guess is left.

    The order is https, then http, then both with ``www.``. Many sites answer at only one of these addresses.
    After a refused certificate no other address is tried, because http would hide the problem.
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
    # If the domain of the rule begins with www. itself, there is no further guess.
    return None if guess is not None and "//www.www." in guess else guess


def _homes(domain: str) -> tuple[str, ...]:
    """Return the possible addresses of a site's home page. They all have the same key."""
    return tuple(f"{scheme}://{www}{domain}/" for www in ("", "www.") for scheme in ("https", "http"))


class CompletionQueue:
    """Finished visits that wait for completion. They stay here while the backends are unavailable.

    A fault in one visit must not stop the other visits. If a visit cannot be completed, this is logged, and
    the URL is tried again later. The queue also listens to Scrapy's signals about items and spider errors,
    and records them in the visits.
    """

    def __init__(
        self,
        crawler: Crawler,
        context: Context,
        scope: Scope,
        completion: Completion,
        reachability: Reachability,
    ) -> None:
        self._context, self._scope, self._completion = context, scope, completion
        self._reachability = reachability
        self._unsettled: OrderedDict[int, Visit] = OrderedDict()
        """The visits, by :func:`id`."""
        self._held: list[Lease] = []
        crawler.signals.connect(self._item_scraped, signals.item_scraped)
        crawler.signals.connect(self._item_dropped, signals.item_dropped)
        crawler.signals.connect(self._item_error, signals.item_error)
        crawler.signals.connect(self._spider_error, signals.spider_error)

    def __bool__(self) -> bool:
        """True while a visit waits for completion."""
        return bool(self._unsettled)

    @property
    def held(self) -> int:
        """Number of leases that are kept because their visits stopped at a limit.

        Only leases for hosts of this crawl are counted.
        """
        return sum(self._scope.accepts(lease.entry.host) for lease in self._held)

    def visits(self) -> Iterator[Visit]:
        """Yield the visits that are not completed."""
        yield from self._unsettled.values()

    def leases(self) -> Iterator[Lease]:
        """Yield the leases of visits that are not completed, or that stopped at a limit."""
        yield from (visit.lease for visit in self._unsettled.values())
        yield from self._held

    def add(self, visit: Visit) -> None:
        """Add a visit whose request is finished."""
        self._unsettled[id(visit)] = visit

    def settle(self, seconds: float = math.inf) -> None:
        """Complete all visits, or as many as ``seconds`` allow. A sitemap with 50,000 links takes long.

        Nothing is completed while it is not clear whether the sites or our network failed
        (:mod:`newsbot.crawl.failures`). Raises :class:`newsbot.errors.DataError`; the remaining visits
        stay in the queue.
        """
        until = time.monotonic() + seconds / 2  # the other half is for visits that have begun
        while self._unsettled and not self._reachability.in_doubt:
            with self._context.timed("settle"):
                self._settle_group(until)
            if time.monotonic() > until:
                return

    def _settle_group(self, until: float) -> None:
        """Complete visits together: write all their page records in one call, then acknowledge all their
        leases in one call."""
        begun: dict[int, tuple[Visit, Iterator[Step]]] = {}
        for visit in list(islice(self._unsettled.values(), LARGEST)):
            if begun and time.monotonic() > until:
                break
            with self._one_fault(visit):
                if not self._completion.queue(visit, until):
                    self._unsettled.move_to_end(id(visit))  # a long visit must not delay the other visits
                    break
                begun[id(visit)] = visit, self._completion.conclude(visit)
        # Each generator continues only after its write, so a lease never ends before the record is written.
        self._save([(visit, step) for visit, step in self._go_on(begun) if isinstance(step, PageRecord)])
        if acks := [step for _, step in self._go_on(begun) if isinstance(step, tuple)]:
            self._context.frontier.ack_all(acks)
        for visit, _ in self._go_on(begun):
            self._end(visit)

    def _go_on(self, begun: dict[int, tuple[Visit, Iterator[Step]]]) -> list[tuple[Visit, Step]]:
        """Take one step of each visit that is not given up, and return the results."""
        found: list[tuple[Visit, Step]] = []
        for key, (visit, steps) in begun.items():
            if key in self._unsettled:
                with self._one_fault(visit):
                    found.append((visit, next(steps, None)))
        return found

    def _save(self, records: list[tuple[Visit, PageRecord]]) -> None:
        save = self._context.storage.pages.save
        try:
            save([record for _, record in records])
        except Exception as error:
            # If the backend is unavailable, the visits stay in the queue, and all are completed later.
            if isinstance(error, DataError) and not isinstance(error, RecordRefused):
                raise
            # One record is faulty. Each record is saved alone, so that only the visit of this record fails.
            for visit, record in records:
                with self._one_fault(visit):
                    save([record])

    @contextmanager
    def _one_fault(self, visit: Visit) -> Iterator[None]:
        """Give up the visit if the code in the ``with`` block raises an error. Other visits then continue."""
        try:
            yield
            return
        except RecordRefused as error:
            logger.error("cannot save the result of a visit url=%s fault=%s", visit.lease.entry.url, error)
        except DataError:
            raise
        except Exception:
            logger.exception("cannot save the result of a visit url=%s", visit.lease.entry.url)
        self._context.count("errors/settlement")
        aside = visit.lease.attempts + 1 >= MAX_ATTEMPTS
        self._context.frontier.nack(visit.lease, delay=REST, aside=aside)
        self._end(visit)

    def _end(self, visit: Visit) -> None:
        del self._unsettled[id(visit)]
        if visit.ending is Ending.HELD:
            self._held.append(visit.lease)

    # --- signals of a visit in progress
    @staticmethod
    def _visit_of(response: Any) -> Visit | None:
        request = getattr(response, "request", None)
        return None if request is None else request.meta.get(META_KEY)

    def _item_scraped(self, item: Any, response: Response) -> None:
        visit = self._visit_of(response)
        if visit is not None and visit.kind.is_listing:  # the posts of a source
            visit.settling.new_items += getattr(item, "version", None) == 1
        elif visit is not None:
            others = (item.duplicate_of, *item.derived_from) if isinstance(item, Article) else ()
            domains = {self._context.rule_for(url).domain for url in others if url is not None}
            key = getattr(item, "content_hash", "")
            visit.kept = Kept(text_key=key, is_copy=visit.rule.domain in domains)
            visit.note(self._context.clock(), EventKind.STORED, version=getattr(item, "version", None))

    def _item_dropped(self, item: Any, response: Response, exception: Exception) -> None:
        visit = self._visit_of(response)
        reason = getattr(exception, "reason", None)
        if visit is not None and (not visit.kind.is_listing or reason == Reason.LIMIT):
            visit.kept = Kept(
                text_key=getattr(item, "content_hash", ""), is_unchanged=reason == Reason.UNCHANGED
            )
            visit.note(self._context.clock(), EventKind.DROPPED, reason=str(exception))
            if reason == Reason.LIMIT:
                visit.end(Ending.HELD)

    def _item_error(self, response: Response, failure: Any) -> None:
        self._our_fault(response, failure)

    def _spider_error(self, failure: Any, response: Response) -> None:
        self._our_fault(response, failure)

    def _our_fault(self, response: Any, failure: Any) -> None:
        visit = self._visit_of(response)
        if visit is None:
            return
        # An unavailable backend is not a fault of the page, so the URL becomes pending again.
        if isinstance(failure.value, DataError) and not isinstance(failure.value, RecordRefused):
            visit.end(Ending.RETURNED)
            return
        visit.end(Ending.FAULT)
        error = f"{failure.type.__name__}: {failure.value}"[:300]
        visit.note(self._context.clock(), EventKind.FAULT, error=error)
