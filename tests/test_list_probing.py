"""Lists of one shape are tried one at a time, as long as they lead to articles."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from newsbot.pages.discovery import list_pages as trials
from newsbot.pages.discovery.list_pages import (
    BARREN_ENOUGH,
    KNOWN_ENOUGH,
    MAX_HELD,
    MAX_STALE,
    OLD_ENOUGH,
    ListTrials,
    ListWalks,
    narrows,
    shape_of,
)


def day(number, site="a.test"):
    return f"https://{site}/archive/2026/{number:02}"


def test_one_list_of_a_shape_is_tried_at_a_time():
    lists = ListTrials()
    assert lists.may_try("a.test", day(1))
    assert not lists.may_try("a.test", day(2))
    assert lists.may_try("a.test", day(1))  # the same page again
    assert lists.may_try("a.test", "https://a.test/tags/7")  # another shape
    assert lists.may_try("b.test", day(1, "b.test"))


def test_a_list_with_articles_opens_its_shape_permanently():
    lists = ListTrials()
    lists.may_try("a.test", day(1))
    lists.tell("a.test", day(1), fruitful=True)
    for number in range(2, 6):
        assert lists.may_try("a.test", day(number))
        lists.tell("a.test", day(number), fruitful=False)
    assert lists.may_try("a.test", day(9))
    assert lists.may_try("a.test", day(10))


def test_lists_without_articles_close_their_shape():
    lists = ListTrials()
    for number in range(BARREN_ENOUGH):
        assert lists.may_try("a.test", day(number))
        lists.tell("a.test", day(number), fruitful=False)
    assert not lists.may_try("a.test", day(9))
    assert lists.may_try("b.test", day(9))


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), max_size=40))
def test_a_shape_without_articles_never_costs_more_than_its_trials(history):
    lists, tried, under_trial = ListTrials(), [], None
    for number, ends in history:
        url = day(number)
        if lists.may_try("a.test", url):
            assert under_trial in (None, url)
            under_trial = url
        if ends and under_trial is not None:
            lists.tell("a.test", under_trial, fruitful=False)
            tried.append(under_trial)
            under_trial = None
    assert len(tried) <= BARREN_ENOUGH


@given(st.lists(st.tuples(st.sampled_from("ab"), st.text(max_size=8)), max_size=60))
def test_memory_is_bounded(pairs):
    lists = ListTrials()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trials, "MAX_SHAPES", 5)
        for domain, path in pairs:
            lists.may_try(domain, f"https://{domain}.test/{path}")
            lists.tell(domain, f"https://{domain}.test/{path}", fruitful=True)
            assert len(lists._trials) <= 5
            assert lists.may_try(domain, f"https://{domain}.test/{path}")


def test_a_second_link_does_not_remove_the_knowledge_about_a_shape(monkeypatch):
    monkeypatch.setattr(trials, "MAX_SHAPES", 1)
    lists = ListTrials()
    lists.may_try("a.test", day(1))
    assert not lists.may_try("a.test", day(2))


@pytest.mark.parametrize(
    ("url", "shape"),
    [
        ("https://a.test/2026/11/20", "#/#/#"),
        ("https://b.test/2025/01/02", "#/#/#"),
        ("https://a.test/list?day=12&tag=x", "list?day=#&tag=x"),
        ("https://a.test", ""),
    ],
)
def test_the_shape_is_path_and_query_with_numbers_replaced(url, shape):
    assert shape_of(url) == shape


@given(st.text(max_size=60), st.text(max_size=60))
def test_any_text_has_a_shape(one, other):
    assert isinstance(narrows(one, other), bool)
    assert not any(map(str.isdecimal, shape_of("https://a.test/" + one)))


def test_waiting_lists_are_released_with_the_lists_above_them():
    lists = ListTrials()
    day, other_day = "https://site.example/archive/2024/05/01/", "https://site.example/archive/2024/05/02/"
    month, other_month = "https://site.example/archive/2024/05/", "https://site.example/archive/2024/06/"
    for first, second in ((month, other_month), (day, other_day)):
        assert lists.may_try("site.example", first)
        assert not lists.may_try("site.example", second)
        lists.hold("site.example", second, second)
    lists.release("site.example", month)
    lists.tell("site.example", day, fruitful=True)
    assert lists.released("site.example", day) == [other_day, other_month]
    assert lists.released("site.example", day) == []
    assert lists.may_try("site.example", "https://site.example/archive/2023/01/")


def test_the_number_of_waiting_lists_is_limited():
    lists = ListTrials()
    lists.may_try("site.example", "https://site.example/day/0")
    for number in range(3 * MAX_HELD):
        lists.hold("site.example", f"https://site.example/day/{number}", number)
    lists.tell("site.example", "https://site.example/day/0", fruitful=True)
    assert len(lists.released("site.example", "https://site.example/day/0")) == MAX_HELD


def test_a_list_below_another_is_narrower():
    assert narrows("https://site.example/archive/2024/05/", "https://site.example/archive/2024/")
    assert not narrows("https://site.example/archive/2025/", "https://site.example/archive/2024/")
    assert not narrows("https://site.example/archive/2024/?page=2", "https://site.example/archive/2024/")


def test_after_lists_of_known_articles_distant_lists_are_tried_before_the_shape_is_closed():
    lists, tried = ListTrials(), [day(30)]
    assert lists.may_try("a.test", day(30))
    for number in range(29, 0, -1):
        lists.hold("a.test", day(number), day(number))
    while tried and len(tried) < 10:
        lists.tell("a.test", tried[-1], fruitful=None)
        following = lists.another("a.test", tried[-1])
        if not following:
            break
        tried += following
    assert tried == [day(30), day(1), day(15)]
    assert len(tried) == KNOWN_ENOUGH
    assert lists.is_given_up("a.test", day(7))


def keys(*numbers):
    return [bytes([number]) for number in numbers]


def page(number):
    return f"https://a.test/news?page={number}"


def test_further_pages_of_a_list_are_read_while_they_show_other_articles():
    walks = ListWalks()
    assert walks.read("a.test", page(1), None, keys(1, 2))
    assert walks.read("a.test", page(2), page(1), keys(2, 3))
    assert not walks.read("a.test", page(3), page(2), keys(1, 2, 3)), "all links were on earlier pages"
    assert not walks.read("a.test", page(9), page(8), [])


def test_reading_a_list_ends_when_other_lists_have_shown_the_same_articles():
    walks = ListWalks()
    for number in range(1, 9):
        walks.read("a.test", page(number), page(number - 1), keys(2 * number, 2 * number + 1))
    other = [
        walks.read("a.test", f"/b{n}", f"/b{n - 1}", keys(2 * n, 2 * n + 1)) for n in range(1, MAX_STALE + 1)
    ]
    assert other == [True] * (MAX_STALE - 1) + [False]
    assert walks.read("b.test", "/b1", None, keys(2, 3))


def test_a_list_is_too_old_if_it_began_newer_and_its_last_articles_are_older():
    walks = ListWalks()
    walks.read("a.test", page(1), None, keys(1))
    for day_of_year in range(50, 50 - OLD_ENOUGH, -1):
        walks.dated(page(1), day_of_year)
    assert not walks.is_older(page(1), 45)
    walks.read("a.test", page(2), page(1), keys(2))
    for _ in range(OLD_ENOUGH):
        walks.dated(page(2), 40)
    assert walks.is_older(page(2), 45)
    assert not walks.is_older(page(2), 60), "a site that rarely publishes has an old first page"
    assert not walks.is_older(page(7), 45)
