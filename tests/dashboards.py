"""A dashboard over a test's data, and its clients, all in one process on loopback."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import Any

from aiohttp import ClientResponse, ClientSession, CookieJar, FormData

from newsbot.apps.web.service import running

TOKEN = "a token of more than 16 signs"


@dataclass
class Visitor:
    """A client of the dashboard that sends requests like a browser or like a program."""

    address: str
    client: ClientSession
    impatient: bool = False
    """True to get pages whose figures are being computed; otherwise they are loaded again, like in a
    browser."""

    async def get(self, path: str, **headers: str) -> tuple[ClientResponse, str]:
        """Return the answer and its text."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        while True:
            async with self.client.get(self.address + path, headers=named, allow_redirects=False) as answer:
                text = await answer.text()
            if self.impatient or not ("Refresh" in answer.headers or 'data-refresh="1"' in text):
                return answer, text
            await asyncio.sleep(0.05)

    async def post(
        self, path: str, form: dict[str, str] | FormData, **headers: str
    ) -> tuple[ClientResponse, str]:
        """Send a form."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        async with self.client.post(
            self.address + path, data=form, headers=named, allow_redirects=False
        ) as answer:
            return answer, await answer.text()


def settings_of(folder: Path, **more: Any) -> dict[str, Any]:
    """Return settings with the data and the rules in a folder."""
    rules = folder / "rules"
    rules.mkdir(exist_ok=True)
    if not list(rules.iterdir()):
        (rules / "news.test.yaml").write_text("domain: news.test\nfeeds: https://news.test/feed.xml\n")
    return {"NEWSBOT_DATA": str(folder), "NEWSBOT_RULES": str(rules), **more}


_SETTINGS = {
    "token": "NEWSBOT_WEB_TOKEN",
    "allow_private": "NEWSBOT_ALLOW_PRIVATE",
    "sensor_secret": "NEWSBOT_SENSOR_SECRET",
    "per_host": "NEWSBOT_PUSH_PER_HOST",
    "per_sender": "NEWSBOT_PUSH_PER_SENDER",
}


def started(
    settings: dict[str, Any],
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    public_url: str = "",
    once: str = "",
    **more: Any,
) -> AbstractAsyncContextManager[str]:
    """Run the server within the block, which gets its address. ``more`` are settings by their short names."""
    merged = settings | {_SETTINGS[name]: value for name, value in more.items()}
    return running(merged, host, port, public_url, once)


@asynccontextmanager
async def visiting(settings: dict[str, Any], **options: Any) -> AsyncIterator[Visitor]:
    """Run the dashboard within the block."""
    async with (
        started(settings, **options) as address,
        ClientSession(cookie_jar=CookieJar(unsafe=True)) as client,
    ):
        yield Visitor(address, client)


def visit(settings: dict[str, Any], work: Callable[[Visitor], Awaitable[None]], **options: Any) -> None:
    """Run the dashboard, and let ``work`` send requests to it."""

    async def whole() -> None:
        async with visiting(settings, **options) as visitor:
            await work(visitor)

    asyncio.run(whole())


def _call(loop: asyncio.AbstractEventLoop, stop: asyncio.Event) -> None:
    loop.call_soon_threadsafe(stop.set)


@contextmanager
def served(settings: dict[str, Any], **options: Any) -> Iterator[str]:
    """Run the dashboard in a thread within the block, which gets its address. For clients without asyncio."""
    address: Future[str] = Future()
    ended: list[Callable[[], None]] = []

    async def whole() -> None:
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        ended.append(lambda: None if loop.is_closed() else _call(loop, stop))
        try:
            async with started(settings, **options) as found:
                address.set_result(found)
                await stop.wait()
        except BaseException as error:
            if not address.done():
                address.set_exception(error)
            raise

    thread = Thread(target=asyncio.run, args=(whole(),))
    thread.start()
    try:
        yield address.result(60)
    finally:
        for end in ended:
            end()
        thread.join(60)
        assert not thread.is_alive()
