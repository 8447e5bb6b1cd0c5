"""Complete crawls of servers with unusual responses: headers, types, status codes."""

from __future__ import annotations

import time

import pytest

from testbed.messages import Answer
from tests.crawls import SENTENCES, article_html, feed_xml
from tests.newssite import HOST, XML, feed_of


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        ({"Content-Type": "text/html; charset=no-such-charset"}, None),
        ({"Content-Type": ""}, None),
        ({"Content-Type": "text/html", "ETag": '"\u00e9\u00ff"', "Server": "caf\u00e9"}, None),
        ({"Content-Type": "text/html", "Content-Language": "en"}, None),
    ],
)
def test_an_article_with_odd_headers_is_stored(site, world, headers, body):
    page = article_html(1).encode()
    site.page(f"{HOST}/story/1", lambda _: Answer(body=page, headers=headers, validators=False))
    feed_of(site, world, f"{HOST}/story/1")
    world.rule(
        "_defaults",
        "delay: 0\ninterval: {feed: 10m, article: 1}\n"
        "recrawl: {feed: fixed, sitemap: fixed, section: fixed, article: fixed}\n",
    )
    world.crawl()
    time.sleep(1)
    again = world.crawl()
    assert world.urls() == [f"{HOST}/story/1"]
    assert "Traceback" not in again.err


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        ({"Content-Type": "application/json"}, '{"title": "x", "text": "' + SENTENCES[0] * 20 + '"}'),
        ({"Content-Type": "application/pdf"}, "%PDF-1.4\n" + "stream \0\1\2 " * 200),
        (
            XML,
            "".join(feed_xml([f"{HOST}/story/{n}" for n in range(4)])).replace(
                "</title><link>", f"</title><description>{SENTENCES[0] * 8}</description><link>"
            ),
        ),
        ({"Content-Type": "text/plain"}, SENTENCES[1] * 30),
    ],
)
def test_responses_that_are_not_html_are_not_articles(site, world, headers, body):
    site.page(f"{HOST}/story/1", article_html(1))
    site.page(f"{HOST}/story/odd", body, headers=headers)
    feed_of(site, world, f"{HOST}/story/odd", f"{HOST}/story/1")
    crawl = world.crawl()
    assert world.urls() == [f"{HOST}/story/1"]
    assert "Traceback" not in crawl.err


@pytest.mark.parametrize("status", [204, 205, 300, 304, 307])
def test_a_response_without_a_page_is_not_an_article_and_not_an_internal_fault(site, world, status):
    site.page(f"{HOST}/story/1", article_html(1))
    site.page(f"{HOST}/story/2", status=status)
    feed_of(site, world, f"{HOST}/story/2", f"{HOST}/story/1")
    crawl = world.crawl("-s", "NEWSBOT_PATIENCE=1")
    assert world.urls() == [f"{HOST}/story/1"]
    assert crawl.code == 0
    assert "Traceback" not in crawl.err
