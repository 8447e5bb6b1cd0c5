"""Events in every storage: which articles report the same event."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from newsbot.apps.search import articles as following
from newsbot.apps.search.articles import ArticleSearch
from newsbot.apps.search.events import days_in
from newsbot.items import Article
from newsbot.storage.articles import story_id
from newsbot.storage.base import Storage
from tests.contracts.storage_samples import NOON, make_article

Open = Callable[[], ArticleSearch]

FLOOD = tuple(
    (title, " ".join(text.split()))
    for title, text in (
        (
            "Flood in Ostrava: 4,200 people leave their homes",
            """The river Odra broke a dam in Ostrava on Monday night. Mayor Jana Dvorak said that 4,200 people
            had to leave the district of Poruba.""",
        ),
        (
            "Thousands evacuated after dam breaks",
            """About 4,200 inhabitants of Poruba spend the night in schools. In Ostrava the Odra is
            higher than in 1997, said mayor Jana Dvorak to journalists.""",
        ),
        (
            "Mayor Dvorak: Ostrava needs help",
            """After the dam of the Odra broke, the army brings sand and tents to Poruba. Jana Dvorak asked
            the government in Prague for money for Ostrava.""",
        ),
    )
)
"""One event in three wordings."""
FIRE = (
    "Fire in Ostrava: people leave their homes",
    """A fire in the old brewery of Ostrava on Monday night was put out by firemen. Director Petr Novotny said
    that people had to leave the district of Vitkovice. Nobody was hurt in Karvinska street.""",
)
"""Another event, with many of the same words."""
FREQUENT = ("people", "leave", "night", "monday", "said", "their", "homes", "after", "the", "of", "in", "had")
FORECAST = "In {} it will be cloudy with light rain and weak wind. The temperature will rise to {} degrees."


@pytest.fixture
def library(storage: Storage) -> Storage:
    """Articles of all kinds, so that words have different frequencies."""
    chance = random.Random(1)
    common = [f"common{number}" for number in range(60)]
    for number in range(60):
        words = chance.choices(common, k=40) + chance.choices(FREQUENT, k=30) + [f"rare{number}"] * 2
        chance.shuffle(words)
        storage.articles.store(_article(f"some{number}", " ".join(words[:6]), " ".join(words), hours=-number))
    return storage


@pytest.fixture
def search(tmp_path: Path, library: Storage) -> Iterator[ArticleSearch]:
    with closing(ArticleSearch(tmp_path / "search.db", library.articles)) as opened:
        yield opened


def _article(name: str, title: str, text: str, hours: float = 0.0, **fields: Any) -> Article:
    at = NOON + timedelta(hours=hours)
    fields = {"language": "en", "source": f"{name}.org", "published_at": at, **fields}
    return make_article(name, text, title=title, **fields)


def _store(storage: Storage, name: str, texts: tuple[str, str], **fields: Any) -> Article:
    article = _article(name, *texts, **fields)
    storage.articles.store(article)
    return article


def _events(search: ArticleSearch, *articles: Article) -> list[str | None]:
    search.follow()
    found = search.events_of(articles)
    return [found.get(one.canonical_url) for one in articles]


def test_different_reports_of_one_event_are_one_event(library: Storage, search: ArticleSearch) -> None:
    stored = [_store(library, f"flood{place}", one, hours=place) for place, one in enumerate(FLOOD)]
    fire = _store(library, "fire", FIRE)
    *flood, other = _events(search, *stored, fire)
    assert flood == [story_id(stored[0].canonical_url)] * 3
    assert other == story_id(fire.canonical_url)
    assert search.in_event(str(flood[0]), 2) == [
        library.articles.get(one.canonical_url) for one in stored[:2]
    ]
    (earliest, *others) = search.first_reports(NOON, NOON + timedelta(hours=5))
    assert [earliest.site, *(one.site for one in others)] == ["flood0.org", "flood1.org", "flood2.org"]
    assert earliest.event == flood[0]
    assert abs(earliest.moment - NOON) < timedelta(seconds=1)
    assert search.first_reports(NOON, NOON + timedelta(hours=1)) == []  # one site only


def test_articles_in_other_languages_or_days_later_are_other_events(
    library: Storage, search: ArticleSearch
) -> None:
    articles = [
        _store(library, "first", FLOOD[0]),
        _store(library, "german", FLOOD[0], language="de"),
        _store(library, "soon", FLOOD[0], hours=47),
        _store(library, "late", FLOOD[0], hours=49),
        _store(library, "early", FLOOD[0], hours=-49),
    ]
    first, german, soon, *apart = _events(search, *articles)
    assert soon == first
    assert len({first, german, *apart}) == 4


def test_events_do_not_depend_on_the_size_of_batches(
    library: Storage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(2)
    reports = [text for one in (*FLOOD, FIRE) for text in one]
    monkeypatch.setattr(following, "IN_BULK", 1)
    monkeypatch.setattr("newsbot.apps.search.events.MOST_POSTED", 5)
    found = []
    with (
        closing(ArticleSearch(tmp_path / "one.db", library.articles)) as one,
        closing(ArticleSearch(tmp_path / "many.db", library.articles)) as many,
    ):
        for number in range(120):
            words = " ".join(chance.sample(reports, 2)).split()
            some = [word for word in words if chance.random() < 0.6]
            hours = 12 * chance.randrange(20)
            _store(library, f"report{number}", (f"Report {some[0]}", " ".join(some)), hours=hours)
            if number % 10 == 9:  # removed before both indexes read it, or only before one of them
                library.removal.articles([f"https://report{number}.org/report{number}"])
        for search, size in ((one, 1), (many, 50)):
            monkeypatch.setattr(following, "AT_ONCE", size)
            search.follow()
            found.append(search.events_of(library.articles.iter()))
    assert found[0] == found[1]
    assert len(set(found[0].values())) < len(found[0]) - 20


def test_an_event_is_removed_with_its_last_article_and_begins_again(
    library: Storage, search: ArticleSearch
) -> None:
    stored = [_store(library, f"flood{place}", one, hours=place) for place, one in enumerate(FLOOD)]
    assert len(set(_events(search, *stored))) == 1
    library.removal.articles([one.canonical_url for one in stored])
    search.follow()
    again = _store(library, "flood1", FLOOD[1], hours=1)
    assert _events(search, again) == [story_id(again.canonical_url)]
    assert search.in_event(story_id(stored[0].canonical_url), 5) == []


def test_issues_of_a_template_are_different_events(library: Storage, search: ArticleSearch) -> None:
    places = ("Liberec", "Brno", "Zlin", "Opava")
    stored = [
        _store(library, place, ("The weather", FORECAST.format(f"the region of {place}", 20)))
        for place in places
    ]
    days = [
        _store(
            library, f"stars{day}", (f"Horoscope for {day} May", "Aries meets Pluto in Ostrava and Poruba.")
        )
        for day in (3, 4)
    ]
    assert len({*_events(search, *stored, *days)}) == 6


def test_articles_of_a_story_share_the_event(library: Storage, search: ArticleSearch) -> None:
    first = _store(library, "first", FLOOD[0])
    member = _store(library, "member", FIRE, story=story_id(first.canonical_url))
    late = _store(library, "late", ("Nothing of it", "Words that no other article has."))
    assert len({*_events(search, first, member)}) == 1
    assert _events(search, late) == [story_id(late.canonical_url)]
    library.stories.join([first.canonical_url, late.canonical_url])  # the index gets no notice
    joined = [one for one in map(library.articles.get, (first.canonical_url, late.canonical_url)) if one]
    event = story_id(first.canonical_url)
    assert _events(search, *joined) == [event] * 2
    found = {hit.article.canonical_url for hit in search.find(f"event:{event}", limit=9, patience=60)}
    assert found <= {one.canonical_url for one in (first, member, late)}
    assert search.counts(f"event:{event}", patience=60).total == 3


def test_an_event_can_be_combined_with_words_in_a_query(library: Storage, search: ArticleSearch) -> None:
    stored = [_store(library, f"flood{place}", one) for place, one in enumerate(FLOOD)]
    (event, *_others) = _events(search, *stored)
    hits = search.find(f"event:{event} army", patience=60)
    assert [hit.article.canonical_url for hit in hits] == [stored[2].canonical_url]
    for wrong in ("event:none", "event:00"):
        assert search.find(wrong, patience=60) == []
        assert f"understood as: {wrong}" in search.explain(wrong, found=False)


def test_a_removed_article_leaves_the_event(storage: Any, library: Storage, search: ArticleSearch) -> None:
    stored = [_store(library, f"flood{place}", one) for place, one in enumerate(FLOOD)]
    event = story_id(stored[0].canonical_url)
    _store(library, "flood1", (FLOOD[1][0], f"{FLOOD[1][1]} The rain has stopped."))  # it stays in the event
    assert _events(search, *stored) == [event] * 3
    for one in stored[:2]:
        storage.removal.articles([one.canonical_url])
    assert _events(search, *stored) == [None, None, event]
    again = _store(library, "flood0", ("A new page", "Other words under the address that began the event."))
    assert _events(search, again) == [event]
    for one in (again, stored[2]):
        storage.removal.articles([one.canonical_url])
    assert _events(search, _store(library, "last", FLOOD[0])) == [story_id("https://last.org/last")]


@pytest.mark.parametrize("at_once", [1, 7])
def test_every_index_has_the_same_events(
    library: Storage, search: ArticleSearch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    articles = [_store(library, f"flood{place}", one) for place, one in enumerate((*FLOOD, FIRE))]
    articles += list(library.articles.iter())
    events = _events(search, *articles)
    monkeypatch.setattr(following, "AT_ONCE", at_once)
    with closing(ArticleSearch(tmp_path / "other.db", library.articles)) as other:
        assert _events(other, *articles) == events
        assert other.remake()
        assert _events(other, *articles) == events


@pytest.mark.parametrize(
    ("headline", "days"),
    [
        ("Погода на 3 мая", {"5-3"}),
        ("Horoscope for May 3 and 4 May 2020", {"5-3", "5-4"}),
        ("12 men in May", set()),
        ("Magnetic storms", set()),
    ],
)
def test_days_in_a_headline(headline: str, days: set[str]) -> None:
    assert days_in(headline) == days
