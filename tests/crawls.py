"""Complete crawls in tests: the real command in a separate process, on a local web behind a proxy."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from newsbot.items import Article, Event, PageRecord
from newsbot.sites.rights import NOTE_KIND
from newsbot.storage.sqlite import SqliteStorage
from newsbot.urls import canonicalize, fingerprint
from testbed.articles import SENTENCES, article_html, feed_xml
from testbed.loopback import LoopbackServer
from tests import warm

__all__ = ["ROOT", "SENTENCES", "Crawl", "World", "article_html", "feed_xml"]

ROOT = Path(__file__).resolve().parent.parent

DEFAULTS = "delay: 0\nconcurrency: 8\ninterval: {feed: 10m, sitemap: 10m, section: 10m, article: 30d}\n"


@dataclass
class Crawl:
    """One finished crawl."""

    code: int
    out: str
    err: str
    stats: dict[str, object]

    def stat(self, name: str) -> float:
        """Return the stat ``newsbot/<name>``, 0 if it is not set."""
        return float(str(self.stats.get(f"newsbot/{name}", 0)))


class World:
    """A data folder, a rules folder, and the web of a crawl."""

    def __init__(self, folder: Path, web: LoopbackServer | None) -> None:
        self.folder = folder
        self.data = folder / "data"
        self.rules = folder / "rules"
        self.rules.mkdir(exist_ok=True)
        self.web = web
        self.servers: dict[str, str] = {}
        """REDIS_URL and MONGO_URI of all its crawls; empty for local files."""
        self.rule("_defaults", DEFAULTS)

    def rule(self, name: str, text: str = "") -> None:
        """Write a rule file, by default the shortest one."""
        (self.rules / f"{name}.yaml").write_text(text or f"domain: {name}\n", encoding="utf8")

    def environment(self, **more: str) -> dict[str, str]:
        """Return the environment of a crawl in this world."""
        proxies = self.web.environment if self.web is not None else {}
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.lower().endswith("_proxy")
            and name not in ("REDIS_URL", "MONGO_URI", "NEWSBOT_CONTACT")
        }
        own = {
            "NEWSBOT_DATA": str(self.data),
            "NEWSBOT_RULES": str(self.rules),
            "NEWSBOT_RETRY_SCALE": "0.05",
        }
        return {**kept, **proxies, **own, **self.servers, "NEWSBOT_STATS_FILE": "", **more}

    def command(self, *arguments: str) -> list[str]:
        """Return the command line of a crawl."""
        return [sys.executable, "-W", "error::ResourceWarning", "-m", "scrapy", "crawl", "news", *arguments]

    def start(self, *arguments: str, **environment: str) -> subprocess.Popen[str]:
        """Start a crawl and return its process."""
        return warm.Popen(
            self.command(*arguments),
            cwd=ROOT,
            env=self.environment(**environment),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def crawl(self, *arguments: str, timeout: float = 120, **environment: str) -> Crawl:
        """Run a crawl to its end."""
        stats = self.folder / "stats.json"
        stats.unlink(missing_ok=True)
        process = self.start("-s", f"NEWSBOT_STATS_FILE={stats}", *arguments, **environment)
        try:
            out, err = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            raise AssertionError(f"the crawl did not end within {timeout} s:\n{err[-4000:]}") from None
        counted = json.loads(stats.read_text(encoding="utf8")) if stats.exists() else {}
        return Crawl(process.returncode, out, err, counted)

    def scrapy(self, *arguments: str) -> Crawl:
        """Run another command of scrapy."""
        process = warm.Popen(
            [sys.executable, "-m", "scrapy", *arguments],
            cwd=ROOT,
            env=self.environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        out, err = process.communicate(timeout=120)
        return Crawl(process.returncode, out, err, {})

    @contextmanager
    def storage(self) -> Iterator[SqliteStorage]:
        """Open the storage."""
        storage = SqliteStorage(self.data / "newsbot.db")
        try:
            yield storage
        finally:
            storage.close()

    def forget_files(self, host: str) -> None:
        """Make robots.txt and tdmrep.json of a host due again, as after a day."""
        with self.storage() as storage:
            for name in storage.notes.all(NOTE_KIND + host):
                storage.notes.forget(NOTE_KIND + host, name)

    def articles(self) -> list[Article]:
        """Return all stored articles."""
        with self.storage() as storage:
            return list(storage.articles.iter())

    def urls(self) -> list[str]:
        """Return the canonical URLs of all stored articles, sorted."""
        return sorted(article.canonical_url for article in self.articles())

    def page(self, url: str) -> PageRecord | None:
        """Return the page record of a URL."""
        key = fingerprint(canonicalize(url))
        with self.storage() as storage:
            return storage.pages.get([key]).get(key)

    def events(self, url: str) -> list[Event]:
        """Return the events of a URL, in order."""
        page = self.page(url)
        return page.history if page is not None else []
