"""Reads copies of hosts and entries from the file, and stores such copies."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from typing import Literal

from newsbot.frontier.base import EntryCopy, HostCopy
from newsbot.frontier.sqlite.rows import dump, entry_of, host_ids

_AT_ONCE = 500
_ENTRIES = """
SELECT u.*, h.host AS host_name FROM frontier_urls u JOIN frontier_hosts h ON h.id = u.host
WHERE u.id > ? ORDER BY u.id LIMIT ?
"""
_HOSTS = "SELECT id, host, delay, concurrency, next_turn FROM frontier_hosts WHERE id > ? ORDER BY id LIMIT ?"
_HOST = "SELECT host, delay, concurrency, next_turn FROM frontier_hosts WHERE host = ?"
_TAKE = """
INSERT OR IGNORE INTO frontier_urls (fingerprint, host, state, at, priority, due, kind, depth, url, data,
    attempts, lost, last_fetched)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_STATES: dict[str, Literal["held", "done", "aside"]] = {"held": "held", "done": "done", "aside": "aside"}


def copy_hosts(database: sqlite3.Connection) -> Iterator[list[HostCopy]]:
    """Yield all hosts in batches."""
    for rows in _batches(database, _HOSTS):
        yield [_host(row) for row in rows]


def host(database: sqlite3.Connection, name: str) -> HostCopy | None:
    """Return the host with this key; None if it is unknown."""
    row = database.execute(_HOST, (name,)).fetchone()
    return None if row is None else _host(row)


def _host(row: sqlite3.Row) -> HostCopy:
    return HostCopy(
        host=row["host"], delay=row["delay"], concurrency=row["concurrency"], next_turn=row["next_turn"]
    )


def copy_entries(database: sqlite3.Connection) -> Iterator[list[EntryCopy]]:
    """Yield all entries in batches, in the order in which they were added."""
    for rows in _batches(database, _ENTRIES):
        yield [_copy(row) for row in rows]


def take_entries(database: sqlite3.Connection, copies: Sequence[EntryCopy]) -> None:
    """Store the copies of entries that are not known yet. Call it inside a write transaction."""
    hosts = host_ids(database, [copy.entry.host for copy in copies])
    rows = []
    for copy in copies:
        entry = copy.entry
        state, at = copy.state, copy.at
        if state == "pending":
            # The copy says only "pending"; as in adding._timing, an entry without a due time is ready
            # immediately.
            state, at = ("ready", None) if entry.due <= 0 else ("waiting", entry.due)  # type: ignore[assignment]  # as stored
        rows.append(
            (
                *(entry.fingerprint, hosts[entry.host], state, at, entry.priority, entry.due),
                *(entry.kind.value, entry.depth, entry.url, dump(entry.data)),
                *(copy.attempts, copy.lost, copy.last_fetched),
            )
        )
    database.executemany(_TAKE, rows)


def _copy(row: sqlite3.Row) -> EntryCopy:
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


def _batches(database: sqlite3.Connection, statement: str) -> Iterator[list[sqlite3.Row]]:
    """Yield the rows of ``statement`` in batches, by id.

    No query stays open between two batches, so the file is never locked for long.
    """
    place = 0
    while rows := database.execute(statement, (place, _AT_ONCE)).fetchall():
        yield rows
        place = rows[-1]["id"]
