"""The run log of an experiment, and its control over HTTP while it runs (``--listen``).

``GET /`` returns the state as JSON, and ``GET /log`` the run log. ``POST /pause`` stops the experiment after
the runs that have begun, and ``POST /continue`` lets it continue. On a loopback address, no token is needed,
but the ``Host`` header must have a loopback name, and pages of other sites may not send requests. On other
addresses, and if NEWSBOT_WEB_TOKEN is set, the token is needed (``Authorization: Bearer``).
"""

from __future__ import annotations

import hmac
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from newsbot import __version__
from newsbot.apps.simulator.model import Table
from newsbot.errors import ArgumentError, UserError

MIN_TOKEN = 16
"""Minimum length of a token in characters."""
REQUEST_SECONDS = 10.0
"""Maximum time in seconds for which a connection may be silent."""
MAX_BODY = 1024
"""Maximum length of a request's body in bytes. It is read and ignored."""


class RunLog:
    """The runs of an experiment that have ended. Threads can use it at the same time."""

    def __init__(self, command: str, total: int, shown: Callable[[], object] = lambda: None) -> None:
        """``total`` is the number of runs, and ``shown`` is called after each of them."""
        self._command, self._total, self._shown = command, total, shown
        self._rows: Table = []
        self._lock, self._going = threading.Lock(), threading.Event()
        self._going.set()
        self._last = self._began = time.monotonic()

    def ended(self, module: str, seed: int, run: str) -> None:
        """Add a run (:data:`newsbot.apps.simulator.model.Ended`). While paused, wait."""
        with self._lock:
            now = time.monotonic()
            self._rows.append(
                {
                    "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
                    "module": module,
                    "run": run,
                    "seed": seed,
                    "version": __version__,
                    "seconds": round(now - self._last, 3),
                }
            )
            self._last = now
            self._shown()
        self._going.wait()

    def pause(self) -> None:
        """Let each thread wait after its run."""
        self._going.clear()

    def proceed(self) -> None:
        """Continue after a pause."""
        self._going.set()

    def rows(self) -> Table:
        """Return the rows of the table ``run_log``. ``seconds`` is the time since the previous row."""
        with self._lock:
            return list(self._rows)

    def state(self) -> dict[str, Any]:
        """Return the state as a JSON-serializable dict."""
        rows = self.rows()
        return {
            "command": self._command,
            "version": __version__,
            "done": len(rows),
            "total": self._total,
            "paused": not self._going.is_set(),
            "seconds": round(time.monotonic() - self._began, 3),
            "last": rows[-1] if rows else None,
        }


@contextmanager
def listening(log: RunLog, place: str, token: str) -> Iterator[str]:
    """Serve the state of an experiment until the block ends. Yield the URL.

    ``place`` is ``PORT`` or ``HOST:PORT``. Raises :class:`ArgumentError` for an invalid place, and
    :class:`UserError` if the port is taken, or if the place needs a token.
    """
    host, port = _place(place)
    if not token and not _is_loopback(host):
        raise UserError(f"--listen {place} is reachable from other machines: set NEWSBOT_WEB_TOKEN")
    if token and len(token) < MIN_TOKEN:
        raise UserError(f"NEWSBOT_WEB_TOKEN has fewer than {MIN_TOKEN} characters; create a longer one")
    try:
        server = ThreadingHTTPServer((host, port), type("Asked", (Handler,), {"log": log, "token": token}))
    except OSError as error:
        raise UserError(f"--listen {place}: {error.strerror or error}; choose another port") from error
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.1,), name="control", daemon=True)
    thread.start()
    try:
        yield f"http://{host}:{server.server_address[1]}"
    finally:
        log.proceed()
        server.shutdown()
        server.server_close()
        thread.join()


def _place(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not port.isascii() or not port.isdigit() or int(port) > 65_535 or "[" in host:
        raise ArgumentError(f"--listen {text}: write a port, or HOST:PORT with an IPv4 address or a name")
    return host or "127.0.0.1", int(port)


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


class Handler(BaseHTTPRequestHandler):
    """Answers the requests about :attr:`log`."""

    timeout = REQUEST_SECONDS
    log: RunLog
    token = ""

    def _is_refused(self) -> bool:
        """Answer a request that is not allowed, and return True for it."""
        if self.token:
            given = self.headers.get("Authorization", "").removeprefix("Bearer ").strip()
            if hmac.compare_digest(given.encode(), self.token.encode()):
                return False
            self._answer(401, {"error": "send the header Authorization: Bearer TOKEN"})
            return True
        # A page of another site could send requests to this address, under its own name (DNS rebinding).
        if "Origin" in self.headers or not _is_loopback(_name(self.headers.get("Host", ""))):
            self._answer(403, {"error": "only programs on this machine may ask"})
            return True
        return False

    def do_GET(self) -> None:
        """Answer with the state or the run log."""
        if not self._is_refused():
            read = {"/": self.log.state, "/log": self.log.rows}.get(self.path)
            self._answer(*((404, {"error": "not found"}) if read is None else (200, read())))

    def do_POST(self) -> None:
        """Pause or continue, and answer with the state."""
        length = self.headers.get("Content-Length", "0")
        if not (length.isascii() and length.isdigit()) or int(length) > MAX_BODY:
            self._answer(413, {"error": "the body is too long"})
        elif not self._is_refused():
            self.rfile.read(int(length))
            act = {"/pause": self.log.pause, "/continue": self.log.proceed}.get(self.path)
            if act is not None:
                act()
            self._answer(*((404, {"error": "not found"}) if act is None else (200, self.log.state())))

    def _answer(self, status: int, document: object) -> None:
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_parts: object) -> None:
        """Write no log line for a request."""


def _name(header: str) -> str:
    try:
        return urlsplit(f"//{header}").hostname or ""
    except ValueError:
        return ""
