"""Other addresses of a page (redirects, canonical links): known, so that they never cost a download."""

from __future__ import annotations

from newsbot.crawl.context import CrawlState
from newsbot.crawl.entries import page_for
from newsbot.crawl.links.canonical import CLAIMED, is_own_form, is_settled
from newsbot.crawl.visit import Visit
from newsbot.frontier.base import Entry
from newsbot.items import PageRecord, Where
from newsbot.urls import canonicalize, fingerprint, host_key

ALIAS = "another address of a fetched page"


def alias_of(visit: Visit, url: str, key: bytes, now: float, why: str = ALIAS) -> Entry:
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
            "why": why,
        },
    )


def other_name(state: CrawlState, visit: Visit) -> bytes | None:
    """Return the key of the known page that the visited one is, by what was learned since it was queued.

    If nobody has fetched that page yet, this visit does, and keeps others from it. What was fetched under its
    own name keeps it.
    """
    url, again = visit.lease.entry.url, visit.lease.last_fetched is not None
    if "?" not in url or not visit.rule.drop_query or visit.forced or again:
        return None
    key = fingerprint(canonicalize(url, visit.rule.drop_query))
    if key == visit.lease.entry.fingerprint:
        return None
    if is_taken(state, key):
        return key
    state.frontier.mark_done([alias_of(visit, url, key, state.clock())], None)
    return None


def is_taken(state: CrawlState, key: bytes) -> bool:
    """Return True if the page was fetched, under this address or another, or is being fetched now.

    An address that is only marked as done is not: the visit that marked it may have died.
    """
    known = state.frontier.known([key]).get(key)
    if known is None:
        return False
    if known.state == "leased" or known.last_fetched is not None:
        return True
    page = state.storage.pages.get([key]).get(key)
    return known.state == "done" and page is not None and page.state == "done"


def record_addresses(state: CrawlState, visit: Visit, record: PageRecord) -> bool:
    """Record where redirects led to and what the page calls its canonical address; idempotent.

    ``record`` is the visited page as it will be written. Returns True if a redirect's target is the page
    from now on: it is then due when the visited one would have been.
    """
    if visit.outcome.failed:
        return False  # the target is as unknown as before: the next visit must not take it for a known page
    moved = False
    target = visit.outcome.redirected_to
    if target and (key := _other_page(state, visit, target)):
        moved = not visit.kind.is_source
        alias = alias_of(visit, target, key, state.clock())
        _record_alias(state, alias, record if moved else None)
    if "?" in visit.lease.entry.url and (key := _other_page(state, visit, visit.lease.entry.url)):
        _record_alias(state, alias_of(visit, visit.lease.entry.url, key, state.clock()), None)
    canonical = visit.page.get("canonical_url")
    if canonical and canonical != target and (key := _other_page(state, visit, canonical)):
        form = is_own_form(visit, canonical)
        believed = form or is_settled(state, visit, canonical, key)
        if believed:
            why = ALIAS if form else CLAIMED
            _record_alias(state, alias_of(visit, canonical, key, state.clock(), why), None)
        visit.note(state.clock(), "canonical", to=canonical, believed=believed)
    return moved


def _other_page(state: CrawlState, visit: Visit, url: str) -> bytes | None:
    """Return the key of another page that may be an address of the visited one."""
    key = fingerprint(canonicalize(url, visit.rule.drop_query))
    if key == visit.lease.entry.fingerprint or state.is_removed(key, host_key(url)):
        return None
    known = state.frontier.entry(key)
    # a page that calls a front page its canonical address does not replace it
    return None if known is not None and known.kind.is_source else key


def _record_alias(state: CrawlState, alias: Entry, record: PageRecord | None) -> None:
    """Keep another address as done; with ``record`` as the page itself, to be fetched again when it says."""
    page = state.storage.pages.get([alias.fingerprint]).get(alias.fingerprint)
    if page is None or page.last_fetched is None:
        page = page_for(alias, state.clock())
        if record is not None:
            for name in _OF_THE_CONTENT:
                setattr(page, name, getattr(record, name))
        page.state = "done"
        state.storage.pages.save([page])
    state.frontier.mark_done([alias], None if record is None else record.next_due)


_OF_THE_CONTENT = (
    "kind", "http_status", "content_type", "content_length", "server", "etag", "last_modified",
    "content_hash", "links_count", "last_fetched", "last_full_fetch", "next_due", "checks",
)  # fmt: skip
