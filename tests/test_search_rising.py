"""Rising terms: the criterion with generated samples, and terms from the index of an archive."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from math import isclose, log
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from newsbot.apps.search.articles import ArticleSearch, RisingTerm, likelihood, risen
from newsbot.apps.search.index import Sampled
from newsbot.items import Article
from newsbot.storage.sqlite import SqliteStorage
from tests.contracts.storage_samples import make_article

NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)


def sampled(number: int, words: str, *, site: str = "") -> Sampled:
    """Return an article; articles with other numbers are from other sites."""
    site = site or f"site{number % 40}.test"
    stems = frozenset(words.split())
    return Sampled(number.to_bytes(16), site, NOW - timedelta(minutes=number), stems, stems)


def words_of(today: Sequence[Sampled], before: Sequence[Sampled], week: Sequence[Sampled] = ()) -> list[str]:
    return [one.stem for one in risen(today, before, week, 10)]


def some(count: int, words: str = "the of", *, begin: int = 0) -> list[Sampled]:
    return [sampled(begin + number, words) for number in range(count)]


@given(st.integers(0, 50), st.integers(1, 50), st.integers(0, 50), st.integers(1, 50))
def test_the_likelihood_ratio_compares_two_proportions(
    number: int, more: int, past: int, more_past: int
) -> None:
    of, of_past = number + more, past + more_past

    def of_one(k: int, n: int, p: float) -> float:
        """Return the logarithm of the binomial likelihood."""
        return (k * log(p) if k else 0.0) + ((n - k) * log(1 - p) if n - k else 0.0)

    together = (number + past) / (of + of_past)
    apart = of_one(number, of, number / of) + of_one(past, of_past, past / of_past)
    same = of_one(number, of, together) + of_one(past, of_past, together)
    expected = 2 * (apart - same) if number / of > past / of_past else 0.0
    assert isclose(likelihood(number, of, past, of_past), expected, abs_tol=1e-6)


def test_a_new_word_on_many_sites_rises_and_a_usual_word_does_not() -> None:
    today = [*some(160), *some(40, "the of flood", begin=160)]
    assert words_of(today, some(600)) == ["flood"]
    assert words_of(today, some(600, "the of flood")) == []
    assert words_of(today, []) == words_of([], some(9)) == []


def test_words_of_one_site_do_not_rise() -> None:
    ours = [sampled(200 + number, "the of subscribe", site="loud.test") for number in range(60)]
    assert words_of([*some(140), *ours], some(600)) == []
    assert words_of([*some(140), *ours, *some(20, "the of subscribe", begin=400)], some(600)) == ["subscribe"]


def test_names_of_days_and_numbers_do_not_rise() -> None:
    today = some(200, "the monday 23 2026")
    mondays = some(80, "the monday 16", begin=1000)
    before = [*mondays, *some(520, "the", begin=2000)]
    assert words_of(today, before, mondays) == []
    assert words_of(today, before) == ["monday"]  # it would rise without the comparison with the same weekday


def test_an_event_is_listed_once() -> None:
    event = some(50, "the earthquake richter epicenter", begin=200)
    other = some(40, "the strike railway", begin=300)
    found = risen([*some(150), *event, *other], some(900), [], 10)
    assert len(found) == 2
    assert found[0].stem in ("earthquake", "richter", "epicenter")
    assert found[1].stem in ("strike", "railway")
    assert found[0].share == 50 / 240
    assert found[0].keys[0] == event[0].key  # the newest article


def test_noise_does_not_rise() -> None:
    chance = random.Random(7)
    vocabulary = [
        f"w{'abcdefghij'[n % 10]}{'klmnopqrst'[n // 10 % 10]}{'uvwxyz'[n // 100]}" for n in range(600)
    ]

    def drawn(count: int) -> Iterator[Sampled]:
        for number in range(count):
            yield sampled(number, " ".join(chance.choices(vocabulary, k=40)))

    assert words_of(list(drawn(500)), list(drawn(1500))) == []


def test_rising_words_of_an_archive_are_shown_as_written(tmp_path: Path) -> None:
    storage = SqliteStorage(tmp_path / "newsbot.db")
    for number in range(160):
        text, moment = f"Обычные новости города {number}.", NOW - timedelta(days=1, hours=4 * number + 1)
        storage.articles.store(_at(number, "Новости", text, moment))
    for number in range(200, 240):
        text = f"Ночью вода пришла в город, закрыты дороги {number}."
        storage.articles.store(_at(number, "Наводнение", text, NOW - timedelta(minutes=number)))
    with closing(ArticleSearch(tmp_path / "search.db", storage.articles)) as search:
        search.follow()
        (found,) = search.rising(NOW, 5)  # all these articles are about one event
        assert found == RisingTerm("Наводнение", share=1.0, before=0.0)
        assert len(search.find(found.word, limit=50)) == 40
        assert search.rising(NOW + timedelta(days=90), 5) == []
    storage.close()


def _at(number: int, title: str, text: str, moment: datetime) -> Article:
    site = f"site{number % 20}.test"
    return make_article(f"n{number}", text, title=title, source=site, published_at=moment, fetched_at=moment)
