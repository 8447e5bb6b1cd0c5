"""After a visit, the other URLs of the page are known and are not downloaded."""

from __future__ import annotations

import pytest

from newsbot.crawl.entries import page_for
from newsbot.crawl.links.canonical import alias_of
from newsbot.items import Kind, Reason, read_reason
from newsbot.urls import fingerprint
from tests.builders import START, fill

STORY = "https://news.test/story/1"
OTHER = "https://news.test/story/2"
KEY = fingerprint(OTHER)


def end(desk, visit, **page):
    fill(visit, status=200)
    fill(visit, **page)
    desk.settle(visit)


def known(desk, url):
    return desk.context.frontier.known([fingerprint(url)]).get(fingerprint(url))


def test_an_alias_contains_the_data_of_its_page(desk):
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


@pytest.mark.parametrize(("why", "read"), [("claimed", True), ("alias", False)])
def test_a_canonical_url_is_fetched_when_a_list_contains_it(desk, why, read):
    visit = desk.visit(STORY)
    alias = alias_of(visit, OTHER, KEY, START)
    alias.data["why"] = why
    desk.context.frontier.mark_done([alias], None)
    page = page_for(alias, START)
    page.state = "done"
    desk.context.storage.pages.save([page])
    offered = desk.entry(OTHER)
    assert (desk.crawl.canonical.offered_by_themselves([offered]) == [offered]) is read


@pytest.mark.parametrize(
    ("stored", "reason"),
    [
        ("rule:/news/:id", (Reason.RULE, "/news/:id")),
        ("feed", ("feed", "")),
        (None, ("", "")),
    ],
)
def test_stored_reasons_are_read(stored, reason):
    assert read_reason(stored) == reason


def test_unknown_and_pending_pages_are_not_taken(desk):
    assert not desk.crawl.canonical.is_taken(KEY)
    desk.queue(OTHER)
    assert not desk.crawl.canonical.is_taken(KEY)


def test_leased_and_fetched_pages_are_taken(desk):
    visit = desk.visit(OTHER)
    assert desk.crawl.canonical.is_taken(KEY)
    end(desk, visit)
    assert desk.crawl.canonical.is_taken(KEY)


def test_a_url_marked_as_done_without_a_record_is_not_taken(desk):
    visit = desk.visit(STORY)
    desk.context.frontier.mark_done([alias_of(visit, OTHER, KEY, START)], None)
    assert not desk.crawl.canonical.is_taken(KEY)


@pytest.mark.parametrize("how", ["redirect", "canonical"])
def test_the_other_url_of_a_fetched_page_is_taken(desk, how):
    visit = desk.visit(STORY)
    if how == "redirect":
        fill(visit, redirected_to=OTHER)
        end(desk, visit)
    else:
        end(desk, visit, canonical_url=OTHER)
    assert desk.crawl.canonical.is_taken(KEY)
    [record] = desk.context.storage.pages.get([KEY]).values()
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
def test_a_pending_page_with_the_same_headline_is_not_fetched(desk, listed_as, state):
    desk.queue(OTHER, text=listed_as)
    end(desk, desk.visit(STORY), canonical_url=OTHER, title=TITLE)
    assert known(desk, OTHER).state == state


def test_a_url_requested_by_a_user_is_fetched_even_if_another_page_names_it(desk):
    desk.queue(OTHER, text=TITLE, force=True)
    end(desk, desk.visit(STORY), canonical_url=OTHER, title=TITLE)
    assert known(desk, OTHER).state == "pending"


def test_a_pending_variant_of_the_url_is_not_fetched(desk):
    desk.queue(STORY)
    end(desk, desk.visit(STORY + "/amp"), canonical_url=STORY, title=TITLE)
    assert known(desk, STORY).state == "done"


def test_a_front_page_is_not_replaced_by_a_page_that_calls_it_canonical(desk):
    desk.queue("https://news.test/", Kind.SECTION)
    end(desk, desk.visit(STORY), canonical_url="https://news.test/")
    assert known(desk, "https://news.test/").state == "pending"


def test_a_page_that_is_its_own_canonical_url_gets_no_alias(desk):
    end(desk, desk.visit(STORY), canonical_url=STORY + "?utm_source=x")
    counts = desk.context.frontier.counts()
    assert (counts["done"], counts["pending"], counts["leased"]) == (1, 0, 0)


def test_the_record_of_a_fetched_page_is_not_overwritten(desk):
    end(desk, desk.visit(OTHER), etag='"mine"')
    end(desk, desk.visit(STORY), canonical_url=OTHER)
    [record] = desk.context.storage.pages.get([KEY]).values()
    assert (record.etag, record.checks) == ('"mine"', 1)
