"""Joined stories, notes, polls and hours to be copied; see :mod:`newsbot.storage.books`."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence

from newsbot.storage.activity import COUNTED
from newsbot.storage.books import AT_ONCE, Book, JoinedStory, KeptNote, SiteHour, poll_day


def copy_books(database: sqlite3.Connection) -> Iterator[list[Book]]:
    """Yield all, some at a time."""
    after = [""]
    while rows := database.execute(
        "SELECT story, into_story FROM story_joined WHERE story > ? ORDER BY story LIMIT ?",
        (*after, AT_ONCE),
    ).fetchall():
        yield [JoinedStory(*row) for row in rows]
        after = list(rows[-1][:1])
    after = ["", ""]
    while rows := database.execute(
        "SELECT kind, key, body FROM note WHERE (kind, key) > (?, ?) ORDER BY kind, key LIMIT ?",
        (*after, AT_ONCE),
    ).fetchall():
        yield [KeptNote(*row) for row in rows]
        after = list(rows[-1][:2])
    last = ("", 0)
    while rows := database.execute(
        "SELECT url, day, polls FROM poll_day WHERE (url, day) > (?, ?) ORDER BY url, day LIMIT ?",
        (*last, AT_ONCE),
    ).fetchall():
        yield [poll_day(*row) for row in rows]
        last = (rows[-1]["url"], rows[-1]["day"])
    last = ("", -1)
    while rows := database.execute(
        f"SELECT source, hour, {', '.join(COUNTED)} FROM site_hour WHERE (source, hour) > (?, ?)"
        " ORDER BY source, hour LIMIT ?",
        (*last, AT_ONCE),
    ).fetchall():
        yield [SiteHour(row[0], row[1], tuple(row)[2:]) for row in rows]
        last = (rows[-1]["source"], rows[-1]["hour"])


def take_books(database: sqlite3.Connection, books: Sequence[Book]) -> None:
    """Keep what is not there; within a write transaction."""
    for book in books:
        values: tuple[str | int, ...]
        if isinstance(book, JoinedStory):
            table, values = "story_joined", (book.story, book.into)
        elif isinstance(book, KeptNote):
            table, values = "note", (book.kind, book.key, book.body)
        elif isinstance(book, SiteHour):
            table, values = (
                f"site_hour (source, hour, {', '.join(COUNTED)})",
                (
                    book.source,
                    book.hour,
                    *book.counts,
                ),
            )
        else:
            table, values = "poll_day", (book.url, book.day, f";{''.join(book.polls)}")
        marks = ", ".join("?" * len(values))
        database.execute(f"INSERT OR IGNORE INTO {table} VALUES ({marks})", values)
