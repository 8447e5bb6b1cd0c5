"""Reads and writes entries of the SQLite frontier, whose tables are in ``migrations/``.

The table below lists the stored states of a URL. The state *pending* of :mod:`newsbot.frontier.base` is
stored as one of three states (ready, waiting, held), so that a query reads only rows that can match.
``lease`` changes rows that are due before its horizon to ``ready``. The states are:

=========== =============================== ========================================
``state``   ``at``: when the state ends     next state
=========== =============================== ========================================
``ready``   NULL                            leased, by a worker
``waiting`` its due time                    ready, when a horizon reaches ``at``
``held``    the end of a nack's delay       waiting, or ready immediately
``leased``  its deadline                    waiting; aside after ``MAX_LOST`` losses
``done``    its next due time, NULL: never  ready, when a horizon reaches ``at``
``aside``   time when it was set aside      stays until ``add`` forces it
=========== =============================== ========================================

Triggers update the counters of hosts and the totals, so that they are correct after every change.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from newsbot.connections.sqlite import select_in
from newsbot.frontier.base import Added, Entry, EntryCopy, EntryData, HostCopy, entry_json
from newsbot.items import Kind

PUBLIC_STATES = {
    "ready": "pending",
    "waiting": "pending",
    "held": "pending",
    "leased": "leased",
    "done": "done",
    "aside": "aside",
}
"""Maps stored states to the state names of :mod:`newsbot.frontier.base`."""

# Selects only the columns that are needed to decide what to do with a link. Most links of a page are known,
# so reading their URLs and data would be wasted time.
_FIND = """
SELECT fingerprint, id, state, at, priority, due, last_fetched,
    json_extract(data, '$.published_at') IS NOT NULL AS dated
FROM frontier_urls WHERE fingerprint IN
"""


def find(db: sqlite3.Connection, fingerprints: Sequence[bytes]) -> dict[bytes, sqlite3.Row]:
    """Return the rows of known fingerprints: id, state, at, priority, due, last_fetched and ``dated``.

    ``dated`` is true if the entry's data have ``published_at``.
    """
    return {row["fingerprint"]: row for row in select_in(db, _FIND, fingerprints)}


def _host_ids(db: sqlite3.Connection, hosts: Iterable[str]) -> dict[str, int]:
    """Return the row ids of hosts. Unknown hosts are inserted in the given order, with default politeness."""
    ids = {}
    for host in dict.fromkeys(hosts):
        row = db.execute("SELECT id FROM frontier_hosts WHERE host = ?", (host,)).fetchone()
        if row is None:
            cursor = db.execute("INSERT INTO frontier_hosts (host) VALUES (?) RETURNING id", (host,))
            row = cursor.fetchone()
        ids[host] = row[0]
    return ids


def entry_of(row: sqlite3.Row) -> Entry:
    """Return the entry of a full row. The column ``host_name`` must hold the host's name."""
    return Entry(
        url=row["url"],
        fingerprint=row["fingerprint"],
        host=row["host_name"],
        kind=Kind(row["kind"]),
        priority=row["priority"],
        due=row["due"],
        depth=row["depth"],
        data=json.loads(row["data"]),
    )


# --- adding: decides on each entry first, then writes all changes together

_INSERT = """
INSERT INTO frontier_urls (state, at, priority, due, kind, depth, url, data, host, fingerprint)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""

# 'respelled' is the state that _LEAVE_HOST has set just before.
_REPLACE = """
UPDATE frontier_urls SET state = ?, at = ?, priority = ?, due = ?, kind = ?, depth = ?, url = ?, data = ?,
    host = ?, attempts = 0, lost = CASE state WHEN 'respelled' THEN lost ELSE 0 END
WHERE id = ?
"""
"""If an entry gets another spelling, its count of lost leases is kept. If it is queued again, the count is
0."""
_LEAVE_HOST = "UPDATE frontier_urls SET state = 'respelled', at = NULL WHERE id = ?"
"""Triggers count by state, so the entry must leave its old host's counter before it gets a new host."""

# "at" of a waiting entry is its due time. "at" of a held entry is the end of its delay, which a new link does
# not shorten.
_HURRY = """
UPDATE frontier_urls SET priority = ?, due = ?, at = CASE state WHEN 'waiting' THEN ? ELSE at END WHERE id = ?
"""

_SET_DATA = """
UPDATE frontier_urls
SET data = json_patch(?, json_object('discovered_at', json_extract(data, '$.discovered_at'))) WHERE id = ?
"""
"""Replaces the data with the data from a feed, but keeps the time of the first discovery."""

# If the entry was set aside, the reason is removed from its data, because it is no longer aside.
_MARK_DONE = """
INSERT INTO frontier_urls (state, at, priority, due, kind, depth, url, data, host, fingerprint)
VALUES ('done', ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (fingerprint) DO UPDATE SET state = excluded.state, at = excluded.at, attempts = 0, lost = 0,
    data = CASE state WHEN 'aside' THEN json_remove(data, '$.aside') ELSE data END
WHERE state <> 'leased' AND last_fetched IS NULL
"""


@dataclass(slots=True)
class _Target:
    """The state that an entry will have after this batch."""

    row: int | None
    """Id of the entry's row in the database; None for a new entry."""
    state: str
    """State name of :mod:`newsbot.frontier.base`."""
    priority: float
    due: float
    dated: bool
    """True if the entry's data have the time of publication."""
    entry: Entry | None = None
    """The added entry whose url, data and other columns replace the stored columns; None if these are not
    replaced."""
    new_data: EntryData | None = None
    """New data with the time of publication, which replace the stored data; None if these stay."""
    changed: bool = False
    """True if the row must be written."""
    fetched: bool = False
    """True if the entry was fetched before."""
    respelled: bool = False
    """True if a pending entry gets another spelling, and with it perhaps another host."""


class Adding:
    """One batch of entries that are added. ``rows`` holds the stored rows of the entries that are known."""

    def __init__(self, rows: Mapping[bytes, sqlite3.Row], *, force: bool, respell: bool) -> None:
        self._force, self._respell = force, respell
        self._targets = {
            key: _Target(
                row["id"],
                PUBLIC_STATES[row["state"]],
                row["priority"],
                row["due"],
                dated=bool(row["dated"]),
                fetched=row["last_fetched"] is not None,
            )
            for key, row in rows.items()
        }

    def take(self, entry: Entry) -> Added:
        """Decide what happens to one entry. A later entry with the same fingerprint is compared with the
        result."""
        target = self._targets.get(entry.fingerprint)
        if target is None:
            # The target is kept, so a second link to the same URL in this batch is not inserted twice.
            # dated=True: _INSERT writes the data, so _SET_DATA is not needed.
            self._targets[entry.fingerprint] = _Target(
                None, "pending", entry.priority, entry.due, dated=True, entry=entry, changed=True
            )
            return Added.NEW
        if target.state == "pending":
            verdict = _hurry(target, entry)
            # row is None: the entry is new in this batch, so its spelling is simply replaced before it is
            # inserted.
            if self._respell and not target.fetched:
                target.entry, target.changed, target.respelled = entry, True, target.row is not None
                verdict = Added.SOONER
            return verdict
        # A leased entry is not changed even with force: its worker is fetching it right now.
        if self._force and target.state in ("done", "aside"):  # the old priority and due time are replaced
            target.state, target.priority, target.due = "pending", entry.priority, entry.due
            target.entry, target.changed = entry, True
            return Added.SOONER
        return Added.KNOWN

    @property
    def changed(self) -> bool:
        """True if there is something to write."""
        return any(target.changed for target in self._targets.values())

    def write(self, db: sqlite3.Connection) -> None:
        """Write all changes. Call it inside a transaction."""
        changed = [target for target in self._targets.values() if target.changed]
        whole = [(target, target.entry) for target in changed if target.entry is not None]
        hosts = _host_ids(db, [entry.host for _, entry in whole])
        db.executemany(
            _INSERT,
            [
                (*_timing(target), *_columns(entry, hosts), entry.fingerprint)
                for target, entry in whole
                if target.row is None
            ],
        )
        # The order matters: entries leave their hosts before _REPLACE writes the new hosts.
        db.executemany(_LEAVE_HOST, [(target.row,) for target, _ in whole if target.respelled])
        db.executemany(
            _REPLACE,
            [
                (*_timing(target), *_columns(entry, hosts), target.row)
                for target, entry in whole
                if target.row is not None
            ],
        )
        db.executemany(
            _HURRY,
            [
                (target.priority, target.due, target.due, target.row)
                for target in changed
                if target.entry is None  # the other targets were written completely
            ],
        )
        db.executemany(
            _SET_DATA,
            [(entry_json(target.new_data), target.row) for target in changed if target.new_data is not None],
        )


def mark_done(db: sqlite3.Connection, entries: Sequence[Entry], next_due: float | None) -> None:
    """Write entries as done although they were not fetched. Call it inside a transaction."""
    hosts = _host_ids(db, [entry.host for entry in entries])
    db.executemany(
        _MARK_DONE,
        [
            (next_due, entry.priority, entry.due, *_columns(entry, hosts), entry.fingerprint)
            for entry in entries
        ],
    )


def _hurry(target: _Target, entry: Entry) -> Added:
    """Update a pending entry from ``entry``: higher priority, earlier due time, data with a publication time.

    Return ``SOONER`` if its priority or due time changed.
    """
    if not target.dated and "published_at" in entry.data:
        target.dated = target.changed = True
        target.new_data = entry.data
    if entry.priority <= target.priority and entry.due >= target.due:
        return Added.KNOWN
    target.priority = max(target.priority, entry.priority)
    target.due = min(target.due, entry.due)
    target.changed = True
    return Added.SOONER


def _timing(target: _Target) -> tuple[object, ...]:
    """Return the columns state, at, priority and due. An entry without a due time is ready immediately."""
    if target.due <= 0:
        return ("ready", None, target.priority, target.due)
    return ("waiting", target.due, target.priority, target.due)


def _columns(entry: Entry, hosts: Mapping[str, int]) -> tuple[object, ...]:
    return entry.kind.value, entry.depth, entry.url, entry_json(entry.data), hosts[entry.host]


# --- transfer: reads copies of hosts and entries from the file, and stores such copies

_AT_ONCE = 500
ENTRIES = """
SELECT u.*, h.host AS host_name FROM frontier_urls u JOIN frontier_hosts h ON h.id = u.host
WHERE u.id > ? ORDER BY u.id LIMIT ?
"""
HOSTS = "SELECT * FROM frontier_hosts WHERE id > ? ORDER BY id LIMIT ?"
HOST = "SELECT * FROM frontier_hosts WHERE host = ?"
_TAKE = """
INSERT OR IGNORE INTO frontier_urls (fingerprint, host, state, at, priority, due, kind, depth, url, data,
    attempts, lost, last_fetched)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_STATES: dict[str, Literal["held", "done", "aside"]] = {"held": "held", "done": "done", "aside": "aside"}


def host_copy(row: sqlite3.Row) -> HostCopy:
    """Return the copy of a host from its row."""
    return HostCopy(
        host=row["host"],
        delay=row["delay"],
        concurrency=row["concurrency"],
        next_turn=row["next_turn"],
        ready=row["ready"],
        visited=row["last_turn"] is not None,
    )


def take_entries(database: sqlite3.Connection, copies: Sequence[EntryCopy]) -> None:
    """Store the copies of entries that are not known yet. Call it inside a write transaction."""
    hosts = _host_ids(database, [copy.entry.host for copy in copies])
    rows = []
    for copy in copies:
        entry = copy.entry
        state, at = copy.state, copy.at
        if state == "pending":
            # The copy does not say whether the entry is ready or waiting. As in _timing(), an entry without a
            # due time is ready immediately.
            state, at = ("ready", None) if entry.due <= 0 else ("waiting", entry.due)  # type: ignore[assignment]  # as stored
        rows.append(
            (
                *(entry.fingerprint, hosts[entry.host], state, at, entry.priority, entry.due),
                *(entry.kind.value, entry.depth, entry.url, entry_json(entry.data)),
                *(copy.attempts, copy.lost, copy.last_fetched),
            )
        )
    database.executemany(_TAKE, rows)


def entry_copy(row: sqlite3.Row) -> EntryCopy:
    """Return the copy of an entry from a row of :data:`ENTRIES`."""
    state = _STATES.get(row["state"])
    return EntryCopy(
        entry=entry_of(row),
        state=state or "pending",
        # "at" of a pending or leased entry (a due time or a deadline) has no meaning in another frontier.
        at=row["at"] if state else None,
        last_fetched=row["last_fetched"],
        attempts=row["attempts"],
        lost=row["lost"],
    )


def batches(database: sqlite3.Connection, statement: str) -> Iterator[list[sqlite3.Row]]:
    """Yield the rows of ``statement`` in batches, by id.

    No query stays open between two batches, so the file is never locked for long.
    """
    place = 0
    while rows := database.execute(statement, (place, _AT_ONCE)).fetchall():
        yield rows
        place = rows[-1]["id"]
