"""The demo's comparison of stories with its plan; the plan has examples of all kinds."""

from __future__ import annotations

from dataclasses import astuple
from datetime import UTC, datetime

import pytest

from newsbot.apps.demo.check import STORY_COLUMNS, judge
from newsbot.apps.demo.server import Manifest
from newsbot.dedup.decision import SAME_STORY, Change, Text, compare
from newsbot.items import Article
from testbed.demoweb.manifest import make_manifest
from testbed.demoweb.plan import Plan, make_plan
from tests.test_demo_check import as_article

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
OTHERS, HOME, TEMPLATE, ELSE = range(4)


@pytest.fixture(scope="module")
def plan() -> Plan:
    return make_plan(300, now=NOW)


@pytest.fixture(scope="module")
def manifest(plan: Plan) -> Manifest:
    return make_manifest(plan)


@pytest.fixture
def stored(plan: Plan) -> list[Article]:
    """The articles that a crawl without errors stores, each in the right story."""
    articles = []
    for paper in plan.papers:
        articles.append(as_article(paper))
        articles[-1].story = paper.url if paper.family is None else f"family {paper.family}"
    return articles


def test_reports_of_a_template_differ_only_in_their_numbers(plan: Plan) -> None:
    groups = plan.templates()
    assert [len(group) for group in groups] == [3, 3]
    for group in groups:
        likeness = compare(*(Text(as_article(paper)) for paper in group[:2]))
        assert likeness.alike > SAME_STORY
        assert likeness.change is Change.FILLING
        assert len({paragraph for paper in group for paragraph in paper.story.paragraphs}) == 4 * len(group)


def test_no_errors_are_counted_in_a_complete_crawl(stored: list[Article], manifest: Manifest) -> None:
    judged = judge(stored, manifest)
    assert [one.wrong for one in judged] == [0, 0, 0, 0]
    assert all(one.pairs == one.joined > 0 for one in judged[:TEMPLATE])
    assert (judged[TEMPLATE].pairs, judged[TEMPLATE].joined, judged[ELSE].pairs) == (6, 0, 0)
    assert [len(astuple(one)) for one in judged] == [len(STORY_COLUMNS)] * 4


def test_an_article_stored_under_another_of_its_urls_is_the_same(
    stored: list[Article], manifest: Manifest
) -> None:
    right = judge(stored, manifest)
    addresses = {one.url: one.addresses for one in manifest.articles}
    for article in stored:
        article.canonical_url = addresses[article.canonical_url][-1]
    assert judge(stored, manifest) == right


def test_separated_and_wrongly_joined_articles_are_counted(
    plan: Plan, stored: list[Article], manifest: Manifest
) -> None:
    right = judge(stored, manifest)
    (family, *_) = plan.families()
    torn = next(one for one in stored if one.canonical_url == family[0].url)
    torn.story = "alone"
    judged = judge(stored, manifest)
    assert judged[OTHERS].wrong + judged[HOME].wrong == len(family) - 1
    torn.story = f"family {family[0].family}"
    for one in stored:
        if one.canonical_url in (paper.url for paper in plan.templates()[0]):
            one.story = "weather"
    judged = judge(stored, manifest)
    assert (judged[TEMPLATE].joined, judged[TEMPLATE].wrong) == (3, 3)
    for one in stored:
        one.story = "all"
    judged = judge(stored, manifest)
    assert [one.pairs for one in judged[:ELSE]] == [one.pairs for one in right[:ELSE]]
    assert judged[ELSE].wrong == judged[ELSE].pairs > 40_000


def test_articles_that_are_not_stored_form_no_pairs(stored: list[Article], manifest: Manifest) -> None:
    assert [one.pairs for one in judge(stored[:1], manifest)] == [0, 0, 0, 0]
