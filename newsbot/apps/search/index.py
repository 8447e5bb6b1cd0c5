"""The search index: FTS5 tables in their own file (``search.db``), built from the stored articles.

The number of a row (``rowid``) is made from the publication time of its article: seconds since 1970 times
:data:`_PER_SECOND`. SQLite reads rows in the order of their numbers, so the newest matches come first without
sorting. If the number is used by another article, the article gets a slightly higher number.

The FTS5 table is "contentless" (https://www.sqlite.org/fts5.html, section 4.4.1), which means that it does
not store the text. To delete an article, FTS5 needs the words that were inserted. So another table stores the
different words of each article in compressed form.

The file has one *generation* of tables, and a second generation while the index is rebuilt. Searches use the
first generation until the second one is complete. The number of a generation is at the end of the names of
its tables.
"""

from __future__ import annotations

import json
import random
import sqlite3
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from itertools import count
from pathlib import Path

from newsbot.apps.search import events
from newsbot.apps.search.events import Beginning, Events, event_key
from newsbot.apps.search.labels import NO_LABELS, Labels
from newsbot.apps.search.query import (
    BETWEEN,
    EVERY,
    author_stem,
    label_mark,
    language_mark,
    section_mark,
    site_mark,
)
from newsbot.connections.sqlite import open_database, readable_errors, snapshot, transaction
from newsbot.errors import DataError
from newsbot.items import Article
from newsbot.pages.text.stems import stemming, stems
from newsbot.pages.text.words import clean

LAYOUT = 8
"""Version of the layout. It is increased when the form of rows or stems changes. A generation with another
layout is deleted, and the index is built again."""
MAX_COUNTED = 20_000
"""Maximum number of matches whose sites and languages are counted. The newest matches are counted."""
MAX_DATED = 100_000
"""Maximum number of matches that are counted by day. The newest matches are counted."""
MAX_RANKED = 5_000
"""Maximum number of matches that are ranked by score. The newest matches are ranked."""
MAX_REPORTS = 50_000
"""Maximum number of articles that :meth:`SearchIndex.first_reports` reads. The newest articles are read."""
_PER_SECOND = 16
"""Number of row numbers per second, so that several articles of one second get numbers near their time."""
_UNDATED = -(1 << 45)
"""The earliest row number of articles without a date. It is so low that these articles are sorted after all
other articles."""
_LAST = (1 << 63) - 1
"""The largest row number of SQLite."""
_A_DAY = 86_400 * _PER_SECOND
_DAY = f"(row - (CASE WHEN row < 0 THEN {_A_DAY - 1} ELSE 0 END)) / {_A_DAY}"
"""SQL for the day of a row number, in days since 1970. SQLite's division rounds towards zero, so numbers
before 1970 are corrected."""
_EPOCH = date(1970, 1, 1)
_FIRST_DAY = (date.min - _EPOCH).days
_WEIGHTS = "5.0, 1.0, 1.0, 0.0"
"""BM25 weights of the columns. A match in the title counts as much as five matches in the text."""
_MERGED = 250
"""Approximate number of pages of the file that one step of merging writes. Other writers wait for at most one
step."""
_HELD = 64
"""If one level has this number of segments, FTS5 merges them within one insertion, which takes long.

FTS5 stores words in segments, and merges segments of one level. Before a level has so many segments,
:meth:`SearchIndex.merge` merges them in small steps.
"""

_MIGRATIONS = (
    """
    CREATE TABLE generation (
        number  INTEGER PRIMARY KEY,
        active  INTEGER NOT NULL,      -- searches read it
        layout  INTEGER NOT NULL,
        cursor  TEXT NOT NULL,         -- up to where in the changes of the storage, and of which storage
        latest  INTEGER NOT NULL       -- how much later a row number can be than the article's time
    );
    """,
    # the version of the labels of its articles
    "ALTER TABLE generation ADD COLUMN labels TEXT NOT NULL DEFAULT '';",
)
_TABLES = (
    "CREATE VIRTUAL TABLE words_{0} USING fts5 (title, text, authors, marks, content='', tokenize='ascii')",
    # 0: no merging during insertions; merge() does it in its own short transactions
    "INSERT INTO words_{0} (words_{0}, rank) VALUES ('automerge', 0)",
    f"INSERT INTO words_{{0}} (words_{{0}}, rank) VALUES ('crisismerge', {_HELD})",
    # The articles. The key is the fingerprint of the canonical URL.
    """CREATE TABLE article_{0} (
        row INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, version INTEGER NOT NULL,
        site TEXT NOT NULL, language TEXT NOT NULL, event INTEGER NOT NULL
    )""",
    "CREATE INDEX article_event_{0} ON article_{0} (event)",
    # The words of each article, to delete it from the FTS5 table.
    "CREATE TABLE stems_{0} (row INTEGER PRIMARY KEY, body BLOB NOT NULL)",
    # The languages in which articles were stemmed.
    "CREATE TABLE language_{0} (code TEXT PRIMARY KEY)",
    # The number of articles by day.
    "CREATE TABLE day_{0} (day INTEGER PRIMARY KEY, articles INTEGER NOT NULL)",
    *events.TABLES,
)
_NAMES = ("words", "article", "stems", "language", "day", *events.TABLE_NAMES)


@dataclass(frozen=True, slots=True)
class Generation:
    """One set of tables. The table ``generation`` describes the fields."""

    number: int
    active: bool
    layout: int
    cursor: str
    latest: int
    labels: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """A matching article."""

    number: int
    """The row number."""
    key: bytes
    """Fingerprint of the canonical URL."""
    version: int
    """The version of the article when it was indexed."""
    score: float = 0.0
    """The BM25 score with the opposite sign, so that a higher score is better. 0 if matches are sorted by
    time."""


@dataclass(frozen=True, slots=True)
class Counts:
    """The number of matching articles, in total and by day, site and language."""

    total: int
    days: dict[str, int]
    """Number of matches by day of publication (UTC, YYYY-MM-DD), oldest first. Articles without a date are
    only in ``total``."""
    sites: dict[str, int]
    """Number of matches by site, among the newest MAX_COUNTED matches. The largest number comes first."""
    languages: dict[str, int]
    """Number of matches by language, counted like ``sites``."""
    complete: bool = True
    """False if ``total`` and ``days`` count only the newest MAX_DATED matches, because there are more."""


@dataclass(frozen=True, slots=True)
class Sampled:
    """One article of a random sample."""

    key: bytes
    site: str
    moment: datetime
    title: frozenset[str]
    """The stems of the title."""
    stems: frozenset[str]
    """The stems of title and text."""


@dataclass(frozen=True, slots=True)
class FirstReport:
    """A site's first article on an event."""

    event: str
    """The id of the event: the key of the article that began it, in hexadecimal."""
    site: str
    moment: datetime
    """Time of publication, or of the fetch if that is unknown."""
    language: str = ""


@dataclass(frozen=True, slots=True)
class Conditions:
    """The conditions of a search. All must hold. A condition that is None is not checked."""

    expression: str
    """The FTS5 expression, see :mod:`newsbot.apps.search.query`."""
    since: datetime | None = None
    until: datetime | None = None
    keys: Sequence[bytes] | None = None
    """If this is given, only the articles with these keys are searched."""


@dataclass(frozen=True, slots=True)
class _Entry:
    """The data of an article that are written to the index."""

    key: bytes
    version: int
    first: int
    """The earliest row number that the article may get."""
    language: str
    """The language used for stemming."""
    counted: tuple[str, str]
    """Site and language."""
    columns: tuple[str, str, str, str]
    """The columns of the FTS5 table: stems of title, text and authors, and the marks."""
    body: bytes
    """``columns`` in the compressed form that is needed to delete the article; see :func:`_packed`."""
    beginning: Beginning

    @classmethod
    def of(cls, key: bytes, article: Article, labels: Labels) -> _Entry:
        language = stemming(article.language)
        title, text = stems(article.title, language), stems(article.text, language)
        authors = f" {BETWEEN} ".join(" ".join(map(author_stem, stems(author))) for author in article.authors)
        marks = [EVERY, site_mark(article.source), language_mark(article.language or "")]
        marks += [section_mark(article.section)] if article.section else []
        marks += [label_mark(*one) for one in labels.of(article, (*title, *text))]
        columns = (" ".join(title), " ".join(text), authors, " ".join(marks))
        first = first_row(article.published_at or article.fetched_at)
        counted = (clean(article.source), clean(article.language or ""))
        beginning = Beginning.of(key, article, first // _PER_SECOND)
        return cls(key, article.version, first, language, counted, columns, _packed(columns), beginning)


def _packed(columns: tuple[str, str, str, str]) -> bytes:
    """Return the data that are needed to delete an article, in compressed form.

    Instead of the text, they contain each different word once, and the total number of words.
    """
    title, text, authors, marks = columns
    words = text.split()
    lines = (title, " ".join(sorted(set(words))), str(len(words)), authors, marks)
    return zlib.compress("\n".join(lines).encode())


def _unpacked(body: bytes) -> tuple[str, str, str, str]:
    """Return columns that FTS5 can use to delete an article.

    The words of the text are in another order. FTS5 needs only the different words and the total number of
    words.
    """
    title, text, number, authors, marks = zlib.decompress(body).decode().split("\n")
    words = text.split()
    again = words[:1] * (int(number) - len(words))  # repeat any word until the number is right
    return title, " ".join([*words, *again]), authors, marks


def _by_day(rows: Iterable[Sequence[int]]) -> dict[str, int]:
    """Return the number of articles by date. Each row has a day (since 1970) and a number.

    Articles without a date have a day before the year 1 and are left out.
    """
    return {str(_EPOCH + timedelta(days=day)): number for day, number in rows if number and day >= _FIRST_DAY}


def _summed(rows: Iterable[tuple[str, int]]) -> dict[str, int]:
    """Return the sum of the numbers for each name, largest sum first."""
    sums: Counter[str] = Counter()
    for name, number in rows:
        sums[name] += number
    return dict(sorted(sums.items(), key=lambda one: (-one[1], one[0])))


def _stems(body: bytes) -> tuple[frozenset[str], frozenset[str]]:
    """Return the stems of the title, and the stems of title and text, from the data of :func:`_packed`."""
    title, text, *_ = zlib.decompress(body).decode().split("\n")
    return frozenset(title.split()), frozenset((*title.split(), *text.split()))


def _moment(row: int) -> datetime:
    return datetime.fromtimestamp(row / _PER_SECOND, UTC)


def first_row(moment: datetime | None) -> int:
    """Return the earliest row number of an article of this time. A time without a time zone is assumed to be
    in UTC."""
    if moment is None:
        return _UNDATED
    aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return int(aware.timestamp() * _PER_SECOND // 1)  # // rounds down before 1970 too


class SearchIndex:
    """The open index file, which is created if it is missing. Several processes can share the file.

    Only one thread may use an object.

    Methods raise subclasses of :class:`newsbot.errors.DataError` if the file cannot be used.
    """

    def __init__(self, path: Path, labels: Labels = NO_LABELS) -> None:
        self.path, self.labels = path, labels
        with _readable(path):
            self._database = open_database(path, component="search", migrations=_MIGRATIONS)
        known = self.generations()
        if not known or any(one.layout != LAYOUT for one in known):
            self._begin_with_this_layout()

    def interrupt(self) -> None:
        """Make a running query of another thread fail with :class:`newsbot.errors.DataError`."""
        self._database.interrupt()

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    # --- generations

    def generations(self) -> list[Generation]:
        """Return all generations, the active one first."""
        with _readable(self.path):
            return _generations(self._database)

    def begin(self) -> Generation:
        """Create an empty generation. It is active if there is no other generation."""
        version = self.labels.version()
        with _readable(self.path), transaction(self._database) as database:
            return _begun(database, version)

    def _begin_with_this_layout(self) -> None:
        with _readable(self.path), transaction(self._database) as database:
            for one in _generations(database):  # read again: another process may have done this already
                if one.layout != LAYOUT:
                    _drop(database, one.number)
            if not _generations(database):
                _begun(database)

    def activate(self, number: int) -> None:
        """Make this generation active and drop all other generations."""
        with _readable(self.path), transaction(self._database) as database:
            # "number = ?" is a comparison: 1 for this generation, 0 for other generations
            database.execute("UPDATE generation SET active = number = ?", (number,))
            for other in _generations(database)[1:]:
                _drop(database, other.number)

    def keep_active(self) -> None:
        """Drop all generations that are not active."""
        with _readable(self.path), transaction(self._database) as database:
            for other in _generations(database)[1:]:
                _drop(database, other.number)

    # --- writing

    def take(
        self, generation: Generation, found: Iterable[tuple[bytes, Article | None]], cursor: str
    ) -> bool:
        """Write changed articles and the new cursor to a generation, in one transaction.

        ``found`` has keys and articles, with None for a removed article. Return False without writing
        anything if another process has changed the generation since it was read.
        """
        # dict() keeps the last change of each article. Stemming takes long and needs no lock, so it is done
        # before the transaction.
        latest = {
            key: None if article is None else _Entry.of(key, article, self.labels)
            for key, article in dict(found).items()
        }
        with _readable(self.path), transaction(self._database) as database:
            if generation not in _generations(database):  # compares all fields, also the cursor
                return False
            tables = _Tables(database, generation.number)
            former = tables.events_of(latest)  # read before the rows with the events are deleted
            tables.forget(tables.rows_of(latest))
            beginnings = {key: entry.beginning if entry else None for key, entry in latest.items()}
            placed = Events(database, generation.number).place(beginnings, former)
            late = tables.add([entry for entry in latest.values() if entry is not None], placed)
            database.execute(
                "UPDATE generation SET cursor = ?, latest = max(latest, ?) WHERE number = ?",
                (cursor, late, generation.number),
            )
        return True

    def merge(self, number: int) -> bool:
        """Do one step of merging FTS5's segments. Return False if there was nothing to merge."""
        with _readable(self.path), transaction(self._database) as database:
            before = database.total_changes
            database.execute(
                f"INSERT INTO words_{number} (words_{number}, rank) VALUES ('merge', ?)", (_MERGED,)
            )
            return database.total_changes - before > 1  # a difference of 1 means no work (FTS5, 'merge')

    # --- reading

    def newest(self, asked: Conditions, at_once: int) -> Iterator[list[Row]]:
        """Yield matches in batches of ``at_once``, newest first."""
        high = _LAST  # each batch is a separate transaction and continues below the previous one
        while True:
            with self._reading(asked, high) as (number, condition, values):
                chosen = f"SELECT rowid AS row FROM words_{number} {condition} ORDER BY rowid DESC LIMIT ?"
                rows = self._database.execute(
                    f"SELECT row, key, version FROM ({chosen}) JOIN article_{number} USING (row)"
                    " ORDER BY row DESC",
                    [*values, at_once],
                )
                found = [Row(*row) for row in rows]
            yield found
            if len(found) < at_once:
                return
            high = found[-1].number - 1

    def best(self, asked: Conditions, at_once: int) -> Iterator[list[Row]]:
        """Yield the newest MAX_RANKED matches in batches of ``at_once``, best first."""
        with self._reading(asked, _LAST) as (number, condition, values):
            # To compute the first score, FTS5 counts all matches of each word and phrase. So there is only
            # one query. SQLite's bm25() is lower for a better match.
            found = self._database.execute(
                f"SELECT -bm25(words_{number}, {_WEIGHTS}), rowid FROM words_{number} {condition}"
                " ORDER BY rowid DESC LIMIT ?",
                [*values, MAX_RANKED],
            )
            ranked = sorted(map(tuple, found), reverse=True)
        for start in range(0, len(ranked), at_once):
            some = ranked[start : start + at_once]
            # If the index was rebuilt in the meantime, articles have the same row numbers in the new one.
            with self._active() as (database, number):
                rows = database.execute(
                    f"SELECT row, key, version FROM article_{number}"
                    " WHERE row IN (SELECT value FROM json_each(?))",
                    (json.dumps([row for _, row in some]),),
                )
                known = {row: (key, version) for row, key, version in rows}
            yield [Row(row, *known[row], score) for score, row in some if row in known]

    def sample(self, since: datetime, until: datetime, limit: int) -> list[Sampled]:
        """Return a random sample of at most ``limit`` articles of a period, oldest first.

        Keys are hashes, so the articles with the smallest keys are a random sample. Repeated calls return the
        same sample. In the worst case, the keys of all articles are read.
        """
        with self._active() as (database, number):
            # Because of the plus in "+row", SQLite reads the index on keys in order. Otherwise it would read
            # all rows of the period and sort them.
            rows = database.execute(
                "SELECT key, site, row, body FROM (SELECT key, site, row"
                f" FROM article_{number} WHERE +row BETWEEN ? AND ? ORDER BY key LIMIT ?)"
                f" JOIN stems_{number} USING (row) ORDER BY row",
                (first_row(since), first_row(until) - 1, limit),
            ).fetchall()
        return [Sampled(key, site, _moment(row), *_stems(body)) for key, site, row, body in rows]

    def events_of(self, keys: Iterable[bytes]) -> dict[bytes, str]:
        """Return the id of each article's event, by the key of the article. Articles that are not indexed are
        left out."""
        with self._active() as (database, number):
            found = _Tables(database, number).events_of(keys)
            name = f"SELECT key FROM event_{number} WHERE id = ?"
            return {key: database.execute(name, (event,)).fetchone()[0].hex() for key, event in found.items()}

    def members(self, event: str, limit: int = _LAST) -> list[bytes]:
        """Return the keys of at most ``limit`` articles of an event, oldest first.

        The list is empty if the event is unknown.
        """
        with self._active() as (database, number):
            rows = database.execute(
                f"SELECT key FROM article_{number}"
                f" WHERE event = (SELECT id FROM event_{number} WHERE key = ?) ORDER BY row LIMIT ?",
                (event_key(event), limit),
            )
            return [row[0] for row in rows]

    def first_reports(self, since: datetime, until: datetime) -> list[FirstReport]:
        """Return each site's first article on each event in ``since <= moment < until``, oldest first.

        Only events on which at least two sites have an article in this period are included. Only the newest
        MAX_REPORTS articles of the period are read.
        """
        with self._active() as (database, number):
            rows = database.execute(
                "WITH first AS (SELECT event, site, language, min(row) AS row FROM"
                f" (SELECT event, site, language, row FROM article_{number} WHERE row BETWEEN ? AND ?"
                " ORDER BY row DESC LIMIT ?) GROUP BY event, site)"
                f" SELECT key, site, row, language FROM first JOIN event_{number} ON id = event"
                " WHERE event IN (SELECT event FROM first GROUP BY event HAVING count(*) > 1) ORDER BY row",
                (first_row(since), first_row(until) - 1, MAX_REPORTS),
            ).fetchall()
        return [FirstReport(key.hex(), site, _moment(row), language) for key, site, row, language in rows]

    def languages(self) -> list[str]:
        """Return the languages in which indexed articles were stemmed
        (:func:`newsbot.pages.text.stems.stemming`).

        The empty code is always included. It is the code for Russian, English, and languages without an
        algorithm.
        """
        with self._active() as (database, number):
            return sorted({"", *(row[0] for row in database.execute(f"SELECT code FROM language_{number}"))})

    def known_languages(self) -> list[str]:
        """Return the languages of the articles, the most frequent first. The newest MAX_COUNTED count."""
        with self._active() as (database, number):
            rows = database.execute(
                f"SELECT language, count(*) FROM (SELECT language FROM article_{number}"
                " ORDER BY row DESC LIMIT ?) GROUP BY language ORDER BY count(*) DESC, language",
                (MAX_COUNTED,),
            )
            return [str(row[0]) for row in rows]

    def total(self, asked: Conditions) -> int:
        """Return the number of matching articles."""
        with self._reading(asked, _LAST) as (number, condition, values):
            found = self._database.execute(f"SELECT count(*) FROM words_{number} {condition}", values)
            return int(found.fetchone()[0])

    def counts(self, asked: Conditions) -> Counts:
        """Return the number of matching articles by day, site and language."""
        with self._reading(asked, _LAST) as (number, condition, values):
            newest = f"SELECT rowid AS row FROM words_{number} {condition} ORDER BY rowid DESC LIMIT ?"
            days = self._database.execute(
                f"SELECT {_DAY} AS day, count(*) FROM ({newest}) GROUP BY day ORDER BY day",
                [*values, MAX_DATED + 1],  # one more, to know whether there are more
            ).fetchall()
            counted = self._database.execute(
                f"SELECT site, language, count(*) FROM ({newest}) JOIN article_{number} USING (row)"
                " GROUP BY site, language",
                [*values, MAX_COUNTED],
            ).fetchall()
        total = sum(row[1] for row in days)
        complete = total <= MAX_DATED
        sites, languages = (_summed((row[place], row[2]) for row in counted) for place in (0, 1))
        return Counts(total if complete else MAX_DATED, _by_day(days), sites, languages, complete)

    def label_counts(self, asked: Conditions, field: str) -> dict[str, int]:
        """Return the number of the newest MAX_COUNTED matches with each label of a field, largest first."""
        start = label_mark(field, "")
        with self._reading(asked, _LAST) as (number, condition, values):
            newest = f"SELECT rowid AS row FROM words_{number} {condition} ORDER BY rowid DESC LIMIT ?"
            bodies = self._database.execute(
                f"SELECT body FROM ({newest}) JOIN stems_{number} USING (row)", [*values, MAX_COUNTED]
            )
            marks = (mark for (body,) in bodies for mark in _unpacked(body)[3].split())
            found = Counter(mark for mark in marks if mark.startswith(start))
        return _summed((bytes.fromhex(mark[len(start) :]).decode(), n) for mark, n in found.items())

    def days(self) -> dict[str, int]:
        """Return the number of all articles by day, oldest first."""
        with self._active() as (database, number):
            rows = database.execute(f"SELECT day, articles FROM day_{number} ORDER BY day").fetchall()
        return _by_day(rows)

    @contextmanager
    def _active(self) -> Iterator[tuple[sqlite3.Connection, int]]:
        """Begin a read transaction. Yield the connection and the number of the active generation."""
        with _readable(self.path), snapshot(self._database) as database:
            yield database, _generations(database)[0].number

    @contextmanager
    def _reading(self, asked: Conditions, high: int) -> Iterator[tuple[int, str, list[object]]]:
        """Begin a read transaction. Yield the number of the active generation, a condition, and its values.

        The condition selects matching rows up to the number ``high``. Because row numbers are not exact
        times, it can also select articles that were published after ``asked.until``. The caller has to leave
        them out.
        """
        with _readable(self.path), snapshot(self._database) as database:
            active = _generations(database)[0]
            low = first_row(asked.since) if asked.since else -_LAST
            if asked.until:
                high = min(high, first_row(asked.until) + active.latest)  # can be later than the time
            condition = f"WHERE words_{active.number} MATCH ? AND rowid BETWEEN ? AND ?"
            values: list[object] = [asked.expression, low, high]
            if asked.keys is not None:  # one JSON value, because SQLite limits the number of parameters
                condition += " AND rowid IN (SELECT value FROM json_each(?))"
                tables = _Tables(database, active.number)
                values.append(json.dumps(sorted(tables.rows_of(asked.keys))))
            yield active.number, condition, values


class _Tables:
    """The tables of one generation. Use it within a transaction."""

    def __init__(self, database: sqlite3.Connection, number: int) -> None:
        self._database, self._number = database, number

    def rows_of(self, keys: Iterable[bytes]) -> list[int]:
        """Return the row numbers of the articles with these keys. Unknown keys are left out."""
        asked = f"SELECT row FROM article_{self._number} WHERE key = ?"
        found = (self._database.execute(asked, (key,)).fetchone() for key in keys)
        return [row[0] for row in found if row is not None]

    def events_of(self, keys: Iterable[bytes]) -> dict[bytes, int]:
        """Return the row number of each article's event, by the key of the article.

        Articles that are not indexed are left out.
        """
        asked = f"SELECT key, event FROM article_{self._number} WHERE key = ?"
        found = (self._database.execute(asked, (key,)).fetchone() for key in keys)
        return dict(row for row in found if row is not None)

    def forget(self, rows: Sequence[int]) -> None:
        """Delete the articles with these row numbers."""
        number = self._number
        for row in sorted(rows):
            (body,) = self._database.execute(
                f"SELECT body FROM stems_{number} WHERE row = ?", (row,)
            ).fetchone()
            self._database.execute(
                f"INSERT INTO words_{number} (words_{number}, rowid, title, text, authors, marks)"
                " VALUES ('delete', ?, ?, ?, ?, ?)",
                (row, *_unpacked(body)),
            )
            self._database.execute(
                f"UPDATE day_{number} SET articles = articles - 1 WHERE day = ?", (row // _A_DAY,)
            )
            for name in ("article", "stems"):
                self._database.execute(f"DELETE FROM {name}_{number} WHERE row = ?", (row,))

    def add(self, entries: Sequence[_Entry], placed: Mapping[bytes, int]) -> int:
        """Insert articles. Return the largest difference between a row number and the earliest one possible.

        ``placed`` has the row number of each article's event, by the key of the article.
        """
        late, number = 0, self._number
        rows = []
        for entry in sorted(entries, key=lambda one: one.first):
            row = self._free_row(entry)
            late = max(late, row - entry.first)
            self._database.execute(
                f"INSERT INTO article_{number} VALUES (?, ?, ?, ?, ?, ?)",
                (row, entry.key, entry.version, *entry.counted, placed[entry.key]),
            )
            self._database.execute(f"INSERT INTO stems_{number} VALUES (?, ?)", (row, entry.body))
            rows.append((row, *entry.columns))
        self._database.executemany(
            f"INSERT INTO day_{number} VALUES (?, ?)"
            " ON CONFLICT (day) DO UPDATE SET articles = articles + excluded.articles",
            Counter(row[0] // _A_DAY for row in rows).items(),
        )
        self._database.executemany(
            f"INSERT OR IGNORE INTO language_{number} VALUES (?)", {(entry.language,) for entry in entries}
        )
        self._database.executemany(
            f"INSERT INTO words_{number} (rowid, title, text, authors, marks) VALUES (?, ?, ?, ?, ?)",
            sorted(rows),  # FTS5 flushes its memory whenever the row numbers decrease
        )
        return late

    def _free_row(self, entry: _Entry) -> int:
        """Return a free row number at the time of an article or a little later.

        Many articles have a date without a time, so their earliest number is the same. Numbers are chosen at
        random. Whenever a chosen number is already used, the range is doubled, so that a free number is found
        in a few attempts.
        """
        chance = random.Random(entry.key)  # noqa: S311
        taken = f"SELECT 1 FROM article_{self._number} WHERE row = ?"
        for turn in count():
            # In the first turn, the only choice is the earliest number itself. The key is the seed, so a
            # rebuilt index has the same numbers.
            row = entry.first + chance.randrange(1 << turn)
            if self._database.execute(taken, (row,)).fetchone() is None:
                return row
        raise AssertionError("count() does not end")


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Convert errors of SQLite to subclasses of :class:`newsbot.errors.DataError`.

    The message for a damaged index says that it can be deleted.
    """
    try:
        with readable_errors(path):
            yield
    except DataError as error:
        if getattr(error.__cause__, "sqlite_errorname", "").startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
            raise DataError(f"{path}: is damaged; delete it to rebuild it from the articles") from error
        raise


def _begun(database: sqlite3.Connection, labels: str = "") -> Generation:
    known = _generations(database)
    number = max((one.number for one in known), default=0) + 1
    for statement in _TABLES:
        database.execute(statement.format(number))
    made = Generation(number, not known, LAYOUT, "", 0, labels)
    row = (number, made.active, LAYOUT, "", 0, labels)
    database.execute("INSERT INTO generation VALUES (?, ?, ?, ?, ?, ?)", row)
    return made


def _drop(database: sqlite3.Connection, number: int) -> None:
    for name in _NAMES:
        database.execute(f"DROP TABLE IF EXISTS {name}_{number}")
    database.execute("DELETE FROM generation WHERE number = ?", (number,))


def _generations(database: sqlite3.Connection) -> list[Generation]:
    """Return all generations, the active one first."""
    rows = database.execute(
        "SELECT number, active, layout, cursor, latest, labels FROM generation ORDER BY active DESC, number"
    )
    return [Generation(row[0], bool(row[1]), *row[2:]) for row in rows]
