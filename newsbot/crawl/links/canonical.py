"""What becomes of the address that a page calls its canonical one.

Most such claims are honest, and spare a download: the named address is marked as done. Some are not: a
template names one article on all pages, a head was copied. So a claim alone never keeps an article from
being read that the site also offers by itself:

* Forms of one address (AMP, print, mobile host, parameters) are one page without further ado.
* An address that nobody has mentioned is taken as the page's own other name. When a list offers it later
  under another headline, or before the site's word is proven, it is read after all.
* An address that waits to be read already is read, unless the headline it was listed with is the page's,
  or the site's word is good and no headline speaks against it.
* What is no article's address (a section, another site's page, what the rule denies) is no page's name.

When both pages were read, their texts decide (:mod:`newsbot.pipelines.address`), and the site's word counts
for more or less from then on (:mod:`newsbot.sites.canonical_trust`).
"""

from __future__ import annotations

import logging
from datetime import timedelta
from hashlib import blake2b

from newsbot.clock import from_iso
from newsbot.crawl.context import CrawlState
from newsbot.crawl.entries import entry_for
from newsbot.crawl.visit import Visit
from newsbot.dedup.minhash import signature
from newsbot.dedup.same_article import headlines_agree, is_one_article
from newsbot.extraction.page.variants import is_variant
from newsbot.frontier.base import Entry
from newsbot.items import Article, Kind, Link, PageRecord, Where
from newsbot.ranking.judging import Judgement
from newsbot.rules.match import classify
from newsbot.sites.canonical_trust import MAX_SETTLED, Word
from newsbot.storage.articles import of_one_page
from newsbot.urls import canonicalize, fingerprint, host_key

logger = logging.getLogger(__name__)

CLAIMED = "named as canonical by a fetched page"
"""Why an address was marked as done that was never fetched."""
DOUBTED = "named as canonical by another page"
"""Why such an address is read after all."""
CHECK_PRIORITY = 500.0
MAX_CHAIN = 10
"""Articles that are moved to make room for one."""
NOT_THERE = ("http_404", "http_410")
APART = timedelta(days=1)
"""Two items with the same headline are two issues of it if they were published further apart."""


def is_of_another_site(state: CrawlState, source: str, claim: str) -> bool:
    """Return True for an address that belongs to another site with a rule: that one has its own copy."""
    domain = state.rule_for(claim).domain
    return domain != source and state.rules.get(domain) is not None


def may_name(state: CrawlState, source: str, claim: str) -> bool:
    """Return True if ``claim`` can be the address of an article of the site ``source``, by its word.

    Raises :class:`newsbot.errors.DataError`.
    """
    if is_of_another_site(state, source, claim):
        return False
    match = classify(state.rule_for(claim), claim)
    if match.denied or (match.kind is not None and match.kind.is_source):
        return False
    known = state.frontier.entry(fingerprint(claim))
    if known is not None and known.kind.is_source:
        return False
    return state.site_claims.word(state.notes, source) is not Word.BAD


def is_own_form(visit: Visit, claim: str) -> bool:
    """Return True for another form of the address that the visit has read."""
    own = visit.outcome.redirected_to or canonicalize(visit.lease.entry.url, visit.rule.drop_query)
    return is_variant(own, claim)


def is_settled(state: CrawlState, visit: Visit, claim: str, key: bytes) -> bool:
    """Return True if the address that the visited page calls canonical needs no visit of its own.

    ``key`` is its fingerprint. Raises :class:`newsbot.errors.DataError`.
    """
    if not may_name(state, visit.rule.domain, claim):
        return False
    known = state.frontier.known([key]).get(key)
    if known is None:
        return True
    if known.state in ("pending", "aside"):
        waiting = state.frontier.entry(key)
        return waiting is not None and _is_the_same(state, visit, waiting)
    return known.state == "done" and known.last_fetched is None


def _is_the_same(state: CrawlState, visit: Visit, waiting: Entry) -> bool:
    """Return True if an address that waits is the visited page's by what is known of it."""
    if waiting.data.get("force"):
        return False  # a person asked for it
    agree = headlines_agree(str(waiting.data.get("title") or ""), str(visit.page.get("title") or ""))
    if agree is False:
        return False
    if state.site_claims.word(state.notes, visit.rule.domain) is Word.GOOD:
        return True
    return agree is True and not _are_apart(waiting.data.get("published_at"), visit.page.get("published_at"))


def _are_apart(one: str | None, other: str | None) -> bool:
    left, right = from_iso(one), from_iso(other)
    return left is not None and right is not None and abs(left - right) > APART


def offered_by_themselves(state: CrawlState, entries: list[Entry]) -> list[Entry]:
    """Return those of known entries that were never read, only named by another page, and are to be read.

    Raises :class:`newsbot.errors.DataError`.
    """
    settled = state.site_claims.settled
    if len(settled) >= MAX_SETTLED:
        settled.clear()
    asked = {
        one.fingerprint: one
        for one in entries
        if one.fingerprint not in settled and _offer(one) not in settled
    }
    claimed = []
    for key, known in (state.frontier.known(list(asked)) if asked else {}).items():
        if known.last_fetched is not None:
            settled.add(key)
        elif known.state == "done" and known.next_due is None:
            claimed.append(key)
    found = []
    for key, page in (state.storage.pages.get(claimed) if claimed else {}).items():
        if not _is_claimed(page):
            settled.add(key)
        elif _differs(state, asked[key]):
            found.append(asked[key])
        else:
            settled.add(_offer(asked[key]))
    return found


def _offer(entry: Entry) -> bytes:
    """A key for an address with the headline that it is offered with."""
    title = str(entry.data.get("title") or "")
    return blake2b(title.encode("utf8", "replace"), key=entry.fingerprint, digest_size=16).digest()


def _is_claimed(page: PageRecord) -> bool:
    told = [event.get("why") for event in page.history if event.get("event") == "discovered"]
    return page.last_fetched is None and CLAIMED in told


def _differs(state: CrawlState, entry: Entry) -> bool:
    """Return True if a named address is offered as something else than the article that is kept under it."""
    if entry.kind is not Kind.ARTICLE:
        return True
    kept = state.storage.articles.get(canonicalize(entry.url, state.rule_for(entry.url).drop_query))
    if kept is None:
        return True
    agree = headlines_agree(str(entry.data.get("title") or ""), kept.title)
    if agree is None:
        return state.site_claims.word(state.notes, kept.source) is not Word.GOOD
    return not agree


def read_after_all(state: CrawlState, url: str) -> None:
    """Queue an address that was only marked as done, on a word that turned out to be worth nothing.

    What waits, is under way or was fetched before stays as it is. Raises :class:`newsbot.errors.DataError`.
    """
    rule = state.rule_for(url)
    key = fingerprint(canonicalize(url, rule.drop_query))
    known = state.frontier.known([key]).get(key)
    if known is None or known.state != "done" or known.last_fetched is not None:
        return
    if state.is_removed(key, host_key(url)):
        return
    link = Link(url=url, where=Where.REDIRECT, kind=Kind.ARTICLE)
    judgement = Judgement(kind=Kind.ARTICLE, priority=CHECK_PRIORITY, accepted=True, reason=DOUBTED)
    entry = entry_for(link, rule, judgement, depth=1, referrer=None, now=state.clock())
    state.frontier.add([entry], force=True)
    state.count("canonical/read_after_all")


def free_address(state: CrawlState, kept: Article, *, wrong: bool = True, chain: int = MAX_CHAIN) -> bool:
    """Give an article that was kept under another page's URL its own; False if that is not to be had.

    What is kept there by the word of a third page goes first, and so on. ``wrong``: the claim counts against
    the site. Raises :class:`newsbot.errors.DataError`.
    """
    home = canonicalize(kept.url)
    there = state.storage.articles.get(home)
    if there is not None and chain and came_from_elsewhere(there, home) and not is_one_article(there, kept):
        free_address(state, there, chain=chain - 1)
    if wrong:
        state.site_claims.saw(state.notes, kept.source, home, right=False)
    state.count("canonical/wrong")
    state.index.check_and_insert(home, kept.source, signature(kept.text), state.clock())
    logger.info("canonical address wrong domain=%s page=%s named=%s", kept.source, home, kept.canonical_url)
    return state.storage.articles.readdress(kept.canonical_url, kept.content_hash, home)


def came_from_elsewhere(kept: Article | None, url: str) -> bool:
    """Return True for what is kept under ``url`` by the word of another page, which is no form of it."""
    if kept is None or fingerprint(kept.canonical_url) != fingerprint(url):
        return False
    return not of_one_page(kept.url, url) and not is_variant(canonicalize(kept.url), kept.canonical_url)


def give_back(state: CrawlState, visit: Visit) -> None:
    """Let an article that was kept under the visited address, where there is none, go back to its page.

    Raises :class:`newsbot.errors.DataError`; may then be called again.
    """
    gone = visit.outcome.error in NOT_THERE
    first = visit.record is None or visit.record.last_fetched is None
    list_of_links = visit.kind is Kind.SECTION and first and not visit.outcome.failed
    page_without = visit.kind is Kind.ARTICLE and (gone or visit.outcome.is_article is False)
    if not (list_of_links or page_without):
        return
    url = canonicalize(visit.lease.entry.url, visit.rule.drop_query)
    kept = state.storage.articles.get(url)
    if kept is not None and came_from_elsewhere(kept, url):
        free_address(state, kept, wrong=gone or list_of_links)
