"""A web site behind TLS on loopback that speaks HTTP/2 or only HTTP/1.1: hypercorn, which is not ours."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hypercorn.asyncio import serve
from hypercorn.config import Config

from tests.certificates import self_signed


@dataclass(slots=True)
class Asked:
    """One request: when it came, its protocol (``2`` or ``1.1``), the connection, the path."""

    at: float
    version: str
    connection: int
    path: str
    headers: dict[str, str]


@dataclass
class Http2Site:
    """Serves ``pages`` (path to content type and body) and keeps what was asked."""

    port: int
    pages: dict[str, tuple[str, bytes]] = field(default_factory=dict)
    log: list[Asked] = field(default_factory=list)

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        """Answer as an ASGI application."""
        if scope["type"] != "http":
            return
        while (await receive()).get("more_body"):
            pass  # hypercorn closes the connection of who answers before the end of a request
        path = scope["path"]
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        self.log.append(Asked(time.monotonic(), scope["http_version"], scope["client"][1], path, headers))
        kind, body = self.pages.get(path, ("text/plain", b"nothing here"))
        status = 200 if path in self.pages else 404
        fields = [(b"content-type", kind.encode())]
        await send({"type": "http.response.start", "status": status, "headers": fields})
        await send({"type": "http.response.body", "body": body})


@contextmanager
def http2_site(folder: Path, *, speaks: tuple[str, ...] = ("h2", "http/1.1")) -> Iterator[Http2Site]:
    """Serve a site within the block; ``speaks`` is what it offers by ALPN."""
    self_signed(folder)
    listening = socket.create_server(("127.0.0.1", 0))
    site = Http2Site(listening.getsockname()[1])
    config = Config()
    config.bind = [f"fd://{listening.fileno()}"]
    config.certfile = config.keyfile = str(folder / "certificate.pem")
    config.alpn_protocols = list(speaks)
    config.accesslog = config.errorlog = None
    config.graceful_timeout = config.shutdown_timeout = 0.5
    stop, ready = threading.Event(), threading.Event()

    async def run() -> None:
        async def wait() -> None:
            ready.set()
            while not stop.is_set():  # noqa: ASYNC110  (set by another thread)
                await asyncio.sleep(0.02)

        await serve(site, config, shutdown_trigger=wait)  # type: ignore[arg-type]

    thread = threading.Thread(target=lambda: asyncio.run(run()), name="http2-site", daemon=True)
    thread.start()
    assert ready.wait(60)
    try:
        yield site
    finally:
        stop.set()
        thread.join(60)
        listening.detach()
