"""A newsbot that gets push notifications, with a hub and a site, all on loopback in one process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiohttp import ClientResponse, ClientSession, web

from newsbot.apps.operations.notifier_trust import TRUST
from newsbot.apps.web.push import SUBSCRIPTION
from newsbot.clock import system_clock
from newsbot.crawl.sources import HUB
from newsbot.frontier.sqlite.frontier import SqliteFrontier
from newsbot.items import Kind, PageRecord
from newsbot.storage.base import SourceRecord
from newsbot.storage.sqlite import SqliteStorage
from newsbot.urls import canonicalize, fingerprint, host_key
from tests.dashboards import started

US = "http://us.test"
"""The callback address for the hub."""

Answerer = Callable[[Mapping[str, str]], web.Response]


@dataclass
class Hub:
    """A WebSub hub: records requests, verifies when the test asks for it."""

    url: str = ""
    requests: list[dict[str, str]] = field(default_factory=list)
    answer: Answerer = lambda form: web.Response(status=202)

    async def handle(self, request: web.Request) -> web.Response:
        """Handle a request of a subscriber."""
        form = {key: str(value) for key, value in (await request.post()).items()}
        self.requests.append(form)
        return self.answer(form)


@dataclass
class Place:
    """The data of a test, and the addresses of its servers."""

    folder: Path
    address: str
    site: str
    hub: Hub
    client: ClientSession
    files: dict[str, bytes]
    """The pages of the site, by path."""
    requested: list[str]
    """The paths that were requested from the site."""

    @property
    def feed(self) -> str:
        """The URL of the feed that the tests are about."""
        return f"{self.site}/feed.xml"

    async def get(self, path: str, **query: str) -> ClientResponse:
        """Send a GET request to newsbot's receiver."""
        return await self.client.get(self.address + path, params=query)

    async def post(self, path: str, data: Any, **headers: str) -> ClientResponse:
        """Send a POST request to newsbot's receiver."""
        named = {key.replace("_", "-"): value for key, value in headers.items()}
        return await self.client.post(self.address + path, data=data, headers=named)

    def due(self) -> set[str]:
        """Return the URLs that are due now."""
        frontier = SqliteFrontier(self.folder / "newsbot.db", clock=system_clock)
        try:
            leases = frontier.lease("test", 100, horizon=system_clock(), ttl=60)
            found = {lease.entry.url for lease in leases}
            frontier.release("test")
            return found
        finally:
            frontier.close()

    def work(self) -> set[str]:
        """Fetch all due pages, as a worker does; return their URLs. No page is due afterwards."""
        frontier = SqliteFrontier(self.folder / "newsbot.db", clock=system_clock)
        try:
            leases = frontier.lease("worker", 100, horizon=system_clock(), ttl=60)
            for lease in leases:
                frontier.ack(lease, next_due=None)
            return {lease.entry.url for lease in leases}
        finally:
            frontier.close()

    def count_poll(self, new_links: int) -> None:
        """Record a poll of the source, and its number of new links."""
        storage = SqliteStorage(self.folder / "newsbot.db")
        (record,) = storage.sources.all()
        record.polls += 1
        record.new_links += new_links
        storage.sources.save([record])
        storage.close()

    async def review(self) -> None:
        """Wait until newsbot has reviewed the outcome of notices."""
        before = self.trust()
        await until(lambda: self.trust() != before)

    def trust(self) -> dict[str, dict[str, Any]]:
        """The stored trust in notifiers."""
        storage = SqliteStorage(self.folder / "newsbot.db")
        try:
            return storage.notes.all(TRUST)
        finally:
            storage.close()

    def subscriptions(self) -> list[dict[str, Any]]:
        """The stored subscriptions."""
        storage = SqliteStorage(self.folder / "newsbot.db")
        try:
            return list(storage.notes.all(SUBSCRIPTION).values())
        finally:
            storage.close()


async def until(there: Callable[[], object]) -> None:
    """Wait for a condition."""
    for _ in range(1500):
        if there():
            return
        await asyncio.sleep(0.02)
    raise AssertionError("the condition did not become true")


@asynccontextmanager
async def receiver(folder: Path, **options: Any) -> AsyncIterator[Place]:
    """Run a newsbot that knows one feed of one site, with a hub."""
    (folder / "rules").mkdir(exist_ok=True)
    (folder / "rules" / "news.test.yaml").write_text("domain: news.test\n")
    hub = Hub()
    files: dict[str, bytes] = {}
    requested: list[str] = []
    async with ClientSession() as client, hub_and_site(hub, files, requested) as site:
        hub.url = f"{site}/hub"
        _know_feed(folder, f"{site}/feed.xml", hub.url)
        settings = {"NEWSBOT_DATA": str(folder), "NEWSBOT_RULES": str(folder / "rules")}
        more: dict[str, Any] = {"allow_private": True, "public_url": US, **options}
        async with started(settings, **more) as address:
            yield Place(folder, address, site, hub, client, files, requested)


@asynccontextmanager
async def hub_and_site(hub: Hub, files: Mapping[str, bytes], requested: list[str]) -> AsyncIterator[str]:
    async def serve_file(request: web.Request) -> web.Response:
        requested.append(request.path)
        body = files.get(request.path)
        return web.Response(status=404) if body is None else web.Response(body=body)

    app = web.Application()
    app.router.add_post("/hub", hub.handle)
    app.router.add_get("/{path:.*}", serve_file)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield "http://{}:{}".format(*runner.addresses[0][:2])
    finally:
        await runner.cleanup()


def _know_feed(folder: Path, url: str, hub: str) -> None:
    storage = SqliteStorage(folder / "newsbot.db")
    key, host = fingerprint(canonicalize(url)), host_key(url)
    page = PageRecord(
        url=url,
        fingerprint=key,
        host=host,
        source="127.0.0.1",
        kind=Kind.FEED,
        state="done",
        last_fetched=1.0,
    )
    storage.pages.discover([page])
    storage.pages.save([page])
    storage.sources.save([SourceRecord(url=url, source="127.0.0.1", kind=Kind.FEED, polls=1)])
    storage.notes.save(HUB, url, {"topic": url, "hubs": [hub]})
    storage.close()
    frontier = SqliteFrontier(folder / "newsbot.db", clock=system_clock)
    frontier.set_politeness(host, delay=0, concurrency=8)
    frontier.close()
