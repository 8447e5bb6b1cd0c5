"""Other addresses of a page: known afterwards, so that they cost no download."""

from __future__ import annotations

import pytest

from newsbot.crawl.completion import settle
from newsbot.crawl.links.aliases import alias_of, is_taken
from newsbot.items import Kind
from newsbot.urls import fingerprint
from tests.builders import START

STORY = "https://news.test/story/1"
OTHER = "https://news.test/story/2"
KEY = fingerprint(OTHER)


def end(desk, visit, **page):
    visit.outcome.status = 200
    visit.page.update(page)
    settle(desk.state, visit)


def known(desk, url):
    return desk.state.frontier.known([fingerprint(url)]).get(fingerprint(url))


def test_an_alias_says_whose_it_is(desk):
    visit = desk.visit(STORY, depth=3)
    alias = alias_of(visit, "http://www.news.test/story/2", KEY, START)
    assert (alias.url, alias.fingerprint, alias.host) == (
        "http://www.news.test/story/2",
        KEY,
        "www.news.test",
    )
    assert (alias.kind, alias.depth) == (Kind.ARTICLE, 3)
    assert (alias.data["source"], alias.data["referrer"]) == ("news.test", STORY)
    assert alias.data["where"] == "redirect"


def test_unknown_and_waiting_pages_are_not_taken(desk):
    assert not is_taken(desk.state, KEY)
    desk.queue(OTHER)
    assert not is_taken(desk.state, KEY)


def test_a_page_under_way_and_a_fetched_one_are_taken(desk):
    visit = desk.visit(OTHER)
    assert is_taken(desk.state, KEY)
    end(desk, visit)
    assert is_taken(desk.state, KEY)


def test_an_address_only_marked_is_not_taken_for_its_visit_may_have_died(desk):
    visit = desk.visit(STORY)
    desk.state.frontier.mark_done([alias_of(visit, OTHER, KEY, START)], None)
    assert not is_taken(desk.state, KEY)


@pytest.mark.parametrize("how", ["redirect", "canonical"])
def test_the_other_address_of_a_visited_page_is_taken(desk, how):
    visit = desk.visit(STORY)
    if how == "redirect":
        visit.outcome.redirected_to = OTHER
        end(desk, visit)
    else:
        end(desk, visit, canonical_url=OTHER)
    assert is_taken(desk.state, KEY)
    [record] = desk.state.storage.pages.get([KEY]).values()
    assert (record.state, record.referrers) == ("done", [STORY])


TITLE = "A bridge over the river was opened"


@pytest.mark.parametrize(
    ("listed_as", "state"),
    [
        (TITLE, "done"),
        (None, "pending"),
        ("Bridge", "pending"),
        ("A ferry sank at night near the coast", "pending"),
    ],
)
def test_a_waiting_page_waits_no_more_where_its_headline_says_that_it_is_the_same(desk, listed_as, state):
    desk.queue(OTHER, text=listed_as)
    end(desk, desk.visit(STORY), canonical_url=OTHER, title=TITLE)
    assert known(desk, OTHER).state == state


@pytest.mark.parametrize(("claims", "state"), [((True,) * 3, "done"), ((True, True, True, False), "pending")])
def test_a_waiting_page_waits_no_more_where_the_sites_word_is_good(desk, claims, state):
    for number, claim in enumerate(claims):
        page = f"https://news.test/{number}"
        desk.state.site_claims.saw(desk.state.notes, "news.test", page, right=claim)
    desk.queue(OTHER)
    end(desk, desk.visit(STORY), canonical_url=OTHER, title=TITLE)
    assert known(desk, OTHER).state == state


def test_an_address_that_a_person_asked_for_is_read_whatever_names_it(desk):
    desk.queue(OTHER, text=TITLE, force=True)
    end(desk, desk.visit(STORY), canonical_url=OTHER, title=TITLE)
    assert known(desk, OTHER).state == "pending"


def test_a_form_of_the_address_waits_no_more(desk):
    desk.queue(STORY)
    end(desk, desk.visit(STORY + "/amp"), canonical_url=STORY, title=TITLE)
    assert known(desk, STORY).state == "done"


def test_a_front_page_is_not_replaced_by_a_page_that_calls_it_canonical(desk):
    desk.queue("https://news.test/", Kind.SECTION)
    end(desk, desk.visit(STORY), canonical_url="https://news.test/")
    assert known(desk, "https://news.test/").state == "pending"


def test_a_page_that_is_its_own_canonical_address_gets_no_alias(desk):
    end(desk, desk.visit(STORY), canonical_url=STORY + "?utm_source=x")
    counts = desk.state.frontier.counts()
    assert (counts["done"], counts["pending"], counts["leased"]) == (1, 0, 0)


def test_the_record_of_a_fetched_page_is_not_overwritten(desk):
    end(desk, desk.visit(OTHER), etag='"mine"')
    end(desk, desk.visit(STORY), canonical_url=OTHER)
    [record] = desk.state.storage.pages.get([KEY]).values()
    assert (record.etag, record.checks) == ('"mine"', 1)
