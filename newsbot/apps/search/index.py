"""The search index, built from the stored articles: ``search.db``, and files of words.

The number of a row (``rowid``) is made from the publication time of its article: seconds since 1970 times
:data:`_PER_SECOND`. SQLite reads rows in the order of their numbers, so the newest matches come first without
sorting. If the number is used by another article, the article gets a slightly higher number.

The FTS5 tables are in files of words (:mod:`newsbot.apps.search.months`). They are "contentless"
(https://www.sqlite.org/fts5.html, section 4.4.1), which means that they do not store the text. To delete an
article, FTS5 needs the words that were inserted. So another table stores the different words of each article
in compressed form. A search reads the files from the latest on, until it has enough matches.

The file has one *generation* of tables, and a second generation while the index is rebuilt. Searches use the
first generation until the second one is complete. The number of a generation is at the end of the names of
its tables.
"""

from __future__ import annotations

import json
import random
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

from newsbot.apps.search import events
from newsbot.apps.search.events import Beginning, Events, end_of_beginning, event_key
from newsbot.apps.search.months import UNDATED, Months, Words, packed, stems_of, unpacked
from newsbot.apps.search.query import (
    BETWEEN,
    EVERY,
    NO_LABELS,
    Labels,
    author_stem,
    label_mark,
    language_mark,
    pairs_of,
    section_mark,
    site_mark,
)
from newsbot.connections.sqlite import open_database, readable_errors, snapshot, transaction
from newsbot.errors import DataError
from newsbot.items import Article, batched
from newsbot.pages.text.words import clean, stemming, stems

LAYOUT = 10
"""Version of the layout. It is increased when the form of rows or stems changes. A generation with another
layout is deleted, and the index is built again."""
FILE_SIZE = 100_000
"""From this number of articles on, a file of words ends with the next day."""
MAX_COUNTED = 20_000
"""Maximum number of matches whose sites and languages are counted. The newest matches are counted."""
MAX_DATED = 100_000
"""Maximum number of matches that are counted by day. The newest matches are counted."""
MAX_RANKED = 5_000
"""Maximum number of matches that are ranked by score. The newest matches are ranked."""
ENOUGH = 200
"""The newest files of words with at least this number of matches are ranked together. The matches of earlier
files come after them."""
FEW = 500
"""A file that probably has fewer matches is ranked in the way that is fast for few matches."""
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
_AT_ONCE = 1000
_EPOCH = date(1970, 1, 1)
_FIRST_DAY, _LAST_DAY = (date.min - _EPOCH).days, (date.max - _EPOCH).days
_SCORE = "-bm25(words, 5.0, 1.0, 1.0, 0.0)"
"""The score by BM25, with the weights of the columns: a match in the title counts as much as five matches in
the text. SQLite's bm25() is lower for a better match."""
_MIGRATIONS = {
    2: """
    CREATE TABLE generation (
        number  INTEGER PRIMARY KEY,
        active  INTEGER NOT NULL,         -- searches read it
        layout  INTEGER NOT NULL,
        cursor  TEXT NOT NULL,            -- up to where in the changes of the storage, and of which storage
        latest  INTEGER NOT NULL,         -- how much later a row number can be than the article's time
        labels  TEXT NOT NULL DEFAULT ''  -- the version of the labels of its articles
    );
    """
}
_TABLES = (
    # The articles. The key is the fingerprint of the canonical URL.
    """CREATE TABLE article_{0} (
        row INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, version INTEGER NOT NULL,
        site TEXT NOT NULL, language TEXT NOT NULL, event INTEGER NOT NULL
    )""",
    "CREATE INDEX article_event_{0} ON article_{0} (event)",
    # The files of words that are being written.
    "CREATE TABLE dirty_{0} (name TEXT PRIMARY KEY)",
    # The files of words: the number of articles, and the highest row number.
    "CREATE TABLE file_{0} (name TEXT PRIMARY KEY, articles INTEGER NOT NULL, top INTEGER NOT NULL)",
    # The languages in which articles were stemmed.
    "CREATE TABLE language_{0} (code TEXT PRIMARY KEY)",
    # The number of articles by day.
    "CREATE TABLE day_{0} (day INTEGER PRIMARY KEY, articles INTEGER NOT NULL)",
    *events.TABLES,
)
_NAMES = ("words", "article", "stems", "language", "day", "dirty", "file", *events.TABLE_NAMES)
"""The tables of a generation; ``words`` and ``stems`` of earlier layouts."""


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
    ranking: Mapping[str, bool] = field(default_factory=dict)
    """The expressions that are ranked, see :func:`newsbot.apps.search.query.ranking`."""
    since: datetime | None = None
    until: datetime | None = None
    keys: Sequence[bytes] | None = None
    """If this is given, only the articles with these keys are searched."""


_Asked = tuple[int, int, int, str, Callable[[int, int], Sequence[object]]]
"""See :meth:`SearchIndex._reading`."""


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
    """The columns of the FTS5 table: stems and pairs of title and text, stems of authors, and the marks."""
    body: bytes
    """``columns`` in the compressed form that is needed to delete the article."""
    beginning: Beginning

    @classmethod
    def of(cls, key: bytes, article: Article, labels: Labels) -> _Entry:
        language = stemming(article.language)
        end = end_of_beginning(article.text)
        title, start = stems(article.title, language), stems(article.text[:end], language)
        text = start + stems(article.text[end:], language)
        authors = f" {BETWEEN} ".join(" ".join(map(author_stem, stems(author))) for author in article.authors)
        marks = [EVERY, site_mark(article.source), language_mark(article.language or "")]
        marks += [section_mark(article.section)] if article.section else []
        marks += [label_mark(*one) for one in labels.of(article, (*title, *text))]
        title_words, words = (" ".join([*some, *pairs_of(some)]) for some in (title, text))
        columns = (title_words, words, authors, " ".join(marks))
        first = first_row(article.published_at or article.fetched_at)
        counted = (clean(article.source), clean(article.language or ""))
        beginning = Beginning.of(key, article, first // _PER_SECOND, title, start)
        return cls(key, article.version, first, language, counted, columns, packed(columns), beginning)


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


def _moment(row: int) -> datetime:
    return datetime.fromtimestamp(row / _PER_SECOND, UTC)


def _day(row: int) -> str:
    """Return the day of a row number, ``YYYY-MM-DD``."""
    if row < _FIRST_DAY * _A_DAY:
        return f"{UNDATED}-00"
    return str(_EPOCH + timedelta(days=min(row // _A_DAY, _LAST_DAY)))


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
        self.months = Months(path.with_suffix(""))
        known = self.generations()
        if not known or any(one.layout != LAYOUT for one in known):
            self._begin_with_this_layout()

    def interrupt(self) -> None:
        """Make a running query of another thread fail with :class:`newsbot.errors.DataError`."""
        self._database.interrupt()
        self.months.interrupt()

    def close(self) -> None:
        """Close all files."""
        self.months.close()
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
            return self._begun(database, version)

    def _begin_with_this_layout(self) -> None:
        with _readable(self.path), transaction(self._database) as database:
            for one in _generations(database):  # read again: another process may have done this already
                if one.layout != LAYOUT:
                    self._drop(database, one.number)
            if not _generations(database):
                self._begun(database)

    def activate(self, number: int) -> None:
        """Make this generation active and drop all other generations."""
        with _readable(self.path), transaction(self._database) as database:
            # "number = ?" is a comparison: 1 for this generation, 0 for other generations
            database.execute("UPDATE generation SET active = number = ?", (number,))
            for other in _generations(database)[1:]:
                self._drop(database, other.number)

    def keep_active(self) -> None:
        """Drop all generations that are not active."""
        with _readable(self.path), transaction(self._database) as database:
            for other in _generations(database)[1:]:
                self._drop(database, other.number)

    def _begun(self, database: sqlite3.Connection, labels: str = "") -> Generation:
        known = _generations(database)
        number = max((one.number for one in known), default=0) + 1
        # A process that died, or an index that was deleted, may have left files.
        self.months.keep([one.number for one in known])
        for statement in _TABLES:
            database.execute(statement.format(number))
        made = Generation(number, not known, LAYOUT, "", 0, labels)
        row = (number, made.active, LAYOUT, "", 0, labels)
        database.execute("INSERT INTO generation VALUES (?, ?, ?, ?, ?, ?)", row)
        return made

    def _drop(self, database: sqlite3.Connection, number: int) -> None:
        for name in _NAMES:
            database.execute(f"DROP TABLE IF EXISTS {name}_{number}")
        database.execute("DELETE FROM generation WHERE number = ?", (number,))
        self.months.drop(number)

    # --- files of words

    def months_of(self, period: str) -> list[str]:
        """Return the files of a year (``2024``), a month or a day."""
        return [name for name in self._files() if f"{name}-".startswith(f"{period}-")]

    def _files(self) -> list[str]:
        """Return the files of the active generation, the latest first."""
        with self._active() as (database, number):
            return sorted(_Files(database, number).top, reverse=True)

    def move_months(self, names: Iterable[str], folder: Path) -> None:
        """Move files to another folder."""
        number = self.generations()[0].number
        for name in names:
            with _readable(self.path):
                self.months.move(number, name, folder)

    def drop_months(self, names: Iterable[str]) -> None:
        """Delete files, and their articles from the index."""
        number = self.generations()[0].number
        for name in names:
            rows = sorted(self.months.rows(number, name))
            with _readable(self.path), transaction(self._database) as database:
                for some in batched(rows, _AT_ONCE):
                    _Tables(database, number).forget(some)
                if rows:
                    Events(database, number).drop(rows[0] // _PER_SECOND, rows[-1] // _PER_SECOND)
                database.execute(f"DELETE FROM file_{number} WHERE name = ?", (name,))
            self.months.drop(number, [name])

    # --- writing

    def use_memory(self) -> None:
        """Keep up to 256 MB of the file in memory, to write many articles. Otherwise, it is 64 MB."""
        self._database.execute("PRAGMA cache_size=-262144")  # KiB

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
        number = generation.number
        with _readable(self.path), transaction(self._database) as database:
            if generation not in _generations(database):  # compares all fields, also the cursor
                return False
            self._tidy(database, number)
            tables, files = _Tables(database, number), _Files(database, number)
            firsts = [entry.first for entry in latest.values() if entry is not None]
            # An article that gets a later number can be in the file of the next day.
            touched = (*tables.rows_of(latest), *firsts, *(first + _A_DAY for first in firsts))
            days = {row - row % _A_DAY for row in touched}
            names = {name for row in days for name in (files.of(row), _day(row), _day(row)[:7])}
            marked = ((name,) for name in names)
            database.executemany(f"INSERT OR IGNORE INTO dirty_{number} VALUES (?)", marked)
        with _readable(self.path), transaction(self._database) as database:
            if generation not in _generations(database):
                return False
            files = _Files(database, number)
            former = tables.events_of(latest)  # read before the rows with the events are deleted
            gone = tables.rows_of(latest)
            tables.forget(gone)
            beginnings = {key: entry.beginning if entry else None for key, entry in latest.items()}
            placed = Events(database, number).place(beginnings, former)
            late, rows = tables.add([entry for entry in latest.values() if entry is not None], placed)
            for name, (old, new) in files.take(gone, rows).items():
                self.months.write(number, name, old, new)
            database.execute(f"DELETE FROM dirty_{number}")
            database.execute(
                "UPDATE generation SET cursor = ?, latest = max(latest, ?) WHERE number = ?",
                (cursor, late, number),
            )
        return True

    def _tidy(self, database: sqlite3.Connection, number: int) -> None:
        """Remove rows that a process wrote to files of words before it died."""
        for (name,) in database.execute(f"SELECT name FROM dirty_{number}").fetchall():
            rows = self.months.rows(number, name)
            if rows:
                known = database.execute(
                    f"SELECT row FROM article_{number} WHERE row BETWEEN ? AND ?", (min(rows), max(rows))
                )
                rows -= {row[0] for row in known}
            if rows:
                self.months.write(number, name, rows, [])

    def merge(self, _number: int) -> bool:
        """Do one step of merging FTS5's segments. Return False if there was nothing to merge."""
        return self.months.merge()

    # --- reading

    def newest(self, asked: Conditions, at_once: int) -> Iterator[list[Row]]:
        """Yield matches in batches of up to ``at_once``, newest first."""
        with self._reading(asked) as (number, low, high, condition, values):
            months = self._between(number, low, high)
        for month in months:
            top = high  # each batch is a separate transaction and continues below the previous one
            while True:
                rows = self._found(
                    *(number, month, f"SELECT rowid FROM words {condition} ORDER BY rowid DESC LIMIT ?"),
                    *values(low, top),
                    at_once,
                )
                known = self._keys(row[0] for row in rows)
                yield [Row(row, *known[row]) for (row,) in rows if row in known]
                if len(rows) < at_once:
                    break
                top = rows[-1][0] - 1

    def best(self, asked: Conditions, at_once: int) -> Iterator[list[Row]]:
        """Yield the newest MAX_RANKED matches in batches of up to ``at_once``, best first.

        A group of the latest files with at least :data:`ENOUGH` matches comes first, then the next group.
        """
        with self._reading(asked) as (number, low, high, condition, values):
            files = _Files(self._database, number)
        # To compute the first score, FTS5 counts all matches of each word and phrase. So there is only one
        # query for each file.
        every = f"SELECT {_SCORE}, rowid FROM words {condition} ORDER BY rowid DESC LIMIT ?"
        few: tuple[str, list[str]] | None = None
        ranked: list[tuple[float, int]] = []
        found = read = 0
        for month in files.between(low, high):
            asking, given = every, list(values(low, high))
            if read and found * files.articles[month] < FEW * read:
                few = few or self._few(asked, condition, number, files)
                asking, given = few[0], [*few[1], *given]
            some = self._found(number, month, asking, *given, MAX_RANKED - found)
            ranked += some
            found, read = found + len(some), read + files.articles[month]
            if len(ranked) >= ENOUGH:
                yield from self._sorted(ranked, at_once)
                ranked = []
            if found >= MAX_RANKED:
                break
        yield from self._sorted(ranked, at_once)

    def _sorted(self, ranked: list[tuple[float, int]], at_once: int) -> Iterator[list[Row]]:
        for some in batched(sorted(ranked, reverse=True), at_once):
            # If the index was rebuilt in the meantime, articles have the same row numbers in the new one.
            known = self._keys(row for _, row in some)
            yield [Row(row, *known[row], score) for score, row in some if row in known]

    def _few(self, asked: Conditions, condition: str, number: int, files: _Files) -> tuple[str, list[str]]:
        """Return a query that is fast if a file has few matches, and its first values.

        FTS5 counts only words that less than half of the articles of the largest file have. It gives all
        other words a weight of almost 0.
        """
        ((month, articles),) = files.articles.most_common(1)
        counted = "SELECT count(*) FROM words WHERE words MATCH ?"
        ranked = [
            one
            for one, is_word in asked.ranking.items()
            if not is_word or 2 * sum(n for (n,) in self._found(number, month, counted, one)) < articles
        ]
        # The plus has the effect that FTS5 reads the rows in ascending order, which is twice as fast.
        if not ranked:
            return f"SELECT 0.0, rowid FROM words {condition} ORDER BY +rowid DESC LIMIT ?", []
        query = f"SELECT {_SCORE}, rowid FROM words WHERE words MATCH ?"
        # Here it has the effect that the inner query is executed once, and not the outer one for each row.
        query += f" AND +rowid IN (SELECT rowid FROM words {condition}) ORDER BY rowid DESC LIMIT ?"
        return query, [" AND ".join(ranked)]

    def _keys(self, rows: Iterable[int]) -> dict[int, tuple[bytes, int]]:
        """Return key and version of the articles with these row numbers."""
        with self._active() as (database, number):
            found = database.execute(
                f"SELECT row, key, version FROM article_{number}"
                " WHERE row IN (SELECT value FROM json_each(?))",
                (json.dumps(list(rows)),),
            )
            return {row: (key, version) for row, key, version in found}

    def _found(self, number: int, month: str, query: str, *values: object) -> list[Any]:
        """Return the rows of a query on the file of a month; none if the file was deleted."""
        with _readable(self.path), readable_errors(self.months.path(number, month)):
            file = self.months.opened(number, month)
            return [] if file is None else [tuple(row) for row in file.execute(query, values)]

    def sample(self, since: datetime, until: datetime, limit: int) -> list[Sampled]:
        """Return a random sample of at most ``limit`` articles of a period, oldest first.

        Keys are hashes, so the articles with the smallest keys are a random sample. Repeated calls return the
        same sample. In the worst case, the keys of all articles are read.
        """
        with self._active() as (database, number):
            # Because of the plus in "+row", SQLite reads the index on keys in order. Otherwise it would read
            # all rows of the period and sort them.
            rows = database.execute(
                "SELECT row, key, site FROM (SELECT key, site, row"
                f" FROM article_{number} WHERE +row BETWEEN ? AND ? ORDER BY key LIMIT ?) ORDER BY row",
                (first_row(since), first_row(until) - 1, limit),
            ).fetchall()
            bodies: dict[int, bytes] = {}
            chosen = json.dumps([row for row, *_ in rows])
            files = _Files(database, number)
            for month in sorted({files.of(row) for row, *_ in rows}):
                query = "SELECT row, body FROM stems WHERE row IN (SELECT value FROM json_each(?))"
                bodies |= self._found(number, month, query, chosen)
        return [
            Sampled(key, site, _moment(row), *stems_of(bodies[row]))
            for row, key, site in rows
            if row in bodies
        ]

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
        (:func:`newsbot.pages.text.words.stemming`).

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
        with self._reading(asked) as (number, low, high, condition, values):
            query = f"SELECT count(*) FROM words {condition}"
            months = self._between(number, low, high)
            rows = (self._found(number, month, query, *values(low, high)) for month in months)
            return sum(number for row in rows for (number,) in row)

    def counts(self, asked: Conditions) -> Counts:
        """Return the number of matching articles by day, site and language."""
        days: Counter[int] = Counter()
        newest: list[int] = []
        with self._reading(asked) as (number, low, high, condition, values):
            query = f"SELECT rowid FROM words {condition} ORDER BY rowid DESC LIMIT ?"
            for month in self._between(number, low, high):
                left = MAX_DATED + 1 - days.total()  # one more, to know whether there are more
                rows = [row for (row,) in self._found(number, month, query, *values(low, high), left)]
                newest += rows[: MAX_COUNTED - len(newest)]
                days.update(row // _A_DAY for row in rows)
                if len(rows) == left:
                    break
            counted = self._database.execute(
                f"SELECT site, language, count(*) FROM article_{number}"
                " WHERE row IN (SELECT value FROM json_each(?)) GROUP BY site, language",
                [json.dumps(newest)],
            ).fetchall()
        total = days.total()
        complete = total <= MAX_DATED
        sites, languages = (_summed((row[place], row[2]) for row in counted) for place in (0, 1))
        by_day = _by_day(sorted(days.items()))
        return Counts(total if complete else MAX_DATED, by_day, sites, languages, complete)

    def label_counts(self, asked: Conditions, field: str) -> dict[str, int]:
        """Return the number of the newest MAX_COUNTED matches with each label of a field, largest first."""
        start, found, left = label_mark(field, ""), Counter[str](), MAX_COUNTED
        with self._reading(asked) as (number, low, high, condition, values):
            newest = f"SELECT rowid AS row FROM words {condition} ORDER BY rowid DESC LIMIT ?"
            query = f"SELECT body FROM ({newest}) JOIN stems USING (row)"
            for month in self._between(number, low, high):
                bodies = self._found(number, month, query, *values(low, high), left)
                marks = (mark for (body,) in bodies for mark in unpacked(body)[3].split())
                found.update(mark for mark in marks if mark.startswith(start))
                left -= len(bodies)
                if not left:
                    break
        return _summed((bytes.fromhex(mark[len(start) :]).decode(), n) for mark, n in found.items())

    def days(self) -> dict[str, int]:
        """Return the number of all articles by day, oldest first."""
        with self._active() as (database, number):
            rows = database.execute(f"SELECT day, articles FROM day_{number} ORDER BY day").fetchall()
        return _by_day(rows)

    def _between(self, number: int, low: int, high: int) -> list[str]:
        """Return the files that can have rows from ``low`` to ``high``, the latest first."""
        return _Files(self._database, number).between(low, high)

    @contextmanager
    def _active(self) -> Iterator[tuple[sqlite3.Connection, int]]:
        """Begin a read transaction. Yield the connection and the number of the active generation."""
        with _readable(self.path), snapshot(self._database) as database:
            yield database, _generations(database)[0].number

    @contextmanager
    def _reading(self, asked: Conditions) -> Iterator[_Asked]:
        """Begin a read transaction. Yield the number of the active generation, the lowest and the highest row
        number, a condition for the files of the months, and a function that returns its values.

        The condition selects matching rows. Because row numbers are not exact times, it can also select
        articles that were published after ``asked.until``. The caller has to leave them out.
        """
        with _readable(self.path), snapshot(self._database) as database:
            active = _generations(database)[0]
            low = first_row(asked.since) if asked.since else -_LAST
            # it can be later than the time
            high = first_row(asked.until) + active.latest if asked.until else _LAST
            condition = "WHERE words MATCH ? AND rowid BETWEEN ? AND ?"
            chosen: list[object] = []
            if asked.keys is not None:  # one JSON value, because SQLite limits the number of parameters
                condition += " AND rowid IN (SELECT value FROM json_each(?))"
                tables = _Tables(database, active.number)
                chosen.append(json.dumps(sorted(tables.rows_of(asked.keys))))
            yield active.number, low, high, condition, lambda *rows: (asked.expression, *rows, *chosen)


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
            self._database.execute(
                f"UPDATE day_{number} SET articles = articles - 1 WHERE day = ?", (row // _A_DAY,)
            )
            self._database.execute(f"DELETE FROM article_{number} WHERE row = ?", (row,))

    def add(self, entries: Sequence[_Entry], placed: Mapping[bytes, int]) -> tuple[int, list[Words]]:
        """Insert articles. Return the largest difference between a row number and the earliest one possible,
        and the rows for the files of the months.

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
            rows.append((row, entry.columns, entry.body))
        self._database.executemany(
            f"INSERT INTO day_{number} VALUES (?, ?)"
            " ON CONFLICT (day) DO UPDATE SET articles = articles + excluded.articles",
            Counter(row[0] // _A_DAY for row in rows).items(),
        )
        self._database.executemany(
            f"INSERT OR IGNORE INTO language_{number} VALUES (?)", {(entry.language,) for entry in entries}
        )
        return late, rows

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


class _Files:
    """The files of words of one generation. Use it within a transaction.

    A file begins with a month (``2024-05``) or with a day (``2024-05-17``), and ends where the next one
    begins, at the latest with its month. A day begins a file if the file before it has :data:`FILE_SIZE`
    articles, and has none of this day or later.
    """

    def __init__(self, database: sqlite3.Connection, number: int) -> None:
        self._database, self._number = database, number
        rows = database.execute(f"SELECT name, articles, top FROM file_{number}").fetchall()
        self.articles = Counter({name: articles for name, articles, _ in rows})
        self.top: dict[str, int] = {name: top for name, _, top in rows}

    def of(self, row: int) -> str:
        """Return the file of a row number. The file need not exist."""
        day = _day(row)
        month = day[:7]
        return max((name for name in self.top if month <= name <= day), default=month)

    def between(self, low: int, high: int) -> list[str]:
        """Return the files that can have rows from ``low`` to ``high``, the latest first."""
        first, last = self.of(low), _day(high)
        return sorted((name for name in self.top if first <= name <= last), reverse=True)

    def take(self, gone: Sequence[int], rows: Sequence[Words]) -> dict[str, tuple[list[int], list[Words]]]:
        """Record deleted and new rows. Return them by file."""
        changed: dict[str, tuple[list[int], list[Words]]] = defaultdict(lambda: ([], []))
        for row in gone:
            name = self.of(row)
            changed[name][0].append(row)
            self.articles[name] -= 1
        for words in sorted(rows):
            row = words[0]
            name, day = self.of(row), _day(row)
            if self.articles[name] >= FILE_SIZE and _day(self.top[name]) < day:
                name = day
            changed[name][1].append(words)
            self.articles[name] += 1
            self.top[name] = max(row, self.top.get(name, row))
        self._database.executemany(
            f"INSERT OR REPLACE INTO file_{self._number} VALUES (?, ?, ?)",
            ((name, self.articles[name], self.top[name]) for name in changed),
        )
        return changed


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


def _generations(database: sqlite3.Connection) -> list[Generation]:
    """Return all generations, the active one first."""
    rows = database.execute(
        "SELECT number, active, layout, cursor, latest, labels FROM generation ORDER BY active DESC, number"
    )
    return [Generation(row[0], bool(row[1]), *row[2:]) for row in rows]
