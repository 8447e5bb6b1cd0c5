"""Twelve schemes by which a search engine learns about changes of sites, on the pages of the model.

In each scheme, one side begins an exchange, and something is sent: :data:`SCHEMES` says what. The first two
schemes are the robots of the experiment, and ``sensor`` is its sensor. The other schemes follow
the same rules: a page is loaded in 1 to 40 units, and a short message (HEAD, a response without a body, a
notice) takes 1 to 3 units. A longer message, such as a list, is sent at the speed :data:`SPEED`.

The pages are split into sites of about the same size. Lists are asked for at intervals, one site after the
other, and the pages that a list names are loaded one after the other. Notices and contents are sent at once,
without a limit of simultaneous loads. If a page changes again before a change is known, it stays stale until
both are known.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np

from newsbot.apps.simulator.model import (
    DOWNLOADS,
    FOUND,
    FULL_STEPS,
    KNOWN,
    MAX_LOAD,
    MAX_NOTICE,
    MAX_SIZE,
    MIN_LOAD,
    MIN_NOTICE,
    MIN_SIZE,
    NEW,
    OPEN,
    Array,
    Columns,
    Ended,
    History,
    Measures,
    QueryLog,
    Run,
    State,
    Table,
    advance,
    advance_all,
    between,
    compiled,
    ignore,
    inlined,
    joined,
    make_measures,
    make_run,
    make_state,
    mark_seen,
    moment,
    row_after,
    run_sensor,
    size_of,
    stream,
)

ENTRY: Final = 100
"""Bytes of one page in a list: its URL and the time of its last change."""
SPEED: Final = MAX_SIZE // MAX_LOAD
"""Bytes of a list, or of several pages in one response, that arrive in one unit."""

# What begins an exchange. Each number up to CHANGES is a request of the robot.
GET, HEAD, CONDITION, LIST, CHANGES, QUERY, NOTICE, CONTENT, FORWARDED = range(9)
# What a response with content has.
PAGE, DIFFERENCE, TOGETHER = range(3)
# Indexes of counts: exchanges about a page, lists, bytes of lists, and the rows of the history.
EXCHANGES, LISTS, LIST_BYTES, SEEN = range(4)


@dataclass(frozen=True, slots=True)
class Scheme:
    """A scheme of co-operation of a site and a search engine."""

    name: str
    about: str
    web: str
    """The standard with which sites offer it."""
    begins: int
    body: int = PAGE
    broker: bool = False
    """True if a third party collects the notices of all sites, and robots ask it for its list."""


_ALL: Final = (
    Scheme("polling", "each page is loaded in turn", "GET", GET),
    Scheme("head", "a page is loaded if a HEAD request shows a change", "HEAD", HEAD),
    Scheme(
        "conditional", "one request brings the page if it has changed", "If-Modified-Since, ETag", CONDITION
    ),
    Scheme(
        "delta",
        "like conditional, but the response has only the difference",
        "RFC 3229 (A-IM)",
        CONDITION,
        DIFFERENCE,
    ),
    Scheme(
        "sitemap", "a list of all pages of the site has the time of each change", "sitemap with lastmod", LIST
    ),
    Scheme(
        "changelist",
        "a list has only the pages that changed since the last request",
        "feed, ResourceSync change list",
        CHANGES,
    ),
    Scheme(
        "dump",
        "one response has all pages that changed since the last request",
        "feed with full texts, ResourceSync change dump",
        CHANGES,
        TOGETHER,
    ),
    Scheme("sensor", "the site reports a changed page when a visitor requests it", "newsbot sensor", QUERY),
    Scheme("notice", "the site reports each change", "IndexNow, ping", NOTICE),
    Scheme("content", "the site sends each changed page", "webhook with the content", CONTENT),
    Scheme(
        "broker",
        "a third party collects the reports of all sites, and gives a list of them",
        "ping server with a change list",
        CHANGES,
        broker=True,
    ),
    Scheme(
        "hub", "a hub loads each reported page once, and sends it to all subscribers", "WebSub", FORWARDED
    ),
)
SCHEMES: Final = {one.name: one for one in _ALL}


class Counts(NamedTuple):
    """What a run counts besides :class:`Measures`. The arrays are changed in place."""

    numbers: Array
    """Numbers at the indexes :data:`EXCHANGES` to :data:`SEEN`."""
    history: Array
    """A row for each seen change: its page, its time, and the time at which it was seen."""


@inlined
def _see(measures: Measures, counts: Counts, page: int, since: int, now: int) -> None:
    """Count a change that was seen, and add it to the history."""
    mark_seen(measures, since, now)
    row = counts.numbers[SEEN]
    counts.history[row, 0], counts.history[row, 1], counts.history[row, 2] = page, since, now
    counts.numbers[SEEN] = row + 1


class Way(NamedTuple):
    """How a robot asks."""

    sites: Array
    """The first page of each site, and one more entry: the number of pages."""
    keys: tuple[np.uint64, np.uint64]
    """The streams of draws of short messages and of loads."""
    begins: int
    body: int
    interval: int
    """Units between two lists of a site."""
    lag: int
    """Lists show the state before this number of units."""


@compiled
def _take_all(state: State, measures: Measures, counts: Counts, pages: Array, now: int) -> None:
    """Mark changed pages as seen: one response has shown all of them."""
    since, stale, end, step = state.since, measures.stale, measures.end, measures.steps.fresh
    for page in pages:
        measures.tally[DOWNLOADS] += state.last[page] & OPEN > 0
        measures.tally[FOUND] += state.last[page] & OPEN > 0
        _see(measures, counts, page, since[page], now)
        since[page] = KNOWN
        advance(state, measures, page, now)
        # The response shows the page at the request. If it has changed since, it stays stale.
        if since[page] != KNOWN:
            stale[row_after(since[page], end, step)] -= 1
            stale[row_after(now, end, step)] += 1


@compiled
def _pull(  # noqa: C901, PLR0912, PLR0915  # one loop, like run_robot()
    state: State, measures: Measures, counts: Counts, way: Way
) -> int:
    """Let a robot ask until the end of the run, and return the number of its rounds."""
    sites, keys, begins, body, interval, lag = way
    since, last, next_time = state.since, state.last, state.next_time
    traffic, tally, numbers, end = measures.traffic[0], measures.tally, counts.numbers, measures.end
    had = last.copy()  # the state of each page that the robot has, for differences
    chosen = np.empty(len(last), np.int64)
    now, visit, rounds = 0, 0, 0
    while True:
        began = now
        for site in range(len(sites) - 1):
            count, size = 0, 0
            for page in range(sites[site], sites[site + 1]):
                if begins >= LIST:
                    if next_time[page] <= now - lag:
                        advance(state, measures, page, now - lag)
                    if since[page] == KNOWN:
                        continue
                    if body == TOGETHER and last[page] & OPEN:
                        size += size_of(last[page])
                chosen[count] = page
                count += 1
            if begins >= LIST:
                size += ENTRY * (sites[site + 1] - sites[site] if begins == LIST else count)
                now += max(1, -(-size // SPEED))
                if now > end:
                    return rounds
                traffic[row_after(now, end, measures.steps.traffic)] += size
                numbers[LISTS] += 1
                numbers[LIST_BYTES] += size
            if body == TOGETHER:
                _take_all(state, measures, counts, chosen[:count], now)
                continue
            for page in chosen[:count]:
                if begins in (HEAD, CONDITION):
                    now += between(keys[0], visit, MIN_NOTICE, MAX_NOTICE)
                    if now > end:
                        return rounds
                    numbers[EXCHANGES] += 1
                if next_time[page] <= now:
                    advance(state, measures, page, now)
                if (begins == GET or since[page] != KNOWN) and last[page] & OPEN:
                    before, had[page] = size_of(had[page]), last[page]
                    size = size_of(last[page])
                    now += between(keys[1], visit, MIN_LOAD, MAX_LOAD)
                    if now > end:
                        return rounds
                    if next_time[page] <= now:
                        advance(state, measures, page, now)
                    if body == DIFFERENCE:
                        size = min(size, max(MIN_SIZE, abs(size - before)))
                    traffic[row_after(now, end, measures.steps.traffic)] += size
                    numbers[EXCHANGES] += begins != CONDITION  # the condition is part of the same request
                    tally[DOWNLOADS] += 1
                    tally[FOUND] += since[page] != KNOWN
                if since[page] != KNOWN:
                    _see(measures, counts, page, since[page], now)
                    since[page] = KNOWN
                visit += 1
        rounds += 1
        # A round takes no time if all pages are unavailable.
        now = max(now, began + (interval if begins >= LIST else 1))


@compiled
def _push(  # noqa: C901  # one loop for each page
    history: History, measures: Measures, counts: Counts, keys: tuple[np.uint64, ...], begins: int
) -> None:
    """Let sites report all changes, or send the changed pages. Pages do not influence each other."""
    end, steps = measures.end, measures.steps
    for page in range(len(history.starts) - 1):
        since, known = KNOWN, 0
        for place in range(history.starts[page] + 1, history.starts[page + 1] - 1):
            row = history.rows[place]
            if not row & NEW:
                continue
            at, is_open = moment(row), row & OPEN > 0
            if since != KNOWN and known < at:
                _see(measures, counts, page, since, known)
                since = KNOWN
            if since == KNOWN:
                since = at
                measures.stale[row_after(at, end, steps.fresh)] += 1
            arrives = at
            if begins != CONTENT or not is_open:
                arrives += between(keys[0], place, MIN_NOTICE, MAX_NOTICE)
                counts.numbers[EXCHANGES] += 1
            if is_open:
                arrives += between(keys[1], place, MIN_LOAD, MAX_LOAD)
                counts.numbers[EXCHANGES] += 1
            if begins == FORWARDED:
                arrives += between(keys[2], place, MIN_LOAD, MAX_LOAD) if is_open else MIN_NOTICE
            known = max(known, arrives)
            if is_open and arrives <= end:
                measures.traffic[0, row_after(arrives, end, steps.traffic)] += size_of(row)
                measures.tally[DOWNLOADS] += 1
                measures.tally[FOUND] += 1
        if since != KNOWN and known <= end:
            _see(measures, counts, page, since, known)


@dataclass(frozen=True, slots=True)
class Exchange:
    """The results of a scheme. Bytes and messages are those that a site sends and receives."""

    scheme: Scheme
    run: Run
    requests: int
    """Requests of one search engine, and messages to it."""
    site_messages: int
    """Messages of all sites for all subscribers."""
    site_bytes: int
    """Bytes that all sites send for all subscribers."""
    history: Columns
    """The page, the time, and the time of arrival of each seen change. Empty for ``sensor``."""

    def row(self) -> dict[str, Any]:
        """Return the figures as a row of the table ``schemes``. Times are in seconds."""
        wait = self.run.mean_wait
        return {
            "scheme": self.scheme.name,
            "freshness": self.run.mean_freshness,
            "mean_wait": None if wait is None else wait / 10,
            "requests": self.requests,
            "megabytes": self.run.sumsize / 1e6,
            "site_messages": self.site_messages,
            "site_megabytes": self.site_bytes / 1e6,
        }


class Shared(NamedTuple):
    """What all schemes have in common. With the same seed they have the same durations."""

    history: History
    queries: QueryLog
    time: int
    """Length of the run in units."""
    seed: int
    sites: int
    interval: int
    """Units between two lists of a site."""
    subscribers: int
    """Number of search engines that do the same."""


def run_scheme(scheme: Scheme, shared: Shared) -> Exchange:
    """Run a scheme."""
    history, queries, time, seed, sites, interval, subscribers = shared
    pages = len(history.starts) - 1
    counts = Counts(np.zeros(4, np.int64), np.zeros((int((history.rows & NEW > 0).sum()) + 1, 3), np.int64))
    numbers = counts.numbers
    measures = make_measures(time, FULL_STEPS, 1)
    key = stream("scheme", seed)
    if scheme.begins == QUERY:
        run = run_sensor(history, queries, time, key)
        numbers[EXCHANGES] = 2 * run.downloads  # a notice and a load; those of unavailable pages do not count
    elif scheme.begins > QUERY:
        draws = tuple(stream(key, name) for name in ("notice", "load", "delivery"))
        _push(history, measures, counts, draws, scheme.begins)
        run = make_run(history, measures)
    else:
        state = make_state(history)
        # A broker has one list for all sites.
        parts = 1 if scheme.broker else sites
        first = np.array([pages * site // parts for site in range(parts + 1)], np.int64)
        lag = MAX_NOTICE if scheme.broker else 0
        keys = stream(key, 0, "head"), stream(key, 0, "load")  # as in run_robots()
        way = Way(first, keys, scheme.begins, scheme.body, interval, lag)
        rounds = _pull(state, measures, counts, way)
        advance_all(state, measures)
        run = make_run(history, measures, cycles=(int(rounds),))
    seen = counts.history[: numbers[SEEN]]
    changes = int((history.rows & NEW > 0).sum()) - pages  # the last row of each page is not a change
    messages, sent = int(numbers[EXCHANGES]) * subscribers, run.sumsize * subscribers
    if scheme.broker:  # the lists come from the broker
        messages, sent = messages + changes, sent - int(numbers[LIST_BYTES]) * subscribers
    elif scheme.begins == FORWARDED:  # the hub is the only one that asks
        messages, sent = int(numbers[EXCHANGES]), run.sumsize
    else:
        messages += int(numbers[LISTS]) * subscribers
    requests = changes if scheme.begins == FORWARDED else int(numbers[EXCHANGES] + numbers[LISTS])
    named = {"page": seen[:, 0] + 1, "changed": seen[:, 1], "seen": seen[:, 2]}
    return Exchange(scheme, run, requests, messages, sent, named)


def run_schemes(shared: Shared, progress: Ended = ignore) -> list[Exchange]:
    """Run all schemes on the same changes. ``progress`` is called after each run."""
    found = []
    for scheme in SCHEMES.values():
        found.append(run_scheme(scheme, shared))
        progress("schemes", shared.seed, scheme.name)
    return found


def as_tables(found: list[Exchange]) -> dict[str, Table | Columns]:
    """Return the tables ``schemes`` and ``history``."""
    history = joined("scheme", {one.scheme.name: one.history for one in found})
    return {"schemes": [one.row() for one in found], "history": history}
