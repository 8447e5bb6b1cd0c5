"""How far a list is read."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from newsbot.pages.discovery.list_pages import (
    MAX_STALE,
    OLD_ENOUGH,
    ListWalks,
    above,
    narrows,
)


@given(st.text(max_size=60), st.text(max_size=60))
def test_any_text_is_accepted(one, other):
    assert isinstance(narrows(one, other), bool)
    assert all(map(one.startswith, (url.rstrip("/") for url in above(one))))


def test_the_lists_above_a_month_are_its_year_and_the_folder_of_years():
    assert list(above("https://a.test/archive/2024/05/?view=all")) == [
        "https://a.test/archive/2024",
        "https://a.test/archive/2024/",
        "https://a.test/archive",
        "https://a.test/archive/",
    ]


def test_a_list_below_another_is_narrower():
    assert narrows("https://site.example/archive/2024/05/", "https://site.example/archive/2024/")
    assert not narrows("https://site.example/archive/2025/", "https://site.example/archive/2024/")
    assert not narrows("https://site.example/archive/2024/?page=2", "https://site.example/archive/2024/")


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
