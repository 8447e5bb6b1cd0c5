"""Under which URL an article is stored if pages name other URLs as canonical, in any order or at the same
time."""

from __future__ import annotations

import asyncio
from itertools import permutations

import pytest
from scrapy.exceptions import DropItem

from newsbot.apps.operations.remove import keep_out
from newsbot.dedup.index import signature
from newsbot.items import Reason
from newsbot.pages.extraction.addresses import adds_parameters
from newsbot.pipelines.exact import ExactDuplicatePipeline
from newsbot.pipelines.near import NearDuplicatePipeline
from newsbot.pipelines.store import StorePipeline
from newsbot.pipelines.validate import ValidatePipeline
from newsbot.storage.articles import story_id
from newsbot.urls import fingerprint
from tests.builders import fill, make_article

PIPELINES = (ValidatePipeline, ExactDuplicatePipeline, NearDuplicatePipeline, StorePipeline)


def url(number):
    return f"https://news.test/story/{number}"


def names(number, other, **fields):
    """Return article ``number``, whose page names that of ``other`` as canonical."""
    return make_article(
        number, canonical_url=url(other), title=f"Headline {number} of a long story", **fields
    )


async def through(desk, item, pipelines=PIPELINES):
    for pipeline in pipelines:
        answer = pipeline.from_crawler(desk.crawler).process_item(item)
        item = await answer if asyncio.iscoroutine(answer) else answer
    return item


def keep(desk, *items):
    for item in items:
        try:
            asyncio.run(through(desk, item))
        except DropItem:
            continue


def kept(desk):
    """Return the URL of each article, and the number in its title."""
    return {one.canonical_url: one.title.split()[1] for one in desk.context.storage.articles.iter()}


@pytest.mark.parametrize("order", list(permutations(range(3))))
@pytest.mark.parametrize("claims", [(0, 0, 0), (1, 2, 0), (1, 1, 1), (1, 0, 2), (9, 9, 9)])
def test_articles_with_other_canonical_urls_are_all_kept_in_any_order(desk, order, claims):
    keep(desk, *[names(number, claims[number]) for number in order])
    assert sorted(kept(desk).values()) == ["0", "1", "2"]
    home = {url(number): str(number) for number in range(3) if claims[number] == number}
    assert home.items() <= kept(desk).items(), "a page that names itself keeps its URL"
    assert [len(desk.context.storage.articles.versions(one)) for one in kept(desk)] == [1, 1, 1]


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_fetching_again_changes_no_urls(desk, order):
    items = [names(number, 0) for number in order]
    keep(desk, *items)
    before = kept(desk)
    keep(desk, *[names(number, 0) for number in reversed(order)])
    assert kept(desk) == before == {url(number): str(number) for number in range(3)}
    edited = [names(number, 0) for number in order]
    for item in edited:
        item.text += " An update says a little more than before, and more than a trifle it is for sure."
    keep(desk, *edited)
    assert kept(desk) == before
    assert {one.version for one in desk.context.storage.articles.iter()} == {2}


@pytest.mark.parametrize("later", [{"canonical_url": url(3)}, {"text": make_article(5).text}])
def test_an_article_under_the_url_of_a_leased_page_is_moved(desk, later):
    """The data on the second page was read before the first page was stored under its URL."""
    keep(desk, make_article(5, title="Headline 5 of a long story"))
    desk.crawl.known.expect(fingerprint(url(2)))
    assert not desk.crawl.known.get(fingerprint(url(2)))
    keep(desk, names(1, 2))
    assert kept(desk)[url(2)] == "1"
    keep(desk, make_article(2, title="Headline 2 of a long story", **later))
    assert kept(desk)[url(1)] == "1"
    found = desk.context.storage.articles.get(url(2))
    assert found.title.split()[1] == ("2" if "canonical_url" in later else "5")


@pytest.mark.parametrize("order", [(1, 2), (2, 1)])
def test_one_article_under_two_urls_is_kept_under_the_canonical_url(desk, order):
    pages = {
        1: make_article(7, url=url(1), canonical_url=url(2)),
        2: make_article(7, url=url(2), canonical_url=url(2)),
    }
    keep(desk, *[pages[number] for number in order])
    assert list(kept(desk)) == [url(2)]
    for address in (url(1), url(2)):
        found = desk.context.storage.articles.get(address)
        assert found is not None
        assert found.canonical_url == url(2)


@pytest.mark.parametrize("copies", [(True, False), (False, True), (True, False, True), (False, True, True)])
@pytest.mark.parametrize("is_edited", [False, True])
def test_a_copy_with_parameters_does_not_take_over_the_url(desk, copies, is_edited):
    for step, is_copy in enumerate(copies):
        item = make_article(7, url=url(1) + "?abs=17" * is_copy, canonical_url=url(1))
        item.text += f" Update {step} says a little more than before, and it is no trifle." * is_edited
        keep(desk, item)
    [found] = desk.context.storage.articles.iter()
    assert (found.url, found.canonical_url) == (url(1), url(1))


def test_a_canonical_url_named_by_two_different_pages_is_fetched(desk):
    visit = desk.visit(url(1))
    fill(visit, status=200)
    fill(visit, canonical_url=url(9), title="Headline 1 of a long story")
    keep(desk, names(1, 9))
    desk.settle(visit)
    entry = desk.entry(url(9))
    assert desk.context.frontier.known([entry.fingerprint])[entry.fingerprint].state == "done"
    [record] = desk.context.storage.pages.get([entry.fingerprint]).values()
    assert record.history[0]["why"] == Reason.CLAIMED
    keep(desk, names(2, 9))
    assert desk.context.frontier.known([entry.fingerprint])[entry.fingerprint].state == "pending"
    assert desk.stat("canonical/read_after_all") == 1


def test_the_story_and_the_index_change_with_the_url_of_an_article(desk):
    keep(desk, names(1, 2), names(2, 2))
    stories = {one.canonical_url: one.story for one in desk.context.storage.articles.iter()}
    assert stories == {url(1): story_id(url(1)), url(2): story_id(url(2))}
    for number in (1, 2):
        text = signature(make_article(number).text)
        near = desk.context.index.check_and_insert("https://x.test/", "x.test", text, desk.clock())
        assert [one.doc_id for one in near] == [url(number)]
        desk.context.index.check_and_insert("https://x.test/", "x.test", signature(""), desk.clock())


@pytest.mark.parametrize("named", [9, 0])
def test_pages_that_name_the_same_url_simultaneously_are_all_kept(desk, named):
    """Each article checks the storage before any of them is stored."""
    items = [names(number, named) for number in range(4)]

    async def run():
        for item in items:
            await through(desk, item, PIPELINES[:3])
        for item in reversed(items):
            await through(desk, item, PIPELINES[3:])

    asyncio.run(run())
    assert sorted(kept(desk).values()) == ["0", "1", "2", "3"]
    for address, number in kept(desk).items():
        text = signature(make_article(int(number)).text)
        near = desk.context.index.check_and_insert("https://x.test/", "x.test", text, desk.clock())
        assert [one.doc_id for one in near] == [address]
        desk.context.index.check_and_insert("https://x.test/", "x.test", signature(""), desk.clock())


MORE = (
    " The page itself says more of it now: the bridge is to be closed again, and nobody knows for how long."
)


def test_a_page_keeps_the_url_of_its_article_when_its_canonical_link_changes(desk):
    keep(desk, make_article(7, url=url(1), canonical_url=url(2)))
    for times, name in enumerate((1, 2, 3, 1), start=1):
        text = make_article(7).text + times * MORE
        keep(desk, make_article(7, url=url(1), canonical_url=url(name), text=text))
    assert [(one.canonical_url, one.version) for one in desk.context.storage.articles.iter()] == [(url(2), 5)]


def test_a_site_with_a_rule_keeps_its_own_copy(make_desk):
    rules = {
        name: f"domain: {name}\nfeeds: https://{name}/feed.xml\n" for name in ("news.test", "blog.news.test")
    }
    desk = make_desk(rules)
    theirs = make_article(7, url="https://blog.news.test/1", canonical_url=url(7), source="blog.news.test")
    keep(desk, make_article(7), theirs)
    found = [(one.source, one.canonical_url) for one in desk.context.storage.articles.iter()]
    assert sorted(found) == [("blog.news.test", "https://blog.news.test/1"), ("news.test", url(7))]


def test_an_edit_from_the_canonical_url_itself_is_a_version(desk):
    keep(desk, make_article(7, url=url(1), canonical_url=url(2)))
    longer = make_article(7).text + MORE
    keep(desk, make_article(7, url=url(2), canonical_url=url(2), text=longer))
    [article] = desk.context.storage.articles.iter()
    assert (article.canonical_url, article.version, article.text) == (url(2), 2, longer)


def test_removing_a_page_keeps_the_article_of_another_page_under_its_canonical_url(desk):
    keep(desk, names(1, 2), names(2, 2))
    keep_out(desk.context.notes, urls=[url(1)], domain=None, at=desk.clock(), reason="")
    desk.crawl.removals.take_out()
    assert kept(desk) == {url(2): "2"}


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("?abs=17", "", True),
        ("?p=3&abs=17", "?p=3", True),
        ("", "", False),
        ("?p=3", "?p=3", False),
        ("", "?p=3", False),
    ],
)
def test_parameters_that_an_address_adds(one: str, other: str, expected: bool) -> None:
    assert adds_parameters(url(1) + one, url(1) + other) is expected
