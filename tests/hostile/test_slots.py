"""Hosts that never answer take only a few slots, even if there are many of them."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import replace

import pytest

from newsbot.crawl.politeness import BUSY, SLOW, SMALLEST, Slots
from newsbot.frontier.base import Entry, Lease
from newsbot.items import Kind
from newsbot.urls import fingerprint
from testbed.messages import Answer, Request
from testbed.mockserver import MockServer
from tests.builders import ManualClock
from tests.crawls import World, feed_xml
from tests.newssite import XML, serve

TOTAL = 32


def lease(host: str, path: str = "/a", *, by: str = "lister.test") -> Lease:
    url = f"http://{host}{path}"
    entry = Entry(
        url=url,
        fingerprint=fingerprint(url),
        host=host,
        kind=Kind.ARTICLE,
        data={"source": host, "referrer": f"http://{by}/feed"},
    )
    return Lease(entry=entry, owner="o", token=url, deadline=0.0, attempts=0)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def slots(clock: ManualClock) -> Slots:
    return Slots(TOTAL, clock)


@pytest.mark.parametrize("form", ["s{}.silent.test", "silent{}.test"])
def test_silent_hosts_of_one_domain_or_page_get_few_slots_and_then_fewer(
    slots: Slots, clock: ManualClock, form: str
) -> None:
    taken = [one for n in range(100) if slots.take(one := lease(form.format(n)))]
    assert len(taken) == TOTAL // 4
    clock.now += SLOW
    for one in taken:
        slots.end(one, answered=False)
    assert sum(slots.take(lease(form.format(n))) for n in range(100)) == SMALLEST
    accept = slots.accepting(None)
    assert accept is not None
    assert not accept(form.format(50))
    assert accept("honest.test")


def test_quick_answers_earn_slots(slots: Slots) -> None:
    for _ in range(TOTAL):
        one = lease("honest.test", by="honest.test")
        assert slots.take(one)
        slots.end(one, answered=True)
    flying = [lease("honest.test", f"/{n}", by="honest.test") for n in range(TOTAL + 1)]
    assert [slots.take(one) for one in flying] == [True] * TOTAL + [False]


def test_an_entry_that_is_leased_again_has_one_slot(slots: Slots) -> None:
    """After a suspend, a lease may expire while its page is being fetched."""
    for number in range(TOTAL):
        assert slots.take(replace(lease("honest.test"), token=str(number)))
    slots.end(lease("honest.test"), answered=True)
    assert slots.accepting(None) is None, "no slot is in use"


def test_leases_of_one_call_share_a_token_and_all_their_slots_come_back(slots: Slots) -> None:
    for _ in range(TOTAL):
        flying = [replace(lease(f"{n}.one.test"), token="of one call in Redis") for n in range(SMALLEST)]
        assert all(slots.take(one) for one in flying)
        for one in flying:
            slots.end(one, answered=True)
    assert slots.accepting(None) is None


def test_one_call_takes_no_more_hosts_of_a_domain_than_there_is_room_for(slots: Slots) -> None:
    assert not all(slots.take(lease("full.test", f"/{n}", by="full.test")) for n in range(TOTAL))
    assert slots.take(lease("a.wide.test", by="wide.test"))
    accept = slots.accepting(lambda host: host != "b.wide.test")
    assert accept is not None
    taken = [host for host in "abcdefghij" if accept(f"{host}.wide.test")]
    assert taken == list("acdefgh")


def test_links_of_strangers_get_few_slots_while_the_worker_is_busy(slots: Slots) -> None:
    def fly(path: str) -> Lease:
        one = lease("elsewhere.test", path, by="elsewhere.test")
        one.entry.data["given_by"] = "gossip.test"
        return one

    for busy, most in ((BUSY, SMALLEST), (0.0, TOTAL // 4)):
        for number in range(TOTAL):
            one = fly(f"/{number}")
            assert slots.take(one)
            slots.end(one, answered=True, busy=busy)
        flying = [one for number in range(TOTAL) if slots.take(one := fly(f"/{number}"))]
        assert len(flying) == most
        for one in flying:
            slots.end(one, answered=True)


def test_hosts_of_strangers_do_not_fill_a_call_while_their_group_is_full(slots: Slots) -> None:
    def fly(host: str, *, ruled: bool = False) -> Lease:
        one = lease(host, by=host)
        one.entry.data["given_by"] = "gossip.test"
        one.entry.data["ruled"] = ruled
        return one

    flying = [one for number in range(TOTAL) if slots.take(one := fly(f"s{number}.test"))]
    assert not slots.take(fly("ruled.test", ruled=True))
    slots.end(flying[0], answered=True)
    accept = slots.accepting(None)
    assert accept is not None
    hosts = ("s20.test", "s21.test", "ruled.test", "own.test")
    assert [host for host in hosts if accept(host)] == ["s20.test", "ruled.test", "own.test"]


def test_an_honest_site_is_read_beside_hundreds_of_silent_hosts(site: MockServer, world: World) -> None:
    number = 40
    silent = [f"http://s{n}.silent.test/a" for n in range(200)]
    silent += [f"http://silent{n}.test/a" for n in range(200)]
    for url in silent:
        site.page(url.removesuffix("a") + "robots.txt", lambda _: Answer(delay=600.0))
    site.page("http://lister.test/feed.xml", feed_xml(silent), headers=XML)
    world.rule("lister.test", "domain: lister.test\nfeeds: http://lister.test/feed.xml\n")
    serve(site, world, number, host="victim.test")
    process = world.start()
    try:
        end = time.monotonic() + 90
        while len([path for path in site.seen("victim.test") if path.startswith("/story/")]) < number:
            assert time.monotonic() < end, "the silent hosts take all slots"
            time.sleep(0.1)
    finally:
        process.kill()
        process.communicate()


def busy(_: Request) -> Answer:
    return Answer(status=503)


def limited(_: Request) -> Answer:
    return Answer(status=429, headers={"Retry-After": "3600"})


def broken(_: Request) -> Answer:
    return Answer(hang_up=True)


FAULTS = {"busy.test": busy, "limited.test": limited, "broken.test": broken}


def test_addresses_chosen_for_their_faults_do_not_make_a_site_rest(site: MockServer, world: World) -> None:
    """Another site lists these URLs before the site's own feed is read."""
    number, chosen = 6, []
    for place, (host, fault) in enumerate(FAULTS.items()):
        serve(site, world, number, host=host, first=place * number)
        urls = [f"http://{host}/story/faulty-{n}" for n in range(30)]
        for url in urls:
            site.page(url, fault)
        chosen += urls
    site.page("http://lister.test/feed.xml", feed_xml(chosen), headers=XML)
    world.rule("lister.test", "domain: lister.test\nfeeds: http://lister.test/feed.xml\n")
    assert world.crawl("-a", "sites=lister.test").code == 0
    crawls = [world.start("-a", f"sites={name}", "-s", "CLOSESPIDER_TIMEOUT=30") for name in FAULTS]
    for crawl in crawls:  # at the same time, because refused URLs are tried again after a while
        _, err = crawl.communicate(timeout=120)
        assert crawl.returncode == 0, err
    found = Counter(article.source for article in world.articles())
    assert found == dict.fromkeys(FAULTS, number)
