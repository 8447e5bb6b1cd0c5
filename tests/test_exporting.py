"""Exports contain what was stored, and a failed export does not change the old file."""

from __future__ import annotations

import csv
import importlib
import io
import json
import zlib
from collections.abc import Iterator
from dataclasses import fields
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any, cast

import pytest
from defusedxml.ElementTree import fromstring
from hypothesis import given, settings
from hypothesis import strategies as st

from newsbot.apps.authoring.importing import read_opml
from newsbot.apps.export.formats import FORMATS, CsvFeedExporter, as_opml, defused, format_of, writer_of
from newsbot.apps.files import atomic_target
from newsbot.errors import ArgumentError, UserError
from newsbot.items import Article, Kind
from newsbot.pages.rules import Rule, RuleSet
from newsbot.storage.base import SourceRecord, Sources


def article(number: int = 1, **changes: object) -> Article:
    values: dict[str, object] = {
        "url": f"https://example.org/news/{number}?utm_source=x",
        "canonical_url": f"https://example.org/news/{number}",
        "source": "example.org",
        "title": f'Новость {number}, "quoted"; =SUM(1)',
        "text": "Первая строка.\nSecond line, with a comma.\r\nThird 😀.",
        "authors": ["Анна Б.", "Carl, Jr."],
        "published_at": datetime(2024, 5, 31, 8, 0, 5, tzinfo=timezone(timedelta(hours=3))),
        "published_precision": "second",
        "language": "ru",
        "tags": ["a", "b,c"],
        "fetched_at": datetime(2024, 5, 31, 9, 0, tzinfo=UTC),
        "content_hash": f"{number:032x}",
        "structure": {"heading": [0], "item": [1, 2]},
        "extraction": {"title": "json-ld", "text": "rule"},
    }
    return Article(**(values | changes))  # type: ignore[arg-type]


def exported(name: str, articles: list[Article], *, file: str = "", **more: bool) -> bytes:
    stream = io.BytesIO()
    writer_of(FORMATS[name])(stream, articles, name=file, **more)
    assert not stream.closed
    return stream.getvalue()


@pytest.mark.parametrize("number", [0, 1, 3])
def test_a_json_file_is_one_array(number: int) -> None:
    articles = [article(one) for one in range(number)]
    assert json.loads(exported("json", articles)) == [one.to_dict() for one in articles]


def test_csv_feeds_of_scrapy_are_defused() -> None:
    stream = io.BytesIO()
    exporter = CsvFeedExporter(stream)
    exporter.start_exporting()
    exporter.export_item(article(1, title="=HYPERLINK(1)", authors=["@cmd", "Ann"], text="- a dash"))
    exporter.finish_exporting()
    (row,) = csv.DictReader(io.StringIO(stream.getvalue().decode()))
    assert (row["title"], row["authors"], row["text"]) == ("'=HYPERLINK(1)", "'@cmd,Ann", "'- a dash")
    assert row["url"] == "https://example.org/news/1?utm_source=x"


def test_json_lines_contain_the_exported_articles() -> None:
    articles = [article(1), article(2, summary=None, authors=[])]
    lines = exported("jsonl", articles).decode("utf-8").splitlines()
    assert [json.loads(line) for line in lines] == [one.to_dict() for one in articles]


def read_csv(data: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(data.decode("utf-8"), newline="")))


def test_csv_contains_the_exported_fields() -> None:
    row = read_csv(exported("csv", [article()]))[0]
    expected = article().to_dict()
    assert list(row) == [field.name for field in fields(Article)]
    assert row["title"] == expected["title"]
    assert row["text"] == expected["text"]
    assert json.loads(row["authors"]) == expected["authors"]
    assert json.loads(row["extraction"]) == expected["extraction"]
    assert json.loads(row["structure"]) == expected["structure"]
    assert row["published_at"] == "2024-05-31T05:00:05Z"
    assert row["summary"] == ""
    assert row["version"] == "1"


@settings(max_examples=100, deadline=None)
@given(
    title=st.text(st.characters(exclude_categories=["Cs"])), tags=st.lists(st.text(max_size=5), max_size=3)
)
def test_any_text_is_unchanged_in_csv_and_json_lines(title: str, tags: list[str]) -> None:
    one = article(title=title, tags=tags)
    assert json.loads(exported("jsonl", [one]))["title"] == title
    row = read_csv(exported("csv", [one, one], raw=True))[1]
    assert row["title"] == title
    row = read_csv(exported("csv", [one, one]))[1]
    assert row["title"].removeprefix("'") == title.removeprefix("'")
    assert not row["title"].startswith(("=", "+", "-", "@", "\t", "\r"))
    assert (json.loads(row["tags"]) if tags else row["tags"] == "") == (tags or True)


def test_formulas_in_cells_are_escaped() -> None:
    one = article(title="=HYPERLINK(1)", summary="@SUM(1+9)", authors=["-2+3"])
    row = read_csv(exported("csv", [one]))[0]
    assert (row["title"], row["summary"]) == ("'=HYPERLINK(1)", "'@SUM(1+9)")
    assert json.loads(row["authors"]) == ["-2+3"]
    assert read_csv(exported("csv", [one], raw=True))[0]["title"] == "=HYPERLINK(1)"
    assert exported("csv", [one], excel=True) == b"\xef\xbb\xbf" + exported("csv", [one])


@pytest.mark.parametrize("before", [" ", "\n", "\xa0", "\x00", "\u200b\ufeff"])
@pytest.mark.parametrize("sign", ["=", "+", "-", "@", "\uff1d", "\uff20"])
def test_formulas_after_white_space_are_escaped(before: str, sign: str) -> None:
    cell = before + sign + "SUM(1)"
    assert defused(cell) == "'" + cell


def test_a_lone_surrogate_can_be_exported() -> None:
    one = article(title="broken \ud800 emoji")
    assert json.loads(exported("jsonl", [one]))["title"] == "broken \ud800 emoji"
    assert len(read_csv(exported("csv", [one]))) == 1


def test_parquet_keeps_types_and_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    pq = pytest.importorskip("pyarrow.parquet")
    module = importlib.import_module("newsbot.apps.export.parquet")
    assert module.SCHEMA.names == [field.name for field in fields(Article)]
    monkeypatch.setattr(module, "BATCH", 2)
    articles = [article(number) for number in range(5)]
    file = pq.ParquetFile(io.BytesIO(exported("parquet", articles)))
    assert file.num_row_groups == 3
    rows = file.read().to_pylist()
    assert [row["canonical_url"] for row in rows] == [one.canonical_url for one in articles]
    assert rows[0]["published_at"] == articles[0].published_at
    assert rows[0]["authors"] == articles[0].authors
    assert dict(rows[0]["extraction"]) == articles[0].extraction
    assert dict(rows[0]["structure"]) == articles[0].structure
    assert rows[0]["summary"] is None


def test_a_parquet_file_without_articles_can_be_read() -> None:
    pq = pytest.importorskip("pyarrow.parquet")
    assert pq.read_table(io.BytesIO(exported("parquet", []))).num_rows == 0


@pytest.mark.parametrize("file", ["news.warc.gz", "news.warc", ""])
def test_warc_contains_a_conversion_record_for_each_article(file: str) -> None:
    archiveiterator = pytest.importorskip("warcio.archiveiterator")
    data = exported("warc", [article(1), article(2)], file=file)
    assert data.startswith(b"WARC/1.1" if file == "news.warc" else b"\x1f\x8b")
    records = [
        (record.rec_type, record.rec_headers, record.content_stream().read())
        for record in archiveiterator.ArchiveIterator(io.BytesIO(data), check_digests="raise")
    ]
    assert [kind for kind, _, _ in records] == ["warcinfo", "conversion", "conversion"]
    _, headers, body = records[1]
    assert headers.get_header("WARC-Target-URI") == "https://example.org/news/1"
    assert headers.get_header("WARC-Date") == "2024-05-31T09:00:00Z"
    assert headers.get_header("Content-Type") == "application/json"
    assert json.loads(body) == article(1).to_dict()


def test_each_warc_record_can_be_unpacked_alone() -> None:
    data = exported("warc", [article(1), article(2)])
    records, rest = [], data
    while rest:
        unpacker = zlib.decompressobj(wbits=31)
        records.append(unpacker.decompress(rest))
        rest = unpacker.unused_data
    assert len(records) == 3
    assert all(record.startswith(b"WARC/1.1\r\n") for record in records)


def test_the_same_article_has_the_same_record_id_in_every_warc() -> None:
    ids = [
        [line for line in exported("warc", [article()], file="x.warc").splitlines() if b"Record-ID" in line][
            1
        ]
        for _ in range(2)
    ]
    assert ids[0] == ids[1]


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(_: str) -> None:
        raise ModuleNotFoundError("No module named 'pyarrow'", name="pyarrow")

    monkeypatch.setattr("newsbot.apps.optional.import_module", missing)
    with pytest.raises(UserError, match=r"pip install 'newsbot\[parquet\]'"):
        writer_of(FORMATS["parquet"])


def test_an_internal_import_error_is_not_reported_as_a_missing_package(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(_: str) -> None:
        raise ModuleNotFoundError("No module named 'newsbot.nothing'", name="newsbot.nothing")

    monkeypatch.setattr("newsbot.apps.optional.import_module", broken)
    with pytest.raises(ModuleNotFoundError):
        writer_of(FORMATS["parquet"])


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("a.csv", "csv"),
        ("A.PARQUET", "parquet"),
        ("a.warc.gz", "warc"),
        ("a.jsonl", "jsonl"),
        ("a", "jsonl"),
        ("a.Json", "json"),
    ],
)
def test_the_file_name_determines_the_format(file: str, name: str) -> None:
    assert format_of(Path(file)).name == name


@pytest.mark.parametrize(
    ("file", "hint"),
    [("a.xslx", "--excel"), ("a.XLSX", "--excel"), ("a.cvs", "'.csv'"), ("a.jsnl", "'.jsonl'")],
)
def test_a_file_ending_of_another_format_is_refused(file: str, hint: str) -> None:
    with pytest.raises(ArgumentError, match=hint):
        format_of(Path(file))


def test_a_failed_export_does_not_change_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    path.write_text("old")
    with pytest.raises(TypeError), atomic_target(path) as stream:
        stream.writelines([b"half", "no bytes"])  # type: ignore[list-item]
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_finished_export_replaces_the_file_a_link_points_to(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    path.write_text("old")
    link = tmp_path / "link"
    link.symlink_to(path)
    with atomic_target(link) as stream:
        stream.write(b"new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert link.is_symlink()


def test_a_path_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    for place in (tmp_path, tmp_path / "missing" / "out.csv"):
        with pytest.raises(UserError, match="cannot be written"), atomic_target(place):
            pass


def test_a_device_is_written_in_place() -> None:
    with atomic_target(Path("/dev/null")) as stream:
        stream.write(b"gone")
    assert Path("/dev/null").is_char_device()


def test_feeds_are_exported_with_a_folder_for_each_tag_and_can_be_imported() -> None:
    rules = RuleSet(
        [
            Rule(domain="north.example", feeds=("https://north.example/a?b&c",), tags=("north", "regional")),
            Rule(domain="plain.example", feeds=("https://plain.example/rss",)),
            Rule(domain="found.example", tags=("regional",)),
        ]
    )
    found: dict[str, Any] = {"kind": Kind.FEED, "source": "found.example", "polls": 1}
    records = [
        SourceRecord(url="https://found.example/feed", **found),
        SourceRecord(url="https://found.example/dead", failures=3, **found),
        SourceRecord(url="https://plain.example/other", kind=Kind.FEED, source="plain.example", polls=1),
    ]

    class Records:
        def iter(self, source: str | None = None) -> Iterator[SourceRecord]:
            return iter(records)

    body = as_opml(rules, cast("Sources", Records()))
    folders = fromstring(body.decode()).findall("body/outline")
    outlines = [(one.get("text"), [feed.get("xmlUrl") for feed in one]) for one in folders]
    assert outlines == [
        ("north", ["https://north.example/a?b&c"]),
        ("regional", ["https://found.example/feed", "https://north.example/a?b&c"]),
        ("plain.example", []),
    ]
    assert read_opml(body).feeds == {
        "north.example": ["https://north.example/a?b&c"],
        "plain.example": ["https://plain.example/rss"],
        "found.example": ["https://found.example/feed"],
    }
