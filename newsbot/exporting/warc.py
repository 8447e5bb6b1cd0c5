"""Articles as WARC 1.1 (ISO 28500:2017), for the tools of web archives.

What is written are ``conversion`` records: the article as JSON, made from the page that lay at
``WARC-Target-URI`` at ``WARC-Date``. The pages themselves are not kept, so there are no ``response``
records.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
from datetime import UTC, datetime
from typing import BinaryIO
from uuid import NAMESPACE_URL, uuid4, uuid5

from newsbot import __version__
from newsbot.exporting.text import json_bytes
from newsbot.items import Article


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
                "WARC-Date": _date(datetime.now(UTC)),
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
                "WARC-Date": _date(article.fetched_at or article.discovered_at or datetime.now(UTC)),
                "WARC-Target-URI": article.canonical_url,  # ASCII, as a header needs
                "Content-Type": "application/json",
            },
        )

    def close(self) -> None:
        """Nothing is left to write."""

    def _write(self, block: bytes, headers: dict[str, str]) -> None:
        record = to_record(block, headers)
        self._stream.write(gzip.compress(record, 6) if self._compress else record)


def to_record(block: bytes, headers: dict[str, str]) -> bytes:
    """Return one record (section 4 of the standard); length and digest of the block are added."""
    digest = base64.b32encode(hashlib.sha1(block, usedforsecurity=False).digest()).decode()
    lines = {name: f"<{value}>" if value.startswith("urn:") else value for name, value in headers.items()} | {
        "WARC-Block-Digest": f"sha1:{digest}",
        "Content-Length": str(len(block)),
    }
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    return f"WARC/1.1\r\n{head}\r\n".encode() + block + b"\r\n\r\n"


def _date(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
