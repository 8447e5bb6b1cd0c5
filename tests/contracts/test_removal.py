"""What every storage keeps to: :mod:`newsbot.storage.removal`."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from newsbot.items import Kind
from newsbot.search.phrases import Position
from newsbot.search.query import ArticleFilter
from newsbot.storage.base import SiteRecord, SourceRecord, Storage, Verdict
from newsbot.storage.checks import PageCheck, PageChecks
from newsbot.storage.indexing import Indexing
from newsbot.storage.polls import Poll, PollLog
from newsbot.storage.removal import Removal
from newsbot.storage.results import SearchResult, SearchResults
from newsbot.storage.transfer import Transfer
from newsbot.urls import fingerprint
from tests import warm
from tests.contracts.storage_backends import Place
from tests.contracts.storage_samples import make_article, make_page


class Kept(Storage, Removal, PollLog, PageChecks, SearchResults, Transfer, Indexing):
    """What both storages are."""


@pytest.fixture
def storage(place: Place) -> Iterator[Kept]:
    opened = place.open()
    assert isinstance(opened, Removal)
    yield opened  # type: ignore[misc]
    opened.close()


def test_an_article_goes_with_all_that_belongs_to_it(storage: Kept) -> None:
    first = make_article("a", "The river rose over the old bridge.")
    storage.store(first)
    storage.store(make_article("a", "The river fell again below the bridge.", hours=1))
    storage.store(make_article("a", "The river is calm.", hours=2))
    storage.store(make_article("copy", "The river is calm."))
    named = first.canonical_url
    storage.store(
        make_article("other", "A revision about the river.", duplicate_of=named, derived_from=named)
    )
    copy = "https://example.org/copy"
    assert set(storage.addresses([first.canonical_url])) == {copy}
    assert storage.remove_articles([first.canonical_url, "https://example.org/unknown"]) == 1
    assert storage.article(first.canonical_url) is None
    assert storage.article(copy) is None
    assert storage.versions(first.canonical_url) == []
    assert [hit.article.canonical_url for hit in storage.search("river")] == ["https://example.org/other"]
    assert storage.search("calm") == storage.search("bridge") == []
    other = storage.article("https://example.org/other")
    assert other is not None
    assert (other.duplicate_of, other.derived_from) == (None, None)
    assert storage.remove_articles([first.canonical_url]) == 0


def test_an_address_that_is_an_article_by_now_is_no_other_address(storage: Kept) -> None:
    """It gave another's text once (a wall of cookies); it would be taken out with that one, and kept out."""
    one, two = make_article("one", "Accept our cookies."), make_article("two", "Accept our cookies.")
    for article in (one, two):
        storage.store(article)
    assert storage.addresses([one.canonical_url]) == [two.canonical_url]
    assert [text.urls for text in storage.repeated_texts(least=2)] == [2]
    own = storage.store(make_article("two", "The river rose over the old bridge."))
    assert own.verdict is Verdict.NEW
    assert storage.addresses([one.canonical_url]) == []
    assert storage.repeated_texts(least=2) == []
    assert list(storage.copy_aliases()) == []
    storage.store(make_article("three", "A page that moved.", url=two.canonical_url))
    assert storage.addresses(["https://example.org/three"]) == []
    assert storage.repeated_texts(least=2) == []
    assert list(storage.copy_aliases()) == []


def test_what_was_taken_out_can_be_stored_anew_under_any_url(storage: Kept) -> None:
    article = make_article("a", "The river rose over the old bridge.")
    storage.store(article)
    storage.remove_articles([article.canonical_url])
    assert storage.text_owner("example.org", article.content_hash) is None
    again = storage.store(make_article("b", "The river rose over the old bridge."))
    assert (again.verdict, again.version) == (Verdict.NEW, 1)
    later = storage.store(make_article("c", "Quite another text of a harbour."))
    assert later.verdict is Verdict.NEW
    assert [hit.article.canonical_url for hit in storage.search("harbour")] == ["https://example.org/c"]
    assert [hit.article.canonical_url for hit in storage.search("bridge")] == ["https://example.org/b"]


def test_many_at_once_leave_the_others(storage: Kept) -> None:
    articles = [make_article(str(number), f"Text number {number} of the day.") for number in range(30)]
    elsewhere = make_article("1", "Text number 1 of the day.", source="example.com")
    for article in (*articles, elsewhere):
        storage.store(article)
    assert storage.remove_articles([article.canonical_url for article in articles[:20]]) == 20
    assert storage.count_articles() == 11
    assert storage.count_articles(ArticleFilter(source="example.com")) == 1
    assert len(storage.search("number", limit=100)) == 11


def test_pages_go_with_what_was_found_on_them(storage: Kept) -> None:
    storage.discover([make_page("a"), make_page("b")])
    storage.save_checks(
        [PageCheck(url=make_page("a").url, source="example.org", at=1.0, run=1.0, status=404)]
    )
    keys = [fingerprint("https://example.org/a"), fingerprint("https://example.org/unknown")]
    assert storage.remove_pages(keys) == 1
    assert [page.url for page in storage.iter_pages()] == ["https://example.org/b"]
    assert storage.checked(keys) == {}


def test_results_of_searches_go_also_where_the_record_writes_the_url_otherwise(storage: Kept) -> None:
    page = make_page("a")
    storage.discover([make_page("a", url="https://example.org/a?utm_source=rss"), make_page("b")])
    storage.save_results([_result("https://example.org/a"), _result("https://example.org/b")])
    storage.remove_pages([page.fingerprint])
    assert [one.url for one in storage.results("s")] == ["https://example.org/b"]


def test_results_go_of_pages_without_a_record(storage: Kept) -> None:
    unknown = "https://example.org/unknown"
    storage.save_results([_result(unknown), _result("https://example.org/b")])
    assert storage.remove_pages([fingerprint(unknown)]) == 0
    assert [one.url for one in storage.results("s")] == ["https://example.org/b"]


def test_an_address_of_an_article_that_stays_leads_nowhere(storage: Kept) -> None:
    storage.store(make_article("a", "The river is calm."))
    storage.store(make_article("copy", "The river is calm."))
    copy = "https://example.org/copy"
    assert storage.article(copy) is not None
    assert storage.remove_articles([copy]) == 0
    assert storage.article(copy) is None
    assert storage.article("https://example.org/a") is not None


def _store_versions(place: Place, turns: int) -> None:
    opened = place.open()
    for turn in range(turns):
        for name in ("a", "b"):
            opened.store(make_article(name, f"Version {turn} of the text of {name}.", hours=turn % 100))
            opened.store(make_article(f"{name}-copy", f"Version {turn} of the text of {name}."))
    opened.close()


def test_nothing_is_left_half_beside_workers_that_store(storage: Kept, place: Place) -> None:
    context = warm.context()
    workers = [context.Process(target=_store_versions, args=(place, 60)) for _ in range(2)]
    for worker in workers:
        worker.start()
    urls = [make_article(name).canonical_url for name in ("a", "b", "a-copy", "b-copy")]
    removed = 0
    while any(worker.is_alive() for worker in workers):
        removed += storage.remove_articles(urls)
        for kept in storage.iter_articles():  # a version that stayed alone would have lost the ones before
            assert kept.version == 1 or storage.versions(kept.canonical_url)
        time.sleep(0.01)
    for worker in workers:
        worker.join()
        assert worker.exitcode == 0
    removed += storage.remove_articles(urls)
    assert removed > 0
    assert list(storage.copy_articles()) == []
    assert list(storage.copy_texts()) == []
    assert list(storage.copy_aliases()) == []
    assert storage.index()
    assert storage.waiting() == 0
    assert storage.search("text") == []


def _result(url: str) -> SearchResult:
    place = Position(start=0, end=5, line=1, found="river")
    return SearchResult(
        search="s", text="river", url=url, source="example.org", looked_at=1.0, positions=[place], hits=1
    )


def test_sources_and_counters_go(storage: Kept) -> None:
    feed = "https://example.org/rss"
    storage.save_sources([SourceRecord(url=url, source="example.org", kind=Kind.FEED) for url in (feed, "u")])
    storage.log_poll(feed, Poll(at=1, new=1, shown=1, size=1, unchanged=False))
    storage.count_site(SiteRecord(source="example.org", counters={"pages": 3.0}))
    assert storage.remove_sources([feed]) == 1
    assert [one.url for one in storage.sources()] == ["u"]
    assert list(storage.polls(feed)) == []
    storage.forget_site("example.org")
    assert storage.sites() == {}
