"""Other addresses of a page: redirects, and the canonical address that the page names (a claim).

Other addresses are marked as done, so that they are not downloaded. Most claims are right. Some are wrong: a
template names one article on all pages, or the head of a page was copied. So a claim alone never prevents the
crawl from reading an article that the site also lists itself:

* Forms of one address (AMP, print, mobile host, parameters) are one page.
* An unknown address is taken as another address of the page. If a list later shows it with another headline,
  or before the site's claims are trusted, it is read after all.
* An address that is queued already is read, unless it was listed with the page's headline, or the site's
  claims are trusted and no headline contradicts.
* An address that is not an article (a section, another site's page, what the rule denies) cannot be a
  canonical address.

After both pages were read, their texts decide (:mod:`newsbot.pipelines.address`). The result raises or lowers
the trust in the site's claims (:mod:`newsbot.sites.canonical_trust`).
"""

from __future__ import annotations

import logging
from datetime import timedelta
from hashlib import blake2b

from newsbot.clock import from_iso
from newsbot.crawl.context import Context
from newsbot.crawl.entries import entry_for, page_for
from newsbot.crawl.removals import Removals
from newsbot.crawl.visit import Visit
from newsbot.dedup.decision import headlines_agree, is_one_article
from newsbot.dedup.minhash import signature
from newsbot.extraction.page.variants import is_variant
from newsbot.frontier.base import Entry
from newsbot.items import Article, EventKind, Kind, Link, PageRecord, Reason, Where, read_reason
from newsbot.ranking.judging import Judgement
from newsbot.rules.match import classify
from newsbot.sites.canonical_trust import MAX_SETTLED, CanonicalTrust, Word
from newsbot.storage.article_decision import of_one_page
from newsbot.urls import canonicalize, fingerprint, host_key

logger = logging.getLogger(__name__)

CHECK_PRIORITY = 500.0
MAX_CHAIN = 10
"""Maximum number of articles that are moved to free an address for one."""
NOT_THERE = (Reason.HTTP_404, Reason.HTTP_410)
APART = timedelta(days=1)
"""Two items with the same headline are different articles if they were published further apart."""


class Canonical:
    """Decides which address a page has, and marks its other addresses as done.

    ``trust`` knows how far the claims of each site can be trusted.
    """

    def __init__(self, context: Context, trust: CanonicalTrust, removals: Removals) -> None:
        self._context, self._trust, self._removals = context, trust, removals

    def is_of_another_site(self, source: str, claim: str) -> bool:
        """Return True for an address that belongs to another site with a rule: that one has its own copy."""
        domain = self._context.rule_for(claim).domain
        return domain != source and self._context.rules.get(domain) is not None

    def may_name(self, source: str, claim: str) -> bool:
        """Return True if ``claim`` can be the address of an article of the site ``source``, by its word.

        Raises :class:`newsbot.errors.DataError`.
        """
        if self.is_of_another_site(source, claim):
            return False
        match = classify(self._context.rule_for(claim), claim)
        if match.denied or (match.kind is not None and match.kind.is_source):
            return False
        key = fingerprint(claim)
        known = self._context.frontier.entry(key)
        if known is not None and known.kind.is_source:
            return False
        page = self._context.storage.pages.get([key]).get(key)
        if page is not None and page.http_status in (404, 410):
            return False
        return self._trust.word(self._context.notes, source) is not Word.BAD

    def is_settled(self, visit: Visit, claim: str, key: bytes) -> bool:
        """Return True if the address that the visited page calls canonical needs no visit of its own.

        ``key`` is its fingerprint. Raises :class:`newsbot.errors.DataError`.
        """
        if not self.may_name(visit.rule.domain, claim):
            return False
        known = self._context.frontier.known([key]).get(key)
        if known is None:
            return True
        if known.state in ("pending", "aside"):
            waiting = self._context.frontier.entry(key)
            return waiting is not None and self._is_the_same(visit, waiting)
        return known.state == "done" and known.last_fetched is None

    def _is_the_same(self, visit: Visit, waiting: Entry) -> bool:
        """Return True if a queued address is probably another address of the visited page."""
        if waiting.data.get("force"):
            return False  # a person asked for it
        agree = headlines_agree(str(waiting.data.get("title") or ""), str(visit.page.get("title") or ""))
        if agree is False:
            return False
        if self._trust.word(self._context.notes, visit.rule.domain) is Word.GOOD:
            return True
        return agree is True and not _are_apart(
            waiting.data.get("published_at"), visit.page.get("published_at")
        )

    def offered_by_themselves(self, entries: list[Entry]) -> list[Entry]:
        """Return the known entries that only another page has named and that must be read nevertheless.

        Raises :class:`newsbot.errors.DataError`.
        """
        settled = self._trust.settled
        if len(settled) >= MAX_SETTLED:
            settled.clear()
        asked = {
            one.fingerprint: one
            for one in entries
            if one.fingerprint not in settled and _offer(one) not in settled
        }
        claimed = []
        for key, known in (self._context.frontier.known(list(asked)) if asked else {}).items():
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
        """Return True if a named address is offered as something other than the article kept under it."""
        if entry.kind is not Kind.ARTICLE:
            return True
        kept = self._context.storage.articles.get(
            canonicalize(entry.url, self._context.rule_for(entry.url).drop_query)
        )
        if kept is None or kept.source != entry.data["source"]:
            return True
        agree = headlines_agree(str(entry.data.get("title") or ""), kept.title)
        if agree is None:
            return self._trust.word(self._context.notes, kept.source) is not Word.GOOD
        return not agree

    def read_after_all(self, url: str) -> None:
        """Queue an address that was marked as done by a claim which has proved wrong.

        An entry that waits, is leased or was fetched before is not changed.

        Raises :class:`newsbot.errors.DataError`.
        """
        rule = self._context.rule_for(url)
        key = fingerprint(canonicalize(url, rule.drop_query))
        known = self._context.frontier.known([key]).get(key)
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

    def free_address(self, kept: Article, *, wrong: bool = True, chain: int = MAX_CHAIN) -> bool:
        """Move an article that was stored under another page's URL to its own. Return False if that fails.

        If the claim of a third page has placed an article there, that one is moved first, and so on.
        ``wrong``: the claim counts against the site. Raises :class:`newsbot.errors.DataError`.
        """
        home = canonicalize(kept.url)
        there = self._context.storage.articles.get(home)
        if (
            there is not None
            and chain
            and came_from_elsewhere(there, home)
            and not is_one_article(there, kept)
        ):
            self.free_address(there, chain=chain - 1)
        if wrong:
            self._trust.saw(self._context.notes, kept.source, home, right=False)
        self._context.count("canonical/wrong")
        self._context.index.check_and_insert(home, kept.source, signature(kept.text), self._context.clock())
        logger.info(
            "canonical address wrong domain=%s page=%s named=%s", kept.source, home, kept.canonical_url
        )
        return self._context.storage.articles.readdress(kept.canonical_url, kept.content_hash, home)

    def give_back(self, visit: Visit) -> None:
        """Move an article back to its own URL if the visited URL, under which it was stored, has no article.

        Raises :class:`newsbot.errors.DataError`; may then be called again.
        """
        gone = visit.outcome.error in NOT_THERE
        first = visit.record is None or visit.record.last_fetched is None
        list_of_links = visit.kind is Kind.SECTION and first and not visit.outcome.failed
        page_without = visit.kind is Kind.ARTICLE and (gone or visit.outcome.is_article is False)
        if not (list_of_links or page_without):
            return
        url = canonicalize(visit.lease.entry.url, visit.rule.drop_query)
        kept = self._context.storage.articles.get(url)
        if kept is not None and came_from_elsewhere(kept, url):
            self.free_address(kept, wrong=gone or list_of_links)

    def record_addresses(self, visit: Visit, record: PageRecord) -> bool:
        """Record where redirects led to and what the page calls its canonical address; idempotent.

        ``record`` is the visited page as it will be written. Returns True if a redirect's target is the page
        from now on: it is then due when the visited one would have been.
        """
        if visit.outcome.failed:
            return (
                False  # the target is as unknown as before: the next visit must not take it for a known page
            )
        moved = False
        target = visit.outcome.redirected_to
        if target and self._may_speak_for(visit, target) and (key := self._other_page(visit, target)):
            moved = not visit.kind.is_source
            alias = alias_of(visit, target, key, self._context.clock())
            self._record_alias(alias, record if moved else None)
        if "?" in visit.lease.entry.url and (key := self._other_page(visit, visit.lease.entry.url)):
            self._record_alias(alias_of(visit, visit.lease.entry.url, key, self._context.clock()), None)
        canonical = visit.page.get("canonical_url")
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

        Another site may redirect to a page under a spelling that does not work.
        """
        if visit.kind is not Kind.ARTICLE or visit.outcome.is_article:
            return True
        rule_for = self._context.rule_for
        return rule_for(target).domain == rule_for(visit.lease.entry.url).domain

    def _other_page(self, visit: Visit, url: str) -> bytes | None:
        """Return the key of another page that may be an address of the visited one."""
        rule = visit.rule if visit.kind.is_source else self._context.rule_for(url)
        key = fingerprint(canonicalize(url, rule.drop_query))
        if key == visit.lease.entry.fingerprint or self._removals.covers(key, host_key(url)):
            return None
        known = self._context.frontier.entry(key)
        # a page that calls a front page its canonical address does not replace it
        return None if known is not None and known.kind.is_source else key

    def _record_alias(self, alias: Entry, record: PageRecord | None) -> None:
        """Mark another address as done. With ``record``, it is the address of the page from now on."""
        page = self._context.storage.pages.get([alias.fingerprint]).get(alias.fingerprint)
        if page is None or page.last_fetched is None:
            page = page_for(alias, self._context.clock())
            if record is not None:
                for name in _OF_THE_CONTENT:
                    setattr(page, name, getattr(record, name))
            page.state = "done"
            self._context.storage.pages.save([page])
        self._context.frontier.mark_done([alias], None if record is None else record.next_due)

    def other_name(self, visit: Visit) -> bytes | None:
        """Return the key of the known page to which the visited URL belongs by rules learned since it was
        queued.

        If that page was not fetched yet, this visit fetches it. A page that was fetched under its own address
        keeps it.
        """
        url, again = visit.lease.entry.url, visit.lease.last_fetched is not None
        if "?" not in url or not visit.rule.drop_query or visit.forced or again:
            return None
        key = fingerprint(canonicalize(url, visit.rule.drop_query))
        if key == visit.lease.entry.fingerprint:
            return None
        return key if self.is_taken(key) else None

    def is_taken(self, key: bytes) -> bool:
        """Return True if the page was fetched, under this address or another, or is being fetched now.

        An address that is only marked as done is not: the visit that marked it may have died.
        """
        known = self._context.frontier.known([key]).get(key)
        if known is None:
            return False
        if known.state == "leased" or known.last_fetched is not None:
            return True
        page = self._context.storage.pages.get([key]).get(key)
        return known.state == "done" and page is not None and page.state == "done"


def is_own_form(visit: Visit, claim: str) -> bool:
    """Return True for another form of the address that the visit has read."""
    own = visit.outcome.redirected_to or canonicalize(visit.lease.entry.url, visit.rule.drop_query)
    return is_variant(own, claim)


def _are_apart(one: str | None, other: str | None) -> bool:
    left, right = from_iso(one), from_iso(other)
    return left is not None and right is not None and abs(left - right) > APART


def _offer(entry: Entry) -> bytes:
    """A key for an address with the headline that it is offered with."""
    title = str(entry.data.get("title") or "")
    return blake2b(title.encode("utf8", "replace"), key=entry.fingerprint, digest_size=16).digest()


def _is_claimed(page: PageRecord) -> bool:
    reasons = [
        read_reason(event.get("why"))[0]
        for event in page.history
        if event.get("event") == EventKind.DISCOVERED
    ]
    return page.last_fetched is None and Reason.CLAIMED in reasons


def came_from_elsewhere(kept: Article | None, url: str) -> bool:
    """Return True if an article is stored under ``url`` by the claim of a page with quite another URL."""
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
        },
    )


_OF_THE_CONTENT = (
    "kind", "http_status", "content_type", "content_length", "server", "etag", "last_modified",
    "content_hash", "links_count", "last_fetched", "last_full_fetch", "next_due", "checks",
)  # fmt: skip
