"""The frontier in the embedded SQLite file. :mod:`newsbot.frontier.base` documents its guarantees.

Each change is one write transaction (``BEGIN IMMEDIATE``). Therefore any number of processes may share the
file, and a killed process never leaves a change half written. An operation reads only the rows that it
leases, moves or returns, and the rows of hosts that ``accept`` refuses.
"""

from __future__ import annotations

import json
import secrets
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any

from newsbot.clock import Clock, system_clock
from newsbot.connections.sqlite import migrations_in, open_database, readable_errors, snapshot, transaction
from newsbot.frontier.base import (
    ALONE,
    ASIDE,
    MAX_LOST,
    Added,
    Entry,
    EntryCopy,
    HostCopy,
    Known,
    Lease,
    Outlook,
    Resumed,
    Watch,
    Worker,
    entry_json,
)
from newsbot.frontier.sqlite import entries as stored_entries
from newsbot.frontier.sqlite.entries import PUBLIC_STATES, Adding, entry_of, find, mark_done

_LEASE = "UPDATE frontier_urls SET state = 'leased', at = ?, owner = ?, token = ? WHERE id = ?"
_TURN = "UPDATE frontier_hosts SET last_turn = ?, next_turn = ? + delay WHERE id = ?"

_ACK = """
UPDATE frontier_urls SET state = 'done', at = :at, last_fetched = coalesce(:fetched, last_fetched),
    attempts = 0, lost = 0, owner = NULL, token = NULL
WHERE fingerprint = :fingerprint AND state = 'leased' AND token = :token
"""
# lost = 0: the worker has survived the entry, so it is not a suspect any more.
_NACK = """
UPDATE frontier_urls SET state = 'held', at = :at, attempts = attempts + 1, lost = 0,
    owner = NULL, token = NULL
WHERE fingerprint = :fingerprint AND state = 'leased' AND token = :token
"""
# The entry was not really tried: attempts stay, and a suspect stays a suspect.
_PUT_BACK = """
UPDATE frontier_urls SET state = 'held', at = :at, owner = NULL, token = NULL
WHERE fingerprint = :fingerprint AND state = 'leased' AND token = :token
"""
_GIVE_UP = """
UPDATE frontier_urls SET state = 'aside', at = :at, data = :data, attempts = attempts + 1, lost = 0,
    owner = NULL, token = NULL
WHERE fingerprint = :fingerprint AND state = 'leased' AND token = :token
"""

# "at IS NOT NULL" is true for every lease; with it SQLite can use the partial index
_RELEASE = """
UPDATE frontier_urls SET state = 'waiting', at = due, owner = NULL, token = NULL
WHERE state = 'leased' AND at IS NOT NULL AND owner = ?
"""
_LEASES_OF = """
SELECT id, due, lost, data FROM frontier_urls WHERE state = 'leased' AND at IS NOT NULL AND owner = ?
"""
_OWNERS = """
SELECT DISTINCT owner FROM frontier_urls WHERE state = 'leased' AND at IS NOT NULL ORDER BY owner
"""
_AT_WORK = "SELECT DISTINCT owner FROM frontier_urls WHERE state = 'leased' AND at > ? ORDER BY owner"
_WORKERS = """
SELECT owner, count(*), min(at) FROM frontier_urls WHERE state = 'leased' AND at IS NOT NULL
GROUP BY owner ORDER BY owner
"""
# Entries that are fetched as soon as possible have 0 in due and at. They are never late.
_LATE = """
SELECT min(since) FROM (
    SELECT min(due) AS since FROM frontier_urls WHERE state = 'ready' AND due > 0 AND due <= :now
    UNION ALL SELECT min(at) FROM frontier_urls WHERE state = 'waiting' AND at > 0 AND at <= :now
    UNION ALL SELECT min(at) FROM frontier_urls WHERE state = 'done' AND at > 0 AND at <= :now
)
"""
# SQLite evaluates all right sides with the old row, so "delay" in the CASE is the old delay. The WHERE avoids
# a write if nothing changes. This is the usual case, because each worker sets the politeness of each of its
# hosts.
_SET_POLITENESS = """
INSERT INTO frontier_hosts (host, delay, concurrency, next_turn) VALUES (?, ?, ?, ?)
ON CONFLICT (host) DO UPDATE SET delay = excluded.delay, concurrency = excluded.concurrency,
    next_turn = CASE WHEN next_turn = last_turn + delay THEN last_turn + excluded.delay
        ELSE max(next_turn, coalesce(last_turn + excluded.delay, next_turn)) END
WHERE delay <> excluded.delay OR concurrency <> excluded.concurrency
"""
"""Changes the next turn to fit a new delay.

If the next turn is one delay after the last turn, the host does not rest, and the next turn becomes the last
turn plus the new delay. Otherwise the host rests. The rest is kept, and is extended if it would end before
the last turn plus the new delay.
"""
# last_turn is NULL for a host without requests; then coalesce() leaves next_turn as it is.
_SLOW_DOWN = """
INSERT INTO frontier_hosts (host, delay, concurrency, next_turn) VALUES (?, ?, ?, ?)
ON CONFLICT (host) DO UPDATE SET delay = max(delay, excluded.delay),
    concurrency = min(concurrency, excluded.concurrency),
    next_turn = max(next_turn, coalesce(last_turn + max(delay, excluded.delay), next_turn))
WHERE delay < excluded.delay OR concurrency > excluded.concurrency
"""
_BACK_OFF = """
INSERT INTO frontier_hosts (host, next_turn) VALUES (?, ?)
ON CONFLICT (host) DO UPDATE SET next_turn = max(next_turn, excluded.next_turn)
"""

_RETURN_TURN = """
UPDATE frontier_hosts SET next_turn = min(next_turn, ?)
WHERE host = ? AND last_turn <= ? AND next_turn <= last_turn + delay
"""
"""Makes the last turn available again.

If the next turn is more than one delay after the last turn, the host rests, and nothing changes. Nothing
changes either if a later turn was reserved in the meantime.
"""

_TAKE_TURN = """
INSERT INTO frontier_hosts (host, last_turn, next_turn) VALUES (?, ?, ? + 1.0)
ON CONFLICT (host) DO UPDATE SET
    last_turn = max(next_turn, ?), next_turn = max(next_turn, ?) + delay
RETURNING last_turn
"""
"""An unknown host gets a delay of one second, the default of the table."""
_GIVE_BACK = """
UPDATE frontier_hosts SET next_turn = last_turn
WHERE host = ? AND last_turn <= ? AND next_turn <= last_turn + delay + 0.001
"""
"""Undoes a turn that was not used. The rest of a host is not shortened."""
_SAME_TURN = 0.001
"""Tolerance in seconds for comparing turns, since their times are results of floating-point sums."""

_ENTRY = """
SELECT u.*, h.host AS host_name FROM frontier_urls u JOIN frontier_hosts h ON h.id = u.host
WHERE u.fingerprint = ?
"""
_ASIDE = """
SELECT u.*, h.host AS host_name FROM frontier_urls u JOIN frontier_hosts h ON h.id = u.host
WHERE u.state = 'aside' AND u.at IS NOT NULL ORDER BY u.at DESC LIMIT ?
"""


class SqliteFrontier:
    """A :class:`newsbot.frontier.base.Frontier` in the SQLite file ``path``, which is created if missing.

    ``clock`` returns the time in POSIX seconds; processes that share a file must share a clock. The
    constructor and all methods raise subclasses of :class:`newsbot.errors.DataError`.
    """

    place = "data file"
    is_local = True

    def __init__(self, path: Path, *, clock: Clock = system_clock) -> None:
        self._path = path
        self._clock = clock
        self._db = open_database(path, component="frontier", migrations=migrations_in("frontier/sqlite"))

    # --- putting in
    def add(self, entries: Sequence[Entry], *, force: bool = False, respell: bool = False) -> list[Added]:
        """Queue new entries; see the protocol."""
        fingerprints = [entry.fingerprint for entry in entries]
        with self._reading() as db:  # usually all links are known, and then no write lock is needed
            adding = Adding(find(db, fingerprints), force=force, respell=respell)
            verdicts = [adding.take(entry) for entry in entries]
        if not adding.changed:
            return verdicts
        with self._writing() as db:  # decide again: another process may have written in between
            adding = Adding(find(db, fingerprints), force=force, respell=respell)
            verdicts = [adding.take(entry) for entry in entries]
            adding.write(db)
        return verdicts

    def mark_done(self, entries: Sequence[Entry], next_due: float | None) -> None:
        """Record entries as done although they were not fetched; see the protocol."""
        with self._writing() as db:
            mark_done(db, entries, next_due)

    # --- handing out
    def lease(
        self,
        owner: str,
        limit: int,
        *,
        horizon: float,
        ttl: float,
        accept: Callable[[str], bool] | None = None,
        alone: bool = False,
    ) -> list[Lease]:
        """Lease up to ``limit`` entries; see the protocol."""
        if limit <= 0:
            return []
        with self._writing() as db:
            now = self._clock()
            # The clock is corrected first, because settle() and choose() compare stored times with now.
            correct(db, now)
            settle(db, now, horizon)
            rows = choose(db, now, horizon, limit, accept=accept, owner=owner, alone=alone)
            # Each lease has a new token, so a worker that lost its lease cannot end the lease of the next
            # worker.
            chosen = [(secrets.token_hex(8), row) for row in rows]
            db.executemany(_LEASE, [(now + ttl, owner, token, row["id"]) for token, row in chosen])
            # Several entries of one host may be leased. Its turn is moved only once.
            db.executemany(_TURN, [(now, now, host) for host in {row["host_id"] for _, row in chosen}])
        return [
            Lease(
                entry=entry_of(row),
                owner=owner,
                token=token,
                deadline=now + ttl,
                attempts=row["attempts"],
                lost=row["lost"],
                last_fetched=row["last_fetched"],
                turn=now,
            )
            for token, row in chosen
        ]

    def ack(self, lease: Lease, *, next_due: float | None, fetched: bool = True) -> bool:
        """Mark the entry as done; see the protocol. Returns False if the caller no longer holds the lease."""
        return self.ack_all([(lease, next_due)], fetched=fetched)[0]

    def ack_all(self, done: Sequence[tuple[Lease, float | None]], *, fetched: bool = True) -> list[bool]:
        """Do the same as :meth:`ack` for several leases, pairs (lease, next_due)."""
        now = self._clock() if fetched else None
        with self._writing() as db:
            return [_end(db, lease, _ACK, at=next_due, fetched=now) for lease, next_due in done]

    def nack(self, lease: Lease, *, delay: float, aside: bool = False, counted: bool = True) -> bool:
        """Mark the attempt as failed; see the protocol."""
        note, now = f"given up after attempt {lease.attempts + 1}", self._clock()
        with self._writing() as db:
            if aside:
                return _end(db, lease, _GIVE_UP, at=now, data=entry_json({**lease.entry.data, ASIDE: note}))
            return _end(db, lease, _NACK if counted else _PUT_BACK, at=now + max(0.0, delay))

    def release(self, owner: str, *, lost: bool = False) -> int:
        """Return all leases of ``owner`` to the queue; see the protocol. Return their number."""
        with self._writing() as db:
            if not lost:
                return db.execute(_RELEASE, (owner,)).rowcount
            # The rows are read completely before _reclaim() changes them, because it changes the index that
            # the query reads.
            rows = db.execute(_LEASES_OF, (owner,)).fetchall()
            _reclaim(db, rows, self._clock())
            return len(rows)

    def owners(self) -> list[str]:
        """Return the owners that hold leases now."""
        with self._reading() as db:
            return [row[0] for row in db.execute(_OWNERS)]

    def resume(self, owner: str, leases: Sequence[Lease], ttl: float) -> Resumed:
        """Extend the leases of ``owner``; see the protocol."""
        with self._writing() as db:
            return Resumed(_take_again(db, owner, leases, self._clock() + ttl))

    # --- politeness
    def set_politeness(self, host: str, *, delay: float, concurrency: int, at_least: bool = False) -> None:
        """Set the host's delay (seconds) and its maximum number of leases; see the protocol.

        Raises ``ValueError`` for a delay below 0 or a concurrency below 1.
        """
        if not delay >= 0 or concurrency < 1:
            raise ValueError(
                f"{host}: delay {delay} must be at least 0, and concurrency {concurrency} at least 1"
            )
        with self._writing() as db:
            now = self._clock()
            db.execute(_SLOW_DOWN if at_least else _SET_POLITENESS, (host, delay, concurrency, now))

    def back_off(self, host: str, seconds: float) -> None:
        """Let the host rest for ``seconds`` from now. A rest is never shortened."""
        with self._writing() as db:
            db.execute(_BACK_OFF, (host, self._clock() + seconds))

    def take_turn(self, host: str, *, missed: float | None = None) -> float:
        """Reserve the host's next turn for a request that is not queued; see the protocol."""
        now = self._clock()
        with self._writing() as db:
            if missed is not None:
                db.execute(_GIVE_BACK, (host, missed + _SAME_TURN))
            (at,) = db.execute(_TAKE_TURN, (host, now, now, now, now)).fetchone()
        return max(0.0, float(at) - now)

    def return_turn(self, host: str, turn: float) -> None:
        """Return the turn of a lease; see the protocol."""
        with self._writing() as db:
            db.execute(_RETURN_TURN, (self._clock(), host, turn + _SAME_TURN))

    # --- looking
    def known(
        self,
        fingerprints: Sequence[bytes],
        hosts: Sequence[str] = (),  # noqa: ARG002  the file has one queue
    ) -> dict[bytes, Known]:
        """Return what is known about these URLs. Unknown URLs are left out."""
        with self._reading() as db:
            return {
                fingerprint: Known(
                    state=PUBLIC_STATES[row["state"]],
                    last_fetched=row["last_fetched"],
                    next_due=_next_due(row),
                )
                for fingerprint, row in find(db, fingerprints).items()
            }

    def entry(self, fingerprint: bytes, host: str = "") -> Entry | None:  # noqa: ARG002
        """Return the current entry; None if it is unknown."""
        with self._reading() as db:
            row = db.execute(_ENTRY, (fingerprint,)).fetchone()
        return None if row is None else entry_of(row)

    def aside(self, limit: int) -> list[Entry]:
        """Return the entries that were set aside last, newest first; ``data[ASIDE]`` holds the reason."""
        with self._reading() as db:
            return [entry_of(row) for row in db.execute(_ASIDE, (limit,))]

    def outlook(self, *, horizon: float, accept: Callable[[str], bool] | None = None) -> Outlook:
        """Return what is pending within ``horizon`` and when the next entry can be leased."""
        now = self._clock()
        with self._reading() as db:
            if not _unsettled(db, now, horizon):  # usually nothing must be moved, and no write lock is needed
                return _look_ahead(db, now, horizon, accept)
        with self._writing() as db:
            settle(db, now, horizon)
            return _look_ahead(db, now, horizon, accept)

    def counts(self) -> dict[str, int]:
        """Return the number of entries in each state: keys pending, leased, done, aside, hosts."""
        with self._reading() as db:
            counts = dict.fromkeys(PUBLIC_STATES.values(), 0)
            for state, urls in db.execute("SELECT state, urls FROM frontier_totals"):
                counts[PUBLIC_STATES[state]] += urls
            (counts["hosts"],) = db.execute("SELECT count(*) FROM frontier_hosts").fetchone()
            return counts

    def watch(self) -> Watch:
        """Return the present workers, and how late the work is."""
        now = self._clock()
        with self._reading() as db:
            (late,) = db.execute(_LATE, {"now": now}).fetchone()
            workers = [Worker(*row) for row in db.execute(_WORKERS)]
        return Watch(now, late, workers)

    # --- copies
    def at_work(self) -> list[str]:
        """Return the owners of leases that have not expired."""
        with self._reading() as db:
            return [row[0] for row in db.execute(_AT_WORK, (self._clock(),))]

    def host(self, name: str) -> HostCopy | None:
        """Return the politeness settings of a host; None for an unknown host."""
        with readable_errors(self._path):
            row = self._db.execute(stored_entries.HOST, (name,)).fetchone()
        return None if row is None else stored_entries.host_copy(row)

    def copy_hosts(self) -> Iterator[HostCopy]:
        """Yield all hosts."""
        with readable_errors(self._path):
            for rows in stored_entries.batches(self._db, stored_entries.HOSTS):
                yield from map(stored_entries.host_copy, rows)

    def copy_entries(self) -> Iterator[EntryCopy]:
        """Yield all entries."""
        with readable_errors(self._path):
            for rows in stored_entries.batches(self._db, stored_entries.ENTRIES):
                yield from map(stored_entries.entry_copy, rows)

    def take_entries(self, copies: Sequence[EntryCopy]) -> None:
        """Store the copies of entries that are not known yet."""
        with self._writing() as db:
            stored_entries.take_entries(db, copies)

    def close(self) -> None:
        """Close the file. Leases are not returned: call :meth:`release` first."""
        self._db.close()

    # --- inside
    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        with readable_errors(self._path), snapshot(self._db):
            yield self._db

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with readable_errors(self._path), transaction(self._db):
            yield self._db


def _next_due(row: sqlite3.Row) -> float | None:
    state = PUBLIC_STATES[row["state"]]
    if state == "done":
        # When an entry is done, "due" is the due time of the last fetch, and "at" is the next due time.
        due: float | None = row["at"]
        return due
    return float(row["due"]) if state == "pending" else None


_STANDS = "SELECT id, state, token, lost, data FROM frontier_urls WHERE fingerprint = ?"
_SET_DEADLINE = "UPDATE frontier_urls SET at = ? WHERE id = ?"
_UNCOUNT = "UPDATE frontier_urls SET attempts = max(attempts - 1, 0), lost = lost - 1 WHERE id = ?"
_TAKE = "UPDATE frontier_urls SET state = 'leased', at = ?, owner = ?, token = ?, data = ? WHERE id = ?"
_RETURN = "UPDATE frontier_urls SET state = 'waiting', at = due, owner = NULL, token = NULL WHERE id = ?"
_PENDING_STATES = ("ready", "waiting")
"""Stored states of an entry after its lease was reclaimed and before another worker leases it.

After :data:`MAX_LOST` lost leases, the entry is ``aside`` instead.
"""


def _take_again(db: sqlite3.Connection, owner: str, leases: Sequence[Lease], deadline: float) -> int:
    """Extend the leases to ``deadline``, lease reclaimed entries again, and return other leases of ``owner``.

    Return the number of leases. Call it inside a transaction. See
    :meth:`newsbot.frontier.base.Frontier.resume`.
    """
    kept: set[int] = set()
    for lease in leases:
        row = db.execute(_STANDS, (lease.entry.fingerprint,)).fetchone()
        if row is None:  # the file was restored from an older copy
            continue
        if row["state"] == "leased" and row["token"] == lease.token:
            db.execute(_SET_DEADLINE, (deadline, row["id"]))
            kept.add(row["id"])
            continue
        # The lease was reclaimed and counted as lost, although this worker has not died. If another worker
        # holds the entry now, only the count is corrected.
        if lost := row["lost"] > 0:
            db.execute(_UNCOUNT, (row["id"],))
        if row["state"] in _PENDING_STATES or (row["state"] == "aside" and lost):
            # An entry that was set aside for its lost leases has the reason in its data.
            data = json.loads(row["data"])
            data.pop(ASIDE, None)
            db.execute(_TAKE, (deadline, owner, lease.token, entry_json(data), row["id"]))
            kept.add(row["id"])
    # These are leases that the worker did not pass. Either their response did not reach the worker, or a
    # power failure has undone their end.
    unknown = [(row["id"],) for row in db.execute(_LEASES_OF, (owner,)) if row["id"] not in kept]
    db.executemany(_RETURN, unknown)
    return len(kept)


def _end(db: sqlite3.Connection, lease: Lease, statement: str, **values: Any) -> bool:
    """End a lease with the SQL ``statement``. Return False if the caller no longer holds the lease."""
    values |= {"fingerprint": lease.entry.fingerprint, "token": lease.token}
    return db.execute(statement, values).rowcount == 1


# --- leasing: chooses the entries that are leased next
# Before the choice, entries are *settled*: an entry whose stored state has ended gets its next state. The
# table in :mod:`newsbot.frontier.sqlite.entries` shows the states.

BATCH = 300
"""Maximum number of rows of one state that one call moves to the next state.

A call is therefore short even if many rows are due.
"""

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
"""The stored horizon becomes earlier only if there are no ready entries except those that this call has made
ready. All ready entries are then due within the new horizon."""

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
# Times within the next hour are not changed: they may be right, and they end soon.
_CORRECT_ENDS = """
UPDATE frontier_urls SET at = max(:now, at - :ahead)
WHERE state IN ('waiting', 'held', 'leased') AND at > :now + :least
"""
# For pages that were fetched while the clock was ahead, the interval until the next fetch stays the same and
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

    Without this correction, a source that was read while the clock was a month ahead would not be read for a
    month. A wait that began before the clock was ahead may end too early.
    """
    (latest,) = db.execute(_LATEST).fetchone()
    # A difference of less than an hour is ignored: the waits end soon, and clocks of machines differ a
    # little.
    if latest > now + AHEAD:
        values = {"now": now, "ahead": latest - now, "least": AHEAD}
        for statement in (_CORRECT_ENDS, _CORRECT_DUE, _CORRECT_TURNS):
            db.execute(statement, values)
    db.execute(_NOTE_CLOCK, (now,))


def _unsettled(db: sqlite3.Connection, now: float, horizon: float) -> bool:
    """Return True if there are entries that :func:`settle` would move to another state."""
    return db.execute(_UNSETTLED, {"now": now, "horizon": horizon}).fetchone() is not None


def settle(db: sqlite3.Connection, now: float, horizon: float) -> None:
    """Move entries whose stored state has ended to the next state.

    These are expired leases, ended delays, and entries due at or before ``horizon``. At most :data:`BATCH`
    entries of each state are moved. Call it inside a transaction.
    """
    values = {"now": now, "horizon": horizon, "batch": BATCH}
    # The order of the three steps matters: reclaimed leases and ended delays become "waiting", and the last
    # step makes the waiting entries ready that are due.
    _reclaim(db, db.execute(_EXPIRED, values).fetchall(), now)
    moved = db.execute(_END_DELAYS, values).rowcount
    for state in ("waiting", "done"):
        moved += db.execute(_FALL_DUE, {"state": state, **values}).rowcount
    if moved:
        db.execute(_NOTE_HORIZON, {"moved": moved, "horizon": horizon})


def _reclaim(db: sqlite3.Connection, rows: Iterable[sqlite3.Row], now: float) -> None:
    """End leases and count them as lost. ``rows`` are their entries, with id, due, lost and data.

    An entry whose leases were lost ``MAX_LOST`` times in a row is set aside. All other entries are pending
    again.
    """
    for row in rows:
        lost = row["lost"] + 1
        if lost < MAX_LOST:
            state, at, data = "waiting", row["due"], row["data"]  # the entry is due: settle() makes it ready
        else:
            note = f"{lost} leases lost in a row: the workers that held this entry died or hung"
            state, at, data = "aside", now, entry_json({**json.loads(row["data"]), ASIDE: note})
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

    The best entry of each host whose turn has come is chosen, in the order of turns. If ``owner`` holds no
    suspect, one suspect may be chosen instead of the best entry of its host. If these are fewer than
    ``limit`` rows, more entries of hosts without a delay are chosen in rotation, up to the concurrency of
    each host. If nothing was found and ``alone`` is True, one suspect that must be leased alone is returned.
    """
    first: list[sqlite3.Row] = []
    roomy: list[tuple[sqlite3.Row, int]] = []
    # Each call leases at most one suspect: if the worker dies, it is clear which suspect it had.
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
            # the number of the host's best entries that are chosen already, without the suspect
            roomy.append((host, 0 if suspected else 1))
        if len(first) >= limit:
            return first
    # The worker has no other entry, so if it dies, this entry is the cause.
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
    """Return the rows of a host's best due entries: ``count`` rows after the first ``skip``, without
    suspects."""
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


# --- outlook: what is pending, and when the next entry can be leased. All queries use indexes.

# An expired lease counts too: the next call of lease() reclaims it and can lease the entry to this worker.
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
        # list() reads all rows first, because the same connection runs another query for each row.
        pairs = [(row, self.db.execute(one, (row["host"],)).fetchone()) for row in list(rows)]
        return [(row, host) for row, host in pairs if self.takes(host)]


def _look_ahead(
    db: sqlite3.Connection, now: float, horizon: float, accept: Callable[[str], bool] | None
) -> Outlook:
    """Return the outlook. Call :func:`newsbot.frontier.sqlite.frontier.settle` first.

    One call of ``settle`` moves a limited number of entries. If due entries are left, ``next_at`` is ``now``,
    because the next call of ``lease`` settles more of them.
    """
    present = _Present(db, now, horizon, accept)
    # these are due entries that settle() has not moved, because it moves only a batch of each state
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
    free = _first_free(present)  # the hosts are sorted by turn, so the other free hosts are not earlier
    if free is not None:
        yield free
        if free[0] <= present.now:
            return  # an entry can be leased now, so no other time is earlier
    deadlines: dict[int, float] = dict(present.db.execute(_DEADLINES).fetchall())
    for host in present.db.execute(_FULL):
        if present.takes(host) and _has_ready(present, host):
            yield _opens(host, deadlines), host["host"]
    # An entry that is held back must wait for the end of its delay and for a turn of its host.
    for row, host in held:
        yield max(row["ends"], _opens(host, deadlines)), host["host"]


def _first_free(present: _Present) -> tuple[float, str] | None:
    """Return the next turn and the name of the first host with a free lease and a ready entry."""
    for host in present.db.execute(_FREE):
        if present.takes(host) and _has_ready(present, host):
            return host["next_turn"], host["host"]
    return None


def _opens(host: sqlite3.Row, deadlines: dict[int, float]) -> float:
    """Return when an entry of the host can be leased, in POSIX seconds.

    This is the host's next turn. If the host has its maximum number of leases, a lease must expire first.
    """
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
