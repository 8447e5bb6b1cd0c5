"""Leases entries: chooses the next ones, and does first what the choice depends on."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable
from itertools import islice, zip_longest

from newsbot.frontier.base import ASIDE
from newsbot.frontier.sqlite.schema import dump

MAX_LOST = 3
"""Leases lost in a row that put an entry aside."""
BATCH = 300
"""Rows of one state that one call moves: a million pages that fall due at once block nobody."""

_UNSETTLED = """
SELECT 1 WHERE EXISTS (SELECT 1 FROM frontier_urls WHERE state = 'leased' AND at <= :now)
    OR EXISTS (SELECT 1 FROM frontier_urls WHERE state = 'held' AND at <= :now)
    OR EXISTS (SELECT 1 FROM frontier_urls WHERE state = 'waiting' AND at <= :horizon)
    OR EXISTS (SELECT 1 FROM frontier_urls WHERE state = 'done' AND at <= :horizon)
"""

_EXPIRED = """
SELECT id, due, lost, data FROM frontier_urls WHERE state = 'leased' AND at <= :now ORDER BY at LIMIT :batch
"""

_RECLAIM = """
UPDATE frontier_urls SET state = ?, at = ?, data = ?, lost = ?, attempts = attempts + 1,
    owner = NULL, token = NULL
WHERE id = ?
"""

_END_DELAYS = """
UPDATE frontier_urls SET
    state = CASE WHEN due <= :horizon THEN 'ready' ELSE 'waiting' END,
    at = CASE WHEN due <= :horizon THEN NULL ELSE due END
WHERE id IN (SELECT id FROM frontier_urls WHERE state = 'held' AND at <= :now ORDER BY at LIMIT :batch)
"""

_FALL_DUE = """
UPDATE frontier_urls SET state = 'ready', due = at, at = NULL
WHERE id IN (SELECT id FROM frontier_urls WHERE state = :state AND at <= :horizon ORDER BY at LIMIT :batch)
"""

_NOTE_HORIZON = """
UPDATE frontier_horizon SET furthest = CASE
    WHEN (SELECT urls FROM frontier_totals WHERE state = 'ready') <= :moved THEN :horizon
    ELSE max(furthest, :horizon) END
"""

_HOSTS_BY_TURN = """
SELECT id, host, delay, concurrency - leased AS room FROM frontier_hosts
WHERE ready > 0 AND leased < concurrency AND next_turn <= ? ORDER BY next_turn, id
"""

_HOLDS_SUSPECT = """
SELECT 1 FROM frontier_urls WHERE state = 'leased' AND at IS NOT NULL AND owner = ? AND lost > 0 LIMIT 1
"""

_SUSPECTS = """
SELECT u.*, h.id AS host_id, h.host AS host_name
FROM frontier_urls u INDEXED BY frontier_urls_suspects CROSS JOIN frontier_hosts h ON h.id = u.host
WHERE u.state = 'ready' AND u.lost > 0 AND u.due <= :horizon
    AND h.leased < h.concurrency AND h.next_turn <= :now
ORDER BY u.lost, h.next_turn, h.id, u.priority DESC, u.due, u.id
"""

_BEST_OF_HOST = """
SELECT *, host AS host_id, ? AS host_name FROM frontier_urls
WHERE state = 'ready' AND host = ? AND due <= ? AND lost = 0 ORDER BY priority DESC, due, id LIMIT ? OFFSET ?
"""


def unsettled(db: sqlite3.Connection, now: float, horizon: float) -> bool:
    """Return True if :func:`settle` has something to do."""
    return db.execute(_UNSETTLED, {"now": now, "horizon": horizon}).fetchone() is not None


def settle(db: sqlite3.Connection, now: float, horizon: float) -> None:
    """Do what time alone brings: lost leases come back, delays end, entries fall due."""
    values = {"now": now, "horizon": horizon, "batch": BATCH}
    reclaim(db, db.execute(_EXPIRED, values).fetchall(), now)
    moved = db.execute(_END_DELAYS, values).rowcount
    for state in ("waiting", "done"):
        moved += db.execute(_FALL_DUE, {"state": state, **values}).rowcount
    if moved:
        db.execute(_NOTE_HORIZON, {"moved": moved, "horizon": horizon})


def reclaim(db: sqlite3.Connection, rows: Iterable[sqlite3.Row], now: float) -> None:
    """Take back leases (id, due, lost, data) as lost: pending again, the third time in a row aside."""
    for row in rows:
        lost = row["lost"] + 1
        if lost < MAX_LOST:
            state, at, data = "waiting", row["due"], row["data"]
        else:
            note = f"{lost} leases lost in a row: the workers that had it died or hung"
            state, at, data = "aside", now, dump({**json.loads(row["data"]), ASIDE: note})
        db.execute(_RECLAIM, (state, at, data, lost, row["id"]))


def choose(
    db: sqlite3.Connection,
    now: float,
    horizon: float,
    limit: int,
    *,
    accept: Callable[[str], bool] | None,
    owner: str,
) -> list[sqlite3.Row]:
    """Return the rows to hand out: the best of each host whose turn has come, by turn.

    One of the hosts may give a suspect instead, if ``owner`` has none. Only then, from hosts without a
    delay, as many more as they have room for, the hosts taking turns.
    """
    first: list[sqlite3.Row] = []
    roomy: list[tuple[sqlite3.Row, int]] = []
    suspect = _suspect(db, now, horizon, accept, owner)
    for host in db.execute(_HOSTS_BY_TURN, (now,)):
        if accept is not None and not accept(host["host"]):
            continue
        suspected = suspect is not None and suspect["host_id"] == host["id"]
        best = suspect if suspected else _best(db, host, horizon, 1, 0).fetchone()
        if best is None:  # what is ready there is due for another worker's horizon only, or suspect
            continue
        first.append(best)
        if host["delay"] == 0 and host["room"] > 1:
            roomy.append((host, 0 if suspected else 1))
        if len(first) >= limit:
            return first
    missing = limit - len(first)
    more = [
        _best(db, host, horizon, min(host["room"] - 1, missing), skipped).fetchall()
        for host, skipped in roomy
    ]
    turns = (row for turn in zip_longest(*more) for row in turn if row is not None)
    return first + list(islice(turns, missing))


def _best(db: sqlite3.Connection, host: sqlite3.Row, horizon: float, count: int, skip: int) -> sqlite3.Cursor:
    """Find the best entries of a host that are due and no suspects: ``count`` after the first ``skip``."""
    return db.execute(_BEST_OF_HOST, (host["host"], host["id"], horizon, count, skip))


def _suspect(
    db: sqlite3.Connection, now: float, horizon: float, accept: Callable[[str], bool] | None, owner: str
) -> sqlite3.Row | None:
    """Return the suspect that ``owner`` may have now: none while it holds one."""
    rows: Iterable[sqlite3.Row] = db.execute(_SUSPECTS, {"now": now, "horizon": horizon})
    found = next((row for row in rows if accept is None or accept(row["host_name"])), None)
    if found is None or db.execute(_HOLDS_SUSPECT, (owner,)).fetchone() is not None:
        return None
    return found
