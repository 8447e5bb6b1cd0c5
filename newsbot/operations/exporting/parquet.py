"""Writes articles as Apache Parquet with types: times are UTC timestamps, lists are lists."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from newsbot.items import Article

BATCH = 1000
"""Number of articles in one row group (about 5 MB of text). A row group is kept in memory until it is
written."""

_TIME = pa.timestamp("us", tz="UTC")
_TEXTS = pa.list_(pa.string())

SCHEMA = pa.schema(
    [
        pa.field("url", pa.string(), nullable=False),
        pa.field("canonical_url", pa.string(), nullable=False),
        pa.field("source", pa.string(), nullable=False),
        pa.field("title", pa.string(), nullable=False),
        pa.field("text", pa.string(), nullable=False),
        ("summary", pa.string()),
        ("authors", _TEXTS),
        ("agencies", _TEXTS),
        ("published_at", _TIME),
        ("published_source", pa.string()),
        ("published_precision", pa.string()),
        ("modified_at", _TIME),
        ("language", pa.string()),
        ("section", pa.string()),
        ("tags", _TEXTS),
        ("image", pa.string()),
        ("structure", pa.map_(pa.string(), pa.list_(pa.int32()))),
        ("form", pa.string()),
        ("partial", pa.bool_()),
        ("discovered_at", _TIME),
        ("fetched_at", _TIME),
        ("content_hash", pa.string()),
        ("story", pa.string()),
        ("relation", pa.string()),
        ("similarity", pa.float64()),
        ("duplicate_of", pa.string()),
        ("derived_from", _TEXTS),
        ("version", pa.int32()),
        ("rights", pa.map_(pa.string(), pa.string())),
        ("extraction", pa.map_(pa.string(), pa.string())),
    ]
)


class ParquetWriter:
    """Writes one row group every :data:`BATCH` articles, compressed with zstd."""

    def __init__(self, stream: BinaryIO, *, name: str = "") -> None:
        del name
        self._file = pq.ParquetWriter(stream, SCHEMA, compression="zstd")
        self._rows: list[dict[str, Any]] = []

    def write(self, article: Article) -> None:
        """Take one article. It is written when its row group is complete."""
        row = asdict(article)
        # pyarrow takes maps as lists of pairs.
        row["structure"] = list(article.structure.items())
        row["rights"] = list(article.rights.items())
        row["extraction"] = list(article.extraction.items())
        self._rows.append(row)
        if len(self._rows) >= BATCH:
            self._flush()

    def close(self) -> None:
        """Write the last row group and the footer."""
        if self._rows:
            self._flush()
        self._file.close()

    def _flush(self) -> None:
        self._file.write_batch(pa.RecordBatch.from_pylist(self._rows, schema=SCHEMA))
        self._rows.clear()
