"""Workers that are killed at random moments lose no articles, and keep the site's delay."""

from __future__ import annotations

import pytest

from benchmarks.kills import measure


@pytest.mark.slow
def test_kills_lose_no_article_and_keep_the_delay() -> None:
    delay = 0.5
    row = measure(kills=4, delay=delay, articles=30, seed=2)
    assert (row["missing"], row["aside"]) == (0, 0), row
    assert row["shortest"] > delay / 2, row  # as seen by the server, on a machine that may be busy
