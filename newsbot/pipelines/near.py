"""Fourth pipeline: joins near-duplicates into one story.

A story is a group of articles that report the same in nearly the same words. An index of MinHash signatures
finds similar articles (*neighbours*), and their texts decide.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, ParamSpec, TypeVar

from scrapy.crawler import Crawler

from newsbot.crawl.assembly import Component, Crawl
from newsbot.dedup.decision import Decision, Relation
from newsbot.dedup.index import Near, Signature, signature
from newsbot.dedup.story_merge import MAX_NEIGHBOURS, part, place, without_bridges
from newsbot.items import Article
from newsbot.pipelines.exact import AddressChoice
from newsbot.storage.articles import story_id

WAITS = (0.02, 0.08, 0.3, 0.6)
"""Pauses in seconds between reads of a similar text that another worker is about to store."""
LONG = 50_000
"""Texts with at least this number of letters are compared in a thread. Comparing so many letters takes about
10 ms."""
_Given = ParamSpec("_Given")
_Answer = TypeVar("_Answer")


async def _aside(
    letters: int, work: Callable[_Given, _Answer], *given: _Given.args, **more: _Given.kwargs
) -> _Answer:
    """Return the result of ``work``. If the texts are long, call it in a thread, to keep the event loop free.

    ``letters`` is the total length of the texts.
    """
    if letters < LONG:
        return work(*given, **more)
    return await asyncio.to_thread(work, *given, **more)


@dataclass(slots=True)
class PlacedArticle(Article):
    """An article with its place among the stories, where :mod:`newsbot.pipelines.store` stores it."""

    peers: tuple[str, ...] = ()
    """Canonical URLs of its peers (:mod:`newsbot.dedup.decision`)."""
    kept_apart: bool = False
    """True if it was kept out of a story of similar articles, because it would have joined two stories
    (:func:`newsbot.dedup.story_merge.without_bridges`)."""

    def plain(self) -> Article:
        """Return the article without its place."""
        return Article(**{name: getattr(self, name) for name in _FIELDS})


_FIELDS = tuple(field.name for field in fields(Article))


@dataclass(slots=True)
class _Found:
    """The neighbours of an article: similar texts that the index knows."""

    near: list[Near]
    kept: dict[str, Article] = field(default_factory=dict)
    """The stored articles of the neighbours that were read so far, by canonical URL."""


class NearDuplicatePipeline(Component):
    """Fills ``story`` and ``duplicate_of``. Queries the index, and adds the article to it (idempotent).

    The texts themselves decide how similar two articles are, and whether similar texts are the same news. If
    another worker is about to store a similar text, this pipeline waits for this text up to one second. If
    the text is then not stored, its signature decides. There is one exception: without its text, an article
    of the same site does not count as similar. Otherwise two texts that are made from one template, such as
    weather reports, could become one story. If a later text of the site shows that texts of one story were
    made from one template, the story is split.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._stories = StoryFinder(Crawl.of(crawler))

    async def process_item(self, item: Any) -> Any:
        """Return the article with its place. Wait while a backend is unavailable."""
        return await self._stories.find(item) if isinstance(item, Article) else item


class StoryFinder:
    """Adds articles to the index and finds their stories."""

    def __init__(self, crawl: Crawl) -> None:
        self._context, self._addresses = crawl.context, AddressChoice(crawl)

    async def find(self, article: Article) -> PlacedArticle:
        """Add the article to the index under its URL, find its story, and return it with its place.

        A post is never in a story.

        Wait while a backend is unavailable.
        """
        if article.form == "post":
            alone = Decision(story_id(article.canonical_url), Relation.NEW)
            return self._decided(article, alone, kept_apart=False)
        self._context.together.deciding += 1
        try:
            with self._context.timed("dedup_near"):
                mine = await _aside(len(article.text), signature, article.text)
            found = await self._context.outage.patiently(self._ask, article, mine)
            stored = await self._all_stored(found)
        finally:
            # The article is not counted in ``deciding`` during the pauses. Otherwise, the articles that wait
            # to be stored would wait for this article. The missing text may be among them.
            self._context.together.deciding -= 1
        for pause in WAITS:
            if stored:
                break
            await asyncio.sleep(pause)
            stored = await self._all_stored(found)
        decision = await self._place(article, found)
        if decision.mixed:
            await self._part(decision.mixed, article.source)
            found.kept.clear()
            await self._all_stored(found)
            decision = await self._place(article, found)
        twin = next((one for one in found.kept.values() if one.canonical_url == decision.duplicate_of), None)
        # If the other address of the same article came from another site, this article is its next version.
        if twin is not None and await self._context.outage.patiently(
            self._addresses.takes_over, article, twin
        ):
            peers = tuple(one for one in decision.peers if one != twin.canonical_url)
            decision = replace(decision, duplicate_of=None, peers=peers)
        peers = decision.peers
        if peers:
            decision = await self._context.outage.patiently(
                without_bridges, self._context.storage, article, decision, found.kept
            )
        return self._decided(article, decision, kept_apart=decision.peers != peers)

    def _ask(self, article: Article, mine: Signature) -> _Found:
        """Add the article to the index and return the similar texts that the index knows."""
        with self._context.timed("dedup_near"):
            return _Found(
                self._context.index.check_and_insert(
                    article.canonical_url, article.source, mine, self._context.clock()
                )
            )

    async def _all_stored(self, found: _Found) -> bool:
        """Read the texts that are not known yet. Return False if one of them is not stored."""
        missing = [one.doc_id for one in found.near[:MAX_NEIGHBOURS] if one.doc_id not in found.kept]
        if missing:
            read = await self._context.outage.patiently_await(
                lambda: self._context.together.articles(missing)
            )
            found.kept |= {doc_id: read[doc_id] for doc_id in missing if doc_id in read}
        return found.kept.keys() >= set(missing)

    async def _place(self, article: Article, found: _Found) -> Decision:
        letters = len(article.text) + sum(len(one.text) for one in found.kept.values())
        with self._context.timed("dedup_near"):
            return await _aside(letters, place, article, found.near, found.kept)

    async def _part(self, stories: Sequence[str], source: str) -> None:
        """Split stories in which texts of one source were joined before their template was known."""
        for story in stories:
            await self._context.outage.patiently(part, self._context.storage, story, source)

    def _decided(self, article: Article, decision: Decision, *, kept_apart: bool) -> PlacedArticle:
        article.story = decision.story
        article.duplicate_of = decision.duplicate_of
        article.derived_from = list(decision.derived_from)
        article.relation = decision.relation.value
        article.similarity = round(decision.similarity, 3) or None
        if decision.relation is Relation.DERIVED:
            self._context.count("duplicates/derived")
        elif decision.relation is not Relation.NEW:
            self._context.count("duplicates/near")
        given = {name: getattr(article, name) for name in _FIELDS}
        return PlacedArticle(**given, peers=decision.peers, kept_apart=kept_apart)
