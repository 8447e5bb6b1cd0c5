"""The tables of the SQLite frontier, with the reason for each index.

The table below lists the states of a URL as they are stored. The state *pending* of
:mod:`newsbot.frontier.base` is stored as one of three states (ready, waiting, held). A query then reads only
rows that can match:

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

Triggers update the counters of hosts and the totals, so that no code path can forget to count.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from newsbot.frontier.base import Entry
from newsbot.items import Kind

PUBLIC_STATES = {
    "ready": "pending",
    "waiting": "pending",
    "held": "pending",
    "leased": "leased",
    "done": "done",
    "aside": "aside",
}
"""Stored state -> state name of :mod:`newsbot.frontier.base`."""

_VERSION_1 = """
CREATE TABLE frontier_hosts (
    id INTEGER PRIMARY KEY,
    host TEXT NOT NULL UNIQUE,
    delay REAL NOT NULL DEFAULT 1.0,
    concurrency INTEGER NOT NULL DEFAULT 1,
    last_turn REAL,
    next_turn REAL NOT NULL DEFAULT 0,
    ready INTEGER NOT NULL DEFAULT 0,
    leased INTEGER NOT NULL DEFAULT 0
);

-- lease: hosts that may give something, by turn; hosts with nothing ready are not in it
CREATE INDEX frontier_hosts_by_turn ON frontier_hosts (next_turn) WHERE ready > 0 AND leased < concurrency;

-- outlook: hosts that have something ready and all their leases out (never more than there are leases)
CREATE INDEX frontier_hosts_full ON frontier_hosts (next_turn) WHERE ready > 0 AND leased >= concurrency;

CREATE TABLE frontier_urls (
    id INTEGER PRIMARY KEY,
    fingerprint BLOB NOT NULL UNIQUE,
    host INTEGER NOT NULL REFERENCES frontier_hosts (id),
    state TEXT NOT NULL,
    at REAL,
    priority REAL NOT NULL,
    due REAL NOT NULL,
    kind TEXT NOT NULL,
    depth INTEGER NOT NULL,
    url TEXT NOT NULL,
    data TEXT NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    lost INTEGER NOT NULL DEFAULT 0,
    owner TEXT,
    token TEXT,
    last_fetched REAL
);

-- lease: the best entry of a host, the longest due first among equals
CREATE INDEX frontier_urls_ready ON frontier_urls (host, priority DESC, due, id) WHERE state = 'ready';

-- all that ends by itself, by state: due entries, delays, deadlines; host and due so that outlook,
-- which asks for them by host, need not touch the table
CREATE INDEX frontier_urls_at ON frontier_urls (state, at, host, due) WHERE at IS NOT NULL;

CREATE TABLE frontier_totals (
    state TEXT PRIMARY KEY,
    urls INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
INSERT INTO frontier_totals (state)
VALUES ('ready'), ('waiting'), ('held'), ('leased'), ('done'), ('aside');

-- the furthest horizon up to which entries have become READY
CREATE TABLE frontier_horizon (furthest REAL NOT NULL);
INSERT INTO frontier_horizon VALUES (0);

CREATE TRIGGER frontier_count_new AFTER INSERT ON frontier_urls
BEGIN
    UPDATE frontier_totals SET urls = urls + 1 WHERE state = new.state;
    UPDATE frontier_hosts SET ready = ready + 1 WHERE new.state = 'ready' AND id = new.host;
END;

CREATE TRIGGER frontier_count_move AFTER UPDATE OF state ON frontier_urls WHEN old.state <> new.state
BEGIN
    UPDATE frontier_totals SET urls = urls + CASE state WHEN new.state THEN 1 ELSE -1 END
    WHERE state IN (old.state, new.state);
    UPDATE frontier_hosts SET
        ready = ready + (new.state = 'ready') - (old.state = 'ready'),
        leased = leased + (new.state = 'leased') - (old.state = 'leased')
    WHERE id = new.host AND (new.state IN ('ready', 'leased') OR old.state IN ('ready', 'leased'));
END;
"""

_VERSION_2 = """
-- lease: suspects, which go out one at a time; mostly there are none
CREATE INDEX frontier_urls_suspects ON frontier_urls (host, priority DESC, due, id)
WHERE state = 'ready' AND lost > 0;

-- what was set aside is listed by its time
UPDATE frontier_urls SET at = 0 WHERE state = 'aside';
"""

_VERSION_3 = """
-- the time of the last lease; a later time than now shows that the clock was ahead
CREATE TABLE frontier_clock (latest REAL NOT NULL);
INSERT INTO frontier_clock SELECT coalesce(max(last_fetched), 0) FROM frontier_urls;
"""

MIGRATIONS = (_VERSION_1, _VERSION_2, _VERSION_3)


_CHUNK = 500  # fewer parameters than any build of SQLite allows


def find(db: sqlite3.Connection, fingerprints: Sequence[bytes]) -> dict[bytes, sqlite3.Row]:
    """Return the rows of known fingerprints: id, state, at, priority, due, last_fetched and ``told``.

    ``told`` is true if the entry's data have ``published_at``.
    """
    found = {}
    for start in range(0, len(fingerprints), _CHUNK):
        chunk = fingerprints[start : start + _CHUNK]
        marks = ",".join("?" * len(chunk))
        for row in db.execute(
            "SELECT fingerprint, id, state, at, priority, due, last_fetched,"  # noqa: S608  (question marks only)
            " json_extract(data, '$.published_at') IS NOT NULL AS told"
            f" FROM frontier_urls WHERE fingerprint IN ({marks})",
            chunk,
        ):
            found[row["fingerprint"]] = row
    return found


def host_ids(db: sqlite3.Connection, hosts: Iterable[str]) -> dict[str, int]:
    """Return host -> row id. Unknown hosts are inserted in the given order, with default politeness."""
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


def dump(data: Mapping[str, Any]) -> str:
    """Return ``data`` as JSON that can be encoded in UTF-8, as SQLite requires."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    try:
        text.encode()
    except UnicodeEncodeError:  # half of a surrogate pair, e.g. in the title of a feed item
        return json.dumps(data, separators=(",", ":"))
    return text
