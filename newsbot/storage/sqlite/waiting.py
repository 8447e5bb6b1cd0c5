"""Stores waiting links in a table with one row for each link."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from newsbot.connections.sqlite import select_in
from newsbot.pages.text.words import clean
from newsbot.storage.sqlite.connection import Repository
from newsbot.storage.waiting import WaitingLink, WaitingLinks

_SAVE = (
    "INSERT INTO waiting_link (fingerprint, source, family, at, priority, body) VALUES (?, ?, ?, ?, ?, ?)"
    " ON CONFLICT (fingerprint) DO NOTHING"
)
_TRIM = (
    "DELETE FROM waiting_link WHERE fingerprint IN (SELECT fingerprint FROM waiting_link"
    " WHERE source = ? AND family = ? ORDER BY at DESC, fingerprint LIMIT -1 OFFSET ?)"
)
_OF_FAMILY = (
    "SELECT * FROM waiting_link WHERE source = ? AND family = ?"
    " ORDER BY priority DESC, at DESC, fingerprint LIMIT ?"
)


class SqliteWaitingLinks(Repository, WaitingLinks):
    """:class:`newsbot.storage.waiting.WaitingLinks` in the data file."""

    def save(self, links: Sequence[WaitingLink], most: int) -> None:
        rows = [
            (one.fingerprint, clean(one.source), clean(one.family), one.at, one.priority, clean(one.body))
            for one in links
        ]
        with self.file.writing() as database:
            database.executemany(_SAVE, rows)
            families = {(source, family) for _, source, family, *_ in rows}
            database.executemany(_TRIM, [(*family, most) for family in sorted(families)])

    def counts(self, site: str) -> dict[str, int]:
        query = "SELECT family, count(*) FROM waiting_link WHERE source = ? GROUP BY family"
        with self.file.reading() as database:
            return {str(family): int(number) for family, number in database.execute(query, (clean(site),))}

    def of_family(self, site: str, family: str, limit: int) -> list[WaitingLink]:
        with self.file.reading() as database:
            rows = database.execute(_OF_FAMILY, (clean(site), clean(family), limit))
            return [_link(row) for row in rows]

    def get(self, fingerprints: Sequence[bytes]) -> dict[bytes, WaitingLink]:
        with self.file.reading() as database:
            rows = select_in(database, "SELECT * FROM waiting_link WHERE fingerprint IN", fingerprints)
            return {row["fingerprint"]: _link(row) for row in rows}

    def forget(self, fingerprints: Sequence[bytes]) -> int:
        with self.file.writing() as database:
            keys = [(key,) for key in fingerprints]
            return database.executemany("DELETE FROM waiting_link WHERE fingerprint = ?", keys).rowcount

    def forget_site(self, site: str) -> int:
        with self.file.writing() as database:
            return database.execute("DELETE FROM waiting_link WHERE source = ?", (clean(site),)).rowcount


def _link(row: sqlite3.Row) -> WaitingLink:
    return WaitingLink(
        fingerprint=row["fingerprint"],
        source=row["source"],
        family=row["family"],
        at=row["at"],
        priority=row["priority"],
        body=row["body"],
    )
