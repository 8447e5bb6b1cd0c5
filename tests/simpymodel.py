"""The experiment of 2005 as a plain SimPy model: written from its description, without newsbot's loops.

Only the random numbers come from newsbot, so that the results can be compared number by number.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
import simpy

from newsbot.apps.simulator.model import ChangeLog, QueryLog, Routes, between, stream

ROW, CHANGE, QUERY, END, ARRIVAL, ROBOT, EMPTY_END = range(7)
"""Order of events at the same time."""
Process = Generator[Any, Any, None]


@dataclass
class Page:
    size: int
    kind: int = 6
    since: int | None = None

    def happen(self, now: int, kind: int, size: int) -> None:
        same = kind == self.kind and kind in (1, 2, 3, 6)
        if not same and not (kind == 6 and self.kind in (4, 5)) and self.since is None:
            self.since = now
        self.kind, self.size = kind, size

    @property
    def available(self) -> bool:
        return self.kind in (4, 5, 6)


@dataclass
class Model:
    """One run. ``robots`` or ``sensors`` add the parts of a strategy, then ``run`` measures."""

    sizes: Any
    log: ChangeLog
    end: int
    fresh_step: int
    traffic_step: int
    env: simpy.Environment = field(default_factory=simpy.Environment)
    waits: list[int] = field(default_factory=list)
    downloads: int = 0
    found: int = 0
    processing: int = 0
    most: int = 0

    def __post_init__(self) -> None:
        self.pages = [Page(int(size)) for size in self.sizes]
        self.bytes = [0]
        self.cycles: list[int] = []
        self.stale_rows: list[int] = []
        self.processing_rows: list[int] = []
        self.traffic_rows: list[list[int]] = []
        for number, page in enumerate(self.pages):
            self.env.process(self._changes(page, self.log.starts[number], self.log.starts[number + 1]))
        self.env.process(self._rows(self.fresh_step, self._fresh_row))
        self.env.process(self._rows(self.traffic_step, self._traffic_row))

    def at(self, moment: int, order: int) -> simpy.Event:
        event = self.env.event()
        event._ok, event._value = True, None
        self.env.schedule(event, priority=cast("Any", order), delay=moment - self.now)
        return event

    @property
    def now(self) -> int:
        return cast("int", self.env.now)

    def run(self) -> None:
        self.env.run(until=self.end + 0.5)
        self._fresh_row()
        self._traffic_row()

    def robots(self, routes: Routes, key: Any, *, modified: bool) -> None:
        self.bytes = [0] * routes.robots
        self.cycles = [0] * routes.robots
        for robot in range(routes.robots):
            route = [int(page) for page in routes.pages[routes.starts[robot] : routes.starts[robot + 1]]]
            self.env.process(self._robot(robot, route, key, modified=modified))

    def sensors(self, queries: QueryLog, key: Any) -> None:
        for number, page in enumerate(self.pages):
            first, last = queries.starts[number], queries.starts[number + 1]
            self.env.process(self._queries(page, range(first, last), queries.times, key))

    def _fresh_row(self) -> None:
        self.stale_rows.append(sum(page.since is not None for page in self.pages))
        self.processing_rows.append(self.processing)

    def _traffic_row(self) -> None:
        self.traffic_rows.append(list(self.bytes))

    def _rows(self, step: int, write: Any) -> Process:
        for moment in [*range(0, self.end, step), self.end]:
            yield self.at(moment, ROW)
            write()

    def _changes(self, page: Page, first: int, last: int) -> Process:
        for row in range(first, last):
            moment = int(self.log.times[row])
            if 0 < moment <= self.end:
                yield self.at(moment, CHANGE)
                page.happen(moment, int(self.log.types[row]), int(self.log.sizes[row]))

    def _settle(self, page: Page) -> bool:
        if page.since is None:
            return False
        self.waits.append(self.now - page.since)
        page.since = None
        return True

    def _robot(self, robot: int, route: list[int], key: Any, *, modified: bool) -> Process:
        heads, loads = stream(key, robot, "head"), stream(key, robot, "load")
        visit = 0
        yield self.at(0, ROBOT)
        while route:
            began = self.now
            for number in route:
                page = self.pages[number]
                if modified:
                    yield self.at(self.now + between(heads, visit, 1, 3), ROBOT)
                if not modified or page.since is not None:
                    if page.available:
                        size = page.size
                        yield self.at(self.now + between(loads, visit, 1, 40), ROBOT)
                        self.bytes[robot] += size
                        self.downloads += 1
                        self.found += self._settle(page)
                    else:
                        self._settle(page)
                visit += 1
            self.cycles[robot] += 1
            if self.now == began:
                while not any(self.pages[number].available for number in route):
                    yield self.at(self.now + 1, ROBOT)

    def _queries(self, page: Page, rows: range, times: Any, key: Any) -> Process:
        for row in rows:
            if 0 < times[row] <= self.end:
                yield self.at(int(times[row]), QUERY)
                if page.since is not None:
                    self.env.process(self._crawl(page, row, key, self.now))

    def _crawl(self, page: Page, row: int, key: Any, asked: int) -> Process:
        yield self.at(asked + between(stream(key, "notice"), row, 1, 3), ARRIVAL)
        found = self._settle(page)
        self.processing += 1
        self.most = max(self.most, self.processing)
        if not page.available:
            yield self.at(self.now, EMPTY_END)
            self.processing -= 1
            return
        size = page.size
        yield self.at(self.now + between(stream(key, "load"), row, 1, 40), END)
        self.processing -= 1
        self.bytes[0] += size
        self.downloads += 1
        self.found += found


def as_series(rows: list[Any]) -> Any:
    return np.array(rows).T
