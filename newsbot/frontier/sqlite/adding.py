"""Adds entries: first decides on each of them, then writes all at once."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from newsbot.frontier.base import Added, Entry
from newsbot.frontier.sqlite.schema import PUBLIC_STATES, dump, host_ids

_INSERT = """
INSERT INTO frontier_urls (state, at, priority, due, kind, depth, url, data, host, fingerprint)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""

_REPLACE = """
UPDATE frontier_urls SET state = ?, at = ?, priority = ?, due = ?, kind = ?, depth = ?, url = ?, data = ?,
    host = ?, attempts = 0, lost = 0
WHERE id = ?
"""

_HURRY = """
UPDATE frontier_urls SET priority = ?, due = ?, at = CASE state WHEN 'waiting' THEN ? ELSE at END WHERE id = ?
"""

_MARK_DONE = """
INSERT INTO frontier_urls (state, at, priority, due, kind, depth, url, data, host, fingerprint)
VALUES ('done', ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (fingerprint) DO UPDATE SET state = excluded.state, at = excluded.at, attempts = 0, lost = 0,
    data = CASE state WHEN 'aside' THEN json_remove(data, '$.aside') ELSE data END
WHERE state <> 'leased' AND last_fetched IS NULL
"""


@dataclass(slots=True)
class _Target:
    """An entry as it will stand. ``row`` None: new. ``entry`` is what replaces url, data and the rest."""

    row: int | None
    state: str
    """As the protocol calls it."""
    priority: float
    due: float
    entry: Entry | None = None
    changed: bool = False


class Adding:
    """One batch. ``rows`` are those already known, by fingerprint."""

    def __init__(self, rows: Mapping[bytes, sqlite3.Row], *, force: bool) -> None:
        self._force = force
        self._targets = {
            key: _Target(row["id"], PUBLIC_STATES[row["state"]], row["priority"], row["due"])
            for key, row in rows.items()
        }

    def take(self, entry: Entry) -> Added:
        """Return the verdict on one entry; later ones of the batch see what it did."""
        target = self._targets.get(entry.fingerprint)
        if target is None:
            self._targets[entry.fingerprint] = _Target(
                None, "pending", entry.priority, entry.due, entry, changed=True
            )
            return Added.NEW
        if target.state == "pending":
            return _hurry(target, entry)
        if self._force and target.state in ("done", "aside"):
            target.state, target.priority, target.due = "pending", entry.priority, entry.due
            target.entry, target.changed = entry, True
            return Added.SOONER
        return Added.KNOWN

    @property
    def changed(self) -> bool:
        """True when there is something to write."""
        return any(target.changed for target in self._targets.values())

    def write(self, db: sqlite3.Connection) -> None:
        """Write all changes; to be called inside a transaction."""
        changed = [target for target in self._targets.values() if target.changed]
        whole = [(target, target.entry) for target in changed if target.entry is not None]
        hosts = host_ids(db, [entry.host for _, entry in whole])
        db.executemany(
            _INSERT,
            [
                (*_timing(target), *_columns(entry, hosts), entry.fingerprint)
                for target, entry in whole
                if target.row is None
            ],
        )
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
                if target.entry is None
            ],
        )


def mark_done(db: sqlite3.Connection, entries: Sequence[Entry], next_due: float | None) -> None:
    """Write entries as done that were not fetched themselves; to be called inside a transaction."""
    hosts = host_ids(db, [entry.host for entry in entries])
    db.executemany(
        _MARK_DONE,
        [
            (next_due, entry.priority, entry.due, *_columns(entry, hosts), entry.fingerprint)
            for entry in entries
        ],
    )


def _hurry(target: _Target, entry: Entry) -> Added:
    """A pending entry takes the higher priority and the earlier due time."""
    if entry.priority <= target.priority and entry.due >= target.due:
        return Added.KNOWN
    target.priority = max(target.priority, entry.priority)
    target.due = min(target.due, entry.due)
    target.changed = True
    return Added.SOONER


def _timing(target: _Target) -> tuple[object, ...]:
    """Return state, at, priority and due. What is due at once need not wait for a horizon."""
    if target.due <= 0:
        return ("ready", None, target.priority, target.due)
    return ("waiting", target.due, target.priority, target.due)


def _columns(entry: Entry, hosts: Mapping[str, int]) -> tuple[object, ...]:
    return entry.kind.value, entry.depth, entry.url, dump(entry.data), hosts[entry.host]
