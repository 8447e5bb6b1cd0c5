"""A web of many hosts in memory. A separate process serves it, writes a log and reports its CPU time.

It needs little CPU time: answers are made beforehand, and only the request line is read. Clients use it as a
forward proxy, so that each host has its own name.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import time
from collections.abc import Mapping
from multiprocessing.connection import Connection
from typing import NamedTuple, Self
from urllib.parse import urlsplit

NOT_FOUND = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"


class Hit(NamedTuple):
    """One request: POSIX seconds of its arrival, and its URL."""

    at: float
    url: str


class Report(NamedTuple):
    """The requests of a site since the last report."""

    log: list[Hit]
    cpu_seconds: float


def answer(body: bytes, content_type: str = "text/html; charset=utf-8") -> bytes:
    """Return a complete response for :class:`Site`."""
    head = f"HTTP/1.1 200 OK\r\nContent-Type: {content_type}\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


class Site:
    """Serves ``pages`` (URL -> response) within a ``with`` block, ``delay`` seconds after each request."""

    def __init__(self, pages: Mapping[str, bytes], *, delay: float = 0.0) -> None:
        here, there = multiprocessing.Pipe()
        self._pipe = here
        # fork: the pages need not be copied
        self._process = multiprocessing.get_context("fork").Process(
            target=_serve, args=(pages, delay, there), daemon=True
        )
        self.port = 0

    def __enter__(self) -> Self:
        self._process.start()
        self.port = self._pipe.recv()
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.join()

    @property
    def environment(self) -> dict[str, str]:
        """Environment variables that send all requests of a client to this site."""
        address = f"http://127.0.0.1:{self.port}"
        return {"http_proxy": address, "https_proxy": address, "no_proxy": ""}

    def requests(self) -> int:
        """Return how many pages were served since the last report."""
        self._pipe.send("requests")
        return int(self._pipe.recv())

    def report(self) -> Report:
        """Return the requests since the last report, and start a new one."""
        self._pipe.send("report")
        log, seconds = self._pipe.recv()
        return Report([Hit(*hit) for hit in log], seconds)


class _Protocol(asyncio.Protocol):
    def __init__(self, pages: Mapping[str, bytes], delay: float, log: list[tuple[float, str]]) -> None:
        self._pages, self._delay, self._log = pages, delay, log
        self._rest = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._rest += data
        while (end := self._rest.find(b"\r\n\r\n")) >= 0:
            url = self._rest.split(b" ", 2)[1].decode("latin-1")
            self._rest = self._rest[end + 4 :]
            found = self._pages.get(url)
            if found is not None:
                self._log.append((time.time(), url))
            if self._delay:
                asyncio.get_running_loop().call_later(self._delay, self._transport.write, found or NOT_FOUND)
            else:
                self._transport.write(found or NOT_FOUND)


def _serve(pages: Mapping[str, bytes], delay: float, pipe: Connection) -> None:
    asyncio.run(_main(pages, delay, pipe))


async def _main(pages: Mapping[str, bytes], delay: float, pipe: Connection) -> None:
    log: list[tuple[float, str]] = []
    began = time.process_time()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: _Protocol(pages, delay, log), "127.0.0.1", 0)
    pipe.send(server.sockets[0].getsockname()[1])

    def send_report() -> None:
        nonlocal began
        if pipe.recv() == "requests":
            pipe.send(len(log))
            return
        now = time.process_time()
        pipe.send((list(log), now - began))
        log.clear()
        began = now

    loop.add_reader(pipe.fileno(), send_report)
    await server.serve_forever()


def host_of(url: str) -> str:
    """Return the host of a URL in the log."""
    return urlsplit(url).netloc
