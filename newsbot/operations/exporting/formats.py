"""The formats that articles can be exported in, and how to get the writer of one.

A writer takes articles one by one and holds at most one batch of them in memory. What only one
format needs (pyarrow) is imported when that format is asked for.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import BinaryIO, Protocol, cast

from newsbot.errors import UserError
from newsbot.items import Article


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
        Format("jsonl", "newsbot.operations.exporting.text", "JsonLinesWriter", (".jsonl", ".ndjson")),
        Format("csv", "newsbot.operations.exporting.text", "CsvWriter", (".csv",)),
        Format(
            "parquet",
            "newsbot.operations.exporting.parquet",
            "ParquetWriter",
            (".parquet",),
            "pyarrow",
            binary=True,
        ),
        Format("warc", "newsbot.operations.exporting.warc", "WarcWriter", (".warc.gz", ".warc"), binary=True),
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
