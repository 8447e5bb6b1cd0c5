"""The search index: FTS5 tables in their own file (``search.db``), built from the stored articles.

The number of a row is the publication time of its article. SQLite reads rows by number, so the newest
matches come first without sorting. Numbers are seconds since 1970 times :data:`_PER_SECOND`. If a number is
taken, the article gets one a little later.

FTS5 does not store the text here. To delete an article it needs the words that were inserted, so these are
stored compressed, each once.

The file holds one *generation* of tables, and a second one while the index is rebuilt. Searches use the
first one until the second is complete.
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

from newsbot.connections.sqlite import open_database, readable_errors, snapshot, transaction
from newsbot.errors import DataError
from newsbot.items import Article
from newsbot.search import events
from newsbot.search.events import Beginning, Events, event_key
from newsbot.search.expression import BETWEEN, EVERY, language_mark, site_mark
from newsbot.text.stems import stemming, stems
from newsbot.text.words import clean

LAYOUT = 4
"""Version of the layout, increased when rows or stems change. An index of another layout is dropped."""
MAX_COUNTED = 20_000
"""Newest matches among which sites and languages are counted."""
MAX_DATED = 100_000
"""Newest matches among which days are counted."""
MAX_RANKED = 5_000
"""Newest matches that are ranked."""
MAX_TOLD = 50_000
"""Newest articles of a period among which events are counted."""
_PER_SECOND = 16
_UNDATED = -(1 << 45)
"""The first row number of articles without a date. They sort after all others."""
_LAST = (1 << 63) - 1
_A_DAY = 86_400 * _PER_SECOND
_DAY = f"(row - (CASE WHEN row < 0 THEN {_A_DAY - 1} ELSE 0 END)) / {_A_DAY}"
_EPOCH = date(1970, 1, 1)
_FIRST_DAY = (date.min - _EPOCH).days
_WEIGHTS = "5.0, 1.0, 1.0, 0.0"
"""Weights of the columns: a match in the title counts as much as five in the text."""
_MERGED = 250
"""Pages that one step of merging writes. Other writers wait for one step at most."""
_HELD = 64
"""Segments of one size before FTS5 itself merges them all at once. Our own steps come earlier."""

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
)
_TABLES = (
    "CREATE VIRTUAL TABLE words_{0} USING fts5 (title, text, authors, marks, content='', tokenize='ascii')",
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
    # The languages by which articles were stemmed.
    "CREATE TABLE language_{0} (code TEXT PRIMARY KEY)",
    # The number of articles by day.
    "CREATE TABLE day_{0} (day INTEGER PRIMARY KEY, articles INTEGER NOT NULL)",
    *events.TABLES,
)
_NAMES = ("words", "article", "stems", "language", "day", *events.TABLE_NAMES)


@dataclass(frozen=True, slots=True)
class Generation:
    """One set of tables."""

    number: int
    active: bool
    layout: int
    cursor: str
    latest: int


@dataclass(frozen=True, slots=True)
class Row:
    """A matching article."""

    number: int
    key: bytes
    version: int
    score: float = 0.0


@dataclass(frozen=True, slots=True)
class Counts:
    """How many articles match."""

    total: int
    days: dict[str, int]
    """By day of publication (UTC), oldest first. Articles without a date are only in the total."""
    sites: dict[str, int]
    """By site, among the newest MAX_COUNTED, largest number first. The same holds for languages."""
    languages: dict[str, int]
    complete: bool = True
    """False: there are more matches; ``total`` and ``days`` cover only the newest MAX_DATED."""


@dataclass(frozen=True, slots=True)
class Sampled:
    """An article of a sample."""

    key: bytes
    site: str
    moment: datetime
    title: frozenset[str]
    """The stems of the title."""
    stems: frozenset[str]
    """The stems of title and text."""


@dataclass(frozen=True, slots=True)
class Told:
    """The first article of a site on an event."""

    event: str
    """The id of the event: the key of the article that began it, in hexadecimal."""
    site: str
    moment: datetime
    """Time of publication, or of the fetch if that is unknown."""


@dataclass(frozen=True, slots=True)
class Asked:
    """Conditions on rows."""

    expression: str
    """See :mod:`newsbot.search.expression`."""
    since: datetime | None = None
    until: datetime | None = None
    keys: Sequence[bytes] | None = None
    """Only these articles."""


@dataclass(frozen=True, slots=True)
class _Entry:
    """The words of an article."""

    key: bytes
    version: int
    first: int
    """The earliest row number that it may get."""
    language: str
    """The language used for stemming."""
    counted: tuple[str, str]
    """Site and language."""
    columns: tuple[str, str, str, str]
    body: bytes
    beginning: Beginning

    @classmethod
    def of(cls, key: bytes, article: Article) -> _Entry:
        language = stemming(article.language)
        title, text = stems(article.title, language), stems(article.text, language)
        authors = f" {BETWEEN} ".join(" ".join(stems(author)) for author in article.authors)
        marks = f"{EVERY} {site_mark(article.source)} {language_mark(article.language or '')}"
        columns = (" ".join(title), " ".join(text), authors, marks)
        first = first_row(article.published_at or article.fetched_at)
        counted = (clean(article.source), clean(article.language or ""))
        beginning = Beginning.of(key, article, first // _PER_SECOND)
        return cls(key, article.version, first, language, counted, columns, _packed(columns), beginning)


def _packed(columns: tuple[str, str, str, str]) -> bytes:
    """Return the data for deleting an article: each word of the text once, and the number of words."""
    title, text, authors, marks = columns
    words = text.split()
    lines = (title, " ".join(sorted(set(words))), str(len(words)), authors, marks)
    return zlib.compress("\n".join(lines).encode())


def _unpacked(body: bytes) -> tuple[str, str, str, str]:
    """Return columns that delete what was inserted. FTS5 uses only the set of words and their number."""
    title, text, number, authors, marks = zlib.decompress(body).decode().split("\n")
    words = text.split()
    again = words[:1] * (int(number) - len(words))
    return title, " ".join([*words, *again]), authors, marks


def _day_of(row: int) -> int:
    return row // _A_DAY


def _by_day(rows: Iterable[Sequence[int]]) -> dict[str, int]:
    return {str(_EPOCH + timedelta(days=day)): number for day, number in rows if number and day >= _FIRST_DAY}


def _summed(rows: Iterable[tuple[str, int]]) -> dict[str, int]:
    """Add up by name; the largest number comes first."""
    sums: Counter[str] = Counter()
    for name, number in rows:
        sums[name] += number
    return dict(sorted(sums.items(), key=lambda one: (-one[1], one[0])))


def _stems(body: bytes) -> tuple[frozenset[str], frozenset[str]]:
    title, text, *_ = zlib.decompress(body).decode().split("\n")
    return frozenset(title.split()), frozenset((*title.split(), *text.split()))


def _moment(row: int) -> datetime:
    return datetime.fromtimestamp(row / _PER_SECOND, UTC)


def first_row(moment: datetime | None) -> int:
    """Return the earliest row number of an article of this time."""
    if moment is None:
        return _UNDATED
    aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return int(aware.timestamp() * _PER_SECOND // 1)


class SearchIndex:
    """The open index file, created if missing. For one thread; several processes may share the file.

    Raises :class:`newsbot.errors.DataError` kinds.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
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
        """Create an empty generation. It is active if there is no other."""
        with _readable(self.path), transaction(self._database) as database:
            return _begun(database)

    def _begin_with_this_layout(self) -> None:
        with _readable(self.path), transaction(self._database) as database:
            for one in _generations(database):
                if one.layout != LAYOUT:
                    _drop(database, one.number)
            if not _generations(database):
                _begun(database)

    def activate(self, number: int) -> None:
        """Make this generation active and drop all others."""
        self._drop_others(number, f"UPDATE generation SET active = 1 WHERE number = {number}")

    def keep_active(self) -> None:
        """Drop all generations that are not active."""
        for one in self.generations()[:1]:
            self._drop_others(one.number, "")

    def _drop_others(self, number: int, first: str) -> None:
        with _readable(self.path), transaction(self._database) as database:
            database.execute(first or "SELECT 1")
            for other in _generations(database):
                if other.number != number:
                    _drop(database, other.number)

    # --- writing

    def take(
        self, generation: Generation, found: Iterable[tuple[bytes, Article | None]], cursor: str
    ) -> bool:
        """Replace articles (None: removed) and store the new cursor.

        Return False without writing anything if another process was faster.
        """
        latest = {
            key: None if article is None else _Entry.of(key, article) for key, article in dict(found).items()
        }
        with _readable(self.path), transaction(self._database) as database:
            if generation not in _generations(database):
                return False
            tables = _Tables(database, generation.number)
            former = tables.events_of(latest)
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
        """Do one step of merging; return whether there was anything to merge."""
        with _readable(self.path), transaction(self._database) as database:
            before = database.total_changes
            database.execute(
                f"INSERT INTO words_{number} (words_{number}, rank) VALUES ('merge', ?)", (_MERGED,)
            )
            return database.total_changes - before > 1

    # --- reading

    def newest(self, asked: Asked, at_once: int) -> Iterator[list[Row]]:
        """Yield matches in batches, newest first."""
        high = _LAST
        while True:
            with self._reading(asked, high) as (number, condition, values):
                chosen = f"SELECT rowid AS row, 0.0 AS score FROM words_{number} {condition}"
                found = self._rows(number, f"{chosen} ORDER BY rowid DESC LIMIT ?", [*values, at_once])
            yield found
            if len(found) < at_once:
                return
            high = found[-1].number - 1

    def best(self, asked: Asked, at_once: int) -> Iterator[list[Row]]:
        """Yield the newest MAX_RANKED matches in batches, best first."""
        for skip in range(0, MAX_RANKED, at_once):
            with self._reading(asked, _LAST) as (number, condition, values):
                score = f"-bm25(words_{number}, {_WEIGHTS})"
                newest = (
                    f"SELECT rowid AS row, {score} AS score FROM words_{number} {condition}"
                    " ORDER BY rowid DESC LIMIT ?"
                )
                chosen = f"SELECT row, score FROM ({newest}) ORDER BY score DESC, row DESC LIMIT ? OFFSET ?"
                found = self._rows(number, chosen, [*values, MAX_RANKED, at_once, skip])
            yield found
            if len(found) < at_once:
                return

    def sample(self, since: datetime, until: datetime, limit: int) -> list[Sampled]:
        """Return a random sample of the articles of a period, at most ``limit``; always the same.

        Keys are hashes, so the articles with the smallest keys are a random sample. Finding them reads
        the keys of all articles at most.
        """
        with _readable(self.path), snapshot(self._database) as database:
            number = _generations(database)[0].number
            rows = database.execute(
                "SELECT key, site, row, body FROM (SELECT key, site, row"
                f" FROM article_{number} WHERE +row BETWEEN ? AND ? ORDER BY key LIMIT ?)"
                f" JOIN stems_{number} USING (row) ORDER BY row",
                (first_row(since), first_row(until) - 1, limit),
            ).fetchall()
        return [Sampled(key, site, _moment(row), *_stems(body)) for key, site, row, body in rows]

    def events_of(self, keys: Iterable[bytes]) -> dict[bytes, str]:
        """Return the ids of the events of articles by key. Articles that are not indexed are missing."""
        with _readable(self.path), snapshot(self._database) as database:
            number = _generations(database)[0].number
            found = _Tables(database, number).events_of(keys)
            name = f"SELECT key FROM event_{number} WHERE id = ?"
            return {key: database.execute(name, (event,)).fetchone()[0].hex() for key, event in found.items()}

    def members(self, event: str, limit: int = _LAST) -> list[bytes]:
        """Return the keys of the articles of an event, oldest first. Empty if there is no such event."""
        with _readable(self.path), snapshot(self._database) as database:
            number = _generations(database)[0].number
            rows = database.execute(
                f"SELECT key FROM article_{number}"
                f" WHERE event = (SELECT id FROM event_{number} WHERE key = ?) ORDER BY row LIMIT ?",
                (event_key(event), limit),
            )
            return [row[0] for row in rows]

    def told(self, since: datetime, until: datetime) -> list[Told]:
        """Return each site's first article on each event in ``since <= moment < until``, oldest first.

        Only events that at least two sites told in this period are included, among its newest MAX_TOLD
        articles.
        """
        with _readable(self.path), snapshot(self._database) as database:
            number = _generations(database)[0].number
            rows = database.execute(
                "WITH first AS (SELECT event, site, min(row) AS row FROM"
                f" (SELECT event, site, row FROM article_{number} WHERE row BETWEEN ? AND ?"
                " ORDER BY row DESC LIMIT ?) GROUP BY event, site)"
                f" SELECT key, site, row FROM first JOIN event_{number} ON id = event"
                " WHERE event IN (SELECT event FROM first GROUP BY event HAVING count(*) > 1) ORDER BY row",
                (first_row(since), first_row(until) - 1, MAX_TOLD),
            ).fetchall()
        return [Told(key.hex(), site, _moment(row)) for key, site, row in rows]

    def count(self) -> int:
        """Return the number of articles in the active generation."""
        with _readable(self.path):
            return sum(
                int(self._database.execute(f"SELECT count(*) FROM article_{one.number}").fetchone()[0])
                for one in _generations(self._database)[:1]
            )

    def languages(self) -> list[str]:
        """Return the languages used for stemming, see :func:`newsbot.text.stems.stemming`."""
        with _readable(self.path), snapshot(self._database) as database:
            known = _generations(database)[:1]
            rows = [database.execute(f"SELECT code FROM language_{one.number}") for one in known]
            return sorted({"", *(row[0] for some in rows for row in some)})

    def total(self, asked: Asked) -> int:
        """Return how many articles match."""
        with self._reading(asked, _LAST) as (number, condition, values):
            found = self._database.execute(f"SELECT count(*) FROM words_{number} {condition}", values)
            return int(found.fetchone()[0])

    def counts(self, asked: Asked) -> Counts:
        """Return how many articles match, by day, site and language."""
        with self._reading(asked, _LAST) as (number, condition, values):
            newest = f"SELECT rowid AS row FROM words_{number} {condition} ORDER BY rowid DESC LIMIT ?"
            days = self._database.execute(
                f"SELECT {_DAY} AS day, count(*) FROM ({newest}) GROUP BY day ORDER BY day",
                [*values, MAX_DATED + 1],
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

    def days(self) -> dict[str, int]:
        """Return the number of articles by day, oldest first."""
        with _readable(self.path), snapshot(self._database) as database:
            number = _generations(database)[0].number
            rows = database.execute(f"SELECT day, articles FROM day_{number} ORDER BY day").fetchall()
        return _by_day(rows)

    def _rows(self, number: int, chosen: str, values: Sequence[object]) -> list[Row]:
        rows = self._database.execute(
            f"SELECT row, key, version, score FROM ({chosen}) JOIN article_{number} USING (row)"
            " ORDER BY score DESC, row DESC",
            values,
        )
        return [Row(*row) for row in rows]

    @contextmanager
    def _reading(self, asked: Asked, high: int) -> Iterator[tuple[int, str, list[object]]]:
        """Read in one transaction; yield the active generation, the condition and its values."""
        with _readable(self.path), snapshot(self._database) as database:
            active = _generations(database)[0]
            low = first_row(asked.since) if asked.since else -_LAST
            if asked.until:
                high = min(high, first_row(asked.until) + active.latest)
            condition = f"WHERE words_{active.number} MATCH ? AND rowid BETWEEN ? AND ?"
            values: list[object] = [asked.expression, low, high]
            if asked.keys is not None:
                condition += " AND rowid IN (SELECT value FROM json_each(?))"
                tables = _Tables(database, active.number)
                values.append(json.dumps(sorted(tables.rows_of(asked.keys))))
            yield active.number, condition, values


class _Tables:
    """The tables of one generation, within a transaction."""

    def __init__(self, database: sqlite3.Connection, number: int) -> None:
        self._database, self._number = database, number

    def rows_of(self, keys: Iterable[bytes]) -> list[int]:
        """Return the row numbers of those articles that are indexed."""
        asked = f"SELECT row FROM article_{self._number} WHERE key = ?"
        found = (self._database.execute(asked, (key,)).fetchone() for key in keys)
        return [row[0] for row in found if row is not None]

    def events_of(self, keys: Iterable[bytes]) -> dict[bytes, int]:
        """Return the events of those articles that are indexed."""
        asked = f"SELECT key, event FROM article_{self._number} WHERE key = ?"
        found = (self._database.execute(asked, (key,)).fetchone() for key in keys)
        return dict(row for row in found if row is not None)

    def forget(self, rows: Sequence[int]) -> None:
        """Delete articles."""
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
                f"UPDATE day_{number} SET articles = articles - 1 WHERE day = ?", (_day_of(row),)
            )
            for name in ("article", "stems"):
                self._database.execute(f"DELETE FROM {name}_{number} WHERE row = ?", (row,))

    def add(self, entries: Sequence[_Entry], placed: Mapping[bytes, int]) -> int:
        """Insert articles; return the largest distance of a row number from the time of its article.

        ``placed``: their events.
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
            Counter(_day_of(row[0]) for row in rows).items(),
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
        """Return a free row number from a growing range: many articles have a date without a time."""
        chance = random.Random(entry.key)  # noqa: S311
        taken = f"SELECT 1 FROM article_{self._number} WHERE row = ?"
        for turn in count():
            row = entry.first + chance.randrange(1 << turn)
            if self._database.execute(taken, (row,)).fetchone() is None:
                return row
        raise AssertionError("count() does not end")


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Convert errors of SQLite to :class:`newsbot.errors.DataError` kinds; a damaged index can be rebuilt."""
    try:
        with readable_errors(path):
            yield
    except DataError as error:
        if getattr(error.__cause__, "sqlite_errorname", "").startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
            raise DataError(f"{path}: is damaged; delete it, it is made from the articles again") from error
        raise


def _begun(database: sqlite3.Connection) -> Generation:
    known = _generations(database)
    number = max((one.number for one in known), default=0) + 1
    for statement in _TABLES:
        database.execute(statement.format(number))
    made = Generation(number, not known, LAYOUT, "", 0)
    database.execute("INSERT INTO generation VALUES (?, ?, ?, ?, ?)", (number, made.active, LAYOUT, "", 0))
    return made


def _drop(database: sqlite3.Connection, number: int) -> None:
    for name in _NAMES:
        database.execute(f"DROP TABLE IF EXISTS {name}_{number}")
    database.execute("DELETE FROM generation WHERE number = ?", (number,))


def _generations(database: sqlite3.Connection) -> list[Generation]:
    rows = database.execute(
        "SELECT number, active, layout, cursor, latest FROM generation ORDER BY active DESC, number"
    )
    return [Generation(row[0], bool(row[1]), *row[2:]) for row in rows]
