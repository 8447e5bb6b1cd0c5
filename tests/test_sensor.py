"""Sensors: what a site tells of its own changes, and that its visitors never notice."""

from __future__ import annotations

import asyncio
import gzip
import json
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from newsbot.push.signatures import is_notice
from newsbot.sensor import asgi, wsgi
from newsbot.sensor.accesslog import LogReader, lines
from newsbot.sensor.fingerprints import Changes, main_text_hash
from newsbot.sensor.notices import Notifier
from newsbot.sensor.watching import without_tracking
from tests.crawls import article_html

SECRET = "s3cret"
SITE = "https://my.test"


class Newsbot:
    """Takes notices; answers with ``status``."""

    def __init__(self) -> None:
        self.status = 202
        self.told: list[str] = []
        self.wrong: list[str] = []
        newsbot = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if not is_notice(self.headers["X-Newsbot-Signature"], SECRET, body, time.time()):
                    newsbot.wrong.append("signature")
                elif newsbot.status == 202:
                    newsbot.told += json.loads(body)["urlList"]
                self.send_response(newsbot.status)
                self.end_headers()

            def log_message(self, *_given: Any) -> None:
                """Say nothing."""

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


# --- what is a change
def test_only_the_running_text_counts() -> None:
    page = article_html(1)
    frame = page.replace("<body>", "<body><nav>Menu one two three four five</nav><div>1234 views</div>")
    assert main_text_hash(page.encode()) == main_text_hash(frame.encode())
    edited = page.replace("old town hall", "new town hall")
    assert main_text_hash(page.encode()) != main_text_hash(edited.encode())
    assert main_text_hash(b"<html><body>short</body></html>") is None
    assert main_text_hash(page.encode("cp1251", "replace"), "no-such-charset") is not None


@given(st.binary(max_size=3000))
def test_no_page_breaks_it(page: bytes) -> None:
    main_text_hash(page)
    main_text_hash(b"<script>" * 50 + page + b"<p>one two three four five")


def test_changes_are_told_once() -> None:
    changes = Changes()
    first, second = article_html(1).encode(), article_html(2).encode()
    assert [changes.is_news("/a", page) for page in (first, first, second, second, first)] == [
        True,
        False,
        True,
        False,
        True,
    ]


@pytest.mark.parametrize(
    ("path", "clean"),
    [
        ("/a", "/a"),
        ("/a?id=5", "/a?id=5"),
        ("/a?utm_source=x&id=5&fbclid=y", "/a?id=5"),
        ("/a?utm_source=x", "/a"),
    ],
)
def test_tracking_is_left_out(path: str, clean: str) -> None:
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
    assert sorted(newsbot.told) == [f"{SITE}/a", f"{SITE}/zip"]


def test_what_the_application_raises_goes_on_to_the_server() -> None:
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
        said: list[str] = []
        environ = {"REQUEST_METHOD": "GET", "PATH_INFO": path, "QUERY_STRING": "id=1"}
        answer = app(environ, lambda status, headers, said=said: said.append(status))
        assert b"".join(answer) == body
        assert said == [f"{PAGES[path][0]} said"]
        answer.close()  # type: ignore[attr-defined]  # as PEP 3333 asks of servers
    app.watch.close()
    assert sorted(newsbot.told) == [f"{SITE}/a?id=1", f"{SITE}/zip?id=1"]


def test_an_answer_that_breaks_off_is_not_looked_at(newsbot: Newsbot) -> None:
    app = wsgi.Sensor(wsgi_app, newsbot.url, SECRET, SITE)
    answer = app({"REQUEST_METHOD": "GET", "PATH_INFO": "/a"}, lambda *given: None)
    assert next(iter(answer))
    answer.close()  # type: ignore[attr-defined]  # as PEP 3333 asks of servers
    app.watch.close()
    assert newsbot.told == []


# --- sending
def test_a_newsbot_that_is_away_is_told_later(newsbot: Newsbot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("newsbot.sensor.notices.FIRST_PAUSE", 0.05)
    newsbot.status = 503
    notifier = Notifier(newsbot.url, SECRET, SITE, gather=0.01)
    notifier.changed(f"{SITE}/a")
    time.sleep(0.3)
    assert newsbot.told == []
    newsbot.status = 202
    end = time.monotonic() + 60
    while not newsbot.told:
        assert time.monotonic() < end
        time.sleep(0.02)
    notifier.close()
    assert newsbot.told == [f"{SITE}/a"]


def test_nobody_waits_for_a_newsbot_that_is_not_there() -> None:
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
def test_wrong_words_are_refused_at_the_start(url: str, secret: str, site: str) -> None:
    with pytest.raises(ValueError, match=r"no address|secret is empty"):
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
        (logged("/new?utm_source=x", 9000), False, "/new"),
        (logged("/new", 9010), False, None),
        (logged("/new", 12_000), False, None),
        (logged("/new", 9000), False, None),
        (logged("/new", 12_000), False, None),
        (logged("/new", 12_010), False, "/new"),
        (logged("/new", 12_000), False, None),
        (logged("/style.css?v=2", 100), False, None),
        (logged("/missing", 100, status=404), False, None),
        (logged("/form", 100, method="POST"), False, None),
        ("nonsense", False, None),
        ("x" * 100_000, False, None),
    ]
    assert [reader.news(line, learning=old) for line, old, _ in steps] == [news for _, _, news in steps]


def test_a_log_is_followed_past_its_rotation(tmp_path: Path) -> None:
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
        """The test has seen all."""

    def pause() -> None:
        step = next(steps, None)
        if step is None:
            raise Enough
        step()

    read: list[tuple[str, bool]] = []

    def read_all() -> None:
        for found in lines(log, follow=True, pause=pause):
            read.append(found)  # noqa: PERF402  (what was read before the end is looked at)

    with pytest.raises(Enough):
        read_all()
    assert [line for line, _ in read] == ["one", "two", "three", "four", "five", "6"]
    assert [old for _, old in read] == [True, True, False, False, False, False]
