"""A page of any size and form does not delay other work, because it is read in a thread and within limits."""

from __future__ import annotations

import asyncio
import threading
import time
from dataclasses import replace

import pytest

from newsbot.crawl.completion import CompletionQueue
from newsbot.errors import DataError
from newsbot.items import Kind, Where
from newsbot.middlewares import tree_of
from newsbot.pages.discovery import list_pages
from newsbot.pages.discovery.list_pages import PageLinks, find_links
from newsbot.pages.extraction import parse_html
from newsbot.pages.extraction import parsing as pages
from newsbot.pages.extraction.fields import authors
from newsbot.pages.extraction.fields import date_candidates as candidates
from newsbot.pipelines import near
from newsbot.spiders import reading
from newsbot.spiders.reading import Reader
from tests.builders import Desk, fill, make_request, make_response
from tests.crawls import article_html

HOME = "https://news.test/"
STORY = "https://news.test/2026/11/18/rain-closes-the-lower-road.html"
HTML = {"Content-Type": "text/html; charset=utf-8"}
HEAVY = ("tree_of", "read", "PageLinks", "find_sources", "find_sections", "next_page")
LINKS = 1000


def recording(calls, real):
    """Return ``real``, which then also records the first argument of each call."""

    def call(first, *more):
        calls.append(first)
        return real(first, *more)

    return call


def front(links=LINKS):
    stories = "".join(
        f"<p><a href='/2026/11/18/a-long-story-{n}'>A long story about rain {n}</a></p>" for n in range(links)
    )
    return f"<html><body><nav><a href='/sport/'>Sport</a></nav><main>{stories}</main></body></html>"


@pytest.fixture
def make_desk(tmp_path):
    """Makes desks with data of their own."""
    desks: list[Desk] = []

    def make():
        folder = tmp_path / str(len(desks))
        folder.mkdir()
        desks.append(Desk(folder, {"news.test": "domain: news.test\narticle: [^/2026/]\n"}, {}))
        return desks[-1]

    yield make
    for desk in desks:
        desk.crawl.close()


@pytest.fixture
def desk(make_desk):
    return make_desk()


@pytest.fixture
def reader(desk):
    return Reader(desk.crawl, obeys_noindex=True)


@pytest.fixture
def threads(monkeypatch):
    """The threads in which the heavy functions ran, by the function's name."""
    ran: dict[str, set[threading.Thread]] = {}

    def recording_thread(name, real):
        def call(*arguments, **more):
            ran.setdefault(name, set()).add(threading.current_thread())
            return real(*arguments, **more)

        return call

    for name in HEAVY:
        monkeypatch.setattr(reading, name, recording_thread(name, getattr(reading, name)))
    return ran


def seen(visit):
    return replace(visit.reading, began=0.0), visit.events, visit.outcome


PAGES = {
    "article": (STORY, Kind.ARTICLE, Where.FEED, article_html(1)),
    "no article": (HOME, Kind.ARTICLE, Where.ARGUMENT, front()),
    "not HTML": (STORY, Kind.ARTICLE, Where.FEED, '{"a": 1}'),
    "empty": (STORY, Kind.ARTICLE, Where.FEED, " "),
    "noindex": (STORY, Kind.ARTICLE, Where.FEED, "<meta name=robots content=noindex>" + article_html(1)),
    "home page": (HOME, Kind.SECTION, Where.SEED, front()),
    "nofollow": (HOME, Kind.SECTION, Where.SEED, "<meta name=robots content=nofollow>" + front()),
}


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_read_in_a_thread_with_the_same_outcome(make_desk, threads, name):
    url, kind, where, text = PAGES[name]
    results = []
    for ahead in (False, True):
        desk = make_desk()
        reader = Reader(desk.crawl, obeys_noindex=True)
        visit = desk.visit(url, kind, where=where)
        response = make_response(make_request(visit), text, 200, HTML)
        parsed = None
        if ahead:
            threads.clear()
            parsed = asyncio.run(reader.parse_ahead(response, visit))
            assert parsed is not None
        results.append((list(reader.read(response, visit, parsed)), seen(visit)))
    assert results[0] == results[1]
    assert threading.main_thread() not in set().union(*threads.values())
    assert ("tree_of" in threads) == (name != "not HTML")


def test_the_event_loop_goes_on_while_a_page_is_read(desk, reader, monkeypatch):
    may_go_on, real = threading.Event(), tree_of

    def waiting(*arguments):
        assert may_go_on.wait(60)
        return real(*arguments)

    monkeypatch.setattr(reading, "tree_of", waiting)

    async def both():
        visits = [desk.visit(STORY, where=Where.FEED), desk.visit(HOME, Kind.SECTION, where=Where.SEED)]
        work = [
            asyncio.ensure_future(reader.parse_ahead(make_response(make_request(one), text, 200, HTML), one))
            for one, text in zip(visits, (article_html(1), front()), strict=True)
        ]
        await asyncio.sleep(0)  # if the loop were blocked, this coroutine would not continue
        may_go_on.set()
        return [parsed.result() for parsed in await asyncio.gather(*work)]

    story, home = asyncio.run(both())
    assert story.article is not None
    assert home.links_count == LINKS + 1


def test_the_event_loop_waits_for_a_page_that_is_quickly_read(desk, reader, monkeypatch):
    """Two threads at once would interrupt each other."""
    monkeypatch.setattr(reading, "READ_AT_ONCE", 60.0)
    order = []
    real = tree_of

    def reporting(*arguments):
        time.sleep(0.05)  # the event loop has time for other work
        order.append("read")
        return real(*arguments)

    monkeypatch.setattr(reading, "tree_of", reporting)
    visit = desk.visit(STORY, where=Where.FEED)
    response = make_response(make_request(visit), article_html(1), 200, HTML)

    async def other_work():
        for _ in range(5):
            await asyncio.sleep(0)
        order.append("other")

    async def both():
        return await asyncio.gather(reader.parse_ahead(response, visit), other_work())

    parsed, _ = asyncio.run(both())
    assert parsed.result().article is not None
    assert order == ["read", "other"]


def test_an_unchanged_section_is_not_read(desk, reader):
    for known in (False, True):
        visit = desk.visit(HOME, Kind.SECTION, where=Where.SEED)
        response = make_response(make_request(visit), front(), 200, HTML)
        parsed = asyncio.run(reader.parse_ahead(response, visit))
        assert (parsed is None) == known
        list(reader.read(response, visit, parsed))
        fill(visit, status=200)
        desk.settle(visit)


@pytest.mark.parametrize(("kind", "where"), [(Kind.SECTION, Where.SEED), (Kind.ARTICLE, Where.ARGUMENT)])
def test_links_and_sections_of_a_home_page_share_one_walk(desk, reader, monkeypatch, kind, where):
    walks: list[object] = []
    real = list_pages._anchors
    monkeypatch.setattr(list_pages, "_anchors", recording(walks, real))
    visit = desk.visit(HOME, kind, where=where)
    named, found = reader.read(make_response(make_request(visit), front(), 200, HTML), visit)
    assert [link.url for link in named.links] == [f"{HOME}sport/"]
    assert len(found.links) == LINKS + 1
    assert len(walks) == 1


def test_links_that_are_considered_are_bounded(monkeypatch):
    tree = parse_html(front(15_000).encode())
    looked_at: list[object] = []
    real = list_pages.text_of
    monkeypatch.setattr(list_pages, "text_of", recording(looked_at, real))
    page = PageLinks(tree, HOME)
    assert len(looked_at) == list_pages._MAX_SEEN
    assert page.find() == find_links(tree, HOME)
    assert len(page.find(menus=True)) == list_pages.MAX_LINKS


def test_elements_that_are_considered_are_bounded(monkeypatch):
    box = b"<div class='date author'>12.12.</div>"
    tree = parse_html(b"<html><body><h1>Rain</h1>" + box * 100_000)
    assert sum(1 for _ in tree.iter()) <= pages.MAX_TAGS
    assert len(candidates.dated_elements(tree)) == candidates.MAX_ELEMENTS
    checked: list[object] = []
    real = authors._is_sure
    monkeypatch.setattr(authors, "_is_sure", recording(checked, real))
    authors.author_marks(tree)
    assert len(checked) == authors.MAX_MARKED


def page_of_links(desk, reader):
    visit = desk.visit(HOME, Kind.SECTION, where=Where.SEED)
    fill(visit, status=200)
    visit.found = list(reader.read(make_response(make_request(visit), front(), 200, HTML), visit))
    return visit


def entries(desk):
    urls = [f"{HOME}sport/", *(f"{HOME}2026/11/18/a-long-story-{n}" for n in range(LINKS))]
    keys = [desk.entry(url).fingerprint for url in urls]
    return {key: (one.url, one.kind, one.data) for key in keys if (one := desk.context.frontier.entry(key))}


def test_links_queued_in_pieces_equal_links_queued_at_once(make_desk):
    found = []
    for seconds in (60.0, 0.0):
        desk = make_desk()
        crawl = desk.crawl
        queue = CompletionQueue(desk.crawler, desk.context, crawl.scope, crawl.completion, crawl.reachability)
        queue.add(page_of_links(desk, Reader(crawl, obeys_noindex=True)))
        pieces = 0
        while queue:
            queue.settle(seconds)
            pieces += 1
        assert (pieces > 10) == (seconds == 0.0)
        found.append((entries(desk), desk.stat("links/new"), desk.stat("links/found")))
    assert found[0] == found[1]
    assert len(found[0][0]) > LINKS / 2


def test_no_link_is_lost_when_a_backend_fails_between_two_pieces(desk, reader, monkeypatch):
    visit = page_of_links(desk, reader)
    real = desk.context.frontier.add
    calls: list[object] = []

    def failing(*arguments, **more):
        calls.append(arguments)
        if len(calls) == 4:
            raise DataError("away")
        return real(*arguments, **more)

    monkeypatch.setattr(desk.context.frontier, "add", failing)
    with pytest.raises(DataError):
        desk.settle(visit)
    some = len(entries(desk))
    desk.settle(visit)
    assert len(entries(desk)) > some
    assert visit.found == []


@pytest.mark.parametrize("letters", [near.LONG - 1, near.LONG])
def test_long_texts_are_compared_in_a_thread(letters):
    thread = asyncio.run(near._aside(letters, threading.current_thread))
    assert (thread is threading.main_thread()) == (letters < near.LONG)
