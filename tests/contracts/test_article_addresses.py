"""The contract of every storage: which page owns an article's URL, and articles that get a new URL."""

from __future__ import annotations

import multiprocessing
from multiprocessing.synchronize import Barrier

from newsbot.items import ArticleFilter
from newsbot.storage.articles import Stored, Verdict, story_id
from newsbot.storage.base import Storage
from newsbot.urls import fingerprint
from tests import warm
from tests.contracts.storage_backends import Place
from tests.contracts.storage_samples import make_article, owner_of
from tests.searching import find

SITE = "https://example.org"
A, B, C = f"{SITE}/a", f"{SITE}/b", f"{SITE}/c"


def addresses(storage: Storage) -> list[str]:
    return sorted(one.canonical_url for one in storage.articles.iter())


def found(storage: Storage, query: str) -> list[str]:
    return sorted(hit.article.canonical_url for hit in find(storage, query))


# --- the page that owns a URL
def test_another_page_does_not_replace_an_article(storage: Storage) -> None:
    first = make_article("b", "The harbour is open.", url=A)
    storage.articles.store(first)
    for other in (B, C):
        second = make_article("b", "The theatre is closed.", url=other)
        assert storage.articles.store(second) == Stored(Verdict.TAKEN, B, 1)
        assert storage.articles.store(second, over="another text") == Stored(Verdict.TAKEN, B, 1)
    assert storage.articles.get(B) == first
    assert storage.articles.versions(B) == [first]
    assert storage.articles.get(C) is None, "the URL must not find an article"
    assert found(storage, "theatre") == []


def test_a_text_that_was_refused_may_be_stored_under_another_url(storage: Storage) -> None:
    storage.articles.store(make_article("b", "The harbour is open.", url=A))
    storage.articles.store(make_article("b", "The theatre is closed.", url=C))
    assert owner_of(storage, make_article("c", "The theatre is closed.").content_hash) is None
    assert storage.articles.store(make_article("c", "The theatre is closed.")).verdict is Verdict.NEW


def test_another_page_that_was_compared_replaces_an_article(storage: Storage) -> None:
    first = make_article("b", "The harbour is open.", url=A)
    storage.articles.store(first)
    second = make_article("b", "The harbour is open again.", url=B)
    assert storage.articles.store(second, over=first.content_hash) == Stored(Verdict.UPDATED, B, 2)
    third = make_article("b", "The harbour is shut.", url=A)
    assert storage.articles.store(third, over=first.content_hash).verdict is Verdict.TAKEN, (
        "the expected version is no longer stored"
    )


def test_the_same_page_under_another_form_of_its_address_replaces_its_article(storage: Storage) -> None:
    storage.articles.store(
        make_article("b", "The harbour is open.", url="http://www.example.org/a?utm_source=x")
    )
    assert storage.articles.store(make_article("b", "The harbour is shut.", url=A)).verdict is Verdict.UPDATED


def test_a_url_that_leads_to_an_article_cannot_be_taken_by_a_page_that_only_names_it(
    storage: Storage,
) -> None:
    storage.articles.store(make_article("a", "The harbour is open.", url=B))
    assert storage.articles.store(make_article("b", "The theatre is closed.", url=C)) == Stored(
        Verdict.TAKEN, A, 1
    )
    found_there = storage.articles.get(B)
    assert found_there is not None
    assert found_there.canonical_url == A
    own = make_article("b", "The theatre is closed.", url=B)
    assert storage.articles.store(own) == Stored(Verdict.NEW, B, 1), "the page has an article of its own now"


# --- a new URL
def test_an_article_that_gets_another_url_keeps_all_its_data(storage: Storage) -> None:
    for version, text in enumerate(("The river rose.", "The river fell.", "The river is calm.")):
        storage.articles.store(make_article("b", text, url=A, hours=version))
    calm = make_article("b", "The river is calm.", url=A)
    storage.articles.store(make_article("copy", "The river is calm."))
    other = make_article("other", "The river, calm it is.", duplicate_of=B, derived_from=[B, f"{SITE}/x"])
    storage.articles.store(other)
    assert storage.articles.readdress(B, calm.content_hash, A)
    assert storage.articles.get(B) is None
    kept = storage.articles.versions(A)
    assert [one.text for one in kept] == ["The river rose.", "The river fell.", "The river is calm."]
    assert {one.canonical_url for one in kept} == {A}
    assert [one.version for one in kept] == [1, 2, 3]
    assert storage.articles.get(f"{SITE}/copy") == kept[-1]
    assert found(storage, "calm") == [A, f"{SITE}/other"]
    assert found(storage, "rose") == []
    for text in ("The river rose.", "The river is calm."):
        assert owner_of(storage, make_article("x", text).content_hash) == A
        assert storage.articles.store(make_article("x", text)).verdict is Verdict.SAME_TEXT
    named = storage.articles.get(f"{SITE}/other")
    assert named is not None
    assert (named.duplicate_of, named.derived_from) == (A, [A, f"{SITE}/x"])


def test_an_article_gets_another_spelling_of_its_url(storage: Storage) -> None:
    storage.articles.store(make_article("a", "The theatre is closed."))
    first = make_article("b", "The river is calm.", url=f"{B}?utm_source=x")
    joined = storage.articles.store(first, peers=[A]).joined
    cursor, spelled = storage.articles.end_of_changes(), B.replace("https://", "http://www.")
    assert storage.articles.readdress(B, first.content_hash, spelled, spelled)
    kept = storage.articles.get(B)
    assert kept is not None
    assert joined is not None
    assert (kept.canonical_url, kept.url, kept.story) == (spelled, spelled, joined.story)
    assert addresses(storage) == [spelled, A]
    changes = storage.articles.changes_since(cursor).found
    assert [(one.fingerprint, one.article) for one in changes] == [(fingerprint(B), kept)]


def test_the_old_url_is_free_after_the_change(storage: Storage) -> None:
    first = make_article("b", "The river is calm.", url=A)
    storage.articles.store(first)
    assert storage.articles.readdress(B, first.content_hash, A)
    assert storage.articles.store(make_article("b", "The theatre is closed.", url=B)) == Stored(
        Verdict.NEW, B, 1
    )
    assert addresses(storage) == [A, B]
    assert (found(storage, "calm"), found(storage, "theatre")) == ([A], [B])
    updated = make_article("a", "The river is wild.", url=A)
    assert storage.articles.store(updated) == Stored(Verdict.UPDATED, A, 2)
    assert (found(storage, "wild"), found(storage, "calm")) == ([A], [])


def test_the_url_of_a_changed_or_missing_article_is_not_replaced(storage: Storage) -> None:
    first = make_article("b", "The river is calm.", url=A)
    storage.articles.store(first)
    assert not storage.articles.readdress(B, "another text", A)
    assert not storage.articles.readdress(C, first.content_hash, A)
    assert addresses(storage) == [B]


def test_the_url_of_another_article_is_not_taken(storage: Storage) -> None:
    first = make_article("b", "The river is calm.", url=A)
    storage.articles.store(first)
    storage.articles.store(make_article("a", "The theatre is closed."))
    assert not storage.articles.readdress(B, first.content_hash, A)
    assert addresses(storage) == [A, B]


def test_changing_the_url_is_idempotent(storage: Storage) -> None:
    first = make_article("b", "The river is calm.", url=A)
    storage.articles.store(first)
    assert storage.articles.readdress(B, first.content_hash, A)
    assert not storage.articles.readdress(B, first.content_hash, A)
    assert addresses(storage) == [A]


def test_a_story_follows_its_article_and_a_new_story_may_use_the_old_url(storage: Storage) -> None:
    first = make_article("b", "The river is calm.", url=A, story=story_id(B))
    storage.articles.store(first)
    other = "https://other.org/c"
    storage.articles.store(
        make_article("c", "The calm river.", source="other.org", story=story_id(other), hours=1)
    )
    storage.stories.join([B, other])
    assert storage.articles.readdress(B, first.content_hash, A)
    storage.articles.store(make_article("b", "The theatre is closed.", url=B, story=story_id(B)))
    storage.stories.join([B])
    stories = {one.canonical_url: one.story for one in storage.articles.iter()}
    assert stories[A] == stories[other]
    assert stories[B] == story_id(B)
    assert storage.articles.count(ArticleFilter(story=story_id(A))) == 2
    assert storage.stories.join([B, A]).story in stories.values(), (
        "an article that is similar to both joins the stories"
    )
    assert len({one.story for one in storage.articles.iter()}) == 1


def test_a_story_that_was_merged_into_another_stays_merged(storage: Storage) -> None:
    older = make_article("c", "The calm river.", source="other.org", story=story_id("https://other.org/c"))
    storage.articles.store(older)
    first = make_article("b", "The river is calm.", url=A, story=story_id(B), hours=1)
    storage.articles.store(first)
    storage.stories.join([B, "https://other.org/c"])
    assert storage.articles.readdress(B, first.content_hash, A)
    storage.articles.store(make_article("b", "The theatre is closed.", url=B, story=story_id(B), hours=2))
    storage.stories.join([B])
    stories = {one.canonical_url: one.story for one in storage.articles.iter()}
    assert stories[A] == stories["https://other.org/c"] != stories[B]


def _claim_at_once(place: Place, barrier: Barrier, name: str, answers: multiprocessing.Queue[str]) -> None:
    storage = place.open()
    try:
        for turn in range(15):
            article = make_article(f"all/{turn}", f"Text {turn} of {name}.", url=f"{SITE}/{name}/{turn}")
            barrier.wait(60)
            answers.put(storage.articles.store(article).verdict)
    finally:
        storage.close()


def test_only_one_of_the_processes_that_claim_a_url_gets_it(place: Place) -> None:
    place.open().close()
    context = warm.context()
    barrier, answers = context.Barrier(3), context.Queue()
    workers = [
        context.Process(target=_claim_at_once, args=(place, barrier, name, answers))
        for name in ("x", "y", "z")
    ]
    for worker in workers:
        worker.start()
    got = sorted(answers.get(timeout=120) for _ in range(3 * 15))
    for worker in workers:
        worker.join(60)
        assert worker.exitcode == 0
    assert got == ["new"] * 15 + ["taken"] * 30
    storage = place.open()
    assert [one.version for one in storage.articles.iter()] == [1] * 15
    storage.close()


# --- several at once
def test_several_articles_are_read_in_one_call_by_any_of_their_urls(storage: Storage) -> None:
    assert storage.articles.get_many([]) == {}
    first = make_article("a", "The harbour is open.", url=f"{SITE}/amp/a")
    second = make_article("b", "The theatre is closed.", url=B)
    storage.articles.store(first)
    storage.articles.store(second)
    assert storage.articles.get_many([A, B, C, f"{SITE}/amp/a", B]) == {
        A: first,
        B: second,
        f"{SITE}/amp/a": first,
    }
    keys = {url: fingerprint(url) for url in (A, B, C, f"{SITE}/amp/a")}
    assert storage.articles.known(list(keys.values())) == {*keys.values()} - {keys[C]}
    assert storage.articles.known([]) == set()


def test_the_owners_of_several_texts_are_read_in_one_call(storage: Storage) -> None:
    first, second = make_article("a", "The harbour is open."), make_article("b", "The theatre is closed.")
    for one in (first, second, make_article("b", "The theatre is open.")):
        storage.articles.store(one)
    texts = [("example.org", one.content_hash) for one in (first, second)]
    assert storage.texts.owners([*texts, ("other.org", first.content_hash), ("example.org", "none")]) == {
        texts[0]: A,
        texts[1]: B,  # an earlier text
    }
    assert storage.texts.owners([]) == {}
