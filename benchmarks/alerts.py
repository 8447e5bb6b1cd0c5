"""How often the alert rule ``silent`` is wrong, and how late its correct alerts are, on generated feeds.

The feeds are those of :mod:`benchmarks.polling` (lognormal rates, daily and weekly patterns, batches,
bursts). They are polled every hour. The first three weeks are for learning. Every alert in the next five
weeks is a false alert. Then each feed stops at a random hour, and the hours until its alert are counted.

The table has these columns: items per day, number of feeds, false alerts per feed and year, feeds whose end
was not reported within 30 days, and the hours from the end of a feed to its alert (median and 90th
percentile).

    python -m benchmarks.alerts [--feeds 300] [--seed 1] [--json]
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.feed_world import FeedWorld, WorldSettings, make_world
from newsbot.apps.alerts.rules import EXPECTED, KNOWN_ITEMS, expected
from newsbot.recrawl.policy import DAY, HOUR, Array
from newsbot.recrawl.sources import Rhythm

LEARNED, JUDGED, STOPPED = 21, 35, 30
"""Days for learning, days in which alerts are judged, and days after the end of each feed."""
CLASSES = ((0.0, 3.0), (3.0, 10.0), (10.0, 50.0), (50.0, 1e9))
"""Bounds of the classes of feeds, in items per day."""


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--feeds", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    settings = WorldSettings(feeds=options.feeds, days=LEARNED + JUDGED)
    world = make_world(settings, np.random.default_rng(options.seed))
    rows = list(judge(world, np.random.default_rng([options.seed, 1])))
    if options.json:
        print(json.dumps(rows))
        return
    for row in [dict.fromkeys(rows[0], ""), *rows]:
        print("  ".join(f"{(value if any(row.values()) else name)!s:>14}" for name, value in row.items()))


def judge(world: FeedWorld, draw: np.random.Generator) -> Iterator[dict[str, Any]]:
    """Yield the row of each class of feeds."""
    count = world.settings.feeds
    false, hours_to = _run(world, draw.uniform(0, DAY, count))
    a_day = world.hourly.mean(axis=1) * 24
    for least, most in CLASSES:
        chosen = (a_day >= least) & (a_day < most)
        took = hours_to[chosen & np.isfinite(hours_to)]
        yield {
            "items_a_day": f"{least:g}-{most:g}" if most < 1e9 else f"{least:g}+",
            "feeds": int(chosen.sum()),
            "false_a_year": round(float(false[chosen].mean()) * 365 / JUDGED, 3) if chosen.any() else None,
            "missed": int((chosen & ~np.isfinite(hours_to)).sum()),
            "median_hours": round(float(np.median(took)), 1) if len(took) else None,
            "p90_hours": round(float(np.quantile(took, 0.9)), 1) if len(took) else None,
        }


def _run(world: FeedWorld, stops: Array) -> tuple[Array, Array]:
    """For each feed, return the number of false alerts and the hours from its end to the alert (or inf)."""
    count = world.settings.feeds
    rows, rhythm = np.arange(count), Rhythm(count)
    heard, seen, total = np.zeros(count), np.zeros(count), np.zeros(count)
    false, hours_to, alarmed = np.zeros(count), np.full(count, np.inf), np.zeros(count, bool)
    end = world.seconds - DAY + stops
    for hour in range(1, (LEARNED + JUDGED + STOPPED) * 24):
        at = np.full(count, hour * HOUR)
        now = world.published(rows, np.minimum(at, end)).astype(float)
        new, seen = now - seen, now
        rhythm.learn(rows, at - HOUR, at, new)
        total += new
        heard = np.where(new > 0, at, heard)
        alarmed &= new == 0
        for row in np.flatnonzero((new == 0) & ~alarmed & (total >= KNOWN_ITEMS) & (hour > LEARNED * 24)):
            if expected(rhythm, int(row), heard[row], at[row]) < EXPECTED:
                continue
            alarmed[row] = True
            if at[row] <= end[row]:
                false[row] += 1
            elif np.isinf(hours_to[row]):
                hours_to[row] = (at[row] - end[row]) / HOUR
    return false, hours_to


if __name__ == "__main__":
    main()
