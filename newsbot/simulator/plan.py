"""The plan of the experiment: 54 situations, seven strategies on the same history each.

Change logs depend on pages, time and changes, query logs on pages, time and queries; each is made once and
shared by all runs that meet it. Robots do not look at queries, so that their runs are shared too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial

from newsbot.simulator.draws import stream
from newsbot.simulator.history import History, pack
from newsbot.simulator.logs import guess_rows, make_changes, make_pages, make_queries
from newsbot.simulator.memory import require
from newsbot.simulator.model import (
    FREQUENCIES,
    FRESH_STEP,
    TRAFFIC_STEP,
    Situation,
    make_routes,
)
from newsbot.simulator.runs import Run, Steps, run_robots, run_sensor

PAGES = (100_000, 200_000, 300_000)
TIMES = {
    8_640_000: ((1, 5, 10), (1, 50, 100)),
    17_280_000: ((2, 10, 20), (2, 100, 200)),
}
"""Length of a run, with its change and query intensities."""
MAX_SCALE = 10_000
"""At this scale a field has ten pages."""


@dataclass(frozen=True, slots=True)
class Variant:
    """One strategy of the experiment."""

    number: int
    name: str
    robots: int
    modified: bool = False


VARIANTS = (
    Variant(1, "1 robot", 1),
    Variant(2, "1 modified robot", 1, modified=True),
    Variant(3, "3 robots", 3),
    Variant(4, "3 modified robots", 3, modified=True),
    Variant(5, "5 robots", 5),
    Variant(6, "5 modified robots", 5, modified=True),
    Variant(7, "sensors", 0),
)
ROBOTS = VARIANTS[:6]
SENSORS = 7


@dataclass(frozen=True, slots=True)
class LogCount:
    """How many rows a log of the plan has, those that never happen too."""

    pages: int
    time: int
    intensity: int
    events: int


@dataclass(slots=True)
class Outcome:
    """All runs of the plan for one seed."""

    seed: int
    situations: Sequence[Situation]
    runs: dict[tuple[int, int], Run] = field(default_factory=dict)
    """By situation and variant."""
    changes: list[LogCount] = field(default_factory=list)
    queries: list[LogCount] = field(default_factory=list)
    volumes: dict[int, int] = field(default_factory=dict)
    """Bytes of all pages at the start, by number of pages."""


def situations(scale: int = 1) -> list[Situation]:
    """Return the plan in the order in which it was published; ``scale`` divides pages and time."""
    found = [
        (pages, time, change, query)
        for pages in PAGES
        for time, (changes, queries) in TIMES.items()
        for change in changes
        for query in queries
    ]
    return [
        Situation(index, pages // scale, time // scale, change, query)
        for index, (pages, time, change, query) in enumerate(found, 1)
    ]


def scaled_steps(scale: int) -> Steps:
    """Return steps that give a run of any scale about as many rows as one of full size."""
    return Steps(max(1, FRESH_STEP // scale), max(1, TRAFFIC_STEP // scale))


def memory_needed(plan: Iterable[Situation], workers: int) -> int:
    """Return bytes that the plan needs: all histories, and for each worker a query log with its crawls."""
    plan = list(plan)
    histories = {(one.pages, one.time, one.change) for one in plan}
    kept = sum(8 * (guess_rows(pages, change) + 2 * pages) for pages, _time, change in histories)
    largest = max(
        4 * guess_rows(one.pages, one.query) + 20 * guess_rows(one.pages, one.change) for one in plan
    )
    return kept + workers * largest + 200 * 2**20


Tell = Callable[[int, int], None]
"""Is told how many runs are done, of how many."""


def run_plan(
    plan: Sequence[Situation],
    *,
    seed: int,
    frequencies: str = "published",
    steps: Steps | None = None,
    workers: int = 1,
    tell: Tell | None = None,
) -> Outcome:
    """Run every strategy in every situation; the outcome depends on the seed, not on the workers.

    Raises :class:`newsbot.errors.UserError` before it begins if memory cannot hold it.
    """
    require(memory_needed(plan, workers), f"the plan with {workers} workers at once")
    work = _Work(plan, seed, frequencies, steps or Steps(), tell or _silent)
    executor = ThreadPoolExecutor(workers, thread_name_prefix="simulate")
    try:
        return work.run(executor)
    finally:
        executor.shutdown(cancel_futures=True)


class _Work:
    """The tasks of a plan: one for each change log and its robots, one for each query log and its sensors."""

    def __init__(
        self, plan: Sequence[Situation], seed: int, frequencies: str, steps: Steps, tell: Tell
    ) -> None:
        self._outcome = Outcome(seed, plan)
        self._seed = seed
        self._frequencies = frequencies
        self._steps = steps
        self._tell = tell

    def run(self, executor: ThreadPoolExecutor) -> Outcome:
        plan = self._outcome.situations
        histories: dict[tuple[int, int, int], Future[History]] = {}
        tasks: list[Future[object]] = []
        # The largest first, so that no worker is left with a long one at the end. A task waits only for
        # tasks that were handed in before it: those run or are done.
        for pages, time in sorted({(one.pages, one.time) for one in plan}, reverse=True):
            fields = [one for one in plan if (one.pages, one.time) == (pages, time)]
            for change in sorted({one.change for one in fields}, reverse=True):
                history = executor.submit(self._robots, [one for one in fields if one.change == change])
                histories[pages, time, change] = history
            for query in sorted({one.query for one in fields}, reverse=True):
                chosen = [one for one in fields if one.query == query]
                needed = [histories[pages, time, one.change] for one in chosen]
                tasks.append(executor.submit(partial(self._sensors, chosen, needed)))
        for done in tasks:
            done.result()
        self._outcome.changes.sort(key=_order)
        self._outcome.queries.sort(key=_order)
        return self._outcome

    def _robots(self, fields: Sequence[Situation]) -> History:
        one = fields[0]
        sizes = make_pages(one.pages, stream("pages", self._seed, one.pages))
        key = stream("changes", self._seed, one.pages, one.time, one.change)
        log = make_changes(sizes, one.time, one.change, FREQUENCIES[self._frequencies], key)
        history = pack(sizes, log, one.time)
        self._outcome.changes.append(LogCount(one.pages, one.time, one.change, log.rows))
        self._outcome.volumes[one.pages] = int(sizes.sum())
        del log
        for variant in ROBOTS:
            run = run_robots(
                history,
                make_routes(one.pages, variant.robots),
                one.time,
                stream("variant", self._seed, one.pages, one.time, one.change, variant.number),
                modified=variant.modified,
                steps=self._steps,
            )
            self._keep(fields, variant.number, run)
        return history

    def _sensors(self, fields: Sequence[Situation], histories: Sequence[Future[History]]) -> None:
        first = fields[0]
        key = stream("queries", self._seed, first.pages, first.time, first.query)
        log = make_queries(first.pages, first.time, first.query, key)
        self._outcome.queries.append(LogCount(first.pages, first.time, first.query, log.rows))
        for one, history in zip(fields, histories, strict=True):
            words = (self._seed, one.pages, one.time, one.change, one.query, SENSORS)
            run = run_sensor(history.result(), log, one.time, stream("variant", *words), steps=self._steps)
            self._keep([one], SENSORS, run)

    def _keep(self, fields: Sequence[Situation], variant: int, run: Run) -> None:
        for one in fields:
            self._outcome.runs[one.index, variant] = run
        self._tell(len(self._outcome.runs), len(self._outcome.situations) * len(VARIANTS))


def _order(count: LogCount) -> tuple[int, int, int]:
    return count.pages, count.time, count.intensity


def _silent(done: int, total: int) -> None:
    """Tell nobody."""
