"""Chooses the entries that are leased next.

Before this, entries are *settled*: an entry whose stored state has ended gets its next state. The table in
:mod:`newsbot.frontier.sqlite.rows` shows the states.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable
from itertools import islice, zip_longest

from newsbot.frontier.base import ALONE, ASIDE, MAX_LOST
from newsbot.frontier.sqlite.rows import dump

BATCH = 300
"""Maximum number of rows of one state that one call moves, so that a million due pages do not block it."""

# One EXISTS for each state: each of them is one seek in the index on (state, at).
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

# The delay after a failure has ended, but a page may have been queued for a later time.
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
"""The noted horizon becomes earlier only if all ready entries became ready just now, because only then all of
them are due within the new horizon."""

_HOSTS_BY_TURN = """
SELECT id, host, delay, concurrency - leased AS room FROM frontier_hosts
WHERE ready > 0 AND leased < concurrency AND next_turn <= ? ORDER BY next_turn, id
"""

_HOLDS_SUSPECT = """
SELECT 1 FROM frontier_urls WHERE state = 'leased' AND at IS NOT NULL AND owner = ? AND lost > 0 LIMIT 1
"""

# "lost > 0" repeats the condition of the partial index; SQLite does not conclude it from "lost >= :least".
_SUSPECTS = """
SELECT u.*, h.id AS host_id, h.host AS host_name
FROM frontier_urls u INDEXED BY frontier_urls_suspects CROSS JOIN frontier_hosts h ON h.id = u.host
WHERE u.state = 'ready' AND u.lost >= :least AND u.lost <= :most AND u.lost > 0 AND u.due <= :horizon
    AND h.leased < h.concurrency AND h.next_turn <= :now
ORDER BY u.lost, h.next_turn, h.id, u.priority DESC, u.due, u.id
"""
"""``INDEXED BY`` and ``CROSS JOIN`` make SQLite begin with the suspects. Usually there are none."""

_BEST_OF_HOST = """
SELECT *, host AS host_id, ? AS host_name FROM frontier_urls
WHERE state = 'ready' AND host = ? AND due <= ? AND lost = 0 ORDER BY priority DESC, due, id LIMIT ? OFFSET ?
"""


AHEAD = 3600.0
""":func:`correct` changes nothing if the clock was ahead by less than this number of seconds."""
_LATEST = "SELECT latest FROM frontier_clock"
_NOTE_CLOCK = "UPDATE frontier_clock SET latest = ?"
# Times within the next hour stay: they may be right, and they end soon.
_CORRECT_ENDS = """
UPDATE frontier_urls SET at = max(:now, at - :ahead)
WHERE state IN ('waiting', 'held', 'leased') AND at > :now + :least
"""
# Pages that were fetched while the clock was ahead: the interval until their next fetch stays the same, and
# begins now.
_CORRECT_DUE = """
UPDATE frontier_urls SET at = max(:now, at - last_fetched + :now), last_fetched = :now
WHERE state = 'done' AND at > :now AND last_fetched > :now
"""
_CORRECT_TURNS = """
UPDATE frontier_hosts SET next_turn = max(:now, next_turn - :ahead), last_turn = :now
WHERE last_turn > :now + :least
"""


def correct(db: sqlite3.Connection, now: float) -> None:
    """Record the time ``now``. If the clock was ahead earlier, correct the times that were planned then.

    Otherwise sources that were read while the clock was a month ahead would not be read for a month. A wait
    that began before the clock was ahead may end too early, once.
    """
    (latest,) = db.execute(_LATEST).fetchone()
    # Less than an hour is left as it is: the waits end by themselves soon, and clocks of machines differ a
    # little.
    if latest > now + AHEAD:
        values = {"now": now, "ahead": latest - now, "least": AHEAD}
        for statement in (_CORRECT_ENDS, _CORRECT_DUE, _CORRECT_TURNS):
            db.execute(statement, values)
    db.execute(_NOTE_CLOCK, (now,))


def unsettled(db: sqlite3.Connection, now: float, horizon: float) -> bool:
    """Return True if there are entries that :func:`settle` would move to another state."""
    return db.execute(_UNSETTLED, {"now": now, "horizon": horizon}).fetchone() is not None


def settle(db: sqlite3.Connection, now: float, horizon: float) -> None:
    """Move entries whose stored state has ended to the next state.

    These are expired leases, ended delays, and entries due at or before ``horizon``. At most :data:`BATCH`
    entries of each state are moved. Call it inside a transaction.
    """
    values = {"now": now, "horizon": horizon, "batch": BATCH}
    # The order of the three steps matters: reclaimed leases and ended delays become "waiting", and the last
    # step makes those of them ready that are due.
    reclaim(db, db.execute(_EXPIRED, values).fetchall(), now)
    moved = db.execute(_END_DELAYS, values).rowcount
    for state in ("waiting", "done"):
        moved += db.execute(_FALL_DUE, {"state": state, **values}).rowcount
    if moved:
        db.execute(_NOTE_HORIZON, {"moved": moved, "horizon": horizon})


def reclaim(db: sqlite3.Connection, rows: Iterable[sqlite3.Row], now: float) -> None:
    """End leases and count them as lost. ``rows`` are their entries, with id, due, lost and data.

    An entry that lost ``MAX_LOST`` leases in a row is set aside. The others are pending again.
    """
    for row in rows:
        lost = row["lost"] + 1
        if lost < MAX_LOST:
            state, at, data = "waiting", row["due"], row["data"]  # it was due, so settle() makes it ready
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
    alone: bool,
) -> list[sqlite3.Row]:
    """Return up to ``limit`` rows to lease.

    Each host whose turn has come gives its best entry, in the order of turns. One host may give a suspect
    instead, if ``owner`` holds no suspect. If these are fewer than ``limit``, hosts without a delay give
    further entries in rotation, up to their concurrency. If nothing was found and ``alone`` is True, one
    suspect that must be leased alone is returned.
    """
    first: list[sqlite3.Row] = []
    roomy: list[tuple[sqlite3.Row, int]] = []
    # At most one suspect for each call: if it kills the worker, no second suspect shares the blame.
    suspect = _suspect(db, now, horizon, accept, owner, lost=range(1, ALONE))
    for host in db.execute(_HOSTS_BY_TURN, (now,)):
        if accept is not None and not accept(host["host"]):
            continue
        suspected = suspect is not None and suspect["host_id"] == host["id"]
        best = suspect if suspected else _best(db, host, horizon, 1, 0).fetchone()
        if best is None:  # all ready entries of the host are suspects, or due after this worker's horizon
            continue
        first.append(best)
        if host["delay"] == 0 and host["room"] > 1:
            # the number of best entries that are taken already; a suspect is not one of them
            roomy.append((host, 0 if suspected else 1))
        if len(first) >= limit:
            return first
    # The worker has nothing else in work, so a lost lease would be the fault of this entry.
    if not first and alone:
        last = _suspect(db, now, horizon, accept, owner, lost=range(ALONE, MAX_LOST))
        return [] if last is None else [last]
    # One entry of each roomy host is in `first` already, so "room - 1" are left.
    missing = limit - len(first)
    more = [
        _best(db, host, horizon, min(host["room"] - 1, missing), skipped).fetchall()
        for host, skipped in roomy
    ]
    # each round takes one further entry of each host, so that no host is preferred
    turns = (row for turn in zip_longest(*more) for row in turn if row is not None)
    return first + list(islice(turns, missing))


def _best(db: sqlite3.Connection, host: sqlite3.Row, horizon: float, count: int, skip: int) -> sqlite3.Cursor:
    """Return the rows of a host's best due entries: ``count`` rows after the first ``skip``, no suspects."""
    return db.execute(_BEST_OF_HOST, (host["host"], host["id"], horizon, count, skip))


def _suspect(
    db: sqlite3.Connection,
    now: float,
    horizon: float,
    accept: Callable[[str], bool] | None,
    owner: str,
    *,
    lost: range,
) -> sqlite3.Row | None:
    """Return the row of the next suspect whose number of lost leases is in the range ``lost``.

    Return None if there is none, or if ``owner`` already holds a suspect.
    """
    values = {"now": now, "horizon": horizon, "least": lost[0], "most": lost[-1]}
    rows: Iterable[sqlite3.Row] = db.execute(_SUSPECTS, values)
    found = next((row for row in rows if accept is None or accept(row["host_name"])), None)
    # the second query is needed only if there is a suspect, which is rare
    if found is None or db.execute(_HOLDS_SUSPECT, (owner,)).fetchone() is not None:
        return None
    return found
