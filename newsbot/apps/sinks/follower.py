"""Sends the changes of articles to one sink (:class:`newsbot.apps.followers.following.Follower`)."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from hashlib import blake2b
from os import SEEK_END
from pathlib import Path
from typing import BinaryIO

from newsbot.apps.followers.following import Follower
from newsbot.apps.search.labels import NO_LABELS, Labels, open_labels
from newsbot.apps.search.matching import matches
from newsbot.apps.search.query import Tagged
from newsbot.apps.sinks.rows import Row, RowsRefused, SinkError, Target, as_json, latest
from newsbot.apps.sinks.rules import Sink, read_sinks
from newsbot.backends import data_folder, present_rules
from newsbot.cli.program import PROGRAM
from newsbot.clock import iso, system_clock, utc
from newsbot.config.settings import SettingsLike
from newsbot.items import Article
from newsbot.pages.rights import opted_out
from newsbot.storage.articles import Changes

logger = logging.getLogger(__name__)

PREFIX = "sink:"
"""Beginning of the names of followers that are sinks."""
MAX_REFUSED = 10 * 2**20
"""Size in bytes after which a file with refused rows is full."""


class SinkFollower(Follower):
    """Makes rows of changes, and writes them to the target.

    An article that does not match the query, or whose rights forbid it, is sent as removed, because an
    earlier version may have been sent.
    """

    def __init__(self, sink: Sink, tagged: Tagged, refused: Path, labels: Labels = NO_LABELS) -> None:
        """``refused`` is the file to which rows are appended that the target refuses."""
        self.sink, self._refused = sink, refused
        self._tagged, self._labels = tagged, labels
        self._target: Target | None = None

    def take(self, changes: Changes) -> None:
        """Write changes. Rows that the target refuses for ever are logged and left out."""
        rows = latest(self._rows(changes))
        if not rows:
            return
        if self._target is None:
            self._target = self.sink.open()
            try:
                self._target.check()
            except Exception:
                self.close()  # the next attempt checks again, and creates a missing table or index
                raise
        # After a rewind, a batch with the same end may have fewer rows. It must not replace the first one.
        what = [(row.key, row.version, row.article is None) for row in rows]
        named = f"{self.sink.name} {changes.cursor} {what}"
        if changes.rewound and self._target.drops_known_batches:
            named += f" {changes.rewound}"
        batch = blake2b(named.encode(), digest_size=12).hexdigest()
        try:
            try:
                self._target.write(rows, batch)
            except RowsRefused:
                self._write_each(self._target, rows, batch)
        except Exception:
            self.close()  # for example, the index was deleted
            raise

    def close(self) -> None:
        """End the connection to the target."""
        if self._target is not None:
            self._target.close()
            self._target = None

    def _rows(self, changes: Changes) -> list[Row]:
        articles = {one.fingerprint: one.article for one in changes.found if one.article is not None}
        wanted = set(articles)
        if self.sink.query:
            wanted = matches(articles, {"": self.sink.query}, self._tagged, self._labels)[""]
        return [self._row(one.fingerprint, one.article, wanted) for one in changes.found]

    def _row(self, key: bytes, article: Article | None, wanted: set[bytes]) -> Row:
        if (
            article is None
            or key not in wanted
            or (self.sink.without_ai_opt_outs and opted_out(article.rights))
        ):
            return Row(key.hex())
        plain = article.to_dict()
        if self.sink.fields:
            plain = {name: plain.get(name) for name in self.sink.fields}
        return Row(
            key.hex(), article.version, plain, article.source, article.fetched_at, article.published_at
        )

    def _write_each(self, target: Target, rows: Sequence[Row], batch: str) -> None:
        """Write rows one by one, after the target has refused them together."""
        refused, fault = [], ""
        for number, row in enumerate(rows):
            try:
                target.write([row], f"{batch}-{number}")
            except RowsRefused as error:
                refused.append(row)
                fault = str(error)
        if len(refused) == len(rows) > 1:  # the address or the table is wrong, not the rows
            raise SinkError(fault)
        if refused:
            logger.error(
                "sink=%s refused=%d fault=%s; see: %s sinks refused %s",
                *(self.sink.name, len(refused), fault, PROGRAM, self.sink.name),
            )
            self._keep(refused, fault)

    def _keep(self, rows: Sequence[Row], fault: str) -> None:
        """Append refused rows to the file. A file that is full becomes ``.old`` and replaces the last one."""
        self._refused.parent.mkdir(parents=True, exist_ok=True)
        if self._refused.exists() and self._refused.stat().st_size > MAX_REFUSED:
            self._refused.replace(self._refused.with_suffix(".old"))
        with self._refused.open("a+b") as file:
            if file.tell() and not _ends_a_line(file):  # a killed process has written a part of a line
                file.write(b"\n")
            for row in rows:
                file.write(as_json({"at": iso(utc(system_clock())), "fault": fault, **row.plain()}) + b"\n")


def _ends_a_line(file: BinaryIO) -> bool:
    file.seek(-1, SEEK_END)
    return file.read(1) == b"\n"


def followers(settings: SettingsLike) -> dict[str, Follower]:
    """Return the sinks of ``sinks.yaml`` as followers. Raises :class:`newsbot.errors.UserError`."""
    present = present_rules(settings)

    def tagged(tag: str) -> Sequence[str]:
        return present.get().tagged(tag)

    return {
        f"{PREFIX}{sink.name}": SinkFollower(
            sink, tagged, refused_file(settings, sink.name), open_labels(settings)
        )
        for sink in read_sinks(settings)
    }


def refused_file(settings: SettingsLike, name: str) -> Path:
    """Return the file with the rows that the target of a sink has refused."""
    return data_folder(settings) / "sinks" / f"{name}-refused.jsonl"
