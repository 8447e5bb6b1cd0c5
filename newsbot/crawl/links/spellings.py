"""The spellings of an address: which of them is fetched, and which are tried when it fails.

The identity of a page leaves out the scheme, ``www.``, tracking keys, session ids and repeated slashes
(:mod:`newsbot.urls`). So a broken spelling of an address has the identity of the good one. A site that gives
such a spelling, by mistake or on purpose, must not take the page away from its own site:

* A spelling that the page's own site gives replaces the spelling that another site gave.
* A feed or sitemap that its own site names is a source of this site, whoever named it first.
* What fails under the spelling of another site is tried under those of its own site, then by http if the
  host has no TLS, then under the canonical one. Only then has it failed.

The history of the page record keeps the spellings of the own site: ``discovered`` events with ``to``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import Any

from newsbot.crawl.context import Context
from newsbot.crawl.entries import page_for
from newsbot.crawl.failures import NO_TLS
from newsbot.crawl.links.canonical import alias_of
from newsbot.crawl.visit import Visit
from newsbot.dedup.decision import headlines_agree
from newsbot.frontier.base import Entry, EntryData
from newsbot.items import Event, EventKind, Kind, PageRecord, Reason, Where
from newsbot.urls import canonicalize, fingerprint, host_key

MAX_SPELLINGS = 3
"""Of one site for one page that are kept."""
MAX_SETTLED = 100_000
"""Links of which is remembered that they give no new spelling."""
_SAYS_NOTHING = (
    *(Reason.TOO_YOUNG, Reason.OURS, Reason.UNNAMED, Reason.LIMIT),
    *(Reason.REMOVED, Reason.DENIED, Reason.PRIVATE_ADDRESS),
)
"""Ends of visits that another spelling would not change."""


class Spellings:
    """Chooses among the spellings of one address."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._settled: set[bytes] = set()
        self._read_for: dict[str, str | None] = {}
        """By the URL of a page, the domain of the site whose source it is; None for other pages."""

    def given_by_site(self, told: Mapping[str, Any], url: str) -> bool:
        """Return True if the site of ``url``, a rule or a person gave it; ``told`` says where it was found.

        ``told`` is the data of an entry or a ``discovered`` event.
        """
        referrer = told.get("referrer")
        if referrer is None:
            return told.get("where") in (Where.SEED, Where.ARGUMENT, Where.GUESS)
        domain = self._context.rule_for(url).domain
        return domain in (self._context.rule_for(referrer).domain, self._source_of(referrer))

    def _source_of(self, referrer: str) -> str | None:
        """Return the domain of the site that has ``referrer`` as a source, on any host."""
        if len(self._read_for) > MAX_SETTLED:
            self._read_for.clear()
        if referrer not in self._read_for:
            key = fingerprint(canonicalize(referrer))
            page = self._context.storage.pages.get([key]).get(key)
            self._read_for[referrer] = page.source if page is not None and page.kind.is_source else None
        return self._read_for[referrer]

    def offer(self, entries: Sequence[Entry]) -> None:
        """Take the spellings in which sites list pages of their own that are known already.

        ``entries`` stand for those links. A page that waits and was never fetched is fetched under this
        spelling; a page that failed is queued again. Raises :class:`newsbot.errors.DataError`.
        """
        if len(self._settled) > MAX_SETTLED:
            self._settled.clear()
        asked = {
            entry.fingerprint: entry
            for entry in entries
            if _spelling(entry) not in self._settled and self.given_by_site(entry.data, entry.url)
        }
        if not asked:
            return
        pages = self._context.storage.pages.get(list(asked))
        news = [(asked[key], page) for key, page in pages.items() if self._is_news(asked[key], page)]
        if news:
            self._take(news)
        self._settled.update(_spelling(entry) for entry in asked.values())

    def _is_news(self, entry: Entry, page: PageRecord) -> bool:
        """Return True for a spelling that is new for the site, if the page was not fetched well yet."""
        given = {event.get("to") or page.url for event in self._given_by_site(page)}
        if given and entry.data["where"] == Where.SEED:
            return False  # the other addresses of a home page have an order of their own
        if entry.url in given or len(given) >= MAX_SPELLINGS:
            return False
        return not _is_had(page, entry) or (not given and self._gave_another_text(page, entry))

    def _gave_another_text(self, page: PageRecord, entry: Entry) -> bool:
        """Return True if the spelling of another site gave an article with another headline, or a copy.

        Some sites answer a wrong address with a page that looks like an article.
        """
        if entry.kind is not Kind.ARTICLE or page.url == entry.url:
            return False
        url = canonicalize(entry.url, self._context.rule_for(entry.url).drop_query)
        kept = self._context.storage.articles.get(url)
        if kept is None or fingerprint(kept.canonical_url) != entry.fingerprint:
            return True
        return headlines_agree(str(entry.data.get("title") or ""), kept.title) is False

    def _given_by_site(self, page: PageRecord) -> Iterator[Event]:
        for event in reversed(page.history):
            if event.get("event") == EventKind.DISCOVERED and self.given_by_site(event, page.url):
                yield event

    def _take(self, news: Sequence[tuple[Entry, PageRecord]]) -> None:
        """Store the spellings, then queue them. A visit in progress reads the stored ones at its end."""
        context = self._context
        context.storage.pages.save([_noted(page, entry, context.clock()) for entry, page in news])
        known = context.frontier.known([entry.fingerprint for entry, _ in news])
        waiting, failed = [], []
        for entry, _ in news:
            stands = known.get(entry.fingerprint)
            if stands is not None and stands.state == "pending" and stands.last_fetched is None:
                waiting.append(entry)
            elif stands is not None and stands.state == "done":
                failed.append(entry)
        context.frontier.add(waiting, respell=True)
        context.frontier.add(failed, force=True)
        context.count("links/respelled", len(waiting) + len(failed))

    def following(self, visit: Visit) -> Entry | None:
        """Return what to fetch next of a page that failed under this spelling; None: nothing more.

        Raises :class:`newsbot.errors.DataError`.
        """
        entry = visit.lease.entry
        before = entry.data.get("tried", [])
        strange = not self.given_by_site(entry.data, entry.url)
        from_elsewhere = bool(before) or strange
        has_failed = _has_failed(visit, from_elsewhere=from_elsewhere)
        named_source = strange and visit.kind.is_source
        if not (has_failed or named_source):
            return None
        # What another site named as its source is what its own site says, under any spelling that it gives.
        tried = before if named_source else [*before, entry.url]
        page = self._context.storage.pages.get([entry.fingerprint]).get(entry.fingerprint)
        for event in () if page is None else self._given_by_site(page):
            if (url := event.get("to")) is not None and url not in tried:
                source = self._context.rule_for(url).domain if visit.kind.is_source else entry.data["source"]
                after = _respelled(entry, url, tried, referrer=event.get("referrer"), source=source)
                return replace(after, kind=page.kind) if page is not None and named_source else after
        if not (has_failed and from_elsewhere):
            return None
        spellings = [canonicalize(entry.url, visit.rule.drop_query)]
        if visit.outcome.error in NO_TLS and visit.outcome.error != Reason.TIMEOUT:
            # the scheme is at fault, not the rest of the address
            spellings.insert(0, re.sub("^https:", "http:", spellings[0]))
        untried = [url for url in spellings if url not in (*tried, entry.url)]
        if not untried:
            return None
        referrer, source = entry.data.get("referrer"), entry.data["source"]
        return _respelled(entry, untried[0], tried, referrer=referrer, source=source)

    def target(self, visit: Visit) -> Entry | None:
        """Return the page of another site to which a redirect led in a spelling that failed, or None.

        The entry has the canonical spelling. It is to be queued if the page is not known.
        """
        url = visit.outcome.redirected_to
        if url is None or visit.kind is not Kind.ARTICLE or not _has_failed(visit, from_elsewhere=True):
            return None
        domain = self._context.rule_for(url).domain
        if domain == self._context.rule_for(visit.lease.entry.url).domain:
            return None
        entry = alias_of(visit, url, fingerprint(url), self._context.clock())
        data: EntryData = {**entry.data, "source": domain}
        return replace(entry, priority=visit.lease.entry.priority, data=data)


def _spelling(entry: Entry) -> bytes:
    """Return a key for the address in this spelling and as this kind."""
    text = f"{entry.kind} {entry.url}"
    return blake2b(text.encode("utf8", "replace"), key=entry.fingerprint, digest_size=16).digest()


def _is_had(page: PageRecord, entry: Entry) -> bool:
    """Return True for a page that was fetched and is what the link says."""
    if page.state != "done" or page.failures or page.last_fetched is None:
        return False
    as_said = not entry.kind.is_source or (page.kind, page.source) == (entry.kind, entry.data["source"])
    return as_said and (page.url == entry.url or page.last(EventKind.NOT_AN_ARTICLE) is None)


def _noted(page: PageRecord, entry: Entry, now: float) -> PageRecord:
    """Return the record with the spelling of ``entry``."""
    (found,) = page_for(entry, now).history
    found["to"] = entry.url
    return respelled(replace(page, history=[found]), entry)


def respelled(page: PageRecord, entry: Entry) -> PageRecord:
    """Return the record of a page that is fetched next as ``entry`` says: the last answer was not its own."""
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
    """Return True if a visit gave nothing that another spelling of the address may give."""
    outcome = visit.outcome
    if outcome.error in _SAYS_NOTHING or (outcome.error == Reason.REDIRECT_KNOWN and not from_elsewhere):
        return False
    return outcome.failed or (from_elsewhere and visit.kind is Kind.ARTICLE and outcome.is_article is False)


def _respelled(entry: Entry, url: str, tried: list[str], *, referrer: str | None, source: str) -> Entry:
    data: EntryData = {**entry.data, "referrer": referrer, "tried": tried, "source": source}
    return replace(entry, url=url, host=host_key(url), due=0.0, data=data)
