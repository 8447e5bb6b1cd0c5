"""Articles: one row each, with their earlier versions, texts and other URLs in tables of their own."""

from __future__ import annotations

import json
import sqlite3
import time
from array import array
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from newsbot.items import Article
from newsbot.search.index.entry import entry_of
from newsbot.search.query import ArticleFilter
from newsbot.storage.article_decision import KEPT, Decision, Stored, Verdict, decide, names_another_page
from newsbot.storage.articles import MAX_VERSIONS, Articles
from newsbot.storage.notes import to_json
from newsbot.storage.sqlite import words
from newsbot.storage.sqlite.connection import DataFile
from newsbot.storage.sqlite.rows import COLUMNS, READ, THESE, conditions, from_row, to_row, where_all
from newsbot.storage.stories import readdressed_story, story_id
from newsbot.text.words import clean
from newsbot.urls import fingerprint

_WRITTEN = (*COLUMNS, "data", "moment", "stored")
_INSERT = (
    f"INSERT INTO article (fingerprint, {', '.join(_WRITTEN)})"
    f" VALUES (:fingerprint, {', '.join(f':{name}' for name in _WRITTEN)})"
)
_UPDATE = f"UPDATE article SET {', '.join(f'{name} = :{name}' for name in _WRITTEN)} WHERE id = :id"
_OWN = "SELECT * FROM article WHERE fingerprint = ?"
_OWNER = (
    "SELECT a.id, a.canonical_url, a.version FROM article_text t JOIN article a ON a.id = t.article"
    " WHERE t.source = ? AND t.content_hash = ?"
)
_LED_TO = (
    "SELECT a.id, a.canonical_url, a.version FROM article_alias l JOIN article a ON a.id = l.article"
    " WHERE l.fingerprint = ?"
)
_ALIAS = (  # an address that is an article itself leads nowhere else
    "INSERT INTO article_alias (fingerprint, article, url)"
    " SELECT ?1, ?2, ?3 WHERE NOT EXISTS (SELECT 1 FROM article WHERE fingerprint = ?1)"
    " ON CONFLICT DO UPDATE SET article = excluded.article, url = excluded.url"
    " WHERE article <> excluded.article"
)
_BASIS = "json_extract(data, '$.derived_from')"
DERIVED = (
    "UPDATE article SET data = json_set(data, '$.derived_from', ?)"
    f" WHERE {_BASIS} IN {{names}} AND {_BASIS} IS NOT NULL"
)
"""Lets articles name another one as that from which they are derived; ``names``: the one until now."""
_AT_ONCE = 100


class SqliteArticles(Articles):
    """:class:`newsbot.storage.articles.Articles` in the data file; ``on_stored`` is told of new words to
    index."""

    def __init__(self, file: DataFile, on_stored: Callable[[], None]) -> None:
        self._file = file
        self._on_stored = on_stored

    def store(self, article: Article, over: str | None = None) -> Stored:
        row = _row_of(to_row(article), fingerprint(article.canonical_url))
        with self._file.writing() as database:
            decision, number = _carry_out(database, row, over)
            if decision.verdict in (Verdict.NEW, Verdict.UPDATED):
                words.add(database, entry_of(article, row["fingerprint"], decision.version))
            for address in decision.addresses:
                database.execute(_ALIAS, (fingerprint(address), number, address))
        if decision.verdict is not Verdict.TAKEN:
            self._on_stored()
        return decision.stored

    def readdress(self, canonical_url: str, content_hash: str, to: str) -> bool:
        old, new = clean(canonical_url), clean(to)
        before, after = fingerprint(old), fingerprint(new)
        with self._file.writing() as database:
            row = database.execute(f"{_OWN} AND content_hash = ?", (before, content_hash)).fetchone()
            if row is None or database.execute(_OWN, (after,)).fetchone() is not None:
                return False
            number = row["id"]
            database.execute("DELETE FROM article_alias WHERE fingerprint = ?", (after,))
            database.execute(
                "UPDATE article SET fingerprint = ?, canonical_url = ?, stored = ? WHERE id = ?",
                (after, new, time.time(), number),
            )
            database.execute(
                "UPDATE article_version SET document = json_set(document, '$.canonical_url', ?)"
                " WHERE article = ?",
                (new, number),
            )
            database.execute("UPDATE article SET duplicate_of = ? WHERE duplicate_of = ?", (new, old))
            database.execute(DERIVED.format(names="(?)"), (new, old))
            words.forget(database, [before])
            words.only_present(database, number)
            _move_story(database, story_id(old), story_id(new))
        return True

    def get(self, canonical_url: str) -> Article | None:
        key = fingerprint(canonical_url)
        with self._file.reading() as database:
            row = database.execute(f"SELECT {READ} FROM article a WHERE fingerprint = ?", (key,)).fetchone()
            if row is None:
                row = database.execute(
                    f"SELECT {READ} FROM article_alias s JOIN article a ON a.id = s.article"
                    " WHERE s.fingerprint = ?",
                    (key,),
                ).fetchone()
        return None if row is None else from_row(row)

    def save_rights(self, canonical_url: str, rights: Mapping[str, str]) -> None:
        with self._file.writing() as database:
            database.execute(
                "UPDATE article SET data = json_set(data, '$.rights', json(?)), stored = ?"
                " WHERE fingerprint = ?",
                (to_json(dict(rights)), time.time(), fingerprint(canonical_url)),
            )

    def versions(self, canonical_url: str) -> list[Article]:
        with self._file.reading() as database:
            present = database.execute(_OWN, (fingerprint(canonical_url),)).fetchone()
            if present is None:
                return []
            earlier = database.execute(
                "SELECT document FROM article_version WHERE article = ? ORDER BY version", (present["id"],)
            ).fetchall()
        return [*(from_row(json.loads(row[0])) for row in earlier), from_row(present)]

    def iter(self, where: ArticleFilter | None = None) -> Iterator[Article]:
        tests, values = conditions(where)
        query = f"SELECT a.id FROM article a {where_all(tests)} ORDER BY a.fetched_at, a.id"
        return self._file.streamed(self._batches(query, values))

    def count(self, where: ArticleFilter | None = None) -> int:
        tests, values = conditions(where)
        with self._file.reading() as database:
            query = f"SELECT count(*) FROM article a {where_all(tests)}"
            return int(database.execute(query, values).fetchone()[0])

    def changed(self, where: ArticleFilter | None = None, *, after: float, until: float) -> Iterator[Article]:
        tests, values = conditions(where)
        tests = ["a.stored > ?", "a.stored <= ?", *tests]
        query = f"SELECT a.id FROM article a {where_all(tests)} ORDER BY a.stored, a.id"
        return self._file.streamed(self._batches(query, [after, until, *values], until))

    def _batches(
        self, query: str, values: list[Any], stored_until: float | None = None
    ) -> Iterator[list[Article]]:
        """Yield articles batch by batch. Which ones, and their order, is fixed at the start (8 bytes an
        article)."""
        database = self._file.database
        chosen = array("q")
        chosen.extend(row[0] for row in database.execute(query, values))
        for start in range(0, len(chosen), _AT_ONCE):
            yield by_number(database, chosen[start : start + _AT_ONCE].tolist(), stored_until)


def by_number(
    database: sqlite3.Connection, numbers: list[int], stored_until: float | None = None
) -> list[Article]:
    """Return articles by their row numbers, in that order, without those that were stored later."""
    until, values = ("", []) if stored_until is None else (" AND a.stored <= ?", [stored_until])
    rows = database.execute(
        f"SELECT a.id, {READ} FROM article a WHERE a.id IN {THESE}{until}", [json.dumps(numbers), *values]
    )
    found = {row["id"]: from_row(row) for row in rows}
    return [found[number] for number in numbers if number in found]


def insert(database: sqlite3.Connection, row: dict[str, Any], key: bytes) -> int:
    """Write the row of an article (:func:`to_row`) under the fingerprint of its URL; return its number."""
    number = database.execute(_INSERT, _row_of(row, key)).lastrowid
    assert number is not None
    return number


def _row_of(row: dict[str, Any], key: bytes) -> dict[str, Any]:
    moment = row["published_at"] or row["fetched_at"]
    return row | {"fingerprint": key, "moment": moment, "stored": time.time()}


def _carry_out(database: sqlite3.Connection, row: dict[str, Any], over: str | None) -> tuple[Decision, int]:
    """Look up what decides, and write the article or its text; return also the number of the article that
    counts.

    The write transaction in which this runs is what makes it safe in a race.
    """
    own = database.execute(_OWN, (row["fingerprint"],)).fetchone()
    owner = database.execute(_OWNER, (row["source"], row["content_hash"])).fetchone()
    if own is not None and owner is not None and owner["id"] == own["id"]:
        owner = None
    led_to = None
    if own is None and owner is None and names_another_page(row):
        led_to = database.execute(_LED_TO, (row["fingerprint"],)).fetchone()
    decision = decide(row, own, owner, led_to, over)
    row["version"] = decision.version
    if decision.verdict is Verdict.NEW:
        number = insert(database, row, row["fingerprint"])
        database.execute("DELETE FROM article_alias WHERE fingerprint = ?", (row["fingerprint"],))
    elif decision.verdict is Verdict.UPDATED:
        number = own["id"]
        _update(database, row, own)
    else:
        return decision, decision.of["id"]
    if row["content_hash"]:
        database.execute(
            "INSERT OR IGNORE INTO article_text (source, content_hash, article) VALUES (?, ?, ?)",
            (row["source"], row["content_hash"], number),
        )
    return decision, number


def _update(database: sqlite3.Connection, row: dict[str, Any], own: sqlite3.Row) -> None:
    earlier = {name: own[name] for name in (*COLUMNS, "data")}
    database.execute(
        "INSERT INTO article_version VALUES (?, ?, ?)",
        (own["id"], own["version"], json.dumps(earlier, ensure_ascii=False)),
    )
    database.execute(  # the first one stays, the rest up to a number: some pages change at every visit
        "DELETE FROM article_version WHERE article = ? AND version > 1 AND version <= ?",
        (own["id"], row["version"] - MAX_VERSIONS),
    )
    row |= {name: own[name] for name in KEPT} | {"id": own["id"]}
    first = json.loads(own["data"])["discovered_at"]
    if first is not None:
        row["data"] = to_json(json.loads(row["data"]) | {"discovered_at": first})
    database.execute(_UPDATE, row)


def _move_story(database: sqlite3.Connection, old: str, new: str) -> None:
    """Let the story that was named after the old URL be named after the new one: another may come there."""
    row = database.execute("SELECT into_story FROM story_joined WHERE story = ?", (new,)).fetchone()
    target = readdressed_story(old, new, row and row["into_story"])
    database.execute("DELETE FROM story_joined WHERE story = ? OR story = ?", (old, target))
    database.execute("UPDATE story_joined SET into_story = ? WHERE into_story = ?", (target, old))
    database.execute("UPDATE article SET story = ? WHERE story = ?", (target, old))
