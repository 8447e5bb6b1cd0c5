"""Decides which spelling of a URL is fetched, and which spellings are tried if it fails.

The identity of a page leaves out the scheme, ``www.``, tracking keys, session ids and repeated slashes
(:mod:`newsbot.urls`). A broken spelling of a URL therefore has the same identity as the correct one. If
another site links to a page with a broken spelling, by mistake or on purpose, the page must still be read:

* A spelling from another site is used in its canonical form, without tracking keys.
* A spelling from the page's own site replaces a spelling from another site. If it has another scheme or host,
  the page is read again.
* A feed or sitemap that its own site names is a source of this site, even if another site named it first.
* A page that fails under the spelling of another site is tried under the spellings of its own site, then with
  http if the host has no TLS, then under the canonical spelling. If all fail, the page has failed.

The history of the page record keeps the spellings of the page's own site, as ``discovered`` events with
``to``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import Any, cast

from newsbot.crawl.context import Context
from newsbot.crawl.entries import page_for
from newsbot.crawl.failures import NO_TLS
from newsbot.crawl.links.canonical import alias_of
from newsbot.crawl.visit import Visit
from newsbot.frontier.base import Entry, EntryData, known_of
from newsbot.items import Bounded, Event, EventKind, GivenBy, Kind, PageRecord, Reason, Where
from newsbot.urls import canonicalize, fingerprint, host_key

MAX_SPELLINGS = 3
"""Maximum number of spellings that are stored for one page."""
MAX_SETTLED = 100_000
"""Maximum number of links without a new spelling that are remembered."""
_SAYS_NOTHING = (
    *(Reason.TOO_YOUNG, Reason.OURS, Reason.UNNAMED, Reason.LIMIT),
    *(Reason.REMOVED, Reason.DENIED, Reason.PRIVATE_ADDRESS),
)
"""Errors of visits that would occur under any spelling of the URL."""


class Spellings:
    """Chooses among the spellings of a URL."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._settled = Bounded[bytes, None](MAX_SETTLED)
        """Keys of the links that were checked and give no new spelling."""

    def given_by_site(self, data: Mapping[str, Any], url: str) -> bool:
        """Return True if ``url`` comes from its own site, a rule or a person.

        ``data`` are the data of an entry, or a ``discovered`` event. Both say where the URL was found.
        """
        referrer = data.get("referrer")
        if referrer is None:
            return data.get("where") in (Where.SEED, Where.ARGUMENT, Where.GUESS)
        # Data that earlier versions stored do not say who gave the link. The host of the referrer is used.
        given_by = GivenBy(data.get("given_by") or self._context.rule_for(referrer).domain)
        return given_by.counts_for(self._context.rule_for(url).domain)

    def is_from_site(self, url: str, *, unknown: bool) -> bool:
        """Return True if the site of the page ``url`` gives this address. Return ``unknown`` if there is no
        record of the page. Raises :class:`newsbot.errors.DataError`.
        """
        key = fingerprint(canonicalize(url, self._context.rule_for(url).drop_query))
        page = self._context.storage.pages.get([key]).get(key)
        return unknown if page is None else any(self._given_by_site(page))

    def prefers(self, url: str, to: str) -> bool:
        """Return True if a page's own site gives the scheme and host of ``url``, and not those of ``to``.

        If a redirect led to ``url``, its site gives another URL; then another site must have named the page
        first. Raises :class:`newsbot.errors.DataError`.
        """
        key = fingerprint(canonicalize(url, self._context.rule_for(url).drop_query))
        page = self._context.storage.pages.get([key]).get(key)
        given = set() if page is None else {canonicalize(at) for at in self._spellings_of_site(page)}
        if page is None or not given or canonicalize(to) in given:
            return False
        first = next(event for event in page.history if event["event"] == EventKind.DISCOVERED)
        return canonicalize(url) in given or not self.given_by_site(first, page.url)

    def offer(self, entries: Sequence[Entry]) -> None:
        """Use the spellings of a site's links to its own pages, if the pages are known already.

        ``entries``: the entries of links to known pages. Links from other sites are ignored. A page that was
        never fetched and waits in the queue will be fetched under the new spelling. A page that failed is
        queued again. Raises :class:`newsbot.errors.DataError`.
        """
        asked = {
            entry.fingerprint: entry
            for entry in entries
            if _spelling(entry) not in self._settled and self.given_by_site(entry.data, entry.url)
        }
        if not asked:
            return
        pages = self._context.storage.pages.get(list(asked))
        new = [(asked[key], page) for key, page in pages.items() if self._is_new(asked[key], page)]
        if new:
            self._take(new)
        # This comes last, so that the links are checked again if a write above raises an error.
        self._settled.add(*map(_spelling, asked.values()))

    def _is_new(self, entry: Entry, page: PageRecord) -> bool:
        """Return True if the spelling is new and the page was not fetched successfully yet."""
        given = set(self._spellings_of_site(page))
        if given and entry.data["where"] == Where.SEED:
            return False  # a home page has a fixed order of spellings (newsbot.crawl.completion)
        if entry.url in given or len(given) >= MAX_SPELLINGS:
            return False
        if not given and page.last(EventKind.NOT_AN_ARTICLE) is not None:
            return True  # that the site's own feed lists the page is evidence that it is an article
        misled = not given and canonicalize(entry.url) != canonicalize(page.url)
        return not _is_had(page, entry) or (misled and entry.kind is Kind.ARTICLE)

    def _given_by_site(self, page: PageRecord) -> Iterator[Event]:
        """Yield the ``discovered`` events that come from the page's own site, the latest event first."""
        for event in reversed(page.history):
            if event.get("event") == EventKind.DISCOVERED and self.given_by_site(event, page.url):
                yield event

    def _spellings_of_site(self, page: PageRecord) -> Iterator[str]:
        return (event.get("to") or page.url for event in self._given_by_site(page))

    def _take(self, new: Sequence[tuple[Entry, PageRecord]]) -> None:
        """Store the spellings, then queue them.

        The spellings are stored first, because the visit of a page reads them when it ends.
        """
        context = self._context
        context.storage.pages.save([_with_spelling(page, entry, context.clock()) for entry, page in new])
        known = known_of(context.frontier, [entry for entry, _ in new])
        # Leased entries are in neither list: their visit reads the stored spellings when it ends.
        waiting, failed = [], []
        for entry, _ in new:
            present = known.get(entry.fingerprint)
            if present is not None and present.state == "pending" and present.last_fetched is None:
                waiting.append(entry)
            elif present is not None and present.state == "done":
                failed.append(entry)
        context.frontier.add(waiting, respell=True)
        context.frontier.add(failed, force=True)
        context.count("links/respelled", len(waiting) + len(failed))

    def following(self, visit: Visit) -> Entry | None:
        """Return the spelling under which a page is fetched next, or None if no spelling is left.

        A page is fetched again if it failed, or if its own site gives another scheme or host. Raises
        :class:`newsbot.errors.DataError`.
        """
        entry = visit.lease.entry
        before = entry.data.get("tried", [])
        not_from_site = not self.given_by_site(entry.data, entry.url)
        from_elsewhere = bool(before) or not_from_site
        has_failed = _has_failed(visit, from_elsewhere=from_elsewhere)
        named_source = not_from_site and visit.kind.is_source
        if not (has_failed or not_from_site):
            return None
        # Another site may have named the page as its feed or section. The page is then fetched again as the
        # kind that its own site names, under a spelling of its own site, even if this spelling was just
        # fetched.
        tried = before if named_source else [*before, entry.url]
        page = self._context.storage.pages.get([entry.fingerprint]).get(entry.fingerprint)
        for event in () if page is None else self._given_by_site(page):
            if (url := event.get("to")) is None or url in tried:
                continue
            # After a success, only a spelling with another scheme or host is read.
            if has_failed or named_source or canonicalize(url) != canonicalize(entry.url):
                source = self._context.rule_for(url).domain if visit.kind.is_source else entry.data["source"]
                after = _respelled(entry, url, {**_said(event), "source": source, "tried": tried})
                return replace(after, kind=page.kind) if page is not None and named_source else after
        if not (has_failed and from_elsewhere):
            return None
        spellings = [canonicalize(entry.url, visit.rule.drop_query)]
        if (error := visit.outcome.error) in NO_TLS and error != Reason.TIMEOUT:
            # The host seems to have no TLS, so the same spelling is tried with http. This is not done after a
            # timeout, which may have other causes.
            spellings.insert(0, re.sub("^https:", "http:", spellings[0]))
        untried = [url for url in spellings if url not in (*tried, entry.url)]
        if not untried:
            return None
        return _respelled(entry, untried[0], {**entry.data, "tried": tried})

    def target(self, visit: Visit) -> Entry | None:
        """Return an entry for a page of another site if a redirect led to it and failed, else None.

        The redirect may have used a broken spelling, so the entry has the canonical spelling. The caller
        queues the entry if the page is not known.
        """
        url = visit.redirected_to
        if url is None or visit.kind is not Kind.ARTICLE or not _has_failed(visit, from_elsewhere=True):
            return None
        domain = self._context.rule_for(url).domain
        if domain == self._context.rule_for(visit.lease.entry.url).domain:
            return None
        entry = alias_of(visit, url, fingerprint(url), self._context.clock())
        data: EntryData = {**entry.data, "source": domain}
        return replace(entry, priority=visit.lease.entry.priority, data=data)


def _spelling(entry: Entry) -> bytes:
    """Return a hash of this spelling of the URL together with the entry's kind."""
    text = f"{entry.kind} {entry.url}"
    return blake2b(text.encode("utf8", "replace"), key=entry.fingerprint, digest_size=16).digest()


def _is_had(page: PageRecord, entry: Entry) -> bool:
    """Return True if a page was fetched successfully and is of the kind that the link says."""
    if page.state != "done" or page.failures or page.last_fetched is None:
        return False
    as_said = not entry.kind.is_source or (page.kind, page.source) == (entry.kind, entry.data["source"])
    return as_said and (page.url == entry.url or page.last(EventKind.NOT_AN_ARTICLE) is None)


def _with_spelling(page: PageRecord, entry: Entry, now: float) -> PageRecord:
    """Return the record with the spelling of ``entry`` added to its history."""
    (found,) = page_for(entry, now).history
    found["to"] = entry.url
    return respelled(replace(page, history=[found]), entry)


def respelled(page: PageRecord, entry: Entry) -> PageRecord:
    """Return the record of a page that is fetched next under the spelling of ``entry``.

    Validators and hash are cleared, because the last response came from another URL.
    """
    return replace(
        page,
        url=entry.url,
        host=entry.host,
        source=entry.data["source"],
        kind=entry.kind,
        failures=max(1, page.failures),
        etag=None,
        last_modified=None,
        content_hash=None,
        last_full_fetch=None,
    )


def _has_failed(visit: Visit, *, from_elsewhere: bool) -> bool:
    """Return True if a visit failed and another spelling of the URL may succeed.

    ``from_elsewhere``: the URL came from another site, or is not the first spelling that was tried. A page
    that is not an article then counts as a failure too.
    """
    outcome = visit.outcome
    if outcome.error in _SAYS_NOTHING or (outcome.error == Reason.REDIRECT_KNOWN and not from_elsewhere):
        return False
    return outcome.failed or (from_elsewhere and visit.kind is Kind.ARTICLE and outcome.is_article is False)


def _said(event: Event) -> EntryData:
    """Return the data of an entry for a URL that was found as ``event`` says."""
    keys = EntryData.__annotations__.keys() - {"discovered_at"}
    return cast("EntryData", {key: value for key, value in event.items() if key in keys})


def _respelled(entry: Entry, url: str, data: EntryData) -> Entry:
    data = {**data, "discovered_at": entry.data["discovered_at"]}
    return replace(entry, url=url, host=host_key(url), due=0.0, data=data)
