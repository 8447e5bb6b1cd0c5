"""The lookup keys of a text: the lowest hashes of its runs of five words."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from newsbot.dedup.index import PASSAGES, RUN, SHARED, SHINGLE, IndexedText, lowest_runs, near_of, signature
from tests.test_dedup_minhash import edited, text_of


def shared(one: str, other: str) -> int:
    return len(np.intersect1d(signature(one).passages, signature(other).passages))


@given(st.lists(st.integers(0, 9), max_size=120))
def test_passages_are_the_lowest_distinct_hashes_of_runs(numbers: list[int]) -> None:
    """Texts with few distinct words have repeated runs. Equal runs have equal hashes in any context."""
    sums = np.array(numbers, dtype=np.uint64) << np.uint64(50)
    apart = RUN - SHINGLE
    runs = {(int(a) * 0xD6E8FEB86659FD93 + int(b)) % 2**64 for a, b in zip(sums, sums[apart:], strict=False)}
    assert lowest_runs(sums, SHINGLE).tolist() == sorted(runs)[:PASSAGES]


@pytest.mark.parametrize(("words", "passages"), [(0, 2), (4, 2), (24, 2), (25, PASSAGES), (30, PASSAGES)])
def test_a_short_text_is_found_by_two_hashes_of_the_whole(words: int, passages: int) -> None:
    assert len(signature(" ".join(text_of(1, words))).passages) == passages


def test_case_and_signs_make_no_difference() -> None:
    text = " ".join(text_of(1))
    assert shared(text, text.upper().replace(" ", " — ")) == PASSAGES


def test_texts_without_anything_in_common_share_none() -> None:
    assert [shared(" ".join(text_of(1)), " ".join(text_of(seed))) for seed in range(2, 50)] == [0] * 48


@pytest.mark.parametrize("length", [120, 160, 250])
def test_an_excerpt_shares_enough_passages(length: int) -> None:
    """A text is cut at any place and gets a new beginning. Up to 5 % of the shortest texts may be missed."""
    enough = 0
    for seed in range(100):
        words = text_of(seed, 400)
        start = random.Random(seed).randrange(400 - length)
        cut = [*text_of(1000 + seed, 20), *words[start : start + length]]
        enough += shared(" ".join(words), " ".join(cut)) >= SHARED
    assert enough >= 95


def test_an_edited_text_shares_enough_passages() -> None:
    """Replacing one in ten words leaves a similarity of about .55."""
    words = [text_of(seed) for seed in range(50)]
    assert all(shared(" ".join(one), edited(one, 0.1, seed)) >= SHARED for seed, one in enumerate(words))


@pytest.mark.parametrize(("own", "comes_back"), [(5, True), (60, True), (400, False)])
def test_a_candidate_is_returned_if_it_may_be_an_excerpt(own: int, comes_back: bool) -> None:
    """The text has 120 words of a text of 500 words, followed by an increasing number of other words."""
    words = text_of(3, 500)
    long, cut = signature(" ".join(words)), signature(" ".join([*words[:120], *text_of(9, own)]))
    record: Any = IndexedText("long", "a.org", long.packed(), long.shingles, 0)
    assert bool(near_of(cut, [record])) is comes_back
