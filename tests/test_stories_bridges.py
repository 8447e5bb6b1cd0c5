"""Articles of one site never join the stories of two other sites."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import permutations
from pathlib import Path

import pytest

from newsbot.dedup.index import text_key
from newsbot.dedup.story_merge import regroup
from newsbot.items import Article
from tests.builders import Desk, make_article
from tests.test_stories import clusters, take

NOW = datetime(2026, 6, 1, 9, tzinfo=UTC)
WORDS = {name: [f"{name}{place}" for place in range(120)] for name in ("ferry", "budget")}


def article(site: str, name: str, words: list[str], minute: int = 0) -> Article:
    text, url = " ".join(words), f"https://{site}/{name}"
    return make_article(
        1,
        url=url,
        canonical_url=url,
        source=site,
        title=f"Headline of {name} at {site}",
        text=text,
        content_hash=text_key(text),
        fetched_at=NOW + timedelta(minutes=minute),
    )


def morph(step: int, of: int = 6) -> list[str]:
    """Return a text between the two others: the first part is of one, the last part of the other."""
    cut = 120 - round(120 * step / of)
    return WORDS["ferry"][:cut] + WORDS["budget"][cut:]


def texts() -> dict[str, Article]:
    found = {name: article(f"{name}.test", "news", words) for name, words in WORDS.items()}
    # 20 words of one text are replaced in each step, so neighbouring texts are similar
    found |= {f"morph{step}": article("mixer.test", f"mix-{step}", morph(step)) for step in range(1, 6)}
    return found


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path, None, {})
    yield made
    made.crawl.close()


def stories(desk: Desk) -> set[frozenset[str]]:
    kept = desk.context.storage.articles.iter()
    return clusters({one.canonical_url: one.story or "" for one in kept})


ORDERS = [
    ["ferry", "budget", *(f"morph{step}" for step in range(1, 6))],
    ["ferry", *(f"morph{step}" for step in range(1, 6)), "budget"],
    [*(f"morph{step}" for step in range(1, 6)), "ferry", "budget"],
    *(random.Random(seed).sample(sorted(texts()), k=7) for seed in range(6)),
]


@pytest.mark.parametrize("order", ORDERS, ids=[str(number) for number in range(len(ORDERS))])
def test_morphing_texts_of_one_site_do_not_join_two_stories(desk: Desk, order: list[str]) -> None:
    given = texts()
    for minute, name in enumerate(order):
        given[name].fetched_at = NOW + timedelta(minutes=minute)
        take(desk, given[name])
    (story,) = [one for one in stories(desk) if "https://ferry.test/news" in one]
    assert "https://budget.test/news" not in story


def test_versions_of_one_page_do_not_join_two_stories(desk: Desk) -> None:
    for name, words in WORDS.items():
        take(desk, article(f"{name}.test", "news", words))
    for step in range(1, 6):
        take(desk, article("mixer.test", "page", morph(step), minute=step))
    (story,) = [one for one in stories(desk) if "https://ferry.test/news" in one]
    assert "https://budget.test/news" not in story


COPIES = {
    # each copy differs from the agency's text, and the copies differ more from each other
    "agency.test": WORDS["ferry"],
    "north.test": WORDS["ferry"][:90] + [f"north{place}" for place in range(10)],
    "south.test": WORDS["ferry"][25:] + [f"south{place}" for place in range(10)],
}


@pytest.mark.parametrize("order", list(permutations(COPIES)))
def test_edited_copies_of_one_text_stay_one_story(desk: Desk, order: tuple[str, ...]) -> None:
    for minute, site in enumerate(order):
        take(desk, article(site, "copy", COPIES[site], minute))
    assert len(stories(desk)) == 1


def test_articles_of_one_site_are_one_story_as_before(desk: Desk) -> None:
    for step in range(6):
        take(desk, article("mixer.test", f"mix-{step}", morph(step), minute=step))
    assert len(stories(desk)) == 1


def test_a_story_is_split_into_the_articles_that_belong_together() -> None:
    given = texts()
    groups = regroup([*given.values(), article("third.test", "copy", WORDS["ferry"][:110])])
    urls = [{one.canonical_url for one in group} for group in groups]
    (ferry,) = [group for group in urls if "https://ferry.test/news" in group]
    assert "https://third.test/copy" in ferry
    assert "https://budget.test/news" not in ferry
    assert sum(map(len, urls)) == 8
