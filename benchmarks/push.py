"""Delay from publication to the stored article with a WebSub hub: ``python -m benchmarks.push``.

A site with a feed and a WebSub hub, ``scrapy serve`` and a continuous crawl run as separate processes on
loopback. The site publishes an article, adds it to the feed, and its hub sends a notification. The benchmark
measures the time until the article is stored. For comparison, the benchmark repeats this without a hub. Then
the delay depends on the polling interval.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import signal
import socket
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from aiohttp import ClientSession, web

from newsbot.apps.push.signatures import sign
from newsbot.storage.sqlite import SqliteStorage
from tests.crawls import ROOT, article_html

LOOK_EVERY = 0.01
LATEST = 60.0
"""An article that is not stored after this many seconds counts as missing."""


@dataclass
class Site:
    """A feed, its articles and its hub."""

    base: str = ""
    numbers: list[int] = field(default_factory=list)
    subscriber: dict[str, str] = field(default_factory=dict)
    verified: asyncio.Event = field(default_factory=asyncio.Event)

    def url(self, number: int) -> str:
        """Return the URL of an article."""
        return f"{self.base}/2024/05/03/story-{number}.html"

    async def feed(self, _request: web.Request) -> web.Response:
        """Return the feed with the 20 newest articles."""
        items = "".join(
            f"<item><title>Story {number}</title><link>{self.url(number)}</link></item>"
            for number in reversed(self.numbers[-20:])
        )
        hub = f'<a:link xmlns:a="http://www.w3.org/2005/Atom" rel="hub" href="{self.base}/hub"/>'
        text = f'<rss version="2.0"><channel><title>t</title>{hub}{items}</channel></rss>'
        return web.Response(text=text, content_type="application/rss+xml")

    async def article(self, request: web.Request) -> web.Response:
        """Return an article."""
        return web.Response(text=article_html(int(request.match_info["number"])), content_type="text/html")

    async def hub(self, request: web.Request) -> web.Response:
        """Accept a subscription and verify it immediately."""
        self.subscriber = {key: str(value) for key, value in (await request.post()).items()}
        self._task = asyncio.ensure_future(self._verify())
        return web.Response(status=202)

    async def _verify(self) -> None:
        query = {
            "hub.mode": "subscribe",
            "hub.topic": self.subscriber["hub.topic"],
            "hub.challenge": "challenge",
            "hub.lease_seconds": "86400",
        }
        async with (
            ClientSession() as client,
            client.get(self.subscriber["hub.callback"], params=query) as answer,
        ):
            assert await answer.text() == "challenge"
        self.verified.set()

    async def tell(self, client: ClientSession, number: int) -> None:
        """Send the hub's notification of a change."""
        body = f"<rss>{number}</rss>".encode()
        header = "sha256=" + sign("sha256", self.subscriber["hub.secret"].encode(), body)
        await client.post(self.subscriber["hub.callback"], data=body, headers={"X-Hub-Signature": header})


@asynccontextmanager
async def site_on_loopback(site: Site) -> AsyncIterator[None]:
    """Serve the site within the block."""
    app = web.Application()
    app.router.add_get("/feed.xml", site.feed)
    app.router.add_get(r"/2024/05/03/story-{number:\d+}.html", site.article)
    app.router.add_post("/hub", site.hub)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    site.base = "http://{}:{}".format(*runner.addresses[0][:2])
    try:
        yield
    finally:
        await runner.cleanup()


@asynccontextmanager
async def scrapy(folder: Path, *words: str) -> AsyncIterator[None]:
    """Run a command of newsbot within the block."""
    environment = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    environment |= {
        "NEWSBOT_DATA": str(folder / "data"),
        "NEWSBOT_RULES": str(folder / "rules"),
        "NEWSBOT_ALLOW_PRIVATE": "1",
    }
    with (folder / f"{words[0]}.log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "scrapy", *words, cwd=ROOT, env=environment, stdout=log, stderr=log
        )
        try:
            yield
        finally:
            process.send_signal(signal.SIGINT)
            await process.wait()


async def delays_of(site: Site, data: Path, articles: int, pause: float, *, pushed: bool) -> list[float]:
    """Publish articles at irregular moments. Return for each article the seconds until it was stored."""
    storage = SqliteStorage(data / "newsbot.db")
    spread = random.Random(1)
    delays = []
    async with ClientSession() as client:
        for number in range(1, articles + 1):
            await asyncio.sleep(pause * spread.uniform(0.5, 1.5))
            began = time.monotonic()
            site.numbers.append(number)
            if pushed:
                await site.tell(client, number)
            url = site.url(number)
            while storage.articles.get(url) is None and time.monotonic() - began < LATEST:  # noqa: ASYNC110  (a file)
                await asyncio.sleep(LOOK_EVERY)
            delays.append(time.monotonic() - began)
    storage.close()
    return delays


async def measure(articles: int, pause: float, interval: int, *, pushed: bool) -> list[float]:
    """Return the delays with or without a hub."""
    site = Site(numbers=[0])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "rules").mkdir()
        async with site_on_loopback(site):
            rule = f"domain: 127.0.0.1\nfeeds: [{site.base}/feed.xml]\ndelay: 0\n"
            rule += f"interval: {{feed: {interval}s}}\nrecrawl: {{feed: fixed}}\n"
            (folder / "rules" / "127.0.0.1.yaml").write_text(rule)
            async with scrapy(folder, "crawl", "news", "-a", "mode=continuous"):
                while not (folder / "data" / "newsbot.db").exists():  # noqa: ASYNC110  (a file)
                    await asyncio.sleep(0.1)
                await asyncio.sleep(3)
                if not pushed:
                    return await delays_of(site, folder / "data", articles, pause, pushed=False)
                port = free_port()
                public = f"http://127.0.0.1:{port}"
                words = (
                    "serve",
                    "--port",
                    str(port),
                    "--public-url",
                    public,
                    "-s",
                    "NEWSBOT_PUSH_PER_HOST=100000",
                )
                async with scrapy(folder, *words):
                    await asyncio.wait_for(site.verified.wait(), 60)
                    return await delays_of(site, folder / "data", articles, pause, pushed=True)


def free_port() -> int:
    """Return an unused port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def main() -> None:
    """Print the delays with and without a hub."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--articles", type=int, default=100)
    parser.add_argument("--pause", type=float, default=0.5, help="seconds between two articles, on average")
    parser.add_argument("--interval", type=int, default=10, help="seconds between two polls without a hub")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows = {}
    for way, number in (("hub", options.articles), ("polls", max(5, options.articles // 20))):
        found = asyncio.run(measure(number, options.pause, options.interval, pushed=way == "hub"))
        cuts = statistics.quantiles(found, n=20, method="inclusive")
        rows[way] = {
            "articles": number,
            "p50": statistics.median(found),
            "p95": cuts[18],
            "max": max(found),
            "lost": sum(delay >= LATEST for delay in found),
        }
    if options.json:
        print(json.dumps(rows, indent=2))
        return
    print("seconds from publication until the article is stored")
    for way, row in rows.items():
        print(
            f"{way:6} {row['articles']:4} articles: p50 {row['p50']:.2f}  p95 {row['p95']:.2f}  "
            f"max {row['max']:.2f}  not stored {row['lost']}"
        )


if __name__ == "__main__":
    main()
