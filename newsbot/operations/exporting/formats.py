"""The formats that articles can be exported in, and how to get the writer of one.

A writer takes articles one by one and holds at most one batch of them in memory. What only one
format needs (pyarrow) is imported when that format is asked for.
"""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO, Protocol, cast
from uuid import NAMESPACE_URL, uuid4, uuid5

from newsbot import __version__
from newsbot.errors import UserError
from newsbot.items import Article
from newsbot.warc.records import packed, to_record, warc_date


class WarcWriter:
    """Writes a ``warcinfo`` record, then one ``conversion`` record an article; gzip a record.

    A file named ``.warc`` (without ``.gz``) is not compressed.
    """

    def __init__(self, stream: BinaryIO, *, name: str = "") -> None:
        self._stream = stream
        self._compress = not name.lower().endswith(".warc")
        about = (
            f"software: newsbot/{__version__}\r\nformat: WARC File Format 1.1\r\n"
            "description: news articles extracted from pages; each record is one article in JSON\r\n"
        )
        self._write(
            about.encode(),
            {
                "WARC-Type": "warcinfo",
                "WARC-Record-ID": uuid4().urn,
                "WARC-Date": warc_date(datetime.now(UTC)),
                "Content-Type": "application/warc-fields",
            },
        )

    def write(self, article: Article) -> None:
        """Write one record."""
        # The same version of the same article has the same id in every export.
        identity = uuid5(NAMESPACE_URL, f"{article.canonical_url}#{article.version}-{article.content_hash}")
        self._write(
            json_bytes(article.as_row()),
            {
                "WARC-Type": "conversion",
                "WARC-Record-ID": identity.urn,
                "WARC-Date": warc_date(article.fetched_at or article.discovered_at or datetime.now(UTC)),
                "WARC-Target-URI": article.canonical_url,  # ASCII, as a header needs
                "Content-Type": "application/json",
            },
        )

    def close(self) -> None:
        """Nothing is left to write."""

    def _write(self, block: bytes, headers: dict[str, str]) -> None:
        record = to_record(block, headers)
        self._stream.write(packed(record) if self._compress else record)


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


class Writer(Protocol):
    """Writes articles to the stream it was made for."""

    def write(self, article: Article) -> None:
        """Take one article."""

    def close(self) -> None:
        """Write what is left and the end of the file; the stream stays open."""


class WriterType(Protocol):
    """Makes a writer for a stream."""

    def __call__(self, stream: BinaryIO, *, name: str) -> Writer:
        """``name`` is the file's name, or empty for a stream without one."""


@dataclass(frozen=True, slots=True)
class Format:
    """One format: where its writer is, and the package it needs beyond newsbot's own."""

    name: str
    module: str
    writer: str
    suffixes: tuple[str, ...]
    needs: str | None = None
    binary: bool = False


FORMATS = {
    format_.name: format_
    for format_ in (
        Format("jsonl", "newsbot.operations.exporting.formats", "JsonLinesWriter", (".jsonl", ".ndjson")),
        Format("csv", "newsbot.operations.exporting.formats", "CsvWriter", (".csv",)),
        Format(
            "parquet",
            "newsbot.operations.exporting.parquet",
            "ParquetWriter",
            (".parquet",),
            "pyarrow",
            binary=True,
        ),
        Format(
            "warc", "newsbot.operations.exporting.formats", "WarcWriter", (".warc.gz", ".warc"), binary=True
        ),
    )
}


def format_of(path: Path | None) -> Format:
    """Return the format that the file's name says, else JSON lines."""
    for format_ in FORMATS.values():
        if path is not None and path.name.lower().endswith(format_.suffixes):
            return format_
    return FORMATS["jsonl"]


def writer_of(format_: Format) -> WriterType:
    """Return what makes writers of the format.

    Raises :class:`UserError` that says what to install when the format's package is missing.
    """
    try:
        module = import_module(format_.module)
    except ModuleNotFoundError as error:
        if format_.needs is None or (error.name or "").partition(".")[0] != format_.needs:
            raise
        raise UserError(
            f"the format {format_.name} needs {format_.needs}: pip install {format_.needs}"
        ) from error
    return cast("WriterType", getattr(module, format_.writer))
