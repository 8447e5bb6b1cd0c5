"""The contract of every storage: articles, pages and sources are removed with all their data."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from newsbot.apps.transfer.copies import copies_of
from newsbot.items import ArticleFilter, Kind
from newsbot.storage.articles import Verdict
from newsbot.storage.base import Poll, SiteRecord, SourceRecord, Storage
from newsbot.urls import fingerprint
from tests import warm
from tests.contracts.storage_backends import Place
from tests.contracts.storage_samples import make_article, make_page, owner_of
from tests.searching import find


@pytest.fixture
def storage(place: Place) -> Iterator[Storage]:
    opened = place.open()
    yield opened
    opened.close()


BASIS = "https://example.org/basis"


def test_an_article_is_removed_with_all_its_data(storage: Storage) -> None:
    first = make_article("a", "The river rose over the old bridge.")
    storage.articles.store(first)
    storage.articles.store(make_article("a", "The river fell again below the bridge.", hours=1))
    storage.articles.store(make_article("a", "The river is calm.", hours=2))
    storage.articles.store(make_article("copy", "The river is calm."))
    named = first.canonical_url
    storage.articles.store(
        make_article("other", "A revision about the river.", duplicate_of=named, derived_from=[BASIS, named])
    )
    copy = "https://example.org/copy"
    assert set(storage.removal.addresses([first.canonical_url])) == {copy}
    assert storage.removal.articles([first.canonical_url, "https://example.org/unknown"]) == 1
    assert storage.articles.get(first.canonical_url) is None
    assert storage.articles.get(copy) is None
    assert storage.articles.versions(first.canonical_url) == []
    assert [hit.article.canonical_url for hit in find(storage, "river")] == ["https://example.org/other"]
    assert find(storage, "calm") == find(storage, "bridge") == []
    other = storage.articles.get("https://example.org/other")
    assert other is not None
    assert (other.duplicate_of, other.derived_from) == (None, [BASIS])
    assert storage.removal.articles([first.canonical_url]) == 0


def test_the_url_of_an_article_is_not_another_url_of_its_former_duplicate(storage: Storage) -> None:
    """The URL once had another article's text (a cookie wall), but must not be removed with that article."""
    one, two = make_article("one", "Accept our cookies."), make_article("two", "Accept our cookies.")
    for article in (one, two):
        storage.articles.store(article)
    assert storage.removal.addresses([one.canonical_url]) == [two.canonical_url]
    assert [text.urls for text in storage.texts.repeated(least=2)] == [2]
    own = storage.articles.store(make_article("two", "The river rose over the old bridge."))
    assert own.verdict is Verdict.NEW
    assert storage.removal.addresses([one.canonical_url]) == []
    assert storage.texts.repeated(least=2) == []
    assert list(copies_of(storage).read("aliases")) == []
    storage.articles.store(make_article("three", "A page that moved.", url=two.canonical_url))
    assert storage.removal.addresses(["https://example.org/three"]) == []
    assert storage.texts.repeated(least=2) == []
    assert list(copies_of(storage).read("aliases")) == []


def test_a_removed_article_can_be_stored_again_under_any_url(storage: Storage) -> None:
    article = make_article("a", "The river rose over the old bridge.")
    storage.articles.store(article)
    storage.removal.articles([article.canonical_url])
    assert owner_of(storage, article.content_hash) is None
    again = storage.articles.store(make_article("b", "The river rose over the old bridge."))
    assert (again.verdict, again.version) == (Verdict.NEW, 1)
    later = storage.articles.store(make_article("c", "Quite another text of a harbour."))
    assert later.verdict is Verdict.NEW
    assert [hit.article.canonical_url for hit in find(storage, "harbour")] == ["https://example.org/c"]
    assert [hit.article.canonical_url for hit in find(storage, "bridge")] == ["https://example.org/b"]


def test_removing_many_articles_leaves_the_other_articles(storage: Storage) -> None:
    articles = [make_article(str(number), f"Text number {number} of the day.") for number in range(30)]
    elsewhere = make_article("1", "Text number 1 of the day.", source="example.com")
    for article in (*articles, elsewhere):
        storage.articles.store(article)
    assert storage.removal.articles([article.canonical_url for article in articles[:20]]) == 20
    assert storage.articles.count() == 11
    assert storage.articles.count(ArticleFilter(source="example.com")) == 1
    assert len(find(storage, "number", limit=100)) == 11


def test_page_records_are_removed(storage: Storage) -> None:
    storage.pages.discover([make_page("a"), make_page("b")])
    keys = [fingerprint("https://example.org/a"), fingerprint("https://example.org/unknown")]
    assert storage.removal.pages(keys) == 1
    assert [page.url for page in storage.pages.iter()] == ["https://example.org/b"]


def test_a_removed_url_no_longer_leads_to_its_article(storage: Storage) -> None:
    storage.articles.store(make_article("a", "The river is calm."))
    storage.articles.store(make_article("copy", "The river is calm."))
    copy = "https://example.org/copy"
    assert storage.articles.get(copy) is not None
    assert storage.removal.articles([copy]) == 0
    assert storage.articles.get(copy) is None
    assert storage.articles.get("https://example.org/a") is not None


def _store_versions(place: Place, turns: int) -> None:
    opened = place.open()
    for turn in range(turns):
        for name in ("a", "b"):
            opened.articles.store(
                make_article(name, f"Version {turn} of the text of {name}.", hours=turn % 100)
            )
            opened.articles.store(make_article(f"{name}-copy", f"Version {turn} of the text of {name}."))
    opened.close()


def test_removal_during_storing_leaves_no_incomplete_articles(storage: Storage, place: Place) -> None:
    context = warm.context()
    workers = [context.Process(target=_store_versions, args=(place, 60)) for _ in range(2)]
    for worker in workers:
        worker.start()
    urls = [make_article(name).canonical_url for name in ("a", "b", "a-copy", "b-copy")]
    removed = 0
    while any(worker.is_alive() for worker in workers):
        removed += storage.removal.articles(urls)
        for kept in storage.articles.iter():  # earlier versions must not be lost
            assert kept.version == 1 or storage.articles.versions(kept.canonical_url)
        time.sleep(0.01)
    for worker in workers:
        worker.join()
        assert worker.exitcode == 0
    removed += storage.removal.articles(urls)
    assert removed > 0
    assert list(copies_of(storage).read("articles")) == []
    assert list(copies_of(storage).read("texts")) == []
    assert list(copies_of(storage).read("aliases")) == []
    assert find(storage, "text") == []


def test_sources_and_counters_are_removed(storage: Storage) -> None:
    feed = "https://example.org/rss"
    storage.sources.save([SourceRecord(url=url, source="example.org", kind=Kind.FEED) for url in (feed, "u")])
    storage.sources.log_poll(feed, Poll(at=1, new=1, shown=1, size=1, unchanged=False))
    storage.sites.add([SiteRecord(source="example.org", counters={"pages": 3.0})])
    assert storage.removal.sources([feed]) == 1
    assert [one.url for one in storage.sources.all()] == ["u"]
    assert list(storage.sources.polls(feed)) == []
    storage.removal.site("example.org")
    assert storage.sites.all() == {}
