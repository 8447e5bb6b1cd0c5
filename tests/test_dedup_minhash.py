from __future__ import annotations

import random
import subprocess
import sys

import datasketch
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from newsbot.dedup import index
from newsbot.dedup.index import (
    MIN_SHINGLES,
    PERMUTATIONS,
    shingle_hashes,
    signature,
    similarities,
    similarity,
)


def text_of(seed: int, words: int = 300) -> list[str]:
    chooser = random.Random(seed)
    return [f"слово{chooser.randrange(5000)}" for _ in range(words)]


def edited(words: list[str], share: float, seed: int = 0) -> str:
    """Return the text with a share of its words replaced."""
    chooser = random.Random(seed)
    return " ".join(f"иное{place}" if chooser.random() < share else word for place, word in enumerate(words))


@given(st.text(max_size=200))
def test_a_signature_is_what_plain_datasketch_gives(text: str) -> None:
    plain = datasketch.MinHash(num_perm=PERMUTATIONS, seed=index.SEED, hashfunc=int, scheme="affine32")
    for value in shingle_hashes(text):
        plain.update(int(value))
    mine = signature(text)
    assert np.array_equal(mine.values, plain.hashvalues)
    assert mine.shingles == len(set(shingle_hashes(text).tolist()))


@pytest.mark.parametrize(("count", "seed"), [(PERMUTATIONS, index.SEED), (1, 0), (300, 2**32 - 1)])
def test_the_permutations_are_the_same_without_datasketch(
    count: int, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An installation from the wheel has no datasketch, which would bring scipy (143 MB)."""
    theirs = index.affine32(count, seed)
    monkeypatch.setattr(index, "find_spec", lambda _: None)
    for mine, other in zip(index.affine32(count, seed), theirs, strict=True):
        assert mine.dtype == other.dtype
        assert mine.tobytes() == other.tobytes()


def test_signatures_never_change() -> None:
    """Signatures are stored in files: if a value changes, SCHEME must change."""
    assert index.SCHEME == "affine32 seed=1 permutations=128 shingles=3w-crc32 words=2"
    values = signature("Ёлка упала, и йод пролился на пол").values
    assert values[:4].tolist() == [2172000462, 926645014, 1747349956, 279677943]


def test_the_estimate_is_near_the_truth() -> None:
    words = text_of(1)
    for share in (0.0, 0.02, 0.1, 0.2, 0.5):
        one, other = " ".join(words), edited(words, share)
        a, b = set(shingle_hashes(one).tolist()), set(shingle_hashes(other).tolist())
        truth = len(a & b) / len(a | b)
        assert abs(similarity(signature(one), signature(other)) - truth) < 0.15


def test_packed_signatures_agree_with_datasketch_and_whole_ones() -> None:
    words = text_of(2)
    one = signature(" ".join(words))
    others = [signature(edited(words, share)) for share in (0.0, 0.05, 0.2, 0.9)]
    found = similarities(one.packed(), [other.packed() for other in others])

    def small(values: object) -> datasketch.bBitMinHash:
        return datasketch.bBitMinHash(datasketch.MinHash(hashvalues=values, scheme="affine32"), b=index.BITS)

    for other, estimate in zip(others, found, strict=True):
        assert len(other.packed()) == PERMUTATIONS * index.BITS // 8
        assert estimate == pytest.approx(max(0.0, small(one.values).jaccard(small(other.values))))
        assert estimate == pytest.approx(similarity(one, other), abs=0.12)
    assert found[0] == 1.0


@pytest.mark.parametrize(
    ("text", "shingles"),
    [
        ("", 0),
        ("🙂", 0),
        ("одно", 1),
        ("два слова", 1),
        ("три слова тут", 1),
        ("раз два три четыре", 2),
        ("слово " * 1_000_000, 2),  # the text is cut in the middle of a word
        ("1 2 3 " * 100, 3),
    ],
)
def test_texts_with_few_distinct_words_have_few_shingles_and_are_not_kept(text: str, shingles: int) -> None:
    found = signature(text)
    assert found.shingles == shingles
    assert not found.comparable


def test_texts_of_under_twenty_five_words_are_similar_only_to_identical_texts() -> None:
    words = [f"w{number}" for number in range(25)]
    whole, short = signature(" ".join(words)), signature(" ".join(words[:24]))
    assert (whole.shingles, len(whole.passages)) == (MIN_SHINGLES, 16)
    assert whole.comparable
    assert short.comparable
    same, other = signature(" ".join(words[:24]).upper()), signature(" ".join([*words[:23], "w99"]))
    assert short.passages.tolist() == same.passages.tolist()
    assert set(short.passages.tolist()).isdisjoint([*other.passages.tolist(), *whole.passages.tolist()])
    assert not signature(" ".join(words[:5])).comparable


@pytest.mark.parametrize(
    "text",
    [
        " ".join(map(str, range(500))),
        "".join(chr(0x4E00 + number) for number in range(500)),
        " ".join("שלום" + chr(0x5D0 + number % 22) * (number // 22 + 1) for number in range(200)),
        " ".join(f"mixed смесь{number} 中{number}" for number in range(100)),
    ],
    ids=["digits", "Chinese", "right to left", "mixed"],
)
def test_texts_of_any_script_are_compared(text: str) -> None:
    cut = text[: len(text) * 9 // 10]
    assert signature(text).comparable
    assert similarity(signature(text), signature(cut)) > 0.75


def test_commands_start_without_the_unused_parts_of_datasketch() -> None:
    """Those parts import scipy, which takes half a second. A later import of datasketch is complete."""
    code = (
        "import sys, newsbot.dedup.index as m; print('scipy' in sys.modules, 'datasketch' in sys.modules);"
        "import datasketch; print(hasattr(datasketch, 'MinHashLSH'), datasketch.MinHash(4).scheme)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False False\nTrue affine32\n"
