"""Between rows of the SQLite frontier and entries."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from newsbot.frontier.base import Entry
from newsbot.items import Kind

_CHUNK = 500  # fewer parameters than any build of SQLite allows


def find(db: sqlite3.Connection, fingerprints: Sequence[bytes]) -> dict[bytes, sqlite3.Row]:
    """Return id, state, at, priority, due and last_fetched of the known ones."""
    found = {}
    for start in range(0, len(fingerprints), _CHUNK):
        chunk = fingerprints[start : start + _CHUNK]
        marks = ",".join("?" * len(chunk))
        for row in db.execute(
            "SELECT fingerprint, id, state, at, priority, due, last_fetched"  # noqa: S608  (question marks only)
            f" FROM frontier_urls WHERE fingerprint IN ({marks})",
            chunk,
        ):
            found[row["fingerprint"]] = row
    return found


def host_ids(db: sqlite3.Connection, hosts: Iterable[str]) -> dict[str, int]:
    """Return the hosts' row ids; unknown hosts are made, in the order given, with the default politeness."""
    ids = {}
    for host in dict.fromkeys(hosts):
        row = db.execute("SELECT id FROM frontier_hosts WHERE host = ?", (host,)).fetchone()
        if row is None:
            cursor = db.execute("INSERT INTO frontier_hosts (host) VALUES (?) RETURNING id", (host,))
            row = cursor.fetchone()
        ids[host] = row[0]
    return ids


def entry_of(row: sqlite3.Row) -> Entry:
    """Return the entry of a whole row; the host's name is its column ``host_name``."""
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


def dump(data: Mapping[str, Any]) -> str:
    """Return ``data`` as JSON that SQLite can hold."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    try:
        text.encode()
    except UnicodeEncodeError:  # half of a surrogate pair in somebody's title
        return json.dumps(data, separators=(",", ":"))
    return text
