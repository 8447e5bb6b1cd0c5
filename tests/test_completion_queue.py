"""Internal errors during a crawl affect one visit, one host or one moment, never the whole crawl."""

from __future__ import annotations

import asyncio
from collections import deque

import pytest

from newsbot.crawl import backend_calls as outage
from newsbot.crawl.completion import CompletionQueue
from newsbot.crawl.scheduler import FrontierScheduler
from newsbot.crawl.visit import Ending, Found
from newsbot.errors import DataUnavailable, RecordRefused
from newsbot.items import Kind, Link, Where
from newsbot.middlewares.links import LinksMiddleware
from tests.builders import fill, make_request
from tests.test_robots import Site

STORY = "https://news.test/story/{}"


@pytest.fixture
def ended(desk):
    crawl = desk.crawl
    return CompletionQueue(desk.crawler, desk.context, crawl.scope, crawl.completion, crawl.reachability)


def states(desk, *urls):
    keys = [desk.entry(url).fingerprint for url in urls]
    known = desk.context.frontier.known(keys)
    return [known[key].state for key in keys]


def test_a_visit_that_cannot_be_completed_does_not_block_later_ones(desk, ended, monkeypatch):
    poisoned, good = desk.visit(STORY.format(1)), desk.visit(STORY.format(2))
    queue = desk.crawl.completion.queue

    def faulty(visit, until):
        if visit is poisoned:
            raise RuntimeError("a bug")
        return queue(visit, until)

    monkeypatch.setattr(desk.crawl.completion, "queue", faulty)
    ended.add(poisoned)
    ended.add(good)
    ended.settle()
    assert not ended
    assert states(desk, STORY.format(1), STORY.format(2)) == ["pending", "done"]
    assert desk.stat("errors/settlement") == 1


def test_visits_wait_while_the_data_cannot_be_written(desk, ended, monkeypatch):
    visit = desk.visit(STORY.format(1))
    faults = [DataUnavailable("locked")]
    queue = desk.crawl.completion.queue

    def locked(one, until):
        if faults:
            raise faults.pop()
        return queue(one, until)

    monkeypatch.setattr(desk.crawl.completion, "queue", locked)
    ended.add(visit)
    with pytest.raises(DataUnavailable):
        ended.settle()
    assert ended
    ended.settle()
    assert not ended
    assert states(desk, STORY.format(1)) == ["done"]


def several(desk, ended, number=5):
    urls = [STORY.format(place) for place in range(number)]
    for visit in [desk.visit(url) for url in urls]:
        fill(visit, status=200)
        ended.add(visit)
    return urls


def checks(desk, urls):
    keys = [desk.entry(url).fingerprint for url in urls]
    pages = desk.context.storage.pages.get(keys)
    return [pages[key].checks for key in keys]


def test_records_of_visits_that_end_together_are_written_together(desk, ended, monkeypatch):
    sizes: list[int] = []
    save = desk.context.storage.pages.save

    def counted(pages):
        sizes.append(len(pages))
        save(pages)

    monkeypatch.setattr(desk.context.storage.pages, "save", counted)
    urls = several(desk, ended)
    ended.settle()
    assert sizes == [5]
    assert (states(desk, *urls), checks(desk, urls)) == (["done"] * 5, [1] * 5)


@pytest.mark.parametrize("fault", [RecordRefused("too large"), RuntimeError("a bug")])
def test_a_record_that_cannot_be_written_does_not_stop_the_others(desk, ended, monkeypatch, fault):
    save = desk.context.storage.pages.save

    def refused(pages):
        if any(page.url == STORY.format(2) for page in pages):
            raise fault
        save(pages)

    monkeypatch.setattr(desk.context.storage.pages, "save", refused)
    urls = several(desk, ended)
    ended.settle()
    assert not ended
    assert states(desk, *urls) == ["done", "done", "pending", "done", "done"]
    assert desk.stat("errors/settlement") == 1


def test_a_fault_after_writing_the_records_counts_no_visit_twice(desk, ended, monkeypatch):
    ack_all, sizes, faults = desk.context.frontier.ack_all, [], [DataUnavailable("locked")]

    def locked(done):
        if faults:
            raise faults.pop()
        sizes.append(len(done))
        return ack_all(done)

    monkeypatch.setattr(desk.context.frontier, "ack_all", locked)
    urls = several(desk, ended)
    with pytest.raises(DataUnavailable):
        ended.settle()
    assert states(desk, *urls) == ["leased"] * 5
    assert len(list(ended.leases())) == 5
    ended.settle()
    assert sizes == [5]
    assert (states(desk, *urls), checks(desk, urls)) == (["done"] * 5, [1] * 5)


def test_failed_attempts_to_write_records_leave_no_events(desk, ended, monkeypatch):
    save, faults = desk.context.storage.pages.save, [DataUnavailable("away")] * 40

    def away(pages):
        if faults:
            raise faults.pop()
        save(pages)

    monkeypatch.setattr(desk.context.storage.pages, "save", away)
    urls = several(desk, ended)
    while faults:
        desk.clock.now += 30
        with pytest.raises(DataUnavailable):
            ended.settle()
    ended.settle()
    pages = desk.context.storage.pages.get([desk.entry(url).fingerprint for url in urls])
    histories = [[event["event"] for event in page.history] for page in pages.values()]
    assert histories == [["discovered", "planned"]] * 5


def test_leases_kept_at_a_limit_count_only_on_hosts_that_are_still_crawled(desk, ended):
    visit = desk.visit(STORY.format(1))
    visit.end(Ending.HELD)
    ended.add(visit)
    ended.settle()
    assert ended.held == 1
    desk.crawl.scope.limited.add("news.test")
    assert ended.held == 0


def test_the_strongest_of_several_endings_of_a_visit_counts(desk):
    visit = desk.visit(STORY.format(1))
    assert visit.ending is Ending.COMPLETE
    for ending, then in (
        (Ending.FAULT, Ending.FAULT),
        (Ending.HELD, Ending.HELD),
        (Ending.RETURNED, Ending.HELD),
    ):
        visit.end(ending)
        assert visit.ending is then


@pytest.mark.usefixtures("no_event_loop")
def test_a_redirect_waits_while_the_turn_of_its_host_cannot_be_taken(desk, monkeypatch):
    """Other workers may have turns that this worker does not know while the frontier is unavailable."""
    scheduler = FrontierScheduler(desk.crawler)
    desk.crawl.politeness.crawl_delays["news.test"] = 5.0
    visit = desk.visit(STORY.format(1))

    def locked(host, missed):
        raise DataUnavailable("locked")

    monkeypatch.setattr(desk.context.frontier, "take_turn", locked)
    hop = make_request(visit, "https://news.test/story/2")
    assert scheduler.enqueue_request(hop)
    scheduler._take_turns()
    assert not scheduler._hops
    assert scheduler.has_pending_requests()
    monkeypatch.undo()
    scheduler._take_turns()
    assert scheduler._hops == deque([(desk.clock(), hop)])


def test_a_data_error_while_reading_robots_txt_does_not_close_the_site(desk, monkeypatch):
    site = Site(desk, "User-agent: *\nCrawl-delay: 7\n")
    request = make_request(desk.visit(STORY.format(1)))
    whole = desk.context.frontier.set_politeness
    faults = [DataUnavailable("locked")]

    def locked(*args, **more):
        if faults:
            raise faults.pop()
        whole(*args, **more)

    monkeypatch.setattr(desk.context.frontier, "set_politeness", locked)
    with pytest.raises(DataUnavailable):
        asyncio.run(site.middleware.process_request(request))
    assert site.cause(request) is None


def test_start_urls_are_queued_when_the_data_is_available_again(desk, monkeypatch):
    monkeypatch.setattr(outage, "FIRST_PAUSE", 0.01)
    faults = [DataUnavailable("locked")] * 2
    add = desk.context.bare_frontier.add

    def locked(entries, *, force=False):
        if faults:
            raise faults.pop()
        return add(entries, force=force)

    monkeypatch.setattr(desk.context.bare_frontier, "add", locked)
    found = Found(
        links=(Link(url="https://news.test/feed.xml", where=Where.SEED, kind=Kind.FEED),),
        referrer=None,
        depth=0,
    )

    async def begin():
        async def start():
            yield found

        return [one async for one in LinksMiddleware(desk.crawler).process_start(start())]

    assert asyncio.run(begin()) == []
    assert states(desk, "https://news.test/feed.xml") == ["pending"]
