"""Workers that are killed repeatedly lose no page: a short run of ``python -m benchmarks.loss``."""

from __future__ import annotations

import pytest

from benchmarks import loss
from benchmarks.webs import papers
from tests.redisserver import need_redis


@pytest.mark.slow
def test_no_page_is_lost_after_four_kills_with_requests_in_flight() -> None:
    need_redis()
    web = papers(100, 5)
    row = loss.measure("newsbot", web, 4, 24)
    assert row["pages"] == len(web.wanted) > 80
    assert row["kills"] == 4
    assert row["fetched_again"] > 0  # requests were in flight at the kills
    assert row["lost"] == 0
