"""Complete crawls that archive HTTP traffic."""

from __future__ import annotations

import asyncio
import gzip
import logging

from warcio.archiveiterator import ArchiveIterator

from newsbot.apps.archive.middleware import REST, Archive
from newsbot.apps.archive.writer import WarcFolder
from tests.crawls import article_html, feed_xml
from tests.test_warc import exchange, no_room_beyond, stories

XML = {"Content-Type": "application/rss+xml"}
HOST = "http://news.test"
STORIES = [f"{HOST}/story/{number}" for number in range(4)]


def records(folder):
    for path in sorted(folder.glob("*.warc.gz")):
        with path.open("rb") as stream:
            for record in ArchiveIterator(stream, check_digests="raise"):
                headers = record.rec_headers
                yield record.rec_type, headers.get_header("WARC-Target-URI"), record.content_stream().read()


def test_pages_are_archived_unchanged_except_those_that_forbid_it(site, world, tmp_path):
    page = article_html(0)
    packed = {"Content-Type": "text/html", "Content-Encoding": "gzip"}
    site.page(STORIES[0], gzip.compress(page.encode(), mtime=0), headers=packed)
    site.page(STORIES[1], article_html(1, head="<meta name='robots' content='noarchive'>"))
    site.page(STORIES[2], article_html(2), headers={"X-Robots-Tag": "noarchive"})
    site.page(STORIES[3], "", status=301, headers={"Location": STORIES[0] + "?moved=1"})
    site.page(f"{HOST}/feed.xml", feed_xml(STORIES), headers=XML)
    world.rule("news.test", f"domain: news.test\nfeeds: {HOST}/feed.xml\n")
    folder = tmp_path / "warc"
    crawl = world.crawl("-s", f"NEWSBOT_WARC_DIR={folder}")
    assert crawl.code == 0, crawl.err
    kept = list(records(folder))
    answers = {url: body for kind, url, body in kept if kind == "response"}
    assert {f"{HOST}/feed.xml", STORIES[0], STORIES[3]} <= set(answers)
    assert answers[STORIES[0]].decode() == page
    assert not {STORIES[1], STORIES[2]} & {url for _, url, _ in kept}
    requested = [url for kind, url, _ in kept if kind == "request"]
    assert sorted(requested) == sorted(answers)
    assert crawl.stat("archive/kept") == len(answers)
    assert not list(folder.glob("*.open"))
    world.crawl("-s", f"NEWSBOT_WARC_DIR={folder}", "-a", f"url={STORIES[0]}")
    assert any(kind == "revisit" and url == STORIES[0] for kind, url, _ in records(folder))


def test_a_folder_that_cannot_be_created_is_reported_before_the_first_request(site, world, tmp_path):
    (tmp_path / "file").write_text("")
    world.rule("news.test", f"domain: news.test\nfeeds: {HOST}/feed.xml\n")
    crawl = world.crawl("-s", f"NEWSBOT_WARC_DIR={tmp_path / 'file'}")
    assert f"NEWSBOT_WARC_DIR={tmp_path / 'file'}: cannot be written" in crawl.err
    assert "Traceback" not in crawl.err
    assert site.seen("news.test") == []


def test_a_full_disk_is_reported_once_and_the_loss_when_it_is_over(tmp_path, caplog):
    now = [1000.0]
    counted: list[str] = []
    archive = Archive(WarcFolder(tmp_path / "warc", max_size=10**6), counted.append, clock=lambda: now[0])

    async def keep(number: int) -> None:
        await archive.keep(exchange(number))

    with caplog.at_level(logging.WARNING, "newsbot.apps.archive.middleware"):
        asyncio.run(keep(1))
        with no_room_beyond(0):
            for number in (2, 3):
                asyncio.run(keep(number))
        asyncio.run(keep(4))  # too early for another attempt
        now[0] += REST + 1
        asyncio.run(keep(5))
    archive.close()
    messages = [record.getMessage() for record in caplog.records]
    assert len(messages) == 2
    assert "cannot be archived" in messages[0]
    assert "lost=3" in messages[1]
    assert counted.count("archive/lost") == 3
    assert stories(tmp_path / "warc") == ["<p>story 1</p>", "<p>story 5</p>"]
