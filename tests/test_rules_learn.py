"""What is learned about a site's URLs: trees over the prior, and readable patterns."""

from __future__ import annotations

import json
import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from newsbot.pages.rules.learn import MAX_EXAMPLES, LearnedRule, induce, learn, learned_from, path_of
from newsbot.pages.rules.learn import MIN_ARTICLES as MIN_EXAMPLES
from newsbot.pages.rules.rule import compile_pattern
from newsbot.pages.rules.shape import log_odds, probability, traits

SITE = "https://site.example"
TOPICS = ("world", "sport", "culture")
ODD = [(f"{SITE}/{topic}/x{number:04}k", True) for topic in TOPICS for number in range(12)]
"""Articles with short codes as URLs: the global prior classifies them as sections."""
NAVIGATION = [
    (f"{SITE}/{name}", False) for name in (*TOPICS, "about", "contact", "world/europe", "sport/football")
]
GAMES = [(f"{SITE}/games/how-to-win-the-great-puzzle-of-{number}-days", False) for number in range(12)]
"""Pages that are not articles, with URLs like headlines."""


def test_without_examples_the_global_prior_decides():
    rule = learn([])
    url = f"{SITE}/2024/05/31/storm-hits-the-northern-coast"
    assert rule.score(url) == pytest.approx(probability(log_odds(url)))
    assert rule.is_article(url)
    assert not rule.is_article(f"{SITE}/tag/storm")
    assert rule.patterns == ()


def test_urls_misjudged_by_the_prior_are_learned():
    rule = learn(ODD[:18] + NAVIGATION + GAMES[:6])
    assert not any(LearnedRule().is_article(url) for url, _ in ODD)
    assert all(rule.is_article(url) for url, _ in ODD[18:])
    assert all(LearnedRule().is_article(url) for url, _ in GAMES)
    assert not any(rule.is_article(url) for url, _ in GAMES[6:])


def test_patterns_are_readable_and_contain_their_evidence():
    (pattern,) = learn(ODD + NAVIGATION).patterns
    assert pattern.articles == len(ODD)
    assert pattern.others == 0
    assert set(pattern.examples) <= {path_of(url) for url, _ in ODD}


@pytest.mark.parametrize(
    ("addresses", "expected"),
    [
        (
            [f"/news/2024/0{n}/11/storm-hits-coast-{n}" for n in range(1, 9)],
            r"^/news/(?:19|20)\d\d/\d\d/\d\d/",
        ),
        ([f"/{t}/article10{n}300/a-b.html" for t in TOPICS for n in range(3)], r"/article\d{5,}/"),
        ([f"/news/10{n}300" for n in range(5)], r"^/news/\d{5,}/?(?:\?|$)"),
        ([f"/show.php?id=10{n}3" for n in range(5)], r"^/show\.php\?id=\d+$"),
        ([f"/a/!59{n}8990/" for n in range(5)], r"^/a/!\d{5,}/?(?:\?|$)"),
    ],
)
def test_patterns_generalise_numbers_dates_and_ids(addresses: list[str], expected: str):
    (pattern,) = induce([SITE + address for address in addresses], [f"{SITE}/", f"{SITE}/news/"])
    assert expected in pattern.text
    assert all(re.search(pattern.text, address) for address in addresses)
    assert not re.search(pattern.text, "/news/")


def test_a_few_unusual_examples_do_not_make_a_pattern():
    odd = [(f"{SITE}/odd/{number}/page.aspx", True) for number in range(MIN_EXAMPLES - 1)]
    rule = learn(ODD + odd + NAVIGATION)
    assert not any(re.search(one.text, path_of(url)) for one in rule.patterns for url, _ in odd)


def test_the_prior_is_used_for_a_domain_with_three_links():
    few = [(f"{SITE}/a/1", True), (f"{SITE}/b", False), (f"{SITE}/c", False)]
    rule = learn(few)
    assert rule.patterns == ()
    headline = f"{SITE}/news/the-new-bridge-opens-after-ten-years"
    assert rule.is_article(headline)
    assert not rule.is_article(f"{SITE}/tag/bridge")


def test_some_wrong_labels_do_not_change_the_judgement():
    good = [(f"{SITE}/news/the-bridge-opens-on-day-{number}-of-may", True) for number in range(40)]
    wrong = [(f"{SITE}/news/the-bridge-opens-on-night-{number}-of-may", False) for number in range(4)]
    rule = learn(good + wrong + NAVIGATION)
    assert rule.is_article(f"{SITE}/news/a-third-bridge-opens-in-the-north")
    assert re.search(rule.patterns[0].text, "/news/a-third-bridge-opens-in-the-north")


def test_a_learned_rule_is_unchanged_after_writing_and_reading():
    rule = learn(ODD + NAVIGATION + GAMES)
    again = learned_from(json.loads(json.dumps(rule.plain())))
    assert again.patterns == rule.patterns
    for url, _ in ODD + NAVIGATION + GAMES:
        assert again.score(url) == pytest.approx(rule.score(url), abs=1e-3)


@pytest.mark.parametrize(
    "plain",
    [
        {},
        {"format": 99},
        {"format": 1, "trees": [["a", 1]], "patterns": [], "articles": 0, "others": 0},
        {"format": 1, "trees": [["a", ["b", ["c", ["d", ["e", 1, 2], 1], 1], 1], 1]], "patterns": [],
         "articles": 0, "others": 0},
        {"format": 1, "trees": [True], "patterns": [], "articles": 0, "others": 0},
        {"format": 1, "trees": [], "patterns": [1], "articles": 0, "others": 0},
    ],
)  # fmt: skip
def test_invalid_learned_rules_are_refused(plain: dict[str, object]):
    with pytest.raises(ValueError, match="the learned rule"):
        learned_from(plain)


def test_many_links_are_sampled():
    many = [(f"{SITE}/news/{number}/some-words-of-a-headline", number % 2 == 0) for number in range(20_000)]
    rule = learn(many)
    assert rule.articles == rule.others == MAX_EXAMPLES


_PATHS = st.lists(
    st.text("abc-_0129.!,%?=&/(){}[]+*^$|\\ü", min_size=1, max_size=12), min_size=1, max_size=4
).map("/".join)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(_PATHS, st.booleans()), max_size=30), _PATHS)
def test_learning_from_any_links_gives_safe_patterns(links: list[tuple[str, bool]], other: str):
    labelled = [(f"{SITE}/{path}", label) for path, label in links]
    rule = learn(labelled)
    assert 0.0 <= rule.score(f"{SITE}/{other}") <= 1.0
    for pattern in rule.patterns:
        compile_pattern(pattern.text)
        assert pattern.text.startswith("^/")


@given(st.text(max_size=80))
def test_any_text_gets_a_verdict(text: str):
    rule = learn(ODD + NAVIGATION)
    assert 0.0 <= rule.score(text) <= 1.0
    traits(f"https://h.example/{text}")


def test_patterns_search_hostile_urls_in_linear_time():
    rule = learn(ODD + NAVIGATION)
    hostile = "/" + "a-" * 50_000 + "!"
    began = time.process_time()
    for pattern in rule.patterns:
        re.search(pattern.text, hostile)
    assert time.process_time() - began < 5.0  # a quadratic search would take minutes
