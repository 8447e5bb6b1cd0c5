from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from newsbot.dedup.index import text_key

WORDS = st.lists(
    st.text(
        st.sampled_from("абвгдежзийклмнопрстуфхцчшщъыьэюяabcdefghijklmnopqrstuvwxyz0123456789"), min_size=1
    ),
    min_size=1,
    max_size=12,
)
BETWEEN = st.text(st.sampled_from(" \n\t.,;:!?—–-«»\"'()…\u00a0"), min_size=1, max_size=3)


@given(WORDS, BETWEEN, BETWEEN)
def test_punctuation_and_white_space_make_no_difference(words: list[str], one: str, other: str) -> None:
    assert text_key(one.join(words)) == text_key(other + other.join(words) + one)


@given(WORDS)
def test_case_yo_accents_and_invisible_characters_make_no_difference(words: list[str]) -> None:
    text = " ".join(words)
    key = text_key(text)
    assert text_key(text.upper()) == key
    assert text_key(text.title()) == key
    assert text_key(text.replace("е", "ё")) == key
    assert text_key(re.sub("([aeiouаеоуыэюя])", "\\1\u0301", text)) == key
    assert text_key("\u00ad".join(text)) == key
    assert text_key("\ufeff" + text) == key


@given(WORDS, WORDS)
def test_other_words_give_another_key(one: list[str], other: list[str]) -> None:
    assert (text_key(" ".join(one)) == text_key(" ".join(other))) == (one == other)


@pytest.mark.parametrize(
    ("one", "other"),
    [("ab c", "a bc"), ("май", "маи"), ("a b", "b a"), ("a", "a a"), ("1 000", "1000"), ("中国", "国中")],
)
def test_visible_differences_give_another_key(one: str, other: str) -> None:
    assert text_key(one) != text_key(other)


def test_keys_never_change() -> None:
    """Keys are stored permanently: with another normaliser, every text would be stored a second time."""
    assert text_key("") == text_key(" 🙂 ") == "cae66941d9efbd404e4d88758ea67670"
    assert text_key("Ёлка — 5 шт.") == text_key("елка 5 шт") == "206cf491fedc191b40dc3333d520b8e5"
