"""A sitemap of 50,000 links does not block the event loop."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from newsbot.crawl.completion import CompletionQueue
from newsbot.items import Kind, Where
from newsbot.pages.discovery.sitemaps import SitemapError
from newsbot.spiders import reading
from newsbot.spiders.reading import Reader
from tests.builders import fill, make_request, make_response
from tests.newssite import sitemap_xml

LINKS = 2000
URL = "https://news.test/sitemap.xml"
TODAY = "2026-11-18"


@pytest.fixture
def reader(desk):
    return Reader(desk.crawl, obeys_noindex=True)


def answer(desk, visit, text=None):
    pages = {f"https://news.test/2026/11/18/a-long-story-{n}": TODAY for n in range(LINKS)}
    return make_response(make_request(visit), sitemap_xml(pages) if text is None else text)


def parse(reader, response, visit):
    """Return how often other tasks ran while the source was parsed."""

    async def both() -> tuple[int, Any]:
        turns = 0
        work = asyncio.ensure_future(reader.parse_ahead(response, visit))
        while not work.done():
            turns += 1
            await asyncio.sleep(0)
        return turns, await work

    return asyncio.run(both())


def test_a_large_sitemap_is_parsed_beside_the_event_loop(desk, reader, monkeypatch):
    monkeypatch.setattr(reading, "READ_AT_ONCE", 0.001)  # the sitemap takes longer than that on any machine
    visit = desk.visit(URL, Kind.SITEMAP, where=Where.SEED)
    response = answer(desk, visit)
    assert len(response.body) > reading.LARGE
    turns, parsed = parse(reader, response, visit)
    assert turns > 5
    (found,) = reader.read(response, visit, parsed)
    assert len(found.links) == LINKS


def test_the_loop_does_not_wait_for_a_page_behind_a_slow_one(monkeypatch):
    waits, slow = [], threading.Event()

    class Watched(threading.Event):
        def wait(self, timeout=None):
            waits.append(timeout)
            return super().wait(timeout)

    monkeypatch.setattr(threading, "Event", Watched)
    monkeypatch.setattr(reading, "READ_AT_ONCE", 0.001)

    async def both():
        first = asyncio.ensure_future(reading._in_thread(slow.wait))
        await asyncio.sleep(0)
        second = asyncio.ensure_future(reading._in_thread(lambda: 2))
        await asyncio.sleep(0)
        slow.set()
        return (await first).result(), (await second).result()

    assert asyncio.run(both()) == (True, 2)
    assert waits.count(0.001) == 1
    assert not reading._slow


def test_a_fault_of_a_large_sitemap_is_recorded_like_that_of_a_small_one(desk, reader):
    visit = desk.visit(URL, Kind.SITEMAP, where=Where.SEED)
    response = answer(desk, visit, "<html><body>" + "x" * reading.LARGE)
    _, parsed = parse(reader, response, visit)
    with pytest.raises(SitemapError):
        parsed.result()
    assert list(reader.read(response, visit, parsed)) == []
    assert visit.outcome.error is not None
    assert visit.outcome.error.startswith("sitemap_")


def test_an_unchanged_or_small_sitemap_is_not_parsed_ahead(desk, reader):
    visit = desk.visit(URL, Kind.SITEMAP, where=Where.SEED)
    assert parse(reader, answer(desk, visit, sitemap_xml({"https://news.test/a": TODAY})), visit)[1] is None
    response = answer(desk, visit)
    list(reader.read(response, visit))
    fill(visit, status=200)
    desk.settle(visit)
    again = desk.visit(URL, Kind.SITEMAP, where=Where.SEED)
    assert parse(reader, answer(desk, again), again)[1] is None


def test_links_are_queued_in_pieces_and_later_visits_do_not_wait(make_desk):
    """The rule names the articles, so no link waits."""
    desk = make_desk({"news.test": f"domain: news.test\nfeeds: {URL}\narticle: '^/2026/'\n"})
    crawl, reader = desk.crawl, Reader(desk.crawl, obeys_noindex=True)
    queue = CompletionQueue(desk.crawler, desk.context, crawl.scope, crawl.completion, crawl.reachability)
    visit = desk.visit(URL, Kind.SITEMAP, where=Where.SEED)
    visit.found = list(reader.read(answer(desk, visit), visit))
    fill(visit, status=200)
    small = desk.visit("https://news.test/section/", Kind.SECTION, where=Where.SEED)
    fill(small, status=200)
    queue.add(visit)
    queue.add(small)
    pieces = 0
    while queue:
        queue.settle(0.0)
        pieces += 1
        if pieces == 2:
            assert desk.context.frontier.known([small.lease.entry.fingerprint])
    assert pieces > 5
    counts = desk.context.frontier.counts()
    assert (counts["leased"], counts["pending"]) == (0, LINKS)
