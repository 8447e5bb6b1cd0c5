"""A live crawl with a fast clock behaves like its polling policy in the simulator."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.demoweb.hosts import GAZETA
from benchmarks.demoweb.live import FEEDS, LiveWeb, make_life
from benchmarks.demoweb.messages import Request
from benchmarks.demoweb.plan import PER_FEED
from benchmarks.live import RATES, Delays, crawl_live, predict

BUDGET = 6.0
HOURS = 6.0
NOW = 1_795_000_000.0


def test_a_host_shows_only_published_articles() -> None:
    life = make_life({GAZETA: 10.0}, NOW, NOW + 10 * 3600, seed=3)
    assert len(life.papers) == 100
    clock = [NOW]
    web = LiveWeb(life, lambda: clock[0])

    def feed() -> bytes:
        return web(Request("GET", GAZETA.ascii, FEEDS[GAZETA], {})).body

    def status(number: int) -> int:
        return web(Request("GET", GAZETA.ascii, life.papers[number].path, {})).status

    assert not feed()
    clock[0] = life.moments[4]
    before = feed()
    assert before.count(b"<item>") == 5
    assert (status(4), status(5)) == (200, 404)
    clock[0] = life.moments[5]
    assert feed() != before
    assert status(5) == 200
    clock[0] = life.moments[60]
    assert feed().count(b"<item>") == PER_FEED
    assert status(0) == 200, "articles that left the feed must still be served"


def test_the_prediction_matches_the_closed_form() -> None:
    """With known rates and a fixed threshold, the mean delay of each feed is half of √(2 θ / r)."""
    runs = predict(24.0, BUDGET, draws=6)
    total = sum(RATES.values())
    # Each feed is polled at a rate in proportion to the square root of its rate r. The interval is therefore
    # s / √r, with the same number s for all feeds. The mean delay is half of the interval.
    polls = float(np.median([run.polls_an_hour for run in runs]))
    roots = sum(rate**0.5 for rate in RATES.values())
    rests = {host: roots / polls / rate**0.5 for host, rate in RATES.items()}
    mean = sum(RATES[host] / total * rests[host] / 2 for host in RATES) * 60
    assert float(np.median([run.p50 for run in runs])) == pytest.approx(mean, rel=0.2)


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Delays:
    return crawl_live(tmp_path_factory.mktemp("live") / "crawl", HOURS, BUDGET)


def test_a_live_crawl_follows_the_prediction(live: Delays) -> None:
    runs = predict(HOURS, BUDGET, draws=30)
    assert live.articles is not None
    assert live.articles > 35
    for field, share in (("polls_an_hour", 0.1), ("p50", 0.25), ("p95", 0.25)):
        low, high = np.quantile([getattr(run, field) for run in runs], (0.05, 0.95))
        assert (1 - share) * low < getattr(live, field) < (1 + share) * high, field


def test_found_articles_are_stored(live: Delays) -> None:
    assert live.articles is not None
    assert live.not_stored is not None
    assert live.not_stored <= 8, "only the last articles may be missing"
    assert live.stored_p50 == pytest.approx(live.p50, abs=1.0)
