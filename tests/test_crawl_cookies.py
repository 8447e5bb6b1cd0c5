"""Complete crawls of sites that give their pages only to requests with a cookie."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from testbed.messages import Answer, Request
from tests.crawls import article_html
from tests.newssite import HOST, feed_of

STORY = f"{HOST}/story/1"
PAGE = Answer(body=article_html(1).encode(), headers={"Content-Type": "text/html; charset=utf-8"})


def asking(cookie: str, to: str, given: str = "") -> Callable[[Request], Answer]:
    """Return a handler that gives the page to requests with ``cookie``, and redirects all others."""

    def handler(request: Request) -> Answer:
        if cookie in request.headers.get("cookie", ""):
            return PAGE
        return Answer(status=302, headers={"Location": to, "Set-Cookie": given or f"{cookie}; Path=/"})

    return handler


@pytest.mark.parametrize("options", [(), ("-s", "COOKIES_ENABLED=1")])
def test_a_page_that_redirects_to_itself_with_a_cookie_is_stored(site, world, options):
    site.page(STORY, asking("seen=1", STORY))
    feed_of(site, world, STORY)
    crawl = world.crawl(*options)
    assert world.urls() == [STORY]
    assert crawl.stat("errors/redirects") == 0


def test_a_page_that_sends_its_readers_to_the_mobile_site_and_back_is_stored(site, world):
    mobile = "http://m.news.test/story/1"
    site.page(STORY, asking("desktop=1", mobile, "asked=1"))
    site.page(mobile, asking("none", STORY, "desktop=1; Domain=news.test; Path=/"))
    feed_of(site, world, STORY)
    world.crawl()
    assert world.urls() == [STORY]


def test_a_page_behind_a_host_that_sets_cookies_is_stored(site, world):
    welcome = f"http://welcome.test/?to={STORY}"
    site.page(STORY, asking("ok=1", welcome, "asked=1"))
    site.page(welcome, asking("none", f"{HOST}/enter?ok", "visitor=7"))
    site.page(f"{HOST}/enter?ok", asking("none", STORY, "ok=1; Path=/; HttpOnly"))
    feed_of(site, world, STORY)
    world.crawl()
    assert world.urls() == [STORY]


def test_a_page_that_forwards_with_a_cookie_is_stored(site, world):
    forward = f"<meta http-equiv=refresh content='0; url={STORY}'>".encode()
    headers = {"Content-Type": "text/html", "Set-Cookie": "seen=1; Path=/"}

    def handler(request: Request) -> Answer:
        return (
            PAGE if "seen=1" in request.headers.get("cookie", "") else Answer(body=forward, headers=headers)
        )

    site.page(STORY, handler)
    feed_of(site, world, STORY)
    world.crawl()
    assert world.urls() == [STORY]


def test_a_redirect_with_the_same_cookie_is_a_circle(site, world):
    site.page(STORY, asking("never", STORY, "seen=1"))
    feed_of(site, world, STORY)
    crawl = world.crawl()
    assert crawl.stat("errors/redirects") == 1
    assert site.seen().count("/story/1") == 2


def test_a_redirect_with_ever_new_cookies_ends(site, world):
    numbers = iter(range(100))

    def handler(_request: Request) -> Answer:
        return Answer(status=302, headers={"Location": STORY, "Set-Cookie": f"seen={next(numbers)}; Path=/"})

    site.page(STORY, handler)
    feed_of(site, world, STORY)
    crawl = world.crawl()
    assert crawl.stat("errors/redirects") == 1
    assert site.seen().count("/story/1") == 9


def test_pages_do_not_share_cookies(site, world):
    sent: list[str | None] = []

    def handler(request: Request) -> Answer:
        sent.append(request.headers.get("cookie"))
        return Answer(body=PAGE.body, headers={**PAGE.headers, "Set-Cookie": "visitor=7; Path=/"})

    site.page(STORY, handler)
    site.page(f"{HOST}/story/2", handler)
    feed_of(site, world, STORY, f"{HOST}/story/2")
    world.crawl()
    assert sent == [None, None]


@pytest.mark.parametrize(
    "given",
    [
        "seen=1; Domain=test; Path=/",
        "seen=1; Domain=other.test; Path=/",
        "seen=1; Path=/elsewhere",
        "seen=1; Secure; Path=/",
        f"seen=1{'x' * 5000}; Path=/",
        "seen=1; Max-Age=0; Path=/",
    ],
)
def test_cookies_that_browsers_refuse_are_not_sent(site, world, given):
    site.page(STORY, asking("seen=1", STORY, given))
    feed_of(site, world, STORY)
    world.crawl()
    assert site.seen().count("/story/1") == 1
