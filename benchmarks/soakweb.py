"""A web that grows while it is crawled, with pages that fail at first: the web of ``benchmarks.soak``.

Articles are published at a fixed rate, spread over hosts. Each host has a feed of its newest articles. Every
twentieth article has a second address with the same text, in the same feed. A tenth of the articles are slow,
answer 500 or 503 with Retry-After, break off, or hang up at the first requests; feeds sometimes fail in the
same ways. Attackers may list the articles under other spellings of their URLs that are broken, and may
redirect to these spellings.
"""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from email.utils import format_datetime
from html import escape
from itertools import count
from pathlib import Path

from testbed.articles import feed_xml
from testbed.attacks import ATTACKS
from testbed.demoweb.hosts import slug
from testbed.demoweb.lexicon import load_language
from testbed.demoweb.prose import Story, Writer
from testbed.messages import Answer, Request
from testbed.mockserver import MockServer

HOSTS = 20
SHOWN = 400
"""Number of entries in a feed. It is higher than the number of articles that a host publishes during the
restart of a server and the pause after a failing feed."""
SLOW_SECONDS = 5.0
COPY_EVERY = 20
FAULTS = ("slow", "500", "500 twice", "503", "cut", "hang up", "hang up twice")
XML = {"Content-Type": "application/rss+xml"}
FAULTY = 0.1
"""Share of articles that have a fault, and share of feed answers that are faulty."""


@dataclass(frozen=True, slots=True)
class Published:
    """One article: its URLs, its publication time, and the faults of its first requests."""

    host: str
    paths: tuple[str, ...]
    """The first one is its main URL, the second one a copy."""
    story: Story
    at: datetime
    fault: str

    @property
    def url(self) -> str:
        """The main URL of the article."""
        return f"http://{self.host}{self.paths[0]}"


class GrowingWeb:
    """Answers requests in one thread, publishes in another."""

    def __init__(self, attackers: Attackers | None = None, seed: str = "soak", hosts: int = HOSTS) -> None:
        self.attackers = attackers
        self.published: list[Published] = []
        self.served: Counter[str] = Counter()
        """How often each article was sent completely, by URL."""
        self.faults: Counter[str] = Counter()
        self.wild = True
        """False if feeds do not fail."""
        self.clock: Callable[[], datetime] = lambda: datetime.now(UTC)
        self._chance = random.Random(seed)
        self._writers = [Writer(load_language(code), self._chance) for code in ("en", "ru")]
        self._pages: dict[tuple[str, str], Published] = {}
        self._feeds: dict[str, list[Published]] = {f"site{n}.example": [] for n in range(hosts)}
        self._tries: Counter[tuple[str, str]] = Counter()
        self._lock = threading.Lock()

    def publish(self) -> None:
        """Publish one more article."""
        number = len(self.published)
        host = f"site{self._chance.randrange(len(self._feeds))}.example"
        story = self._writers[number % 2].story()
        at = self.clock()
        path = f"/news/{at:%Y/%m/%d}/{slug(story.title)}-{100_000 + number}.html"
        paths = (path, path.replace("/news/", "/print/")) if number % COPY_EVERY == 0 else (path,)
        fault = self._chance.choice(FAULTS) if self._chance.random() < FAULTY else ""
        new = Published(host, paths, story, at, fault)
        with self._lock:
            self.published.append(new)
            self._feeds[host] = [*self._feeds[host][-SHOWN + 1 :], new]
            for one in paths:
                self._pages[host, one] = new
        if self.attackers is not None:
            self.attackers.aim(new.url)

    def __call__(self, request: Request) -> Answer:
        """Return the answer to a request."""
        if request.path == "/robots.txt":
            return Answer(
                kind="robots", body=b"User-agent: *\nDisallow:\n", headers={"Content-Type": "text/plain"}
            )
        with self._lock:
            page = self._pages.get((request.host, request.path))
            feed = self._feeds.get(request.host, [])
        if request.path == "/feed.xml":
            answer = _feed(request.host, feed)
            if self.wild and self._chance.random() < FAULTY:
                return self._spoil(answer, self._chance.choice(FAULTS).removesuffix(" twice"))
            return answer
        if page is None:
            return Answer(status=404, kind="missing")
        answer = _article(page)
        self._tries[request.host, request.path] += 1
        tries = self._tries[request.host, request.path]
        if page.fault and tries <= (2 if page.fault.endswith("twice") else 1):
            return self._spoil(answer, page.fault.removesuffix(" twice"))
        self.served[page.url] += 1
        return answer

    def _spoil(self, answer: Answer, fault: str) -> Answer:
        self.faults[fault] += 1
        if fault == "slow":
            return replace(answer, delay=SLOW_SECONDS)
        if fault == "500":
            return Answer(
                status=500, kind=answer.kind, body=b"<h1>Internal Server Error</h1>", validators=False
            )
        if fault == "503":
            return Answer(status=503, kind=answer.kind, headers={"Retry-After": "2"}, validators=False)
        if fault == "cut":
            return replace(answer, cut=len(answer.body) // 2)
        return replace(answer, hang_up=True)


class Attackers:
    """Other sites that attack the web: each new article is the target of one attack of tests/hostile."""

    def __init__(self) -> None:
        self.hosts = [f"attacker{number}.example" for number in range(len(ATTACKS))]
        self.answer = (site := MockServer()).answer
        self._site, self._turn = site, count()
        self._listed: dict[str, list[str]] = {host: [] for host in self.hosts}

    def aim(self, url: str) -> None:
        """Attack the article at ``url``."""
        number = next(self._turn) % len(ATTACKS)
        host = self.hosts[number]
        listed = [*self._listed[host], *ATTACKS[number].run(self._site, host, url)][-SHOWN:]
        self._listed[host] = listed
        self._site.page(f"http://{host}/feed.xml", feed_xml(listed), headers=XML)


def write_rules(folder: Path, *, minutes: int, attackers: Sequence[str] = (), hosts: int = HOSTS) -> None:
    """Write one rule per host; feeds may be polled every ``minutes``."""
    folder.mkdir(parents=True)
    defaults = f"delay: 0\nconcurrency: 4\ninterval: {{feed: {minutes}m}}\n"
    (folder / "_defaults.yaml").write_text(defaults, encoding="utf8")
    for host in (*(f"site{number}.example" for number in range(hosts)), *attackers):
        rule = f"domain: {host}\nfeeds: http://{host}/feed.xml\nfollow: [feeds]\n"
        (folder / f"{host}.yaml").write_text(rule, encoding="utf8")


def _feed(host: str, shown: list[Published]) -> Answer:
    items = "".join(
        f"<item><title>{escape(one.story.title)}</title><link>http://{host}{path}</link>"
        f"<pubDate>{format_datetime(one.at)}</pubDate></item>"
        for one in reversed(shown)
        for path in one.paths
    )
    body = f"<rss version='2.0'><channel><title>{host}</title>{items}</channel></rss>"
    return Answer(kind="feed", body=body.encode(), headers={"Content-Type": "application/rss+xml"})


def _article(page: Published) -> Answer:
    story = page.story
    text = "".join(f"<p>{escape(part)}</p>\n" for part in story.paragraphs)
    body = (
        f'<!DOCTYPE html>\n<html lang="{story.language}"><head><meta charset="utf-8">'
        f"<title>{escape(story.title)}</title>"
        f'<meta property="og:type" content="article">'
        f'<meta property="og:title" content="{escape(story.title)}">'
        f'<meta property="article:published_time" content="{page.at.isoformat()}"></head>\n'
        f'<body><nav><a href="/">Home</a></nav><main><article><h1>{escape(story.title)}</h1>\n{text}'
        "</article></main></body></html>\n"
    )
    headers = {"Content-Type": "text/html; charset=utf-8"}
    return Answer(kind="article", body=body.encode(), headers=headers, last_modified=page.at.timestamp())
