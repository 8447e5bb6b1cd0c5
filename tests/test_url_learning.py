"""What a crawl learns about URLs: examples and discarded patterns."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from newsbot.items import Link, Where
from newsbot.pages.rules.learn import MAX_KEPT, MIN_EXAMPLES, MIN_FETCHED, Examples
from newsbot.pages.rules.rule import Pattern, Rule
from newsbot.ranking import url_learning
from newsbot.ranking.judging import judge
from newsbot.ranking.url_learning import NOTE_KIND, UrlLearning, kept, learns
from newsbot.storage.sqlite import SqliteStorage
from tests.test_ranking import NOW, patterns

SITE = "https://site.example"
RULE = Rule(domain="site.example")
FEED = [Link(url=f"{SITE}/p/q{number}x7", where=Where.FEED, text="A title") for number in range(12)]
MENU = [Link(url=f"{SITE}/{name}", where=Where.NAVIGATION, text="Menu") for name in "abcdefghijkl"]


@pytest.fixture
def storage(tmp_path: Path) -> Iterator[SqliteStorage]:
    with closing(SqliteStorage(tmp_path / "newsbot.db")) as opened:
        yield opened


def with_examples() -> UrlLearning:
    lessons = UrlLearning()
    lessons.heard(RULE, FEED + MENU)
    return lessons


def test_a_site_learns_from_links_of_feeds_and_menus() -> None:
    lessons = with_examples()
    rule = lessons.rule(RULE)
    assert rule is not None
    assert rule.is_article(f"{SITE}/p/q99x7")
    link = Link(url=f"{SITE}/p/q99x7", where=Where.BODY)
    before, after = judge(link, RULE, depth=1, now=NOW), judge(link, RULE, depth=1, now=NOW, learned=rule)
    assert before.reason == after.reason == "likely_article", "the family of the link decides"
    assert before.priority < after.priority


def test_a_rule_is_not_learned_from_too_few_links() -> None:
    lessons = UrlLearning()
    lessons.heard(RULE, FEED[: MIN_EXAMPLES - 1] + MENU)
    assert lessons.rule(RULE) is None


@pytest.mark.parametrize(
    ("article", "learn", "expected"),
    [((), None, True), (("^/x",), None, False), (("^/x",), True, True), ((), False, False)],
)
def test_sites_learn_by_default_if_they_have_no_patterns(
    article: tuple[str, ...], learn: bool | None, expected: bool
) -> None:
    rule = Rule(domain="site.example", article=patterns(*article), learn=learn)
    assert learns(rule) is expected
    lessons = UrlLearning()
    lessons.heard(rule, FEED + MENU)
    assert (lessons.rule(rule) is not None) is expected


def test_families_decide_in_addition_to_patterns_if_the_rule_enables_it() -> None:
    own: tuple[Pattern, ...] = patterns("^/other/")
    link = Link(url=f"{SITE}/p/q99x7", where=Where.BODY)
    rule = Rule(domain="site.example", article=own)
    assert judge(link, rule, depth=1, now=NOW).reason == "not_in_rule"
    assert judge(link, replace(rule, learn=True), depth=1, now=NOW).reason == "likely_article"


def test_learned_data_is_stored_and_merged_with_that_of_other_workers(storage: SqliteStorage) -> None:
    for links in (FEED[:6] + MENU[:6], FEED[6:] + MENU[6:]):
        lessons = UrlLearning()  # two workers that started at the same time
        lessons.heard(RULE, links)
        lessons.storage = storage.notes
        lessons.write()
    later = UrlLearning()
    later.storage = storage.notes
    assert later.rule(RULE) is not None, "the examples of both workers together are sufficient"
    examples, rule = kept(storage.notes, "site.example")
    assert len(examples.articles) == len(FEED)
    assert rule == later.rule(RULE)


def test_results_that_are_not_stored_yet_are_kept_beyond_the_limit_of_sites(
    storage: SqliteStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(url_learning, "MAX_SITES", 3)
    lessons = with_examples()
    lessons.storage = storage.notes
    for number in range(9):
        assert lessons.rule(Rule(domain=f"other{number}.example")) is None
    lessons.write()
    assert len(kept(storage.notes, "site.example")[0].articles) == len(FEED)


def test_invalid_notes_are_reported_and_learned_again(
    storage: SqliteStorage, caplog: pytest.LogCaptureFixture
) -> None:
    storage.notes.save(NOTE_KIND + "site.example", "rule", {"format": 7})
    storage.notes.save(NOTE_KIND + "site.example", "examples", {"articles": [3]})
    assert kept(storage.notes, "site.example")[1] is None
    assert "learning starts again" in caplog.text


def test_a_pattern_is_discarded_if_its_pages_are_not_articles_any_more(
    caplog: pytest.LogCaptureFixture,
) -> None:
    lessons = with_examples()
    for number in range(100, 100 + MIN_FETCHED):
        lessons.fetched(RULE, f"{SITE}/p/q{number}x7", article=False)
    assert "given up" in caplog.text
    rule = lessons.rule(RULE)
    assert rule is not None
    for number in range(50, 70):
        lessons.heard(RULE, [Link(url=f"{SITE}/n/{number}0000/new-form-of-address", where=Where.FEED)])
    rule = lessons.rule(RULE)
    assert rule is not None
    assert rule.is_article(f"{SITE}/n/990000/new-form-of-address")
    assert not rule.is_article(f"{SITE}/p/q99x7")


def test_examples_are_bounded_and_the_newest_and_most_certain_are_kept() -> None:
    examples = Examples()
    examples.fetched(f"{SITE}/sure", article=True)
    for number in range(3 * MAX_KEPT):
        examples.heard(f"{SITE}/a/{number}", article=True)
        examples.heard(f"{SITE}/b/{number}" + "x" * 300, article=False)
    assert len(examples.articles) == MAX_KEPT
    assert f"{SITE}/sure" in examples.articles
    assert f"{SITE}/a/{3 * MAX_KEPT - 1}" in examples.articles
    assert examples.others == {}


def test_a_fetched_page_has_precedence_over_links_to_it() -> None:
    examples = Examples()
    examples.heard(f"{SITE}/1", article=True)
    examples.fetched(f"{SITE}/1", article=False)
    examples.heard(f"{SITE}/1", article=True)
    assert dict(examples.labelled()) == {f"{SITE}/1": False}
    examples.heard(f"{SITE}/2", article=False)
    examples.heard(f"{SITE}/2", article=True)
    assert dict(examples.labelled())[f"{SITE}/2"] is True
