"""Page numbers of lists: all forms of them, the next page, and links that only look like pages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import html

from newsbot.items import Link, Where
from newsbot.pages.discovery.list_pages import split_pages, stated_next

SITE = "https://a.test"


def split(page: str, *links: tuple[str, str], stated: tuple[str, ...] = ()) -> tuple[list[str], list[str]]:
    """Return paths: the other links, and the next pages."""
    found = [Link(url=SITE + path, where=Where.BODY, text=text) for path, text in links]
    others, following = split_pages(found, SITE + page, [SITE + path for path in stated])
    assert all(link.where is Where.NEXT_PAGE for link in following)
    return [one.url.removeprefix(SITE) for one in others], [one.url.removeprefix(SITE) for one in following]


@pytest.mark.parametrize(
    ("page", "links", "following"),
    [
        pytest.param(
            "/", [("/page/2/", "2"), ("/page/3/", "3"), ("/page/30/", "»»")], "/page/2/", id="wordpress"
        ),
        pytest.param("/page/2/", [("/", "1"), ("/page/1/", "1"), ("/page/3/", "3")], "/page/3/", id="hugo"),
        pytest.param("/", [("/index2.html", "⟩"), ("/index30.html", "⟫")], "/index2.html", id="pelican"),
        pytest.param(
            "/index2.html", [("/", "⟨"), ("/index3.html", "⟩")], "/index3.html", id="pelican, second page"
        ),
        pytest.param(
            "/category/sport.html",
            [("/category/sport2.html", "Next page")],
            "/category/sport2.html",
            id="pelican, category",
        ),
        pytest.param(
            "/sport3.html", [("/sport2.html", "2"), ("/sport4.html", "4")], "/sport4.html", id="number"
        ),
        pytest.param(
            "/", [("/page/0/", "Previous"), ("/page/2/", "Next"), ("/page/6/", "6")], "/page/2/", id="page 0"
        ),
        pytest.param("/sport", [("/sport/P20", "2"), ("/sport/P40", "3")], "/sport/P20", id="letter"),
        pytest.param("/sport.html", [("/sport-p2.html", "2")], "/sport-p2.html", id="letter and suffix"),
        pytest.param("/sport", [("/sport/page:2", "2"), ("/sport/page:3", "3")], "/sport/page:2", id="cake"),
        pytest.param("/sport", [("/sport/(page)/2", "»")], "/sport/(page)/2", id="brackets"),
        pytest.param("/sport", [("/sport/2", "2"), ("/sport/3", "3")], "/sport/2", id="bare number"),
        pytest.param("/news", [("/news?page=3", "3"), ("/news?page=2", "2")], "/news?page=2", id="query"),
        pytest.param("/news", [("/news?page=0", "1"), ("/news?page=1", "2")], "/news?page=1", id="from zero"),
        pytest.param(
            "/news", [("/news?page=1", "1"), ("/news?page=2", "2")], "/news?page=2", id="first is one"
        ),
        pytest.param(
            "/list?start=10", [("/list?start=0", "1"), ("/list?start=20", "3")], "/list?start=20", id="offset"
        ),
        pytest.param(
            "/n?c=7", [("/n?c=7&b:int=20", "2"), ("/n?c=7&b:int=40", "3")], "/n?c=7&b:int=20", id="plone"
        ),
        pytest.param(
            "/blog", [("/blog?before=2026-10-01", "Older posts")], "/blog?before=2026-10-01", id="cursor"
        ),
        pytest.param("/", [("/blog/page/2/", "← Older posts")], "/blog/page/2/", id="a home page's list"),
        pytest.param("/новости/", [("/новости/?PAGEN_1=2", "След.")], "/новости/?PAGEN_1=2", id="bitrix"),
        pytest.param("/2026/11/", [("/2026/11/page/2/", "2")], "/2026/11/page/2/", id="of a month"),
    ],
)
def test_the_next_page_of_a_list_is_found_in_every_usual_form(page, links, following):
    others, found = split(
        page, *links, ("/the-council-votes-on-the-bridge", "The council votes on the bridge")
    )
    assert found == [following]
    assert following not in others
    assert "/the-council-votes-on-the-bridge" in others


@pytest.mark.parametrize(
    ("page", "link"),
    [
        ("/news/", ("/news/3", "Three men in a boat and a dog")),
        ("/news/", ("/news/48213", "Three men in a boat")),
        ("/archiv/", ("/archiv/2025", "2025")),
        ("/2026/", ("/2026/11/", "11")),
        ("/2026/11/", ("/2026/11/20/", "20")),
        ("/", ("/rubric/7/page/2", "more")),
        ("/", ("/?p=12", "A post about the bridge")),
        ("/sport.html", ("/story4.html", "Four men")),
    ],
)
def test_articles_and_other_lists_are_not_pages_of_the_list(page, link):
    assert split(page, link) == ([link[0]], [])


def test_rel_next_is_followed_and_an_earlier_page_is_not_next():
    assert split("/n/", ("/n/x7", "more"), ("/n/w", "back"), stated=("/n/x7",)) == (["/n/w"], ["/n/x7"])
    assert split("/page/9/", ("/page/8/", "8"), ("/", "1")) == (["/"], [])
    tree = html.fromstring(
        "<html><head><link rel='next' href='/n/?c=2'></head><a rel=nofollow href=/x>x</a></html>"
    )
    assert stated_next(tree, SITE + "/n/") == [SITE + "/n/?c=2"]


def test_pages_of_a_list_are_on_the_same_host():
    link = Link(url="https://b.test/page/2/", where=Where.BODY, text="Next")
    assert split_pages([link], SITE + "/", [link.url])[1] == []


@given(st.text(max_size=60), st.text(max_size=60), st.text(max_size=30))
def test_any_input_is_accepted_and_each_link_is_returned_once(page, path, text):
    link = Link(url=f"{SITE}/{path}", where=Where.BODY, text=text)
    others, following = split_pages([link], f"{SITE}/{page}", [link.url])
    assert len(others) + len(following) <= 1
