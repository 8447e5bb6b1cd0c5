"""Stories: articles under one story id, and stories that became one."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from datetime import datetime

from newsbot.clock import stamp
from newsbot.storage.base import Joined, Story, story_id
from newsbot.storage.records import from_row
from newsbot.storage.sqlite.articles import READ
from newsbot.urls import fingerprint

_MEMBER = READ.replace("a.text", "'' AS text")
"""A story that sites print anew each day has thousands of members."""


def stories(
    database: sqlite3.Connection, since: datetime | None, min_members: int, min_sources: int, limit: int
) -> list[Story]:
    """Return the stories with enough members and sources, and one since then, the most recent first."""
    recent = "AND story IN (SELECT story FROM article WHERE moment >= ?)" if since else ""
    several = "AND count(DISTINCT source) >= ?" if min_sources > 1 else ""  # else the index answers alone
    rows = database.execute(
        f"SELECT story FROM article WHERE story IS NOT NULL {recent}"
        f" GROUP BY story HAVING count(*) >= ? {several} ORDER BY max(moment) DESC, story LIMIT ?",
        [
            *([stamp(since)] if since else []),
            min_members,
            *([min_sources] if several else []),
            max(0, limit),
        ],
    ).fetchall()
    found = {row[0]: Story(story=row[0], members=[]) for row in rows}
    members = database.execute(
        f"SELECT {_MEMBER} FROM article a WHERE a.story IN (SELECT value FROM json_each(?))"
        " ORDER BY a.moment, a.id",
        (json.dumps(list(found)),),
    )
    for row in members:
        found[row["story"]].members.append(from_row(row))
    return list(found.values())


def settled(database: sqlite3.Connection, canonical_url: str) -> Joined | None:
    """Return the story of an article if joining it alone would change nothing, else None."""
    number = _number(database, canonical_url)
    if number is None:
        return None
    row = database.execute("SELECT story FROM article WHERE id = ?", (number,)).fetchone()
    story, own = row and row[0], story_id(canonical_url)
    if story is None or _noted(database, story) not in (None, story):
        return None
    there = own == story or _noted(database, own) in (None, story)
    return Joined(str(story), missing=False) if there else None


def join(database: sqlite3.Connection, canonical_urls: Sequence[str]) -> Joined:
    """See :meth:`newsbot.storage.base.Storage.join_stories`; within a write transaction."""
    told = [_story(database, url) for url in canonical_urls]
    own = [story_id(url) for url in canonical_urls]
    noted = {name: _noted(database, name) for name in {*own, *filter(None, told)}}
    roots = {noted[story] or story for story in told if story}
    # its own id counts where others have noted it, or will look for it
    roots |= {noted[name] or name for name, story in zip(own, told, strict=True) if noted[name] or not story}
    winner = _unite(database, sorted(roots)) if len(roots) > 1 else roots.pop()
    missing = [name for name, story in zip(own, told, strict=True) if not story]
    if winner in missing:  # others come into its story before it is there
        database.execute("INSERT OR IGNORE INTO story_joined VALUES (?, ?)", (winner, winner))
    database.executemany(
        "UPDATE article SET story = ? WHERE id = ? AND story IS NOT ?",
        [(winner, number, winner) for url in canonical_urls if (number := _number(database, url))],
    )
    return Joined(winner, bool(missing))


def _number(database: sqlite3.Connection, url: str) -> int | None:
    """The row of the article that is kept, or whose text is, under this URL."""
    key = fingerprint(url)
    row = database.execute(
        "SELECT id FROM article WHERE fingerprint = ?"
        " UNION ALL SELECT article FROM article_alias WHERE fingerprint = ? LIMIT 1",
        (key, key),
    ).fetchone()
    return None if row is None else int(row[0])


def _story(database: sqlite3.Connection, url: str) -> str | None:
    """The story of a stored article (the one it begins if it has none); None if it is not stored."""
    number = _number(database, url)
    if number is None:
        return None
    row = database.execute("SELECT story FROM article WHERE id = ?", (number,)).fetchone()
    return story_id(url) if row is None or row[0] is None else str(row[0])


def _noted(database: sqlite3.Connection, story: str) -> str | None:
    """Where a story is now that was joined with others, or has members before its first article is stored."""
    row = database.execute("SELECT into_story FROM story_joined WHERE story = ?", (story,)).fetchone()
    return None if row is None else str(row[0])


def _unite(database: sqlite3.Connection, roots: list[str]) -> str:
    """Bring all members into the story whose first article was fetched earliest; return it."""
    several = json.dumps(roots)
    row = database.execute(
        "SELECT story FROM article WHERE story IN (SELECT value FROM json_each(?))"
        " GROUP BY story ORDER BY min(fetched_at) IS NULL, min(fetched_at), story LIMIT 1",
        (several,),
    ).fetchone()
    winner = roots[0] if row is None else str(row[0])
    rest = json.dumps([root for root in roots if root != winner])
    for statement in (
        "UPDATE article SET story = ? WHERE story IN (SELECT value FROM json_each(?))",
        "UPDATE story_joined SET into_story = ? WHERE into_story IN (SELECT value FROM json_each(?))",
        "INSERT OR REPLACE INTO story_joined SELECT value, ? FROM json_each(?)",
    ):
        database.execute(statement, (winner, rest))
    return winner
