"""A folder with rules and data, and commands that run on it: in this process (fast), or as programs."""

from __future__ import annotations

import argparse
import io
import json
import os
import re
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest.mock import patch

from scrapy.settings import Settings

from newsbot.cli.command import NewsbotCommand
from newsbot.dedup.index import text_key
from newsbot.frontier.sqlite.frontier import SqliteFrontier
from newsbot.items import Article
from newsbot.storage.sqlite import SqliteStorage
from tests import warm

ROOT = Path(__file__).resolve().parent.parent

RULE = """\
domain: example.org
feeds:
  - https://example.org/rss.xml
sitemaps:
  - https://example.org/news-sitemap.xml
article:
  - ^/news/\\d+
section:
  - ^/topics/
deny:
  - ^/login
drop_query:
  - ref
"""


@dataclass(frozen=True)
class Answer:
    """The result of a command."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The output of ``--json``; stdout must not contain anything else."""
        return json.loads(self.out)

    @property
    def rows(self) -> list[list[str]]:
        """Return the cells of a plain table, without its header."""
        return [re.split(r" {2,}", line.strip()) for line in self.out.splitlines()[1:]]


class Place:
    """A folder with rules and data."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.data = folder / "data"
        self.rules = folder / "rules"
        self.servers: list[str] = []
        self.at_servers: dict[str, str] = {}
        self.rules.mkdir()
        shutil.copy(ROOT / "rules/_defaults.yaml", self.rules)
        (self.rules / "example.org.yaml").write_text(RULE)

    @contextmanager
    def storage(self) -> Iterator[SqliteStorage]:
        """Open the storage, to fill or read it."""
        with closing(SqliteStorage(self.data / "newsbot.db")) as storage:
            yield storage

    @contextmanager
    def frontier(self) -> Iterator[SqliteFrontier]:
        """Open the frontier, to fill or read it."""
        with closing(SqliteFrontier(self.data / "newsbot.db", clock=time.time)) as frontier:
            yield frontier

    @property
    def environment(self) -> dict[str, str]:
        """Environment variables that name the folder."""
        return {"NEWSBOT_DATA": str(self.data), "NEWSBOT_RULES": str(self.rules)}

    def program(self, *words: str) -> Answer:
        """Run ``scrapy WORDS`` as a program in the project's folder."""
        command = [sys.executable, "-m", "scrapy", *words]
        done = warm.run(command, cwd=ROOT, env={**os.environ, **self.environment})
        assert "Traceback" not in done.stderr, done.stderr
        return Answer(done.returncode, done.stdout, done.stderr)

    def run(self, name: str, *words: str, **settings: str) -> Answer:
        """Run ``scrapy NAME WORDS`` with these settings in this process."""
        command: NewsbotCommand = import_module(f"newsbot.commands.{name}").Command()
        command.settings = Settings()
        command.settings.setmodule("newsbot.settings", priority="project")
        command.settings.setdict({**self.environment, **settings}, priority="cmdline")
        parser = argparse.ArgumentParser(conflict_handler="resolve")
        out, err = _stream(), _stream()
        with (
            redirect_stdout(out),
            redirect_stderr(err),
            patch("newsbot.cli.command.configure_logging"),  # would affect later tests
        ):
            command.add_options(parser)
            options, rest = parser.parse_known_args(list(words))
            command.process_options(rest, options)
            command.run(rest, options)
        return Answer(command.exitcode, _text(out), _text(err))


def _stream() -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)


def _text(stream: io.TextIOWrapper) -> str:
    stream.seek(0)
    return stream.read()


def article(number: int, **changes: Any) -> Article:
    """Return a short complete article."""
    text = changes.pop("text", f"Text of article number {number} about the harbour. " * 5)
    values: dict[str, Any] = {
        "url": f"https://example.org/news/{number}?utm_source=feed",
        "canonical_url": f"https://example.org/news/{number}",
        "source": "example.org",
        "title": f"Title {number}",
        "text": text,
        "published_at": datetime(2024, 5, number, 8, 0, tzinfo=UTC),
        "published_source": "json-ld",
        "published_precision": "minute",
        "language": "en",
        "fetched_at": datetime(2024, 5, number, 9, 0, tzinfo=UTC),
        "content_hash": text_key(text),
        "extraction": {"title": "json-ld", "text": "learned"},
    }
    return Article(**(values | changes))
