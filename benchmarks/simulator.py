"""Speed of the simulator, and whether its results for the published plan match the published figures.

``plan``   runs the published plan (54 fields, 7 variants) at full scale and at a tenth of it. The figures are
           the seconds, processor seconds and memory of the command, which also writes the tables and the
           report, and the share of figures within their tolerance.
``simpy``  compares all seven variants on one small field with the plain SimPy model of the tests.

Compilation in the first run on a machine takes about ten seconds; it is not counted.

    python -m benchmarks.simulator [--seed 1] [--only plan,simpy] [--json]

Ends with exit code 1 if a figure is outside its tolerance.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from newsbot.apps.simulator.draws import stream
from newsbot.apps.simulator.model import FREQUENCIES, make_changes, make_pages, make_queries, make_routes
from newsbot.apps.simulator.page_state import Steps, pack
from newsbot.apps.simulator.plan import ROBOTS
from newsbot.apps.simulator.runs import run_robots, run_sensor
from tests.simpymodel import Model

PAGES, TIME, CHANGE, QUERY = 1_000, 86_400, 10, 100
STEPS = Steps(50, 100)
ROOT = Path(__file__).resolve().parent.parent
Row = dict[str, Any]


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="plan,simpy")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    rows: list[Row] = []
    if "simpy" in arguments.only:
        rows += beside_simpy()
    if "plan" in arguments.only:
        run_plan(1000, arguments.seed)  # compile
        rows += [run_plan(scale, arguments.seed) for scale in (10, 1)]
    if arguments.json:
        print(json.dumps(rows))
    else:
        for row in rows:
            print("  ".join(f"{name}={value}" for name, value in row.items()))
    if any(row.get("outside") for row in rows):
        sys.exit(1)


def run_plan(scale: int, seed: int) -> Row:
    """Run the published plan with the command."""
    with tempfile.TemporaryDirectory() as folder:
        words = ["simulate", "experiment", "--scale", str(scale), "--seed", str(seed), "--out", folder]
        began = time.monotonic()
        process = subprocess.Popen(
            [sys.executable, "-m", "scrapy", *words], cwd=ROOT, stdout=subprocess.DEVNULL
        )
        _pid, status, usage = os.wait4(process.pid, 0)
        seconds = time.monotonic() - began
        if status:
            sys.exit(f"scrapy {' '.join(words)} ended with {status}")
        judged = pq.read_table(Path(folder, "comparison.parquet")).column("within").to_pylist()
    return {
        "what": f"plan, scale {scale}",
        "seconds": round(seconds, 1),
        "cpu_seconds": round(usage.ru_utime + usage.ru_stime, 1),
        "megabytes": round(usage.ru_maxrss / 1024),
        "within": judged.count(True),
        "outside": judged.count(False),
    }


def beside_simpy() -> list[Row]:
    """Run all variants on one field with newsbot and with SimPy. newsbot runs twice, and only the second run
    is timed, because the first run compiles the code."""
    sizes = make_pages(PAGES, stream("pages"))
    log = make_changes(sizes, TIME, CHANGE, FREQUENCIES["published"], stream("changes"))
    queries = make_queries(PAGES, TIME, QUERY, stream("queries"))
    key = stream("run")
    for _turn in range(2):
        began = time.process_time()
        history = pack(sizes, log, TIME)
        for one in ROBOTS:
            run_robots(history, make_routes(PAGES, one.robots), TIME, key, modified=one.modified, steps=STEPS)
        run_sensor(history, queries, TIME, key, steps=STEPS)
        ours = time.process_time() - began
    began = time.process_time()
    for one in ROBOTS:
        model = Model(sizes, log, TIME, STEPS.fresh, STEPS.traffic)
        model.robots(make_routes(PAGES, one.robots), key, modified=one.modified)
        model.run()
    model = Model(sizes, log, TIME, STEPS.fresh, STEPS.traffic)
    model.sensors(queries, key)
    model.run()
    theirs = time.process_time() - began
    what = f"{PAGES} pages, {TIME} units, {CHANGE} changes and {QUERY} queries per page, 7 variants"
    return [
        {"what": f"newsbot: {what}", "cpu_seconds": round(ours, 4)},
        {"what": "simpy: the same", "cpu_seconds": round(theirs, 2), "times": round(theirs / ours)},
    ]


if __name__ == "__main__":
    main()
