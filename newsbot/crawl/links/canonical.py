"""The addresses of a page: redirect targets, the canonical address that it names, the spellings of its URL.

A page's statement of its canonical address (``<link rel="canonical">``, RFC 6596) is called a *claim*. Other
addresses of a page are marked as done, so that they are not downloaded.

Most claims are right. Some are wrong: a template names one article on all pages, or the head of one page was
copied to another page. If the site itself lists an article, a claim alone therefore never prevents the crawl
from reading the article:

* Forms of one address (AMP, print, mobile host, parameters) are always the same page.
* An unknown address is marked as another address of the page. It is read nevertheless if a list shows it
  later with another headline or without one.
* An address that waits in the queue is read, unless it was listed with the page's headline.
* A section, a page of another site, or an address that the rule denies cannot be an article. It is therefore
  never a canonical address.
* A page on another host of the site is read. Its address is the canonical address only if it has the same
  text, because one rule may cover the hosts of many blogs.

When both pages have been read, their texts decide (:mod:`newsbot.pipelines.exact`).

:class:`Spellings` decides which spelling of a URL is fetched, and which are tried if it fails. The identity
of a page leaves out the scheme, ``www.``, tracking keys, session ids and repeated slashes
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

import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from hashlib import blake2b
from typing import Any, cast

from newsbot.clock import from_iso
from newsbot.crawl.context import Context
from newsbot.crawl.entries import entry_for, page_for
from newsbot.crawl.failures import NO_TLS
from newsbot.crawl.scope import Removals
from newsbot.crawl.visit import Visit
from newsbot.dedup.decision import headlines_agree, is_one_article
from newsbot.dedup.index import signature
from newsbot.frontier.base import Entry, EntryData, known_of
from newsbot.items import (
    Article,
    Bounded,
    Event,
    EventKind,
    GivenBy,
    Kind,
    Link,
    PageRecord,
    Reason,
    Where,
    read_reason,
)
from newsbot.pages.extraction.addresses import is_variant, on_one_host
from newsbot.pages.rules.rule import classify
from newsbot.ranking.judging import Judgement
from newsbot.storage.articles import of_one_page
from newsbot.urls import canonicalize, fingerprint, host_key

logger = logging.getLogger(__name__)

CHECK_PRIORITY = 500.0
"""Priority of an address that is read to check a wrong claim. It is above the priority of new articles."""
MAX_SETTLED = 50_000
"""Maximum number of addresses that are remembered because they need no check; they take 4 MB."""
MAX_CHAIN = 10
"""Maximum number of articles that are moved to free one address."""
NOT_THERE = (Reason.HTTP_404, Reason.HTTP_410)
"""Errors after which an address is treated as an address without a page."""
APART = timedelta(days=1)
"""Two pages with the same headline are different articles if their publication times are further apart."""


class Canonical:
    """Decides which address identifies a page, and marks its other addresses as done."""

    def __init__(self, context: Context, removals: Removals) -> None:
        self._context, self._removals = context, removals
        self._settled = Bounded[bytes, None](MAX_SETTLED)
        """Fingerprints of known addresses that need no check when a list links to them."""

    def is_of_another_site(self, source: str, claim: str) -> bool:
        """Return True if the address ``claim`` belongs to a site that has a rule and is not the site
        ``source``.

        The crawl reads the other site too, so both sites keep their own copy of the article.
        """
        domain = self._context.rule_for(claim).domain
        return domain != source and self._context.rules.get(domain) is not None

    def may_name(self, source: str, claim: str) -> bool:
        """Return True if a page of the site ``source`` (a domain) may claim the address ``claim``.

        Raises :class:`newsbot.errors.DataError`.
        """
        if self.is_of_another_site(source, claim):
            return False
        match = classify(self._context.rule_for(claim), claim)
        if match.denied or (match.kind is not None and match.kind.is_source):
            return False
        key = fingerprint(claim)
        known = self._context.frontier.entry(key, host_key(claim))
        if known is not None and known.kind.is_source:
            return False
        page = self._context.storage.pages.get([key]).get(key)
        # If no page was found at the claimed address, the article keeps its own address.
        return page is None or page.http_status not in (404, 410)

    def is_settled(self, visit: Visit, claim: str, key: bytes) -> bool:
        """Return True if the claimed address need not be visited.

        ``claim`` is the address that the visited page calls canonical, and ``key`` is the fingerprint of
        ``claim``. Raises :class:`newsbot.errors.DataError`.
        """
        if not (on_one_host(visit.url, claim) and self.may_name(visit.rule.domain, claim)):
            return False
        known = self._context.frontier.known([key], [host_key(claim)]).get(key)
        if known is None:
            return True
        if known.state in ("pending", "aside"):
            waiting = self._context.frontier.entry(key, host_key(claim))
            return waiting is not None and self._is_the_same(visit, waiting)
        # If an address is done but was never fetched, an earlier claim or redirect has marked it as done. If
        # it is leased or was fetched, its text will be compared later (newsbot.pipelines.exact).
        return known.state == "done" and known.last_fetched is None

    def _is_the_same(self, visit: Visit, waiting: Entry) -> bool:
        """Return True if a queued address is probably another address of the visited page."""
        if waiting.data.get("force"):
            return False  # a person requested this URL, so it is read
        agree = headlines_agree(str(waiting.data.get("title") or ""), visit.reading.title or "")
        # Columns and daily summaries have the same headline each day, so the publication time counts too.
        return agree is True and not _are_apart(waiting.data.get("published_at"), visit.reading.published_at)

    def offered_by_themselves(self, entries: list[Entry]) -> list[Entry]:
        """Return the entries that were marked as done by a claim and must be read nevertheless.

        ``entries`` are the entries of a page's links to known URLs. Raises :class:`newsbot.errors.DataError`.
        """
        # Lists show the same links at each visit, so checked URLs are remembered to avoid queries. If the
        # state of a URL can no longer change, its fingerprint is remembered. If a URL was compared with its
        # article, it is remembered with its headline (_offer), because it must be compared again when a list
        # shows another headline.
        settled = self._settled
        asked = {
            one.fingerprint: one
            for one in entries
            if one.fingerprint not in settled and _offer(one) not in settled
        }
        claimed = []
        for key, known in known_of(self._context.frontier, asked.values()).items():
            if known.last_fetched is not None:
                settled.add(key)
            elif known.state == "done" and known.next_due is None:
                claimed.append(key)
        found = []
        for key, page in (self._context.storage.pages.get(claimed) if claimed else {}).items():
            if not _is_claimed(page):
                settled.add(key)
            elif self._differs(asked[key]):
                found.append(asked[key])
            else:
                settled.add(_offer(asked[key]))
        return found

    def _differs(self, entry: Entry) -> bool:
        """Return True if the stored article of a claimed address is not the page that the list shows."""
        if entry.kind is not Kind.ARTICLE:
            return True
        kept = self._context.storage.articles.get(
            canonicalize(entry.url, self._context.rule_for(entry.url).drop_query)
        )
        if kept is None or kept.source != entry.data["source"]:
            return True
        return not headlines_agree(str(entry.data.get("title") or ""), kept.title)

    def read_after_all(self, url: str) -> None:
        """Queue an address that a wrong claim has marked as done.

        An entry that waits, is leased or was fetched before is not changed. Raises
        :class:`newsbot.errors.DataError`.
        """
        rule = self._context.rule_for(url)
        key = fingerprint(canonicalize(url, rule.drop_query))
        known = self._context.frontier.known([key], [host_key(url)]).get(key)
        if known is None or known.state != "done" or known.last_fetched is not None:
            return
        if self._removals.covers(key, host_key(url)):
            return
        link = Link(url=url, where=Where.REDIRECT, kind=Kind.ARTICLE)
        judgement = Judgement(
            kind=Kind.ARTICLE, priority=CHECK_PRIORITY, accepted=True, reason=Reason.DOUBTED
        )
        entry = entry_for(link, rule, judgement, depth=1, referrer=None, now=self._context.clock())
        self._context.frontier.add([entry], force=True)
        self._context.count("canonical/read_after_all")

    def free_address(self, kept: Article, chain: int = MAX_CHAIN) -> bool:
        """Move an article that was stored under another page's URL to the URL from which it was fetched.

        If the claim of a third page has placed another article at the target URL, that article is moved
        first, and so on. At most ``chain`` articles are moved. Returns False if the article could not be
        moved. Raises :class:`newsbot.errors.DataError`.
        """
        home = canonicalize(kept.url)
        there = self._context.storage.articles.get(home)
        if (
            there is not None
            and chain
            and came_from_elsewhere(there, home)
            and not is_one_article(there, kept)
        ):
            self.free_address(there, chain - 1)
        self._context.count("canonical/wrong")
        # The index is written before the storage. After a crash between the two writes, the index has an
        # entry without an article, but each stored article is in the index.
        self._context.index.check_and_insert(home, kept.source, signature(kept.text), self._context.clock())
        logger.info(
            "canonical address wrong domain=%s page=%s named=%s", kept.source, home, kept.canonical_url
        )
        return self._context.storage.articles.readdress(kept.canonical_url, kept.content_hash, home)

    def give_back(self, visit: Visit) -> None:
        """After a visit, move an article that was stored under the visited URL because of a wrong claim.

        If the visited URL is gone, is a list, or is not an article, the article is moved to the URL from
        which it was fetched. Raises :class:`newsbot.errors.DataError`; the call can then be repeated.
        """
        gone = visit.outcome.error in NOT_THERE
        first = visit.record is None or visit.record.last_fetched is None
        list_of_links = visit.kind is Kind.SECTION and first and not visit.outcome.failed
        page_without = visit.kind is Kind.ARTICLE and (gone or visit.reading.is_article is False)
        if not (list_of_links or page_without):
            return
        url = canonicalize(visit.lease.entry.url, visit.rule.drop_query)
        kept = self._context.storage.articles.get(url)
        if kept is not None and came_from_elsewhere(kept, url):
            self.free_address(kept)

    def record_addresses(self, visit: Visit, record: PageRecord) -> bool:
        """Record the target of the redirects and the canonical address that the page claims. Idempotent.

        ``record`` is the record of the visited page as it will be written. Returns True if the target of a
        redirect replaces the visited address. The target then takes over the due time of the visited page.
        """
        if visit.outcome.failed:
            # The target was not read. If it were marked as done here, the next visit would treat it as a
            # known page.
            return False
        moved = False
        target = visit.redirected_to
        if target and self._may_speak_for(visit, target) and (key := self._other_page(visit, target)):
            moved = not visit.kind.is_source
            alias = alias_of(visit, target, key, self._context.clock())
            self._record_alias(alias, record if moved else None)
        # Since this URL was queued, the crawl may have learned that one of its parameters is a session id.
        # The URL without this parameter has another fingerprint, which is marked as done as well.
        if "?" in visit.lease.entry.url and (key := self._other_page(visit, visit.lease.entry.url)):
            self._record_alias(alias_of(visit, visit.lease.entry.url, key, self._context.clock()), None)
        canonical = visit.reading.canonical_url
        if canonical and canonical != target and (key := self._other_page(visit, canonical)):
            form = is_own_form(visit, canonical)
            believed = form or self.is_settled(visit, canonical, key)
            if believed:
                why = Reason.ALIAS if form else Reason.CLAIMED
                self._record_alias(alias_of(visit, canonical, key, self._context.clock(), why), None)
            visit.note(self._context.clock(), EventKind.CANONICAL, to=canonical, believed=believed)
        return moved

    def _may_speak_for(self, visit: Visit, target: str) -> bool:
        """Return True if the visit counts as a visit of ``target``, to which it was redirected.

        A redirect from another site may use a spelling of the page's URL that does not work, or a scheme or
        host that the page's own site does not give. The visit then does not count if the response is not an
        article, or if the page waits under another scheme or host.
        """
        rule_for = self._context.rule_for
        if (
            visit.kind is not Kind.ARTICLE
            or rule_for(target).domain == rule_for(visit.lease.entry.url).domain
        ):
            return True
        waiting = self._context.frontier.entry(fingerprint(target), host_key(target))
        misled = waiting and canonicalize(waiting.url, rule_for(target).drop_query) != target
        return visit.reading.is_article is True and not misled

    def _other_page(self, visit: Visit, url: str) -> bytes | None:
        """Return the fingerprint of ``url`` if it can be another address of the visited page, else None."""
        rule = visit.rule if visit.kind.is_source else self._context.rule_for(url)
        key = fingerprint(canonicalize(url, rule.drop_query))
        if key == visit.lease.entry.fingerprint or self._removals.covers(key, host_key(url)):
            return None
        known = self._context.frontier.entry(key, host_key(url))
        # Some pages call a front page their canonical address. The front page must still be read.
        return None if known is not None and known.kind.is_source else key

    def _record_alias(self, alias: Entry, record: PageRecord | None) -> None:
        """Mark another address as done.

        If ``record`` is not None, the address replaces the visited address from now on, with the content and
        due time of ``record``.
        """
        page = self._context.storage.pages.get([alias.fingerprint]).get(alias.fingerprint)
        if page is None or page.last_fetched is None:  # the record of a fetched page is not overwritten
            page = page_for(alias, self._context.clock())
            if record is not None:
                for name in _OF_THE_CONTENT:
                    setattr(page, name, getattr(record, name))
            page.state = "done"
            self._context.storage.pages.save([page])
        self._context.frontier.mark_done([alias], None if record is None else record.next_due)

    def other_name(self, visit: Visit) -> bytes | None:
        """Return the fingerprint of a known page if the visited URL is another address of it, else None.

        This happens if the crawl has learned, after the URL was queued, that some of its query keys must be
        dropped. If the known page was not fetched yet, the result is None, and this visit fetches the page. A
        URL that was fetched before keeps its own record.
        """
        url, again = visit.lease.entry.url, visit.lease.last_fetched is not None
        if "?" not in url or not visit.rule.drop_query or visit.forced or again:
            return None
        key = fingerprint(canonicalize(url, visit.rule.drop_query))
        if key == visit.lease.entry.fingerprint:
            return None
        return key if self.is_taken(key) else None

    def is_taken(self, key: bytes) -> bool:
        """Return True if the page was fetched under any of its addresses, or is being fetched now.

        ``key`` is the fingerprint of one of the addresses. The state of the frontier alone is not enough: the
        worker that marked the address as done may have died before it stored the page.
        """
        known = self._context.frontier.known([key]).get(key)
        if known is None:
            return False
        if known.state == "leased" or known.last_fetched is not None:
            return True
        page = self._context.storage.pages.get([key]).get(key)
        return known.state == "done" and page is not None and page.state == "done"


def is_own_form(visit: Visit, claim: str) -> bool:
    """Return True if ``claim`` is another form (AMP, print, mobile) of the address that was read."""
    own = visit.redirected_to or canonicalize(visit.lease.entry.url, visit.rule.drop_query)
    return is_variant(own, claim)


def _are_apart(one: str | None, other: str | None) -> bool:
    left, right = from_iso(one), from_iso(other)
    return left is not None and right is not None and abs(left - right) > APART


def _offer(entry: Entry) -> bytes:
    """Return a hash of an address together with the headline that a list gives it."""
    title = str(entry.data.get("title") or "")
    return blake2b(title.encode("utf8", "replace"), key=entry.fingerprint, digest_size=16).digest()


def _is_claimed(page: PageRecord) -> bool:
    """Return True if a page was never fetched and a claim has marked it as done."""
    reasons = [
        read_reason(event.get("why"))[0]
        for event in page.history
        if event.get("event") == EventKind.DISCOVERED
    ]
    return page.last_fetched is None and Reason.CLAIMED in reasons


def came_from_elsewhere(kept: Article | None, url: str) -> bool:
    """Return True if the article of another page was stored under ``url`` because of a claim.

    Forms of one URL do not count as different pages.
    """
    if kept is None or fingerprint(kept.canonical_url) != fingerprint(url):
        return False
    return not of_one_page(kept.url, url) and not is_variant(canonicalize(kept.url), kept.canonical_url)


def alias_of(visit: Visit, url: str, key: bytes, now: float, why: Reason = Reason.ALIAS) -> Entry:
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
            "why": why.value,
            # An address to which a stranger's link led is not an address that the site gives.
            "given_by": GivenBy.of(visit.data),
        },
    )


_OF_THE_CONTENT = (
    "kind", "http_status", "content_type", "content_length", "server", "etag", "last_modified",
    "content_hash", "links_count", "last_fetched", "last_full_fetch", "next_due", "checks",
)  # fmt: skip
"""Fields of a page record that are copied from the visited page to the target of its redirect."""


# --- spellings
MAX_SPELLINGS = 3
"""Maximum number of spellings that are stored for one page."""
MAX_SPELLED = 100_000
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
        self._settled = Bounded[bytes, None](MAX_SPELLED)
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
