"""Writes articles as Apache Parquet with types: times are UTC timestamps, lists are lists."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import MISSING, asdict, fields
from datetime import datetime
from typing import Any, BinaryIO, Literal, get_args, get_origin, get_type_hints, is_typeddict

import pyarrow as pa
import pyarrow.parquet as pq

from newsbot.items import Article, batched

BATCH = 1000
"""Number of articles in one row group (about 5 MB of text). A row group is kept in memory until it is
written."""

_TYPES = {
    str: pa.string(),
    int: pa.int32(),
    float: pa.float64(),
    bool: pa.bool_(),
    datetime: pa.timestamp("us", tz="UTC"),
}


def _type(kind: Any) -> pa.DataType:
    """Return the type of a column for the type of a field."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is list:
        return pa.list_(_type(arguments[0]))
    if origin is dict:
        return pa.map_(*map(_type, arguments))
    if origin is Literal:
        return pa.string()
    if is_typeddict(kind):
        return pa.struct([pa.field(name, _type(hint)) for name, hint in get_type_hints(kind).items()])
    return _TYPES[kind] if origin is None else _type(arguments[0])  # X | None has the type of X


_HINTS = get_type_hints(Article)
SCHEMA = pa.schema(
    # fields without a default are never empty
    pa.field(
        one.name, _type(_HINTS[one.name]), nullable=(one.default, one.default_factory) != (MISSING, MISSING)
    )
    for one in fields(Article)
)


def write_parquet(stream: BinaryIO, articles: Iterable[Article], *, name: str = "") -> None:  # noqa: ARG001
    """Write one row group every :data:`BATCH` articles, compressed with zstd."""
    with pq.ParquetWriter(stream, SCHEMA, compression="zstd") as file:
        for some in batched(articles, BATCH):
            file.write_batch(pa.RecordBatch.from_pylist(list(map(_row, some)), schema=SCHEMA))


def _row(article: Article) -> dict[str, Any]:
    # pyarrow expects a map as a list of pairs.
    maps = {name: list(getattr(article, name).items()) for name in ("structure", "rights", "extraction")}
    return asdict(article) | maps
