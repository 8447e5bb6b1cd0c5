"""How many files of newsbot one article passes through, from its feed to the acknowledged lease.

A small site on loopback has a feed with one new article. It is crawled under a profiler that records each
call of a newsbot function in all threads. The benchmark counts the visited files of newsbot, and the moves:
calls whose nearest caller within newsbot is in another file. Two ranges are printed. Both end when the
article's lease has been acknowledged:

* ``feed``: from the answer to the request for the feed;
* ``link``: from the first call outside feed parsing that gets the article's link as an argument.

    python -m benchmarks.distance [--files] [--json]

``--files`` lists the visited files of the first range, with the calls in each.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import FrameType
from typing import Any, Final
from urllib.parse import urlsplit

ROOT: Final = Path(__file__).resolve().parent.parent
PACKAGE: Final = f"{ROOT / 'newsbot'}{os.sep}"
HOST: Final = "distance.example"
FEED: Final = f"http://{HOST}/feed.xml"
ARTICLE: Final = f"http://{HOST}/2026/11/20/the-bridge-over-the-river-is-open-again"
PARSING: Final = "pages/discovery/"
"""A folder of the package. Its files get the link while the feed is parsed."""
ENDS: Final = ("frontier/", "ack_all")
"""The range ends with a call of this method for the article's lease, in a file with this prefix."""
TEXT: Final = (
    "The council opened the bridge over the river again after two years of repairs on Friday morning.",
    "Engineers replaced forty beams, and the work cost three million more than the first estimate said.",
    "Residents of the northern quarter had taken the ferry to school and to the market since the flood.",
    "The mayor thanked the workers and said that buses will cross the bridge from Monday on every hour.",
    "A second bridge is planned further south, but the county has not decided yet who will pay for it.",
)
TITLE: Final = "The bridge over the river is open again"
JSON_LD: Final = {
    "@context": "https://schema.org",
    "@type": "NewsArticle",
    "headline": TITLE,
    "datePublished": "2026-11-20T08:00:00Z",
    "dateModified": "2026-11-20T09:30:00Z",
    "author": {"@type": "Person", "name": "Mary Miller"},
    "articleSection": "Region",
    "keywords": "bridge, river",
}
MENU: Final = "".join(
    f"<li><a href='/{name}/'>{name.title()}</a></li>" for name in ("region", "sport", "culture")
)
RELATED: Final = "".join(
    f"<li><a href='/2026/11/{day}/the-ferry-over-the-river-sails-{day}-times'>The ferry sails</a></li>"
    for day in range(10, 18)
)
PAGE: Final = (
    f"<html lang='en'><head><title>{TITLE} | Distance News</title><link rel='canonical' href='{ARTICLE}'>"
    f"<meta property='og:title' content='{TITLE}'><meta property='og:site_name' content='Distance News'>"
    f"<meta name='description' content='{TEXT[0]}'><link rel='amphtml' href='{ARTICLE}/amp'>"
    f"<script type='application/ld+json'>{json.dumps(JSON_LD)}</script></head><body>"
    f"<nav><ul>{MENU}</ul></nav><main><article><h1>{TITLE}</h1><p class='byline'>By Mary Miller</p>"
    f"<time datetime='2026-11-20T08:00:00Z'>20 November 2026</time>"
    + "".join(f"<p>{' '.join(TEXT[at:] + TEXT[:at])}</p>" for at in range(len(TEXT)))
    + f"</article><aside><h2>Read more</h2><ul>{RELATED}</ul></aside></main>"
    "<footer><p>© 2026 Distance News. All rights reserved.</p></footer></body></html>"
)
RSS: Final = (
    f"<rss version='2.0'><channel><title>Distance News</title><item><title>{TITLE}</title>"
    f"<link>{ARTICLE}</link><guid>{ARTICLE}</guid><pubDate>Fri, 20 Nov 2026 08:00:00 GMT</pubDate>"
    f"<description>{TEXT[0]}</description></item></channel></rss>"
)


@dataclass(slots=True)
class Range:
    """Calls and moves since the start of the range."""

    calls: Counter[str] = field(default_factory=Counter)
    """Calls by file, relative to the package."""
    moves: int = 0

    def add(self, file: str, caller: str | None) -> None:
        """Count a call."""
        self.calls[file] += 1
        self.moves += caller is not None and caller != file


class Tracer:
    """A profile function that counts calls in newsbot's files."""

    def __init__(self) -> None:
        self.feed: Range | None = None
        self.link: Range | None = None
        self.ended = False

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        """Handle an event of :func:`sys.setprofile`."""
        code = frame.f_code
        if self.ended or code.co_name == "<module>" or not code.co_filename.startswith(PACKAGE):
            return
        file = code.co_filename[len(PACKAGE) :]
        if event == "call":
            self._begin(frame, file)
            caller = _caller(frame)
            for one in (self.feed, self.link):
                if one is not None:
                    one.add(file, caller)
        elif event == "return" and self.link is not None:
            self.ended = file.startswith(ENDS[0]) and code.co_name == ENDS[1] and _is_ended(frame)

    def _begin(self, frame: FrameType, file: str) -> None:
        if self.feed is None:
            self.feed = Range() if _is_given(frame, "status", FEED) else None
        elif self.link is None and not file.startswith(PARSING):
            self.link = Range() if _is_given(frame) else None


def _caller(frame: FrameType) -> str | None:
    """Return the file of the nearest caller within newsbot."""
    back = frame.f_back
    while back is not None:
        if back.f_code.co_filename.startswith(PACKAGE):
            return back.f_code.co_filename[len(PACKAGE) :]
        back = back.f_back
    return None


def _is_ended(frame: FrameType) -> bool:
    """Return True if the article's lease is among those that a call of ``ack_all`` ends."""
    return any(lease.entry.url == ARTICLE for lease, _ in frame.f_locals["done"])


def _is_given(frame: FrameType, has: str = "", url: str = ARTICLE) -> bool:
    """Return True if an argument is the URL or has it as ``url``, and also has the attribute ``has``."""
    code = frame.f_code
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    for value in (frame.f_locals.get(name) for name in names if name not in {"self", "cls"}):
        entry = getattr(value, "entry", value)
        if has and not hasattr(value, has):
            continue
        if value == url or getattr(entry, "url", None) == url:
            return True
    return False


def _child(result: str, *words: str) -> None:
    """Run Scrapy with these arguments under the tracer, and write the result."""
    from scrapy.cmdline import execute  # noqa: PLC0415

    tracer = Tracer()
    threading.setprofile(tracer)
    sys.setprofile(tracer)
    try:
        execute(["scrapy", *words])
    finally:
        sys.setprofile(None)
        if tracer.ended and tracer.feed and tracer.link:
            ranges = {
                name: {"calls": one.calls, "moves": one.moves}
                for name, one in (("feed", tracer.feed), ("link", tracer.link))
            }
            Path(result).write_text(json.dumps(ranges), encoding="utf-8")


def measure() -> list[dict[str, Any]]:
    """Crawl the site; return a row for each range. Raises ``RuntimeError`` if no article was acknowledged."""
    site = {"/feed.xml": ("application/rss+xml", RSS), urlsplit(ARTICLE).path: ("text/html", PAGE)}
    with tempfile.TemporaryDirectory(prefix="newsbot-distance-") as name, _serving(site) as proxy:
        folder = Path(name)
        (folder / "rules").mkdir()
        rule = f"domain: {HOST}\nfeeds: [{FEED}]\nfollow: [feeds, links]\ndelay: 0\n"
        (folder / "rules" / f"{HOST}.yaml").write_text(rule, encoding="utf-8")
        environment = {
            name: value for name, value in os.environ.items() if not name.startswith("NEWSBOT_")
        } | {
            "http_proxy": proxy,
            "https_proxy": proxy,
            "no_proxy": "",
            "REDIS_URL": "",
            "MONGO_URI": "",
            "NEWSBOT_DATA": str(folder / "data"),
            "NEWSBOT_RULES": str(folder / "rules"),
        }
        words = ("crawl", "news", "-L", "WARNING", "-s", "NEWSBOT_PROGRESS=0", "-s", "NEWSBOT_MAX_AGE_DAYS=0")
        command = [sys.executable, "-m", "benchmarks.distance", "child", str(folder / "ranges.json"), *words]
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        if not (folder / "ranges.json").exists():
            raise RuntimeError(f"no article was acknowledged: {done.stderr[-3000:]}")
        ranges = json.loads((folder / "ranges.json").read_text(encoding="utf-8"))
    return [
        {"from": name, "files": len(one["calls"]), "moves": one["moves"], "calls": one["calls"]}
        for name, one in ranges.items()
    ]


@contextmanager
def _serving(site: Mapping[str, tuple[str, str]]) -> Iterator[str]:
    """Serve the site as a forward proxy on loopback; yield its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            kind, text = site.get(urlsplit(self.path).path, ("", ""))
            self.send_response(200 if text else 404)
            self.send_header("Content-Type", f"{kind or 'text/plain'}; charset=utf-8")
            self.send_header("Content-Length", str(len(text.encode())))
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_: object) -> None:  # no log
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def main() -> None:
    """Measure and print."""
    if sys.argv[1:2] == ["child"]:
        _child(*sys.argv[2:])
        return
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--files", action="store_true", help="list the files")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows = measure()
    if options.json:
        print(json.dumps(rows))
        return
    print(f"{'one article, from its':24}{'files':>7}{'moves':>8}")
    for row in rows:
        print(f"{row['from']:24}{row['files']:7}{row['moves']:8}")
    if options.files:
        for file, calls in sorted(rows[0]["calls"].items()):
            print(f"{calls:7}  {file}")


if __name__ == "__main__":
    main()
