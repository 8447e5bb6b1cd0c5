"""Reads rows of the SQLite frontier. Its tables, with the reason for each index, are in ``migrations/``.

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

from newsbot.connections.sqlite import select_in
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

# Only what the decision needs: most links of a page are known, and their URLs and data are not read.
_FIND = """
SELECT fingerprint, id, state, at, priority, due, last_fetched,
    json_extract(data, '$.published_at') IS NOT NULL AS told
FROM frontier_urls WHERE fingerprint IN
"""


def find(db: sqlite3.Connection, fingerprints: Sequence[bytes]) -> dict[bytes, sqlite3.Row]:
    """Return the rows of known fingerprints: id, state, at, priority, due, last_fetched and ``told``.

    ``told`` is true if the entry's data have ``published_at``.
    """
    return {row["fingerprint"]: row for row in select_in(db, _FIND, fingerprints)}


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
