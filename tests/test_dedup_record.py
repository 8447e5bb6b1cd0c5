"""The index record of a text: shortened URL, time within bounds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from newsbot.dedup.index import lengthen, seconds, shorten
from tests.neartexts import url


@given(st.text(max_size=300))
def test_any_text_is_shortened_and_restored(text: str) -> None:
    assert lengthen(shorten(text)) == text


def test_urls_take_little_more_than_half_of_their_size() -> None:
    assert len(shorten(url(12345))) < 0.6 * len(url(12345))


@pytest.mark.parametrize(("at", "kept"), [(-1.0, 0), (1.5, 1), (1e300, 2**32 - 1), (float("inf"), 2**32 - 1)])
def test_impossible_times_are_limited_to_the_range(at: float, kept: int) -> None:
    assert seconds(at) == kept


def test_a_time_that_is_not_a_number_is_refused() -> None:
    with pytest.raises(ValueError, match="NaN"):
        seconds(float("nan"))
