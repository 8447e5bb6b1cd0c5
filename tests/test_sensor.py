"""Sensors: a site reports its own changes, without any effect on its visitors."""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import random
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from newsbot.apps.push.protocols import genuine_notice
from newsbot.apps.push.sensor import asgi, wsgi
from newsbot.apps.push.sensor.accesslog import LogReader, lines
from newsbot.apps.push.sensor.watching import Changes, Notifier, main_text_hash, without_tracking
from tests.crawls import article_html

SECRET = "s3cret"
SITE = "https://my.test"


class Newsbot:
    """Accepts notices; answers with ``status``."""

    def __init__(self) -> None:
        self.status = 202
        self.received: list[str] = []
        self.wrong: list[str] = []
        newsbot = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if not genuine_notice(self.headers["X-Newsbot-Signature"], SECRET, body, time.time()):
                    newsbot.wrong.append("signature")
                elif newsbot.status == 202:
                    newsbot.received += json.loads(body)["urlList"]
                self.send_response(newsbot.status)
                self.end_headers()

            def log_message(self, *_given: Any) -> None:
                """Do not log."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/push/notice"
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def newsbot() -> Iterator[Newsbot]:
    server = Newsbot()
    yield server
    server.close()
    assert not server.wrong


# --- detecting changes
def test_only_the_article_text_is_compared() -> None:
    page = article_html(1)
    frame = page.replace("<body>", "<body><nav>Menu one two three four five</nav><div>1234 views</div>")
    assert main_text_hash(page.encode()) == main_text_hash(frame.encode())
    edited = page.replace("old town hall", "new town hall")
    assert main_text_hash(page.encode()) != main_text_hash(edited.encode())
    assert main_text_hash(b"<html><body>short</body></html>") is None
    assert main_text_hash(page.encode("cp1251", "replace"), "no-such-charset") is not None


@given(st.binary(max_size=3000))
def test_any_page_is_accepted(page: bytes) -> None:
    main_text_hash(page)
    main_text_hash(b"<script>" * 50 + page + b"<p>one two three four five")


def test_changes_are_reported_once() -> None:
    changes = Changes()
    first, second = article_html(1).encode(), article_html(2).encode()
    assert [changes.is_news("/a", page) for page in (first, first, second, second, first)] == [
        True,
        False,
        True,
        False,
        True,
    ]
    third = article_html(3).encode()
    assert sum(changes.is_news(f"/c?x={n}", third) for n in range(150)) == 1, (
        "one text at many URLs is reported once"
    )


@pytest.mark.parametrize(
    ("path", "clean"),
    [
        ("/a", "/a"),
        ("/a?id=5", "/a?id=5"),
        ("/a?utm_source=x&id=5&fbclid=y", "/a?id=5"),
        ("/a?utm_source=x", "/a"),
    ],
)
def test_tracking_parameters_are_removed(path: str, clean: str) -> None:
    assert without_tracking(path) == clean


# --- ASGI
PAGES: dict[str, tuple[int, dict[str, str], bytes]] = {
    "/a": (200, {"Content-Type": "text/html"}, article_html(1).encode()),
    "/zip": (
        200,
        {"Content-Type": "text/html; charset=utf-8", "Content-Encoding": "gzip"},
        gzip.compress(article_html(3).encode()),
    ),
    "/bad-zip": (200, {"Content-Type": "text/html", "Content-Encoding": "gzip"}, b"no gzip"),
    "/mine": (200, {"Content-Type": "text/html", "Cache-Control": "private"}, article_html(4).encode()),
    "/gone": (404, {"Content-Type": "text/html"}, article_html(5).encode()),
    "/data": (200, {"Content-Type": "application/json"}, b"{}"),
}


async def asgi_app(scope: Mapping[str, Any], receive: Any, send: Any) -> None:
    status, headers, body = PAGES[scope["path"]]
    pairs = [(name.encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": pairs})
    await send({"type": "http.response.body", "body": body[:100], "more_body": True})
    await send({"type": "http.response.body", "body": body[100:]})


async def ask(app: asgi.Sensor, path: str, method: str = "GET") -> tuple[int, bytes]:
    got: list[Any] = []

    async def send(message: Any) -> None:
        got.append(message)

    scope = {"type": "http", "method": method, "path": path, "query_string": b"utm_source=x", "headers": []}
    await app(scope, None, send)  # type: ignore[arg-type]  # the application reads nothing
    return got[0]["status"], b"".join(message["body"] for message in got[1:])


def test_asgi(newsbot: Newsbot) -> None:
    async def test() -> None:
        app = asgi.Sensor(asgi_app, newsbot.url, SECRET, SITE)
        for path, (status, _, body) in [*PAGES.items(), *PAGES.items()]:
            assert await ask(app, path) == (status, body)
        await ask(app, "/a", "POST")
        await asyncio.to_thread(app.watch.close)

    asyncio.run(test())
    assert sorted(newsbot.received) == [f"{SITE}/a", f"{SITE}/zip"]


def test_exceptions_of_the_application_reach_the_server() -> None:
    async def broken(scope: Any, receive: Any, send: Any) -> None:
        raise RuntimeError("the site's own fault")

    app = asgi.Sensor(broken, "http://127.0.0.1:9/", SECRET, SITE)
    with pytest.raises(RuntimeError, match="own fault"):
        asyncio.run(ask(app, "/a"))


# --- WSGI
def wsgi_app(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    status, headers, body = PAGES[environ["PATH_INFO"]]
    start_response(f"{status} said", list(headers.items()))
    return [body[:100], body[100:]]


def test_wsgi(newsbot: Newsbot) -> None:
    app = wsgi.Sensor(wsgi_app, newsbot.url, SECRET, SITE)
    for path, (_, _, body) in [*PAGES.items(), *PAGES.items()]:
        statuses: list[str] = []
        environ = {"REQUEST_METHOD": "GET", "PATH_INFO": path, "QUERY_STRING": "id=1"}
        answer = app(environ, lambda status, headers, statuses=statuses: statuses.append(status))
        assert b"".join(answer) == body
        assert statuses == [f"{PAGES[path][0]} said"]
        answer.close()  # type: ignore[attr-defined]  # as PEP 3333 requires of servers
    app.watch.close()
    assert sorted(newsbot.received) == [f"{SITE}/a?id=1", f"{SITE}/zip?id=1"]


def test_an_incomplete_response_is_ignored(newsbot: Newsbot) -> None:
    app = wsgi.Sensor(wsgi_app, newsbot.url, SECRET, SITE)
    answer = app({"REQUEST_METHOD": "GET", "PATH_INFO": "/a"}, lambda *arguments: None)
    assert next(iter(answer))
    answer.close()  # type: ignore[attr-defined]  # as PEP 3333 requires of servers
    app.watch.close()
    assert newsbot.received == []


# --- sending
def test_notices_are_sent_later_if_newsbot_is_unreachable(
    newsbot: Newsbot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("newsbot.apps.push.sensor.watching.FIRST_PAUSE", 0.05)
    newsbot.status = 503
    notifier = Notifier(newsbot.url, SECRET, SITE, gather=0.01)
    notifier.changed(f"{SITE}/a")
    time.sleep(0.3)
    assert newsbot.received == []
    newsbot.status = 202
    end = time.monotonic() + 60
    while not newsbot.received:
        assert time.monotonic() < end
        time.sleep(0.02)
    notifier.close()
    assert newsbot.received == [f"{SITE}/a"]


def test_an_unreachable_newsbot_does_not_block_the_site() -> None:
    notifier = Notifier("http://127.0.0.1:9/push/notice", SECRET, SITE, gather=0.0)
    for number in range(12_000):
        notifier.changed(f"{SITE}/{number}")
    notifier.close(5)


@pytest.mark.parametrize(
    ("url", "secret", "site"),
    [
        ("newsbot.test", SECRET, SITE),
        ("ftp://a.test/", SECRET, SITE),
        ("http://a.test/", "", SITE),
        ("http://a/", "x", "my"),
    ],
)
def test_invalid_arguments_are_refused_at_the_start(url: str, secret: str, site: str) -> None:
    with pytest.raises(ValueError, match=r"not a URL|secret is empty"):
        Notifier(url, secret, site)


# --- access logs
def logged(path: str, size: int, status: int = 200, method: str = "GET") -> str:
    when = "21/Nov/2026:10:00:00 +0000"
    return f'203.0.113.5 - - [{when}] "{method} {path} HTTP/1.1" {status} {size} "-" "Mozilla/5.0 (X11)"'


def test_a_log_shows_new_pages_and_lasting_changes_of_size() -> None:
    reader = LogReader()
    steps = [
        (logged("/old", 5000), True, None),
        (logged("/old", 5000), False, None),
        (logged("/new/story-1?utm_source=x", 9000), False, "/new/story-1"),
        (logged("/new/story-1", 9010), False, None),
        (logged("/new/story-1", 12_000), False, None),
        (logged("/new/story-1", 9000), False, None),
        (logged("/new/story-1", 12_000), False, None),
        (logged("/new/story-1", 12_010), False, "/new/story-1"),
        (logged("/new/story-1", 12_000), False, None),
        (logged("/style.css?v=2", 100), False, None),
        (logged("/missing", 100, status=404), False, None),
        (logged("/form", 100, method="POST"), False, None),
        ("nonsense", False, None),
        ("x" * 100_000, False, None),
    ]
    assert [reader.news(line, learning=old) for line, old, _ in steps] == [news for _, _, news in steps]


def news_of(lines_of_a_log: Iterable[str], reader: LogReader | None = None) -> list[str]:
    reader = reader or LogReader()
    return [news for line in lines_of_a_log if (news := reader.news(line)) is not None]


def test_queries_added_by_visitors_are_not_reported_as_news() -> None:
    article, other = "/2026/11/21/bridge-falls.html", "/2026/11/21/river-rises.html"
    found = news_of(
        [logged(article, 30_000), *(logged(f"{article}?x={n}", 30_000 + n % 7) for n in range(150))]
    )
    assert found == [article]
    found = news_of([logged(f"{other}?x={n}", 41_000 - n % 7) for n in range(150)])
    assert len(found) == 1
    written = [
        "/2026/11//21/bridge-falls.html",
        "/2026/11/21/%62ridge-falls.html",
        "/2026/11/21/Bridge-Falls.html",
    ]
    written += [f"{article}{end}" for end in (";x=1", ";y", "/x-1", "/2-a-longer-ending", "/.", "#x")]
    assert news_of([logged(article, 30_000), *(logged(one, 30_100) for one in written)]) == [article]
    sizes = [logged(f"/index.php?option=view&article={n}", 20_000 + 3_000 * n) for n in range(10)]
    assert len(news_of(sizes)) == 10, "if the query selects the page, it is part of the URL"


def test_a_page_sent_with_different_compression_has_not_changed() -> None:
    draw = random.Random(5)
    pages = [f"/2026/11/21/story-number-{n}.html" for n in range(50)]
    log = [logged(page, 9_000 if draw.random() < 0.7 else 31_000) for _ in range(200) for page in pages]
    found = news_of(log)
    assert len(log) == 10_000
    assert set(found) == set(pages)
    assert len(found) <= 2 * len(pages)
    reader = LogReader()
    news_of(log, reader)
    edited = [logged(pages[0], 10_500), logged(pages[0], 10_500)]
    assert news_of(edited, reader) == [pages[0]]


@pytest.mark.parametrize(
    "path",
    ["/", "/search?q=bridge", "/tag/bridge", "/login?next=/", "/cart", "/page/7", "/wp-admin/"],
)
def test_urls_that_cannot_be_articles_are_not_reported(path: str) -> None:
    assert news_of([logged(path, 5000), logged(path, 9000), logged(path, 9000)]) == []


@pytest.mark.parametrize(
    "path", ["/news/15.html", "/bridge-falls", "/politik/artikel-id123.html", "/?p=123", "/12345", "/story/5"]
)
def test_urls_that_may_be_articles_are_reported(path: str) -> None:
    assert news_of([logged(path, 5000)]) == [path]


def test_a_restart_does_not_report_old_pages(tmp_path: Path) -> None:
    old = [f"/2026/11/21/story-number-{n}.html" for n in range(3)]
    log = tmp_path / "access.log"
    (tmp_path / "access.log-20261120.gz").write_bytes(gzip.compress(f"{logged(old[0], 5000)}\n".encode()))
    (tmp_path / "access.log.1").write_text(f"{logged(old[1], 5000)}\n")
    (tmp_path / "access.log.2.gz").write_bytes(b"no gzip")
    os.utime(tmp_path / "access.log.2.gz", (1, 1))
    (tmp_path / "access.log.offset").mkdir()
    log.write_text(f"{logged(old[2], 5000)}\n")
    new = "/2026/11/22/story-number-9.html"

    class Enough(Exception):
        """Raised when the test has seen enough."""

    def pause() -> None:
        if len(log.read_text().splitlines()) > 1:
            raise Enough
        log.write_text("\n".join(logged(path, 5000) for path in (*old, new)) + "\n")

    reader, reported = LogReader(), []

    def follow() -> None:
        for line, learning in lines(log, follow=True, pause=pause):
            reported.append(reader.news(line, learning=learning))

    with pytest.raises(Enough):
        follow()
    assert [path for path in reported if path] == [new]


def test_lines_written_before_the_start_are_not_reported() -> None:
    reader = LogReader(since=datetime(2026, 11, 21, 10, 30, tzinfo=UTC).timestamp())
    before, after = logged("/2026/11/21/one-story.html", 5000), logged("/2026/11/21/two-stories.html", 5000)
    assert news_of([before, after.replace("10:00:00 +0000", "11:45:00 +0100")], reader) == [
        "/2026/11/21/two-stories.html"
    ]


def test_a_log_is_followed_after_its_rotation(tmp_path: Path) -> None:
    log = tmp_path / "access.log"
    log.write_text("one\ntwo\n")
    rotated = tmp_path / "access.log.1"

    def add(text: str, path: Path = log) -> None:
        with path.open("a") as file:
            file.write(text)

    def rotate() -> None:
        log.rename(rotated)
        add("four\n", rotated)

    steps: Iterator[Callable[[], object]] = iter(
        (
            partial(add, "thr"),
            partial(add, "ee\n"),
            rotate,
            partial(add, "five\n"),
            partial(log.write_text, "6\n"),
        )
    )

    class Enough(Exception):
        """Raised when the test has seen enough."""

    def pause() -> None:
        step = next(steps, None)
        if step is None:
            raise Enough
        step()

    read: list[tuple[str, bool]] = []

    def read_all() -> None:
        for found in lines(log, follow=True, pause=pause):
            read.append(found)  # noqa: PERF402  (the part before the end is checked)

    with pytest.raises(Enough):
        read_all()
    assert [line for line, _ in read] == ["one", "two", "three", "four", "five", "6"]
    assert [old for _, old in read] == [True, True, False, False, False, False]
