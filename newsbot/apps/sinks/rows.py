"""The rows that are sent to targets, and the interface of targets."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

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
