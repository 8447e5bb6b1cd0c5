"""What every storage keeps to: :mod:`newsbot.storage.articles`."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from newsbot.search.query import ArticleFilter
from newsbot.storage.base import Storage
from tests.contracts.storage_backends import Place
from tests.contracts.storage_samples import make_article


@pytest.fixture
def storage(place: Place) -> Iterator[Storage]:
    opened = place.open()
    yield opened
    opened.close()


def moment() -> float:
    """A moment between two stores."""
    time.sleep(0.01)
    now = time.time()
    time.sleep(0.01)
    return now


def names(storage: Storage, after: float, until: float, where: ArticleFilter | None = None) -> list[str]:
    found = storage.articles.changed(where, after=after, until=until)
    return [one.canonical_url.rpartition("/")[2] + str(one.version) for one in found]


def test_each_version_belongs_to_the_time_when_it_was_stored(storage: Storage) -> None:
    start = moment()
    storage.articles.store(make_article("b", "The river rose.", hours=9))
    storage.articles.store(make_article("a", "The bridge fell."))
    noon = moment()
    storage.articles.store(make_article("b", "The river rose again."))
    storage.articles.store(make_article("a", "The bridge fell."))  # unchanged
    storage.articles.store(make_article("c", "The harbour closed.", source="example.com"))
    evening = moment()
    assert names(storage, noon, evening) == ["b2", "c1"]
    assert names(storage, start, noon) == ["a1"]  # b is another one now
    assert names(storage, start, evening, ArticleFilter(source="example.com")) == ["c1"]
    assert names(storage, evening, moment()) == []
    storage.articles.save_rights("https://example.org/a", {"noai": "meta"})
    assert names(storage, evening, moment()) == ["a1"]


def test_what_changes_meanwhile_belongs_to_a_later_time(storage: Storage) -> None:
    start = moment()
    for number in range(150):
        storage.articles.store(make_article(f"n{number}", f"Text number {number} of the day."))
    noon = moment()
    found = storage.articles.changed(after=start, until=noon)
    first = next(found)
    assert first.canonical_url.endswith("/n0")
    storage.articles.store(make_article("n149", "Another text of the evening."))
    assert len(list(found)) == 148
    assert names(storage, noon, moment()) == ["n1492"]
