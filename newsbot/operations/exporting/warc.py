"""Articles as WARC 1.1 (ISO 28500:2017), for the tools of web archives.

What is written are ``conversion`` records: the article as JSON, made from the page that lay at
``WARC-Target-URI`` at ``WARC-Date``. The pages themselves are kept only where NEWSBOT_WARC_DIR says so,
in files of their own (:mod:`newsbot.crawl.archive`).
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import BinaryIO
from uuid import NAMESPACE_URL, uuid4, uuid5

from newsbot import __version__
from newsbot.items import Article
from newsbot.operations.exporting.text import json_bytes
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
