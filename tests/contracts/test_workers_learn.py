"""Several workers learn about one site and its health. Each storage keeps the results of all workers."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from newsbot.items import Link, Where
from newsbot.pages.rules.learn import MAX_KEPT, MIN_FETCHED
from newsbot.pages.rules.rule import Rule
from newsbot.ranking.url_learning import NOTE_KIND, UrlLearning, kept
from newsbot.sites.health import NOTE_KIND as HEALTH
from newsbot.sites.health import WINDOW, SiteHealth, pages_from
from newsbot.storage.base import Storage
from newsbot.storage.notes import Notes
from tests.contracts.storage_backends import Place

SITE = "https://site.example"
RULE = Rule(domain="site.example")


@pytest.fixture
def workers(place: Place) -> Iterator[list[Notes]]:
    opened: list[Storage] = [place.open() for _ in range(3)]
    yield [storage.notes for storage in opened]
    for storage in opened:
        storage.close()


def lessons_of(storage: Notes) -> UrlLearning:
    lessons = UrlLearning()
    lessons.storage = storage
    return lessons


def plain(lessons: UrlLearning) -> dict[str, Any]:
    rule = lessons.rule(RULE)
    assert rule is not None
    return rule.plain()


def links(first: int, number: int) -> list[Link]:
    feed = [
        Link(url=f"{SITE}/p/q{n}x7", where=Where.FEED, text="A title") for n in range(first, first + number)
    ]
    menu = [
        Link(url=f"{SITE}/{chr(97 + n % 26)}{n}", where=Where.NAVIGATION, text="Menu")
        for n in range(first, first + number)
    ]
    return feed + menu


def test_each_worker_writes_what_all_have_learned(workers: list[Notes]) -> None:
    crawls = [lessons_of(notes) for notes in workers]
    for turn in range(4):
        for place, lessons in enumerate(crawls):
            lessons.heard(RULE, links(100 * place + 5 * turn, 5))
            lessons.write()
    examples, rule = kept(workers[0], "site.example")
    assert len(examples.articles) == len(examples.others) == 60
    assert rule is not None
    learned = rule.plain()
    for lessons in crawls:
        lessons.heard(RULE, links(0, 1))
        lessons.write()
        assert plain(lessons) == learned, "all workers use the same rule"


def test_concurrent_writes_lose_no_data(place: Place) -> None:
    def work(first: int) -> None:
        storage = place.open()
        lessons = lessons_of(storage.notes)
        for turn in range(10):
            lessons.heard(RULE, links(first + 5 * turn, 5))
            lessons.write()
        for _ in range(100):
            lessons.write()  # writes results that lost a race before, if there are any
        storage.close()

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(work, (0, 100, 200)))
    storage = place.open()
    examples, _ = kept(storage.notes, "site.example")
    assert len(examples.articles) == 150
    storage.close()


def test_a_form_that_one_worker_gives_up_is_not_restored_by_others(workers: list[Notes]) -> None:
    one, two, _ = (lessons_of(notes) for notes in workers)
    for lessons in (one, two):
        lessons.heard(RULE, links(0, 30))
        lessons.write()
    one.heard(RULE, links(0, 1))
    one.write()
    assert plain(one) == plain(two)
    for n in range(MIN_FETCHED):
        one.fetched(RULE, f"{SITE}/p/q{500 + n}x7", article=False)
    one.write()
    learned = workers[0].all(NOTE_KIND + "site.example")["examples"]
    assert learned["given_up"]
    assert learned["articles"] == []
    two.heard(RULE, links(900, 1)[1:])
    two.write()
    assert workers[0].all(NOTE_KIND + "site.example")["examples"]["articles"] == []
    news = [Link(url=f"{SITE}/n/{n}0000/new-form-of-address", where=Where.FEED) for n in range(20)]
    two.heard(RULE, news)
    two.write()
    rule = two.rule(RULE)
    assert rule is not None
    assert rule.is_article(f"{SITE}/n/990000/new-form-of-address")
    assert not rule.is_article(f"{SITE}/p/q99x7")


def test_the_longest_urls_fit_into_a_note(workers: list[Notes]) -> None:
    lessons = lessons_of(workers[0])
    for n in range(MAX_KEPT):
        lessons.heard(RULE, [Link(url=f"{SITE}/{n}/" + "x" * 170, where=Where.FEED)])
    lessons.heard(RULE, links(0, 1)[1:])
    lessons.write()
    examples, _ = kept(workers[0], "site.example")
    assert 100 < len(examples.articles) < MAX_KEPT
    assert len(examples.others) == 1


def test_the_health_of_a_site_counts_the_pages_of_all_workers(workers: list[Notes]) -> None:
    watches = [SiteHealth() for _ in workers]
    for turn in range(10):
        for place, watch in enumerate(watches):
            for reason in ("", "http_404"):
                watch.saw(workers[place], "site.example", reason)
            if turn % 2:
                watch.write(workers[place])
    pages = pages_from(workers[0].all(HEALTH)["site.example"])
    assert (len(pages.lately), pages.pages + len(pages.lately)) == (WINDOW, 60)
    assert pages.articles + pages.lately.count("") == 30
