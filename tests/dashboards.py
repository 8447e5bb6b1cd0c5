"""A dashboard over data of a test's own, and clients that ask it, all in one process on loopback."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aiohttp import ClientResponse, ClientSession, CookieJar

from newsbot.web.service import Options, running

TOKEN = "a token of more than 16 signs"


@dataclass
class Visitor:
    """Asks the dashboard, as a browser or as a program."""

    address: str
    client: ClientSession

    async def get(self, path: str, **headers: str) -> tuple[ClientResponse, str]:
        """Return the answer and its text."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        async with self.client.get(self.address + path, headers=named, allow_redirects=False) as answer:
            return answer, await answer.text()

    async def post(self, path: str, form: dict[str, str], **headers: str) -> tuple[ClientResponse, str]:
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


@asynccontextmanager
async def visiting(settings: dict[str, Any], **options: Any) -> AsyncIterator[Visitor]:
    """Serve within the block."""
    given = Options(**{"host": "127.0.0.1", "port": 0, **options})
    async with (
        running(settings, given) as address,
        ClientSession(cookie_jar=CookieJar(unsafe=True)) as client,
    ):
        yield Visitor(address, client)


def visit(settings: dict[str, Any], work: Callable[[Visitor], Awaitable[None]], **options: Any) -> None:
    """Serve, and let ``work`` ask."""

    async def whole() -> None:
        async with visiting(settings, **options) as visitor:
            await work(visitor)

    asyncio.run(whole())
