"""One-line rules are enough for sites of several systems with much noise (behind a proxy, http and https)."""

from __future__ import annotations

import random

import pytest

from testbed.loopback import LoopbackServer
from testbed.messages import Answer, Request
from tests.certificates import self_signed
from tests.crawls import World, article_html, feed_xml

HTML = {"Content-Type": "text/html; charset=utf-8"}
PATHS = {
    "daily.test": "/2026/11/20/council-story-number-{}-about-the-bridge",
    "www.post.test": "/story/{}/council-story-about-the-bridge-and-money?ref=rss",
    "gazeta.test": "/news/15{:05d}.html",
    "heute.test": "/politik/artikel-bruecke-und-rat-id{:07d}.html",
    "новости.test": "/a/100{:04d}/",
}
NOISE = ["/tag/{}", "/author/{}", "/search?q={}", "/login?next={}", "/photo/{}.jpg", "/print/{}", "/video/{}",
         "/rubric/{}/page/2", "/about/{}"]  # fmt: skip
NAMES = {name.encode("idna").decode(): name for name in PATHS}
PER_HOST = 3


class Replay:
    """Answers for all hosts; http for the first two, only https for the others."""

    def __init__(self) -> None:
        self.kinds: list[tuple[str, str]] = []
        self.articles: dict[tuple[str, str], int] = {}
        for number, (host, name) in enumerate(NAMES.items()):
            for one in range(PER_HOST):
                self.articles[host, PATHS[name].format(number * PER_HOST + one)] = number * PER_HOST + one

    def urls(self, host: str) -> list[str]:
        scheme = "http" if host in ("daily.test", "www.post.test") else "https"
        return [f"{scheme}://{where}{path}" for where, path in self.articles if where == host]

    def __call__(self, request: Request) -> Answer:
        kind, answer = self.answer(request.host, request.path)
        self.kinds.append((kind, request.host + request.path))
        return answer

    def answer(self, host: str, path: str) -> tuple[str, Answer]:
        if host not in NAMES or path == "/.well-known/tdmrep.json":
            return "unknown", Answer(status=404)
        if path == "/robots.txt":
            text = f"User-agent: *\nDisallow: /login\nSitemap: http://{host}/sm.xml\n"
            return "robots", Answer(body=text.encode(), headers={"Content-Type": "text/plain"})
        if path == "/feed.xml":
            return "feed", Answer(
                body=feed_xml(self.urls(host)[:-1]).encode(), headers={"Content-Type": "text/xml"}
            )
        if path == "/sm.xml":
            rows = "".join(f"<url><loc>{url}</loc></url>" for url in self.urls(host))
            return "sitemap", Answer(
                body=f"<urlset>{rows}</urlset>".encode(), headers={"Content-Type": "text/xml"}
            )
        if (host, path) in self.articles:
            return "article", Answer(body=article_html(self.articles[host, path]).encode(), headers=HTML)
        return ("front" if path == "/" else "noise"), Answer(
            body=self.front(host, path).encode(), headers=HTML
        )

    def front(self, host: str, path: str) -> str:
        rng = random.Random(host + path)
        links = [
            f'<li><a href="{url}">Council story with a long headline</a></li>' for url in self.urls(host)
        ]
        noise = [rng.choice(NOISE).format(rng.randrange(10**6)) for _ in range(9 * PER_HOST)]
        links += [f'<li><a href="{url}">more</a></li>' for url in noise]
        rng.shuffle(links)
        head = '<link rel="alternate" type="application/rss+xml" href="/feed.xml">'
        return f"<html><head>{head}</head><body><ul>{''.join(links)}</ul></body></html>"


@pytest.fixture
def replay(tmp_path):
    web = Replay()
    with LoopbackServer(web, tls=self_signed(tmp_path, *NAMES)) as server:
        yield web, World(tmp_path, server)


def test_one_line_rules_store_every_article_once_without_fetching_noise(replay, tmp_path):
    web, world = replay
    for name in PATHS:
        world.rule(name)
    crawl = world.crawl(SSL_CERT_FILE=str(tmp_path / "certificate.pem"))
    assert crawl.code == 0, crawl.err
    articles = world.articles()
    assert len(articles) == len(PATHS) * PER_HOST
    assert all(article.title and article.text for article in articles)
    assert len({article.content_hash for article in articles}) == len(articles)
    fetched = [where for kind, where in web.kinds if kind == "article"]
    assert len(fetched) == len(set(fetched)) == len(articles)
    assert [where for kind, where in web.kinds if kind == "noise"] == []
    assert "Traceback" not in crawl.err
