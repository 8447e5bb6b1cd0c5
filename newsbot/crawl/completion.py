"""The end of a visit: links are queued, the page record is written, the lease is acknowledged.

In this order, each step idempotent: a crash between two of them repeats work and loses nothing.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace

from newsbot.crawl.context import CrawlState
from newsbot.crawl.entries import page_for
from newsbot.crawl.links.aliases import record_addresses
from newsbot.crawl.links.canonical import give_back
from newsbot.crawl.links.judge import queue_found
from newsbot.crawl.links.list_probing import end_trial
from newsbot.crawl.links.unnamed import UNNAMED
from newsbot.crawl.links.usual_places import end_guess, guess_sources, judge_source
from newsbot.crawl.source_state import SourceBook
from newsbot.crawl.visit import Found, Visit
from newsbot.items import Kind, Link, PageRecord, Where
from newsbot.ranking.url_learning import EXPLORED
from newsbot.recrawl import FixedIntervals, Never, Policy, may_retry, plan, retry_delay
from newsbot.recrawl.pages import Ladder, NutchPages, seen_change
from newsbot.recrawl.planning import KNOWN_PAGE, Plan
from newsbot.rules.schema import RECRAWL
from newsbot.sites.removals import REMOVED
from newsbot.urls import canonicalize

PAGES: Mapping[str, Policy] = {
    "ladder": Ladder(),
    "nutch": NutchPages(),
    "fixed": FixedIntervals(),
    "off": Never(),
}
"""What ``recrawl`` of a rule names, for articles and other pages."""
NO_TLS = ("refused", "tls", "proxy", "connection", "timeout", "robots_unreachable")
NO_HOME = ("dns", "http_404", "http_410")
_OURS = ("too_young", "ours", UNNAMED, *KNOWN_PAGE, "limit")
"""Ends of visits that say nothing of the site."""
NOT_THERE = Plan(None, "gone", "one of the usual places of feeds and sitemaps: nothing is there")
_JITTER = random.Random()  # noqa: S311  (spreads retries, keeps no secret)


def settle(state: CrawlState, visit: Visit) -> None:
    """Bring a visit to its end. Raises :class:`newsbot.errors.DataError`; may then be called again."""
    if _ends_without_a_record(state, visit):
        return
    outcome = visit.outcome
    while visit.found:
        outcome.new_items += queue_found(state, visit.found[0], visit)
        del visit.found[0]
    end_trial(state, visit)
    guess_sources(state, visit)
    if visit.failed:
        outcome.error = "ours"
    record = _record(state, visit)
    home = _next_guess(visit)
    if home is None and _retry(state, visit, record):
        return
    give_back(state, visit)
    absent = visit.guessed and end_guess(state, visit)
    judge_source(state, visit)
    counted = visit.keeps_book and not absent and home is None
    book = SourceBook(state, visit, record.url) if counted else None
    decision = NOT_THERE
    if not absent:
        policy = _policy(state, visit, book)
        decision = plan(record, outcome, visit.rule, state.clock(), policy=policy, jitter=_JITTER.random())
    record.state = decision.state
    record.next_due = visit.page.get("next_due", decision.next_due)
    if record_addresses(state, visit, record):
        record.next_due = None
    found = seen_change(outcome, record)
    seen = {} if found is None or visit.kind.is_source else {"changed": found}
    visit.note(state.clock(), "planned", next_due=record.next_due, why=decision.reason, **seen)
    record.history = visit.events
    state.storage.pages.save([record])
    if book is not None:
        book.write(record)
    _teach(state, visit)
    # The next guess has the same key, so it is queued when the lease has ended. Who is killed in between
    # leaves this one due at once, and not in the minutes that were planned.
    state.frontier.ack(visit.lease, next_due=record.next_due if home is None else state.clock())
    state.count("frontier/acked")
    if home is not None:
        link = Link(url=home, where=Where.SEED, kind=Kind.SECTION)
        queue_found(state, Found(links=(link,), referrer=None, depth=0, force=True))


def _ends_without_a_record(state: CrawlState, visit: Visit) -> bool:
    if visit.hand_back:
        return True  # the lease stays ours until the crawl closes and releases it
    if visit.given_back:
        state.frontier.nack(visit.lease, delay=0.0, counted=False)
        state.count("frontier/given_back")
        return True
    entry = visit.lease.entry
    if visit.outcome.error == REMOVED or state.is_removed(entry.fingerprint, entry.host):
        state.frontier.ack(visit.lease, next_due=None)  # also where it was taken out while it was fetched
        return True
    return False


def _policy(state: CrawlState, visit: Visit, book: SourceBook | None) -> Policy:
    """Return what decides when the page is wanted again."""
    if book is not None:
        return book.policy
    if visit.kind.is_source:
        return FixedIntervals()
    kind = visit.outcome.seen_as
    word = visit.rule.recrawl.get(kind, RECRAWL[kind][0])
    if word == "optimum":
        return state.page_prices.policy(state.storage, visit.rule.domain, visit.kind)
    return PAGES[word]


def _record(state: CrawlState, visit: Visit) -> PageRecord:
    """Return the page record with what this visit saw of the page."""
    now, outcome = state.clock(), visit.outcome
    known = visit.record or _known_page(state, visit) or page_for(visit.lease.entry, visit.discovered_at())
    record = replace(known)  # a copy: a fault may bring us here again, and the visit counts once
    if outcome.error in ("too_young", UNNAMED):
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


def _known_page(state: CrawlState, visit: Visit) -> PageRecord | None:
    """Return the record of a page whose visit ended before it was looked up."""
    key = visit.lease.entry.fingerprint
    return state.storage.pages.get([key]).get(key)


def _retry(state: CrawlState, visit: Visit, record: PageRecord) -> bool:
    """Hold the URL back for another attempt if its fault may pass; False if it is final."""
    cause = visit.outcome.error
    attempts = visit.lease.attempts + 1
    if not may_retry(cause, attempts):
        return False
    scale = state.settings.getfloat("NEWSBOT_RETRY_SCALE")
    delay = max(scale * retry_delay(attempts, _JITTER.random()), visit.outcome.retry_after or 0.0)
    visit.note(state.clock(), "retry", cause=cause, after=round(delay, 1), attempt=attempts)
    record.history = visit.events
    state.storage.pages.save([record])
    state.frontier.nack(visit.lease, delay=delay)
    state.count("frontier/nacked")
    return True


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


def _why_none(visit: Visit) -> str:
    """Return why the page holds no article; empty if it holds one."""
    if visit.outcome.is_article:
        return ""
    told = [event for event in visit.events if event.get("event") == "not_an_article"]
    return str(told[-1].get("reason")) if told else "no_article"


def _teach(state: CrawlState, visit: Visit) -> None:
    """Let the site's addresses be learned from what the page turned out to be."""
    told = visit.outcome.is_article
    if visit.taught or visit.kind is not Kind.ARTICLE:
        return
    reason = None if told is None else _why_none(visit)
    reason = visit.outcome.error if reason is None else reason
    if reason is not None and reason not in _OURS and visit.data.get("why") != EXPLORED:
        state.site_health.saw(state.notes, visit.rule.domain, reason)
    if told is None:
        visit.taught = True
        return
    url = canonicalize(visit.lease.entry.url, visit.rule.drop_query)
    state.lessons.fetched(visit.rule, url, article=told, why=str(visit.data.get("why")))
    visit.taught = True
