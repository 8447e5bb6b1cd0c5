"""Other addresses of a page (redirects, canonical links): known, so that they never cost a download."""

from __future__ import annotations

from newsbot.crawlstate import CrawlState
from newsbot.frontier.base import Entry
from newsbot.items import Where
from newsbot.queueing import page_for
from newsbot.urls import canonicalize, fingerprint, host_key
from newsbot.visit import Visit


def alias_of(visit: Visit, url: str, key: bytes, now: float) -> Entry:
    """Return the frontier entry for another address of the visited page."""
    return Entry(
        url=url,
        fingerprint=key,
        host=host_key(url),
        kind=visit.kind,
        depth=visit.lease.entry.depth,
        data={
            "source": visit.rule.domain,
            "referrer": visit.lease.entry.url,
            "where": Where.REDIRECT.value,
            "discovered_at": now,
            "why": "another address of a fetched page",
        },
    )


def is_taken(state: CrawlState, key: bytes) -> bool:
    """Return True if the page was fetched, under this address or another, or is being fetched now.

    An address that is only marked as done is not: the visit that marked it may have died.
    """
    known = state.frontier.known([key]).get(key)
    if known is None:
        return False
    if known.state == "leased" or known.last_fetched is not None:
        return True
    page = state.storage.pages([key]).get(key)
    return known.state == "done" and page is not None and page.state == "done"


def record_addresses(state: CrawlState, visit: Visit) -> None:
    """Record where redirects led to and what the page calls its canonical address; idempotent."""
    for url in (visit.outcome.redirected_to, visit.page.get("canonical_url")):
        if not url:
            continue
        key = fingerprint(canonicalize(url, visit.rule.drop_query))
        if key == visit.lease.entry.fingerprint:
            continue
        known = state.frontier.entry(key)
        if known is not None and known.kind.is_source:
            continue  # a page that calls a front page its canonical address does not replace it
        alias = alias_of(visit, url, key, state.clock())
        page = state.storage.pages([key]).get(key)
        if page is None or page.last_fetched is None:
            page = page_for(alias, state.clock())
            page.state = "done"
            state.storage.save_pages([page])
        state.frontier.mark_done([alias], None)
