"""How soon a host is requested again: the rule's delay is used, even if it changes during the crawl."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from scrapy import Spider

from newsbot.crawl import scheduler as module
from newsbot.crawl.scheduler import FrontierScheduler
from newsbot.crawl.visit import META_KEY, TURN_KEY
from newsbot.frontier.base import Lease
from newsbot.items import Kind
from newsbot.pages.rules import RuleSet
from tests.builders import Desk

STORY = "https://news.test/politics/story-{}"


class Wake:
    """The result of ``call_later``."""

    def __init__(self, wait: float) -> None:
        self.wait, self.cancelled = wait, False

    def cancel(self) -> None:
        self.cancelled = True


pytestmark = pytest.mark.usefixtures("no_event_loop")


@pytest.fixture
def wakes(monkeypatch: pytest.MonkeyPatch) -> list[Wake]:
    made: list[Wake] = []

    def call_later(wait: float, _function: object) -> Wake:
        made.append(Wake(wait))
        return made[-1]

    monkeypatch.setattr(module, "call_later", call_later)
    return made


def test_a_page_faster_than_the_delay_does_not_wait_for_a_second(desk: Desk, wakes: list[Wake]) -> None:
    scheduler = FrontierScheduler(desk.crawler)
    scheduler.slot = SimpleNamespace(inprogress=set())
    scheduler.spider = desk.crawler.spider = Spider("test")
    scheduler._begin()
    for number in range(2):
        desk.queue(STORY.format(number), Kind.ARTICLE)
    desk.context.frontier.set_politeness("news.test", delay=0.05, concurrency=1)
    request = scheduler.next_request()
    assert request is not None
    assert scheduler.next_request() is None
    assert [wake.wait for wake in wakes] == [module.LOOK_AGAIN], "the host is busy"
    assert scheduler.next_request() is None
    assert len(wakes) == 1
    desk.clock.now += 0.02
    scheduler._finished(request)
    assert scheduler.next_request() is None
    assert wakes[0].cancelled
    assert wakes[1].wait <= 0.03 + 1e-6


@pytest.mark.parametrize(("cost", "pause"), [(0.004, 0.004 / module.LOOK_SHARE), (5.0, module.LOOK_AGAIN)])
def test_finished_pages_do_not_cause_a_scan_of_the_queue_for_each_request(
    desk: Desk, wakes: list[Wake], monkeypatch: pytest.MonkeyPatch, cost: float, pause: float
) -> None:
    scheduler = FrontierScheduler(desk.crawler)
    scheduler.slot = SimpleNamespace(inprogress=set())
    scheduler.spider = desk.crawler.spider = Spider("test")
    scheduler._begin()
    seconds, looks = 1000.0, 0
    outlook = type(desk.context.bare_frontier).outlook

    def slow_outlook(*arguments: object, **more: object) -> object:
        nonlocal seconds, looks
        seconds, looks = seconds + cost, looks + 1
        return outlook(*arguments, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(type(desk.context.bare_frontier), "outlook", slow_outlook)
    monkeypatch.setattr(time, "monotonic", lambda: seconds)
    for _ in range(500):  # five seconds at a hundred pages a second
        seconds += 0.01
        scheduler._wake_is_old = True
        assert scheduler.next_request() is None
    assert 5 <= looks <= 5 / pause + 2
    assert sum(wake.wait < pause + 1e-6 for wake in wakes) >= 500 - looks, (
        "the other requests must check the queue again soon"
    )
    assert all(wake.wait <= module.LOOK_AGAIN for wake in wakes)


def test_a_turn_begins_before_the_call_of_the_frontier(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """The time that the frontier takes to write the lease is part of a request's lateness."""
    scheduler = FrontierScheduler(desk.crawler)
    scheduler.slot = SimpleNamespace(inprogress=set())
    scheduler.spider = desk.crawler.spider = Spider("test")
    desk.queue(STORY.format(1), Kind.ARTICLE)
    lease = desk.context.frontier.lease

    def slow(*arguments: Any, **more: Any) -> list[Lease]:
        leases = lease(*arguments, **more)
        desk.clock.now += 0.5
        return leases

    monkeypatch.setattr(desk.context.frontier, "lease", slow)
    scheduler._begin()
    scheduler._lease()
    (request,) = scheduler._ready
    assert request.meta[TURN_KEY].at == desk.clock() - 0.5


@pytest.mark.parametrize(
    ("crawl_delay", "paces"), [(None, [60.0, 60.0]), (0.0, [60.0, 0.05]), (5.0, [60.0, 5.0])]
)
def test_a_lower_delay_is_used_during_the_crawl(
    make_desk: Callable[..., Desk], crawl_delay: float | None, paces: list[float]
) -> None:
    """The new delay is not used before robots.txt was read, because that may have a Crawl-delay."""
    desk = make_desk({"news.test": "domain: news.test\ndelay: 60\n"})
    politeness, rule = desk.crawl.politeness, desk.context.rules.get("news.test")
    assert rule is not None
    politeness.introduce("news.test", rule)
    if crawl_delay is not None:
        politeness.set_pace("news.test", rule, crawl_delay)
    seen = [pace(desk)]
    desk.crawl.take_rules(RuleSet([replace(rule, delay=0.05)], desk.context.rules.defaults))
    seen.append(pace(desk))
    assert seen == paces
    politeness.set_pace("news.test", desk.context.rule_for("https://news.test/"), crawl_delay or 0.0)
    assert pace(desk) == max(0.05, crawl_delay or 0.0)


def pace(desk: Desk) -> float:
    host = desk.context.frontier.host("news.test")
    assert host is not None
    return host.delay


def test_a_page_in_flight_that_is_leased_again_continues_with_the_new_lease(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a suspend that is longer than the lease, the worker may lease its own page."""
    scheduler = FrontierScheduler(desk.crawler)
    scheduler.slot = SimpleNamespace(inprogress=set())
    scheduler.spider = desk.crawler.spider = Spider("test")
    scheduler._begin()
    monkeypatch.setattr(scheduler, "_wake_later", lambda: None)
    monkeypatch.setattr(scheduler, "_settling", object())
    desk.queue(STORY.format(1), Kind.ARTICLE)
    request = scheduler.next_request()
    assert request is not None
    scheduler.slot.inprogress.add(request)
    visit = request.meta[META_KEY]
    first = visit.lease
    desk.clock.now += scheduler.lease_seconds + 1
    scheduler._work()
    assert not scheduler._ready
    assert visit.lease.token != first.token
    scheduler.slot.inprogress.clear()
    scheduler._finished(request)
    assert scheduler._slots.accepting(None) is None, "the slot is free again"
    assert desk.context.frontier.ack(visit.lease, next_due=None)
