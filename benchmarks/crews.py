"""Groups of crawl processes of newsbot or scrapy-redis, started in the same way on the same servers."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import redis

from benchmarks.site import Site
from benchmarks.webs import Web
from testbed.temporary import process_seconds

ROOT = Path(__file__).resolve().parent.parent
SYSTEMS = ("scrapy-redis", "newsbot")
TRAFILATURA = "trafilatura"
"""scrapy-redis that extracts articles with trafilatura."""


@dataclass(slots=True)
class Crew:
    """Starts workers of one system for one job: ``follow`` or ``articles``."""

    system: str
    job: str
    site: Site
    redis_url: str
    folder: Path
    """The working folder. It contains the folder ``rules`` and the data of the workers."""
    mongo_uri: str = ""
    concurrency: int = 32
    delay: float = 0.0
    extra: dict[str, str] = field(default_factory=dict)
    """Additional environment variables."""
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def prepare(self, web: Web) -> None:
        """Queue the start URLs."""
        (self.folder / "starts").write_text("\n".join(web.starts), encoding="utf8")
        if self.system != "newsbot":
            with redis.Redis.from_url(self.redis_url) as client:
                client.rpush("start", *web.starts)

    def start(self) -> None:
        """Start one more worker."""
        self.workers.append(
            subprocess.Popen(self._command(), cwd=ROOT, env=self._environment(), stdout=subprocess.DEVNULL)
        )

    def _command(self) -> Sequence[str]:
        if self.system != "newsbot":
            job = TRAFILATURA if self.system == TRAFILATURA else self.job
            return [sys.executable, "-m", "benchmarks.rival", job]
        if self.job == "follow":
            return [sys.executable, "-m", "benchmarks.follower", str(self.folder / "starts")]
        options = {
            "NEWSBOT_PROGRESS": "0",
            "CONCURRENT_REQUESTS": str(self.concurrency),
            "CONCURRENT_REQUESTS_PER_DOMAIN": str(self.concurrency),
            "NEWSBOT_STATS_FILE": str(self.folder / f"stats{len(self.workers)}.json"),
        }
        settings = [word for name, value in options.items() for word in ("-s", f"{name}={value}")]
        return [sys.executable, "-m", "scrapy", "crawl", "news", "-L", "ERROR", *settings]

    def _environment(self) -> dict[str, str]:
        own = {
            "REDIS_URL": self.redis_url,
            "MONGO_URI": self.mongo_uri,
            "CONCURRENCY": str(self.concurrency),
            "DELAY": str(self.delay),
            "NEWSBOT_DATA": str(self.folder / "data"),
            "NEWSBOT_RULES": str(self.folder / "rules"),
            "STATS_FILE": str(self.folder / f"stats{len(self.workers)}.json"),
        }
        return {**os.environ, **self.site.environment, **own, **self.extra}

    def cpu_seconds(self) -> float:
        """Return the CPU seconds used by the running workers."""
        return sum(process_seconds(worker.pid) for worker in self.workers if worker.poll() is None)

    def running(self) -> bool:
        """Return True while a worker runs."""
        return any(worker.poll() is None for worker in self.workers)

    def stop(self) -> None:
        """Kill all workers."""
        for worker in self.workers:
            if worker.poll() is None:
                worker.kill()
            worker.wait()
