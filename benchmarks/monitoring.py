"""What a report on a large site takes, a kept one, and a look of the alerts over many sites.

The data are an embedded file in a new folder: pages of one site with three checks each, one in twenty
broken; sites with three sources each, one site in ten is silent.

    python -m benchmarks.monitoring [--pages 20000] [--sites 1000] [--json]
"""

from __future__ import annotations

import argparse
import json
import resource
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.texts import page
from newsbot.alerts.measuring import measure
from newsbot.alerts.rules import Limits, find
from newsbot.frontier.sqlite import SqliteFrontier
from newsbot.items import Kind
from newsbot.monitoring.keeping import keep_report, kept_report
from newsbot.monitoring.report import site_report
from newsbot.recrawl.rhythm import Rhythm
from newsbot.storage.base import SourceRecord
from newsbot.storage.checks import PageCheck
from newsbot.storage.sqlite import SqliteStorage

SITE = "monitored.test"
BATCH = 1000
Row = dict[str, Any]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--pages", type=int, default=20_000)
    parser.add_argument("--sites", type=int, default=1000)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "newsbot.db"
        with (
            closing(SqliteStorage(file)) as storage,
            closing(SqliteFrontier(file, clock=time.time)) as frontier,
        ):
            rows = list(_rows(storage, frontier, Path(folder), given.pages, given.sites))
    if given.json:
        print(json.dumps(rows))
        return
    for row in rows:
        told = f"{row['seconds']:>9.3f} s of processor time"
        print(f"{row['what']:<42} {told} {row['megabytes']:>7.0f} MB more at its peak")


def _rows(
    storage: SqliteStorage, frontier: SqliteFrontier, folder: Path, pages: int, sites: int
) -> list[Row]:
    fill_pages(storage, pages)
    fill_sites(storage, sites)
    report: Row = {}

    def full() -> None:
        report.update(site_report(storage, SITE))

    def look() -> None:
        find(measure(storage, frontier, folder, time.time()), Limits())

    rows = [_timed(f"report on {pages} pages", full)]
    assert report["broken_count"] == len(range(0, pages, 20))
    rows.append(_timed("keeping it", lambda: keep_report(storage, report, {"began": 1.0})))
    rows.append(_timed("reading the kept one", lambda: kept_report(storage, SITE)))
    return [*rows, _timed(f"look of the alerts over {sites} sites", look)]


def _timed(what: str, work: Callable[[], object]) -> Row:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.process_time()
    work()
    seconds = time.process_time() - began
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    return {"what": what, "seconds": round(seconds, 4), "megabytes": round(grown, 1)}


def fill_pages(storage: SqliteStorage, pages: int) -> None:
    """Write the pages of the site and their checks."""
    for start in range(0, pages, BATCH):
        numbers = range(start, min(start + BATCH, pages))
        some = [replace(page(number), source=SITE) for number in numbers]
        storage.discover(some)
        storage.save_checks(
            [
                PageCheck(
                    url=one.url,
                    source=SITE,
                    at=run + number / 10,
                    run=run,
                    status=404 if number % 20 == 0 else 200,
                    size=50_000 + number,
                    content_type="text/html; charset=utf-8",
                    server="nginx",
                    seconds=0.05 + number % 100 / 1000,
                )
                for number, one in zip(numbers, some, strict=True)
                for run in (1e9, 1.1e9, 1.2e9)
            ]
        )


def fill_sites(storage: SqliteStorage, sites: int) -> None:
    """Write sources that have learned a rhythm; those of one site in ten are silent for a day."""
    rhythm, row = Rhythm(1), np.zeros(1, np.intp)
    for hour in range(21 * 24):
        at = np.array([time.time() - 22 * 86400 + hour * 3600.0])
        rhythm.learn(row, at - 3600, at, np.array([1.0]))
    now = time.time()
    storage.save_sources(
        SourceRecord(
            url=f"https://s{site}.test/feed/{number}",
            source=f"s{site}.test",
            kind=Kind.FEED,
            polls=500,
            new_links=500,
            last_poll=now,
            last_new=now - (600 if site % 10 else 86400),
            next_due=now + 600,
            rhythm=rhythm.as_note(0),
        )
        for site in range(sites)
        for number in range(3)
    )


if __name__ == "__main__":
    main()
