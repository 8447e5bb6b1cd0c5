"""The rows that are sent to targets, and the interface of targets.

One target writes articles as Parquet files in partitions by day, into a folder or an S3-compatible object
store. Files are only added: ``day=2026-11-28/<batch>.parquet``. Each row has the key, the version and
``removed``. The current state of an article is its row with the highest ``change``, which grows with each
batch. A batch that is written again replaces its own file.
"""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol
from urllib.parse import unquote, urlsplit

from newsbot.apps.optional import load_optional
from newsbot.apps.outgoing import object_store
from newsbot.clock import iso
from newsbot.errors import UserError

RESPONSE_TIMEOUT = 30.0
"""Seconds to wait for a response of a target."""


class SinkError(UserError):
    """The target cannot take the rows now. The text says why, without secrets."""


class RowsRefused(SinkError):
    """The target refuses these rows, and will refuse them again. Others may be accepted."""


@dataclass(frozen=True, slots=True)
class Row:
    """The current state of one article, or its removal."""

    key: str
    """Fingerprint of the canonical URL, in hexadecimal digits. It never changes."""
    version: int = 0
    """Version of the article; 0 if it was removed."""
    article: dict[str, Any] | None = None
    """The fields of the article as JSON values; None if it was removed, or if the sink no longer has it."""
    source: str = ""
    """The site of the article, even if the fields do not have it."""
    fetched: datetime | None = None
    published: datetime | None = None

    def document(self) -> dict[str, Any]:
        """Return the fields with the version and the time of fetching, by which versions are compared."""
        found = {**(self.article or {}), "version": self.version}
        return found if self.fetched is None else {**found, "fetched_at": iso(self.fetched)}

    def plain(self) -> dict[str, Any]:
        """Return the row as one JSON object."""
        if self.article is None:
            return {"key": self.key, "removed": True}
        return {"key": self.key, **self.article, "version": self.version}


class Target(Protocol):
    """A system that takes articles. A row that is written twice must have the effect of one write."""

    drops_known_batches: bool
    """True if the system ignores a batch whose id it knows. A rewind then gives batches new ids."""

    def check(self) -> None:
        """Connect, and create what is missing. Raises :class:`SinkError`."""

    def write(self, rows: Sequence[Row], batch: str) -> None:
        """Write rows, each key once. They are durable afterwards.

        ``batch`` identifies the batch; it is the same if the batch is written again. Raises
        :class:`SinkError`; all rows are then written again later.
        """

    def close(self) -> None:
        """End the connection."""


def latest(rows: Iterable[Row]) -> list[Row]:
    """Return the last row of each key, in order."""
    found: dict[str, Row] = {}
    for row in rows:
        found.pop(row.key, None)
        found[row.key] = row
    return list(found.values())


def as_json(value: Any) -> bytes:
    """Return JSON in UTF-8. A lone surrogate in a text is replaced."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


_TEXTS = (
    "url",
    "canonical_url",
    "source",
    "title",
    "text",
    "summary",
    "language",
    "section",
    "image",
    "story",
)
_TIMES = ("published_at", "modified_at", "discovered_at", "fetched_at")


class FilesTarget:
    """``address`` is ``file:///folder`` or ``s3://key:secret@bucket/folder?region=…&endpoint_override=…``."""

    drops_known_batches = False

    def __init__(self, address: str) -> None:
        self._arrow = load_optional("pyarrow", "parquet", "this sink")
        self._parquet = load_optional("pyarrow.parquet", "parquet", "this sink")
        self._fs = load_optional("pyarrow.fs", "parquet", "this sink")
        parts = urlsplit(address)
        self._is_local = parts.scheme == "file"
        if self._is_local:
            if parts.netloc or not parts.path.startswith("/"):
                raise SinkError(f"{address}: the address of a folder has the form file:///folder")
            self._files: Any = self._fs.LocalFileSystem()
            self._folder = unquote(parts.path)
        else:
            self._files, self._folder = object_store(address, "this sink", patience=RESPONSE_TIMEOUT)
        self._schema = self._arrow.schema(
            [
                ("key", self._arrow.string()),
                ("version", self._arrow.int32()),
                ("removed", self._arrow.bool_()),
                ("change", self._arrow.int64()),
                *((name, self._arrow.string()) for name in _TEXTS),
                *((name, self._arrow.timestamp("us", tz="UTC")) for name in _TIMES),
                ("authors", self._arrow.list_(self._arrow.string())),
                ("tags", self._arrow.list_(self._arrow.string())),
                ("article", self._arrow.string()),  # all fields, as JSON
            ]
        )

    def check(self) -> None:
        """Create the folder if it is missing. A bucket must exist."""
        try:
            if self._is_local:
                self._files.create_dir(self._folder, recursive=True)
            else:
                bucket = self._folder.partition("/")[0]
                if self._files.get_file_info(bucket).type == self._fs.FileType.NotFound:
                    raise SinkError(f"{self._folder}: the bucket {bucket} does not exist")
        except (self._arrow.ArrowException, OSError) as error:
            raise SinkError(f"{self._folder}: {error}") from None

    def write(self, rows: Sequence[Row], batch: str) -> None:
        """Write one file for each day of publication."""
        days: dict[str, list[dict[str, Any]]] = defaultdict(list)
        number = time.time_ns()
        for row in rows:
            days[_day(row)].append(self._values(row, number))
        try:
            for day, values in days.items():
                table = self._arrow.Table.from_pylist(values, schema=self._schema)
                folder = f"{self._folder}/day={day}"
                path = f"{folder}/{batch}.parquet"
                if self._is_local:
                    self._files.create_dir(folder, recursive=True)
                    # A reader must not see half of a file, even if the process is killed. Readers leave out
                    # names with a dot. In an object store, a file appears as a whole.
                    part = f"{folder}/.{batch}.part"
                    self._parquet.write_table(table, part, filesystem=self._files)
                    self._files.move(part, path)
                else:
                    self._parquet.write_table(table, path, filesystem=self._files)
        except (self._arrow.ArrowException, OSError) as error:
            raise SinkError(f"{self._folder}: {error}") from None

    def close(self) -> None:
        """Do nothing."""

    def _values(self, row: Row, number: int) -> dict[str, Any]:
        article: Mapping[str, Any] = row.article or {}
        return {
            "key": row.key,
            "version": row.version,
            "removed": row.article is None,
            "change": number,
            **{name: _clean(article.get(name)) for name in _TEXTS},
            **{name: _moment(article.get(name)) for name in _TIMES},
            "authors": [_clean(one) for one in article.get("authors") or ()],
            "tags": [_clean(one) for one in article.get("tags") or ()],
            "article": None if row.article is None else as_json(row.article).decode(),
        }


def _day(row: Row) -> str:
    moment = row.published or row.fetched
    return "unknown" if moment is None else moment.astimezone(UTC).strftime("%Y-%m-%d")


def _moment(text: Any) -> datetime | None:
    return datetime.fromisoformat(text).astimezone(UTC) if text else None


def _clean(text: Any) -> str | None:
    return None if text is None else str(text).encode("utf-8", "replace").decode()
