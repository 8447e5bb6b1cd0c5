"""Articles as text: one JSON object a line (UTF-8), or CSV (RFC 4180, UTF-8).

In CSV a list or a mapping is JSON in its cell, and what is not known is empty, so that reading back
gives what was written.
"""

from __future__ import annotations

import csv
import json
from dataclasses import fields
from typing import Any, BinaryIO

from newsbot.items import Article

COLUMNS = tuple(field.name for field in fields(Article))


class JsonLinesWriter:
    """One article a line."""

    def __init__(self, stream: BinaryIO, *, name: str = "") -> None:
        del name  # the same for every file
        self._stream = stream

    def write(self, article: Article) -> None:
        """Write one line."""
        self._stream.write(json_bytes(article.as_row()) + b"\n")

    def close(self) -> None:
        """Nothing is left to write."""


class CsvWriter:
    """A header and one row an article."""

    def __init__(self, stream: BinaryIO, *, name: str = "") -> None:
        del name
        self._csv = csv.writer(_Utf8(stream))
        self._csv.writerow(COLUMNS)

    def write(self, article: Article) -> None:
        """Write one row."""
        row = article.as_row()
        self._csv.writerow([_cell(row[column]) for column in COLUMNS])

    def close(self) -> None:
        """Nothing is left to write."""


class _Utf8:
    """What ``csv`` writes to: text in, bytes out. Closes nothing (the stream may be stdout)."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        return self._stream.write(text.encode("utf-8", "backslashreplace"))


def json_bytes(value: Any) -> bytes:
    """Return JSON in UTF-8; a lone surrogate, which UTF-8 cannot hold, becomes its JSON escape."""
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "backslashreplace")


def _cell(value: Any) -> Any:
    if isinstance(value, list | dict):
        return json.dumps(value, ensure_ascii=False) if value else ""
    return value
