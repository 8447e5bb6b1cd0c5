"""Complete crawls of sites whose rule gives headers, cookies, a user agent, a password or a proxy."""

from __future__ import annotations

import gzip
import json
from base64 import b64encode
from typing import Any

import pytest

from newsbot.crawl.credentials import credentials_of
from newsbot.errors import ArgumentError
from newsbot.pages.rules.load import load_rules
from newsbot.pages.rules.rule import Rule, Secret
from newsbot.sites.health import NOTE_KIND, SESSION_ENDED, pages_from
from testbed.messages import Answer, Request
from testbed.mockserver import MockServer
from tests.crawls import article_html
from tests.newssite import HOST, HTML, feed_of

STORY = f"{HOST}/story/1"
WORD = "geheimwort"


def recording(sent: list[dict[str, str]], **headers: str) -> Any:
    def handler(request: Request) -> Answer:
        sent.append({"path": request.path, "host": request.host, **request.headers})
        return Answer(body=article_html(1).encode(), headers={**HTML, **headers})

    return handler


def rule_of(world, text: str) -> None:
    rule = f"domain: news.test\nfeeds: {HOST}/feed.xml\n{text}"
    world.rule("news.test", rule)


@pytest.mark.parametrize(
    ("rule", "header", "value"),
    [
        ("headers: {X-Api-Key: geheimwort}", "x-api-key", WORD),
        ("headers: {X-Api-Key: $NEWS_KEY}", "x-api-key", WORD),
        ("cookies: {session: geheimwort}", "cookie", f"session={WORD}"),
        ("cookies: $NEWS_COOKIES", "cookie", f"a=1; session={WORD}"),
        ("auth: 'me:geheimwort'", "authorization", f"Basic {b64encode(b'me:geheimwort').decode()}"),
        ("user_agent: Reader/1.0", "user-agent", "Reader/1.0"),
        ("language: fi", "accept-language", "fi, en;q=0.5"),
        ("language: fi\naccept_language: sv", "accept-language", "sv"),
        ("", "accept-language", "en"),
    ],
)
def test_requests_have_what_the_rule_gives(site, world, rule, header, value):
    sent: list[dict[str, str]] = []
    site.page(STORY, recording(sent))
    site.page(f"{HOST}/robots.txt", recording(sent))
    feed_of(site, world, STORY)
    rule_of(world, rule)
    crawl = world.crawl("-L", "DEBUG", NEWS_KEY=WORD, NEWS_COOKIES=f"a=1; session={WORD}")
    pages = {one["path"]: one for one in sent}
    assert pages["/story/1"][header] == value
    assert pages["/robots.txt"]["user-agent"].startswith("newsbot/")
    assert WORD not in crawl.err + crawl.out


def test_cookies_are_read_from_a_file(site, world):
    sent: list[dict[str, str]] = []
    site.page(STORY, recording(sent))
    feed_of(site, world, STORY)
    path = world.folder / "cookies.txt"
    path.write_text(f"# Netscape HTTP Cookie File\n.news.test\tTRUE\t/\tFALSE\t0\tsession\t{WORD}\n")
    rule_of(world, f"cookies: file:{path}")
    world.crawl()
    assert sent[0]["cookie"] == f"session={WORD}"


def test_a_site_may_renew_its_session(site, world):
    sent: list[dict[str, str]] = []
    site.page(STORY, recording(sent, **{"Set-Cookie": "session=new; Path=/"}))
    site.page(f"{HOST}/story/2", recording(sent))
    feed_of(site, world, STORY, f"{HOST}/story/2")
    rule_of(world, "cookies: {session: old}\nconcurrency: 1")
    world.crawl()
    assert sorted(one["cookie"] for one in sent) == ["session=new", "session=old"]


def test_no_other_site_gets_the_secrets(site, world):
    sent: list[dict[str, str]] = []
    site.page(STORY, status=302, headers={"Location": "http://other.test/story/1"})
    site.page("http://other.test/robots.txt", recording(sent))
    feed_of(site, world, STORY)
    site.page(f"{HOST}/story/2", recording(sent))
    rule_of(
        world,
        "cookies: {session: geheimwort}\nheaders: {X-Key: geheimwort}\nauth: a:geheimwort\nuser_agent: X/1",
    )

    def leave(request: Request) -> Answer:
        sent.append({"host": request.host, **request.headers})
        return Answer(status=302, headers={"Location": f"{HOST}/story/2"})

    site.page("http://other.test/story/1", leave)
    world.crawl()
    assert {one["host"] for one in sent} == {"other.test", "news.test"}
    for one in sent:
        assert (WORD in str(one)) == (one["host"] == "news.test")
        assert one["host"] == "news.test" or one["user-agent"].startswith("newsbot/")


@pytest.mark.parametrize("session", [True, False])
def test_articles_without_their_text_show_that_a_session_has_ended(site, world, session):
    closed = {"@type": "NewsArticle", "headline": "x", "isAccessibleForFree": False, "wordCount": 900}
    free = json.dumps(closed)
    site.page(STORY, article_html(1, head=f"<script type='application/ld+json'>{free}</script>"))
    site.page(f"{HOST}/story/2", article_html(2))
    feed_of(site, world, STORY, f"{HOST}/story/2")
    rule_of(world, "cookies: {session: old}" if session else "")
    world.crawl()
    assert sorted(article.partial for article in world.articles()) == [False, True]
    with world.storage() as storage:
        lately = pages_from(storage.notes.all(NOTE_KIND)["news.test"]).lately
    assert sorted(lately) == (["", SESSION_ENDED] if session else ["", ""])


def test_secrets_are_not_archived(site, world):
    site.page(STORY, recording([], **{"Set-Cookie": f"session={WORD}"}))
    feed_of(site, world, STORY)
    rule_of(world, f"cookies: {{session: {WORD}}}\nheaders: {{X-Key: {WORD}}}\nauth: a:{WORD}")
    world.crawl("-s", f"NEWSBOT_WARC_DIR={world.folder / 'warc'}")
    [file] = (world.folder / "warc").glob("*.warc.gz")
    archived = gzip.decompress(file.read_bytes())
    assert WORD not in file.with_name(f"{file.name}.cdxj").read_text()
    assert b"Council story" in archived
    assert WORD.encode() not in archived
    assert b"X-Key" not in archived


def test_pages_are_requested_from_the_proxy_of_the_site(site, world):
    with MockServer() as proxy:
        proxy.page(STORY, article_html(1))
        feed_of(proxy, world, STORY)
        rule_of(world, f"proxy: http://me:{WORD}@127.0.0.1:{proxy.port}")
        crawl = world.crawl("-L", "DEBUG")
    assert world.urls() == [STORY]
    assert site.seen() == []
    assert WORD not in crawl.err


@pytest.mark.parametrize(
    ("rule", "says"),
    [
        ("cookies: $NO_SUCH_VARIABLE", "cookies: the environment variable NO_SUCH_VARIABLE is not set"),
        ("auth: file:/no/such/file", "auth: /no/such/file cannot be read (No such file or directory)"),
        ("auth: geheimwort", "auth: must be NAME:PASSWORD"),
        ("proxy: geheimwort", "proxy: must be an address that begins with http:// or https://"),
        ("headers: {Cookie: geheimwort}", "headers: Cookie has a key of its own: cookies"),
        ("headers: {Host: geheimwort}", "headers: Host is set by newsbot itself; remove it"),
        ("headers: {'X Y': geheimwort}", "headers: 'X Y' is not a name of a header or cookie"),
        ("cookies: file:cookies.txt", "cookies: cookies.txt is not an absolute path"),
    ],
)
def test_a_secret_that_is_missing_is_reported_before_the_crawl(site, world, rule, says):
    feed_of(site, world, STORY)
    rule_of(world, rule)
    crawl = world.crawl()
    assert crawl.code in (1, 2)
    assert says in crawl.err
    assert "news.test.yaml" in crawl.err
    assert WORD not in crawl.err
    assert site.seen() == []


def test_secrets_are_not_shown(world):
    rule_of(
        world,
        f"cookies: {{session: {WORD}}}\nheaders: {{X-Key: $KEY}}\nauth: a:{WORD}\nproxy: http://a:{WORD}@b",
    )
    [rule] = load_rules(world.rules)
    assert WORD not in repr(rule)
    for words in (("rules", "show", "news.test"), ("rules", "show", "news.test", "--json")):
        shown = world.scrapy(*words)
        assert shown.code == 0, shown.err
        assert WORD not in shown.out
        assert "$KEY" in shown.out


def test_secrets_are_sent_without_tls_only_if_the_rule_names_such_an_address():
    auth = Secret("a:b")
    safe = credentials_of(Rule(domain="news.test", auth=auth, feeds=("https://news.test/feed",)))
    assert (safe.are_for("https://news.test/"), safe.are_for("http://news.test/")) == (True, False)
    plain = credentials_of(Rule(domain="news.test", auth=auth, feeds=("http://news.test/feed",)))
    assert plain.are_for("http://news.test/")
    with pytest.raises(ArgumentError, match="one line"):
        credentials_of(Rule(domain="news.test", auth=Secret("a:b\nHost: c")))
