"""Stories: articles under one story id."""

from __future__ import annotations

import json
import sqlite3
from datetime import datetime

from newsbot.storage.base import Story
from newsbot.storage.records import from_row, stamp
from newsbot.storage.sqlite.articles import READ


def stories(
    database: sqlite3.Connection, since: datetime | None, min_members: int, limit: int
) -> list[Story]:
    """Return the stories with enough members and a member at or after ``since``, the most recent first."""
    recent = "AND story IN (SELECT story FROM article WHERE moment >= ?)" if since else ""
    rows = database.execute(
        f"SELECT story FROM article WHERE story IS NOT NULL {recent}"
        " GROUP BY story HAVING count(*) >= ? ORDER BY max(moment) DESC, story LIMIT ?",
        [*([stamp(since)] if since else []), min_members, max(0, limit)],
    ).fetchall()
    found = {row[0]: Story(story=row[0], members=[]) for row in rows}
    members = database.execute(
        f"SELECT {READ} FROM article a WHERE a.story IN (SELECT value FROM json_each(?))"
        " ORDER BY a.moment, a.id",
        (json.dumps(list(found)),),
    )
    for row in members:
        found[row["story"]].members.append(from_row(row))
    return list(found.values())
