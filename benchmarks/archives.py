"""The cost of importing archives: ``python -m benchmarks.archives SET… [--pages N] [--processes N …]``.

SET is a folder of saved pages (``index.jsonl`` with ``url`` and ``html``, and ``html/*.html.gz``). The
benchmark writes the pages to ``FILES`` WARC files like those of CC-NEWS. An HTTP server on loopback serves
them to ``scrapy articles import --cc-news``. The benchmark prints the pages per second, the CPU time of the
import per page, and the number of cores that the import used on average.
"""

from __future__ import annotations

import argparse
import gzip
import io
import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from itertools import islice
from pathlib import Path

from newsbot.apps.archive.writer import packed, to_record
from newsbot.urls import host_key, site_of

FILES = 8
MONTH = "crawl-data/CC-NEWS/2026/11"
Page = tuple[str, bytes]


def read_pages(folder: Path, count: int) -> list[Page]:
    """Return URL and content of saved pages."""
    lines = (folder / "index.jsonl").read_text(encoding="utf-8").splitlines()
    entries = (json.loads(line) for line in lines)
    return [
        (entry["url"], gzip.decompress((folder / entry["html"]).read_bytes()))
        for entry in islice(
            (entry for entry in entries if (entry.get("url") or "").startswith("http")), count
        )
    ]


def archive_file(pages: Iterable[Page]) -> bytes:
    """Return a WARC file of responses, with one gzip member per record."""
    file = io.BytesIO()
    for url, body in pages:
        head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
        headers = {
            "WARC-Type": "response",
            "WARC-Record-ID": f"urn:x:{hash(url)}",
            "WARC-Date": "2026-11-20T10:00:00Z",
            "WARC-Target-URI": url,
            "Content-Type": "application/http; msgtype=response",
        }
        file.write(packed(to_record(head + body, headers)))
    return file.getvalue()


def measure(folder: Path, pages: list[Page], processes: int) -> str:
    """Import the pages with ``processes`` processes and return one line of figures."""
    (folder / MONTH).mkdir(parents=True)
    names = []
    for number in range(FILES):
        names.append(f"{MONTH}/CC-NEWS-20261101000000-{number:05}.warc.gz")
        (folder / names[-1]).write_bytes(archive_file(pages[number::FILES]))
    (folder / MONTH / "warc.paths.gz").write_bytes(
        gzip.compress("".join(f"{name}\n" for name in names).encode())
    )
    server = ThreadingHTTPServer(("127.0.0.1", 0), lambda *a: _Handler(*a, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sites = sorted({site_of(host_key(url)) for url, _ in pages})
    command = [sys.executable, "-m", "scrapy", "articles", "import", "--cc-news", "2026-11", "--json"]
    command += ["--processes", str(processes), "--sites", ",".join(sites)]
    began, cpu = time.perf_counter(), _cpu()
    done = subprocess.run(
        command,
        env=os.environ
        | {
            "NEWSBOT_DATA": str(folder / "data"),
            "NEWSBOT_CC_NEWS": f"http://127.0.0.1:{server.server_port}/",
        },
        check=True,
        stdout=subprocess.PIPE,
    )
    wall, cpu = time.perf_counter() - began, _cpu() - cpu
    server.shutdown()
    rows = json.loads(done.stdout)
    new, read = (sum(row[key] for row in rows) for key in ("new", "pages"))
    return (
        f"{processes} processes: {read} pages, {new} articles in {wall:.1f} s: {read / wall:.1f} pages a "
        f"second, {1000 * cpu / read:.0f} ms CPU a page, {cpu / wall:.1f} cores, start included"
    )


class _Handler(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("sets", type=Path, metavar="SET", nargs="+")
    parser.add_argument("--pages", type=int, default=2000)
    parser.add_argument("--processes", type=int, nargs="+", default=[1, os.cpu_count() or 1])
    options = parser.parse_args()
    pages = [page for folder in options.sets for page in read_pages(folder, options.pages)][: options.pages]
    for processes in options.processes:
        with tempfile.TemporaryDirectory() as name:
            print(measure(Path(name), pages, processes), flush=True)


if __name__ == "__main__":
    main()
