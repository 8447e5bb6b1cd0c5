"""Items of feeds whose headline the site has listed under another address."""

from __future__ import annotations

import pytest

from newsbot.headlines import LAST, Headlines
from newsbot.intake import queue_found
from newsbot.items import Kind, Where
from newsbot.urls import fingerprint
from tests.test_intake import FEED, HEADLINE, entry, found, story


@pytest.fixture
def desk(desk):
    """A desk whose visit is on a feed."""
    desk.feed = desk.visit(FEED, Kind.FEED, where=Where.SEED, depth=0)
    return desk


def listed(desk, *urls, **more):
    found_links = found(*urls, where=Where.FEED, kind=Kind.ARTICLE, referrer=FEED, **more)
    queue_found(desk.state, found_links, desk.feed)


def test_a_known_headline_under_another_address_is_marked_and_comes_last(desk):
    listed(desk, story(1))
    listed(desk, story(1), story(2))
    assert entry(desk, story(1)).priority > 40
    later = entry(desk, story(2))
    assert later.priority == LAST
    assert later.data["why"] == f"same headline as {story(1)}"
    assert desk.stat("links/same_headline") == 1
    assert desk.state.storage.pages([fingerprint(story(2))])[fingerprint(story(2))].history[0]["why"] == (
        f"same headline as {story(1)}"
    )


def test_what_a_person_asks_for_is_not_put_last(desk):
    listed(desk, story(1))
    listed(desk, story(2), force=True)
    assert entry(desk, story(2)).priority > 40


def test_headlines_of_other_places_and_short_ones_say_nothing(desk):
    headlines = Headlines()
    listed(desk, story(1))
    listed_entry = entry(desk, story(1))
    for changes in (
        {"where": Where.BODY.value},
        {"title": "News in brief"},
        {"title": ""},
    ):
        other = type(listed_entry)(
            url=story(2),
            fingerprint=fingerprint(story(2)),
            host=listed_entry.host,
            kind=Kind.ARTICLE,
            priority=50.0,
            data=listed_entry.data | changes,
        )
        headlines.weigh(listed_entry)
        assert headlines.weigh(other) is other


def test_headlines_of_two_sites_are_two(desk):
    headlines = Headlines()
    listed(desk, story(1))
    one = entry(desk, story(1))
    assert headlines.weigh(one) is one
    elsewhere = type(one)(
        url="https://other.test/1",
        fingerprint=fingerprint("https://other.test/1"),
        host="other.test",
        kind=Kind.ARTICLE,
        priority=50.0,
        data=one.data | {"source": "other.test", "title": HEADLINE},
    )
    assert headlines.weigh(elsewhere) is elsewhere


def test_the_memory_is_bounded_and_what_is_listed_stays(desk):
    headlines = Headlines(most=10)
    listed(desk, story(1))
    first = entry(desk, story(1))
    headlines.weigh(first)
    for number in range(50):
        headlines.weigh(
            type(first)(
                url=story(number + 10),
                fingerprint=fingerprint(story(number + 10)),
                host=first.host,
                kind=Kind.ARTICLE,
                data=first.data | {"title": f"{HEADLINE} number {number}"},
            )
        )
        headlines.weigh(first)
    assert len(headlines._first) == 10
    moved = type(first)(
        url=story(2), fingerprint=fingerprint(story(2)), host=first.host, kind=Kind.ARTICLE, data=first.data
    )
    assert headlines.weigh(moved).priority == LAST
