"""The index of archived pages, and the search for the archived page of a URL.

Each finished WARC file has an index with the same name and the suffix ``.cdxj``: a sorted line for each
response, with the place of its record. Source: CDXJ 0.1.0 (https://specs.webrecorder.net/cdxj/0.1.0/). The
keys are URLs in the form SURT (``org,example)/path``), in lower case.
"""

from __future__ import annotations

import json
import mmap
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from newsbot.apps.archive.reader import Page, WarcFault, read_records
from newsbot.apps.archive.writer import OPEN, SUFFIX, Exchange, digest, warc_date

INDEX = ".cdxj"
MAX_BODY = 16 * 2**20
"""Maximum size in bytes of a page that is read from the archive."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where the archived response of a URL is."""

    url: str
    moment: str
    """Time of the request as 14 digits, in UTC."""
    status: int
    path: Path
    offset: int
    fields: Mapping[str, str]
    """All fields of the line."""


def surt(url: str) -> str:
    """Return a URL as a key: the host with its labels reversed, then path and query, in lower case."""
    parts = urlsplit(url)
    host = ",".join(reversed((parts.hostname or "").removeprefix("www.").split(".")))
    port = f":{parts.port}" if parts.port and parts.port not in (80, 443) else ""
    query = f"?{parts.query}" if parts.query else ""
    return f"{host}{port}){parts.path or '/'}{query}".lower()


def line_of(exchange: Exchange, filename: str, offset: int, length: int) -> str:
    """Return the line of a response whose record has this place in a file."""
    headers = {name.lower(): value for name, value in exchange.answered}
    mime = headers.get(b"content-type", b"").decode("latin-1").partition(";")[0].strip() or "unk"
    fields = {"mime": mime, "status": str(exchange.status), "digest": digest(exchange.body)}
    place = {"length": str(length), "offset": str(offset), "filename": filename}
    return cdxj_line(exchange.url, _digits(warc_date(exchange.at)), fields | place)


def write_index(path: Path, lines: Iterable[str]) -> None:
    """Write the index of a finished WARC file. Raises ``OSError``."""
    part = path.with_name(f"{path.name}{INDEX}.part")
    with part.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(f"{line}\n" for line in sorted(lines))
        file.flush()
        os.fsync(file.fileno())
    part.replace(path.with_name(path.name + INDEX))


def lines_in(path: Path) -> Iterator[str]:
    """Yield the lines of a WARC file, read from its records. A damaged end of the file is ignored."""
    name = path.name.removesuffix(OPEN)
    for page, start, end in _pages(path):
        if page.body is None:
            continue
        moment = "" if page.at is None else page.at.strftime("%Y%m%d%H%M%S")
        mime = page.headers.get("content-type", "").partition(";")[0].strip() or "unk"
        fields = {"mime": mime, "status": str(page.status)}
        place = {"length": str(end - start), "offset": str(start), "filename": name}
        yield cdxj_line(page.url, moment, fields | place)


def latest(folder: Path, url: str, known: Mapping[str, Sequence[Place]] | None = None) -> Place | None:
    """Return the place of the newest archived page of a URL, or None.

    Files without an index are searched record by record: those that a crawl writes at this moment. ``known``
    is what :func:`unindexed` has found in them. Raises ``OSError``.
    """
    found = [*_indexed(folder, url), *(unindexed(folder) if known is None else known).get(url, ())]
    good = [one for one in found if one.status == 200] or found
    return max(good, key=lambda one: one.moment, default=None)


def unindexed(folder: Path) -> dict[str, list[Place]]:
    """Return the places in files without an index, by URL. Raises ``OSError``."""
    found: dict[str, list[Place]] = {}
    for path in sorted([*folder.glob(f"*{SUFFIX}"), *folder.glob(f"*{SUFFIX}{OPEN}")]):
        if not path.with_name(path.name + INDEX).exists():
            for line in lines_in(path):
                if (place := _place(line, folder)) is not None:
                    found.setdefault(place.url, []).append(place)
    return found


def page_at(place: Place) -> Page | None:
    """Return the archived page at a place; None if it cannot be read. Raises ``OSError``."""
    with place.path.open("rb") as file:
        try:
            record = next(read_records(file, start=place.offset, max_body=MAX_BODY), None)
        except WarcFault:
            return None
    return None if record is None else record.page


def _indexed(folder: Path, url: str) -> Iterator[Place]:
    key = f"{surt(url)} ".encode()
    for index in sorted(folder.glob(f"*{SUFFIX}{INDEX}")):
        if not index.stat().st_size:
            continue
        with index.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as lines:
            at = _first(lines, key)
            while at < len(lines) and lines[at : at + len(key)] == key:
                end = lines.find(b"\n", at)
                end = len(lines) if end < 0 else end
                place = _place(lines[at:end].decode("utf-8", "replace"), folder)
                if place is not None and place.url == url:
                    yield place
                at = end + 1


def _first(lines: mmap.mmap, key: bytes) -> int:
    """Return the offset of the first line that is not before ``key`` (binary search)."""
    low, high = 0, len(lines)
    while low < high:
        middle = (low + high) // 2
        start = lines.rfind(b"\n", 0, middle) + 1
        end = lines.find(b"\n", middle)
        end = len(lines) if end < 0 else end
        if lines[start:end] < key:
            low = end + 1
        else:
            high = start
    return low


def _place(line: str, folder: Path) -> Place | None:
    """Return the place in a line of an index; None if its file no longer exists, or the line is damaged."""
    try:
        _, moment, document = line.split(" ", 2)
        fields = json.loads(document)
        url, status, offset = str(fields["url"]), int(fields["status"]), int(fields["offset"])
        file = str(fields["filename"])
    except (ValueError, LookupError, TypeError, RecursionError):
        return None
    if offset < 0 or file != Path(file).name:
        return None
    for name in (file, file + OPEN):
        if (path := folder / name).exists():
            return Place(url, moment, status, path, offset, fields)
    return None


def _pages(path: Path) -> Iterator[tuple[Page, int, int]]:
    """Yield the pages of a file, with the offsets of their records and of the next records."""
    start = 0
    with path.open("rb") as file:
        try:
            for record in read_records(file, max_body=MAX_BODY):
                if record.end is None:  # several records share a gzip member: no record can be found again
                    return
                if record.page is not None and record.kind == "response":
                    yield record.page, start, record.end
                start = record.end
        except WarcFault:
            return


def cdxj_line(url: str, moment: str, fields: Mapping[str, str]) -> str:
    """Return a line of an index."""
    return f"{surt(url)} {moment} {json.dumps({**fields, 'url': url})}"


def _digits(date: str) -> str:
    return "".join(sign for sign in date if sign.isdigit())
