"""Leases after a time in which nobody could renew them; see :meth:`newsbot.frontier.base.Frontier.resume`."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence

from newsbot.frontier.base import ASIDE, Lease
from newsbot.frontier.sqlite.rows import dump

_STANDS = "SELECT id, state, token, lost, data FROM frontier_urls WHERE fingerprint = ?"
_EXTEND = "UPDATE frontier_urls SET at = ? WHERE id = ?"
_UNCOUNT = "UPDATE frontier_urls SET attempts = max(attempts - 1, 0), lost = lost - 1 WHERE id = ?"
_TAKE = "UPDATE frontier_urls SET state = 'leased', at = ?, owner = ?, token = ?, data = ? WHERE id = ?"
LOST_STATES = ("ready", "waiting", "aside")
"""Where a lease that was taken back may be, while nobody has worked on it since."""


def take_again(db: sqlite3.Connection, owner: str, leases: Sequence[Lease], deadline: float) -> int:
    """Prolong the leases, take back those that were lost and that nobody has; how many there are."""
    kept = 0
    for lease in leases:
        row = db.execute(_STANDS, (lease.entry.fingerprint,)).fetchone()
        if row is None:
            continue
        if row["state"] == "leased" and row["token"] == lease.token:
            db.execute(_EXTEND, (deadline, row["id"]))
            kept += 1
        elif row["lost"] > 0:
            db.execute(_UNCOUNT, (row["id"],))
            if row["state"] in LOST_STATES:
                data = json.loads(row["data"])
                data.pop(ASIDE, None)
                db.execute(_TAKE, (deadline, owner, lease.token, dump(data), row["id"]))
                kept += 1
    return kept
