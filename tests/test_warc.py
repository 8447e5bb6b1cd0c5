"""Other programs can read the WARC files, even after a crash or after the disk was full."""

from __future__ import annotations

import io
import os
import resource
import signal
import subprocess
import sys
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from warcio.archiveiterator import ArchiveIterator

from newsbot.apps.archive.writer import (
    Exchange,
    WarcFolder,
    packed_info,
    recover,
    whole_size,
)
from tests.warcfiles import packed_exchange

NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


def exchange(number: int = 1, **changes: object) -> Exchange:
    values: dict[str, object] = {
        "url": f"https://news.test/story/{number}?a=1",
        "at": NOON,
        "method": "GET",
        "asked": ((b"User-Agent", b"newsbot/0"), (b"Cookie", b"secret"), (b"Authorization", b"Basic secret")),
        "status": 200,
        "protocol": "HTTP/1.1",
        "answered": ((b"Content-Type", b"text/html"), (b"Transfer-Encoding", b"chunked"), (b"X", b"a\r\nb")),
        "body": b"<p>story %d</p>" % number,
        "address": "192.0.2.1",
    }
    return Exchange(**(values | changes))  # type: ignore[arg-type]


def read(data: bytes):
    return [
        (record.rec_type, record.rec_headers, record.http_headers, record.content_stream().read())
        for record in ArchiveIterator(io.BytesIO(data), check_digests="raise")
    ]


def stories(folder: Path) -> list[str]:
    """Return the bodies of all responses in the finished files, in order."""
    files = sorted(folder.glob("*.warc.gz"))
    records = [one for path in files for one in read(path.read_bytes())]
    return [body.decode() for kind, _, _, body in records if kind == "response"]


def test_warcio_reads_request_and_response():
    info, answer, question = read(packed_info("a.warc.gz", "robots: obey\r\n") + packed_exchange(exchange()))
    assert info[0] == "warcinfo"
    kind, headers, http, body = answer
    assert kind == "response"
    assert headers.get_header("WARC-Target-URI") == "https://news.test/story/1?a=1"
    assert headers.get_header("WARC-IP-Address") == "192.0.2.1"
    assert headers.get_header("WARC-Date") == "2026-11-21T12:00:00Z"
    assert body == b"<p>story 1</p>"
    assert http.get_statuscode() == "200"
    assert http.get_header("Content-Length") == "14"
    assert http.get_header("Transfer-Encoding") is None
    assert http.get_header("X") == "a  b"
    kind, request, http, _ = question
    assert kind == "request"
    assert request.get_header("WARC-Concurrent-To") == headers.get_header("WARC-Record-ID")
    assert http.statusline == "GET /story/1?a=1 HTTP/1.1" or http.protocol == "GET"
    assert http.get_header("Host") == "news.test"
    assert "secret" not in str(http.headers)


def test_an_unchanged_page_is_a_revisit():
    _, headers, http, body = read(packed_exchange(exchange(status=304, body=b"", answered=())))[0]
    assert headers.get_header("WARC-Type") == "revisit"
    assert headers.get_header("WARC-Profile").endswith("server-not-modified")
    assert (http.get_statuscode(), body) == ("304", b"")


def test_files_are_rotated_and_renamed_when_they_are_complete(tmp_path):
    folder = WarcFolder(tmp_path / "new" / "warc", max_size=1500, about="robots: obey\r\n")
    for number in range(6):
        folder.write(packed_exchange(exchange(number)))
    assert len(list(folder.folder.glob("*.open"))) == 1
    folder.close()
    files = sorted(folder.folder.iterdir())
    assert 2 <= len(files) <= 6
    assert all(path.name.endswith(".warc.gz") for path in files)
    assert all(read(path.read_bytes())[0][0] == "warcinfo" for path in files)
    assert stories(folder.folder) == [f"<p>story {number}</p>" for number in range(6)]


def test_a_file_in_use_is_not_changed(tmp_path):
    folder = WarcFolder(tmp_path, max_size=10**6)
    folder.write(packed_exchange(exchange()))
    assert recover(tmp_path) == []
    folder.close()
    assert len(stories(tmp_path)) == 1


@settings(max_examples=60, deadline=None)
@given(
    cut=st.integers(1, 4000), tail=st.sampled_from([b"", b"\0" * 5000, b"\x1f\x8b\x08\x00\x00\x00\x00\x00"])
)
def test_a_file_cut_off_anywhere_keeps_its_complete_records(tmp_path_factory, cut, tail):
    members = [packed_info("a", ""), *(packed_exchange(exchange(number)) for number in range(5))]
    data = b"".join(members)
    cut = min(cut, len(data))
    file = io.BytesIO(data[:cut] + tail)
    size = whole_size(file)
    # Zero bytes behind the cut can complete the last member, because its length ends with zero bytes.
    assert file.getvalue()[:size] == data[:size]
    kept = read(data[:size])
    rest = read(data)
    assert [one[3] for one in kept] == [one[3] for one in rest[: len(kept)]]
    # no complete record is lost: the next one is cut off
    whole = next(n for n in range(len(rest), -1, -1) if n == 0 or ends(data)[n - 1] <= max(cut, size))
    assert len(kept) == whole


def ends(data: bytes) -> list[int]:
    """Return the end of each gzip member."""
    import zlib

    found, at = [], 0
    while at < len(data):
        unpacker = zlib.decompressobj(wbits=31)
        unpacker.decompress(data[at:])
        at = len(data) - len(unpacker.unused_data)
        found.append(at)
    return found


WRITER = """
import sys
from pathlib import Path
from tests.test_warc import exchange
from newsbot.apps.archive.writer import WarcFolder
from tests.warcfiles import packed_exchange
folder = WarcFolder(Path(sys.argv[1]), max_size=20_000)
number = 0
while True:
    folder.write(packed_exchange(exchange(number)))
    print(number, flush=True)
    number += 1
"""


def test_a_killed_process_leaves_all_written_records(tmp_path):
    root = Path(__file__).resolve().parent.parent
    process = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(tmp_path)], cwd=root, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    written = [int(process.stdout.readline()) for _ in range(100)]
    process.kill()
    written += [int(line) for line in process.stdout.read().splitlines()]
    process.wait()
    process.stdout.close()
    assert recover(tmp_path)
    assert not list(tmp_path.glob("*.open"))
    kept = stories(tmp_path)
    assert kept[: len(written)] == [f"<p>story {number}</p>" for number in written]
    assert len(kept) <= len(written) + 1


@contextmanager
def no_room_beyond(size: int):
    """Limit the size of this process's files: writes fail half-way, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)


def test_a_failed_write_leaves_complete_records(tmp_path):
    folder = WarcFolder(tmp_path, max_size=10**6)
    folder.write(packed_exchange(exchange(1)))
    size = next(tmp_path.iterdir()).stat().st_size
    with no_room_beyond(size + 100), pytest.raises(OSError):  # noqa: PT011
        folder.write(packed_exchange(exchange(2, body=os.urandom(5000))))
    assert next(tmp_path.iterdir()).stat().st_size == size
    folder.write(packed_exchange(exchange(3)))
    folder.close()
    assert stories(tmp_path) == ["<p>story 1</p>", "<p>story 3</p>"]


def test_a_file_that_cannot_be_started_is_removed(tmp_path):
    folder = WarcFolder(tmp_path, max_size=10**6)
    with no_room_beyond(10), pytest.raises(OSError):  # noqa: PT011
        folder.write(packed_exchange(exchange(1)))
    assert list(tmp_path.iterdir()) == []
    folder.write(packed_exchange(exchange(1)))
    folder.close()
    assert stories(tmp_path) == ["<p>story 1</p>"]
