"""TLS certificates of sites are verified, unless the site's rule disables it."""

from __future__ import annotations

import pytest

from testbed.loopback import LoopbackServer
from testbed.messages import Answer
from tests.certificates import self_signed
from tests.crawls import World, article_html, feed_xml

HTML = {"Content-Type": "text/html; charset=utf-8"}
FEED = "https://news.test/feed.xml"
PAGE = "https://news.test/2026/story-1"


def site(request):
    if request.path == "/feed.xml":
        return Answer(body=feed_xml([PAGE]).encode(), headers={"Content-Type": "application/rss+xml"})
    if request.path.startswith("/2026/"):
        return Answer(body=article_html(1).encode(), headers=HTML)
    return Answer(status=404)


def crawled(folder, names, days=1, rule="", code=0, **environment):
    """Return the world after a crawl of a site whose certificate is for ``names`` and valid for ``days``.

    ``code`` is the exit code of the crawl.
    """
    with LoopbackServer(site, tls=self_signed(folder, *names, days=days)) as server:
        world = World(folder, server)
        world.rule("news.test", f"domain: news.test\nfeeds: {FEED}\narticle: ^/2026/\nfollow: feeds\n{rule}")
        crawl = world.crawl("-s", "NEWSBOT_ALLOW_PRIVATE=1", **environment)
    assert crawl.code == code, crawl.err
    return world, crawl


@pytest.mark.parametrize(
    ("names", "days", "trusted"),
    [
        pytest.param(["news.test"], 1, False, id="of an unknown authority"),
        pytest.param(["bank.example"], 1, True, id="of another host"),
        pytest.param(["news.test"], -1, True, id="out of date"),
    ],
)
def test_a_certificate_that_is_not_valid_is_refused(tmp_path, names, days, trusted):
    authorities = {"SSL_CERT_FILE": str(tmp_path / "certificate.pem")} if trusted else {}
    world, crawl = crawled(tmp_path, names, days, code=1, **authorities)
    assert crawl.stat("errors/tls") > 0, crawl.err
    assert world.articles() == []
    assert "no host was read: the certificates of news.test are not valid" in crawl.err
    assert "rule key: tls" in crawl.err
    event = next(one for one in world.events(FEED) if one["event"] == "no_page")
    assert event["cause"] == "tls"
    assert "tls: ignore" in event["text"]


def test_a_valid_certificate_is_accepted(tmp_path):
    trusted = {"SSL_CERT_FILE": str(tmp_path / "certificate.pem")}
    world, crawl = crawled(tmp_path, ["*.test", "news.test"], **trusted)
    assert [article.url for article in world.articles()] == [PAGE], crawl.err
    assert all("tls" not in event for event in world.events(PAGE))


def test_a_rule_ignores_certificates_and_the_page_record_says_so(tmp_path):
    world, crawl = crawled(tmp_path, ["bank.example"], rule="tls: ignore\n")
    assert [article.url for article in world.articles()] == [PAGE], crawl.err
    fetched = [event for event in world.events(PAGE) if event["event"] == "fetched"]
    assert [event["tls"] for event in fetched] == ["not verified"]


def test_a_refused_certificate_is_not_evaded_by_http(tmp_path):
    """If only the domain of a site is known, http is tried when https does not answer."""
    with LoopbackServer(site, tls=self_signed(tmp_path, "bank.example")) as server:
        world = World(tmp_path, server)
        world.rule("news.test")
        crawl = world.crawl("-s", "NEWSBOT_ALLOW_PRIVATE=1")
    assert crawl.stat("errors/tls") > 0, crawl.err
    assert "rule key: tls" in crawl.err
    assert not server.log
