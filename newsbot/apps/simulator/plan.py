"""Runs the plan of the experiment with several threads: 54 situations with seven variants each.

All variants of a situation see the same history. A change log depends on pages, time and change intensity. A
query log depends on pages, time and query intensity. Each log is made once for all runs that need it. Robots
do not use queries, so situations that differ only in queries share their robot runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from newsbot.apps.simulator.draws import stream
from newsbot.apps.simulator.model import (
    FREQUENCIES,
    FRESH_STEP,
    TRAFFIC_STEP,
    estimate_rows,
    make_changes,
    make_pages,
    make_queries,
    make_routes,
)
from newsbot.apps.simulator.page_state import History, Steps, pack
from newsbot.apps.simulator.requirements import Ended, require_memory
from newsbot.apps.simulator.runs import Run, run_robots, run_sensor

PAGES = (100_000, 200_000, 300_000)
TIMES = {8_640_000: ((1, 5, 10), (1, 50, 100)), 17_280_000: ((2, 10, 20), (2, 100, 200))}
"""Change intensities and query intensities (events per page and run), by length of the run in units."""
FACTORS = ("change", "query", "pages", "time")
MAX_SCALE = 10_000
"""Largest divisor of pages and times. With this divisor, the smallest situation has ten pages."""


@dataclass(frozen=True, slots=True)
class Situation:
    """One situation of the plan."""

    index: int
    """Number in the publication, from 1."""
    pages: int
    time: int
    """Length in units of 100 ms."""
    change: int
    """Changes per page in this time."""
    query: int
    """Queries per page in this time."""


@dataclass(frozen=True, slots=True)
class Variant:
    """One strategy of the experiment."""

    number: int
    name: str
    robots: int
    modified: bool = False
    """True if robots send HEAD before GET."""


ROBOTS = (
    Variant(1, "1 robot", 1),
    Variant(2, "1 modified robot", 1, modified=True),
    Variant(3, "3 robots", 3),
    Variant(4, "3 modified robots", 3, modified=True),
    Variant(5, "5 robots", 5),
    Variant(6, "5 modified robots", 5, modified=True),
)
SENSORS = 7
VARIANTS = (*ROBOTS, Variant(SENSORS, "sensors", 0))

RUNS = len(PAGES) * sum(len(changes) * len(queries) for changes, queries in TIMES.values()) * len(VARIANTS)
"""Number of runs of the plan."""


@dataclass(slots=True)
class Outcome:
    """All runs of the plan for one seed."""

    seed: int
    situations: Sequence[Situation]
    runs: dict[tuple[int, int], Run] = field(default_factory=dict)
    """The runs, by number of the situation and number of the variant."""
    events: dict[str, list[dict[str, Any]]] = field(default_factory=lambda: {"changes": [], "queries": []})
    """Number of rows of each change log and query log, including rows without effect."""
    volumes: dict[int, int] = field(default_factory=dict)
    """Bytes of all pages at the start, by number of pages."""


def situations(scale: int = 1) -> list[Situation]:
    """Return the plan in the published order. ``scale`` divides pages and time."""
    found = [
        (pages // scale, time // scale, change, query)
        for pages in PAGES
        for time, (changes, queries) in TIMES.items()
        for change in changes
        for query in queries
    ]
    return [Situation(index, *one) for index, one in enumerate(found, 1)]


def scaled_steps(scale: int) -> Steps:
    """Return the steps for a scaled run.

    Its series then have about as many rows as the series of a full run.
    """
    return Steps(max(1, FRESH_STEP // scale), max(1, TRAFFIC_STEP // scale))


def memory_needed(plan: Iterable[Situation], workers: int) -> int:
    """Return the bytes of memory that the plan needs.

    The result is the sum of the bytes of all histories and, for each worker, the bytes of a query log with
    its crawls.
    """
    plan = list(plan)
    histories = {(one.pages, one.time, one.change) for one in plan}
    kept = sum(8 * (estimate_rows(pages, change) + 2 * pages) for pages, _time, change in histories)
    # 4 bytes for the time of each query, 4 for each unit of time (running downloads), 9 for each change
    largest = max(
        4 * (estimate_rows(one.pages, one.query) + one.time) + 9 * estimate_rows(one.pages, one.change)
        for one in plan
    )
    return kept + workers * largest + 200 * 2**20


def run_plan(scale: int, *, seed: int, frequencies: str, workers: int, progress: Ended) -> Outcome:
    """Run all variants in all situations. The result depends on the seed but not on the number of workers.

    ``scale`` divides pages and time. ``workers`` is the number of threads. ``progress`` is called after each
    run. Raises :class:`newsbot.errors.UserError` before the first run if there is not enough memory.
    """
    plan = situations(scale)
    require_memory(memory_needed(plan, workers), f"the plan with {workers} workers at once")
    work = _Work(Outcome(seed, plan), frequencies, scaled_steps(scale), progress)
    executor = ThreadPoolExecutor(workers, thread_name_prefix="simulate")
    try:
        return work.run(executor)
    finally:
        executor.shutdown(cancel_futures=True)


@dataclass(frozen=True, slots=True)
class _Work:
    """The tasks of a plan.

    There is one task per change log, with its robots, and one task per query log, with its sensors.
    """

    outcome: Outcome
    frequencies: str
    steps: Steps
    progress: Ended

    def run(self, executor: ThreadPoolExecutor) -> Outcome:
        """Run all tasks and return the results."""
        plan = self.outcome.situations
        histories: dict[tuple[int, int, int], Future[History]] = {}
        tasks: list[Future[None]] = []
        # The largest tasks are submitted first, so that no thread has a long task left at the end. The tasks
        # of sensors wait for histories. A deadlock is impossible, because they wait only for tasks that were
        # submitted earlier, and the executor starts tasks in the order of submission.
        for pages, time in sorted({(one.pages, one.time) for one in plan}, reverse=True):
            fields = [one for one in plan if (one.pages, one.time) == (pages, time)]
            for change in sorted({one.change for one in fields}, reverse=True):
                chosen = [one for one in fields if one.change == change]
                histories[pages, time, change] = executor.submit(self._run_robots, chosen)
            for query in sorted({one.query for one in fields}, reverse=True):
                chosen = [one for one in fields if one.query == query]
                needed = [histories[pages, time, one.change] for one in chosen]
                tasks.append(executor.submit(self._run_sensors, chosen, needed))
        for done in tasks:
            done.result()
        for logs in self.outcome.events.values():
            logs.sort(key=lambda log: (log["N"], log["T"], log["intensity"]))
        return self.outcome

    def _run_robots(self, fields: Sequence[Situation]) -> History:
        """Make the change log that these situations share, run all robots on it, and return the history."""
        one, seed = fields[0], self.outcome.seed
        words = (seed, one.pages, one.time, one.change)
        sizes = make_pages(one.pages, stream("pages", seed, one.pages))
        log = make_changes(
            sizes, one.time, one.change, FREQUENCIES[self.frequencies], stream("changes", *words)
        )
        history = pack(sizes, log, one.time)
        self._count("changes", one, one.change, log.rows)
        self.outcome.volumes[one.pages] = int(sizes.sum())
        del log  # frees memory for more workers, because only the packed history is needed from here on
        for variant in ROBOTS:
            key = stream("variant", *words, variant.number)
            routes = make_routes(one.pages, variant.robots)
            run = run_robots(history, routes, one.time, key, modified=variant.modified, steps=self.steps)
            self._keep(fields, variant.number, run)
        return history

    def _run_sensors(self, fields: Sequence[Situation], histories: Sequence[Future[History]]) -> None:
        """Make the query log that these situations share, and run sensors on each of their histories."""
        first, seed = fields[0], self.outcome.seed
        key = stream("queries", seed, first.pages, first.time, first.query)
        log = make_queries(first.pages, first.time, first.query, key)
        self._count("queries", first, first.query, log.rows)
        for one, history in zip(fields, histories, strict=True):
            key = stream("variant", seed, one.pages, one.time, one.change, one.query, SENSORS)
            self._keep([one], SENSORS, run_sensor(history.result(), log, one.time, key, steps=self.steps))

    def _count(self, log: str, one: Situation, intensity: int, rows: int) -> None:
        count = {"N": one.pages, "T": one.time, "intensity": intensity, "events": rows}
        self.outcome.events[log].append(count)

    def _keep(self, fields: Sequence[Situation], variant: int, run: Run) -> None:
        for one in fields:
            self.outcome.runs[one.index, variant] = run
            module = "runs.run_sensors" if variant == SENSORS else "runs.run_robot"
            self.progress(module, self.outcome.seed, f"situation {one.index}, variant {variant}")
