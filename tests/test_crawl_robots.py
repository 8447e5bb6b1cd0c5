"""Complete crawls that obey robots.txt, with redirects, errors and delays."""

from __future__ import annotations

import gzip
import time
from itertools import chain, pairwise, repeat
from statistics import median

import pytest

from newsbot.middlewares.robots import MAX_BYTES
from testbed.messages import Answer
from tests.crawls import article_html
from tests.newssite import HOST, ended, serve


def test_robots_txt_that_redirects_in_a_circle_counts_as_missing(site, world):
    serve(site, world, 1)
    site.page(f"{HOST}/robots.txt", status=302, headers={"Location": f"{HOST}/robots2.txt"})
    site.page(f"{HOST}/robots2.txt", status=302, headers={"Location": f"{HOST}/robots.txt"})
    world.crawl("-s", "NEWSBOT_PATIENCE=1")
    assert world.urls() == [f"{HOST}/story/0"]


def test_robots_txt_after_a_redirect_and_in_any_form_is_read(site, world):
    serve(site, world, 2)
    site.page(f"{HOST}/robots.txt", status=301, headers={"Location": "http://www.news.test/robots.txt"})
    body = "\ufeffUser-agent: *\r\nDisallow: /story/1\r\n".encode() + b"# \xff\xfe\n" * 3
    site.page("http://www.news.test/robots.txt", body, headers={"Content-Type": "text/html"})
    world.crawl()
    assert world.urls() == [f"{HOST}/story/0"]


@pytest.mark.parametrize("status", [403, 404])
def test_an_error_page_without_end_is_not_read(site, world, status):
    serve(site, world, 1)

    def endless(_request):
        return Answer(status=status, pieces=repeat(b"sorry " * 1000), pause=0.01)

    for path in ("robots.txt", ".well-known/tdmrep.json"):
        site.page(f"{HOST}/{path}", endless)
    world.crawl("-s", "DOWNLOAD_TIMEOUT=10")
    [article] = world.articles()
    assert (article.canonical_url, article.rights) == (f"{HOST}/story/0", {})


FORBIDS = b"User-agent: *\nDisallow: /story/1\n"


@pytest.mark.parametrize(
    ("pieces", "pause"),
    [
        (chain([FORBIDS], repeat(b"# a comment without an end\n" * 200)), 0.001),
        (chain([FORBIDS], repeat(b"#" * 5000)), 0.001),
        (chain([FORBIDS], repeat(b"\n")), 0.2),
        (chain([FORBIDS, b"Disallow: /"], repeat(b"long" * 2000)), 0.001),
        (chain([gzip.compress(FORBIDS)], repeat(b"\x00" * 5000)), 0.001),
    ],
    ids=["lines", "one line", "slow", "rule", "gzip"],
)
def test_the_beginning_of_a_robots_txt_without_end_applies(site, world, pieces, pause):
    serve(site, world, 2)
    site.page(f"{HOST}/robots.txt", lambda _: Answer(pieces=pieces, pause=pause))
    crawl = world.crawl("-s", "DOWNLOAD_TIMEOUT=6")
    assert world.urls() == [f"{HOST}/story/0"]
    assert crawl.stat("robots/unreachable") == 0


def test_the_cut_line_of_a_huge_robots_txt_does_not_apply(site, world):
    serve(site, world, 2)
    start = FORBIDS + b"#"
    last = b"\nDisallow: /"
    filler = b"x" * (MAX_BYTES - len(start) - len(last))
    site.page(
        f"{HOST}/robots.txt", start + filler + last + b"private/\n", headers={"Content-Type": "text/plain"}
    )
    world.crawl()
    assert world.urls() == [f"{HOST}/story/0"]


def test_a_file_that_declares_a_wrong_coding_is_read(site, world):
    serve(site, world, 2)
    headers = {"Content-Encoding": "gzip", "Content-Type": "text/plain"}
    site.page(f"{HOST}/robots.txt", b"User-agent: *\nDisallow: /story/1\n", headers=headers)
    world.crawl()
    assert world.urls() == [f"{HOST}/story/0"]


def test_only_the_beginning_of_a_huge_robots_txt_applies(site, world):
    serve(site, world, 2)
    site.robots("User-agent: *\nDisallow: /story/1\n" + "# a comment for each page of the site\n" * 100_000)
    world.crawl()
    assert world.urls() == [f"{HOST}/story/0"]


def test_the_delay_is_kept_after_a_slow_robots_txt(site, world):
    serve(site, world, 2, "delay: 0.8\n")
    text = b"User-agent: *\nDisallow: /private\n"
    site.page(
        f"{HOST}/robots.txt", lambda _: Answer(body=text, headers={"Content-Type": "text/plain"}, delay=0.7)
    )
    world.crawl()
    times = [record.at for record in site.log]
    assert len(times) == 5  # robots.txt, feed, tdmrep.json, two stories
    assert min(later - earlier for earlier, later in pairwise(times)) >= 0.4, (
        "the gap is 0.1 if robots.txt uses the turn of the next request"
    )


def test_any_two_requests_to_a_host_are_a_delay_apart(site, world):
    """The delay also applies to requests for robots.txt and tdmrep.json, and to redirects of these."""
    serve(site, world, 2, "delay: 1\n")
    elsewhere = f"{HOST}/elsewhere"
    for path in ("/robots.txt", "/.well-known/tdmrep.json", "/story/0"):
        site.page(f"{HOST}{path}", status=301, headers={"Location": elsewhere + path})
    site.page(f"{elsewhere}/robots.txt", b"User-agent: *\nDisallow: /private\n")
    site.page(f"{elsewhere}/story/0", article_html(0))
    world.crawl()
    times = [record.at for record in site.log if record.host == "news.test"]
    assert len(times) == 8, site.seen()
    gaps = [later - earlier for earlier, later in pairwise(times)]
    assert min(gaps) >= 0.25, f"{gaps} (less than 1 s is allowed on a busy machine)"


def test_a_crawl_delay_is_kept_when_another_worker_starts(site, world):
    site.robots("User-agent: *\nCrawl-delay: 1\n", host="news.test")
    serve(site, world, 6)
    first = world.start()
    end = time.monotonic() + 60
    while "/story/0" not in site.seen() and not [p for p in site.seen() if p.startswith("/story/")]:
        assert time.monotonic() < end
        time.sleep(0.02)
    serve(site, world, 1, host="other.test", first=50)
    second = world.start()
    ended(first)
    ended(second)
    times = sorted(
        record.at for record in site.log if record.path.startswith("/story/") and record.host == "news.test"
    )
    assert len(times) == 6
    gaps = [later - earlier for earlier, later in pairwise(times)]
    assert median(gaps) >= 0.95
