"""Stores each article in one row. Earlier versions, texts and other URLs have their own tables.

Fields that queries use have a column each. The other fields are stored together as one JSON text.

Articles and old versions are deleted on request.

A story is the column ``story`` of its articles. A table has the stories that were joined.
"""

from __future__ import annotations

import json
import sqlite3
from array import array
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, replace
from datetime import datetime
from typing import Any

from newsbot.clock import from_stamp, stamp
from newsbot.connections.sqlite import select_in
from newsbot.errors import DataDamaged, DataError, DataFull, DataUnavailable
from newsbot.items import Article, ArticleFilter, batched
from newsbot.pages.text.words import clean
from newsbot.storage.articles import (
    KEPT,
    MAX_VERSIONS,
    Articles,
    Change,
    Changes,
    Decision,
    Joined,
    Numbering,
    RepeatedText,
    SiteText,
    Stored,
    Stories,
    Story,
    Texts,
    Verdict,
    decide,
    may_be_plain,
    names_another_page,
    readdressed_story,
    roots_of,
    split_ids,
    story_id,
)
from newsbot.storage.base import Removal
from newsbot.storage.notes import to_json
from newsbot.storage.sqlite.connection import Repository
from newsbot.urls import fingerprint

COLUMNS = (
    "canonical_url", "url", "source", "language", "story", "duplicate_of", "published_at", "fetched_at",
    "content_hash", "version", "title", "text",
)  # fmt: skip
"""Fields of an article that have a column."""
READ = ", ".join(f"a.{name}" for name in (*COLUMNS, "data"))
"""The columns to read for :func:`from_row`. The table of articles must have the alias ``a``."""
_IS_POST = "json_extract(a.data, '$.form') IS 'post'"
IN_STORY = (
    "a.story = (SELECT ifnull(j.into_story, w.story) FROM (SELECT ? AS story) w"
    " LEFT JOIN story_joined j ON j.story = w.story)"
)
"""SQL condition: the article is in this story, or in the story with which this story was joined."""
THESE = "(SELECT value FROM json_each(?))"
"""SQL for a list of values in one JSON parameter, because SQLite limits the number of parameters."""
_TIMES = frozenset({"published_at", "modified_at", "discovered_at", "fetched_at"})
_REST = tuple(field.name for field in fields(Article) if field.name not in COLUMNS)


def to_row(article: Article) -> dict[str, Any]:
    """Return the columns of an article by name. The column ``data`` has the other fields as JSON."""
    row = {name: _plain(name, getattr(article, name)) for name in COLUMNS}
    row["data"] = to_json({name: _plain(name, getattr(article, name)) for name in _REST})
    return row


def from_row(row: Mapping[str, Any] | sqlite3.Row) -> Article:
    """Return the article of a row with the columns of :data:`READ`. Other columns are ignored."""
    values = {name: row[name] for name in COLUMNS} | json.loads(row["data"])
    for name in _TIMES:
        values[name] = from_stamp(values[name])
    return Article(**values)


def conditions(where: ArticleFilter | None) -> tuple[list[str], list[Any]]:
    """Return the SQL conditions of a filter, and their values. The table must have the alias ``a``.

    If both site and language are given, the unary plus prevents SQLite from using the index on languages. The
    index on sites is faster, because a site has fewer articles than a language.
    """
    if where is None:
        return [], []
    asked = (
        ("a.source = ?", where.source),
        ("a.language = ?" if where.source is None else "+a.language = ?", where.language),
        (IN_STORY, where.story),
        ("a.moment >= ?", stamp(where.since)),
        ("a.moment < ?", stamp(where.until)),
    )
    given = [(condition, value) for condition, value in asked if value is not None]
    of_form = [] if where.posts is None else [_IS_POST if where.posts else f"NOT ({_IS_POST})"]
    return [*(condition for condition, _ in given), *of_form], [value for _, value in given]


def where_all(tests: list[str]) -> str:
    """Return a WHERE clause that requires all conditions, or an empty string if there are none."""
    return f"WHERE {' AND '.join(tests)}" if tests else ""


def _plain(name: str, value: Any) -> Any:
    if name in _TIMES:
        return stamp(value)
    return clean(value) if isinstance(value, str) else value


# --- articles
_WRITTEN = (*COLUMNS, "data", "moment")
_INSERT = (
    f"INSERT INTO article (fingerprint, {', '.join(_WRITTEN)})"
    f" VALUES (:fingerprint, {', '.join(f':{name}' for name in _WRITTEN)})"
)
_UPDATE = f"UPDATE article SET {', '.join(f'{name} = :{name}' for name in _WRITTEN)} WHERE id = :id"
_OWN = "SELECT * FROM article WHERE fingerprint = ?"
# content_hash is compared, so that a newer version does not get the time of an older text. json_extract()
# returns lists and mappings as text, which json_object() would quote. json() prevents this.
_SAVE_ORIGIN = (
    "UPDATE article SET published_at = :published_at, moment = :moment, data = json_patch(data, json_object("
    + ", ".join(f"'{name}', json(json_extract(:data, '$.{name}'))" for name in ("authors", "extraction"))
    + ", "
    + ", ".join(
        f"'{name}', json_extract(:data, '$.{name}')" for name in ("published_source", "published_precision")
    )
    + ")) WHERE fingerprint = :fingerprint AND content_hash IS :content_hash"
)
_OWNER = (
    "SELECT a.id, a.canonical_url, a.version FROM article_text t JOIN article a ON a.id = t.article"
    " WHERE t.source = ? AND t.content_hash = ?"
)
_LED_TO = (
    "SELECT a.id, a.canonical_url, a.version FROM article_alias l JOIN article a ON a.id = l.article"
    " WHERE l.fingerprint = ?"
)
_ALIAS = (  # a URL that has an article itself is never an alias
    "INSERT INTO article_alias (fingerprint, article, url)"
    " SELECT ?1, ?2, ?3 WHERE NOT EXISTS (SELECT 1 FROM article WHERE fingerprint = ?1)"
    " ON CONFLICT DO UPDATE SET article = excluded.article, url = excluded.url"
    " WHERE article <> excluded.article"
)
# Without json(), json_set() would store the list as a quoted string. article_basis is the index from a URL to
# the articles that name the URL. Triggers update this index.
DERIVED = (
    "UPDATE article SET data = json_set(data, '$.derived_from', json(("
    " SELECT json_group_array(CASE WHEN value IN (SELECT value FROM json_each(?1)) THEN ?2 ELSE value END)"
    " FROM json_each(data, '$.derived_from')"
    " WHERE ?2 IS NOT NULL OR value NOT IN (SELECT value FROM json_each(?1)))))"
    " WHERE id IN (SELECT article FROM article_basis WHERE url IN (SELECT value FROM json_each(?1)))"
)
"""Replaces URLs (?1, a JSON list) in ``derived_from`` of all articles by another URL (?2), or removes them if
?2 is NULL."""
_SEQUENCE = "SELECT id, (SELECT ifnull(max(number), 0) FROM article_change) FROM article_sequence"
_CHANGES = (
    f"SELECT c.number, c.fingerprint AS changed, {READ} FROM article_change c"
    " LEFT JOIN article a ON a.fingerprint = c.fingerprint WHERE c.number > ? ORDER BY c.number LIMIT ?"
)
_WITH_KEYS = f"SELECT fingerprint AS key, {READ} FROM article a WHERE fingerprint IN"
_ALIASED = (
    f"SELECT s.fingerprint AS key, {READ} FROM article_alias s JOIN article a ON a.id = s.article"
    " WHERE s.fingerprint IN"
)
_KNOWN = tuple(
    f"SELECT fingerprint FROM {table} WHERE fingerprint IN" for table in ("article", "article_alias")
)
_AT_ONCE = 100


class SqliteArticles(Repository, Articles):
    """:class:`newsbot.storage.articles.Articles` in the data file."""

    def store(self, article: Article, over: str | None = None, peers: Sequence[str] = ()) -> Stored:
        row = _form_of(article)
        with self.file.writing() as database:
            return _store(database, row, over, peers)

    def store_new(
        self, articles: Sequence[Article], peers: Sequence[Sequence[str]] = ()
    ) -> list[Stored | None]:
        given: dict[int, dict[str, Any]] = {}
        for number, article in enumerate(articles):
            with suppress(Exception):  # the caller then calls :meth:`store`, which raises the error
                given[number] = _form_of(article)
        results: list[Stored | None] = [None] * len(articles)
        try:
            with self.file.writing() as database:
                for (number, row), plain in zip(
                    given.items(), may_be_plain(list(given.values())), strict=True
                ):
                    # The caller passes all other articles to store(), one by one.
                    if plain and not _is_known(database, row):
                        results[number] = _store(database, row, None, peers[number] if peers else ())
        except (DataUnavailable, DataFull, DataDamaged):
            raise
        # If SQLite refuses one record, the whole transaction is undone. The caller then passes each article
        # to store(), so that only the refused record raises an error.
        except DataError:
            return [None] * len(articles)
        return results

    def readdress(self, canonical_url: str, content_hash: str, to: str, fetched: str | None = None) -> bool:
        old, new = clean(canonical_url), clean(to)
        before, after = fingerprint(old), fingerprint(new)
        with self.file.writing() as database:
            # The text is compared, because another worker may have stored a new version since the caller
            # decided.
            row = database.execute(f"{_OWN} AND content_hash = ?", (before, content_hash)).fetchone()
            # If the new URL has an article too, both articles stay.
            taken = after != before and database.execute(_OWN, (after,)).fetchone() is not None
            if row is None or taken:
                return False
            number = row["id"]
            # The new URL gets an article, so it can no longer be an alias.
            database.execute("DELETE FROM article_alias WHERE fingerprint = ?", (after,))
            database.execute(
                "UPDATE article SET fingerprint = ?, canonical_url = ?, url = coalesce(?, url),"
                " data = iif(? IS NULL, data, json_remove(data, '$.extraction.fetched')) WHERE id = ?",
                (after, new, fetched and clean(fetched), fetched, number),
            )
            database.execute(
                "UPDATE article_version SET document = json_set(document, '$.canonical_url', ?)"
                " WHERE article = ?",
                (new, number),
            )
            database.execute("UPDATE article SET duplicate_of = ? WHERE duplicate_of = ?", (new, old))
            database.execute(DERIVED, (json.dumps([old]), new))
            if after == before:
                _note_change(database, before)
            else:
                _move_story(database, story_id(old), story_id(new))
        return True

    def get_many(self, canonical_urls: Sequence[str]) -> dict[str, Article]:
        keys = {url: fingerprint(url) for url in canonical_urls}
        with self.file.reading() as database:
            rows = {row["key"]: row for row in select_in(database, _ALIASED, keys.values())}
            # This comes after the aliases, so that an article's own URL wins against an alias.
            rows |= {row["key"]: row for row in select_in(database, _WITH_KEYS, keys.values())}
        return {url: from_row(rows[key]) for url, key in keys.items() if key in rows}

    def known(self, keys: Sequence[bytes]) -> set[bytes]:
        with self.file.reading() as database:
            return {row[0] for query in _KNOWN for row in select_in(database, query, keys)}

    def with_keys(self, keys: Sequence[bytes]) -> dict[bytes, Article]:
        with self.file.reading() as database:
            return {row["key"]: from_row(row) for row in select_in(database, _WITH_KEYS, keys)}

    def save_rights(self, canonical_url: str, rights: Mapping[str, str]) -> None:
        with self.file.writing() as database:
            database.execute(
                "UPDATE article SET data = json_set(data, '$.rights', json(?)) WHERE fingerprint = ?",
                (to_json(dict(rights)), fingerprint(canonical_url)),
            )

    def save_origin(self, article: Article) -> None:
        row = _row_of(to_row(article), fingerprint(article.canonical_url))
        with self.file.writing() as database:
            if database.execute(_SAVE_ORIGIN, row).rowcount:
                _note_change(database, row["fingerprint"])

    def versions(self, canonical_url: str) -> list[Article]:
        with self.file.reading() as database:
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
        return self.file.streamed(self._batches(query, values))

    def newest(self, where: ArticleFilter | None = None, *, limit: int) -> list[Article]:
        tests, values = conditions(where)
        chosen = f"{where_all(tests)} ORDER BY a.moment DESC, a.id DESC LIMIT ?"
        with self.file.reading() as database:
            return [
                from_row(row)
                for row in database.execute(f"SELECT {READ} FROM article a {chosen}", [*values, limit])
            ]

    def count(self, where: ArticleFilter | None = None) -> int:
        if where is not None and where.posts is False:  # posts have an index
            return self.count(replace(where, posts=None)) - self.count(replace(where, posts=True))
        tests, values = conditions(where)
        with self.file.reading() as database:
            query = f"SELECT count(*) FROM article a {where_all(tests)}"
            return int(database.execute(query, values).fetchone()[0])

    def changes_since(self, cursor: str = "", limit: int = 500) -> Changes:
        with self.file.reading() as database:
            numbering = Numbering(*database.execute(_SEQUENCE).fetchone())
            after, restarted = numbering.read(cursor)
            rows = database.execute(_CHANGES, (after, limit)).fetchall()
        # because of the LEFT JOIN, the columns are NULL if the article was removed
        found = [
            Change(row["changed"], None if row["canonical_url"] is None else from_row(row)) for row in rows
        ]
        return Changes(found, numbering.cursor(rows[-1]["number"] if rows else after), restarted)

    def end_of_changes(self) -> str:
        numbering = self._numbering()
        return numbering.cursor(numbering.last)

    def changes_after(self, cursor: str) -> int:
        return self._numbering().after(cursor)

    def _numbering(self) -> Numbering:
        with self.file.reading() as database:
            return Numbering(*database.execute(_SEQUENCE).fetchone())

    def _batches(self, query: str, values: list[Any]) -> Iterator[list[Article]]:
        """Yield the articles whose row numbers the query selects, in batches.

        All row numbers are read at the start (8 bytes for each article), so that writes during the stream do
        not change its order. Articles that are deleted during the stream are left out.
        """
        database = self.file.database
        chosen = array("q")
        chosen.extend(row[0] for row in database.execute(query, values))
        for numbers in batched(chosen, _AT_ONCE):
            yield _by_number(database, numbers)


def _by_number(database: sqlite3.Connection, numbers: list[int]) -> list[Article]:
    """Return the articles with these row numbers, in the order of the numbers, without deleted articles."""
    rows = database.execute(
        f"SELECT a.id, {READ} FROM article a WHERE a.id IN {THESE}", [json.dumps(numbers)]
    )
    found = {row["id"]: from_row(row) for row in rows}
    return [found[number] for number in numbers if number in found]


class SqliteTexts(Repository, Texts):
    """:class:`newsbot.storage.articles.Texts` in the data file."""

    def owners(self, texts: Sequence[SiteText]) -> dict[SiteText, str]:
        with self.file.reading() as database:
            rows = {text: database.execute(_OWNER, text).fetchone() for text in texts}
        return {text: str(row["canonical_url"]) for text, row in rows.items() if row is not None}

    def repeated(self, *, least: int = 10, limit: int = 100) -> list[RepeatedText]:
        with self.file.reading() as database:
            rows = database.execute(
                # + 1, because the canonical URL is not in the table of aliases
                "SELECT a.source, a.canonical_url, s.urls FROM (SELECT article, count(*) + 1 AS urls"
                " FROM article_alias GROUP BY article HAVING urls >= ?) s"
                " JOIN article a ON a.id = s.article ORDER BY s.urls DESC, a.canonical_url LIMIT ?",
                (least, max(0, limit)),
            )
            return [RepeatedText(*row) for row in rows]


def insert(database: sqlite3.Connection, row: dict[str, Any], key: bytes) -> int:
    """Insert the row of an article (:func:`to_row`), and return its row number.

    ``key`` is the fingerprint of the canonical URL.
    """
    number = database.execute(_INSERT, _row_of(row, key)).lastrowid
    assert number is not None
    return number


def _row_of(row: dict[str, Any], key: bytes) -> dict[str, Any]:
    moment = row["published_at"] or row["fetched_at"]
    return row | {"fingerprint": key, "moment": moment}


def _form_of(article: Article) -> dict[str, Any]:
    """Return the row of an article with its field ``extraction``, which is not a column."""
    row = _row_of(to_row(article), fingerprint(article.canonical_url))
    return row | {"extraction": article.extraction}


def _is_known(database: sqlite3.Connection, row: dict[str, Any]) -> bool:
    """Return True if the URL or the text of an article is known already."""
    key, text = (row["fingerprint"],), (row["source"], row["content_hash"])
    asked = [(_OWN, key), (_OWNER, text), *([(_LED_TO, key)] if names_another_page(row) else [])]
    return any(database.execute(query, values).fetchone() is not None for query, values in asked)


def _store(
    database: sqlite3.Connection, row: dict[str, Any], over: str | None, peers: Sequence[str]
) -> Stored:
    """Store the row of an article; see :meth:`SqliteArticles.store`. Must run within a write transaction."""
    decision, number = _carry_out(database, row, over)
    for address in decision.addresses:
        database.execute(_ALIAS, (fingerprint(address), number, address))
    if not peers or decision.verdict is Verdict.TAKEN:
        return decision.stored
    group = [row["canonical_url"], decision.stored.canonical_url, *peers]
    return replace(decision.stored, joined=join(database, group))


def _carry_out(database: sqlite3.Connection, row: dict[str, Any], over: str | None) -> tuple[Decision, int]:
    """Read the records that :func:`decide` needs, and execute its decision, except for the aliases.

    Return the decision and the row number of the article to which it refers. This function must run within a
    write transaction, so that the records cannot change before the decision is written, even if several
    workers store the same article.
    """
    own = database.execute(_OWN, (row["fingerprint"],)).fetchone()
    owner = database.execute(_OWNER, (row["source"], row["content_hash"])).fetchone()
    if own is not None and owner is not None and owner["id"] == own["id"]:
        owner = None  # the text belongs to this article itself
    led_to = None
    if own is None and owner is None and names_another_page(row):
        led_to = database.execute(_LED_TO, (row["fingerprint"],)).fetchone()
    decision = decide(row, own, owner, led_to, over)
    row["version"] = decision.version
    if decision.verdict is Verdict.NEW:
        number = insert(database, row, row["fingerprint"])
        # The URL now has an article, so it must no longer be an alias of another article.
        database.execute("DELETE FROM article_alias WHERE fingerprint = ?", (row["fingerprint"],))
    elif decision.verdict is Verdict.UPDATED:
        number = own["id"]
        _update(database, row, own)
    else:
        return decision, decision.of["id"]
    if row["content_hash"]:  # IGNORE, because the article may have had this text before
        database.execute(
            "INSERT OR IGNORE INTO article_text (source, content_hash, article) VALUES (?, ?, ?)",
            (row["source"], row["content_hash"], number),
        )
    return decision, number


def _update(database: sqlite3.Connection, row: dict[str, Any], own: sqlite3.Row) -> None:
    """Write a new version of the article ``own``, and keep the previous one in the table of versions."""
    earlier = {name: own[name] for name in (*COLUMNS, "data")}
    database.execute(
        "INSERT INTO article_version VALUES (?, ?, ?)",
        (own["id"], own["version"], json.dumps(earlier, ensure_ascii=False)),
    )
    database.execute(  # keep version 1 and the latest versions: some pages change at every visit
        "DELETE FROM article_version WHERE article = ? AND version > 1 AND version <= ?",
        (own["id"], row["version"] - MAX_VERSIONS),
    )
    row |= {name: own[name] for name in KEPT} | {"id": own["id"]}
    # discovered_at remains the time at which the first version was found
    first = json.loads(own["data"])["discovered_at"]
    if first is not None:
        row["data"] = to_json(json.loads(row["data"]) | {"discovered_at": first})
    database.execute(_UPDATE, row)


def _note_change(database: sqlite3.Connection, key: bytes) -> None:
    """Number a change of fields that the trigger ``article_updated`` does not watch."""
    database.execute("DELETE FROM article_change WHERE fingerprint = ?", (key,))
    database.execute("INSERT INTO article_change (fingerprint) VALUES (?)", (key,))


def _move_story(database: sqlite3.Connection, old: str, new: str) -> None:
    """Rename the story whose id was made from the old URL.

    Another article may get the old URL later, and would begin a story with the same id.
    """
    row = database.execute("SELECT into_story FROM story_joined WHERE story = ?", (new,)).fetchone()
    target = readdressed_story(old, new, row and row["into_story"])
    # ``target`` is a current story, so it must not redirect to another story.
    database.execute("DELETE FROM story_joined WHERE story = ? OR story = ?", (old, target))
    database.execute("UPDATE story_joined SET into_story = ? WHERE into_story = ?", (target, old))
    database.execute("UPDATE article SET story = ? WHERE story = ?", (target, old))


# --- stories
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
    """:class:`newsbot.storage.articles.Stories` in the data file."""

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
    """Do the same as :meth:`newsbot.storage.articles.Stories.current`."""
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


_OLD_VERSIONS = "FROM article_version WHERE json_extract(document, '$.fetched_at') < ?"
_OLD_PAGES = (
    "FROM page WHERE next_due IS NULL AND coalesce(last_fetched, first_seen) < ?"
    " AND (history <> '[]' OR referrers <> '[]')"
)


# --- removal
class SqliteRemoval(Repository, Removal):
    """:class:`newsbot.storage.base.Removal` in the data file."""

    def addresses(self, canonical_urls: Sequence[str]) -> list[str]:
        with self.file.reading() as database:
            numbers = json.dumps(list(_articles(database, canonical_urls)))
            rows = database.execute(f"SELECT url FROM article_alias WHERE article IN {THESE}", (numbers,))
            return [str(row[0]) for row in rows]

    def articles(self, canonical_urls: Sequence[str]) -> int:
        with self.file.writing() as database:
            found = _articles(database, canonical_urls)
            # if a URL is an alias of another article, which stays, only the alias is deleted
            keys = ((fingerprint(clean(url)),) for url in canonical_urls)
            database.executemany("DELETE FROM article_alias WHERE fingerprint = ?", keys)
            if not found:
                return 0
            numbers = json.dumps(list(found))
            urls = json.dumps([row["canonical_url"] for row in found.values()])
            database.execute(f"UPDATE article SET duplicate_of = NULL WHERE duplicate_of IN {THESE}", (urls,))
            database.execute(DERIVED, (urls, None))
            # This table has no index on the article, so the rows of each site are read once.
            for source in sorted({row["source"] for row in found.values()}):
                database.execute(
                    f"DELETE FROM article_text WHERE source = ? AND article IN {THESE}", (source, numbers)
                )
            for table, column in (
                ("article_alias", "article"),
                ("article_version", "article"),
                ("article", "id"),
            ):
                database.execute(f"DELETE FROM {table} WHERE {column} IN {THESE}", (numbers,))
            return len(found)

    def pages(self, fingerprints: Sequence[bytes]) -> int:
        count = 0
        with self.file.writing() as database:
            for key in dict.fromkeys(fingerprints):
                count += database.execute("DELETE FROM page WHERE fingerprint = ?", (key,)).rowcount
        return count

    def sources(self, urls: Sequence[str]) -> int:
        given = json.dumps([clean(url) for url in urls])
        with self.file.writing() as database:
            database.execute(f"DELETE FROM poll_day WHERE url IN {THESE}", (given,))
            return database.execute(f"DELETE FROM source WHERE url IN {THESE}", (given,)).rowcount

    def site(self, site: str) -> None:
        with self.file.writing() as database:
            for table in ("site", "site_counter", "site_hour"):
                database.execute(f"DELETE FROM {table} WHERE source = ?", (site,))

    def old_versions(self, before: datetime) -> int:
        return self._count(_OLD_VERSIONS, stamp(before))

    def drop_versions(self, before: datetime, limit: int) -> int:
        with self.file.writing() as database:
            rows = database.execute(
                f"SELECT article, version {_OLD_VERSIONS} LIMIT ?", (stamp(before), limit)
            ).fetchall()
            database.executemany("DELETE FROM article_version WHERE article = ? AND version = ?", rows)
            return len(rows)

    def old_pages(self, before: float) -> int:
        return self._count(_OLD_PAGES, before)

    def slim_pages(self, before: float, limit: int) -> int:
        with self.file.writing() as database:
            return database.execute(
                "UPDATE page SET history = '[]', referrers = '[]', referrer_bitmap = x''"
                f" WHERE id IN (SELECT id {_OLD_PAGES} LIMIT ?)",
                (before, limit),
            ).rowcount

    def _count(self, condition: str, before: str | float | None) -> int:
        with self.file.reading() as database:
            return int(database.execute(f"SELECT count(*) {condition}", (before,)).fetchone()[0])


def _articles(database: sqlite3.Connection, canonical_urls: Sequence[str]) -> dict[int, sqlite3.Row]:
    """Return the articles with these canonical URLs, by row number. Aliases are not considered."""
    asked = "SELECT id, fingerprint, canonical_url, source FROM article WHERE fingerprint = ?"
    found = (
        database.execute(asked, (fingerprint(clean(url)),)).fetchone()
        for url in dict.fromkeys(canonical_urls)
    )
    return {row["id"]: row for row in found if row is not None}
