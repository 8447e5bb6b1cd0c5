"""Under which URL an article is kept, where its page names another one as its canonical address.

What is known by then decides (:mod:`newsbot.crawl.links.canonical` says who may
name what), and the texts do when both
pages were read. Whichever comes first: a page that was kept under an address which then turns out to hold
another article goes back to its own.
"""

from __future__ import annotations

from newsbot.crawl.context import CrawlState
from newsbot.crawl.links.canonical import (
    came_from_elsewhere,
    free_address,
    is_of_another_site,
    may_name,
    read_after_all,
)
from newsbot.dedup.same_article import is_one_article
from newsbot.extraction.page.variants import is_variant
from newsbot.items import Article
from newsbot.storage.articles import of_one_page
from newsbot.urls import canonicalize, fingerprint


def choose_address(state: CrawlState, item: Article) -> Article | None:
    """Settle ``canonical_url``; return the article that is kept under it, or that it leads to.

    Raises :class:`newsbot.errors.DataError`; may then be called again.
    """
    own, claim = canonicalize(item.url), item.canonical_url
    if fingerprint(own) == fingerprint(claim):
        return _at_home(state, item)
    there = _at_address(state, item, own)
    variant = is_variant(own, claim)
    if not variant and is_of_another_site(state, item.source, claim):
        return _go_home(state, item, own)
    kept = state.storage.articles.get(claim)
    if kept is None:
        if _has_a_name(there, item, own) or not (variant or may_name(state, item.source, claim)):
            return _go_home(state, item, own)
        return None
    if not of_one_page(kept.url, item.url):
        if not is_one_article(kept, item):
            _refuted(state, item, kept, claim, variant=variant)
            return _go_home(state, item, own)
        if not variant and of_one_page(kept.url, claim):
            state.site_claims.saw(state.notes, item.source, own, right=True)
    item.canonical_url = kept.canonical_url  # where the claim may only lead to
    return kept


def _go_home(state: CrawlState, item: Article, own: str) -> Article | None:
    item.canonical_url = own
    return _at_home(state, item)


def _at_home(state: CrawlState, item: Article) -> Article | None:
    """Keep the article under its page's address; return what is kept there."""
    kept = _at_address(state, item, item.canonical_url)
    if kept is not None and of_one_page(kept.url, item.url):
        item.canonical_url = kept.canonical_url  # the name that the page had at first stays
    return kept


def _at_address(state: CrawlState, item: Article, own: str) -> Article | None:
    """Return what is kept under the page's address, or that it leads to; free it from another's article."""
    kept = state.storage.articles.get(own)
    if kept is None or not came_from_elsewhere(kept, own):
        return kept
    if is_one_article(kept, item):
        state.site_claims.saw(state.notes, item.source, kept.url, right=True)
        return kept
    return None if free_address(state, kept) else state.storage.articles.get(own)


def _refuted(state: CrawlState, item: Article, kept: Article, claim: str, *, variant: bool) -> None:
    """The address holds quite another text: some templates name one address on all pages."""
    state.count("canonical/doubted")
    if variant:
        return
    state.site_claims.saw(state.notes, item.source, item.url, right=False)
    if came_from_elsewhere(kept, claim):
        read_after_all(state, claim)  # neither of the two pages is it, as it seems


def _has_a_name(there: Article | None, item: Article, own: str) -> bool:
    """Return True if the page's article is kept under another URL than it names now: there it stays."""
    if there is None:
        return False
    return fingerprint(there.canonical_url) == fingerprint(own) or of_one_page(there.url, item.url)
