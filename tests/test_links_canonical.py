"""URLs known only from another page's canonical link: what happens when a list contains them."""

from __future__ import annotations

import asyncio

import pytest

from newsbot.crawl.visit import Found
from newsbot.items import Kind, Link, Where
from newsbot.pipelines.store import StorePipeline
from newsbot.urls import fingerprint
from tests.builders import fill, make_article

STORY = "https://news.test/story/1"
NAMED = "https://news.test/politics/the-council-met-and-talked-about-a-bridge"
SECTION = "https://news.test/politics/"
TITLE = "The council met and talked about a bridge"
OTHER = "A ferry sank in the harbour at night"


@pytest.fixture
def claimed(desk):
    """A desk that has read a page whose canonical link is NAMED, a new URL."""
    return named(desk, NAMED)


def named(desk, url):
    visit = desk.visit(STORY)
    article = make_article(1, url=STORY, canonical_url=url, title=TITLE, content_hash="1")
    asyncio.run(StorePipeline.from_crawler(desk.crawler).process_item(article))
    fill(visit, canonical_url=url, title=TITLE)
    end(desk, visit, is_article=True)
    assert state_of(desk, url) == "done"
    return desk


def end(desk, visit, *, status=200, is_article=None):
    fill(visit, status=status, is_article=is_article)
    fill(visit, error=None if status < 400 else f"http_{status}")
    desk.settle(visit)


def offer(desk, url, text, where=Where.FEED, kind=None):
    link = Link(url=url, where=where, text=text, kind=kind)
    return desk.crawl.links.queue(Found(links=(link,), referrer=SECTION, depth=1))


def state_of(desk, url):
    key = fingerprint(url)
    return desk.context.frontier.known([key])[key].state


def listen(desk, monkeypatch):
    """Return a list that records all keys looked up in the frontier."""
    keys_seen = []
    known = desk.context.frontier.known

    def listening(keys, hosts=()):
        keys_seen.extend(keys)
        return known(keys, hosts)

    monkeypatch.setattr(desk.context.frontier, "known", listening)
    return keys_seen


def kept(desk):
    return [one.canonical_url for one in desk.context.storage.articles.iter()]


@pytest.mark.parametrize(
    ("text", "state"),
    [
        (TITLE, "done"),
        ("Bridge: the council met and talked about it", "done"),
        (OTHER, "pending"),
        (None, "pending"),
        ("Read more", "pending"),
    ],
)
def test_a_canonical_url_in_a_list_is_fetched_if_it_may_be_another_page(claimed, text, state):
    assert offer(claimed, NAMED, text) == 0, "the URL is not new"
    assert state_of(claimed, NAMED) == state
    assert claimed.stat("canonical/read_after_all") == (state_of(claimed, NAMED) == "pending")


def test_a_repeated_link_is_looked_up_once(claimed, monkeypatch):
    looked_up = listen(claimed, monkeypatch)
    for _ in range(3):
        offer(claimed, NAMED, TITLE)
    assert looked_up == [fingerprint(NAMED)]
    offer(claimed, NAMED, OTHER)
    assert state_of(claimed, NAMED) == "pending", "a new headline must be checked again"


def test_a_fetched_page_is_looked_up_once_and_not_fetched_again(desk, monkeypatch):
    end(desk, desk.visit(NAMED), is_article=True)
    looked_up = listen(desk, monkeypatch)
    for text in (TITLE, OTHER, None):
        offer(desk, NAMED, text)
    assert looked_up == [fingerprint(NAMED)]
    assert state_of(desk, NAMED) == "done"


def test_the_target_of_a_redirect_is_known_with_any_headline(desk):
    visit = desk.visit(STORY)
    fill(visit, redirected_to=NAMED)
    end(desk, visit, is_article=True)
    offer(desk, NAMED, OTHER)
    assert state_of(desk, NAMED) == "done"


def test_a_variant_of_a_url_is_known_with_any_headline(desk):
    visit = desk.visit(f"{NAMED}?from=rss")
    fill(visit, canonical_url=NAMED, title=TITLE)
    end(desk, visit, is_article=True)
    offer(desk, NAMED, OTHER)
    assert state_of(desk, NAMED) == "done"


def test_a_section_named_as_canonical_is_fetched_and_the_article_gets_its_own_url(desk):
    named(desk, SECTION)
    assert kept(desk) == [SECTION]
    offer(desk, SECTION, TITLE, Where.NAVIGATION, Kind.SECTION)
    visit = desk.visit(SECTION, Kind.SECTION)
    end(desk, visit)
    assert kept(desk) == [STORY]


@pytest.mark.parametrize(
    ("status", "is_article", "home"),
    [(404, None, True), (410, None, True), (200, False, True), (200, True, False), (503, None, False)],
)
def test_a_canonical_url_without_an_article_is_not_used(claimed, status, is_article, home):
    visit = claimed.visit(NAMED)
    end(claimed, visit, status=status, is_article=is_article)
    assert kept(claimed) == [STORY if home else NAMED]


def test_a_page_that_disappears_later_keeps_its_article(desk):
    article = make_article(1, url=NAMED, canonical_url=NAMED, content_hash="1")
    asyncio.run(StorePipeline.from_crawler(desk.crawler).process_item(article))
    end(desk, desk.visit(NAMED), status=404)
    assert kept(desk) == [NAMED]


def test_a_missing_page_cannot_be_a_canonical_url_in_any_order(desk):
    gone = "https://news.test/2026/11/18/a-story-that-is-gone.html"
    assert desk.crawl.canonical.may_name("news.test", gone)
    visit = desk.visit(gone)
    fill(visit, status=404, error="http_404")
    desk.settle(visit)
    assert not desk.crawl.canonical.may_name("news.test", gone)
