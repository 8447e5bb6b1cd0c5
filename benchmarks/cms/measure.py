"""Crawls a site twice with a one-line rule and default settings, and compares the result with its posts."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

from benchmarks.cms.posts import NOW, ZONE, Post, make_posts
from newsbot.backends import open_storage
from newsbot.items import Article
from testbed.loopback import LoopbackServer
from testbed.messages import Answer, Request
from testbed.otherclock import SharedTime

ROOT = Path(__file__).parent.parent.parent
LONGEST = 12 * 3600.0
"""Seconds of the simulated clock that a crawl may take."""
_SENTENCE = re.compile(r"(?<=[.!?»”\"])\s+")
_SIGNS = re.compile(r"[\W_]+")
_NO_PAGE = ("xml", "text/plain", "css", "javascript", "image/", "json")


class Site(Protocol):
    """A web site whose posts can be replaced."""

    name: str
    shows_authors: bool

    @property
    def host(self) -> str:
        """The host name of the site."""

    def publish(self, posts: Sequence[Post]) -> None:
        """Make the site show these posts."""

    def __call__(self, request: Request) -> Answer:
        """Answer a request."""


@dataclass(slots=True)
class Watched:
    """Serves the site and counts the requests."""

    site: Site
    slugs: frozenset[str]
    requests: Counter[str] = field(default_factory=Counter)
    """Number of requests by type of answer: post, list, source, other, none."""
    paths: Counter[str] = field(default_factory=Counter)

    def __call__(self, request: Request) -> Answer:
        """Answer a request of the crawl."""
        answer = self.site(request) if request.host == self.site.host else Answer(status=404)
        self.requests[self._kind(request.path, answer)] += 1
        self.paths[request.path] += 1
        return answer

    def _kind(self, path: str, answer: Answer) -> str:
        if answer.status != 200:
            return "none"
        content = {name.lower(): value for name, value in answer.headers.items()}.get("content-type", "")
        if any(part in content for part in _NO_PAGE):
            return "source"
        if slug_of(path) in self.slugs:
            return "post"
        named = sum(
            any(f"{slug}{end}".encode() in answer.body for end in ("/", ".html", '"')) for slug in self.slugs
        )
        return "list" if named >= 2 or path == "/" else "other"


def slug_of(address: str) -> str:
    """Return the last part of the URL path, without ``.html``."""
    path = urlsplit(address).path.removesuffix("index.html").rstrip("/")
    return path.rpartition("/")[2].removesuffix(".html")


def measure(site: Site, folder: Path, count: int) -> dict[str, Any]:
    """Crawl, publish 12 new posts and 10 edits a day later, and crawl again; return the figures."""
    posts = make_posts(count)
    later = make_posts(count, new=12, edited=10)
    watched = Watched(site, frozenset(post.slug for post in later))
    site.publish(posts)
    rules = folder / "rules"
    rules.mkdir(parents=True)
    (rules / f"{site.host}.yaml").write_text(f"domain: {site.host}\n", encoding="utf-8")
    with LoopbackServer(watched) as server:
        environment = server.environment | {"NEWSBOT_DATA": str(folder / "data"), "NEWSBOT_RULES": str(rules)}
        _crawl(folder, environment, NOW.timestamp())
        first = Counter(watched.requests)
        row = {"site": site.name, **compare(_stored(folder), posts, authors=site.shows_authors)}
        row |= _requests(first, int(row["found"] * count))
        site.publish(later)
        _crawl(folder, environment, (NOW + timedelta(days=1)).timestamp())
    stored = _stored(folder)
    row |= {name: compare(stored, later)[name] for name in ("twice", "noise")}
    again = sum(watched.requests.values()) - sum(first.values())
    return row | _second(stored, posts, later) | {"again": again}


def _crawl(folder: Path, environment: dict[str, str], begin: float) -> None:
    SharedTime(folder / "time", begin)
    clock = (str(folder / "time"), str(begin + LONGEST), "0")
    words = ("crawl", "news", "-L", "INFO", "-s", "NEWSBOT_PROGRESS=0", "-s", "NEWSBOT_LEASE_SECONDS=86400")
    own = ("REDIS_URL", "MONGO_URI")
    kept = {
        key: value for key, value in os.environ.items() if key not in own and not key.startswith("NEWSBOT_")
    }
    with (folder / "crawl.log").open("ab") as log:
        subprocess.run(
            [sys.executable, "-m", "testbed.otherclock", *clock, *words],
            cwd=ROOT,
            env=kept | environment,
            stdout=log,
            stderr=log,
            check=True,
        )


def _stored(folder: Path) -> list[Article]:
    with closing(open_storage({"NEWSBOT_DATA": str(folder / "data")})) as storage:
        return list(storage.articles.iter())


def compare(stored: Iterable[Article], posts: Sequence[Post], *, authors: bool = True) -> dict[str, Any]:
    """Return the share of posts that were found, and the shares of those with correct fields."""
    by_slug = {post.slug: post for post in posts}
    found: dict[str, Article] = {}
    twice = noise = 0
    for article in stored:
        slug = slug_of(article.url)
        noise += slug not in by_slug
        twice += slug in found
        if slug in by_slug:
            found.setdefault(slug, article)
    right: Counter[str] = Counter()
    sentences = kept = letters = foreign = 0
    for slug, article in found.items():
        post = by_slug[slug]
        right.update(name for name, same in _right(article, post).items() if same)
        wanted, whole = _sentences(post.text), _plain(article.text)
        sentences += len(wanted)
        kept += sum(sentence in whole for sentence in wanted)
        own = _plain(post.text)
        here = _sentences(article.text)
        letters += sum(map(len, here))
        foreign += sum(len(sentence) for sentence in here if sentence not in own)
    number = max(1, len(found))
    return {
        "found": len(found) / len(posts),
        "twice": twice,
        "noise": noise / max(1, noise + twice + len(found)),
        "title": right["title"] / number,
        "day": right["day"] / number,
        "minute": right["minute"] / number,
        "authors": right["authors"] / number if authors else None,
        "sentences": kept / max(1, sentences),
        "foreign": foreign / max(1, letters),
    }


def _right(article: Article, post: Post) -> dict[str, bool]:
    at = article.published_at
    exact = at is not None and article.published_precision != "day"
    return {
        "title": _plain(article.title) == _plain(post.title),
        "day": at is not None and (at.astimezone(ZONE) if exact else at).date() == post.published.date(),
        "minute": exact and at is not None and abs((at - post.published).total_seconds()) < 60,
        "authors": list(map(_plain, article.authors)) == [_plain(post.author)],
    }


def _requests(counted: Counter[str], found: int) -> dict[str, Any]:
    pages = counted["post"] + counted["other"]
    return {
        "useful": found / max(1, pages),
        "requests": sum(counted.values()) / max(1, found),
        "lists": counted["list"],
    }


def _second(stored: Iterable[Article], posts: Sequence[Post], later: Sequence[Post]) -> dict[str, Any]:
    before = {post.slug: post for post in posts}
    texts = {slug_of(article.url): _plain(article.text) for article in stored}
    new = [post.slug in texts for post in later if post.slug not in before]
    edited = [
        _plain(post.blocks[-1][1]) in texts.get(post.slug, "")
        for post in later
        if post.slug in before and post.blocks != before[post.slug].blocks
    ]
    return {"new": sum(new) / max(1, len(new)), "edits": sum(edited) / max(1, len(edited))}


def _sentences(text: str) -> list[str]:
    parts = (_plain(part) for line in text.splitlines() for part in _SENTENCE.split(line))
    return [part for part in parts if part]


def _plain(text: str) -> str:
    """Return letters and digits only: generators change quotation marks and dashes."""
    return _SIGNS.sub("", text.casefold())
