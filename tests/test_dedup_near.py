"""Candidates are compared by their signatures, and by the largest similarity that their lengths allow."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from newsbot.dedup.index import (
    MAX_SHINGLES,
    PERMUTATIONS,
    THRESHOLD,
    IndexedText,
    Signature,
    jaccard,
    most_alike,
    near_of,
    pack,
    shingle_hashes,
    shorten,
    signature,
    similarities,
    unpack,
)
from tests.test_dedup_minhash import text_of


def kept(name: str, of: Signature) -> IndexedText:
    return unpack(pack(name, shorten(name), "a.org", of, 0))


def test_an_excerpt_does_not_count_as_a_copy_by_chance() -> None:
    """200 words out of 415 have a similarity of .48; random errors lift a third of the estimates above .5."""
    lifted = 0
    for seed in range(40):
        words = text_of(seed, 415)
        whole, cut = signature(" ".join(words)), signature(" ".join(words[100:300]))
        bound = most_alike(whole.shingles, cut.shingles)
        assert jaccard(shingle_hashes(" ".join(words)), shingle_hashes(" ".join(words[100:300]))) == bound
        lifted += float(similarities(cut.packed(), [whole.packed()])[0]) >= THRESHOLD
        for mine, other in ((cut, whole), (whole, cut)):
            (near,) = near_of(mine, [kept("other", other)])
            assert near.similarity <= bound < THRESHOLD
    assert lifted > 5


@given(st.sets(st.integers(0, 60), min_size=1), st.sets(st.integers(0, 60), min_size=1))
def test_the_bound_by_size_is_never_below_the_similarity(one: set[int], other: set[int]) -> None:
    assert len(one & other) / len(one | other) <= most_alike(len(one), len(other)) <= 1.0


def test_the_bound_by_size_can_be_reached() -> None:
    assert most_alike(5, 10) == most_alike(10, 5) == 0.5
    assert most_alike(0, 0) == 0.0


@pytest.mark.parametrize(("one", "other"), [(100_000, 400_000), (MAX_SHINGLES, 10**6), (400, 400)])
def test_texts_beyond_the_stored_size_are_compared_symmetrically(one: int, other: int) -> None:
    values = np.arange(PERMUTATIONS, dtype=np.uint32)
    two = [Signature(values, size, values[:16].astype(np.uint64)) for size in (one, other)]
    found = [near_of(mine, [kept("other", theirs)]) for mine, theirs in (two, two[::-1])]
    assert [near.similarity for (near,) in found] == [1.0, 1.0]


def test_a_text_in_a_long_digest_is_near_although_its_estimate_is_zero() -> None:
    """Of 1,000 words, the text has 40. By chance, the estimate is below the true similarity of .04."""
    lost = 0
    for seed in range(30):
        words = text_of(seed, 1000)
        digest, item = signature(" ".join(words)), signature(" ".join(words[300:340]))
        lost += not near_of(item, [kept("digest", digest)])
    assert lost == 0
