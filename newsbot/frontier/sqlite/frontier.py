"""The frontier in the embedded SQLite file. :mod:`newsbot.frontier.base` documents its guarantees.

Each change is one write transaction (``BEGIN IMMEDIATE``). Therefore any number of processes may share the
file, and a killed process never leaves half a change. Apart from hosts that ``accept`` refuses, an operation
reads only the rows that it leases, moves or returns.
"""

from __future__ import annotations

import json
import secrets
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from newsbot.clock import Clock, system_clock
from newsbot.connections.sqlite import migrations_in, open_database, readable_errors, snapshot, transaction
from newsbot.frontier.base import (
    ASIDE,
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
)
from newsbot.frontier.sqlite import transfer as sqlite_transfer
from newsbot.frontier.sqlite.adding import Adding, mark_done
from newsbot.frontier.sqlite.leasing import choose, correct, reclaim, settle, unsettled
from newsbot.frontier.sqlite.outlook import look_ahead
from newsbot.frontier.sqlite.rows import PUBLIC_STATES, dump, entry_of, find

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
# due and at are 0 for entries that are fetched as soon as possible; they have no time to be late for.
_LATE = """
SELECT min(since) FROM (
    SELECT min(due) AS since FROM frontier_urls WHERE state = 'ready' AND due > 0 AND due <= :now
    UNION ALL SELECT min(at) FROM frontier_urls WHERE state = 'waiting' AND at > 0 AND at <= :now
    UNION ALL SELECT min(at) FROM frontier_urls WHERE state = 'done' AND at > 0 AND at <= :now
)
"""
# SQLite evaluates all right sides with the old row, so "delay" in the CASE is the old delay. The WHERE saves
# the write if nothing changes, which is usual: each worker sets the politeness of each of its hosts.
_SET_POLITENESS = """
INSERT INTO frontier_hosts (host, delay, concurrency) VALUES (?, ?, ?)
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
INSERT INTO frontier_hosts (host, delay, concurrency) VALUES (?, ?, ?)
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
UPDATE frontier_hosts SET next_turn = min(next_turn, ?) WHERE host = ? AND next_turn <= last_turn + delay
"""
"""Makes the last turn available again.

If the next turn is more than one delay after the last turn, the host rests, and nothing changes.
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
SAME_TURN = 0.001
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
        with self._reading() as db:  # usually all links are known, and no write lock is needed
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
        """Record entries as done that were not fetched themselves; see the protocol."""
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
            # A host may give several entries. Its turn is moved only once.
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
                return _end(db, lease, _GIVE_UP, at=now, data=dump({**lease.entry.data, ASIDE: note}))
            return _end(db, lease, _NACK if counted else _PUT_BACK, at=now + max(0.0, delay))

    def release(self, owner: str, *, lost: bool = False) -> int:
        """Return all leases of ``owner`` to the queue; see the protocol. Return their number."""
        with self._writing() as db:
            if not lost:
                return db.execute(_RELEASE, (owner,)).rowcount
            # The rows are read completely before reclaim() changes them: the query reads the index that is
            # changed.
            rows = db.execute(_LEASES_OF, (owner,)).fetchall()
            reclaim(db, rows, self._clock())
            return len(rows)

    def owners(self) -> list[str]:
        """Return the owners that hold leases now."""
        with self._reading() as db:
            return [row[0] for row in db.execute(_OWNERS)]

    def resume(self, owner: str, leases: Sequence[Lease], ttl: float) -> Resumed:
        """Extend the leases of ``owner``; see the protocol."""
        with self._writing() as db:
            return Resumed(take_again(db, owner, leases, self._clock() + ttl))

    # --- politeness
    def set_politeness(self, host: str, *, delay: float, concurrency: int, at_least: bool = False) -> None:
        """Set the host's delay (seconds) and its maximum number of leases; see the protocol.

        Raises ``ValueError`` for a delay below 0 or a concurrency below 1.
        """
        if not delay >= 0 or concurrency < 1:
            raise ValueError(f"{host}: delay {delay} and concurrency {concurrency} must be at least 0 and 1")
        with self._writing() as db:
            db.execute(_SLOW_DOWN if at_least else _SET_POLITENESS, (host, delay, concurrency))

    def back_off(self, host: str, seconds: float) -> None:
        """Let the host rest for ``seconds`` from now. A rest is never shortened."""
        with self._writing() as db:
            db.execute(_BACK_OFF, (host, self._clock() + seconds))

    def take_turn(self, host: str, *, missed: float | None = None) -> float:
        """Reserve the host's next turn for a request that is not queued; see the protocol."""
        now = self._clock()
        with self._writing() as db:
            if missed is not None:
                db.execute(_GIVE_BACK, (host, missed + SAME_TURN))
            (at,) = db.execute(_TAKE_TURN, (host, now, now, now, now)).fetchone()
        return max(0.0, float(at) - now)

    def return_turn(self, host: str) -> None:
        """Return the host's last turn; see the protocol."""
        with self._writing() as db:
            db.execute(_RETURN_TURN, (self._clock(), host))

    # --- looking
    def known(self, fingerprints: Sequence[bytes]) -> dict[bytes, Known]:
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

    def entry(self, fingerprint: bytes) -> Entry | None:
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
            if not unsettled(db, now, horizon):  # usually nothing must be moved, and no write lock is needed
                return look_ahead(db, now, horizon, accept)
        with self._writing() as db:
            settle(db, now, horizon)
            return look_ahead(db, now, horizon, accept)

    def counts(self) -> dict[str, int]:
        """Return the number of entries in each state: keys pending, leased, done, aside, hosts."""
        with self._reading() as db:
            counts = dict.fromkeys(PUBLIC_STATES.values(), 0)
            for state, urls in db.execute("SELECT state, urls FROM frontier_totals"):
                counts[PUBLIC_STATES[state]] += urls
            (counts["hosts"],) = db.execute("SELECT count(*) FROM frontier_hosts").fetchone()
            return counts

    def watch(self) -> Watch:
        """Return the current workers and lag."""
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
            return sqlite_transfer.host(self._db, name)

    def copy_hosts(self) -> Iterator[HostCopy]:
        """Yield all hosts."""
        with readable_errors(self._path):
            for some in sqlite_transfer.copy_hosts(self._db):
                yield from some

    def copy_entries(self) -> Iterator[EntryCopy]:
        """Yield all entries."""
        with readable_errors(self._path):
            for some in sqlite_transfer.copy_entries(self._db):
                yield from some

    def take_entries(self, copies: Sequence[EntryCopy]) -> None:
        """Store the copies of entries that are not known yet."""
        with self._writing() as db:
            sqlite_transfer.take_entries(db, copies)

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
        # When an entry is done, "due" is the time that it was fetched for, and "at" is the next one.
        due: float | None = row["at"]
        return due
    return float(row["due"]) if state == "pending" else None


_STANDS = "SELECT id, state, token, lost, data FROM frontier_urls WHERE fingerprint = ?"
_SET_DEADLINE = "UPDATE frontier_urls SET at = ? WHERE id = ?"
_UNCOUNT = "UPDATE frontier_urls SET attempts = max(attempts - 1, 0), lost = lost - 1 WHERE id = ?"
_TAKE = "UPDATE frontier_urls SET state = 'leased', at = ?, owner = ?, token = ?, data = ? WHERE id = ?"
_RETURN = "UPDATE frontier_urls SET state = 'waiting', at = due, owner = NULL, token = NULL WHERE id = ?"
PENDING_STATES = ("ready", "waiting")
"""Stored states of an entry whose lease was reclaimed and that no other worker has leased since then.

After its last lost lease it is ``aside``.
"""


def take_again(db: sqlite3.Connection, owner: str, leases: Sequence[Lease], deadline: float) -> int:
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
        if row["state"] in PENDING_STATES or (row["state"] == "aside" and lost):
            # An entry that was set aside for its lost leases has the reason in its data.
            data = json.loads(row["data"])
            data.pop(ASIDE, None)
            db.execute(_TAKE, (deadline, owner, lease.token, dump(data), row["id"]))
            kept.add(row["id"])
    # Leases that the worker does not name: it never got them, or a power failure has undone their end.
    unknown = [(row["id"],) for row in db.execute(_LEASES_OF, (owner,)) if row["id"] not in kept]
    db.executemany(_RETURN, unknown)
    return len(kept)


def _end(db: sqlite3.Connection, lease: Lease, statement: str, **values: Any) -> bool:
    """End a lease with the SQL ``statement``. Return False if the caller no longer holds the lease."""
    values |= {"fingerprint": lease.entry.fingerprint, "token": lease.token}
    return db.execute(statement, values).rowcount == 1
