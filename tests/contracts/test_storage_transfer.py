"""Copying everything from one storage to another, for every pair of backends."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from newsbot.apps.transfer.copies import AliasCopy, ArticleCopy, PageCopy, TextCopy, copies_of
from newsbot.storage.base import DAY, Poll, SiteRecord, Storage
from newsbot.storage.sqlite import SqliteStorage
from newsbot.urls import fingerprint
from tests.contracts.storage_backends import Place
from tests.contracts.storage_samples import NOON, make_article, make_page, owner_of
from tests.searching import find

TEXT = "Text that another page has too."
COPIES = 1203
"""More than a batch, and not a multiple of it."""


@pytest.fixture
def storage(place: Place) -> Iterator[Storage]:
    """The storage under test, empty."""
    opened = place.open()
    yield opened
    opened.close()


@pytest.fixture
def other(tmp_path: Path) -> Iterator[SqliteStorage]:
    """Another storage, to copy to and from."""
    with closing(SqliteStorage(tmp_path / "other.db")) as opened:
        yield opened


def fill(storage: Storage) -> None:
    page = make_page("linked", referrers=tuple(f"from/{number}" for number in range(90)), depth=4)
    page.history = [{"at": 1.5, "event": "discovered", "where": "feed"}]
    storage.pages.discover([page, make_page("alone"), make_page("elsewhere", source="other.example")])
    for hours in range(34):
        storage.articles.store(make_article("changing", f"Version {hours}", hours=hours, discovered_at=NOON))
    storage.articles.store(make_article("first", TEXT, published_at=None, authors=["A", "Б"], tags=["x"]))
    storage.articles.store(make_article("second", TEXT))
    storage.articles.store(
        make_article("theirs", TEXT, source="other.example", url="https://other.example/amp/theirs")
    )
    for number in range(3):
        storage.articles.store(make_article(f"copy{number}", TEXT, url=f"https://example.org/print/{number}"))
    storage.articles.store(
        make_article("bare", "Never hashed.", content_hash="", fetched_at=None, language=None)
    )
    storage.stories.assign("https://example.org/first", "s1", "https://other.example/theirs")


def all_of(
    storage: Storage,
) -> tuple[list[PageCopy], list[ArticleCopy], list[TextCopy], list[AliasCopy]]:
    return (
        list(copies_of(storage).read("pages")),
        list(copies_of(storage).read("articles")),
        list(copies_of(storage).read("texts")),
        list(copies_of(storage).read("aliases")),
    )


def take_all(target: Storage, source: Storage) -> None:
    pages, articles, texts, aliases = all_of(source)
    copies_of(target).write("pages", pages)
    copies_of(target).write("articles", articles)
    copies_of(target).write("texts", texts)
    copies_of(target).write("aliases", aliases)


@pytest.mark.parametrize("there", [True, False])
def test_a_copy_answers_like_the_original(storage: Storage, other: SqliteStorage, there: bool) -> None:
    source, target = (other, storage) if there else (storage, other)
    fill(source)
    take_all(target, source)
    take_all(target, source)
    assert all_of(target) == all_of(source)
    for url in ("https://example.org/changing", "https://example.org/second", "https://other.example/theirs"):
        assert target.articles.get(url) == source.articles.get(url)
        assert target.articles.versions(url) == source.articles.versions(url)
    assert len(target.articles.versions("https://example.org/changing")) == 31
    found = [(hit.article.canonical_url, hit.snippet) for hit in find(target, "another page")]
    assert sorted(found) == sorted(
        (hit.article.canonical_url, hit.snippet) for hit in find(source, "another page")
    )
    assert len(found) == 2
    assert target.stories.recent(min_members=1) == source.stories.recent(min_members=1)


def test_a_copy_behaves_like_the_original_afterwards(storage: Storage, other: SqliteStorage) -> None:
    fill(other)
    take_all(storage, other)
    again = [
        make_article("changing", "Version 34", hours=40),
        make_article("changing", "Version 3", hours=41),
        make_article("third", TEXT),
        make_article("first", "Its text has changed.", published_at=None, hours=1),
    ]
    assert [storage.articles.store(article) for article in again] == [
        other.articles.store(article) for article in again
    ]
    pages = [make_page("linked", referrers=tuple(f"from/{number}" for number in range(80, 200)))]
    for one in (storage, other):
        one.pages.discover(pages)
    assert all_of(storage) == all_of(other)


def test_existing_records_are_not_overwritten(storage: Storage, other: SqliteStorage) -> None:
    storage.pages.discover([make_page("linked", depth=1)])
    storage.articles.store(make_article("first", "Another text."))
    fill(other)
    take_all(storage, other)
    key = fingerprint("https://example.org/linked")
    assert storage.pages.get([key])[key].depth == 1
    kept = storage.articles.get("https://example.org/first")
    assert kept is not None
    assert kept.text == "Another text."


def behind_any_key(copies: Callable[..., Iterator[ArticleCopy | TextCopy | AliasCopy]]) -> None:
    found = list(copies())
    assert len(found) > 2
    assert list(copies(found[1].key)) == found[2:]


def test_copying_can_continue_after_any_key_and_be_limited_to_sites(storage: Storage) -> None:
    storage.pages.discover([make_page(f"p{number}") for number in range(COPIES)])
    storage.pages.discover([make_page(f"q{number}", source="other.example") for number in range(30)])
    fill(storage)
    whole = list(copies_of(storage).read("pages"))
    assert len(whole) == COPIES + 33
    assert [copy.key for copy in whole] == sorted({copy.key for copy in whole})
    for place in (0, 499, 500, COPIES):
        assert list(copies_of(storage).read("pages", whole[place].key)) == whole[place + 1 :]
    assert list(copies_of(storage).read("pages", whole[-1].key)) == []
    behind_any_key(partial(copies_of(storage).read, "articles"))
    behind_any_key(partial(copies_of(storage).read, "texts"))
    behind_any_key(partial(copies_of(storage).read, "aliases"))
    sites = ["other.example", "unknown.example"]
    assert {copy.page.source for copy in copies_of(storage).read("pages", "", sites)} == {"other.example"}
    assert [copy.article.source for copy in copies_of(storage).read("articles", "", sites)] == [
        "other.example"
    ]
    assert [copy.source for copy in copies_of(storage).read("texts", "", sites)] == ["other.example"]
    (theirs,) = copies_of(storage).read("articles", "", sites)
    assert [copy.article for copy in copies_of(storage).read("aliases", "", sites)] == [theirs.fingerprint]


def test_texts_and_urls_of_missing_articles_are_left_out(storage: Storage, other: SqliteStorage) -> None:
    fill(other)
    copies_of(storage).write("texts", list(copies_of(other).read("texts")))
    copies_of(storage).write("aliases", list(copies_of(other).read("aliases")))
    assert list(copies_of(storage).read("texts")) == []
    assert list(copies_of(storage).read("aliases")) == []
    assert owner_of(storage, make_article("x", TEXT).content_hash) is None


def test_the_record_of_a_site_is_replaced_as_a_whole(storage: Storage) -> None:
    record = SiteRecord(
        source="example.org",
        counters={"errors/a.b$c": 2.0, "fetched": 9.0},
        last_error="x",
        last_error_at=7.0,
    )
    storage.sites.add(
        [SiteRecord(source="example.org", counters={"fetched": 5.0, "old": 1.0}, last_article=9.0)]
    )
    copies_of(storage).put_sites([record])
    copies_of(storage).put_sites([record])
    assert storage.sites.all() == {"example.org": record}


def fill_books(storage: Storage) -> None:
    for name in ("a", "b", "c", "d"):
        storage.articles.store(make_article(name, f"Text of {name}."))
    storage.stories.join(["https://example.org/a", "https://example.org/b"])
    storage.stories.join(["https://example.org/b", "https://example.org/not stored yet"])
    storage.notes.save("hub", "https://hub.example/ ключ", {"until": 12.5, "topics": ["a", "б"]})
    storage.notes.save("hub", "other", {})
    storage.notes.save("trust", "other", {"score": 0.5})
    for minute in range(3):
        poll = Poll(at=DAY * 20_000 - 60 * minute + 90, new=minute, shown=20, size=999, unchanged=not minute)
        storage.sources.log_poll("https://example.org/feed", poll)
        storage.sources.log_poll("https://example.org/feed", poll)


@pytest.mark.parametrize("there", [True, False])
def test_merged_stories_notes_and_polls_are_copied(
    storage: Storage, other: SqliteStorage, there: bool
) -> None:
    source, target = (other, storage) if there else (storage, other)
    fill_books(source)
    take_all(target, source)
    for _ in range(2):
        copies_of(target).write("books", list(copies_of(source).read("books")))
    assert sorted(map(repr, copies_of(target).read("books"))) == sorted(
        map(repr, copies_of(source).read("books"))
    )
    for kind in ("hub", "trust"):
        assert target.notes.all(kind) == source.notes.all(kind)
        assert target.notes.all(kind)
    assert list(target.sources.polls()) == list(source.sources.polls())
    assert len(list(target.sources.polls())) == 3
    # an article that is stored later still finds the joined story
    kept = source.articles.get("https://example.org/a")
    assert kept is not None
    for one in (source, target):
        one.articles.store(make_article("not stored yet", "Now it is."))
        assert one.stories.join(["https://example.org/not stored yet"]).story == kept.story
        assert one.stories.join(["https://example.org/c", "https://example.org/b"]).story == kept.story


def test_more_records_than_one_batch_are_copied(storage: Storage, other: SqliteStorage) -> None:
    for number in range(1203):
        other.notes.save(f"kind {number % 3}", f"{number}", {"n": number})
    books = list(copies_of(other).read("books"))
    assert len(books) == 1203
    copies_of(storage).write("books", books)
    assert sorted(map(repr, copies_of(storage).read("books"))) == sorted(map(repr, books))


def test_existing_notes_are_not_overwritten(storage: Storage, other: SqliteStorage) -> None:
    storage.notes.save("hub", "other", {"mine": True})
    fill_books(other)
    copies_of(storage).write("books", list(copies_of(other).read("books")))
    assert storage.notes.all("hub")["other"] == {"mine": True}
