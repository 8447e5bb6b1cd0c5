"""Stores stories in the column ``story`` of articles and in a table of joined stories."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime

from newsbot.clock import stamp
from newsbot.storage.sqlite.connection import Repository
from newsbot.storage.sqlite.rows import READ, THESE, from_row
from newsbot.storage.stories import Joined, Stories, Story, roots_of, split_ids, story_id
from newsbot.urls import fingerprint

_MEMBER = READ.replace("a.text", "'' AS text")
"""The columns of an article, with an empty text instead of its text. If sites publish the same text every
day, its story has thousands of articles, and their texts would need too much memory."""
_FIRST_FETCHED = (
    f"SELECT story FROM article WHERE story IN {THESE}"
    # "IS NULL" sorts stories without a fetch time last. Stories with equal times are sorted by id, so that
    # all workers choose the same story.
    " GROUP BY story ORDER BY min(fetched_at) IS NULL, min(fetched_at), story LIMIT 1"
)
# Moves the articles, changes the redirects to the old stories, and adds redirects for the old stories.
_UNITE = (
    f"UPDATE article SET story = ? WHERE story IN {THESE}",
    f"UPDATE story_joined SET into_story = ? WHERE into_story IN {THESE}",
    "INSERT OR REPLACE INTO story_joined SELECT value, ? FROM json_each(?)",
)


class SqliteStories(Repository, Stories):
    """:class:`newsbot.storage.stories.Stories` in the data file."""

    def join(self, canonical_urls: Sequence[str]) -> Joined:
        with self.file.writing() as database:
            return join(database, canonical_urls)

    def current(self, stories: Collection[str]) -> dict[str, str]:
        with self.file.reading() as database:
            return _current(database, stories)

    def assign(self, canonical_url: str, story: str, duplicate_of: str | None) -> None:
        with self.file.writing() as database:
            database.execute(
                "UPDATE article SET story = ?, duplicate_of = ? WHERE fingerprint = ?",
                (story, duplicate_of, fingerprint(canonical_url)),
            )

    def split(self, groups: Sequence[Sequence[str]]) -> list[str]:
        with self.file.writing() as database:
            story = _kept(database, groups[0][0])[1] or story_id(groups[0][0])
            ids = split_ids(story, groups)
            for name, group in zip(ids, groups, strict=True):
                own = [story_id(url) for url in group]
                database.execute(f"DELETE FROM story_joined WHERE story IN {THESE}", (json.dumps(own),))
                # The stories that the other articles would begin lead to the story of their group.
                database.executemany(
                    "INSERT OR REPLACE INTO story_joined VALUES (?, ?)",
                    [(one, name) for one in own if one != name],
                )
                database.executemany(
                    "UPDATE article SET story = ? WHERE fingerprint = ?",
                    [(name, fingerprint(url)) for url in group],
                )
        return ids

    def recent(
        self,
        *,
        since: datetime | None = None,
        min_members: int = 2,
        min_sources: int = 1,
        limit: int = 50,
    ) -> list[Story]:
        recent = "AND story IN (SELECT story FROM article WHERE moment >= ?)" if since else ""
        # This condition is added only if needed. Without it, SQLite reads only the index.
        several = "AND count(DISTINCT source) >= ?" if min_sources > 1 else ""
        values: list[str | int | None] = [stamp(since)] if since else []
        values += [min_members, *([min_sources] if several else []), max(0, limit)]
        with self.file.reading() as database:
            rows = database.execute(
                f"SELECT story FROM article WHERE story IS NOT NULL {recent}"
                f" GROUP BY story HAVING count(*) >= ? {several} ORDER BY max(moment) DESC, story LIMIT ?",
                values,
            ).fetchall()
            found = {row[0]: Story(story=row[0], members=[]) for row in rows}
            members = database.execute(
                f"SELECT {_MEMBER} FROM article a WHERE a.story IN {THESE} ORDER BY a.moment, a.id",
                (json.dumps(list(found)),),
            )
            for row in members:
                found[row["story"]].members.append(from_row(row))
        return list(found.values())


def join(database: sqlite3.Connection, canonical_urls: Sequence[str]) -> Joined:
    """Merge the stories of these articles. Must run within a write transaction."""
    kept = [_kept(database, url) for url in canonical_urls]
    own = [story_id(url) for url in canonical_urls]
    stories = [
        # An article without a story begins its own story. An article that is not stored yet has no story.
        None if number is None else story or name
        for (number, story), name in zip(kept, own, strict=True)
    ]
    merged = _current(database, {*own, *filter(None, stories)})
    roots = roots_of(list(zip(own, stories, strict=True)), merged)
    winner = _unite(database, sorted(roots)) if len(roots) > 1 else roots.pop()
    missing = [name for name, story in zip(own, stories, strict=True) if story is None]  # not stored yet
    if winner in missing:  # other articles can join its story before it is stored
        database.execute("INSERT OR IGNORE INTO story_joined VALUES (?, ?)", (winner, winner))
    database.executemany(
        "UPDATE article SET story = ? WHERE id = ? AND story IS NOT ?",
        [(winner, number, winner) for number, _ in kept if number is not None],
    )
    return Joined(winner, bool(missing), awaited=own[0] in merged)


def _kept(database: sqlite3.Connection, url: str) -> tuple[int | None, str | None]:
    """Return the row number and the story of the article that has this URL as canonical URL or as alias.

    Both are None if there is no such article.
    """
    key = fingerprint(url)
    row = database.execute(
        "SELECT id, story FROM article WHERE fingerprint = ? UNION ALL"
        " SELECT a.id, a.story FROM article_alias s JOIN article a ON a.id = s.article"
        " WHERE s.fingerprint = ? LIMIT 1",
        (key, key),
    ).fetchone()
    return (None, None) if row is None else (row[0], row[1])


def _current(database: sqlite3.Connection, stories: Iterable[str]) -> dict[str, str]:
    """Do the same as :meth:`newsbot.storage.stories.Stories.current`."""
    query = f"SELECT story, into_story FROM story_joined WHERE story IN {THESE}"
    return dict(database.execute(query, (json.dumps(list(stories)),)).fetchall())


def _unite(database: sqlite3.Connection, roots: list[str]) -> str:
    """Move all members to the story whose first article was fetched earliest, and return that story."""
    row = database.execute(_FIRST_FETCHED, (json.dumps(roots),)).fetchone()
    winner = roots[0] if row is None else str(row[0])
    rest = json.dumps([root for root in roots if root != winner])
    for statement in _UNITE:
        database.execute(statement, (winner, rest))
    return winner
