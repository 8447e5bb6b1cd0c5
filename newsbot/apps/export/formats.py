"""The file formats for exported articles, and their writers.

A writer keeps at most one batch of the articles in memory. A package that only one format needs (pyarrow) is
imported when the format is used.

Archived pages of articles are written as a web archive that browsers can replay. Source: WACZ 1.1.1
(https://specs.webrecorder.net/wacz/1.1.1/). The ZIP file has the WARC records, their index (CDXJ), a list of
the pages, and a description with the digests of these files.

A feed is Atom (RFC 4287) or RSS 2.0 (https://www.rssboard.org/rss-specification). It has the title, link,
times and summary of each article, but not the text. OPML is version 2.0 (http://opml.org/spec2.opml).
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import logging
import re
from codecs import BOM_UTF8
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from email.utils import format_datetime
from functools import cache
from itertools import chain
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, BinaryIO, cast
from uuid import NAMESPACE_URL, uuid4, uuid5
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

from scrapy.exporters import CsvItemExporter

from newsbot import __version__
from newsbot.apps.archive.writer import (
    MAX_BODY,
    Place,
    cdxj_line,
    latest,
    packed,
    packed_info,
    to_record,
    unindexed,
    warc_date,
)
from newsbot.apps.files import atomic_target
from newsbot.apps.optional import load_optional
from newsbot.apps.search.articles import ArticleSearch
from newsbot.backends import open_rules, stored
from newsbot.cli.command import Call
from newsbot.config.apps import load
from newsbot.errors import ArgumentError, DataUnavailable, did_you_mean
from newsbot.items import Article, ArticleFilter
from newsbot.pages.rules.rule import RuleSet
from newsbot.pages.text.words import clean
from newsbot.storage.base import SourceRecord, Sources

if TYPE_CHECKING:
    from jinja2 import Environment


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


Write = Callable[..., None]
"""A function that writes articles to a binary stream: ``write(stream, articles, name=…)``.

``name=`` is the name of the file, or empty if the stream has no name. The stream stays open.
"""
_FORMULA = re.compile(r"[\t\r\n]|[\s\x00-\x1f\u200b\ufeff]*[=+@＝＋－＠-]")
"""Matches the start of a cell that a spreadsheet may treat as a formula.

Spreadsheets skip blanks before a formula, and some accept full-width signs. See OWASP, "CSV Injection":
https://owasp.org/www-community/attacks/CSV_Injection"""
COLUMNS = tuple(field.name for field in fields(Article))


def write_warc(stream: BinaryIO, articles: Iterable[Article], *, name: str = "") -> None:
    """Write WARC 1.1 (ISO 28500): one ``warcinfo`` record, then one ``conversion`` record per article.

    Each record is compressed separately with gzip, unless ``name`` ends in ``.warc``.
    """
    compress = not name.lower().endswith(".warc")

    def write(block: bytes, headers: dict[str, str]) -> None:
        record = to_record(block, headers)
        stream.write(packed(record) if compress else record)

    about = (
        f"software: newsbot/{__version__}\r\nformat: WARC File Format 1.1\r\n"
        "description: news articles extracted from pages; each record is one article in JSON\r\n"
    )
    write(
        about.encode(),
        {
            "WARC-Type": "warcinfo",
            "WARC-Record-ID": uuid4().urn,
            "WARC-Date": warc_date(datetime.now(UTC)),
            "Content-Type": "application/warc-fields",
        },
    )
    for article in articles:
        # The id is derived from the content, so that the same version of an article has the same id in every
        # export.
        identity = uuid5(NAMESPACE_URL, f"{article.canonical_url}#{article.version}-{article.content_hash}")
        write(
            json_bytes(article.to_dict()),
            {
                "WARC-Type": "conversion",
                "WARC-Record-ID": identity.urn,
                "WARC-Date": warc_date(article.fetched_at or article.discovered_at or datetime.now(UTC)),
                "WARC-Target-URI": article.canonical_url,  # headers must be ASCII, and this URL always is
                "Content-Type": "application/json",
            },
        )


def write_json_lines(stream: BinaryIO, articles: Iterable[Article], *, name: str = "") -> None:  # noqa: ARG001
    """Write one article per line, as JSON (https://jsonlines.org)."""
    for article in articles:
        stream.write(json_bytes(article.to_dict()) + b"\n")


def write_json(stream: BinaryIO, articles: Iterable[Article], *, name: str = "") -> None:  # noqa: ARG001
    """Write one JSON array, with one article per line."""
    before = b"[\n"
    for article in articles:
        stream.write(before + json_bytes(article.to_dict()))
        before = b",\n"
    stream.write(b"[]\n" if before == b"[\n" else b"\n]\n")


def write_csv(
    stream: BinaryIO,
    articles: Iterable[Article],
    *,
    name: str = "",  # noqa: ARG001  (the format does not depend on the name)
    raw: bool = False,
    excel: bool = False,
) -> None:
    """Write a header and one row per article. Lists and objects are written as JSON.

    Spreadsheets execute cells that begin like a formula. Such cells get an apostrophe in front, unless
    ``raw`` is True. ``excel`` adds a byte order mark, because Excel needs it to recognise UTF-8.
    """
    if excel:
        stream.write(BOM_UTF8)
    lines, cell = csv.writer(_Utf8(stream)), _cell if raw else defused
    lines.writerow(COLUMNS)
    for article in articles:
        row = article.to_dict()
        lines.writerow([cell(row[column]) for column in COLUMNS])


class _Utf8:
    """A text stream for ``csv`` that writes UTF-8 to a binary stream and never closes it.

    ``io.TextIOWrapper`` would close the binary stream when it is garbage-collected.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        return self._stream.write(text.encode("utf-8", "backslashreplace"))


def json_bytes(value: Any) -> bytes:
    """Return JSON in UTF-8. A lone surrogate, which UTF-8 cannot encode, becomes a JSON escape."""
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "backslashreplace")


def _cell(value: Any) -> Any:
    if isinstance(value, list | dict):
        return json.dumps(value, ensure_ascii=False) if value else ""
    return value


def rows_as_csv(rows: Iterable[Mapping[str, object]]) -> str:
    """Return rows with the same columns as CSV with a header. No cell becomes a formula in a spreadsheet."""
    found, text = list(rows), io.StringIO()
    lines = csv.writer(text)
    lines.writerow(found[0] if found else ())
    lines.writerows([defused(value) for value in row.values()] for row in found)
    return text.getvalue()


def rows_as_jsonl(rows: Iterable[Mapping[str, object]]) -> str:
    """Return rows as JSON lines."""
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def defused(value: Any) -> Any:
    """Return a value as a CSV cell that spreadsheets do not treat as a formula."""
    cell = _cell(value)
    return f"'{cell}" if isinstance(cell, str) and _FORMULA.match(cell) else cell


class CsvFeedExporter(CsvItemExporter):
    """Scrapy's exporter for ``-O FILE.csv`` and FEEDS, with the same protection against formulas."""

    def serialize_field(self, field: Any, name: str, value: Any) -> Any:
        """Return the value of a cell."""
        return defused(super().serialize_field(field, name, value))


@dataclass(frozen=True, slots=True)
class Format:
    """A file format."""

    name: str
    writer: str
    """The import path of the writer, ``package.module:function``."""
    suffixes: tuple[str, ...]
    """Endings of file names."""
    needs: str | None = None
    """The optional package that the writer imports."""
    binary: bool = False


_PACKAGE = "newsbot.apps.export"
FORMATS = {
    format_.name: format_
    for format_ in (
        Format("jsonl", f"{_PACKAGE}.formats:write_json_lines", (".jsonl", ".ndjson")),
        Format("json", f"{_PACKAGE}.formats:write_json", (".json",)),
        Format("csv", f"{_PACKAGE}.formats:write_csv", (".csv",)),
        Format("parquet", f"{_PACKAGE}.parquet:write_parquet", (".parquet",), "pyarrow", binary=True),
        Format("warc", f"{_PACKAGE}.formats:write_warc", (".warc.gz", ".warc"), binary=True),
        Format("wacz", f"{_PACKAGE}.formats:write_wacz", (".wacz",), binary=True),
    )
}


def format_of(path: Path | None) -> Format:
    """Return the format for the ending of a file name.

    The format is JSON lines for an unknown ending, or if there is no file. Raises :class:`ArgumentError` for
    the ending of a spreadsheet, and for an ending that is probably misspelt.
    """
    for format_ in FORMATS.values():
        if path is not None and path.name.lower().endswith(format_.suffixes):
            return format_
    suffix = path.suffix.lower() if path is not None else ""
    known = [known for format_ in FORMATS.values() for known in format_.suffixes]
    hint = did_you_mean(suffix, known, similarity=0.75)
    if hint or suffix.startswith((".xls", ".xsl", ".ods")):
        hint = hint or " (for spreadsheets use .csv and --excel)"
        raise ArgumentError(f"{path}: no format has the ending {suffix!r}{hint}; or add --format NAME")
    return FORMATS["jsonl"]


def writer_of(format_: Format) -> Write:
    """Import and return the function that writes a format.

    Raises :class:`newsbot.errors.UserError` with an installation hint if the package that the format needs is
    missing.
    """
    if format_.needs is not None:
        load_optional(format_.needs, format_.name, f"the format {format_.name}")
    return cast("Write", load(format_.writer))


TYPES = {"atom": "application/atom+xml", "rss": "application/rss+xml"}
"""The formats and their content types."""
SUMMARY = 400
"""Maximum number of characters of a summary. An article without a summary gets the start of its text."""
# Matches a character that XML 1.0 does not allow (section 2.2).
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_EARLY = datetime(1970, 1, 1, tzinfo=UTC)


def feed_of(
    search: ArticleSearch,
    query: str,
    where: ArticleFilter | None = None,
    *,
    kind: str = "atom",
    limit: int = 50,
    address: str = "",
    page: str = "",
    hub: str = "",
) -> bytes:
    """Return the newest articles that match a query as a feed (XML in UTF-8). A blank query matches all.

    ``kind`` is a key of :data:`TYPES`, and ``limit`` is the maximum number of articles. ``address`` is the
    URL of the feed, if it has a URL. ``page`` is the URL of a page with the same articles, and ``hub`` is
    that of a WebSub hub. Raises :class:`ArgumentError` for an unknown ``kind``, and subclasses of
    :class:`newsbot.errors.DataError`.
    """
    hits = search.find(query, where, limit=limit)
    asked = [query.strip()] + ([where.source, where.language, where.story] if where else [None] * 3)
    title = ": ".join(["newsbot", *filter(None, [", ".join(filter(None, asked))])])
    # Feed readers recognise a feed by its id, so the same search always has the same id.
    identity = f"urn:uuid:{uuid5(NAMESPACE_URL, 'newsbot:' + json.dumps(asked))}"
    return to_feed(
        (hit.article for hit in hits),
        kind=kind,
        title=title,
        address=address,
        identity=identity,
        page=page,
        hub=hub,
    )


def to_feed(
    articles: Iterable[Article],
    *,
    kind: str,
    title: str,
    address: str = "",
    identity: str = "urn:newsbot:feed",
    page: str = "",
    hub: str = "",
) -> bytes:
    """Return articles as a feed (XML in UTF-8), in the given order.

    ``identity`` is the permanent URI of the feed. Raises :class:`ArgumentError` for an unknown ``kind``.
    """
    if kind not in TYPES:
        raise ArgumentError(f"{kind}: is not a feed format; choose one of: {', '.join(TYPES)}")
    given = list(articles)
    return _rendered(
        f"{kind}.xml",
        articles=given,
        title=title,
        address=address,
        identity=identity,
        page=page,
        hub=hub,
        updated=max(map(_moment, given), default=_EARLY),
    )


def _clean(value: object) -> str:
    """Return a value as text, without characters that XML 1.0 does not allow."""
    return "" if value is None else _NO_XML.sub("", str(value))


def _summary(article: Article) -> str:
    text = article.summary or article.text
    return text if len(text) <= SUMMARY else text[:SUMMARY].rsplit(maxsplit=1)[0] + " …"


def _moment(article: Article) -> datetime:
    return article.published_at or article.fetched_at or _EARLY


def _iso(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _mail(moment: datetime) -> str:
    return format_datetime(moment.astimezone(UTC), usegmt=True)


@cache
def _templates() -> Environment:
    # Only feeds need jinja2, and its import takes time.
    from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415

    environment = Environment(
        loader=PackageLoader("newsbot.apps.export"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        finalize=_clean,
    )
    environment.filters |= {"iso": _iso, "rfc5322": _mail, "summary": _summary, "moment": _moment}
    return environment


def _rendered(template: str, **values: object) -> bytes:
    return f"{_templates().get_template(template).render(**values)}\n".encode()


MAX_FEEDS = 20
"""Maximum number of feeds per site."""


def feeds_of(rules: RuleSet, records: Iterable[SourceRecord]) -> dict[str, list[str]]:
    """Return the feed URLs of each site, by domain.

    If the rule of the site names feeds, these feeds are returned. Otherwise the result contains the feeds
    that the crawl found, if their last poll succeeded.
    """
    found: dict[str, list[str]] = defaultdict(list)
    for one in records:
        if one.kind.is_feed and one.polls and not one.failures:
            found[one.source].append(one.url)
    named = {rule.domain: list(rule.feeds) for rule in rules if rule.feeds}
    return {site: feeds[:MAX_FEEDS] for site, feeds in sorted((found | named).items())}


def as_opml(rules: RuleSet, sources: Sources | None) -> bytes:
    """Return the content of the OPML file.

    ``sources`` is the repository of sources. If it is None, only the feeds in rules are included. A site is
    in the folder of each of its tags. A site without a tag is outside all folders. Raises
    :class:`newsbot.errors.DataError`.
    """
    tagged: Mapping[str, tuple[str, ...]] = {rule.domain: rule.tags for rule in rules}
    folders: dict[str, dict[str, list[str]]] = {tag: {} for tag in sorted(set(chain(*tagged.values())))}
    folders[""] = {}  # the sites without a tag; they come last, outside of the folders
    for site, feeds in feeds_of(rules, sources.iter() if sources else ()).items():
        for tag in tagged.get(site) or [""]:
            folders[tag][site] = [clean(feed) for feed in feeds]
    return _rendered("opml.xml", folders=folders)


def export_opml(call: Call) -> None:
    """Write the feeds of all sites as OPML."""
    rules = open_rules(call.settings)
    try:
        with stored(call.settings) as storage:
            body = as_opml(rules, storage.sources)
    except DataUnavailable:
        body = as_opml(rules, None)  # nothing has been crawled yet, so only feeds in rules are known
    with atomic_target(call.options.output) as target:
        target.write(body)
