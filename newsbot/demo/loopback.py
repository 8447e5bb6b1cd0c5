"""A small HTTP/1.1 server and forward proxy on loopback: any number of host names on one port.

A client that is given ``http_proxy`` (see :attr:`LoopbackServer.environment`) sends the whole URL
in the request line (RFC 9112, 3.2.2 absolute-form), so the host in it may be any name. Plain HTTP
only: ``CONNECT`` is answered 501. An :class:`Answer` can also misbehave: wait, break off, hang up.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from email.utils import formatdate, parsedate_to_datetime
from http import HTTPStatus
from types import TracebackType
from typing import Self
from urllib.parse import parse_qsl, urlsplit

MAX_HEADERS = 100
MAX_LINE = 2**16
MAX_BODY = 2**20
START_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Request:
    """What a client asked for. ``path`` includes the query; ``host`` is lower case, without port 80."""

    method: str
    host: str
    path: str
    headers: Mapping[str, str]
    body: bytes = b""

    @property
    def query(self) -> dict[str, str]:
        """The parameters of the query, the last of each name."""
        return dict(parse_qsl(urlsplit(self.path).query, keep_blank_values=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the server sends back."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    kind: str = ""
    """A word for the log: what this page is."""
    pieces: Iterable[bytes] | None = None
    """Sent one by one, chunked, in place of ``body``; may be endless."""
    pause: float = 0.0
    """Seconds between pieces."""
    delay: float = 0.0
    """Seconds before anything is sent."""
    cut: int | None = None
    """Break the connection after so many bytes of the body; 0 sends the headers only."""
    hang_up: bool = False
    """Close the connection without an answer."""
    last_modified: float | None = None
    """POSIX seconds; with it If-Modified-Since is answered."""
    validators: bool = True
    """Send an ETag and answer conditional requests."""


@dataclass(frozen=True, slots=True)
class Record:
    """One request in the log. ``at`` is POSIX seconds of its arrival."""

    at: float
    method: str
    host: str
    path: str
    kind: str
    status: int
    conditional: bool
    active: int
    """Requests to this host under way at that time, this one included."""
    user_agent: str | None


Handler = Callable[[Request], Answer]
Listener = Callable[[Record], None]


class LoopbackServer:
    """Serves ``handler`` on 127.0.0.1 from a thread of its own, between :meth:`start` and :meth:`stop`."""

    def __init__(self, handler: Handler, *, port: int = 0, listener: Listener | None = None) -> None:
        self.port = port
        self.log: list[Record] = []
        """Every request, in the order of its answer. Appended by the server's thread."""
        self._handler = handler
        self._listener = listener
        self._active: defaultdict[str, int] = defaultdict(int)
        self._clients: set[asyncio.Task[None]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping: asyncio.Event | None = None
        self._ready = threading.Event()
        self._fault: OSError | None = None
        self._thread = threading.Thread(target=self._run, name="loopback-server", daemon=True)

    @property
    def address(self) -> str:
        """``http://127.0.0.1:PORT``, without a slash at the end."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def environment(self) -> dict[str, str]:
        """Environment variables that send a client's HTTP requests here, whatever their host."""
        return {"http_proxy": self.address, "https_proxy": self.address, "no_proxy": ""}

    def start(self) -> Self:
        """Listen. Raises ``OSError`` when the port is taken."""
        self._thread.start()
        self._ready.wait(START_SECONDS)
        if self._fault is not None:
            raise self._fault
        return self

    def stop(self) -> None:
        """Close all connections and wait for the thread. Harmless when it has stopped."""
        if self._loop is not None and self._stopping is not None and self._thread.is_alive():
            with contextlib.suppress(RuntimeError):  # the loop may close in this instant
                self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join(START_SECONDS)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except OSError as error:
            self._fault = error
        finally:
            self._ready.set()

    async def _serve(self) -> None:
        self._loop, self._stopping = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(self._client, "127.0.0.1", self.port, limit=MAX_LINE)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stopping.wait()
        server.close()
        for task in self._clients:
            task.cancel()
        await asyncio.gather(*self._clients, return_exceptions=True)

    async def _client(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None  # start_server runs this as a task
        self._clients.add(task)
        try:
            while (request := await _read(reader)) is not None and await self._serve_one(request, writer):
                pass
        except (OSError, ValueError, EOFError):
            pass  # the client went away, or speaks no HTTP: nobody is left to tell
        except asyncio.CancelledError:
            pass  # stop() ends us here; asyncio's streams report a cancelled client as a fault (Python 3.11)
        finally:
            self._clients.discard(task)
            writer.close()
            with contextlib.suppress(OSError, asyncio.CancelledError):
                await writer.wait_closed()

    async def _serve_one(self, request: Request, writer: asyncio.StreamWriter) -> bool:
        """Answer one request; False when the connection cannot be used any longer."""
        arrived = time.time()
        self._active[request.host] += 1
        try:
            answer = _refuse_tunnel() if request.method == "CONNECT" else self._ask(request)
            if answer.delay:
                await asyncio.sleep(answer.delay)
            answer, headers = _with_validators(request, answer)
            self._note(request, answer, arrived)
            if answer.hang_up:
                return False
            return await _send(request, answer, headers, writer)
        finally:
            self._active[request.host] -= 1

    def _ask(self, request: Request) -> Answer:
        try:
            return self._handler(request)
        except Exception as error:  # noqa: BLE001  # a fault of the handler must not hang the client
            text = f"the server's own fault: {error!r}\n"
            return Answer(status=500, body=text.encode(), kind="fault", validators=False)

    def _note(self, request: Request, answer: Answer, arrived: float) -> None:
        record = Record(
            arrived,
            request.method,
            request.host,
            request.path,
            answer.kind,
            0 if answer.hang_up else answer.status,
            "if-none-match" in request.headers or "if-modified-since" in request.headers,
            self._active[request.host],
            request.headers.get("user-agent"),
        )
        self.log.append(record)
        if self._listener is not None:
            self._listener(record)


async def _read(reader: asyncio.StreamReader) -> Request | None:
    """Read one request (RFC 9112); None at the end of the connection. Raises ``ValueError``."""
    line = await reader.readline()
    if not line.strip():
        return None
    method, target, _version = line.decode("latin-1").split(" ", 2)
    headers: dict[str, str] = {}
    while (row := await reader.readline()).strip():
        name, _, value = row.decode("latin-1").partition(":")
        headers[name.strip().lower()] = value.strip()
        if len(headers) > MAX_HEADERS:
            raise ValueError("too many header lines")
    length = int(headers.get("content-length") or 0)
    if not 0 <= length <= MAX_BODY:
        raise ValueError("request body too long")
    body = await reader.readexactly(length)
    if method == "CONNECT":
        return Request(method, target.rpartition(":")[0].lower(), "", headers)
    parts = urlsplit(target)
    host = (parts.netloc or headers.get("host", "")).lower().removesuffix(":80")
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Request(method, host, path, headers, body)


def _refuse_tunnel() -> Answer:
    return Answer(status=501, body=b"plain HTTP only\n", kind="tunnel", validators=False)


def _with_validators(request: Request, answer: Answer) -> tuple[Answer, dict[str, str]]:
    """Add validators to a whole answer, or turn it into a 304 (RFC 9110, 13.1)."""
    headers = dict(answer.headers)
    if answer.status != 200 or answer.pieces is not None or not answer.validators:
        return answer, headers
    etag = headers.setdefault("ETag", f'"{hashlib.sha256(answer.body).hexdigest()[:20]}"')
    if answer.last_modified is not None:
        headers.setdefault("Last-Modified", formatdate(answer.last_modified, usegmt=True))
    if _is_unchanged(request.headers, etag, answer.last_modified):
        return Answer(status=304, kind=answer.kind), headers
    return answer, headers


def _is_unchanged(headers: Mapping[str, str], etag: str, last_modified: float | None) -> bool:
    known = headers.get("if-none-match")
    if known is not None:  # it wins over If-Modified-Since
        tags = [tag.strip().removeprefix("W/") for tag in known.split(",")]
        return etag.removeprefix("W/") in tags or "*" in tags
    since = headers.get("if-modified-since")
    if since is None or last_modified is None:
        return False
    try:
        return int(last_modified) <= parsedate_to_datetime(since).timestamp()
    except ValueError:
        return False


async def _send(
    request: Request, answer: Answer, headers: dict[str, str], writer: asyncio.StreamWriter
) -> bool:
    lines = {"Server": "newsbot-loopback", "Date": formatdate(usegmt=True), **headers}
    bare = request.method == "HEAD" or answer.status in (204, 304)
    if answer.pieces is not None:
        lines["Transfer-Encoding"] = "chunked"
    elif answer.status not in (204, 304):
        lines.setdefault("Content-Length", str(len(answer.body)))
    if request.method == "CONNECT":
        lines["Connection"] = "close"
    writer.write(_head(answer.status, lines))
    if bare:
        await writer.drain()
        return True
    if answer.pieces is not None:
        return await _send_pieces(answer, writer)
    writer.write(answer.body if answer.cut is None else answer.body[: answer.cut])
    await writer.drain()
    return answer.cut is None and lines.get("Connection") != "close"


def _head(status: int, lines: Mapping[str, str]) -> bytes:
    try:
        phrase = HTTPStatus(status).phrase
    except ValueError:
        phrase = "Unknown"
    rows = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    return f"HTTP/1.1 {status} {phrase}\r\n{rows}\r\n".encode("latin-1")


async def _send_pieces(answer: Answer, writer: asyncio.StreamWriter) -> bool:
    sent = 0
    for piece in answer.pieces or ():
        if not piece:
            continue  # an empty chunk would end the body
        writer.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        await writer.drain()
        sent += len(piece)
        if answer.cut is not None and sent >= answer.cut:
            return False
        await asyncio.sleep(answer.pause)
    writer.write(b"0\r\n\r\n")
    await writer.drain()
    return True
