"""Writes the archived pages of articles as a web archive that browsers can replay.

Source: WACZ 1.1.1 (https://specs.webrecorder.net/wacz/1.1.1/). The ZIP file has the WARC records, their index
(CDXJ), a list of the pages, and a description with the digests of these files.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, BinaryIO
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

from newsbot import __version__
from newsbot.apps.archive.cdxj import MAX_BODY, Place, cdxj_line, latest, unindexed
from newsbot.apps.archive.writer import packed_info
from newsbot.items import Article

logger = logging.getLogger(__name__)

VERSION = "1.1.1"
_WARC, _INDEX, _PAGES = "archive/data.warc.gz", "indexes/index.cdx", "pages/pages.jsonl"


def write_wacz(stream: BinaryIO, articles: Iterable[Article], *, folder: Path, name: str = "") -> None:
    """Write the archived pages of articles. ``folder`` has the WARC files (NEWSBOT_WARC_DIR).

    Articles without an archived page are left out, and their number is logged.
    """
    lines: list[str] = []
    pages = [_json({"format": "json-pages-1.0", "id": "pages", "title": "Articles"})]
    resources, missing = [], 0
    with ZipFile(stream, "w") as wacz:
        with wacz.open(_entry(_WARC, ZIP_STORED), "w", force_zip64=True) as target:
            warc = _Measured(target)
            warc.write(packed_info(name or "data.warc.gz", "description: archived pages of articles\r\n"))
            for article, place, record in _records(folder, articles):
                if place is None:
                    missing += 1
                    continue
                moved = {"offset": str(warc.size), "length": str(len(record)), "filename": "data.warc.gz"}
                lines.append(cdxj_line(place.url, place.moment, {**place.fields, **moved}))
                warc.write(record)
                moment = datetime.strptime(place.moment, "%Y%m%d%H%M%S").replace(tzinfo=UTC)
                row = {"url": place.url, "ts": f"{moment:%Y-%m-%dT%H:%M:%SZ}", "title": article.title}
                pages.append(_json({"id": place.moment + str(len(pages)), **row, "text": article.text}))
        resources.append(warc.resource(_WARC))
        for path, rows in ((_INDEX, sorted(set(lines))), (_PAGES, pages)):
            with wacz.open(_entry(path, ZIP_DEFLATED), "w", force_zip64=True) as target:
                file = _Measured(target)
                for line in rows:
                    file.write(f"{line}\n".encode("utf-8", "replace"))
            resources.append(file.resource(path))
        package = {
            "profile": "data-package",
            "wacz_version": VERSION,
            "software": f"newsbot/{__version__}",
            "created": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
            "resources": resources,
        }
        body = _json(package).encode()
        digest = {"path": "datapackage.json", "hash": f"sha256:{hashlib.sha256(body).hexdigest()}"}
        wacz.writestr("datapackage.json", body, ZIP_DEFLATED)
        wacz.writestr("datapackage-digest.json", _json(digest), ZIP_DEFLATED)
    if missing:
        logger.warning("articles without an archived page articles=%d folder=%s", missing, folder)


def _records(folder: Path, articles: Iterable[Article]) -> Iterator[tuple[Article, Place | None, bytes]]:
    """Yield each article with the place and the bytes of the record of its page; None if there is none."""
    known = unindexed(folder)
    written: set[tuple[Path, int]] = set()
    for article in articles:
        urls = dict.fromkeys((article.fetched_url, article.url, article.canonical_url))
        place = next((one for url in urls if (one := latest(folder, url, known)) is not None), None)
        length = 0 if place is None else int(place.fields.get("length", 0))
        if place is None or not 0 < length <= MAX_BODY:
            yield article, None, b""
        elif (place.path, place.offset) not in written:
            written.add((place.path, place.offset))
            with place.path.open("rb") as file:
                file.seek(place.offset)
                yield article, place, file.read(length)


@dataclass(slots=True)
class _Measured:
    """Writes to a file, and measures its size and its digest."""

    target: IO[bytes]
    size: int = 0
    hash: Any = field(default_factory=hashlib.sha256)

    def write(self, data: bytes) -> None:
        self.target.write(data)
        self.size += len(data)
        self.hash.update(data)

    def resource(self, path: str) -> dict[str, Any]:
        return {
            "name": path.rpartition("/")[2],
            "path": path,
            "hash": f"sha256:{self.hash.hexdigest()}",
            "bytes": self.size,
        }


def _entry(path: str, compression: int) -> ZipInfo:
    entry = ZipInfo(path, datetime.now(UTC).timetuple()[:6])
    entry.compress_type = compression
    return entry


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
