"""The contract of all storages and of the search: posts are apart from articles, and kinds are kept."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from newsbot.apps.search.articles import ArticleSearch
from newsbot.apps.search.query import FormField, Labels
from newsbot.frontier.base import Frontier
from newsbot.items import ArticleFilter, Kind, Medium
from newsbot.storage.base import SourceRecord, Storage
from tests.contracts.frontier_backends import FakeClock, make_entry
from tests.contracts.storage_samples import make_article, make_page

PICTURE = Medium(type="image", url="https://example.org/a.jpg", width=800, bytes=2_000_000, caption="Мост")


def test_posts_are_counted_and_listed_apart(storage: Storage) -> None:
    for number, form in enumerate(("article", "post", "post", "gallery")):
        source = "example.org" if number < 3 else "other.example"
        storage.articles.store(
            make_article(f"{number}", f"text {number}", hours=number, form=form, source=source)
        )
    count = storage.articles.count
    assert [count(ArticleFilter(posts=posts)) for posts in (None, True, False)] == [4, 2, 2]
    assert count(ArticleFilter(source="example.org", posts=False)) == 1
    assert count(ArticleFilter(source="other.example", posts=True)) == 0
    newest = storage.articles.newest(ArticleFilter(posts=False), limit=5)
    assert [one.form for one in newest] == ["gallery", "article"]
    assert {one.form for one in storage.articles.iter(ArticleFilter(posts=True))} == {"post"}


def test_media_of_an_article_are_kept(storage: Storage) -> None:
    storage.articles.store(
        make_article("a", media=[PICTURE, {"type": "video", "url": "https://example.org/v"}])
    )
    kept = storage.articles.get("https://example.org/a")
    assert kept is not None
    assert kept.media == [PICTURE, {"type": "video", "url": "https://example.org/v"}]


def test_kinds_of_readers_are_kept(storage: Storage, frontier: Frontier, clock: FakeClock) -> None:
    kind = Kind("timeline", like=Kind.SITEMAP)
    page = make_page("feed", kind=kind)
    storage.pages.save([page])
    storage.sources.save([SourceRecord(url=page.url, source="example.org", kind=kind)])
    assert storage.pages.get([page.fingerprint])[page.fingerprint].kind is kind
    assert [one.kind for one in storage.sources.best("example.org", kind, 2)] == [kind]
    assert storage.sources.best("example.org", Kind.SITEMAP, 2) == []
    frontier.add([make_entry("feed", kind=kind)])
    (lease,) = frontier.lease("one", 1, horizon=clock.now, ttl=60)
    assert lease.entry.kind is kind
    assert (lease.entry.kind.is_listing, lease.entry.kind.is_sitemap) == (True, True)


def test_the_kind_of_an_app_that_is_left_out_is_like_a_feed(storage: Storage) -> None:
    storage.pages.save([make_page("feed", kind=Kind("never-declared"))])
    (page,) = storage.pages.iter(kind=Kind("never-declared"))
    assert (page.kind.value, page.kind.like, page.kind.is_source) == ("never-declared", Kind.FEED, True)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("bridge", {"report", "gallery"}),
        ("form:post bridge", {"short"}),
        ("form:any bridge", {"report", "gallery", "short"}),
        ("form:POST OR gallery", {"short", "gallery"}),
        ("bridge -form:gallery", {"report", "short"}),
        ("", {"report", "gallery"}),
    ],
)
def test_posts_are_found_only_if_the_query_asks_for_them(
    storage: Storage, tmp_path: Path, query: str, expected: set[str]
) -> None:
    for number, (path, form) in enumerate((("report", "article"), ("short", "post"), ("gallery", "gallery"))):
        storage.articles.store(
            make_article(path, f"The bridge and the ferry {path}.", hours=number, form=form)
        )
    labels = Labels({"form": FormField({})})
    with closing(ArticleSearch(tmp_path / "search.db", storage.articles, labels=labels)) as search:
        search.follow()
        found = {hit.article.canonical_url.rpartition("/")[2] for hit in search.find(query)}
        assert found == expected
        assert search.counts(query).total == len(expected)


def test_a_post_has_an_event_of_its_own(storage: Storage, tmp_path: Path) -> None:
    text = "The council of Northport closed the harbour bridge after a crack was found on Tuesday morning."
    for number, form in enumerate(("article", "article", "post")):
        storage.articles.store(
            make_article(
                f"e{number}",
                f"{text} {number}",
                title="Bridge of Northport closed",
                form=form,
                language="en",
                hours=number,
                source=f"s{number}.example",
            )
        )
    labels = Labels({"form": FormField({})})
    with closing(ArticleSearch(tmp_path / "search.db", storage.articles, labels=labels)) as search:
        search.follow()
        events = search.events_of(storage.articles.iter())
    assert events["https://s0.example/e0"] == events["https://s1.example/e1"]
    assert events["https://s2.example/e2"] != events["https://s0.example/e0"]
