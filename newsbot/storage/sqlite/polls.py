"""Polls of sources: one row for each source and day, to which polls are added."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

from newsbot.storage.polls import KEEP_DAYS, MAX_POLLS, Poll, packed, unpacked
from newsbot.text.words import clean

_ADD = """
    INSERT INTO poll_day (url, day, polls) VALUES (:url, :day, ';' || :poll)
    ON CONFLICT (url, day) DO UPDATE SET polls = polls || :poll
    WHERE instr(polls, ';' || :poll) = 0 AND length(polls) < :most
"""
_LINE = 12
"""Characters of a short poll."""


def log_poll(database: sqlite3.Connection, url: str, poll: Poll) -> None:
    """Keep a poll; within a write transaction."""
    day, text = packed(poll)
    key = clean(url)
    given = {"url": key, "day": day, "poll": text, "most": MAX_POLLS * _LINE}
    database.execute(_ADD, given)
    database.execute("DELETE FROM poll_day WHERE url = ? AND day <= ?", (key, day - KEEP_DAYS))


def rows(database: sqlite3.Connection, url: str | None) -> list[sqlite3.Row]:
    """Return the rows of all sources, or of one."""
    chosen, values = ("", []) if url is None else ("WHERE url = ?", [clean(url)])
    statement = f"SELECT url, day, polls FROM poll_day {chosen} ORDER BY url, day"
    return database.execute(statement, values).fetchall()


def polls(found: list[sqlite3.Row]) -> Iterator[tuple[str, Poll]]:
    """Yield the polls of rows."""
    for row in found:
        for poll in unpacked(row["day"], row["polls"]):
            yield row["url"], poll
