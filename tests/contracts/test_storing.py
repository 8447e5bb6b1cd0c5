"""The contract of every storage: articles and stories (:mod:`newsbot.storage.base`)."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from newsbot.items import Article, ArticleFilter
from newsbot.storage.articles import MAX_VERSIONS, NOTHING, Stored, Verdict
from newsbot.storage.base import Storage
from tests.contracts.storage_samples import NOON, make_article, owner_of


def test_an_article_is_returned_unchanged(storage: Storage) -> None:
    article = make_article(
        "a",
        summary="Кратко",
        authors=["А. Б.", "C"],
        published_source="json-ld",
        published_precision="minute",
        modified_at=NOON,
        section="World",
        tags=["x", "ё"],
        image="https://example.org/a.jpg",
        discovered_at=NOON - timedelta(minutes=1),
        story="s",
        duplicate_of="https://example.org/0",
        extraction={"title": "rule"},
    )
    assert storage.articles.store(article) == Stored(Verdict.NEW, article.canonical_url, 1)
    assert storage.articles.get(article.canonical_url) == article
    assert storage.articles.get("https://example.org/unknown") is None


def test_storing_is_idempotent(storage: Storage) -> None:
    article = make_article("a")
    storage.articles.store(article)
    again = make_article("a", hours=3)
    assert storage.articles.store(again) == Stored(Verdict.UNCHANGED, article.canonical_url, 1)
    assert list(storage.articles.iter()) == [article]
    assert storage.articles.versions(article.canonical_url) == [article]


def test_a_changed_title_or_text_makes_a_new_version(storage: Storage) -> None:
    first = make_article("a", "One text.", discovered_at=NOON)
    storage.articles.store(first)
    storage.stories.assign(first.canonical_url, "story", "https://example.org/other")
    second = make_article("a", "Two text.", hours=1, discovered_at=NOON + timedelta(hours=1))
    assert storage.articles.store(second) == Stored(Verdict.UPDATED, first.canonical_url, 2)
    third = make_article("a", "Two text.", title="Other", hours=2)
    assert storage.articles.store(third).version == 3

    kept = storage.articles.versions(first.canonical_url)
    assert [(version.version, version.title, version.text) for version in kept] == [
        (1, "Title of a", "One text."),
        (2, "Title of a", "Two text."),
        (3, "Other", "Two text."),
    ]
    present = storage.articles.get(first.canonical_url)
    assert present is not None
    assert (present.story, present.duplicate_of) == ("story", "https://example.org/other")
    assert present.discovered_at == NOON
    assert storage.articles.count() == 1


def test_an_archived_page_replaces_no_article_and_is_replaced_by_the_page_itself(storage: Storage) -> None:
    old = make_article("a", "What an archive has.", extraction={"archive": "https://web.example/a"})
    assert storage.articles.store(old, NOTHING).verdict is Verdict.NEW
    live = make_article("a", "What the site has.")
    assert storage.articles.store(live) == Stored(Verdict.UPDATED, live.canonical_url, 2)
    other = make_article("a", "What another archive has.", extraction={"archive": "https://cc.example/a"})
    assert storage.articles.store(other, NOTHING) == Stored(Verdict.UNCHANGED, live.canonical_url, 2)
    from_elsewhere = make_article("a", "What a copy has.", url="https://example.org/copy-of-a")
    assert storage.articles.store(from_elsewhere, NOTHING).verdict is Verdict.TAKEN
    kept = storage.articles.get(live.canonical_url)
    assert kept is not None
    assert (kept.text, kept.is_archived) == (live.text, False)


def test_the_first_version_and_the_latest_are_kept(storage: Storage) -> None:
    for number in range(MAX_VERSIONS + 5):
        storage.articles.store(make_article("a", title=f"Title {number}"))
    kept = [version.version for version in storage.articles.versions("https://example.org/a")]
    assert kept[0] == 1
    assert kept[-1] == MAX_VERSIONS + 5
    assert len(kept) <= MAX_VERSIONS + 1
    assert kept[1:] == list(range(kept[1], MAX_VERSIONS + 6))


def test_the_same_text_under_another_url_is_recorded_but_not_stored(storage: Storage) -> None:
    first = make_article("a", "Same text.")
    storage.articles.store(first)
    for _ in range(2):
        copy = make_article("b", "same TEXT")
        assert storage.articles.store(copy) == Stored(Verdict.SAME_TEXT, first.canonical_url, 1)
    assert storage.articles.get("https://example.org/b") == first
    assert storage.articles.count() == 1
    assert owner_of(storage, first.content_hash) == first.canonical_url
    assert owner_of(storage, first.content_hash, source="other.org") is None


def test_an_article_is_found_under_the_address_that_was_fetched(storage: Storage) -> None:
    fetched = "https://example.org/amp/1"
    article = make_article("story/1", url=f"{fetched}?utm_source=x")
    storage.articles.store(article)
    found = storage.articles.get(fetched)
    assert found is not None
    assert found.canonical_url == "https://example.org/story/1"

    again = "https://example.org/m/1"
    assert storage.articles.store(make_article("story/1", url=again)).verdict is Verdict.UNCHANGED
    assert storage.articles.get(again) == found
    changed = make_article("story/1", "Другой текст.", url="https://example.org/print/1")
    assert storage.articles.store(changed, over=found.content_hash).verdict is Verdict.UPDATED
    copy = make_article("copy", "Другой текст.", url="https://example.org/amp/copy")
    assert storage.articles.store(copy).verdict is Verdict.SAME_TEXT
    for address in ("amp/1", "m/1", "print/1", "copy", "amp/copy"):
        led_to = storage.articles.get(f"https://example.org/{address}")
        assert led_to is not None, address
        assert (led_to.canonical_url, led_to.version) == ("https://example.org/story/1", 2)

    storage.articles.store(make_article("amp/1", "Сама по себе статья.", url=fetched))
    own = storage.articles.get(fetched)
    assert own is not None
    assert own.canonical_url == fetched
    storage.articles.store(make_article("story/1", "Третий текст.", url=fetched), over=changed.content_hash)
    assert storage.articles.get(fetched) == own


def test_another_source_may_carry_the_same_text(storage: Storage) -> None:
    storage.articles.store(make_article("a", "Agency text."))
    assert (
        storage.articles.store(make_article("a", "Agency text.", source="other.org")).verdict is Verdict.NEW
    )
    assert storage.articles.count() == 2


def test_a_url_that_led_to_a_known_text_may_become_an_article(storage: Storage) -> None:
    storage.articles.store(make_article("a", "Please accept cookies."))
    storage.articles.store(make_article("b", "Please accept cookies."))
    real = make_article("b", "The real text.")
    assert storage.articles.store(real).verdict is Verdict.NEW
    assert storage.articles.get("https://example.org/b") == real


def test_an_article_whose_new_text_is_that_of_another_article_is_not_updated(storage: Storage) -> None:
    first, second = make_article("a", "One."), make_article("b", "Two.")
    storage.articles.store(first)
    storage.articles.store(second)
    assert storage.articles.store(make_article("b", "One.")) == Stored(
        Verdict.SAME_TEXT, first.canonical_url, 1
    )
    assert storage.articles.get("https://example.org/b") == second
    assert len(storage.articles.versions("https://example.org/b")) == 1


def test_an_earlier_text_is_not_stored_under_another_url(storage: Storage) -> None:
    storage.articles.store(make_article("a", "Old text."))
    storage.articles.store(make_article("a", "New text."))
    assert storage.articles.store(make_article("b", "Old text.")).verdict is Verdict.SAME_TEXT
    back = storage.articles.store(make_article("a", "Old text."))
    assert (back.verdict, back.version) == (Verdict.UPDATED, 3)


def test_articles_without_a_key_are_compared_letter_by_letter(storage: Storage) -> None:
    storage.articles.store(make_article("a", "Text", content_hash=""))
    assert storage.articles.store(make_article("b", "Text", content_hash="")).verdict is Verdict.NEW
    assert storage.articles.store(make_article("a", "Text", content_hash="")).verdict is Verdict.UNCHANGED
    assert storage.articles.store(make_article("a", "TEXT", content_hash="")).verdict is Verdict.UPDATED


def test_data_from_sites_is_kept_or_sanitized(storage: Storage) -> None:
    odd = make_article(
        "odd",
        "zero \x00 byte, half a sign \ud83d, emoji 🙂 " + "long " * 200_000,
        title="\udc00 title",
        authors=["\ud800"],
        published_at=datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC),
        modified_at=datetime(1, 1, 1, tzinfo=UTC),
        fetched_at=None,
    )
    storage.articles.store(odd)
    kept = storage.articles.get(odd.canonical_url)
    assert kept is not None
    assert kept.title == "? title"
    assert kept.text.startswith("zero \x00 byte, half a sign ?, emoji 🙂 long")
    assert kept.authors == ["?"]
    assert (kept.published_at, kept.modified_at) == (odd.published_at, odd.modified_at)
    assert kept.fetched_at is None


def test_rights_are_updated_without_a_new_version(storage: Storage) -> None:
    kept = make_article("a", rights={"noai": "meta"})
    storage.articles.store(kept)
    found = storage.articles.get(kept.canonical_url)
    assert found is not None
    assert found.rights == {"noai": "meta"}
    storage.articles.save_rights(
        kept.canonical_url, {"tdm-reservation": "header", "tdm-policy": "https://a.test/p"}
    )
    storage.articles.save_rights("https://example.org/unknown", {"noai": "meta"})
    found = storage.articles.get(kept.canonical_url)
    assert found is not None
    assert found.rights == {"tdm-reservation": "header", "tdm-policy": "https://a.test/p"}
    assert found.version == 1
    assert storage.articles.count() == 1


def test_the_origin_of_a_stored_article_is_added_without_a_new_version(storage: Storage) -> None:
    article = make_article("a", "The text of a.", published_at=None)
    storage.articles.store(article)
    cursor = storage.articles.changes_since().cursor
    at = datetime(2024, 5, 4, 3, 2, 1, 5, tzinfo=UTC)
    article.published_at, article.published_source, article.published_precision = at, "feed", "second"
    article.authors, article.extraction = ["Ann O'Hara"], {"title": "h1", "authors": "feed"}
    storage.articles.save_origin(article)
    kept = storage.articles.get(article.canonical_url)
    assert kept is not None
    assert (kept.published_at, kept.published_source, kept.published_precision) == (at, "feed", "second")
    assert (kept.authors, kept.extraction, kept.version) == (["Ann O'Hara"], article.extraction, 1)
    assert [one.article for one in storage.articles.changes_since(cursor).found] == [kept]
    assert storage.articles.newest(ArticleFilter(until=at + timedelta(seconds=1)), limit=5) == [kept]
    article.content_hash = "another text"
    article.authors = []
    storage.articles.save_origin(article)
    storage.articles.save_origin(make_article("unknown", "Never stored."))
    assert storage.articles.get(article.canonical_url) == kept
    assert storage.articles.count() == 1


def test_stories_by_their_newest_member(storage: Storage) -> None:
    for name, story, hours in (
        ("a", "s", 0),
        ("b", "s", -1),
        ("c", "t", 5),
        ("d", "t", 4),
        ("e", "alone", 9),
    ):
        storage.articles.store(make_article(name, name, hours=hours, source=f"{name}.org"))
        storage.stories.assign(f"https://{name}.org/{name}", story, None)
    storage.stories.assign("https://nowhere.org/x", "s", None)

    def kept_as(name: str) -> Article:
        kept = storage.articles.get(f"https://{name}.org/{name}")
        assert kept is not None
        return kept

    found = storage.stories.recent()
    assert [story.story for story in found] == ["t", "s"]
    assert [article.source for article in found[1].members] == ["b.org", "a.org"]
    assert found[1].members[0] == replace(kept_as("b"), text="")
    assert found[0].sources == {"c.org", "d.org"}
    assert [story.story for story in storage.stories.recent(min_members=1)] == ["alone", "t", "s"]
    assert [story.story for story in storage.stories.recent(limit=1)] == ["t"]
    assert storage.stories.recent(limit=0) == []
    since = storage.stories.recent(since=NOON + timedelta(hours=5))
    assert [(story.story, len(story.members)) for story in since] == [("t", 2)]
    assert storage.stories.recent(min_members=3) == []
