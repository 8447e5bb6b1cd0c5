"""A live crawl of the demo site, compared with the prediction of the simulator.

Three hosts of the demo publish at random moments at different rates. A real crawl (``scrapy crawl news`` with
``mode=continuous``, in a process of its own) polls their feeds within a budget, according to the square-root
index. It has a simulated clock, so that a day lasts seconds (:mod:`benchmarks.otherclock`). The benchmark
prints two delays: from the publication of an article until a poll returned its link, and until the article
was stored. It also prints the delays of the same policy in the simulator, for feeds with the same rates and
the same budget: the median of 60 random runs, and the range that contains nine of ten runs.

    python -m benchmarks.live [--hours 24] [--budget 6] [--speed 0] [--seed 1] [--json]

``--speed 240``: the clock is 240 times as fast as real time, and the crawl's own work takes time.
``--speed 0``: the clock jumps from one moment at which something is due to the next.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from benchmarks.demoweb.hosts import GAZETA, HERALD, NOVOSTI, Host
from benchmarks.demoweb.live import FEEDS, Life, LiveWeb, make_life
from benchmarks.demoweb.loopback import LoopbackServer
from benchmarks.demoweb.plan import PER_FEED
from benchmarks.feed_world import DAYS, HOURS, FeedWorld, WorldSettings, judge, run_policy
from benchmarks.otherclock import LOOK_AGAIN, Running, SharedTime
from newsbot.recrawl.policy import DAY, HOUR
from newsbot.recrawl.sources import Controller, SquareRootIndex, begin_with_rates, first_threshold
from newsbot.storage.sqlite import SqliteStorage

RATES: Final[Mapping[Host, float]] = {GAZETA: 6.0, HERALD: 3.0, NOVOSTI: 1.5}
"""Articles per hour."""
BEFORE: Final = 14 * HOUR
"""Seconds for which the hosts publish before the crawl begins, so that their feeds are full."""
SETTLE: Final = HOUR
"""Articles of the first hour are not counted, because the first poll of a feed finds old articles."""
DRAWS: Final = 60
MINUTE: Final = 60.0
ROOT: Final = Path(__file__).resolve().parent.parent


@dataclass(frozen=True, slots=True)
class Delays:
    """The figures of a run. Delays are in minutes from publication."""

    polls_an_hour: float
    p50: float
    p95: float
    stored_p50: float | None = None
    stored_p95: float | None = None
    articles: int | None = None
    not_stored: int | None = None


def crawl_live(folder: Path, hours: float, budget: float, *, speed: float = 0.0, seed: int = 1) -> Delays:
    """Crawl for this many hours of the simulated clock; ``budget``: polls per hour.

    Raises ``RuntimeError`` if the crawl ends early.
    """
    rules = folder / "rules"
    rules.mkdir(parents=True)
    for host, path in FEEDS.items():
        text = (
            f"domain: {host.domain}\nfeeds: [{host.base}{path}]\nfollow: [feeds]\ndelay: 0\nconcurrency: 8\n"
        )
        text += "interval: {feed: 5m, article: 30d}\nrecrawl: {article: off}\n"
        (rules / f"{host.domain}.yaml").write_text(text, encoding="utf-8")
    begin = time.time()
    end = begin + hours * HOUR
    life = make_life(RATES, begin - BEFORE, end, seed)
    shared = SharedTime(folder / "time", begin)
    with LoopbackServer(LiveWeb(life, Running(begin, speed) if speed else shared)) as server:
        environment = {
            **{name: value for name, value in os.environ.items() if name not in ("REDIS_URL", "MONGO_URI")},
            **server.environment,
            "NEWSBOT_DATA": str(folder / "data"),
            "NEWSBOT_RULES": str(rules),
            "NEWSBOT_POLL_BUDGET": str(budget),
        }
        code = _run(folder, environment, end, speed)
    if code or shared() < end - LOOK_AGAIN - speed:
        raise RuntimeError(f"the crawl ended early: {(folder / 'crawl.log').read_text()[-2000:]}")
    return _measured(folder / "data", life, begin, end)


def _run(folder: Path, environment: Mapping[str, str], end: float, speed: float) -> int:
    lease = str(60 * max(speed, 1000.0))  # the heartbeat uses real time
    clock = (str(folder / "time"), str(end), str(speed))
    words = ("crawl", "news", "-a", "mode=continuous", "-s", f"NEWSBOT_LEASE_SECONDS={lease}")
    with (folder / "crawl.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.otherclock", *clock, *words],
            cwd=ROOT,
            env=dict(environment),
            stdout=log,
            stderr=log,
        )
        try:
            return process.wait()
        except BaseException:
            process.send_signal(signal.SIGINT)
            process.wait()
            raise


def _measured(data: Path, life: Life, begin: float, end: float) -> Delays:
    storage = SqliteStorage(data / "newsbot.db")
    try:
        stored = {article.url: article for article in storage.articles.iter()}
        polls = [
            at
            for source in storage.sources.all()
            for _, poll in storage.sources.polls(source.url)
            for at in [poll.at]
        ]
    finally:
        storage.close()
    by_path = {
        url.partition("://")[2].partition("/")[2].partition("?utm")[0]: one for url, one in stored.items()
    }
    found, kept, missing = [], [], 0
    for at, paper in zip(life.moments, life.papers, strict=True):
        if not begin + SETTLE <= at < end:
            continue
        article = by_path.get(paper.path[1:].partition("?")[0])
        seen = None if article is None else article.discovered_at
        done = None if article is None else article.fetched_at
        missing += article is None
        found.append((end if seen is None else seen.timestamp()) - at)
        kept.append((end if done is None else done.timestamp()) - at)
    counted = sum(begin + SETTLE <= at < end for at in polls)
    (p50, p95), (stored_p50, stored_p95) = (np.quantile(one, (0.5, 0.95)) / MINUTE for one in (found, kept))
    return Delays(
        polls_an_hour=counted / ((end - begin - SETTLE) / HOUR),
        p50=float(p50),
        p95=float(p95),
        stored_p50=float(stored_p50),
        stored_p95=float(stored_p95),
        articles=len(found),
        not_stored=missing,
    )


class _OfRates(SquareRootIndex):
    """A policy that begins with the threshold for the known rates, like the crawl."""

    def spend(self, requests: float, hours: float) -> None:
        super().spend(requests, hours)
        begin_with_rates(self.controller, [self.as_note(row) for row in range(len(self.last))])


def predict(hours: float, budget: float, draws: int = DRAWS, seed: int = 1) -> list[Delays]:
    """Return the simulator's delays, one result per draw of articles."""
    found = []
    for draw in np.random.default_rng(seed).spawn(draws):
        world = _world(hours, draw)
        count = len(RATES)
        policy = _OfRates(count, Controller(budget, first_threshold(budget, count), 0.5))
        for row, rate in enumerate(RATES.values()):
            policy.rhythm.suppose(
                row, PER_FEED, PER_FEED / rate
            )  # by the dates of the items in the first poll
        result = judge(world, run_policy(world, policy, np.ones(count)), SETTLE)
        an_hour = result.polls * count / DAY * HOUR
        found.append(Delays(an_hour, result.median / MINUTE, result.p95 / MINUTE))
    return found


def _world(hours: float, draw: np.random.Generator) -> FeedWorld:
    """Return feeds that publish evenly at these rates."""
    length = hours * HOUR
    pieces = [np.sort(draw.uniform(0, length, draw.poisson(rate * length / HOUR))) for rate in RATES.values()]
    first = np.concatenate([[0], np.cumsum([len(piece) for piece in pieces])]).astype(np.intp)
    owners = np.repeat(np.arange(len(pieces), dtype=np.intp), np.diff(first))
    moments = np.concatenate(pieces)
    settings = WorldSettings(feeds=len(pieces), days=length / DAY, window=PER_FEED)
    hourly = np.repeat(np.array(list(RATES.values()))[:, None], HOURS * DAYS, axis=1)
    return FeedWorld(settings, moments, owners, first, hourly, hourly, owners * (2 * length) + moments)


def main() -> None:
    """Print the crawl and the prediction one below the other."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--hours", type=float, default=24.0, help="hours of the fast clock")
    parser.add_argument("--speed", type=float, default=0.0, help="speed of the clock; 0: it jumps")
    parser.add_argument("--budget", type=float, default=6.0, help="polls per hour for all three feeds")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        live = crawl_live(
            Path(name) / "crawl", options.hours, options.budget, speed=options.speed, seed=options.seed
        )
    predicted = predict(options.hours, options.budget)
    if options.json:
        print(json.dumps(_rows(live, predicted)))
        return
    print("minutes from publication    polls/h      p50 found      p95 found   p50 stored  p95 stored")
    print(
        f"live ({live.articles} articles)".ljust(24),
        f"{live.polls_an_hour:10.1f}{live.p50:15.1f}{live.p95:15.1f}"
        f"{live.stored_p50:13.1f}{live.stored_p95:12.1f}",
    )
    print("predicted".ljust(24), *(f"{_around(predicted, field):>{width}}" for field, width in _PRINTED))
    if live.not_stored:
        print(f"{live.not_stored} articles were not stored before the end")


_PRINTED = (("polls_an_hour", 10), ("p50", 14), ("p95", 14))


def _around(runs: list[Delays], field: str) -> str:
    low, middle, high = np.quantile([getattr(run, field) for run in runs], (0.05, 0.5, 0.95))
    return f"{middle:.1f}" if field == "polls_an_hour" else f"{middle:.1f} ({low:.0f}-{high:.0f})"


def _rows(live: Delays, predicted: list[Delays]) -> list[dict[str, Any]]:
    fields = ("polls_an_hour", "p50", "p95")
    rows = [{"run": "live"} | asdict(live)]
    for name, share in (("predicted", 0.5), ("predicted_low", 0.05), ("predicted_high", 0.95)):
        values = {
            field: float(np.quantile([getattr(run, field) for run in predicted], share)) for field in fields
        }
        rows.append({"run": name} | values)
    return rows


if __name__ == "__main__":
    main()
