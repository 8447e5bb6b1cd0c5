"""The cost of a monitoring report for a large site, of a stored report, and of the alerts for many sites.

The data are generated. One site has pages in 1,000 folders. Each page has five links to it and three checks,
and one page in twenty is broken. The alerts are checked for ``--sites`` other sites with three sources each.
All sources of one site in ten have been silent for a day. Each task runs in a process of its own. The
benchmark prints the processor time, the wall-clock time and the peak memory of each task (the program itself
needs 92 MB of this memory).

    python -m benchmarks.monitoring [--pages 20000,100000] [--storages sqlite,mongo] [--sites 1000] [--json]
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import resource
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from pymongo import MongoClient

from benchmarks.servers import own_mongo
from benchmarks.texts import page
from newsbot.apps.alerts.rules import Limits, find, measure
from newsbot.apps.monitor.kept_reports import keep_report, kept_report
from newsbot.apps.monitor.report import site_report
from newsbot.frontier.sqlite.frontier import SqliteFrontier
from newsbot.items import Kind, PageRecord
from newsbot.recrawl.sources import Rhythm
from newsbot.storage.base import Storage
from newsbot.storage.mongo import MongoStorage
from newsbot.storage.notes import to_json
from newsbot.storage.sources import SourceRecord
from newsbot.storage.spider_results import PageCheck, packed_check
from newsbot.storage.sqlite import SqliteStorage
from newsbot.urls import fingerprint

SITE = "monitored.test"
FOLDERS = 1000
LINKING = 5
RUNS = (1e9, 1.1e9, 1.2e9)
BATCH = 1000
DATABASE = "newsbot"
Row = dict[str, Any]
Place = Path | str
"""A data file, or the URI of a MongoDB."""


def opened(place: Place) -> Storage:
    """Open the storage."""
    return SqliteStorage(place) if isinstance(place, Path) else MongoStorage(place, database=DATABASE)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--pages", default="20000")
    parser.add_argument("--storages", default="sqlite")
    parser.add_argument("--sites", type=int, default=1000)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows = []
    for row in measured(
        [int(one) for one in options.pages.split(",")], options.storages.split(","), options.sites
    ):
        rows.append(row)
        if not options.json:
            times = f"{row['cpu']:>9.3f} s of processor time {row['clock']:>9.3f} s by the clock"
            print(f"{row['what']:<46} {times} {row['megabytes']:>6.0f} MB", flush=True)
    if options.json:
        print(json.dumps(rows))


def measured(sizes: Sequence[int], storages: Sequence[str], sites: int) -> Iterator[Row]:
    """Yield a row for each task."""
    for kind in storages:
        with ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="newsbot-bench-")))
            place: Place = folder / "newsbot.db"
            if kind == "mongo":
                place = stack.enter_context(own_mongo()).uri
            done = 0
            for pages in sizes:
                _apart(partial(fill_pages, place, done, pages))
                done = pages
                what = f"{kind}: report on {pages} pages"
                yield {"what": what, **_apart(partial(_report, place, pages))}
                yield {"what": f"{kind}: reading the kept one", **_apart(partial(_kept, place))}
    with tempfile.TemporaryDirectory(prefix="newsbot-bench-") as name:
        yield {
            "what": f"one check of the alerts of {sites} sites",
            **_apart(partial(_alerts, Path(name), sites)),
        }


def _report(place: Place, pages: int) -> Row:
    with closing(opened(place)) as storage:
        began, cpu = time.perf_counter(), time.process_time()
        report = site_report(storage, SITE)
        keep_report(storage.notes, report, {"began": 1.0})
        row = _taken(began, cpu)
    assert report["broken_count"] == len(range(0, pages, 20))
    assert len(report["sections"]) > FOLDERS // 10
    return row


def _kept(place: Place) -> Row:
    with closing(opened(place)) as storage:
        began, cpu = time.perf_counter(), time.process_time()
        assert kept_report(storage.notes, SITE)
        return _taken(began, cpu)


def _alerts(folder: Path, sites: int) -> Row:
    with (
        closing(SqliteStorage(folder / "newsbot.db")) as storage,
        closing(SqliteFrontier(folder / "newsbot.db", clock=time.time)) as frontier,
    ):
        fill_sites(storage, sites)
        began, cpu = time.perf_counter(), time.process_time()
        find(measure(storage, frontier, folder, time.time()), Limits())
        return _taken(began, cpu)


def _taken(began: float, cpu: float) -> Row:
    return {"cpu": time.process_time() - cpu, "clock": time.perf_counter() - began}


def _apart(work: Callable[[], Any]) -> Row:
    """Run ``work`` in a process of its own; return its result and its peak memory."""
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_send_result, args=(sender, work))
    process.start()
    sender.close()
    row: Row = receiver.recv()
    process.join()
    return row


def _send_result(sender: Any, work: Callable[[], Any]) -> None:
    row = work() or {}
    sender.send({**row, "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024})


def fill_pages(place: Place, start: int, stop: int) -> None:
    """Write pages of the site, and their checks in stored form."""
    with closing(opened(place)) as storage:
        for first in range(start, stop, BATCH):
            some = [_page(number) for number in range(first, min(first + BATCH, stop))]
            storage.pages.discover(some)
            _save_checks(place, {one.url: _checks(number, one.url) for number, one in enumerate(some, first)})


def _page(number: int) -> PageRecord:
    url = _address(number)
    linking = [_address(number * step + step) for step in range(1, LINKING + 1)]
    return replace(
        page(number), url=url, fingerprint=fingerprint(url), source=SITE, host=SITE,
        referrers=linking, referrer_count=LINKING,
    )  # fmt: skip


def _address(number: int) -> str:
    return f"https://{SITE}/part-{number % FOLDERS}/2026/{number}-what-happened"


def _checks(number: int, url: str) -> list[PageCheck]:
    return [
        PageCheck(
            url=url,
            source=SITE,
            at=run + number / 10,
            run=run,
            status=404 if number % 20 == 0 else 200,
            size=50_000 + number,
            content_type="text/html; charset=utf-8",
            server="nginx",
            seconds=0.05 + number % 100 / 1000,
        )
        for run in RUNS
    ]


def _save_checks(place: Place, checks: dict[str, list[PageCheck]]) -> None:
    """Write checks in bulk, in the same form as ``save_checks``."""
    if isinstance(place, Path):
        with closing(sqlite3.connect(place, timeout=60)) as database, database:
            database.executemany(
                "INSERT INTO page_check (fingerprint, url, source, last, checks) VALUES (?, ?, ?, ?, ?)",
                [
                    (fingerprint(url), url, SITE, some[-1].at, to_json([packed_check(one) for one in some]))
                    for url, some in checks.items()
                ],
            )
        return
    with MongoClient[Any](place) as client:
        client[DATABASE]["page_checks"].insert_many(
            {
                "_id": fingerprint(url),
                "url": url,
                "source": SITE,
                "checks": [packed_check(one) for one in some],
                "last": some[-1].at,
            }
            for url, some in checks.items()
        )


def fill_sites(storage: SqliteStorage, sites: int) -> None:
    """Write sources with a learned rhythm. All sources of one site in ten have been silent for a day."""
    rhythm, row = Rhythm(1), np.zeros(1, np.intp)
    for hour in range(21 * 24):
        at = np.array([time.time() - 22 * 86400 + hour * 3600.0])
        rhythm.learn(row, at - 3600, at, np.array([1.0]))
    now = time.time()
    storage.sources.save(
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
