"""Sites with a session id in each link, under an unusual key."""

from __future__ import annotations

import itertools
import random
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.demoweb.messages import Answer
from newsbot.operations.explain import explain
from newsbot.ranking.session_keys import ENOUGH_TEXTS, MAX_FORMS, MAX_KEYS, SessionKeys
from newsbot.rules import RuleSet, load_rules
from newsbot.rules.rule import Rule
from tests.crawls import article_html
from tests.mockserver import HTML

HOST = "http://news.test"
PAGE = "https://news.test/story-{}?id={}&zz={}"


def token(number: int) -> str:
    return f"{random.Random(number).getrandbits(60):015x}a1"


def results_of(keys: SessionKeys, *pages: tuple[int, int, str]) -> list[str | None]:
    return [keys.saw(PAGE.format(page, page, token(visit)), text) for page, visit, text in pages]


# --- what is learned
def test_a_session_key_is_found_by_comparing_pages() -> None:
    keys = SessionKeys()
    first = [(page, page, f"text {page}") for page in range(ENOUGH_TEXTS)]
    again = [(page, page + 50, f"text {page}") for page in range(ENOUGH_TEXTS)]
    assert results_of(keys, *first, *again) == [None] * (2 * ENOUGH_TEXTS - 1) + ["zz"]
    assert keys.idle == {"zz"}


def test_a_consent_page_at_all_urls_is_not_evidence() -> None:
    keys = SessionKeys()
    walls = [f"https://news.test/view?story={token(number)}" for number in range(20)]
    assert {keys.saw(url, "accept our cookies") for url in walls} == {None}


def test_one_different_page_proves_that_the_key_selects_pages() -> None:
    keys = SessionKeys()
    pages = [(page, page + visit, f"text {page}") for page in range(ENOUGH_TEXTS) for visit in (0, 50)]
    assert set(results_of(keys, (9, 1, "one"), (9, 2, "another"), *pages)) == {None}


@pytest.mark.parametrize(
    "values", [("12345", "12346"), ("politics", "economy"), ("2", ""), ("2026-11-20", "x")]
)
def test_numbers_and_words_are_not_session_ids(values: tuple[str, str]) -> None:
    keys = SessionKeys()
    for page in range(10):
        for value in values:
            assert keys.saw(f"https://news.test/story-{page}?zz={value}", f"text {page}") is None


def test_an_edited_page_counts_as_the_same_page() -> None:
    keys = SessionKeys()
    results_of(keys, (1, 1, "before"), (1, 1, "after"))
    pages = [(page, page + visit, f"text {page}") for page in range(3, 3 + ENOUGH_TEXTS) for visit in (0, 50)]
    assert "zz" in results_of(keys, *pages)


@given(urls=st.lists(st.tuples(st.text(max_size=60), st.text(max_size=5)), max_size=60))
def test_any_url_is_accepted_and_memory_is_bounded(urls: list[tuple[str, str]]) -> None:
    keys = SessionKeys()
    for number, (url, text) in enumerate(urls * 5):
        keys.saw(f"https://news.test/{url}?k{number}={token(number)}", text)
    assert len(keys._seen) <= MAX_KEYS
    assert all(len(forms) <= MAX_FORMS for forms in keys._seen.values())


def test_rules_drop_learned_keys_also_for_sites_without_a_rule() -> None:
    rules = RuleSet([Rule(domain="a.test", drop_query=("x",))]).dropping({"a.test": ["zz"], "b.test": ["q"]})
    assert rules.for_url("http://www.a.test/").drop_query == ("x", "zz")
    assert rules.for_url("http://b.test/").drop_query == ("q",)
    assert rules.dropping({}).for_url("http://a.test/").drop_query == ("x",)


# --- in a crawl
def test_session_ids_in_links_do_not_trap_the_crawl(site, world, monkeypatch):
    visits = itertools.count()
    stories = [f"{HOST}/2026/11/20/a-long-story-about-the-bridge-{number}" for number in range(8)]

    def serve(request):
        path = request.path.partition("?")[0]
        number = next((n for n, url in enumerate(stories) if url == HOST + path), None)
        if path != "/" and number is None:
            return Answer(status=404)
        visit = next(visits)
        links = "".join(
            f"<p><a href='{url}?zz={token(visit * 10 + n)}'>A headline of more than five words</a></p>"
            for n, url in enumerate(stories)
        )
        page = f"<html><body>{links}</body></html>" if number is None else article_html(number, extra=links)
        return Answer(body=page.encode(), headers=HTML)

    monkeypatch.setattr(site, "_pages", _Everything(serve))
    world.rule("_defaults", "delay: 0\nconcurrency: 1\ninterval: {section: 0, article: 30d}\n")
    crawl = world.crawl("-a", f"url={HOST}/", "-s", "CLOSESPIDER_PAGECOUNT=400")
    assert crawl.code == 0, crawl.err
    assert len(world.urls()) == len(stories)
    pages = [path for path in site.seen() if path.startswith("/2026/")]
    assert len(pages) <= 5 * len(stories), "otherwise each page would link to all pages again"
    assert "session key learned" in crawl.err
    world.crawl("-a", f"url={HOST}/")
    assert [path for path in site.seen() if path.startswith("/2026/")] == pages, (
        "the next crawl must know the key"
    )
    with world.storage() as storage:
        explanation = explain(
            f"{stories[0]}?zz={token(9999)}", load_rules(world.rules), storage, None, now=time.time()
        )
    assert explanation.page is not None, "scrapy why must know the key too"


class _Everything(dict[str, Any]):
    """Pages of a site that generates each response."""

    def __init__(self, serve):
        super().__init__()
        self._serve = serve

    def get(self, address, default=None):
        return self._serve if address.startswith("/") else default
