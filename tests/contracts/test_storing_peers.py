"""Storing an article joins its story with those of its peers, in every storage."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from newsbot.items import Article
from newsbot.storage.articles import Joined, Stored, Verdict, overlapping, story_id
from newsbot.storage.base import Storage
from tests.contracts.storage_backends import Place
from tests.contracts.storage_samples import make_article

A, B, C, D, E, F = (f"https://example.org/{name}" for name in "abcdef")


def new(url: str) -> Article:
    name = url[-1]
    return make_article(name, f"Text of {name}.", story=story_id(url), hours=ord(name))


def stories(storage: Storage) -> set[frozenset[str]]:
    """Return the articles of each story."""
    found: dict[str | None, set[str]] = defaultdict(set)
    for article in storage.articles.iter():
        found[article.story].add(article.canonical_url)
    return {frozenset(members) for members in found.values()}


def test_an_article_is_stored_with_the_story_of_its_peers(storage: Storage) -> None:
    storage.articles.store(new(A))
    assert storage.articles.store(new(B), None, [A]).joined == Joined(story_id(A), missing=False)
    (stored,) = storage.articles.store_new([new(C)], [[B]])
    assert stored == Stored(Verdict.NEW, C, 1, Joined(story_id(A), missing=False))
    assert stories(storage) == {frozenset({A, B, C})}
    assert storage.stories.current([story_id(B), story_id(C)]).keys() <= {
        story_id(A),
        story_id(B),
        story_id(C),
    }


def test_a_peer_that_is_not_stored_is_reported_and_joins_later(storage: Storage) -> None:
    (stored,) = storage.articles.store_new([new(B)], [[A]])
    assert stored is not None
    assert stored.joined is not None
    assert stored.joined.missing
    storage.articles.store(new(A))
    storage.stories.join([A])
    assert stories(storage) == {frozenset({A, B})}


def test_only_the_verdict_taken_does_not_join_stories(storage: Storage) -> None:
    for url in (A, B, C, D):
        storage.articles.store(new(url))
    taken = replace(new(A), text="Other.", content_hash="other", url=f"{E}lsewhere")
    assert storage.articles.store(taken, None, [B]) == Stored(Verdict.TAKEN, A, 1)
    assert len(stories(storage)) == 4
    updated = replace(new(A), text="Other.", content_hash="other")
    assert storage.articles.store(updated, None, [B]).verdict is Verdict.UPDATED
    copy = replace(new(C), canonical_url=F, url=F)
    assert storage.articles.store(copy, None, [B]).verdict is Verdict.SAME_TEXT
    assert storage.articles.store(new(D), None, [C]).verdict is Verdict.UNCHANGED
    assert stories(storage) == {frozenset({A, B, C, D})}


_URLS = st.sampled_from([A, B, C, D, E, F])
_PEERS = st.dictionaries(_URLS, st.lists(_URLS, max_size=2, unique=True), max_size=5)


@given(batches=st.lists(_PEERS, max_size=3))
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_joining_a_group_equals_joining_its_articles_one_by_one(
    place: Place, tmp_path_factory: pytest.TempPathFactory, batches: list[dict[str, list[str]]]
) -> None:
    outcomes = []
    for many in (True, False):
        storage = place.open_empty(tmp_path_factory.mktemp("data"))
        known: set[str] = set()
        for batch in batches:
            articles = {url: new(url) for url in batch if url not in known}
            peers = [[peer for peer in batch[url] if peer != url] for url in articles]
            if many:
                assert None not in storage.articles.store_new(list(articles.values()), peers)
            else:
                for article, mine in zip(articles.values(), peers, strict=True):
                    storage.articles.store(article, None, mine)
            for url in articles:  # as a worker does if peers are missing or there are none
                storage.stories.join([url, *batch[url]])
            known |= articles.keys()
        outcomes.append(stories(storage))
        storage.close()
    assert outcomes[0] == outcomes[1]


def test_groups_that_share_a_member_are_merged() -> None:
    assert overlapping([{"a"}, {"b", "c"}, {"d"}, {"c", "a"}]) == [{"d"}, {"a", "b", "c"}]
    assert overlapping([]) == []


def test_a_split_story_can_be_joined_again_but_not_by_the_old_ids(storage: Storage) -> None:
    for url, peers in ((A, []), (B, [A]), (C, [A]), (D, [C])):
        storage.articles.store(new(url), None, peers)
    assert stories(storage) == {frozenset({A, B, C, D})}
    ids = storage.stories.split([[A, B], [C, D]])
    assert ids == [story_id(A), story_id(C)]
    assert stories(storage) == {frozenset({A, B}), frozenset({C, D})}
    storage.articles.store(new(E), None, [D])
    assert stories(storage) == {frozenset({A, B}), frozenset({C, D, E})}
    storage.stories.join([B, E])
    assert stories(storage) == {frozenset({A, B, C, D, E})}


def test_the_id_of_a_split_story_stays_with_the_article_that_began_it(storage: Storage) -> None:
    for url, peers in ((A, []), (B, [A]), (C, [B])):
        storage.articles.store(new(url), None, peers)
    assert storage.stories.split([[B, C], [A]]) == [story_id(B), story_id(A)]
    assert stories(storage) == {frozenset({A}), frozenset({B, C})}
