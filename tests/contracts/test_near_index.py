"""The contract of every near-duplicate index."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from newsbot.dedup.index import KEEP, MAX_CANDIDATES, PERMUTATIONS, Near, NearIndex, Signature, signature
from tests.contracts.index_backends import BACKENDS, IndexPlace, made_up
from tests.test_dedup_minhash import edited, text_of

NOW = 1_700_000_000.0


def names(found: list[Near]) -> list[str]:
    return [near.doc_id for near in found]


def of(seed: int) -> Signature:
    return signature(" ".join(text_of(seed)))


def test_a_text_with_some_words_changed_is_found_best_first(index: NearIndex) -> None:
    words = text_of(1)
    index.check_and_insert("far", "a.org", of(2), NOW)
    index.check_and_insert("close", "a.org", signature(edited(words, 0.02)), NOW)
    index.check_and_insert("same", "b.org", signature(" ".join(words)), NOW)
    found = index.check_and_insert("asked", "c.org", signature(" ".join(words)), NOW)
    assert names(found) == ["same", "close"]
    assert (found[0].source, found[0].similarity) == ("b.org", 1.0)
    assert 0.8 < found[1].similarity < 1.0


def test_near_texts_are_found_and_others_never(index: NearIndex) -> None:
    """With 5 % of the words replaced, the similarity is about .75: sixteen passages always find the text."""
    found = 0
    for seed in range(60):
        words = text_of(seed)
        index.check_and_insert(f"{seed}", "a.org", signature(" ".join(words)), NOW)
        near = index.check_and_insert(f"{seed} edited", "a.org", signature(edited(words, 0.05, seed)), NOW)
        assert set(names(near)) <= {f"{seed}"}
        found += len(near)
    assert found == 60


@pytest.mark.parametrize("first", ["whole", "cut"])
def test_an_excerpt_and_its_source_are_found_in_either_order(index: NearIndex, first: str) -> None:
    """The other text has a third of the words and a new beginning. The similarity is .3."""
    words = text_of(1, 450)
    texts = {"whole": words, "cut": [*text_of(2, 20), *words[150:300]]}
    other = "cut" if first == "whole" else "whole"
    assert index.check_and_insert(first, "a.org", signature(" ".join(texts[first])), NOW) == []
    (near,) = index.check_and_insert(other, "b.org", signature(" ".join(texts[other])), NOW)
    assert near.doc_id == first
    assert near.similarity < 0.5


def test_a_common_ending_of_a_thousand_texts_does_not_hide_the_similar_text(index: NearIndex) -> None:
    ending = ["read", "more", "about", "it", "on", "our", "channel", "every", "day", "for", "free"]
    for seed in range(MAX_CANDIDATES + 20):
        index.check_and_insert(f"{seed}", "a.org", signature(" ".join([*text_of(seed, 60), *ending])), NOW)
    again = signature(" ".join([*text_of(0, 60), *ending]))
    assert names(index.check_and_insert("again", "a.org", again, NOW)) == ["0"]


def test_the_same_document_again_replaces_itself(index: NearIndex) -> None:
    for _ in range(3):
        assert index.check_and_insert("doc", "a.org", of(1), NOW) == []
    assert index.count() == 1
    index.check_and_insert("doc", "a.org", of(2), NOW)
    assert index.check_and_insert("asks first", "a.org", of(1), NOW) == []
    assert names(index.check_and_insert("asks second", "a.org", of(2), NOW)) == ["doc"]
    assert index.count() == 3


def test_a_text_that_became_too_short_is_removed(index: NearIndex) -> None:
    index.check_and_insert("doc", "a.org", of(1), NOW)
    assert index.check_and_insert("doc", "a.org", signature("Short now."), NOW) == []
    assert index.count() == 0
    assert index.check_and_insert("asked", "a.org", of(1), NOW) == []


@pytest.mark.parametrize("text", ["", "Кратко о главном", "слово " * 10_000, "1 2 3 " * 1000])
def test_texts_with_too_few_shingles_are_not_similar_to_any_text(index: NearIndex, text: str) -> None:
    for name in ("a", "b"):
        assert index.check_and_insert(name, "a.org", signature(text), NOW) == []
    assert index.count() == 0


def test_a_short_text_is_similar_only_to_identical_texts(index: NearIndex) -> None:
    text = "The bridge over the river is closed until Monday."
    assert index.check_and_insert("a", "a.org", signature(text), NOW) == []
    for other in (text.replace("Monday", "Sunday"), f"{text} Police said so.", text[: -len(" Monday.")]):
        assert index.check_and_insert("b", "b.org", signature(other), NOW) == []
    (near,) = index.check_and_insert("c", "c.org", signature(text.upper()), NOW)
    assert near == Near("a", "a.org", 1.0)
    assert index.count() == 3


def test_old_texts_are_not_found_and_are_removed(index: NearIndex) -> None:
    same = of(1)
    index.check_and_insert("old", "a.org", same, NOW)
    assert names(index.check_and_insert("month", "a.org", same, NOW + KEEP)) == ["old"]
    assert names(index.check_and_insert("later", "a.org", same, NOW + KEEP + 1)) == ["month"]
    for number in range(100):
        index.check_and_insert(f"{number}", "a.org", of(10 + number), NOW + 3 * KEEP)
    assert index.count() == 100


def test_the_retention_of_texts_can_be_set(index_place: IndexPlace) -> None:
    same, days = of(1), 86400.0
    with closing(index_place.open(keep=90 * days)) as index:
        assert index.keep == 90 * days
        index.check_and_insert("old", "a.org", same, NOW)
        assert names(index.check_and_insert("copy", "a.org", same, NOW + 90 * days)) == ["old"]
    with closing(index_place.open(keep=2 * days)) as index:
        assert names(index.check_and_insert("later", "a.org", same, NOW + 92 * days)) == ["copy"]
        for number in range(100):
            index.check_and_insert(f"{number}", "a.org", of(10 + number), NOW + 95 * days)
        assert index.count() == 100


def test_a_clock_that_goes_back_loses_no_text(index: NearIndex) -> None:
    same = of(1)
    index.check_and_insert("first", "a.org", same, NOW)
    assert names(index.check_and_insert("earlier", "a.org", same, NOW - KEEP / 2)) == ["first"]
    assert names(index.check_and_insert("third", "a.org", same, NOW)) == ["first", "earlier"]


def test_the_newest_texts_of_a_template_are_found(index: NearIndex) -> None:
    same = of(1)
    for number in range(MAX_CANDIDATES + 30):
        index.check_and_insert(f"{number}", "a.org", same, NOW + number)
    found = names(index.check_and_insert("asked", "a.org", same, NOW + 1000))
    assert found == [f"{number}" for number in range(30, MAX_CANDIDATES + 30)]


def test_a_page_that_changes_repeatedly_does_not_hide_other_texts(index: NearIndex) -> None:
    index.check_and_insert("other", "a.org", of(1), NOW)
    for turn in range(2 * MAX_CANDIDATES + 20):
        index.check_and_insert("changing", "a.org", of(1 + turn % 2), NOW + turn)
    assert names(index.check_and_insert("asked", "a.org", of(1), NOW + 1000)) == ["other"]
    assert index.count() == 3


@pytest.mark.parametrize(
    ("doc_id", "source"),
    [
        ("https://www.bbc.co.uk/news/1", "bbc.co.uk"),
        ("https://правда.рф/новости/1", "xn--80aafi6cg.xn--p1ai"),
        ('https://a.org/%D0%BF%D1%80?x="<>\\^`{|}\x00\xff\U0001f600', "a.org"),
        ("no url at all", "somewhere.else.example"),
        ("https://a.org/" + "x" * 300, "x" * 280),
        ("https://a.org/1", ""),
        ("", "a.org"),
    ],
)
def test_ids_and_sources_are_returned_unchanged(index: NearIndex, doc_id: str, source: str) -> None:
    index.check_and_insert(doc_id, source, of(1), NOW)
    assert index.check_and_insert("asked", "c.org", of(1), NOW) == [Near(doc_id, source, 1.0)]
    assert names(index.check_and_insert(doc_id, source, of(1), NOW)) == ["asked"]


def test_the_same_answers_in_any_order_of_arrival(index_place: IndexPlace) -> None:
    """The neighbours of a text do not depend on the order of insertion."""
    texts = {
        f"{seed}/{copy}": edited(text_of(seed), 0.04 * copy, copy) for seed in range(6) for copy in range(3)
    }
    pairs = []
    for turn in range(3):
        order = sorted(texts)
        random.Random(turn).shuffle(order)
        folder = index_place.folder / f"{turn}"
        folder.mkdir()
        with closing(IndexPlace(index_place.backend, folder).open()) as index:
            pairs.append(
                {
                    frozenset((name, near.doc_id))
                    for name in order
                    for near in index.check_and_insert(name, "a.org", signature(texts[name]), NOW)
                }
            )
    assert pairs[0] == pairs[1] == pairs[2]
    assert len(pairs[0]) >= 12


# --- all backends give the same answers


def mixture(family: int, changed: int) -> Signature:
    """Return a signature that differs from that of its family in some places, which depend on ``changed``."""
    values = np.random.default_rng(family).integers(0, 2**32, PERMUTATIONS, dtype=np.uint32)
    if changed:
        other = np.random.default_rng(1000 * family + changed)
        places = other.permutation(PERMUTATIONS)[: 15 * changed]
        values[places] = other.integers(0, 2**32, len(places), dtype=np.uint32)
    return made_up(values, 100 if family else 3)


STEPS = st.lists(
    st.tuples(
        st.integers(0, 25),  # the document
        st.integers(0, 3),  # its family; 0: too short to compare
        st.integers(0, 8),  # how much of the document differs
        st.integers(-3, 12),  # days since the previous step
    ),
    max_size=60,
)


def answers(place: IndexPlace, steps: list[tuple[int, int, int, int]]) -> Iterator[object]:
    with closing(place.open()) as index:
        now = NOW
        for document, family, changed, days in steps:
            now += 86400 * days
            source = f"s{document % 3}.org"
            yield index.check_and_insert(
                f"https://{source}/{document}", source, mixture(family, changed), now
            )


@given(steps=STEPS)
@settings(max_examples=60, deadline=None)
def test_all_backends_give_the_same_answers(steps: list[tuple[int, int, int, int]]) -> None:
    with TemporaryDirectory() as folder:
        first, *others = (list(answers(IndexPlace(name, Path(folder)), steps)) for name in sorted(BACKENDS))
    assert all(other == first for other in others)


def test_the_mixture_has_neighbours_of_all_kinds(index: NearIndex) -> None:
    """Ensure that the data of the previous test has neighbours of all kinds."""
    index.check_and_insert("whole", "a.org", mixture(1, 0), NOW)
    found = [index.check_and_insert("asked", "a.org", mixture(1, changed), NOW) for changed in range(1, 9)]
    assert names(found[0]) == ["whole"]
    assert [] in found
    assert mixture(1, 3).passages.tolist() != mixture(1, 0).passages.tolist()


def test_a_text_is_removed_when_its_new_version_is_not_comparable(index: NearIndex) -> None:
    index.check_and_insert("gone", "a.org", of(1), NOW)
    index.check_and_insert("stays", "a.org", of(2), NOW)
    assert index.check_and_insert("gone", "", signature(""), NOW) == []
    assert index.count() == 1
    assert index.check_and_insert("asked", "b.org", of(1), NOW) == []
    assert names(index.check_and_insert("asked", "b.org", of(2), NOW)) == ["stays"]
