"""A small HTTP/1.1 server and forward proxy on loopback: any number of host names on one port.

A client that is given ``http_proxy`` (see :attr:`LoopbackServer.environment`) sends the whole URL
in the request line (RFC 9112, 3.2.2 absolute-form), so any host name can be used. ``CONNECT`` is answered
with 501, unless the server has a TLS context: then every tunnel ends at the server itself. An
:class:`Answer` can also misbehave: wait, break off, hang up.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from types import TracebackType
from typing import Self

from newsbot.apps.demo.server import ServedRequest
from testbed.messages import Answer, Request
from testbed.wire import open_tunnel, read_request, refuse_tunnel, send, with_validators

MAX_LINE = 2**16
START_SECONDS = 10.0

Handler = Callable[[Request], Answer]
Listener = Callable[[ServedRequest], None]


class LoopbackServer:
    """Serves ``handler`` on 127.0.0.1 in a thread of its own, between :meth:`start` and :meth:`stop`."""

    def __init__(
        self,
        handler: Handler,
        *,
        port: int = 0,
        listener: Listener | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.port = port
        self.log: list[ServedRequest] = []
        """All requests, in the order of their answers. The server's thread appends them."""
        self._handler = handler
        self._listener = listener
        self._tls = tls
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
        """Environment variables that send all HTTP requests of a client to this server."""
        return {"http_proxy": self.address, "https_proxy": self.address, "no_proxy": ""}

    def start(self) -> Self:
        """Listen. Raises ``OSError`` when the port is taken."""
        self._thread.start()
        self._ready.wait(START_SECONDS)
        if self._fault is not None:
            raise self._fault
        return self

    def stop(self) -> None:
        """Close all connections and wait for the thread. Does nothing if the server has stopped."""
        if self._loop is not None and self._stopping is not None and self._thread.is_alive():
            with contextlib.suppress(RuntimeError):  # the loop may be closed at this moment
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
            while (request := await read_request(reader)) is not None and await self._serve_one(
                request, writer
            ):
                pass
        except (OSError, ValueError, EOFError):
            pass  # the client is gone or does not speak HTTP: an answer is not possible
        except asyncio.CancelledError:
            pass  # stop() cancels this task; Python 3.11's streams would log the cancellation as an error
        finally:
            self._clients.discard(task)
            writer.close()
            with contextlib.suppress(OSError, asyncio.CancelledError):
                await writer.wait_closed()

    async def _serve_one(self, request: Request, writer: asyncio.StreamWriter) -> bool:
        """Answer one request; False if the connection cannot be used again."""
        if request.method == "CONNECT" and self._tls is not None:
            await open_tunnel(writer, self._tls)
            return True
        arrived = time.time()
        self._active[request.host] += 1
        try:
            answer = refuse_tunnel() if request.method == "CONNECT" else self._ask(request)
            if answer.delay:
                await asyncio.sleep(answer.delay)
            answer, headers = with_validators(request, answer)
            self._note(request, answer, arrived)
            if answer.hang_up:
                return False
            return await send(request, answer, headers, writer)
        finally:
            self._active[request.host] -= 1

    def _ask(self, request: Request) -> Answer:
        try:
            return self._handler(request)
        except Exception as error:  # noqa: BLE001  # the client must not hang if the handler fails
            text = f"the server's own fault: {error!r}\n"
            return Answer(status=500, body=text.encode(), kind="fault", validators=False)

    def _note(self, request: Request, answer: Answer, arrived: float) -> None:
        record = ServedRequest(
            arrived,
            request.method,
            request.host,
            request.path,
            answer.kind,
            0 if answer.hang_up else answer.status,
            not answer.hang_up and answer.cut is None,
            "if-none-match" in request.headers or "if-modified-since" in request.headers,
            self._active[request.host],
            request.headers.get("user-agent"),
        )
        self.log.append(record)
        if self._listener is not None:
            self._listener(record)
