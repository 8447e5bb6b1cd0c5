"""Computes what is pending and when the next entry can be leased. All queries use indexes."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from newsbot.frontier.base import Outlook

# An expired lease counts too: the next call of lease reclaims it and can give the entry to this worker.
_OVERDUE = """
SELECT host, count(*) AS urls FROM frontier_urls
WHERE state IN ('waiting', 'done') AND at <= :horizon GROUP BY host
UNION ALL
SELECT host, count(*) FROM frontier_urls
WHERE state = 'leased' AND at <= :now AND due <= :horizon GROUP BY host
"""

_HELD = """
SELECT host, count(*) AS urls, min(at) AS ends FROM frontier_urls
WHERE state = 'held' AND at IS NOT NULL AND due <= ? GROUP BY host
"""

_LIVE_LEASES = """
SELECT host, count(*) AS urls FROM frontier_urls
WHERE state = 'leased' AND at > ? AND due <= ? GROUP BY host
"""
_DEADLINES = "SELECT host, min(at) FROM frontier_urls WHERE state = 'leased' AND at IS NOT NULL GROUP BY host"

_FREE = """
SELECT id, host, next_turn FROM frontier_hosts WHERE ready > 0 AND leased < concurrency ORDER BY next_turn
"""
_FULL = "SELECT * FROM frontier_hosts WHERE ready > 0 AND leased >= concurrency ORDER BY next_turn"
_HAS_READY = "SELECT 1 FROM frontier_urls WHERE state = 'ready' AND host = ? AND due <= ? LIMIT 1"

_READY = "SELECT urls FROM frontier_totals WHERE state = 'ready'"
_READY_BY_HOST = "SELECT host, ready FROM frontier_hosts WHERE ready > 0"
_READY_WITHIN = """
SELECT host, count(*) AS urls FROM frontier_urls WHERE state = 'ready' AND due <= ? GROUP BY host
"""


@dataclass(frozen=True, slots=True)
class _Present:
    """The arguments of one outlook: time, horizon and accepted hosts."""

    db: sqlite3.Connection
    now: float
    horizon: float
    accept: Callable[[str], bool] | None

    def takes(self, host: sqlite3.Row) -> bool:
        return self.accept is None or self.accept(host["host"])

    def with_hosts(self, rows: Iterable[sqlite3.Row]) -> list[tuple[sqlite3.Row, sqlite3.Row]]:
        """Pair each row with its host's row. Rows of refused hosts are left out."""
        one = "SELECT * FROM frontier_hosts WHERE id = ?"
        # list(): the rows are read completely, because the same connection runs another query for each of
        # them.
        pairs = [(row, self.db.execute(one, (row["host"],)).fetchone()) for row in list(rows)]
        return [(row, host) for row, host in pairs if self.takes(host)]


def look_ahead(
    db: sqlite3.Connection, now: float, horizon: float, accept: Callable[[str], bool] | None
) -> Outlook:
    """Return the outlook. Call :func:`newsbot.frontier.sqlite.leasing.settle` first.

    One call of ``settle`` moves a limited number of entries. If due entries are left, ``next_at`` is ``now``,
    because the next call of ``lease`` settles more of them.
    """
    present = _Present(db, now, horizon, accept)
    # the due entries that settle() left, because it moves only a batch of each state
    overdue = present.with_hosts(db.execute(_OVERDUE, {"now": now, "horizon": horizon}))
    held = present.with_hosts(db.execute(_HELD, (horizon,)))
    next_at, host = min(_openings(present, held), default=(None, None))
    return Outlook(
        next_at=now if overdue else next_at,
        host=None if overdue else host,
        pending=sum(row["urls"] for row, _ in overdue + held) + _count_ready(present),
        leased=sum(row["urls"] for row, _ in present.with_hosts(db.execute(_LIVE_LEASES, (now, horizon)))),
    )


def _openings(present: _Present, held: list[tuple[sqlite3.Row, sqlite3.Row]]) -> Iterator[tuple[float, str]]:
    """Yield pairs (time at which an entry can be leased, host). The caller uses the earliest time."""
    free = _first_free(present)  # the hosts are sorted by turn, so no later one is earlier
    if free is not None:
        yield free
        if free[0] <= present.now:
            return  # an entry can be leased now, so no other time is earlier
    deadlines: dict[int, float] = dict(present.db.execute(_DEADLINES).fetchall())
    for host in present.db.execute(_FULL):
        if present.takes(host) and _has_ready(present, host):
            yield _opens(host, deadlines), host["host"]
    # An entry that is held back needs both: the end of its delay and a turn of its host.
    for row, host in held:
        yield max(row["ends"], _opens(host, deadlines)), host["host"]


def _first_free(present: _Present) -> tuple[float, str] | None:
    """Return the next turn and the name of the first host with a free lease and a ready entry."""
    for host in present.db.execute(_FREE):
        if present.takes(host) and _has_ready(present, host):
            return host["next_turn"], host["host"]
    return None


def _opens(host: sqlite3.Row, deadlines: dict[int, float]) -> float:
    """Return when the host can give an entry: at its next turn, or if it is full, when a lease expires."""
    turn: float = host["next_turn"]
    return turn if host["leased"] < host["concurrency"] else max(turn, deadlines.get(host["id"], turn))


def _has_ready(present: _Present, host: sqlite3.Row) -> bool:
    return present.db.execute(_HAS_READY, (host["id"], present.horizon)).fetchone() is not None


def _count_ready(present: _Present) -> int:
    """Return the number of ready entries that are due within the horizon."""
    db = present.db
    # The counters include entries that became ready for another worker with a later horizon. If there may be
    # such entries, the rows must be counted instead.
    (furthest,) = db.execute("SELECT furthest FROM frontier_horizon").fetchone()
    if furthest > present.horizon:
        rows = db.execute(_READY_WITHIN, (present.horizon,))
        return sum(row["urls"] for row, _ in present.with_hosts(rows))
    if present.accept is None:
        return int(db.execute(_READY).fetchone()[0])
    return sum(host["ready"] for host in db.execute(_READY_BY_HOST) if present.takes(host))
