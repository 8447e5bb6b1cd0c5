"""Writes articles into a table of PostgreSQL, with psycopg."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import unquote

from newsbot.apps.sinks.rows import RESPONSE_TIMEOUT, Row, RowsRefused, SinkError
from newsbot.config.apps import load_optional

COLUMNS = {
    "key": "text PRIMARY KEY",
    "version": "integer NOT NULL",
    "url": "text",
    "canonical_url": "text",
    "source": "text",
    "title": "text",
    "text": "text",
    "language": "text",
    "published_at": "timestamptz",
    "fetched_at": "timestamptz",
    "article": "jsonb NOT NULL",
}
"""Columns of the table. ``article`` has all fields but the text."""
_ESCAPED = re.compile(r"(\\\\)|\\u0000")
_NO_ZERO = str.maketrans("", "", "\0")


class PostgresTarget:
    """Keeps the current version of each article in one table.

    ``address`` is a connection URI of libpq. Its parameter ``table`` is the name of the table (default:
    ``articles``; a schema may come first).
    """

    drops_known_batches = False

    def __init__(self, address: str) -> None:
        self._psycopg = load_optional("psycopg", "postgresql", "this sink")
        # All but the table is left as it is, because libpq reads a URI in its own way: without a host it uses
        # a socket, and a plus is not a space.
        slash = address.find("/", address.find("://") + 3)
        login = address.find("@", 0, slash if slash >= 0 else None) + 1  # a password may have a question mark
        place, _, query = address[login:].partition("?")
        options = [one for one in query.split("&") if one]
        tables = [unquote(one.partition("=")[2]) for one in options if one.startswith("table=")]
        self._table = self._psycopg.sql.Identifier(*(tables[-1] if tables else "articles").split("."))
        options = [one for one in options if not one.startswith("table=")]
        self._address = (
            f"{address[:login]}{place}?{'&'.join([f'connect_timeout={int(RESPONSE_TIMEOUT)}', *options])}"
        )
        try:
            found = load_optional("psycopg.conninfo", "postgresql", "this sink").conninfo_to_dict(
                self._address
            )
            ports = [one for one in str(found.get("port", "")).split(",") if one]
        except self._psycopg.Error:
            ports = ["?"]
        if not all(one.isdecimal() for one in ports):  # the error of libpq may quote a part of the password
            raise SinkError(
                "PostgreSQL: the address is not valid; write postgresql://user:password@host/database, and "
                "signs such as / @ : % in the name and the password as %2F %40 %3A %25"
            )
        self._connection: Any = None

    def check(self) -> None:
        """Connect, and create the table if it is missing."""
        try:
            self._connected()
        except self._psycopg.Error as error:
            raise SinkError(self._fault(error)) from None

    def write(self, rows: Sequence[Row], batch: str) -> None:  # noqa: ARG002
        """Write rows in one transaction. An older version never replaces a newer one."""
        sql = self._psycopg.sql
        names = sql.SQL(", ").join(map(sql.Identifier, COLUMNS))
        kept = [row for row in rows if row.article is not None]
        gone = [row.key for row in rows if row.article is None]
        try:
            with self._connected().transaction(), self._connection.cursor() as cursor:
                if gone:
                    cursor.execute(sql.SQL("DELETE FROM {} WHERE key = ANY(%s)").format(self._table), (gone,))
                if not kept:
                    return
                # COPY takes many rows in one command, but cannot update. So it fills a temporary table first.
                cursor.execute(
                    sql.SQL(
                        "CREATE TEMP TABLE IF NOT EXISTS newsbot_batch (LIKE {}) ON COMMIT DELETE ROWS"
                    ).format(self._table)
                )
                with cursor.copy(sql.SQL("COPY newsbot_batch ({}) FROM STDIN").format(names)) as copy:
                    for row in kept:
                        copy.write_row(_values(row))
                changes = sql.SQL(", ").join(
                    sql.SQL("{0} = EXCLUDED.{0}").format(sql.Identifier(name))
                    for name in COLUMNS
                    if name != "key"
                )
                cursor.execute(
                    sql.SQL(
                        "INSERT INTO {0} AS old ({1}) SELECT {1} FROM newsbot_batch ON CONFLICT (key)"
                        " DO UPDATE SET {2} WHERE EXCLUDED.version >= old.version"
                        # An article that was removed and is stored again begins with version 1.
                        " OR EXCLUDED.fetched_at >= old.fetched_at"
                    ).format(self._table, names, changes)
                )
        except (self._psycopg.DataError, self._psycopg.IntegrityError) as error:
            raise RowsRefused(self._fault(error)) from None
        except self._psycopg.Error as error:
            self.close()
            raise SinkError(self._fault(error)) from None

    def close(self) -> None:
        """End the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _connected(self) -> Any:
        if self._connection is None or self._connection.closed:
            self._connection = self._psycopg.connect(self._address, autocommit=True)
            sql = self._psycopg.sql
            columns = sql.SQL(", ").join(
                sql.SQL("{} {}").format(sql.Identifier(name), sql.SQL(kind)) for name, kind in COLUMNS.items()
            )
            self._connection.execute(
                sql.SQL("CREATE TABLE IF NOT EXISTS {} ({})").format(self._table, columns)
            )
        return self._connection

    @staticmethod
    def _fault(error: Exception) -> str:
        return f"PostgreSQL: {next(iter(str(error).splitlines()), type(error).__name__)}"


def _values(row: Row) -> list[Any]:
    article = {"key": row.key, **row.document()}
    plain = [article.get(name) for name in COLUMNS if name != "article"]
    texts = [one.translate(_NO_ZERO) if isinstance(one, str) else one for one in plain]
    # PostgreSQL has no character with code 0, and no lone surrogates.
    written = json.dumps({**(row.article or {}), "text": None}, ensure_ascii=False)
    content = _ESCAPED.sub(r"\1", written)
    clean = [one.encode("utf-8", "replace").decode() if isinstance(one, str) else one for one in texts]
    return [*clean, content.encode("utf-8", "replace").decode()]
