"""How late each polling policy finds the items of feeds, with the same number of polls on the same feeds.

The feeds are generated (:mod:`testbed.feed_world`): 2,000 feeds with lognormal rates, daily and weekly
patterns, batches and bursts. They run for 35 days; the first 14 are for learning and are not counted. A
parameter of each policy is set so that the policy uses the whole budget.

``fixed``        the same interval for all feeds
``nutch``        like Apache Nutch's adaptive schedule: shorter after a change, longer after no change
``miniflux``     like Miniflux's entry frequency: the interval follows the number of items in the last week
``square_root``  the square-root index with learned hourly rates; the number of listed items is ignored
``true_rate``    like ``square_root``, with the true rates (without bursts) instead of learned rates
``oracle``       like ``square_root``, with the true rates, including bursts
``newsbot``      the policy of the crawler
``useful``       like ``newsbot``, with weights from the reads of the first 14 days (NEWSBOT_POLL_USEFUL)

The columns are:

* polls per feed and day: the budget, and the actual number
* delay from publication in minutes. The delay of a lost item ends with the poll that missed it
* share of items that were lost, because the feed no longer listed them when it was polled
* share of items that were found more than 12 hours after publication
* mean delay of an item that is read. The number of reads of an item is lognormal by feed (``--useful``)

    python -m benchmarks.polling [--polls 6,12,24,48] [--only newsbot,…] [--feeds 2000] [--seed 1]
        [--bursts 7] [--factor 40] [--useful 1.5] [--json]
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from typing import Any

import numpy as np

from newsbot.recrawl.planning import DAY
from testbed.feed_world import (
    LEARNING,
    FeedWorld,
    Freshness,
    WorldSettings,
    judge,
    make_world,
    policies,
    run_policy,
)

MINUTE = 60.0


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--polls", default="6,12,24,48")
    parser.add_argument("--only", default="", help="comma-separated policies (default: all)")
    parser.add_argument("--feeds", type=int, default=WorldSettings().feeds)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--bursts",
        type=float,
        default=WorldSettings().bursts,
        help="mean number of bursts of a feed per week",
    )
    parser.add_argument(
        "--factor",
        type=float,
        default=WorldSettings().burst_factor,
        help="factor by which a burst increases the rate",
    )
    parser.add_argument(
        "--useful",
        type=float,
        default=WorldSettings().useful,
        help="standard deviation of the logarithm of the number of reads of an item of a feed",
    )
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    settings = WorldSettings(
        feeds=arguments.feeds,
        bursts=arguments.bursts,
        burst_factor=arguments.factor,
        useful=arguments.useful,
    )
    world = make_world(settings, np.random.default_rng(arguments.seed))
    rows = []
    for a_day in arguments.polls.split(","):
        for row in compare(world, float(a_day), arguments.seed, arguments.only.split(",")):
            rows.append(row)
            if not arguments.json:
                print("  ".join(f"{name}={value}" for name, value in row.items()), flush=True)
    if arguments.json:
        print(json.dumps(rows))


def compare(world: FeedWorld, a_day: float, seed: int, only: list[str]) -> Iterator[dict[str, Any]]:
    """Yield the row of each policy. An empty name selects all policies."""
    for name, make in policies(world, a_day):
        if "" not in only and name not in only:
            continue
        first = np.random.default_rng([seed, 1]).uniform(0, DAY / a_day, world.settings.feeds)
        yield _row(name, a_day, judge(world, run_policy(world, make(), first), LEARNING))


def _row(name: str, a_day: float, found: Freshness) -> dict[str, Any]:
    return {
        "policy": name,
        "polls": int(a_day) if a_day.is_integer() else a_day,
        "polls_made": round(found.polls, 2),
        "median_min": round(found.median / MINUTE, 1),
        "mean_min": round(found.mean / MINUTE, 1),
        "p95_min": round(found.p95 / MINUTE, 1),
        "p99_min": round(found.p99 / MINUTE, 1),
        "lost": round(found.lost, 5),
        "over_12h": round(found.over_12h, 5),
        "read_min": round(found.read / MINUTE, 1),
    }


if __name__ == "__main__":
    main()
