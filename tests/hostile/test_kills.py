"""Workers that are killed at random moments lose no articles, and keep the site's delay."""

from __future__ import annotations

import random
import time
from itertools import pairwise

import pytest

from testbed.mockserver import MockServer
from tests.crawls import World, article_html, feed_xml
from tests.newssite import XML

SITE = "http://killed.test"
ARTICLES = 30
WORKERS = 2
KILLS = 4
BETWEEN = (1.0, 5.0)
"""Seconds between two kills."""
DELAY = 0.5


@pytest.mark.slow
def test_kills_lose_no_article_and_keep_the_delay(site: MockServer, world: World) -> None:
    urls = [f"{SITE}/news/story-{number}" for number in range(ARTICLES)]
    for number, url in enumerate(urls):
        site.page(url, article_html(number), delay=0.05)
    site.page(f"{SITE}/feed.xml", feed_xml(urls), headers=XML)
    world.rule(
        "killed.test", f"domain: killed.test\nfeeds: {SITE}/feed.xml\ndelay: {DELAY}\nconcurrency: 1\n"
    )
    drawn = random.Random(2)
    workers = [world.start("--loglevel", "ERROR") for _ in range(WORKERS)]
    for _ in range(KILLS):
        time.sleep(drawn.uniform(*BETWEEN))
        place = drawn.randrange(WORKERS)
        workers[place].kill()
        workers[place].communicate()
        workers[place] = world.start("--loglevel", "ERROR")
    for worker in workers:
        worker.communicate(timeout=120)
    assert world.urls() == sorted(urls)
    with world.storage() as storage:
        assert {page.state for page in storage.pages.iter() if page.url in urls} == {"done"}  # none set aside
    arrivals = sorted(record.at for record in site.log)
    # As seen by the server, on a machine that may be busy.
    assert min(later - earlier for earlier, later in pairwise(arrivals)) > DELAY / 2
