"""Reads WARC files of other programs: from warcio, damaged files, hostile files."""

from __future__ import annotations

import gzip
import io
import tracemalloc
import zlib
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from newsbot.apps.archive.reader import MAX_HEADERS, WarcFault, next_record, read_records
from newsbot.apps.archive.writer import packed_info, to_record
from tests.test_warc import exchange
from tests.warcfiles import packed_exchange, warc_file

LIMIT = 100_000
BODY = b"<html><p>story</p></html>"


def written(*bodies: tuple[bytes, list[tuple[str, str]]], packed: bool = True, version: str = "1.1") -> bytes:
    """Return a file written by warcio."""
    numbered = ((f"https://news.test/{number}", *one) for number, one in enumerate(bodies))
    return warc_file(numbered, packed=packed, version=version)


def pages(data: bytes, start: int = 0):
    found = read_records(io.BytesIO(data), start=start, max_body=LIMIT)
    return [record.page for record in found if record.page is not None]


@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize("version", ["1.0", "1.1"])
def test_files_of_warcio_are_read(packed, version):
    found = pages(written((BODY, []), (b"x" * 300_000, []), (BODY * 2, []), packed=packed, version=version))
    assert [page.body for page in found] == [BODY, None, BODY * 2]
    assert found[0].url == "https://news.test/0"
    assert found[0].status == 200
    assert found[0].headers["content-type"] == "text/html; charset=utf-8"
    assert found[0].at is not None


def test_files_of_newsbot_are_read():
    data = packed_info("a", "") + packed_exchange(exchange(1)) + packed_exchange(exchange(2))
    kinds = [record.kind for record in read_records(io.BytesIO(data), max_body=LIMIT)]
    assert kinds == ["warcinfo", "response", "request", "response", "request"]
    assert [page.body for page in pages(data)] == [b"<p>story 1</p>", b"<p>story 2</p>"]


def chunked(body: bytes) -> bytes:
    return b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (body[:7], body[7:])) + b"0\r\n\r\n"


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        (chunked(BODY), [("Transfer-Encoding", "chunked")]),
        (BODY, [("Transfer-Encoding", "chunked")]),
        (gzip.compress(BODY), [("Content-Encoding", "gzip")]),
        (zlib.compress(BODY), [("Content-Encoding", "deflate")]),
        (BODY, [("Content-Encoding", "gzip")]),
        (chunked(gzip.compress(BODY)), [("Transfer-Encoding", "chunked"), ("Content-Encoding", "gzip")]),
    ],
    ids=["chunked", "chunked by name alone", "gzip", "deflate", "gzip by name alone", "chunked gzip"],
)
def test_encodings_are_decoded_if_present(body, headers):
    assert [page.body for page in pages(written((body, headers)))] == [BODY]


@pytest.mark.parametrize("packed", [True, False])
def test_reading_can_continue_after_any_record(packed):
    data = written((BODY, []), (b"second", []), (b"third", []), packed=packed)
    ends = [record.end for record in read_records(io.BytesIO(data), max_body=LIMIT)]
    assert ends[-1] == len(data)
    assert [len(pages(data, start=end or 0)) for end in ends] == [3, 2, 1, 0]


def test_a_file_compressed_as_a_whole_is_read():
    data = gzip.compress(written((BODY, []), (b"second", []), packed=False))
    records = list(read_records(io.BytesIO(data), max_body=LIMIT))
    assert [record.end for record in records] == [None, None, len(data)]
    assert len(pages(data)) == 2


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 2000), st.booleans())
def test_complete_records_of_a_cut_off_file_are_read(cut, packed):
    data = written((BODY, []), (b"second", []), packed=packed)
    cut = min(cut, len(data))
    found, fault = [], None
    try:
        for record in read_records(io.BytesIO(data[:cut]), max_body=LIMIT):
            found.append(record)  # noqa: PERF402
    except WarcFault as error:
        fault = error
    ends = [record.end for record in read_records(io.BytesIO(data), max_body=LIMIT)]
    assert len(found) >= sum(end is not None and end <= cut for end in ends)
    assert fault is not None or cut == 0 or any(abs((end or 0) - cut) <= 4 for end in ends)


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=300), st.integers(0, 1500))
def test_noise_is_an_error_or_ignored(noise, at):
    data = written((BODY, []), packed=bool(at % 2))
    for broken in (noise, data[:at] + noise + data[at:]):
        with suppress(WarcFault):
            list(read_records(io.BytesIO(broken), max_body=LIMIT))


def peak(data: bytes) -> int:
    tracemalloc.start()
    try:
        with suppress(WarcFault):
            for record in read_records(io.BytesIO(data), max_body=LIMIT):
                assert record.page is None or record.page.body is None
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("between", [b"", b"X: " + b"y" * 20_000 + b"\r\n\r\n", bytes(range(256)) * 300])
def test_reading_continues_at_the_next_record_of_an_uncompressed_file(between):
    head = {"WARC-Type": "response", "Content-Type": "application/http"}
    good = to_record(b"HTTP/1.1 200 OK\r\n\r\n<p>x", head)
    damaged = b"WARC/1.0\r\nWARC-Type: response\r\nContent-Length: -7\r\n\r\n" + between
    stream = io.BytesIO(damaged + good)
    place = next_record(stream, 1)
    assert place == len(damaged)
    [record] = read_records(stream, start=place, max_body=LIMIT)
    assert record.page is not None
    assert record.page.body == b"<p>x"
    assert next_record(stream, place + 1) is None


def bombs() -> dict[str, bytes]:
    zeros = b"\0" * 30_000_000
    answer = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + gzip.compress(zeros)
    head = {"WARC-Type": "response", "Content-Type": "application/http"}
    return {
        "packed body": to_record(answer, head),
        "packed record": gzip.compress(to_record(b"HTTP/1.1 200 OK\r\n\r\n" + zeros, head)),
        "line": gzip.compress(b"WARC/1.1\r\nX: " + zeros),
        "headers": gzip.compress(b"WARC/1.1\r\n" + b"X: 1\r\n" * 5_000_000),
        "blanks": gzip.compress(b"\r\n" * 10_000_000),
        "length": b"WARC/1.1\r\nWARC-Type: response\r\nContent-Length: 999999999999\r\n\r\nx",
    }


@pytest.mark.parametrize("name", sorted(bombs()))
def test_memory_per_file_is_limited_by_the_page_size(name):
    assert peak(bombs()[name]) < 6 * (LIMIT + MAX_HEADERS)
