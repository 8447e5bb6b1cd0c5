"""A site that is paused is not fetched by any worker until it is resumed."""

from __future__ import annotations

import signal
import time

from newsbot.sites.pauses_and_removals import go_on, pause, paused
from testbed.mockserver import MockServer
from tests.builders import Desk
from tests.crawls import World, article_html, feed_xml


def test_paused_sites_are_skipped_and_keep_their_entries(desk: Desk) -> None:
    from newsbot.extensions.pauses import Pauses

    scope, context = desk.crawl.scope, desk.context
    look = Pauses(desk.crawler).look
    desk.queue("https://news.test/2026/11/18/one.html")
    assert scope.accepting is None
    pause(context.notes, "news.test", desk.clock())
    pause(context.notes, "news.test", desk.clock() + 9)
    look()
    assert paused(context.notes) == {"news.test": desk.clock()}
    assert not scope.accepts("news.test")
    assert not scope.accepts("www.news.test")
    assert scope.accepts("other.test")
    lease = context.frontier.lease
    assert lease("me", 5, horizon=desk.clock(), ttl=60, accept=scope.accepting) == []
    assert context.frontier.outlook(horizon=desk.clock(), accept=scope.accepting).pending == 0
    assert go_on(context.notes, "news.test")
    assert not go_on(context.notes, "news.test")
    look()
    assert len(lease("me", 5, horizon=desk.clock(), ttl=60, accept=scope.accepting)) == 1


def test_a_site_can_be_paused_and_resumed_during_a_crawl(world: World, site: MockServer) -> None:
    base = "http://news.test"
    feed, first, second = (
        f"{base}/{name}" for name in ("feed.xml", "2024/05/03/1.html", "2024/05/03/2.html")
    )
    for number, url in enumerate((first, second)):
        site.page(url, article_html(number))
    site.page(feed, feed_xml([first, second]), headers={"Content-Type": "text/xml"})
    world.rule("news.test", f"domain: news.test\nfeeds: [{feed}]\ndelay: 0\n")
    with world.storage() as storage:
        pause(storage.notes, "news.test", time.time())
    done = world.crawl()
    assert done.code == 0
    assert world.urls() == []
    assert done.err.count("paused site=news.test; the site is not fetched until it is resumed") == 1
    crawl = world.start("-a", "mode=continuous")
    try:
        with world.storage() as storage:
            go_on(storage.notes, "news.test")
        end = time.monotonic() + 60
        while world.urls() != [first, second]:
            assert time.monotonic() < end, world.urls()
            time.sleep(0.2)
    finally:
        crawl.send_signal(signal.SIGINT)
        crawl.communicate(timeout=60)
