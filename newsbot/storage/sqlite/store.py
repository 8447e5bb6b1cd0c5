"""Keeping an article: new, a new version, unchanged, or a text that the source already has."""

from __future__ import annotations

import json
import sqlite3
import time
from typing import Any

from newsbot.items import Article
from newsbot.search.index.entry import entry_of
from newsbot.storage.base import MAX_VERSIONS, Stored, Verdict
from newsbot.storage.records import COLUMNS, of_one_page, to_row
from newsbot.storage.sqlite import words
from newsbot.urls import canonicalize, fingerprint

_WRITTEN = (*COLUMNS, "data", "moment", "stored")
_INSERT = (
    f"INSERT INTO article (fingerprint, {', '.join(_WRITTEN)})"
    f" VALUES (:fingerprint, {', '.join(f':{name}' for name in _WRITTEN)})"
)
_UPDATE = f"UPDATE article SET {', '.join(f'{name} = :{name}' for name in _WRITTEN)} WHERE id = :id"
_ALIAS = (  # what is an article itself leads nowhere else
    "INSERT INTO article_alias (fingerprint, article, url)"
    " SELECT ?1, ?2, ?3 WHERE NOT EXISTS (SELECT 1 FROM article WHERE fingerprint = ?1)"
    " ON CONFLICT DO UPDATE SET article = excluded.article, url = excluded.url"
    " WHERE article <> excluded.article"
)
_KEPT = ("story", "duplicate_of")


def store(database: sqlite3.Connection, article: Article, over: str | None = None) -> Stored:
    """Keep an article; within a write transaction, which is what makes it safe in a race."""
    row = to_row(article)
    row["moment"] = row["published_at"] or row["fetched_at"]
    row["stored"] = time.time()
    row["fingerprint"] = fingerprint(article.canonical_url)
    stored, number = _keep(database, row, over)
    if stored.verdict is Verdict.TAKEN:
        return stored
    if stored.verdict in (Verdict.NEW, Verdict.UPDATED):
        words.add(database, entry_of(article, row["fingerprint"], stored.version))
    _remember_address(database, row, number)
    return stored


def insert(database: sqlite3.Connection, row: dict[str, Any]) -> int:
    """Write the row of an article (its ``fingerprint`` among the columns) and return its number."""
    row["moment"] = row["published_at"] or row["fetched_at"]
    row.setdefault("stored", time.time())
    number = database.execute(_INSERT, row).lastrowid
    assert number is not None
    return number


def _keep(database: sqlite3.Connection, row: dict[str, Any], over: str | None) -> tuple[Stored, int]:
    """Keep an article; return also the number of the one that has its text."""
    own = database.execute("SELECT * FROM article WHERE fingerprint = ?", (row["fingerprint"],)).fetchone()
    owner = _owner(database, row)
    if own is None and owner is None:
        return _taken(database, row) or _add(database, row)
    if own is None:
        assert owner is not None
        return _alias(database, row, owner)
    if _same(own, row):
        return Stored(Verdict.UNCHANGED, own["canonical_url"], own["version"]), own["id"]
    if owner is not None and owner["id"] != own["id"]:
        return Stored(Verdict.SAME_TEXT, owner["canonical_url"], owner["version"]), owner["id"]
    if over != own["content_hash"] and not of_one_page(own["url"], row["url"]):
        return Stored(Verdict.TAKEN, own["canonical_url"], own["version"]), own["id"]
    return _update(database, row, own)


def _owner(database: sqlite3.Connection, row: dict[str, Any]) -> sqlite3.Row | None:
    """The article of the source that has, or once had, this text."""
    found: sqlite3.Row | None = database.execute(
        "SELECT a.id, a.canonical_url, a.version FROM article_text t JOIN article a ON a.id = t.article"
        " WHERE t.source = ? AND t.content_hash = ?",
        (row["source"], row["content_hash"]),
    ).fetchone()
    return found


def _taken(database: sqlite3.Connection, row: dict[str, Any]) -> tuple[Stored, int] | None:
    """The article that a URL leads to which this page only names; None if it is the page's own, or free."""
    if of_one_page(row["canonical_url"], row["url"]):
        return None
    found = database.execute(
        "SELECT a.id, a.canonical_url, a.version FROM article_alias l JOIN article a ON a.id = l.article"
        " WHERE l.fingerprint = ?",
        (row["fingerprint"],),
    ).fetchone()
    return found and (Stored(Verdict.TAKEN, found["canonical_url"], found["version"]), found["id"])


def _same(own: sqlite3.Row, row: dict[str, Any]) -> bool:
    if own["title"] != row["title"]:
        return False
    if row["content_hash"] and own["content_hash"]:
        return bool(own["content_hash"] == row["content_hash"])
    return bool(own["text"] == row["text"])


def _add(database: sqlite3.Connection, row: dict[str, Any]) -> tuple[Stored, int]:
    row["version"] = 1
    number = insert(database, row)
    database.execute("DELETE FROM article_alias WHERE fingerprint = ?", (row["fingerprint"],))
    _remember_text(database, row, number)
    return Stored(Verdict.NEW, row["canonical_url"], 1), number


def _alias(database: sqlite3.Connection, row: dict[str, Any], owner: sqlite3.Row) -> tuple[Stored, int]:
    database.execute(_ALIAS, (row["fingerprint"], owner["id"], row["canonical_url"]))
    return Stored(Verdict.SAME_TEXT, owner["canonical_url"], owner["version"]), owner["id"]


def _remember_address(database: sqlite3.Connection, row: dict[str, Any], number: int) -> None:
    """Let the address that was fetched lead to the article, where the page names another as canonical."""
    try:
        fetched = canonicalize(row["url"])
    except ValueError:  # nobody can ask for it
        return
    key = fingerprint(fetched)
    if key != row["fingerprint"]:
        database.execute(_ALIAS, (key, number, fetched))


def _update(database: sqlite3.Connection, row: dict[str, Any], own: sqlite3.Row) -> tuple[Stored, int]:
    number, version = own["id"], own["version"] + 1
    earlier = {name: own[name] for name in (*COLUMNS, "data")}
    database.execute(
        "INSERT INTO article_version VALUES (?, ?, ?)",
        (number, own["version"], json.dumps(earlier, ensure_ascii=False)),
    )
    database.execute(  # the first one stays, the rest up to a number: some pages change at every visit
        "DELETE FROM article_version WHERE article = ? AND version > 1 AND version <= ?",
        (number, version - MAX_VERSIONS),
    )
    row |= {name: own[name] for name in _KEPT}
    row |= {"id": number, "version": version, "data": _with_discovery(row["data"], own["data"])}
    database.execute(_UPDATE, row)
    _remember_text(database, row, number)
    return Stored(Verdict.UPDATED, row["canonical_url"], version), number


def _remember_text(database: sqlite3.Connection, row: dict[str, Any], number: int) -> None:
    if row["content_hash"]:
        database.execute(
            "INSERT OR IGNORE INTO article_text (source, content_hash, article) VALUES (?, ?, ?)",
            (row["source"], row["content_hash"], number),
        )


def _with_discovery(data: str, earlier: str) -> str:
    """The new fields with the first discovery."""
    first = json.loads(earlier)["discovered_at"]
    if first is None:
        return data
    return json.dumps(json.loads(data) | {"discovered_at": first}, ensure_ascii=False, separators=(",", ":"))
