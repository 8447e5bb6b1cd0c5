"""Third pipeline: drops unchanged pages, and texts that the site already has under another address.

A page may name another URL as its canonical URL. This statement is called a *claim*.
:mod:`newsbot.crawl.links.canonical` decides which claims are possible. If both pages were read, their texts
decide. The order of the visits does not matter. If a visit shows that the article of another page is stored
under the URL of the visited page, that article is moved back to the URL from which it was fetched.
"""

from __future__ import annotations

from typing import Any

from scrapy.crawler import Crawler

from newsbot.crawl.assembly import Component, Crawl
from newsbot.crawl.failures import DropItem
from newsbot.crawl.links.canonical import came_from_elsewhere
from newsbot.crawl.links.queue import FEED
from newsbot.dedup.decision import is_one_article
from newsbot.dedup.index import signature, text_key
from newsbot.dedup.story_merge import settle_again
from newsbot.items import Article, Reason
from newsbot.pages.extraction import is_substantial
from newsbot.pages.extraction.addresses import adds_parameters, is_variant, on_one_host
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


# --- exact copies
class ExactDuplicatePipeline(Component):
    """Fills ``content_hash`` and drops copies before the expensive steps.

    Two workers may store the same text at the same time. The unique indexes of the storage then detect the
    copy.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        crawl = Crawl.of(crawler)
        self._copies = CopyFilter(crawl)

    async def process_item(self, item: Any) -> Any:
        """Return the article, or raise ``DropItem``. Wait while a backend is unavailable."""
        if not isinstance(item, Article):
            return item
        # Two posts with the same text are two posts.
        item.content_hash = text_key(f"{item.url} {item.shown}" if item.form == "post" else item.shown)
        await self._copies.drop(item)
        return item


class CopyFilter:
    """Drops copies of stored articles, and pages that have not changed."""

    def __init__(self, crawl: Crawl) -> None:
        self._context, self._removals, self._addresses = crawl.context, crawl.removals, AddressChoice(crawl)

    async def drop(self, item: Article) -> Article | None:
        """Set the article's canonical URL and return the article that is stored under this URL, or None.

        Raises ``DropItem`` for a copy or an unchanged page. Wait while a backend is unavailable.
        """
        outage, text = self._context.outage, (item.source, item.content_hash)
        owner = await outage.patiently_await(lambda: self._context.together.owner(text))
        return await outage.patiently(self._drop, item, owner)

    def _drop(self, item: Article, owner: str | None) -> Article | None:
        with self._context.timed("dedup_exact"):
            kept = self._addresses.choose(item)
            if kept is None and owner is not None:
                kept = self._addresses.choose(item)  # reads again, because the first answer may be outdated
            self._addresses.move_to_plain_url(item, kept)
            return self._judge(item, kept, owner)

    def _takes_over(self, item: Article, owner: str) -> bool:
        stored = self._context.storage.articles.get(owner)
        return stored is not None and self._addresses.takes_over(item, stored)

    def _judge(self, item: Article, kept: Article | None, owner: str | None) -> Article | None:
        if kept is not None and _has_less(item, kept):
            self._context.count("articles/unchanged")
            raise DropItem(Reason.UNCHANGED)
        if kept is not None:
            _keep_origin(kept, item)
        elif owner is not None and self._takes_over(item, owner):
            kept, owner = self._context.storage.articles.get(item.canonical_url), item.canonical_url
        if owner is not None and fingerprint(owner) != fingerprint(item.canonical_url):
            self._context.storage.articles.store(item)  # makes this address an alias of the stored article
            self._removals.stored(item)
            self._context.count("duplicates/text")
            self._context.count_site(item.source, "duplicates")
            raise DropItem(Reason.SAME_TEXT, f"as {owner}")
        if kept is not None and (_is_same(kept, item) if owner is not None else _is_trifle(kept, item)):
            if owner is not None and fingerprint(canonicalize(item.fetched_url)) != fingerprint(
                item.canonical_url
            ):
                self._context.storage.articles.store(item)  # makes this address an alias too
                self._removals.stored(item)
            if kept.rights != item.rights:  # a new reservation is stored, even if the text is unchanged
                self._context.storage.articles.save_rights(kept.canonical_url, item.rights)
            if kept.published_at is None and item.published_at is not None:
                # Meanwhile, other articles of the site have shown how to read the date.
                _take_date(kept, item)
                self._context.storage.articles.save_origin(kept)
            # The worker that stored the article may have been killed before it merged the stories.
            settle_again(self._context.storage, kept)
            self._context.count("articles/unchanged")
            raise DropItem(Reason.UNCHANGED)
        return kept


def _keep_origin(kept: Article, new: Article) -> None:
    """Copy the feed's data from the stored article to the new version, if the new version lacks them."""
    if kept.extraction.get("published_at") == FEED and new.published_at is None:
        _take_date(new, kept)
    if kept.extraction.get("authors") == FEED and not new.authors:
        new.authors, new.extraction["authors"] = kept.authors, FEED


def _take_date(article: Article, other: Article) -> None:
    """Copy the time of publication from another version of the article."""
    article.published_at, article.published_source = other.published_at, other.published_source
    article.published_precision = other.published_precision
    article.extraction["published_at"] = other.extraction.get("published_at", "")


def _has_less(new: Article, kept: Article) -> bool:
    """Return True if the text of a feed would replace that of the page, or a part the full text of a feed."""
    if kept.extraction.get("text") == FEED:
        return new.partial
    return new.extraction.get("text") == FEED and not kept.partial


def _is_trifle(kept: Article, new: Article) -> bool:
    """Return True for a trivial edit, which is not stored.

    The stored text is not replaced. Several trivial edits in a row are therefore compared with it as one
    edit.
    """
    if kept.story is None or (kept.partial and not new.partial):
        return False
    return not is_substantial((kept.title, kept.shown), (new.title, new.shown))


def _is_same(kept: Article, new: Article) -> bool:
    """Return True if text and title are the same as in the stored version.

    If a page returns to an earlier version, this counts as a change.
    """
    return (kept.content_hash, kept.title) == (new.content_hash, new.title) and kept.story is not None
