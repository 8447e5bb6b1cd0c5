"""A TCP proxy on loopback that delays what a client sends, like a distant or busy server."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_CHUNK = 1 << 20


@contextmanager
def slow_proxy(port: int, seconds: float) -> Iterator[int]:
    """Relay connections to ``port`` with a delay of ``seconds`` per command. Yield the port of the proxy."""
    loop = asyncio.new_event_loop()

    async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, delay: float) -> None:
        with suppress(ConnectionError):
            while data := await reader.read(_CHUNK):
                if delay:
                    await asyncio.sleep(delay)
                writer.write(data)
                await writer.drain()
        writer.close()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            answers, commands = await asyncio.open_connection("127.0.0.1", port)
        except ConnectionError:
            writer.close()
            return
        await asyncio.gather(relay(reader, commands, seconds), relay(answers, writer, 0.0))

    server = loop.run_until_complete(asyncio.start_server(serve, "127.0.0.1", 0, limit=_CHUNK))
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield int(server.sockets[0].getsockname()[1])
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        server.close()
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.run_until_complete(asyncio.sleep(0))
        loop.close()
