"""Shapes of URLs, and the knowledge about them on one site and on many."""

from __future__ import annotations

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from newsbot.ranking.url_learning import ENOUGH, MANY_SITES, Shapes, ShapesOfAll, shape_of

SITE = "https://a.test"


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("/gallery/ten-best-pictures-7", "/gallery/nine-bad-dogs-of-spring-812", True),
        ("/2024/05/4711/", "/2026/11/23/", True),
        ("/2026/11/20/story-of-a-bridge.html", "/2026/11/19/another-day.html", True),
        ("/?p=12&view=list", "/?p=7&view=list", True),
        ("/?p=12&view=list", "/?p=12", False),
        ("/gallery/ten-best-pictures-7", "/sport/ten-best-pictures-7", False),
        ("/news/the-council-votes.html", "/news/the-council-votes/", False),
        ("/profile/77.html", "/profile/8.html", True),
        ("/sport/37-million-for-the-race-10798", "/sport/the-race-goes-on-10802", True),
        ("/sport/810798-the-race-goes-on", "/sport/the-race-goes-on", False),
        ("/story/a1b2c3d4e5f6", "/story/99b2c3d4e5aa", True),
    ],
)
def test_a_shape_is_folders_form_and_keys(one, other, same):
    assert (shape_of(SITE + one) == shape_of(SITE + other)) is same


@example(".html")
@given(st.text(max_size=80))
def test_any_text_has_a_shape(text):
    assert shape_of(f"{SITE}/{text}").startswith("/")


def test_a_shape_is_proven_by_a_source_or_a_page_and_fails_by_its_pages():
    shapes, gallery = Shapes(), shape_of(f"{SITE}/gallery/x-y-1")
    for number in range(ENOUGH):
        assert not shapes.has_failed(gallery)
        shapes.fetched(f"{SITE}/gallery/ten-best-{number}", article=False)
    assert shapes.has_failed(gallery)
    assert shapes.lost == ENOUGH
    shapes.fetched(f"{SITE}/gallery/a-real-one-7", article=True)
    assert shapes.is_proven(gallery)
    for number in range(3):
        shapes.fetched(f"{SITE}/gallery/ten-worst-{number}", article=False)
    assert shapes.has_failed(gallery), "only one of six is an article"
    shapes.name(f"{SITE}/gallery/in-the-feed-8")
    assert shapes.is_proven(gallery)
    assert shapes.lost == 0


def test_stored_shapes_of_a_site_can_be_read():
    shapes = Shapes()
    kept = {f"{SITE}/sport/a-b-c-1": True, f"{SITE}/news/a-b-c.html": False}
    shapes.take(kept, {f"{SITE}/gallery/x-y-{n}": True for n in range(3)} | {f"{SITE}/sport/": False})
    shapes.take(kept, {})
    assert shapes.is_proven(shape_of(f"{SITE}/sport/d-e-f-2"))
    assert shapes.is_proven(shape_of(f"{SITE}/news/d-e-f.html"))
    assert shapes.has_failed(shape_of(f"{SITE}/gallery/z-9"))
    assert not shapes.has_failed(shape_of(f"{SITE}/sport/")), "a menu is not a proof"


def test_a_shape_that_failed_on_many_sites_is_hopeless_until_it_is_proven():
    here, there = ShapesOfAll(), ShapesOfAll()
    for number in range(MANY_SITES):
        assert not there.is_hopeless("/gallery/*#")
        here.record(f"{number}.test", "/gallery/*#", good=False)
        here.record(f"{number}.test", "/gallery/*#", good=False)
        there.merge(json.loads(json.dumps(here.plain())))
    assert there.is_hopeless("/gallery/*#")
    there.record("9.test", "/gallery/*#", good=True)
    assert not there.is_hopeless("/gallery/*#")
    there.merge({"failed": 3, "good": {"x": "y"}})


def test_unlisted_links_of_a_listed_shape_can_fail_and_listed_pages_do_not_count() -> None:
    shapes, shape = Shapes(), shape_of("https://a.test/article/the-council-met-1")
    shapes.name("https://a.test/article/the-council-met-1")
    for number in range(20):
        shapes.fetched(f"https://a.test/article/the-council-met-{number}", article=number > 9)
    assert shapes.is_proven(shape)
    for number in range(4):
        shapes.fetched(f"https://a.test/article/offer-of-the-day-{number}", article=False, listed=False)
    assert shapes.is_proven(shape)
    shapes.fetched("https://a.test/article/offer-of-the-day-5", article=False, listed=False)
    assert shapes.has_failed(shape)
    assert shapes.lost == 0
    for number in range(3):
        shapes.fetched(f"https://a.test/article/older-story-of-it-{number}", article=True, listed=False)
    assert shapes.is_proven(shape)
