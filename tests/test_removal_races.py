"""``scrapy remove`` during crawls: removed articles that are being processed are not stored again."""

from __future__ import annotations

import asyncio
import gzip
import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from pymongo import MongoClient
from scrapy.exceptions import DropItem
from scrapy.settings import Settings

from newsbot.apps.archive.middleware import _exchange, open_archive
from newsbot.apps.operations.remove import keep_out
from newsbot.apps.transfer.copies import copies_of
from newsbot.backends import open_frontier, open_index, open_storage
from newsbot.crawl.visit import EXCHANGE_KEY, keep_page
from newsbot.pipelines.near import NearDuplicatePipeline
from newsbot.pipelines.store import StorePipeline
from newsbot.pipelines.validate import ValidatePipeline
from newsbot.ranking.url_learning import NOTE_KIND as LESSONS
from newsbot.sites.pauses_and_removals import REFRESH, RemovalNotes
from newsbot.sites.texts import NOTE_KIND as LINES
from newsbot.urls import fingerprint
from testbed.messages import Answer
from testbed.mockserver import HTML, MockServer
from testbed.redisserver import RedisServer
from tests.builders import Desk, fill, make_article, make_request, make_response
from tests.commandline import Place
from tests.crawls import World, article_html, feed_xml
from tests.searching import find

URL = "https://news.test/story/1"


@pytest.fixture
def desk(make_desk: Any) -> Desk:
    """A desk that reads the removal notes by its own clock."""
    desk: Desk = make_desk()
    desk.crawl.removals._tombstones = RemovalNotes(desk.clock)
    desk.crawl.removals._tombstones.read(desk.context.notes)
    return desk


def through(desk: Desk, *kinds: Any) -> Any:
    article = make_article(url=URL, canonical_url=URL)
    for kind in kinds:
        answer = kind.from_crawler(desk.crawler).process_item(article)
        article = asyncio.run(answer) if asyncio.iscoroutine(answer) else answer
    return article


def out(desk: Desk, **what: Any) -> None:
    keep_out(desk.context.notes, **{"urls": [], "domain": None, **what}, at=desk.clock(), reason="")


@pytest.mark.parametrize("what", [{"urls": [URL]}, {"domain": "news.test"}])
def test_an_article_removed_while_it_waits_is_not_stored(desk: Desk, what: Any) -> None:
    """The article waits between two pipelines, because MongoDB or Redis was down."""
    article = through(desk, ValidatePipeline, NearDuplicatePipeline)
    assert desk.context.index.count() == 1
    out(desk, **what)
    desk.clock.now += REFRESH + 1
    with pytest.raises(DropItem, match="removed"):
        asyncio.run(StorePipeline.from_crawler(desk.crawler).process_item(article))
    assert desk.context.storage.articles.count() == 0
    assert desk.context.index.count() == 0


@pytest.mark.parametrize("what", [{"urls": [URL]}, {"domain": "news.test"}])
def test_an_article_stored_during_the_removal_is_removed_again(desk: Desk, what: Any) -> None:
    out(desk, **what)  # there is no article to delete yet
    through(desk, ValidatePipeline, NearDuplicatePipeline, StorePipeline)  # with the old notes
    desk.settle(desk.visit(URL))
    other = make_article(
        url="https://other.test/1", canonical_url="https://other.test/1", source="other.test"
    )
    desk.context.storage.articles.store(other)
    desk.crawl.removals._latecomers.stored(other)
    assert desk.context.storage.articles.count() == 2
    desk.crawl.removals.take_out()
    assert [one.source for one in desk.context.storage.articles.iter()] == ["other.test"]
    assert desk.context.index.count() == 0
    assert list(desk.context.storage.pages.iter()) == []
    assert find(desk.context.storage, "site:news.test") == []


def test_a_page_removed_during_its_fetch_has_no_record(desk: Desk) -> None:
    visit = desk.visit(URL)
    out(desk, urls=[URL])
    desk.context.storage.removal.pages([fingerprint(URL)])
    desk.clock.now += REFRESH + 1
    fill(visit, status=200)
    desk.settle(visit)
    assert list(desk.context.storage.pages.iter()) == []
    assert desk.context.frontier.owners() == []
    known = desk.context.frontier.known([fingerprint(URL)])[fingerprint(URL)]
    assert (known.state, known.next_due) == ("done", None)


def test_learned_data_of_a_removed_site_is_not_kept(desk: Desk) -> None:
    desk.context.count_site("news.test", "pages")
    desk.crawl.sites.health.saw(desk.context.notes, "news.test", "")
    desk.crawl.sites.shared_lines.of("news.test").learn(
        URL, ["A line of words that is long enough to be kept."]
    )
    out(desk, domain="news.test")
    desk.clock.now += REFRESH + 1
    desk.crawl.removals.take_out()
    desk.crawl.write_sites()
    assert desk.context.storage.sites.all() == {}
    assert desk.context.notes.all("health") == {}
    assert desk.context.notes.all(LINES + "news.test") == {}


def test_a_page_removed_during_its_fetch_is_not_archived(make_desk: Any, tmp_path: Path) -> None:
    folder = tmp_path / "warc"
    desk: Desk = make_desk()
    settings = Settings({"NEWSBOT_WARC_DIR": str(folder), "NEWSBOT_WARC_SIZE": 10**9})
    desk.context.archive = open_archive(settings, desk.context.count)
    printed, other = "https://news.test/print/1", "https://news.test/story/2"
    answers = []
    for url, canonical in ((URL, URL), (printed, URL), (other, None)):
        visit = desk.visit(url)
        fill(visit, canonical_url=canonical)
        request = make_request(visit)
        response = make_response(request, f"page {url}")
        request.meta[EXCHANGE_KEY] = _exchange(request, response)
        answers.append(response)
    out(desk, urls=[URL])
    desk.crawl.removals._tombstones.read(desk.context.notes)
    for response in answers:
        asyncio.run(keep_page(desk.context, desk.crawl.removals, response))
    assert desk.stat("archive/removed") == 2
    assert desk.stat("archive/kept") == 1
    desk.crawl.close()
    kept = b"".join(gzip.decompress(path.read_bytes()) for path in folder.glob("*.gz"))
    assert other.encode() in kept
    assert URL.encode() not in kept
    assert printed.encode() not in kept


# --- complete crawls

ARTICLES = 40


@pytest.fixture(params=["files", "servers"])
def settings(request: pytest.FixtureRequest, world: World) -> Iterator[Settings]:
    """The settings with the places of the world's data."""
    with ExitStack() as stack:
        if request.param == "servers":
            server: RedisServer = request.getfixturevalue("redis_server")
            uri, name = request.getfixturevalue("mongo_uri"), f"newsbot_test_{uuid4().hex[:12]}"
            head, _, tail = uri.partition("/?")
            world.servers = {
                "REDIS_URL": server.url,
                "MONGO_URI": f"{head.rstrip('/')}/{name}" + (f"?{tail}" if tail else ""),
            }
            client = stack.enter_context(MongoClient[Any](uri))
            stack.callback(client.drop_database, name)
        settings = Settings()
        settings.setmodule("newsbot.settings")
        settings.setdict({"NEWSBOT_DATA": str(world.data), **world.servers})
        yield settings


@contextmanager
def crawling(world: World, workers: int) -> Iterator[None]:
    """Run workers during the block, then stop them."""
    settings = ("mode=continuous", "-s", "NEWSBOT_LEASE_SECONDS=2")
    running = [world.start("-a", *settings) for _ in range(workers)]
    try:
        yield
    finally:
        for worker in running:
            worker.send_signal(signal.SIGINT)
        ended = [worker.communicate(timeout=60)[1] for worker in running]
    assert all("Traceback" not in err for err in ended), "\n".join(ended)


def _until(condition: Any) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_running_workers_do_not_store_a_removed_domain_again(
    site: MockServer, world: World, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slowly(number: int) -> Any:
        body = article_html(number).encode()
        return lambda _: Answer(body=body, headers=HTML, delay=0.4)

    for host in ("gone.test", "kept.test"):
        urls = [f"http://{host}/story/{number}" for number in range(ARTICLES)]
        for number, url in enumerate(urls):
            site.page(url, slowly(number))  # the same texts on both: each story has two sites
        site.page(f"http://{host}/feed.xml", feed_xml(urls), headers={"Content-Type": "application/rss+xml"})
        world.rule(host, f"domain: {host}\nfeeds: http://{host}/feed.xml\nconcurrency: 4\n")
    monkeypatch.setattr("newsbot.apps.operations.remove.wait_for_crawls", lambda _: time.sleep(2.0))
    place = Place.__new__(Place)
    place.data, place.rules = world.data, world.rules
    with ExitStack() as stack:
        stack.enter_context(crawling(world, 2))
        _until(lambda: sum("/story/" in path for path in site.seen("gone.test")) > 8)
        answer = place.run("remove", "gone.test", "--yes", "--json", **world.servers)
        assert answer.code == 0, answer.err
        storage = stack.enter_context(closing(open_storage(settings)))
        frontier = stack.enter_context(closing(open_frontier(settings)))
        _until(lambda: storage.articles.count() >= ARTICLES and not frontier.owners())
    # the workers have ended, so nothing more can be stored
    with (
        closing(open_storage(settings)) as storage,
        closing(open_index(settings)) as index,
    ):
        opened: Any = storage
        assert {one.source for one in storage.articles.iter()} == {"kept.test"}
        assert {page.source for page in storage.pages.iter()} == {"kept.test"}
        assert {record.source for record in storage.sources.all()} == {"kept.test"}
        assert set(storage.sites.all()) == {"kept.test"}
        assert index.count() == ARTICLES
        assert opened.notes.all(LESSONS + "gone.test") == opened.notes.all(LINES + "gone.test") == {}
        assert find(storage, "site:gone.test") == []
        assert len(find(storage, "council", limit=100)) == ARTICLES
        assert all(
            story.sources == {"kept.test"} for story in storage.stories.recent(min_members=1, limit=100)
        )
        assert [one for one in copies_of(opened).read("aliases") if "gone.test" in one.url] == []
        assert [one for one in copies_of(opened).read("texts") if one.source == "gone.test"] == []
