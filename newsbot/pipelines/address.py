"""Chooses the URL under which an article is stored if its page names another URL as its canonical URL.

This statement of the page is called a *claim*. :mod:`newsbot.crawl.links.canonical` decides which claims are
possible. If both pages were read, their texts decide. The order of the visits does not matter. If a visit
shows that the article of another page is stored under the URL of the visited page, that article is moved back
to the URL from which it was fetched.
"""

from __future__ import annotations

from newsbot.crawl.assembly import Crawl
from newsbot.crawl.links.canonical import came_from_elsewhere
from newsbot.dedup.decision import is_one_article
from newsbot.dedup.minhash import signature
from newsbot.items import Article
from newsbot.pages.extraction.page.canonical import adds_parameters, is_variant, on_one_host
from newsbot.sites.pauses_and_removals import forget_texts
from newsbot.storage.articles import of_one_page
from newsbot.urls import canonicalize, fingerprint


class AddressChoice:
    """Chooses the URL under which an article is stored."""

    def __init__(self, crawl: Crawl) -> None:
        self._context, self._known = crawl.context, crawl.known
        self._canonical, self._spellings = crawl.canonical, crawl.spellings

    def choose(self, item: Article) -> Article | None:
        """Set ``canonical_url`` of ``item``. Return the article that the storage has under this URL, or None.

        Raises :class:`newsbot.errors.DataError`; the call can then be repeated.
        """
        own, claim = canonicalize(item.url), item.canonical_url
        if fingerprint(own) == fingerprint(claim):
            return self._at_home(item)
        # Another page may have been stored under ``own`` in the meantime. If this article is stored under the
        # claim, the storage reports no conflict for ``own``. So the storage is asked again here.
        self._known.forget(fingerprint(own))
        there = self._at_address(item, own)
        variant = is_variant(own, claim)
        kept = self._context.storage.articles.get(claim)
        if not variant and (
            self._canonical.is_of_another_site(item.source, claim)
            # One rule may cover the hosts of many blogs. Another host must confirm the claim by its own page.
            or not (on_one_host(own, claim) or _confirms(kept, item, claim))
        ):
            return self._go_home(item, own)
        if kept is None:
            if _has_a_name(there, item, own) or not (variant or self._canonical.may_name(item.source, claim)):
                return self._go_home(item, own)
            return None
        if not of_one_page(kept.fetched_url, item.url) and not is_one_article(kept, item):
            self._refuted(kept, claim, variant=variant)
            return self._go_home(item, own)
        item.canonical_url = kept.canonical_url  # the claim is another address of the stored article
        return kept

    def move_to_plain_url(self, item: Article, kept: Article | None) -> None:
        """Set ``url`` of a copy to the URL of the page itself. ``kept`` is the result of :meth:`choose`.

        This is done if ``url`` only adds parameters to the canonical URL that the page names, or if the
        page itself was stored.
        """
        own, claim = canonicalize(item.url), item.canonical_url
        variant, adds = is_variant(own, claim), adds_parameters(own, claim)
        if (variant or adds) and own != claim and kept is not None and of_one_page(kept.url, claim):
            item.move_to(kept.url)
        elif variant and adds:
            item.move_to(claim)

    def takes_over(self, item: Article, kept: Article) -> bool:
        """Move the stored article ``kept`` to the address of ``item``, which is the same article.

        This is done if the site gives the address of ``item`` itself, and only other sites gave the address
        of ``kept``. Return True if the article was moved. Raises :class:`newsbot.errors.DataError`.
        """
        old, new = kept.canonical_url, item.canonical_url
        if (
            kept.source != item.source
            or fingerprint(old) == fingerprint(new)
            or self._spellings.is_from_site(old, unknown=True)
            or not self._spellings.is_from_site(item.fetched_url, unknown=False)
        ):
            return False
        return self._move(kept, item)

    def _move(self, kept: Article, item: Article) -> bool:
        """Move the stored article ``kept`` to the addresses of ``item``. Return False if it was changed."""
        # The index is written before the storage, as in Canonical.free_address().
        index, now = self._context.index, self._context.clock()
        old, new = kept.canonical_url, item.canonical_url
        index.check_and_insert(new, kept.source, signature(kept.text), now)
        if not self._context.storage.articles.readdress(old, kept.content_hash, new, item.url):
            return False
        if old != new:
            forget_texts(index, [old], now)
        self._known.forget(fingerprint(new))
        self._context.count("canonical/of_site")
        return True

    def _go_home(self, item: Article, own: str) -> Article | None:
        item.canonical_url = own
        return self._at_home(item)

    def _at_home(self, item: Article) -> Article | None:
        """Set the page's own URL as ``canonical_url``. Return the article that is stored under it."""
        kept = self._at_address(item, item.canonical_url)
        if kept is None:
            return None
        if is_same := of_one_page(kept.url, item.url):
            moves = canonicalize(kept.url) != canonicalize(item.url) and self._spellings.prefers(
                item.url, kept.url
            )
        else:  # the stored article may be that of a copy, whose URL has more parameters
            moves = is_variant(canonicalize(kept.url), item.canonical_url) and is_one_article(kept, item)
        if moves:
            self._move(kept, item)
            return self._context.storage.articles.get(item.canonical_url)
        if is_same:
            item.canonical_url = kept.canonical_url  # the page keeps the URL under which it was stored first
        return kept

    def _at_address(self, item: Article, own: str) -> Article | None:
        """Return the article that is stored under the page's URL, or None.

        If this is the article of another page, it is moved to the URL of that page.
        """
        known = self._known.get(fingerprint(own))
        self._known.forget(fingerprint(own))  # another page may be stored under this URL later
        if not known:
            return None
        kept = self._context.storage.articles.get(own)
        if kept is None or not came_from_elsewhere(kept, own):
            return kept
        if is_one_article(kept, item):
            return kept
        return None if self._canonical.free_address(kept) else self._context.storage.articles.get(own)

    def _refuted(self, kept: Article, claim: str, *, variant: bool) -> None:
        """Record a wrong claim: another text is stored under the claimed URL.

        This happens, for example, if a template names one URL on all pages.
        """
        self._context.count("canonical/doubted")
        if not variant and came_from_elsewhere(kept, claim):
            self._canonical.read_after_all(claim)  # probably, neither of the two pages is at the claimed URL


def _confirms(kept: Article | None, item: Article, claim: str) -> bool:
    """Return True if the page at the claimed URL was read and has the same text as ``item``."""
    return (
        kept is not None and of_one_page(kept.fetched_url, claim) and kept.content_hash == item.content_hash
    )


def _has_a_name(there: Article | None, item: Article, own: str) -> bool:
    """Return True if the page's article is already stored, but not under the URL that the page claims now.

    The article then keeps its URL.
    """
    if there is None:
        return False
    return fingerprint(there.canonical_url) == fingerprint(own) or of_one_page(there.fetched_url, item.url)
