"""In any order of events, a URL is fetched under the spelling of its own site that answers 200."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from newsbot.crawl.failures import Ignored
from newsbot.crawl.visit import Found, Visit
from newsbot.items import Kind, Link, Where
from newsbot.middlewares.redirects import RedirectMiddleware
from newsbot.middlewares.reprocessing import ReprocessingMiddleware
from testbed.redisserver import RedisServer
from tests.builders import Desk, fill, make_request, make_response

STRANGE = (
    "http://victim.test/news/{}?utm_source=bad",
    "https://www.victim.test/news/{}",
    "http://victim.test//news//{}",
    "http://victim.test/news/{}?phpsessid=1",
    "http://victim.test/news/{};jsessionid=1",
    "http://www.victim.test/news/{}",
    "https://victim.test/news/{}",
    "http://victim.test:80/news/{}?gclid=1",
    "http://victim.test/news/{}",
)
OWN = (
    "http://victim.test/news/{}",
    "http://victim.test/news//{}",
    "http://victim.test/news/{}?utm_source=rss",
)
RULES = {name: f"domain: {name}\n" for name in ("victim.test", "attacker.test")}
NUMBERS = count()


class Life:
    """One URL with its own site and a foreign one; ``good`` is the spelling that answers 200."""

    def __init__(self, desk: Desk, name: int, good: str) -> None:
        self.desk, self.good = desk, good.format(name)
        self.strange = [one.format(name) for one in STRANGE]
        self.gate = ReprocessingMiddleware.from_crawler(desk.crawler)
        self.redirects = RedirectMiddleware.from_crawler(desk.crawler)
        self.flying: list[Visit] = []
        self.goes_to: dict[int, str] = {}
        """The targets of redirects, by :func:`id` of their visit."""
        self.read = False

    def link(self, url: str, site: str) -> None:
        link = Link(url=url, where=Where.FEED, kind=Kind.ARTICLE, text="A headline")
        visit = self.desk.visit(f"http://{site}/feed{next(NUMBERS)}.xml", Kind.FEED, where=Where.SEED)
        found = Found(links=(link,), referrer=f"http://{site}/feed.xml", depth=1)
        self.desk.crawl.links.queue(found, visit)
        fill(visit, status=200)
        self.desk.settle(visit)

    def redirect(self, url: str, site: str) -> None:
        """An article of ``site`` redirects to ``url``: the visit is now in progress."""
        self.flying.append(self.desk.visit(f"http://{site}/go/{next(NUMBERS)}"))
        self.goes_to[id(self.flying[-1])] = url

    def lease(self) -> bool:
        leases = self.desk.context.frontier.lease(
            "test", 1, horizon=self.desk.clock() + 1, ttl=1e6, accept=lambda host: "victim" in host
        )
        self.flying += [self.desk.begin(one) for one in leases]
        return bool(leases)

    def finish(self, number: int) -> None:
        if not self.flying:
            return
        visit = self.flying.pop(number % len(self.flying))
        url = visit.lease.entry.url
        try:
            request = make_request(visit)
            asyncio.run(self.gate.process_request(request))
            if to := self.goes_to.pop(id(visit), None):
                answer = make_response(request, status=301, headers={"Location": to})
                request = asyncio.run(self.redirects.process_response(request, answer))  # type: ignore[assignment]
                url = request.url
            self.answer(visit, url)
        except Ignored as fault:
            fill(visit, error=fault.cause)
        self.desk.settle(visit)

    def answer(self, visit: Visit, url: str) -> None:
        if url == self.good:
            fill(visit, status=200, is_article=True)
            self.read = True
        elif url.startswith("https:"):
            fill(visit, error="refused")
        else:
            fill(visit, status=404, error="http_404")


STEPS: dict[str, Callable[[Life, int], Any]] = {
    "stranger's link": lambda life, n: life.link(life.strange[n % len(STRANGE)], "attacker.test"),
    "stranger's redirect": lambda life, n: life.redirect(life.strange[n % len(STRANGE)], "attacker.test"),
    "own link": lambda life, n: life.link(life.good, "victim.test"),
    "own redirect": lambda life, n: life.redirect(life.good, "victim.test"),
    "lease": lambda life, n: life.lease(),
    "finish": lambda life, n: life.finish(n),
}


@pytest.fixture(params=["sqlite", "redis"])
def server(request: pytest.FixtureRequest) -> str:
    if request.param == "sqlite":
        return ""
    own: RedisServer = request.getfixturevalue("own_redis")
    return own.url


def test_no_order_of_discovery_loses_an_address(server: str, tmp_path: Path) -> None:
    more = {"REDIS_URL": server, "NEWSBOT_RETRY_SCALE": 0.0}
    desk = Desk(tmp_path, RULES, more)

    @given(
        good=st.sampled_from(OWN),
        steps=st.lists(st.tuples(st.sampled_from(sorted(STEPS)), st.integers(0, 9)), max_size=14),
        last=st.sampled_from(["own link", "own redirect"]),
    )
    @settings(max_examples=100, deadline=None)
    def run(good: str, steps: list[tuple[str, int]], last: str) -> None:
        life = Life(desk, next(NUMBERS), good)
        for name, number in [*steps, (last, 0)]:
            STEPS[name](life, number)
        for _ in range(20):
            life.lease()
            life.finish(0)
        assert life.read

    try:
        run()
    finally:
        desk.crawl.close()
