"""The contract of every storage: :mod:`newsbot.storage.base`, retention."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest

from newsbot.storage.base import Storage
from newsbot.urls import fingerprint
from tests.contracts.storage_backends import Place
from tests.contracts.storage_samples import NOON, make_article, make_page, owner_of
from tests.searching import find


@pytest.fixture
def storage(place: Place) -> Iterator[Storage]:
    opened = place.open()
    yield opened
    opened.close()


def test_old_earlier_versions_are_removed_and_the_present_version_stays(storage: Storage) -> None:
    for hours, text in ((0, "The river rose."), (10, "The river fell."), (20, "The river is calm.")):
        storage.articles.store(make_article("a", text, hours=hours))
    storage.articles.store(make_article("b", "Only one version of an old text."))
    middle = NOON + timedelta(hours=5)
    late = NOON + timedelta(hours=99)
    assert storage.removal.old_versions(NOON) == 0
    assert storage.removal.old_versions(middle) == 1
    assert storage.removal.old_versions(late) == 2
    assert storage.removal.drop_versions(middle, 10) == 1
    assert [one.text for one in storage.articles.versions("https://example.org/a")] == [
        "The river fell.",
        "The river is calm.",
    ]
    assert storage.removal.drop_versions(late, 1) == 1
    assert storage.removal.drop_versions(late, 1) == 0
    assert [one.version for one in storage.articles.versions("https://example.org/a")] == [3]
    assert storage.articles.get("https://example.org/b") is not None
    assert len(find(storage, "river")) == 1
    assert find(storage, "rose") == find(storage, "fell") == []
    storage.articles.store(make_article("a", "The river froze.", hours=30))
    assert [one.version for one in storage.articles.versions("https://example.org/a")] == [3, 4]
    assert owner_of(storage, make_article("a", "The river rose.").content_hash) is not None


def test_pages_that_are_never_due_again_lose_their_details(storage: Storage) -> None:
    event = [{"at": 5.0, "event": "fetched", "status": 200}]
    pages = [
        make_page(
            "old", referrers=("x", "y"), last_fetched=1000.0, etag="e", checks=3, history=event, state="done"
        ),
        make_page("seen", referrers=("x",)),  # first seen at 100, never fetched
        make_page("due", referrers=("x",), last_fetched=1000.0, next_due=9e9, history=event),
        make_page("new", referrers=("x",), last_fetched=5000.0, history=event),
    ]
    storage.pages.discover(pages)
    storage.pages.save(pages)
    assert storage.removal.old_pages(2000.0) == 2
    assert storage.removal.slim_pages(2000.0, 1) == 1
    assert storage.removal.slim_pages(2000.0, 10) == 1
    assert storage.removal.slim_pages(2000.0, 10) == storage.removal.old_pages(2000.0) == 0
    kept = storage.pages.get([fingerprint(page.url) for page in pages])
    old = kept[fingerprint("https://example.org/old")]
    assert (old.history, old.referrers) == ([], [])
    assert (old.url, old.state, old.last_fetched, old.etag, old.checks) == (
        *("https://example.org/old", "done", 1000.0),
        *("e", 3),
    )
    assert old.referrer_count == 2
    for name in ("due", "new"):
        page = kept[fingerprint(f"https://example.org/{name}")]
        assert page.history == event
        assert page.referrers
    storage.pages.discover([make_page("old", referrers=("z",))])
    assert storage.pages.get([old.fingerprint])[old.fingerprint].referrers == ["https://example.org/z"]
