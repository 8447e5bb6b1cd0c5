"""The pipelines separately, on real data files: which items pass, which are dropped, and the counters."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from types import SimpleNamespace

import pytest
from scrapy import signals
from scrapy.exceptions import DropItem, NotConfigured

from newsbot.clock import utc
from newsbot.crawl import backend_calls
from newsbot.dedup.index import text_key
from newsbot.items import Article, Reason
from newsbot.pipelines import validate
from newsbot.pipelines.exact import ExactDuplicatePipeline
from newsbot.pipelines.limits import LimitReached, LimitsPipeline
from newsbot.pipelines.near import NearDuplicatePipeline
from newsbot.pipelines.store import StorePipeline
from newsbot.pipelines.validate import ValidatePipeline
from newsbot.urls import fingerprint
from tests.builders import START, make_article, prose

NOW = utc(START)


def process(pipeline, item):
    answer = pipeline.process_item(item)
    return asyncio.run(answer) if asyncio.iscoroutine(answer) else answer


@pytest.mark.parametrize(
    "kind", [ValidatePipeline, LimitsPipeline, ExactDuplicatePipeline, NearDuplicatePipeline, StorePipeline]
)
def test_foreign_items_pass_unchanged(make_desk, kind):
    desk = make_desk(max_articles=1)
    item = {"title": "not ours"}
    assert process(kind.from_crawler(desk.crawler), item) is item
    assert item == {"title": "not ours"}


def dropped(pipeline, item):
    with pytest.raises(DropItem) as caught:
        process(pipeline, item)
    return str(caught.value)


# --- validate
@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"title": " \n"}, "no_title"),
        ({"text": ""}, "no_text"),
        ({"text": " \t"}, "no_text"),
        ({"source": ""}, "no_source"),
        ({"canonical_url": "mailto:x@y"}, "bad_url"),
    ],
)
def test_incomplete_articles_are_dropped_and_counted(desk, fields, reason):
    pipeline = ValidatePipeline.from_crawler(desk.crawler)
    assert dropped(pipeline, make_article(**fields)) == reason
    assert desk.stat(f"dropped/{reason}") == 1


def test_a_complete_article_is_normalised(desk, monkeypatch):
    monkeypatch.setattr(validate, "MAX_TEXT", 10)
    monkeypatch.setattr(validate, "MAX_TITLE", 5)
    article = make_article(title="  A long title ", canonical_url="HTTPS://News.test:443/a/../b?utm_source=x")
    passed = process(ValidatePipeline.from_crawler(desk.crawler), article)
    assert passed is article
    assert passed.canonical_url == "https://news.test/b"
    assert passed.title == "A lon"
    assert len(passed.text) == 10


def test_the_url_of_the_page_is_the_default_canonical_url(desk):
    article = make_article(canonical_url="")
    assert process(ValidatePipeline.from_crawler(desk.crawler), article).canonical_url == article.url


def test_only_articles_within_the_dates_pass(make_desk):
    desk = make_desk(since=NOW - timedelta(days=2), until=NOW - timedelta(days=1))
    pipeline = ValidatePipeline.from_crawler(desk.crawler)

    def dated(days):
        return make_article(published_at=NOW - timedelta(days=days))

    assert dropped(pipeline, dated(2.01)) == "before_since"
    assert process(pipeline, dated(2))
    assert process(pipeline, dated(1.01))
    assert dropped(pipeline, dated(1)) == "after_until"
    assert process(pipeline, make_article())  # without a date
    assert desk.stat("dropped/before_since") == desk.stat("dropped/after_until") == 1


# --- limits
def test_the_pipeline_is_disabled_without_limits(desk):
    with pytest.raises(NotConfigured):
        LimitsPipeline.from_crawler(desk.crawler)


def drop(desk, item, reason="same_text"):
    desk.crawler.signals.send_catch_log(signals.item_dropped, item=item, exception=DropItem(reason))


def test_max_articles_limits_the_articles_and_closes_the_crawl_once(make_desk):
    desk = make_desk(max_articles=2)
    pipeline = LimitsPipeline.from_crawler(desk.crawler)
    closed = []

    async def close_spider_async(*, reason):
        closed.append(reason)

    desk.crawler.engine = SimpleNamespace(close_spider_async=close_spider_async)

    async def run():
        for number in range(2):
            process(pipeline, make_article(number))
        for number in range(2, 5):
            with pytest.raises(LimitReached) as caught:
                process(pipeline, make_article(number))
            assert caught.value.reason == Reason.LIMIT
        await asyncio.sleep(0)

    asyncio.run(run())
    assert closed == ["max_articles"]


def test_the_last_article_closes_the_crawl_although_a_pipeline_has_replaced_it(make_desk):
    desk = make_desk(max_articles=3)
    pipeline, closed = LimitsPipeline.from_crawler(desk.crawler), []

    async def close_spider_async(*, reason):
        closed.append(reason)

    desk.crawler.engine = SimpleNamespace(close_spider_async=close_spider_async)

    async def run():
        # the same post may come from two sources
        for number in (1, 1, 2):
            process(pipeline, make_article(number))
        for number in (1, 1, 2):
            await asyncio.sleep(0)
            assert not closed
            desk.crawler.signals.send_catch_log(
                signals.item_scraped, item=make_article(number), response=None
            )
        await asyncio.sleep(0)

    asyncio.run(run())
    assert closed == ["max_articles"]


def test_an_article_dropped_later_does_not_count(make_desk):
    desk = make_desk(max_articles_per_site=1)
    pipeline = LimitsPipeline.from_crawler(desk.crawler)
    first, second = make_article(1), make_article(2)
    process(pipeline, first)
    assert dropped(pipeline, second) == "max_articles_per_site"
    drop(desk, second, "max_articles_per_site")
    assert dropped(pipeline, second) == "max_articles_per_site"
    drop(desk, first)
    drop(desk, first)
    assert process(pipeline, second) is second
    assert dropped(pipeline, make_article(3)) == "max_articles_per_site"


def test_an_article_with_an_error_does_not_count(make_desk):
    desk = make_desk(max_articles=1)
    pipeline = LimitsPipeline.from_crawler(desk.crawler)
    first = make_article(1)
    process(pipeline, first)
    desk.crawler.signals.send_catch_log(signals.item_error, item=first, response=None, failure=None)
    assert process(pipeline, make_article(2))


def test_an_article_dropped_earlier_does_not_change_the_count(make_desk):
    desk = make_desk(max_articles_per_site=1)
    pipeline = LimitsPipeline.from_crawler(desk.crawler)
    kept = make_article(1)
    process(pipeline, kept)
    drop(desk, make_article(2, title=""), "no_title")
    assert dropped(pipeline, make_article(3)) == "max_articles_per_site"
    desk.crawler.signals.send_catch_log(signals.item_scraped, item=kept, response=None)
    drop(desk, kept)  # it is stored, so it has its place for good
    assert dropped(pipeline, make_article(3)) == "max_articles_per_site"


def test_max_articles_per_site_closes_the_site_only(make_desk):
    desk = make_desk(max_articles_per_site=1)
    pipeline = LimitsPipeline.from_crawler(desk.crawler)
    process(pipeline, make_article(1))
    assert desk.crawl.scope.accepts("news.test")
    assert dropped(pipeline, make_article(2)) == "max_articles_per_site"
    assert not desk.crawl.scope.accepts("news.test")
    assert process(pipeline, make_article(3, source="other.test"))


# --- exact
def keep(desk, article):
    article.content_hash = text_key(article.text)
    article.story = article.story or "s"
    desk.context.storage.articles.store(article)


def test_a_new_text_gets_its_key(desk):
    article = process(ExactDuplicatePipeline.from_crawler(desk.crawler), make_article())
    assert article.content_hash == text_key(prose(1))


def test_the_same_text_at_another_url_is_dropped_and_found_under_that_url(desk):
    keep(desk, make_article(1))
    copy = make_article(2, text=prose(1))
    reason = dropped(ExactDuplicatePipeline.from_crawler(desk.crawler), copy)
    assert reason == "same_text as https://news.test/story/1"
    assert desk.context.storage.articles.get(copy.canonical_url).canonical_url == "https://news.test/story/1"
    assert desk.context.storage.articles.count() == 1
    assert desk.stat("duplicates/text") == desk.stat("site/news.test/duplicates") == 1


def test_the_same_text_on_another_site_passes(desk):
    keep(desk, make_article(1))
    copy = make_article(2, text=prose(1), source="other.test", canonical_url="https://other.test/2")
    assert process(ExactDuplicatePipeline.from_crawler(desk.crawler), copy) is copy


FOOTLINE = "The editors are happy about letters, and shorten them where space is scarce."


def test_a_line_that_becomes_a_repeated_line_does_not_change_articles(desk):
    pipeline = ExactDuplicatePipeline.from_crawler(desk.crawler)
    keep(desk, make_article(1, text=f"{prose(1)}\n{FOOTLINE}"))
    again = make_article(1, extraction={"site_lines": f"{len(prose(1).splitlines())}: {FOOTLINE}"})
    assert dropped(pipeline, again) == "unchanged"


def test_an_edit_is_compared_by_the_text_shown_on_the_page(desk):
    pipeline, store = (part.from_crawler(desk.crawler) for part in (ExactDuplicatePipeline, StorePipeline))
    keep(desk, make_article(1))
    edited, again = (make_article(1, extraction={"site_lines": f"1: {FOOTLINE}"}) for _ in range(2))
    edited.story = again.story = "s"
    assert process(store, process(pipeline, edited)).version == 2
    assert dropped(store, edited) == "unchanged"
    assert dropped(pipeline, again) == "unchanged"


def test_an_unchanged_page_is_dropped_and_a_new_title_is_not(desk):
    pipeline = ExactDuplicatePipeline.from_crawler(desk.crawler)
    keep(desk, make_article(1))
    assert dropped(pipeline, make_article(1)) == "unchanged"
    assert desk.stat("articles/unchanged") == 1
    assert desk.stat("duplicates/url") == desk.stat("duplicates/text") == 0, "must be counted only once"
    assert process(pipeline, make_article(1, title="A new title"))


def test_an_unchanged_article_gets_the_date_that_can_be_read_now(desk):
    keep(desk, make_article(1, published_at=None, published_precision=None))
    dated = make_article(1, published_at=NOW, published_precision="day", published_source="visible")
    assert dropped(ExactDuplicatePipeline.from_crawler(desk.crawler), dated) == "unchanged"
    [article] = desk.context.storage.articles.iter()
    assert (article.published_at, article.published_precision, article.version) == (NOW, "day", 1)
    undated = make_article(1, published_at=None, published_precision=None)
    assert dropped(ExactDuplicatePipeline.from_crawler(desk.crawler), undated) == "unchanged"
    [article] = desk.context.storage.articles.iter()
    assert article.published_at == NOW


def test_an_unchanged_article_is_found_under_each_of_its_urls(desk):
    keep(desk, make_article(1))
    other = "https://news.test/mobile/1"
    assert (
        dropped(ExactDuplicatePipeline.from_crawler(desk.crawler), make_article(1, url=other)) == "unchanged"
    )
    assert desk.context.storage.articles.get(other).canonical_url == "https://news.test/story/1"


def test_a_page_with_an_earlier_text_passes(desk):
    keep(desk, make_article(1))
    keep(desk, make_article(1, text=prose(9)))
    assert process(ExactDuplicatePipeline.from_crawler(desk.crawler), make_article(1))


# --- near
def test_a_unique_text_starts_a_story(desk):
    pipeline = NearDuplicatePipeline.from_crawler(desk.crawler)
    one, two = process(pipeline, make_article(1)), process(pipeline, make_article(2))
    assert one.story
    assert one.story != two.story
    assert one.duplicate_of is two.duplicate_of is None
    assert desk.stat("duplicates/near") == 0


def test_a_near_copy_joins_the_story_and_a_copy_on_the_same_site_names_its_original(desk):
    pipeline = NearDuplicatePipeline.from_crawler(desk.crawler)
    first = process(pipeline, make_article(1, text=prose(1, 200)))
    desk.context.storage.articles.store(first)
    other = make_article(2, text=prose(1, 190), source="other.test", canonical_url="https://other.test/2")
    assert process(pipeline, other).story == first.story
    assert other.duplicate_of is None
    twin = process(pipeline, make_article(3, text=prose(1, 199)))
    assert (twin.story, twin.duplicate_of) == (first.story, first.canonical_url)
    assert desk.stat("duplicates/near") == 2


def test_the_current_story_of_a_similar_stored_article_is_used(desk):
    pipeline = NearDuplicatePipeline.from_crawler(desk.crawler)
    first = process(pipeline, make_article(1, text=prose(1, 200)))
    desk.context.storage.articles.store(first)
    desk.context.storage.stories.assign(first.canonical_url, "moved", None)
    assert process(pipeline, make_article(2, text=prose(1, 199))).story == "moved"


def test_the_same_words_with_different_numbers_are_different_news(desk):
    pipeline = NearDuplicatePipeline.from_crawler(desk.crawler)
    words = " ".join(f"the index of the exchange rose again today paragraph {chr(97 + n)}" for n in range(20))
    first = process(pipeline, make_article(1, text=f"{words} by 17.5 points to 3411 after 12 days"))
    desk.context.storage.articles.store(first)
    second = process(pipeline, make_article(2, text=f"{words} by 99.1 points to 8802 after 31 days"))
    assert second.story != first.story


def test_processing_an_article_twice_has_no_further_effect(desk):
    pipeline = NearDuplicatePipeline.from_crawler(desk.crawler)
    story = process(pipeline, make_article(1)).story
    again = process(pipeline, make_article(1))
    assert (again.story, again.duplicate_of) == (story, None)
    assert desk.context.index.count() == 1


# --- store
def test_results_of_the_storage_are_counted(desk):
    pipeline = StorePipeline.from_crawler(desk.crawler)
    article = make_article(1, content_hash=text_key(prose(1)))
    assert process(pipeline, article).version == 1
    assert dropped(pipeline, make_article(1, content_hash=text_key(prose(1)))) == "unchanged"
    edited = make_article(1, text=prose(5), content_hash=text_key(prose(5)))
    assert process(pipeline, edited).version == 2
    copy = make_article(2, text=prose(5), content_hash=text_key(prose(5)))
    assert dropped(pipeline, copy) == "same_text as https://news.test/story/1"
    counted = {
        name: desk.stat(name)
        for name in (
            "articles/new",
            "articles/updated",
            "articles/unchanged",
            "duplicates/text",
            "site/news.test/articles",
            "site/news.test/updated",
            "site/news.test/duplicates",
        )
    }
    assert set(counted.values()) == {1}, counted
    assert desk.context.books.last_article == {"news.test": START}
    assert [kept.text for kept in desk.context.storage.articles.versions(article.canonical_url)] == [
        prose(1),
        prose(5),
    ]


def test_the_place_of_an_article_goes_with_it_and_is_not_exported(desk):
    near, store = (kind.from_crawler(desk.crawler) for kind in (NearDuplicatePipeline, StorePipeline))
    first = process(store, process(near, make_article(1, text=prose(1, 200), content_hash="1")))
    second = make_article(2, text=prose(1, 190), source="other.test", content_hash="2")
    placed = process(near, second)
    assert placed.peers == (first.canonical_url,)
    stored = process(store, replace(placed, title="Changed by a pipeline of a user"))
    assert (type(stored), stored.story) == (Article, first.story)


# --- several at once
def test_simultaneous_articles_need_one_call_of_each_kind(desk, monkeypatch):
    kinds = (ExactDuplicatePipeline, NearDuplicatePipeline, StorePipeline)
    pipelines = [kind.from_crawler(desk.crawler) for kind in kinds]
    items = [make_article(number) for number in range(20)]
    calls = []
    for name, method in (
        ("texts", "owners"),
        ("articles", "known"),
        ("articles", "store_new"),
        ("articles", "store"),
        ("stories", "current"),
        ("stories", "join"),
    ):
        part = getattr(desk.context.storage, name)._backend
        whole = getattr(part, method)

        def counted(batch, *more, method=method, whole=whole):
            calls.append((method, len(batch) if isinstance(batch, list | set) else 1))
            return whole(batch, *more)

        monkeypatch.setattr(part, method, counted)

    async def one(item):
        for pipeline in (ValidatePipeline.from_crawler(desk.crawler), *pipelines):
            answer = pipeline.process_item(item)
            item = await answer if asyncio.iscoroutine(answer) else answer
        return item

    async def run():
        for item in items:
            desk.crawl.known.expect(fingerprint(item.url))
        return await asyncio.gather(*map(one, items))

    assert [item.version for item in asyncio.run(run())] == [1] * 20
    assert calls == [("owners", 20), ("known", 20), ("store_new", 20), ("current", 20)]


@pytest.mark.parametrize("fails", [False, True])
def test_an_article_counts_as_being_decided_while_its_story_is_searched(desk, monkeypatch, fails):
    """Other articles wait for it (:mod:`newsbot.crawl.backend_calls`), except while it waits for them."""
    together, seen = desk.context.together, []
    pipeline = NearDuplicatePipeline(desk.crawler)
    asyncio.run(pipeline.process_item(make_article(1, text=prose(1))))  # this article is not stored
    sleep = asyncio.sleep

    async def pause(_finder, found):
        seen.append(together.deciding)
        if fails:
            raise DropItem("no story")
        return False

    async def recorder(seconds):
        seen.append(together.deciding)
        await sleep(0)

    monkeypatch.setattr("newsbot.pipelines.near.StoryFinder._all_stored", pause)
    monkeypatch.setattr("newsbot.pipelines.near.asyncio.sleep", recorder)
    with suppress(DropItem):
        asyncio.run(pipeline.process_item(make_article(2, text=prose(1))))
    assert (seen, together.deciding) == ([1] if fails else [1, *[0] * 8], 0)


def test_an_article_waits_for_articles_that_are_being_read(desk, monkeypatch):
    """All these articles are stored together. The wait has a limit."""
    sizes: list[int] = []
    texts = desk.context.storage.texts
    owners = texts.owners

    def counted(keys):
        sizes.append(len(keys))
        return owners(keys)

    monkeypatch.setattr(texts, "owners", counted)

    async def run():
        together = desk.context.together
        together.reading = 1
        monkeypatch.setattr(backend_calls, "LONGEST", 60.0)
        first = asyncio.create_task(together.owner(("news.test", "1")))
        await asyncio.sleep(0.02)
        assert not first.done()
        second = asyncio.create_task(together.owner(("news.test", "2")))
        await asyncio.sleep(0)
        together.reading = 0
        assert [await first, await second] == [None, None]
        together.reading = 1
        monkeypatch.setattr(backend_calls, "LONGEST", 0.01)
        assert await together.owner(("news.test", "3")) is None

    asyncio.run(run())
    assert sizes == [2, 1]
