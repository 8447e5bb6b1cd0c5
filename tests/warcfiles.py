"""WARC files written by warcio."""

from __future__ import annotations

import io
from collections.abc import Iterable
from contextlib import closing

from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from newsbot.apps.archive.writer import Exchange, packed_records


def packed_exchange(exchange: Exchange) -> bytes:
    """Return the records of an exchange, one after the other."""
    return b"".join(packed_records(exchange))


Headers = Iterable[tuple[str, str]]


def warc_file(
    pages: Iterable[tuple[str, bytes, Headers]],
    *,
    packed: bool = True,
    version: str = "1.1",
    status: str = "200 OK",
) -> bytes:
    """Return a file with a ``warcinfo`` record and one response for each URL with body and more headers."""
    stream = io.BytesIO()
    writer = WARCWriter(stream, gzip=packed, warc_version=f"WARC/{version}")
    records = [writer.create_warcinfo_record("a.warc", {"software": "warcio"})]
    for url, body, more in pages:
        headers = [("Content-Type", "text/html; charset=utf-8"), *more]
        records.append(
            writer.create_warc_record(
                url,
                "response",
                payload=io.BytesIO(body),
                http_headers=StatusAndHeaders(status, headers, protocol="HTTP/1.1"),
                warc_headers_dict={"WARC-Date": "2026-11-20T10:00:00Z"},
            )
        )
    for record in records:
        writer.write_record(record)
        with closing(record.raw_stream):  # a temporary file now
            pass
    return stream.getvalue()
