"""In every storage, storing many articles with one call gives the same results as one call per article."""

from __future__ import annotations

import multiprocessing
from collections import Counter
from collections.abc import Sequence
from itertools import repeat
from multiprocessing.synchronize import Barrier
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from newsbot.errors import RecordBusy, RecordRefused
from newsbot.items import Article
from newsbot.storage.articles import Stored, Verdict
from newsbot.storage.base import Storage
from tests import warm
from tests.contracts.storage_backends import Place
from tests.contracts.storage_samples import make_article, owner_of


def verdicts(results: list[Stored | Exception]) -> list[str]:
    return [str(one.verdict) if isinstance(one, Stored) else type(one).__name__ for one in results]


def store_many(
    storage: Storage, articles: list[Article], over: Sequence[str | None] = ()
) -> list[Stored | Exception]:
    """Store articles as a crawl does: those that are certainly new in a group, the others one by one."""

    def alone(article: Article, mine: str | None) -> Stored | Exception:
        try:
            return storage.articles.store(article, mine)
        except Exception as error:  # noqa: BLE001 - the test compares it
            return error

    pairs = zip(articles, over or repeat(None), strict=False)
    stored = storage.articles.store_new(articles)
    return [new or alone(*one) for new, one in zip(stored, pairs, strict=True)]


def test_storing_a_mixture_at_once(storage: Storage) -> None:
    known = make_article("known", "Known.")
    for one in (known, make_article("changing", "Old."), make_article("page", "A page.")):
        storage.articles.store(one)
    taking = make_article("page", "Other page.", url="https://example.org/elsewhere")
    batch = [
        make_article("a", "A."),
        known,
        make_article("changing", "New."),
        make_article("b", "Known."),
        taking,
        make_article("c", "C.", url="https://example.org/amp/c"),
        make_article("c", "C."),
        make_article("d", "A."),
        make_article("a", "A again."),
        make_article("e", "E."),
        make_article("f", "", content_hash=""),
        make_article("g", "", content_hash=""),
    ]
    results = store_many(storage, batch)
    assert verdicts(results) == [
        *("new", "unchanged", "updated", "same_text", "taken", "new"),
        *("unchanged", "same_text", "updated", "new", "new", "new"),
    ]
    assert results[3] == Stored(Verdict.SAME_TEXT, known.canonical_url, 1)
    assert results[8] == Stored(Verdict.UPDATED, "https://example.org/a", 2)
    assert storage.articles.get("https://example.org/e") == batch[9]
    assert storage.articles.get("https://example.org/amp/c") == batch[5]
    assert owner_of(storage, batch[9].content_hash) == "https://example.org/e"
    assert storage.articles.count() == 8
    assert len(storage.articles.changes_since().found) == 8
    assert store_many(storage, []) == []
    assert verdicts(store_many(storage, [taking], [batch[4].content_hash])) == ["taken"]
    page = make_article("page", "A page.")
    assert verdicts(store_many(storage, [taking], [page.content_hash])) == ["updated"]


def test_only_certainly_new_articles_are_stored_together(storage: Storage) -> None:
    storage.articles.store(make_article("known", "Known."))
    batch = [
        make_article("known", "Changed."),
        make_article("other", "Known."),
        make_article("aliased", "Aliased.", url="https://example.org/amp/x"),
        make_article("new", "New."),
        make_article("again", "New."),
    ]
    stored = storage.articles.store_new(batch)
    new = [Stored(Verdict.NEW, f"https://example.org/{name}", 1) for name in ("aliased", "new")]
    assert stored == [None, None, *new, None]
    assert storage.articles.count() == 3
    assert storage.articles.get("https://example.org/amp/x") == batch[2]
    assert storage.articles.store_new(batch[3:4]) == [None]
    assert storage.articles.store_new(batch[:3]) == [None] * 3
    led_to = make_article("amp/x", "Taken.", url="https://example.org/elsewhere")
    assert storage.articles.store_new([led_to, make_article("z", "Z.")]) == [
        None,
        Stored(Verdict.NEW, "https://example.org/z", 1),
    ]


@pytest.mark.parametrize("bad", ["too large", "no text", "no number"])
def test_an_article_that_cannot_be_stored_does_not_affect_others(
    storage: Storage, place: Place, bad: str
) -> None:
    wrong: Any = make_article("bad", "Bad.")
    if bad == "too large":
        if place.backend == "sqlite":
            pytest.skip("SQLite stores up to 1 GB")
        wrong.text = "long " * 4_000_000
    elif bad == "no text":
        wrong.canonical_url = None
    else:
        wrong.text = object()
    batch = [make_article("a", "A."), wrong, make_article("b", "B."), make_article("a", "A.")]
    results = store_many(storage, batch)
    assert [verdicts(results)[number] for number in (0, 2, 3)] == ["new", "new", "unchanged"]
    assert isinstance(results[1], Exception)
    if bad == "too large":
        assert isinstance(results[1], RecordRefused)
    assert storage.articles.count() == 2


_PATHS, _TEXTS = st.sampled_from("abc"), st.sampled_from(["One.", "Two.", "Three.", ""])


def _article(path: str, text: str, url: str | None, title: str) -> Article:
    more: dict[str, Any] = {} if text else {"content_hash": ""}
    return make_article(path, text, url=f"https://example.org/{url or path}", title=title, **more)


_ARTICLES = st.builds(
    _article, _PATHS, _TEXTS, st.sampled_from([None, None, "a", "b", "x"]), st.sampled_from(["T", "T", "U"])
)
_BATCHES = st.lists(st.lists(_ARTICLES, max_size=6), max_size=4)


def content(storage: Storage) -> dict[str, Any]:
    urls = [f"https://example.org/{path}" for path in "abcx"]
    texts = [make_article("a", text).content_hash for text in ("One.", "Two.", "Three.")]
    return {
        "versions": {url: storage.articles.versions(url) for url in urls},
        "found": {url: storage.articles.get(url) for url in urls},
        "owners": [owner_of(storage, text) for text in texts],
    }


@given(batches=_BATCHES)
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_storing_a_batch_equals_storing_one_by_one(
    place: Place, tmp_path_factory: pytest.TempPathFactory, batches: list[list[Article]]
) -> None:
    outcomes = []
    for many in (True, False):
        storage = place.open_empty(tmp_path_factory.mktemp("data"))
        results = [
            store_many(storage, batch) if many else [storage.articles.store(one) for one in batch]
            for batch in batches
        ]
        outcomes.append((results, content(storage)))
        storage.close()
    assert outcomes[0] == outcomes[1]


def _store_at_once(place: Place, barrier: Barrier, name: str, answers: multiprocessing.Queue[str]) -> None:
    storage = place.open()
    try:
        for turn in range(8):
            batch = [make_article(f"{turn}/{at}/{name}", f"Text {turn} {at}.") for at in range(8)]
            batch += [make_article(f"{turn}/{name}", f"Own text {turn} {name}.")]
            batch += [make_article(f"{turn}/shared", f"Shared {turn}.")]
            barrier.wait(60)
            while batch:
                results = store_many(storage, batch)
                for one, result in zip(batch, results, strict=True):
                    if isinstance(result, Stored):
                        kind = one.canonical_url.count("/") if "shared" not in one.canonical_url else "shared"
                        answers.put(f"{turn} {kind} {result.verdict}")
                busy = [isinstance(result, RecordBusy) for result in results]
                assert all(isinstance(result, Stored | RecordBusy) for result in results)
                batch = [one for one, again in zip(batch, busy, strict=True) if again]
    finally:
        storage.close()


def test_processes_with_overlapping_batches_store_each_text_once(place: Place) -> None:
    place.open().close()
    context = warm.context()
    barrier, answers = context.Barrier(3), context.Queue()
    workers = [
        context.Process(target=_store_at_once, args=(place, barrier, name, answers))
        for name in ("a", "b", "c")
    ]
    for worker in workers:
        worker.start()
    got = Counter(answers.get(timeout=120) for _ in range(3 * 8 * 10))
    for worker in workers:
        worker.join(60)
        assert worker.exitcode == 0
    for turn in range(8):
        assert got[f"{turn} 5 new"] == 8
        assert got[f"{turn} 5 same_text"] == 16
        assert got[f"{turn} 4 new"] == 3
        assert (got[f"{turn} shared new"], got[f"{turn} shared unchanged"]) == (1, 2)
    storage = place.open()
    assert storage.articles.count() == 8 * (8 + 3 + 1)
    storage.close()
