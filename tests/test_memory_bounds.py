"""A worker keeps a limited number of sites, hosts and URLs in memory, no matter how many it meets."""

from __future__ import annotations

import asyncio
import encodings
import gc
import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from scrapy import Request, Spider, signals
from scrapy.core.downloader.handlers.http11 import HTTP11DownloadHandler
from scrapy.crawler import Crawler
from scrapy.http import Response
from w3lib.encoding import resolve_encoding

from newsbot.apps.monitor import side_spiders
from newsbot.apps.monitor.side_spiders import SideScheduler
from newsbot.apps.progress.display import site_figures, total
from newsbot.apps.rendering.middleware import RenderTrials
from newsbot.crawl import http_client
from newsbot.crawl import memory as heap
from newsbot.crawl.http_client import HttpHandler
from newsbot.crawl.sources import HUB, Hubs
from newsbot.crawl.visit import Found
from newsbot.items import Bounded, Kind, Link, Where
from newsbot.middlewares import robots
from newsbot.middlewares.robots import RobotsMiddleware
from newsbot.pages.discovery import list_pages
from newsbot.pages.discovery.list_pages import ListWalks
from newsbot.ranking.families import MAX_FAMILIES, Result, SiteFamilies
from newsbot.ranking.url_learning import MAX_KEYS, SessionKeys
from newsbot.sites import rights, statistics
from newsbot.sites.statistics import OTHERS, SiteCounters
from newsbot.storage.base import SourceRecord
from newsbot.storage.notes import MAX_NOTE
from newsbot.storage.sqlite import SqliteStorage
from tests.builders import Desk, fill
from tests.crawls import World


def test_a_bounded_mapping_drops_the_oldest_entries() -> None:
    known = Bounded[str, int](3)
    known.update(a=1, b=2, c=3)
    known["a"] = 4
    assert known.setdefault("d", 5) == 5
    assert known.setdefault("c", 0) == 3
    assert dict(known) == {"c": 3, "a": 4, "d": 5}
    known.shrink(9, lambda value: value)
    assert dict(known) == {"a": 4, "d": 5}
    known.shrink(1, lambda value: value)
    assert dict(known) == {"d": 5}
    names = Bounded[str, None](2)
    names.add("x", "y", "z")
    assert list(names) == ["y", "z"]


# --- all parts of a crawl together
LIMITS = {
    "newsbot.crawl.links.canonical": ("MAX_SETTLED", "MAX_SPELLED"),
    "newsbot.crawl.links.families": ("MAX_HOSTS", "MAX_SITES", "MAX_HELD", "MAX_LISTED"),
    "newsbot.crawl.links.queue": ("MAX_WAITING", "MAX_SETTLED", "MAX_HOSTS"),
    "newsbot.ranking.url_learning": ("MAX_SITES", "MAX_LISTED"),
    "newsbot.crawl.politeness": ("MAX_HOSTS",),
    "newsbot.crawl.sources": ("MAX_HOSTS",),
    "newsbot.crawl.scope": ("MAX_HOSTS",),
    "newsbot.crawl.assembly": ("MAX_HOSTS",),
    "newsbot.pages.discovery.list_pages": ("MAX_SHAPES", "MAX_WALKS"),
    "newsbot.ranking.families": ("MAX_SITES",),
    "newsbot.sites.statistics": ("MAX_SITES",),
    "newsbot.sites.health": ("MAX_SITES",),
}
FEW = 10


def meet(desk: Desk, number: int) -> None:
    """Visit the home page, a list, the feed and two articles of a site that no rule names."""
    home = f"https://site{number}.test"
    feed = Link(url=f"{home}/feed-{number}.xml", where=Where.AUTODISCOVERY, kind=Kind.FEED)
    texts = "The ten best of all that was to see"
    doubtful = [
        Link(url=f"{home}/s{number}/of-{letter}-and-all-that-we-saw-{letter}", where=Where.BODY, text=texts)
        for letter in "abcde"
    ]
    lists = [Link(url=f"{home}/2024/{month:02}/", where=Where.BODY, kind=Kind.SECTION) for month in (1, 2, 3)]
    pages = [Link(url=f"{home}/news?page=2", where=Where.NEXT_PAGE, kind=Kind.SECTION)]
    for url, links in ((f"{home}/", [feed, *doubtful, *lists]), (f"{home}/news", [*doubtful, *pages])):
        visit = desk.visit(url, Kind.SECTION, where=Where.BODY)
        visit.found.append(Found(links=tuple(links), referrer=url, depth=1))
        desk.context.count_site(visit.rule.domain, "fetched")
        desk.settle(visit)
    for kind, url in ((Kind.ARTICLE, doubtful[0].url), (Kind.ARTICLE, doubtful[1].url)):
        visit = desk.visit(url, kind, where=Where.BODY, why="likely_article")
        fill(visit, status=200, is_article=False)
        desk.context.count_error(visit.rule.domain, "no_text")
        desk.settle(visit)


def kept(part: Any) -> Counter[str]:
    """Return the number of elements of all tables in a part of newsbot, by the name of the attribute."""
    sizes: Counter[str] = Counter()
    seen: set[int] = set()
    waiting = [(type(part).__name__, part)]
    while waiting:
        name, one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, dict | list | set | frozenset | tuple):
            sizes[name] += len(one)
            waiting += [(name, inner) for inner in (one.values() if isinstance(one, dict) else one)]
        elif type(one).__module__.startswith("newsbot") and "sqlite" not in type(one).__module__:
            own = vars(one) if hasattr(one, "__dict__") else {}
            slots = [slot for kind in type(one).__mro__ for slot in getattr(kind, "__slots__", ())]
            own |= {slot: getattr(one, slot) for slot in slots if hasattr(one, slot)}
            waiting += [(f"{type(one).__name__}.{field}", inner) for field, inner in own.items()]
    return sizes


def test_no_table_of_a_crawl_grows_with_the_number_of_sites(
    make_desk: Callable[..., Desk], monkeypatch: pytest.MonkeyPatch
) -> None:
    for module, names in LIMITS.items():
        for name in names:
            monkeypatch.setattr(f"{module}.{name}", FEW, raising=False)
    desk = make_desk()
    sizes = []
    for start in (0, 2 * FEW, 4 * FEW):
        for number in range(start, start + 2 * FEW):
            meet(desk, number)
        desk.crawl.write_sites()
        sizes.append(kept(desk.crawl))
    assert sizes[1].total() > 20 * FEW, "no data was kept, so the test is not valid"
    assert sizes[2] - sizes[1] == Counter()


def test_dropped_data_of_sites_is_read_again(
    make_desk: Callable[..., Desk], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("newsbot.crawl.sources.MAX_HOSTS", 2)
    monkeypatch.setattr("newsbot.apps.rendering.middleware.MAX_SITES", 2)
    domains = [f"site{number}.test" for number in range(5)]
    desk = make_desk()
    notes, trials = desk.context.notes, RenderTrials()
    for domain in domains:
        url = f"https://{domain}/map.xml"
        desk.context.storage.sources.save([SourceRecord(url=url, source=domain, kind=Kind.SITEMAP)])
        trials.saw(notes, domain, 1.0, helped=True)
    for _ in range(2):  # before and after the results are written
        assert all(trials.helped(notes, domain) for domain in domains)
        trials.write(notes)
    desk.crawl.sources.forget()
    for _ in range(2):
        assert all(desk.crawl.sources.of(domain).sitemap for domain in domains)


def test_the_hub_of_a_dropped_page_is_read_again(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("newsbot.crawl.sources.MAX_HOSTS", 2)
    hubs = Hubs(desk.context)
    visits = [desk.visit(f"https://h{number}.test/feed", Kind.FEED) for number in range(4)]
    for offered in (["https://hub.test/"], []):
        for visit in visits:
            url = visit.lease.entry.url
            hubs.offer(Response(url), visit, offered, url)
        assert len(desk.context.notes.all(HUB)) == len(visits) * len(offered)
        assert len(hubs._offers) <= 2


def test_the_auxiliary_scheduler_drops_hosts_and_old_pages(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(side_spiders, "MAX_SEEN", FEW)
    monkeypatch.setattr(side_spiders, "call_later", lambda *_: None)
    scheduler = SideScheduler(desk.crawler)
    scheduler._slot = SimpleNamespace(inprogress=set(), nextcall=SimpleNamespace(schedule=lambda: None))
    scheduler._spider = Spider("test")
    sent = []
    for number in range(5 * FEW):
        scheduler.enqueue_request(Request(f"https://h{number}.test/"))
        sent.append(scheduler.next_request())
        desk.clock.now += 60
    assert all(sent)
    assert scheduler.next_request() is None
    assert not scheduler.has_pending_requests()
    assert not scheduler._hosts
    assert len(scheduler._seen) == FEW


# --- single tables
def test_articles_shown_by_lists_have_a_limit_over_all_sites(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(list_pages, "MAX_COVERED", 1000, raising=False)
    walks = ListWalks()
    for number in range(100):
        keys = [f"{number}-{one}".encode() for one in range(100)]
        walks.read(f"site{number}.test", f"https://site{number}.test/news", None, keys)
        walks.dated(f"https://site{number}.test/news", float(number))
    assert sum(walks.shown(f"site{number}.test") for number in range(100)) <= 1000
    assert walks.shown("site99.test") == 100


def test_dates_of_a_long_list_are_dropped_and_its_age_is_kept() -> None:
    walks = ListWalks()
    walks.read("a.test", "/1", None, [b"1"])
    for date in (50.0, *range(49, 0, -1)):
        walks.dated("/1", float(date))
    assert len(walks._walks["/1"].dates) <= list_pages.OLD_ENOUGH + 1
    assert walks.is_older("/1", 50.0)
    assert not walks.is_older("/1", 51.0)


def test_the_number_of_families_of_a_site_is_limited_and_named_ones_are_kept() -> None:
    site = SiteFamilies()
    site.add(Result(family="/news/*", is_named=True))
    for turn in range(3 * MAX_FAMILIES):
        site.add(Result(family=f"/x{turn}/*", waiting=1))
    assert len(site.families) <= MAX_FAMILIES
    assert "/news/*" in site.families
    assert len(json.dumps(site.plain())) < MAX_NOTE


def test_keys_of_urls_have_a_limit() -> None:
    keys = SessionKeys()
    for number in range(5 * MAX_KEYS):
        for turn in (1, 2):
            keys.saw(f"https://a.test/news?k{number}=ab12cd34ef{turn}", f"text {number} {turn}")
    assert len(keys.refuted) + len(keys._seen) + len(keys._same) <= MAX_KEYS


@pytest.fixture
def storage(tmp_path: Path) -> Iterator[SqliteStorage]:
    with closing(SqliteStorage(tmp_path / "newsbot.db")) as opened:
        yield opened


def test_counters_of_the_least_active_sites_are_summed(
    storage: SqliteStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(statistics, "MAX_SITES", 3, raising=False)
    books, stats = SiteCounters(), Counter[str]({"newsbot/fetched/feed": 7})
    for number in range(10):
        for name in ("pages", "errors/timeout"):
            stats[f"newsbot/site/site{number}.test/{name}"] += 2
            stats[f"newsbot/site/site0.test/{name}"] += 1
        books.last_error[f"site{number}.test"] = ("timeout", 1.0)
        books.write(storage, stats, 1_795_000_000.0, lambda domain: domain == "site5.test")
    assert {one.site for one in site_figures(stats)} == {"site0.test", "site8.test", "site9.test", OTHERS}
    assert total(site_figures(stats)).pages == 30
    assert stats["newsbot/fetched/feed"] == 7
    assert not books.last_error
    stored = storage.sites.all()
    assert OTHERS not in stored
    assert {site: one.counters["pages"] for site, one in stored.items()} == {
        **{f"site{number}.test": 2 for number in range(1, 10) if number != 5},
        "site0.test": 12,
    }
    stats["newsbot/site/site1.test/pages"] += 4  # a quiet site is active again
    books.write(storage, stats, 1_795_000_000.0)
    assert storage.sites.all()["site1.test"].counters["pages"] == 6
    hours = storage.activity.hours(1_795_000_000.0)
    assert OTHERS not in str(hours)


def test_the_total_size_of_robots_files_is_limited_and_their_reservations_are_kept(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = "User-agent: GPTBot\nDisallow: /\n" + "# a comment\n" * 100

    async def download(request: Request) -> Response:
        return Response(request.url, body=body.encode())

    for module in (robots, rights):
        monkeypatch.setattr(module, "MAX_TEXT", 5 * len(body), raising=False)
    desk.crawler.engine = SimpleNamespace(download_async=download)  # type: ignore[assignment]
    middleware = RobotsMiddleware.from_crawler(desk.crawler)
    known = desk.crawl.sites.rights
    for number in (*range(20), 0):
        url = f"https://h{number}.test/story"
        asyncio.run(middleware.process_request(Request(url)))
        assert known.signals(url), "the reservation of the host that is being read was forgotten"
    assert sum(len(one.text) for one in middleware._known.values()) <= 5 * len(body)
    assert len(known._robots) <= 5


# --- Python, libxml2, Twisted
def test_names_of_unknown_encodings_are_not_kept() -> None:
    for number in range(50):
        assert resolve_encoding(f"no-such-encoding-{number}") is None
    assert "no_such_encoding_7" in encodings._cache
    heap.trim()
    assert not [name for name in encodings._cache if name.startswith("no_such")]
    assert "ä".encode("cp1252") == b"\xe4"


def test_a_crawl_does_not_search_its_modules_for_unreachable_objects(world: World) -> None:
    world.rule("news.test", "domain: news.test\nfeeds: http://news.test/feed.xml\n")
    used = json.dumps({"tests.test_memory_bounds.Searched": 0})
    done = world.crawl("-s", f"EXTENSIONS={used}")
    assert done.code == 0, done.err
    assert done.stats["searched"] is False


class Searched:
    """A Scrapy extension: sets a stat to True if Python's searches visit an object from before the start."""

    def __init__(self, crawler: Crawler) -> None:
        self._stats = crawler.stats
        crawler.signals.connect(self._closed, signals.spider_closed)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Searched:
        return cls(crawler)

    def _closed(self) -> None:
        assert self._stats is not None
        self._stats.set_value("searched", any(one is self._stats for one in gc.get_objects()))


def test_threads_are_replaced_and_finish_their_work_first() -> None:
    async def work() -> tuple[set[int], list[int]]:
        heap.renew_threads()
        old = {await asyncio.to_thread(threading.get_ident)}
        go_on = threading.Event()
        slow = asyncio.ensure_future(asyncio.to_thread(lambda: go_on.wait(10) and 1))
        waiting = [asyncio.ensure_future(asyncio.to_thread(lambda: go_on.wait(10) and 2)) for _ in range(99)]
        await asyncio.sleep(0.05)
        heap.renew_threads()
        assert await asyncio.to_thread(lambda: 3) == 3, "new work does not wait for the old threads"
        go_on.set()
        return old, [await one for one in (slow, *waiting)]

    before = threading.active_count()
    old, answers = asyncio.run(work())
    assert answers == [1] + [2] * 99
    assert not old & {one.ident for one in threading.enumerate()}
    assert threading.active_count() <= before


class Timeout:
    """A planned end of an idle connection."""

    def __init__(self) -> None:
        self.now = False

    def reset(self, seconds: float) -> None:
        self.now = seconds == 0


@pytest.mark.parametrize(
    ("status", "seen"), [(200, 200), (404, 404), (599, 599), (600, 500), (12345, 500), (-5, 500)]
)
def test_idle_connections_have_a_limit_and_hosts_without_connections_are_dropped(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, status: int, seen: int
) -> None:
    async def answer(_: HTTP11DownloadHandler, request: Request) -> Response:
        return Response(request.url, status=status)

    monkeypatch.setattr(HTTP11DownloadHandler, "download_request", answer)
    monkeypatch.setattr(http_client, "MAX_IDLE", 3, raising=False)
    handler = object.__new__(HttpHandler)
    timeouts = {number: Timeout() for number in range(8)}
    hosts: dict[str, list[int]] = {f"host{number}.test": [] for number in range(10)} | {"host3.test": [7]}
    handler._pool = SimpleNamespace(_connections=hosts, _timeouts=timeouts)  # type: ignore[assignment]
    response = asyncio.run(handler.download_request(Request("http://host3.test/")))
    assert response.status == seen
    assert [number for number, one in timeouts.items() if one.now] == [0, 1, 2, 3, 4]
    assert list(hosts) == ["host3.test"]
