"""Sites with a session id in each link, under an unusual key."""

from __future__ import annotations

import itertools
import random
import subprocess
import sys
import time
from contextlib import closing
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from newsbot.apps.operations.explain import explain
from newsbot.backends import queued
from newsbot.pages.rules import RuleSet, load_rules
from newsbot.pages.rules.rule import Rule
from newsbot.ranking.url_learning import (
    ENOUGH_TEXTS,
    MAX_FORMS,
    MAX_KEYS,
    SessionKeys,
    SessionLearning,
    session_keys,
)
from newsbot.storage.sqlite import SqliteStorage
from newsbot.urls import canonicalize
from testbed.messages import Answer
from testbed.mockserver import HTML
from tests.crawls import article_html, feed_xml
from tests.newssite import XML

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
    assert results_of(keys, *first, *again) == [None] * (2 * ENOUGH_TEXTS - 1) + ["zz /*"]
    assert keys.idle == {"zz /*"}


def test_a_consent_page_at_all_urls_is_not_evidence() -> None:
    keys = SessionKeys()
    walls = [f"https://news.test/view?story={token(number)}" for number in range(20)]
    assert {keys.saw(url, "accept our cookies") for url in walls} == {None}


def test_one_different_page_proves_that_the_key_selects_pages() -> None:
    keys = SessionKeys()
    pages = [(page, page + visit, f"text {page}") for page in range(ENOUGH_TEXTS) for visit in (0, 50)]
    assert set(results_of(keys, (9, 1, "one"), (9, 2, "another"), *pages)) == {None, "zz /*"}
    assert (keys.idle, keys.refuted) == (set(), {"zz /*"})


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
    assert "zz /*" in results_of(keys, *pages)


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


def test_a_learned_key_is_removed_only_from_urls_of_its_form() -> None:
    rule = RuleSet([]).dropping({"a.test": ["q /news/*"]}).for_url("http://a.test/")
    assert canonicalize("http://a.test/news/story-1?q=x1&p=2", rule.drop_query) == (
        "http://a.test/news/story-1?p=2"
    )
    for kept in ("http://a.test/archive?q=x1", "http://a.test/news/?q=x1", "http://a.test/old/story-1?q=x1"):
        assert canonicalize(kept, rule.drop_query) == kept


def learned(storage: Any, *urls: str) -> SessionLearning:
    """Return what is learned if all articles have the same text under two values of ``ref``."""
    learning = SessionLearning()
    learning.storage = storage.notes
    for value in ("ab12cd34", "zx98yv76"):
        for number, url in enumerate(urls):
            learning.read_text("a.test", f"{url}?ref={value}", f"text {number}")
    return learning


FILES = [f"http://a.test/files/paper-{number}" for number in range(ENOUGH_TEXTS)]


def test_two_headlines_under_one_url_refute_a_learned_key_for_good(storage) -> None:
    learning = learned(storage, *FILES)
    assert session_keys(storage.notes) == {"a.test": ("ref /files/*",)}
    other = "http://a.test/files/paper-9"
    for value, headline in (("k1", "The harbour gets a new crane"), ("k2", "Four schools stay closed today")):
        learning.listed("a.test", f"{other}?ref={value}", other, headline)
    assert session_keys(storage.notes) == {"a.test": ()}
    learned(storage, *FILES)
    assert session_keys(storage.notes) == {"a.test": ()}, "another worker must not learn it again"


def test_the_same_headline_refutes_nothing(storage) -> None:
    learning = learned(storage, *FILES)
    other = "http://a.test/files/paper-9"
    for value in ("k1", "k2"):
        learning.listed("a.test", f"{other}?ref={value}", other, "The harbour gets a new crane")
    assert session_keys(storage.notes) == {"a.test": ("ref /files/*",)}


@pytest.fixture
def storage(tmp_path):
    with closing(SqliteStorage(tmp_path / "newsbot.db")) as opened:
        yield opened


# --- in a crawl
@pytest.mark.parametrize("own", [False, True])
def test_only_the_sites_own_links_show_a_session_key(site, world, own):
    """Another site adds a key to the URLs of articles. The site uses the same key to select pages."""
    stories = [f"{HOST}/stories/about-the-harbour-{number}" for number in range(4)]
    shelf = [f"{HOST}/shelf?volume={token(number)}" for number in range(5)]
    for number, url in enumerate(stories):
        for value in ("", "?volume=x1y2z3a4", "?volume=q7w8e9r0"):
            site.page(url + value, article_html(number))
    for number, url in enumerate(shelf):
        site.page(url, article_html(50 + number))
    added = [f"{url}?volume={value}" for value in ("x1y2z3a4", "q7w8e9r0") for url in stories]
    teller = "news.test" if own else "other.test"
    site.page("http://other.test/feed.xml", feed_xml([] if own else added), headers=XML)
    site.page(f"{HOST}/feed.xml", feed_xml([*(added if own else stories), *shelf]), headers=XML)
    for name in ("news.test", "other.test"):
        world.rule(name, f"domain: {name}\nfeeds: http://{name}/feed.xml\n")
    for sites in (teller, "news.test,other.test"):
        log = world.crawl("-a", f"sites={sites}", "-a", "now=yes").err
        assert ("session key learned" in log) == (own and sites == teller)
    assert set(shelf) <= set(world.urls()), "the key must stay in URLs of another form"


def test_learned_keys_can_be_forgotten(world):
    with world.storage() as storage:
        learned(storage, *FILES)
    shown = run(world, "rules", "learn", "a.test", "--forget")
    assert "ref /files/*" in shown
    with world.storage() as storage:
        assert session_keys(storage.notes) == {}
    assert "nothing was learned" in run(world, "rules", "learn", "a.test", "--forget")


def run(world: Any, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "scrapy", *arguments],
        env=world.environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


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
    with world.storage() as storage, queued({"NEWSBOT_DATA": str(world.data)}) as frontier:
        explanation = explain(
            f"{stories[0]}?zz={token(9999)}", load_rules(world.rules), storage, frontier, now=time.time()
        )
    assert explanation.page or explanation.waiting, "scrapy why must know the key too"


class _Everything(dict[str, Any]):
    """Pages of a site that generates each response."""

    def __init__(self, serve):
        super().__init__()
        self._serve = serve

    def get(self, address, default=None):
        return self._serve if address.startswith("/") else default
