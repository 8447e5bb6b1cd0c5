"""The demo as a live site: articles appear at random moments; each host shows its published articles."""

from __future__ import annotations

import random
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from benchmarks.demoweb.hosts import GAZETA, HERALD, NOVOSTI, Host
from benchmarks.demoweb.messages import Answer, Request
from benchmarks.demoweb.plan import MIN_ARTICLES, PER_FEED, Paper, Plan, Way, make_plan
from benchmarks.demoweb.web import DemoWeb
from newsbot.clock import Clock, utc

FEEDS: Mapping[Host, str] = {GAZETA: "/rss.xml", HERALD: "/feed/atom.xml", NOVOSTI: "/rss/rdf.xml"}
"""The hosts of the live site, with the paths of their feeds."""


@dataclass(frozen=True, slots=True)
class Life:
    """The articles to be published, in the order of their ``moments`` (POSIX seconds)."""

    moments: Sequence[float]
    papers: Sequence[Paper]


def make_life(rates: Mapping[Host, float], begin: float, end: float, seed: int) -> Life:
    """Return the articles from ``begin`` to ``end``. ``rates``: articles per hour by host."""
    draw = random.Random(seed)
    hours = (end - begin) / 3600
    counts = {host: round(rate * hours) for host, rate in rates.items()}
    enough = max(count / host.share for host, count in counts.items())
    plan = make_plan(max(MIN_ARTICLES, int(1.1 * enough) + 20), seed=seed, now=utc(end))
    born: list[tuple[float, Paper]] = []
    for host, count in counts.items():
        for paper in plan.of(host)[:count]:
            at = draw.uniform(begin, end)
            published = utc(at).astimezone(host.zone)
            ways = frozenset({Way.FEED, Way.SECTION})
            alive = replace(paper, published=published, ways=ways, fault="", family=None)
            born.append((at, alive))
    born.sort(key=lambda one: one[0])
    return Life([at for at, _ in born], [paper for _, paper in born])


class LiveWeb:
    """Answers requests with the state of the hosts at ``clock()``. Called by one thread."""

    def __init__(self, life: Life, clock: Clock) -> None:
        self._clock = clock
        self._hosts = {host.ascii: host for host in FEEDS}
        self._born = {
            host: [
                (at, paper) for at, paper in zip(life.moments, life.papers, strict=True) if paper.host is host
            ]
            for host in FEEDS
        }
        self._shown: dict[Host, tuple[int, DemoWeb]] = {}

    def __call__(self, request: Request) -> Answer:
        """Return the answer to a request."""
        host = self._hosts.get(request.host)
        if host is None:
            return Answer(status=502, kind="elsewhere")
        count = bisect_right(self._born[host], self._clock(), key=lambda one: one[0])
        if count == 0:
            return Answer(status=404, kind="missing")
        shown, web = self._shown.get(host, (-1, None))
        if web is None or shown != count:
            web = DemoWeb(self._plan(host, count), hosts=(host,))
            self._shown[host] = count, web
        return web(request)

    def _plan(self, host: Host, count: int) -> Plan:
        """Return a host's plan with its first ``count`` articles; its feed has the newest of them."""
        born = self._born[host][:count]
        papers = [
            paper if place >= count - PER_FEED else replace(paper, ways=frozenset({Way.SECTION}))
            for place, (_, paper) in enumerate(born)
        ]
        return Plan(seed=0, now=utc(born[-1][0]), papers=papers)
