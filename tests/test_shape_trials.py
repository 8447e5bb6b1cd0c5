"""Links with URLs of a doubtful shape: a few are tried, the others wait and are judged again."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from scrapy import Spider

from newsbot.crawl import scheduler as module
from newsbot.crawl.scheduler import FrontierScheduler
from newsbot.crawl.visit import Found
from newsbot.errors import DataUnavailable
from newsbot.frontier.base import Lease
from newsbot.items import EventKind, Kind, Link, Reason, Where
from newsbot.urls import canonicalize, fingerprint

HOST = "https://news.test"
HOME = f"{HOST}/politics/"


def look_alike(number: int) -> str:
    return f"{HOST}/gallery/ten-best-pictures-of-the-week-{number}"


def story(number: int) -> str:
    return f"{HOST}/news/the-council-met-and-talked-about-it-{number}.html"


def show(desk, *urls, where=Where.BODY, kind=Kind.SECTION):
    """Visit a page with these links."""
    visit = desk.visit(HOME if kind is Kind.SECTION else f"{HOST}/feed.xml", kind)
    links = tuple(Link(url=url, where=where, text="The ten best of all that was to see") for url in urls)
    visit.found.append(Found(links=links, referrer=visit.url, depth=1))
    desk.settle(visit)


def queued(desk, urls):
    keys = [fingerprint(canonicalize(url)) for url in urls]
    known = desk.context.frontier.known(keys)
    return [url for url, key in zip(urls, keys, strict=True) if key in known]


def turn_out(desk, url, *, article):
    """Visit a page; ``article``: whether it turns out to be an article."""
    visit = desk.begin(leased(desk, url))
    visit.outcome.status, visit.outcome.is_article = 200, article
    desk.settle(visit)


def leased(desk, url) -> Lease:
    desk.clock.now += 60
    leases = desk.context.frontier.lease("me", 50, horizon=desk.clock.now, ttl=60)
    wanted = [one for one in leases if one.entry.url == url]
    for one in leases:
        if one not in wanted:
            desk.context.frontier.nack(one, delay=0.0, counted=False)
    return wanted[0] if wanted else leased(desk, url)


def test_two_links_of_a_shape_are_tried_on_a_site_without_sources(make_desk):
    desk, urls = make_desk({"news.test": "domain: news.test\n"}), [look_alike(number) for number in range(30)]
    show(desk, *urls)
    tried = queued(desk, urls)
    assert len(tried) == 2
    for url in tried:
        turn_out(desk, url, article=False)
    desk.clock.now += 60
    assert queued(desk, urls) == tried
    show(desk, *(look_alike(number) for number in range(30, 60)))
    assert queued(desk, [look_alike(number) for number in range(30, 60)]) == []
    assert desk.stat("links/rejected/failed_shape") == 30


def test_an_article_page_releases_the_waiting_links_of_its_shape(make_desk):
    desk, urls = make_desk({"news.test": "domain: news.test\n"}), [look_alike(number) for number in range(30)]
    show(desk, *urls)
    turn_out(desk, queued(desk, urls)[0], article=True)
    assert queued(desk, urls) == urls


def test_shapes_of_feed_links_are_fetched_and_other_shapes_are_tried_last(make_desk):
    desk = make_desk({"news.test": "domain: news.test\n"})
    show(desk, *(story(number) for number in range(5)), where=Where.FEED, kind=Kind.FEED)
    others, more = [look_alike(number) for number in range(9)], [story(number) for number in range(5, 9)]
    show(desk, *others, *more)
    assert queued(desk, more) == more
    [tried] = queued(desk, others)
    entry = desk.context.frontier.entry(fingerprint(canonicalize(tried)))
    assert entry.priority < 10


def test_a_queued_link_is_judged_again_and_the_reason_is_stored(make_desk):
    desk = make_desk({"news.test": "domain: news.test\n"})
    desk.queue(look_alike(7), where=Where.BODY, why=Reason.LIKELY_ARTICLE.value)
    for number in range(2):
        desk.crawl.sites.url_learning.fetched(
            desk.context.rule_for(HOST), look_alike(number), article=False, why="likely_article"
        )
    lease = leased(desk, look_alike(7))
    assert desk.crawl.trials.left(lease) == Reason.FAILED_SHAPE
    desk.crawl.trials.leave(lease, Reason.FAILED_SHAPE)
    [page] = desk.context.storage.pages.get([lease.entry.fingerprint]).values()
    assert page.last(EventKind.LEFT)["reason"] == "failed_shape"
    assert desk.context.frontier.counts()["pending"] == 0


def test_a_doubtful_link_is_queued_again_when_its_shape_is_proven(make_desk):
    desk, urls = make_desk({"news.test": "domain: news.test\n"}), [look_alike(number) for number in range(3)]
    show(desk, *urls)
    desk.queue(look_alike(7), where=Where.BODY, why=Reason.LIKELY_ARTICLE.value)
    lease = leased(desk, look_alike(7))
    assert desk.crawl.trials.left(lease) == Reason.DOUBTFUL_SHAPE
    desk.crawl.trials.leave(lease, Reason.DOUBTFUL_SHAPE)
    key = lease.entry.fingerprint
    assert desk.context.frontier.known([key])[key].state == "done"
    turn_out(desk, queued(desk, urls)[0], article=True)
    assert desk.context.frontier.known([key])[key].state == "pending"


def test_links_of_a_section_that_names_a_fetched_feed_are_not_held_back(make_desk):
    desk = make_desk({"news.test": "domain: news.test\n"})
    show(desk, *(story(number) for number in range(5)), where=Where.FEED, kind=Kind.FEED)
    visit = desk.visit(HOME, Kind.SECTION)
    links = (
        Link(url=f"{HOST}/feed.xml", where=Where.AUTODISCOVERY, kind=Kind.FEED),
        Link(url=look_alike(1), where=Where.BODY, text="The ten best of all that was to see"),
    )
    visit.found.append(Found(links=links, referrer=visit.url, depth=1))
    desk.settle(visit)
    assert queued(desk, [look_alike(1)]) == [look_alike(1)]


def test_a_feed_fetched_by_another_worker_releases_waiting_links(make_desk):
    desk = make_desk({"news.test": "domain: news.test\n"})
    visit = desk.visit(HOME, Kind.SECTION)
    links = (
        Link(url=f"{HOST}/feed.xml", where=Where.AUTODISCOVERY, kind=Kind.FEED),
        Link(url=look_alike(1), where=Where.BODY, text="The ten best of all that was to see"),
    )
    visit.found.append(Found(links=links, referrer=visit.url, depth=1))
    desk.settle(visit)
    assert queued(desk, [look_alike(1)]) == []
    desk.context.frontier.ack(leased(desk, f"{HOST}/feed.xml"), next_due=None)
    desk.settle(desk.visit(f"{HOST}/sport/", Kind.SECTION))
    assert queued(desk, [look_alike(1)]) == [look_alike(1)]


@pytest.mark.usefixtures("no_event_loop")
def test_other_leases_are_kept_if_data_is_unreachable_when_a_link_is_dropped(make_desk, monkeypatch):
    desk = make_desk({"news.test": "domain: news.test\n"})
    scheduler = FrontierScheduler(desk.crawler)
    scheduler.slot = SimpleNamespace(inprogress=set())
    scheduler.spider = desk.crawler.spider = Spider("test")
    scheduler._begin()
    desk.context.frontier.set_politeness("news.test", delay=0.0, concurrency=8)
    leave, faults = desk.crawl.trials.leave, [DataUnavailable("away")]

    def left(lease):
        return Reason.FAILED_SHAPE if "gallery" in lease.entry.url else None

    def away(lease, reason):
        if faults:
            raise faults.pop()
        leave(lease, reason)

    monkeypatch.setattr(desk.crawl.trials, "left", left)
    monkeypatch.setattr(desk.crawl.trials, "leave", away)
    for url in (story(1), look_alike(1), story(2)):
        desk.queue(url, Kind.ARTICLE)
    monkeypatch.setattr(module, "call_later", lambda wait, function: SimpleNamespace(cancel=lambda: None))
    requests = [scheduler.next_request() for _ in range(6)]
    assert {one.url for one in requests if one is not None} == {story(1), story(2)}
    assert not faults
    assert desk.stat("left/failed_shape") == 1


def test_unlisted_links_like_articles_are_given_up_and_listed_links_are_fetched(make_desk):
    desk = make_desk({"news.test": "domain: news.test\n"})
    show(desk, *(story(number) for number in range(5)), where=Where.FEED, kind=Kind.FEED)
    offers = [f"{HOST}/news/the-best-offer-of-this-very-day-{number}.html" for number in range(30)]
    show(desk, *offers)
    for url in offers[:5]:
        turn_out(desk, url, article=False)
    assert desk.crawl.trials.left(leased(desk, offers[5])) == Reason.FAILED_SHAPE
    assert desk.crawl.trials.left(leased(desk, story(1))) is None
