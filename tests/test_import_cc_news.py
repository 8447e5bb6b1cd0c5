"""``scrapy articles import --cc-news``: archives at a URL, here on loopback."""

from __future__ import annotations

import gzip
import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from newsbot.apps.archive import cdx
from newsbot.apps.archive import importing as importer
from newsbot.apps.archive.cdx import RemoteFile
from tests.commandline import ROOT, Place
from tests.crawls import article_html
from tests.warcfiles import warc_file

MONTH = "crawl-data/CC-NEWS/2026/11"
HOST = "https://example.org"


class Archive(ThreadingHTTPServer):
    """Serves files by path; ``faults`` are the failures of the next responses for a path."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.base = f"http://127.0.0.1:{self.server_port}/"
        self.files: dict[str, bytes] = {}
        self.faults: dict[str, list[int]] = {}
        """A status, or the negative number of bytes after which the connection breaks off."""
        self.ranges = True
        self.requests: list[tuple[str, str]] = []
        self.stall: threading.Event | None = None

    def publish(self, *files: bytes) -> list[str]:
        """Publish the files of a month and their list; return their URLs."""
        names = [f"{MONTH}/CC-NEWS-20261101{n:06}-{n:05}.warc.gz" for n in range(len(files))]
        self.files = dict(zip(names, files, strict=True))
        self.files[f"{MONTH}/warc.paths.gz"] = gzip.compress("".join(f"{name}\n" for name in names).encode())
        return [self.base + name for name in names]


class Handler(BaseHTTPRequestHandler):
    server: Archive

    def do_GET(self) -> None:
        path, begin = self.path[1:], 0
        self.server.requests.append((path, self.headers.get("Range", "")))
        data = self.server.files.get(path)
        faults = self.server.faults.get(path)
        fault = faults.pop(0) if faults else 0
        if data is None or fault > 0:
            self.send_error(fault or 404)
            return
        if self.server.ranges and (wanted := self.headers.get("Range")):
            begin = int(wanted.removeprefix("bytes=").rstrip("-"))
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {begin}-{len(data) - 1}/{len(data)}")
        else:
            self.send_response(200)
        self.send_header("Content-Length", str(len(data) - begin))
        self.end_headers()
        self.wfile.write(data[begin : begin - fault] if fault else data[begin:])
        if fault and self.server.stall is not None:
            self.wfile.flush()
            self.server.stall.wait()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def archive(monkeypatch: pytest.MonkeyPatch) -> Iterator[Archive]:
    monkeypatch.setattr(cdx, "FIRST_WAIT", 0.0)
    server = Archive()
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def place(tmp_path, archive, monkeypatch) -> Place:
    monkeypatch.setenv("NEWSBOT_CC_NEWS", archive.base)
    return Place(tmp_path)


def run(place: Place, archive: Archive, *words: str, month: str = "2026-11"):
    return place.run("articles", "import", "--cc-news", month, *words, NEWSBOT_CC_NEWS=archive.base)


def pages(*numbers: int, host: str = HOST, padding: int = 0) -> bytes:
    noise = random.Random(1)
    return warc_file(
        (
            f"{host}/news/{n}",
            article_html(n, head=f"<!-- {noise.randbytes(padding // 2).hex()} -->").encode(),
            [],
        )
        for n in numbers
    )


def urls(place: Place) -> list[str]:
    with place.storage() as storage:
        return sorted(article.canonical_url for article in storage.articles.iter())


def test_a_month_is_streamed_and_interrupted_files_are_resumed(place, archive):
    whole, broken, short = pages(1, 2), pages(3, 4, padding=300_000), pages(5, 6)
    addresses = archive.publish(whole, broken, short[:-40])
    first, second, _ = (address.removeprefix(archive.base) for address in addresses)
    archive.faults = {first: [503, 404], second: [-100_000]}
    answer = run(place, archive, "--json", "--processes", "1")
    assert answer.code == 1
    assert [(row["file"], row["new"], row["pages"]) for row in answer.json] == [
        (addresses[0], 2, 2),
        (addresses[1], 2, 2),
        (addresses[2], 1, 1),
    ]
    assert f"{addresses[2]}: the file is cut off; the records before this place were imported" in answer.err
    assert urls(place) == [f"{HOST}/news/{n}" for n in (1, 2, 3, 4, 5)]
    ranges = [wanted for path, wanted in archive.requests if addresses[1].endswith(path)]
    assert ranges == ["", "bytes=100000-"]
    archive.files[addresses[2].removeprefix(archive.base)] = short
    archive.requests.clear()
    again = run(place, archive, "--json", "--processes", "1")
    assert again.code == 0
    assert [row["new"] for row in again.json] == [2, 2, 2]
    assert [wanted != "" for _, wanted in archive.requests] == [
        False,
        True,
    ]  # the list, and the rest of one file
    assert urls(place) == [f"{HOST}/news/{n}" for n in (1, 2, 3, 4, 5, 6)]


def test_only_selected_sites_are_read(place, archive):
    archive.publish(pages(1) + pages(2, host="https://other.example.net"))
    [row] = run(place, archive, "--json").json
    assert (row["new"], row["other_sites"]) == (1, 1)
    [row] = run(place, archive, "--json", "--sites", "example.net").json
    assert (row["new"], row["other_sites"]) == (1, 1)
    assert urls(place) == [f"{HOST}/news/1", "https://other.example.net/news/2"]


def test_files_are_shared_between_processes(place, archive):
    addresses = archive.publish(pages(1, 2), pages(3), pages(4))
    answer = run(place, archive, "--json", "--processes", "2")
    assert answer.code == 0, answer.err
    assert [(row["file"], row["new"]) for row in answer.json] == list(zip(addresses, (2, 1, 1), strict=True))
    assert urls(place) == [f"{HOST}/news/{n}" for n in (1, 2, 3, 4)]


def test_a_sample_is_the_same_each_time(place, archive):
    archive.publish(*(pages(n) for n in range(1, 9)))
    first = run(place, archive, "--json", "--processes", "1", "--sample", ".25").json
    assert len(first) == 2
    archive.requests.clear()
    assert run(place, archive, "--json", "--processes", "1", "--sample", ".25").json == first
    assert len(archive.requests) == 1
    assert len(run(place, archive, "--json", "--processes", "1", "--sample", ".01").json) == 1


def test_a_killed_import_continues_without_losses_or_duplicates(place, archive):
    data = pages(*range(1, 7), padding=200_000)
    [address] = archive.publish(data)
    archive.stall = threading.Event()
    archive.faults = {address.removeprefix(archive.base): [-len(data) * 2 // 3]}
    words = ["scrapy", "articles", "import", "--cc-news", "2026-11", "--processes", "1"]
    program = (
        "from newsbot.apps.archive import importing; importing.NOTE_EVERY = 0.0\n"
        f"from scrapy.cmdline import execute; execute({words})"
    )
    environment = {**os.environ, **place.environment, "NEWSBOT_CC_NEWS": archive.base}
    process = subprocess.Popen([sys.executable, "-c", program], cwd=ROOT, env=environment)
    while not _has_note(place):
        assert process.poll() is None
        time.sleep(0.05)
    process.kill()
    process.wait()
    archive.stall.set()
    archive.requests.clear()
    [row] = run(place, archive, "--json").json
    assert row["pages"] == 6
    assert urls(place) == [f"{HOST}/news/{n}" for n in range(1, 7)]
    (_, wanted) = archive.requests[1]
    assert int(wanted.removeprefix("bytes=").rstrip("-")) > 0


def test_the_processes_of_a_command_end_with_it(place, archive):
    addresses = archive.publish(pages(1, 2), pages(3, 4))
    archive.stall = threading.Event()
    archive.faults = {address.removeprefix(archive.base): [-100] for address in addresses}
    command = [
        sys.executable,
        "-m",
        "scrapy",
        "articles",
        "import",
        "--cc-news",
        "2026-11",
        "--processes",
        "2",
    ]
    environment = {**os.environ, **place.environment, "NEWSBOT_CC_NEWS": archive.base}
    process = subprocess.Popen(command, cwd=ROOT, env=environment)
    while len(archive.requests) < 3:  # the list, and each file once: both processes are working
        assert process.poll() is None
        time.sleep(0.05)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    assert len(children) >= 2
    process.kill()
    process.wait()
    while any(Path(f"/proc/{child}").exists() for child in children):
        time.sleep(0.05)
    archive.stall.set()
    assert [row["new"] for row in run(place, archive, "--json").json] == [2, 2]


def _has_note(place: Place) -> bool:
    if not (place.data / "newsbot.db").exists():
        return False
    with place.storage() as storage:
        return any(note["counts"].get("new", 0) >= 2 for note in storage.notes.all(importer.KIND).values())


def test_a_damaged_record_is_reported_and_other_records_are_read(place, archive):
    damaged = bytearray(pages(2, padding=2000))
    damaged[-900:-700] = bytes(200)
    [address] = archive.publish(pages(1) + damaged + pages(3))
    answer = run(place, archive, "--json")
    assert answer.code == 0
    assert (answer.json[0]["new"], answer.json[0]["damaged"]) == (2, 1)
    assert f"{address}: byte " in answer.err
    assert urls(place) == [f"{HOST}/news/1", f"{HOST}/news/3"]


def test_a_file_on_a_server_without_ranges_is_read_again_from_the_beginning(archive):
    data = random.Random(2).randbytes(50_000)
    archive.files = {"a": data}
    archive.faults = {"a": [-30_000, 500]}
    archive.ranges = False
    messages: list[str] = []
    file = RemoteFile(archive.base + "a", "newsbot", messages.append)
    file.seek(10_000)
    found = b""
    while piece := file.read(7000):
        found += piece
    assert found == data[10_000:]
    assert [line.partition(": ")[2].partition(" at byte")[0] for line in messages] == [
        "the response ended 20,000 bytes too early",
        "the server responded with status 500",
    ]


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("--cc-news", "2026-13"), 2, "'2026-13' is not a month; write it as 2026-11"),
        (("--cc-news", "2026-12"), 1, "there are no files for 2026-12 at"),
        (("--cc-news", "2026-11", "--sample", "2"), 2, "'2' is not a share; write a number above 0"),
        (("--cc-news", "2026-11", "--sites", "https://a.test/"), 2, "is not a domain"),
        (("a.warc", "--cc-news", "2026-11"), 2, "give either WARC files, folders or --cc-news MONTH"),
        ((), 2, "give either WARC files, folders or --cc-news MONTH"),
        (("a.warc", "--sample", ".1"), 2, "--sample works only with --cc-news"),
    ],
)
def test_user_errors_are_reported_in_one_line(place, archive, words, code, message):
    answer = place.run("articles", "import", *words, NEWSBOT_CC_NEWS=archive.base)
    assert answer.code == code
    assert message in answer.err.splitlines()[-1]
    assert "Traceback" not in answer.err


def test_an_unreachable_base_url_is_reported(place, archive):
    gone = "http://127.0.0.1:9/"
    answer = place.run("articles", "import", "--cc-news", "2026-11", NEWSBOT_CC_NEWS=gone)
    assert answer.code == 1
    last = answer.err.splitlines()[-1]
    assert "Connection refused" in last
    assert f"check whether {gone} is right (NEWSBOT_CC_NEWS)" in last
