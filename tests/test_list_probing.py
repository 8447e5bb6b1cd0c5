"""Lists of one shape are tried one at a time, and only while they yield."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from newsbot.discovery import list_probing as trials
from newsbot.discovery.list_probing import BARREN_ENOUGH, MAX_HELD, ListTrials, belongs_to, narrows, shape_of


def day(number, site="a.test"):
    return f"https://{site}/archive/2026/{number:02}"


def test_one_list_of_a_shape_is_tried_at_a_time():
    lists = ListTrials()
    assert lists.may_try("a.test", day(1))
    assert not lists.may_try("a.test", day(2))
    assert lists.may_try("a.test", day(1))  # the same page met again
    assert lists.may_try("a.test", "https://a.test/tags/7")  # another shape
    assert lists.may_try("b.test", day(1, "b.test"))


def test_a_fruitful_list_opens_its_shape_for_good():
    lists = ListTrials()
    lists.may_try("a.test", day(1))
    lists.tell("a.test", day(1), fruitful=True)
    for number in range(2, 6):
        assert lists.may_try("a.test", day(number))
        lists.tell("a.test", day(number), fruitful=False)
    assert lists.may_try("a.test", day(9))
    assert lists.may_try("a.test", day(10))


def test_barren_lists_close_their_shape():
    lists = ListTrials()
    for number in range(BARREN_ENOUGH):
        assert lists.may_try("a.test", day(number))
        lists.tell("a.test", day(number), fruitful=False)
    assert not lists.may_try("a.test", day(9))
    assert lists.may_try("b.test", day(9))


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), max_size=40))
def test_a_shape_without_fruit_never_costs_more_than_its_trials(history):
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


def test_what_is_known_of_a_shape_is_not_forgotten_for_a_second_look(monkeypatch):
    monkeypatch.setattr(trials, "MAX_SHAPES", 1)
    lists = ListTrials()
    lists.may_try("a.test", day(1))
    assert not lists.may_try("a.test", day(2))


@pytest.mark.parametrize(
    ("url", "page", "belongs"),
    [
        ("https://a.test/politics?page=2", "https://a.test/politics", True),
        ("https://a.test/politics/page/2", "https://www.a.test/politics/", True),
        ("http://a.test/politics/page/3", "https://a.test/politics/page/2", True),
        ("https://a.test/politics/2", "https://a.test/politics", True),
        ("https://a.test/politics?page=3", "https://a.test/politics?page=2", True),
        ("https://a.test/politics?tag=x&page=2", "https://a.test/politics?tag=x", True),
        ("https://a.test/sport?page=2", "https://a.test/politics", False),
        ("https://a.test/politics?tag=y&page=2", "https://a.test/politics?tag=x", False),
        ("https://b.test/politics?page=2", "https://a.test/politics", False),
        ("https://a.test/politics?page=2", "", False),
    ],
)
def test_further_pages_of_a_list_differ_in_the_page_number_only(url, page, belongs):
    assert belongs_to(url, page) is belongs


@pytest.mark.parametrize(
    ("url", "shape"),
    [
        ("https://a.test/2026/11/20", "#/#/#"),
        ("https://b.test/2025/01/02", "#/#/#"),
        ("https://a.test/list?day=12&tag=x", "list?day=#&tag=x"),
        ("https://a.test", ""),
    ],
)
def test_the_shape_is_path_and_query_with_numbers_blotted_out(url, shape):
    assert shape_of(url) == shape


@given(st.text(max_size=60), st.text(max_size=60))
def test_no_text_is_too_strange(one, other):
    assert isinstance(belongs_to(one, other), bool)
    assert not any(map(str.isdecimal, shape_of("https://a.test/" + one)))


def test_what_waits_for_a_trial_is_released_with_the_lists_above_it():
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


def test_no_more_lists_wait_than_a_page_may_name():
    lists = ListTrials()
    lists.may_try("site.example", "https://site.example/day/0")
    for number in range(3 * MAX_HELD):
        lists.hold("site.example", f"https://site.example/day/{number}", number)
    lists.tell("site.example", "https://site.example/day/0", fruitful=True)
    assert len(lists.released("site.example", "https://site.example/day/0")) == MAX_HELD


def test_lists_below_a_list_narrow_it():
    assert narrows("https://site.example/archive/2024/05/", "https://site.example/archive/2024/")
    assert not narrows("https://site.example/archive/2025/", "https://site.example/archive/2024/")
    assert not narrows("https://site.example/archive/2024/?page=2", "https://site.example/archive/2024/")
