"""If a server is down or denies access, a command prints one line without secrets and exits with code 1."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from newsbot.storage.sqlite import SqliteStorage
from testbed.redisserver import RedisServer, need_redis
from testbed.servers import free_port
from tests import warm
from tests.crawls import ROOT, World

COMMANDS = {
    "crawl": ("crawl", "news"),
    "add": ("add", "http://news.test/story/1"),
    "why": ("why", "http://news.test/story/1"),
    "sources": ("sources",),
    "search": ("articles", "search", "bridge"),
    "show": ("articles", "show", "http://news.test/story/1"),
    "export": ("articles", "export", "--format", "jsonl"),
    "stories": ("articles", "stories"),
}
OF_THE_QUEUE = ("crawl", "add", "why")
"""Commands that use the queue; the others only read the storage."""


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """A Redis server with a password."""
    need_redis()
    server = RedisServer(tmp_path_factory.mktemp("redis"), "--requirepass", "Right1")
    server.start()
    yield server
    server.kill()


def run(world: World, command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    world.rule("news.test")
    words = [sys.executable, "-W", "error::ResourceWarning", "-m", "scrapy", *COMMANDS[command]]
    return warm.run(words, cwd=ROOT, env=world.environment(**environment))


def check_one_line(ended: subprocess.CompletedProcess[str], words: str) -> None:
    (line,) = ended.stderr.strip().splitlines()
    assert words in line
    assert ended.returncode == 1
    assert ended.stdout == ""
    assert "Sekret" not in line


@pytest.fixture
def lonely(tmp_path: Path) -> World:
    world = World(tmp_path, None)
    SqliteStorage(world.data / "newsbot.db").close()  # otherwise there is nothing to read
    return world


@pytest.mark.parametrize("command", OF_THE_QUEUE)
def test_redis_is_down(lonely: World, command: str) -> None:
    url = f"redis://user:Sekret@127.0.0.1:{free_port()}/0"
    check_one_line(run(lonely, command, REDIS_URL=url), "cannot be reached")


@pytest.mark.parametrize("command", OF_THE_QUEUE)
def test_redis_refuses_the_password(lonely: World, guarded: RedisServer, command: str) -> None:
    url = guarded.url.replace("redis://", "redis://:Sekret@")
    check_one_line(run(lonely, command, REDIS_URL=url), "refuses user name or password")


def test_redis_wants_a_password(lonely: World, guarded: RedisServer) -> None:
    check_one_line(run(lonely, "crawl", REDIS_URL=guarded.url), "refuses user name or password")


@pytest.mark.parametrize(
    "url",
    [
        "Sekret",
        "user:Sekret@host:6379",
        "http://user:Sekret@host/",
        "redis://user:Sekret@host:port/0",
        "redis://user:Sekret/1@host:6379/0",
        "redis://user:Sekret#1@host:6379/0",
        "redis://user:Sekret?1@host:6379/0",
        "redis://:1/Sekret@host:6379/0",
        "redis://:1?Sekret@host:port/0",
        "redis://127.0.0.1:6379/Sekret",
    ],
)
def test_an_invalid_redis_url(lonely: World, url: str) -> None:
    """An unescaped character moves the rest of the password to another part of the URL."""
    check_one_line(run(lonely, "add", REDIS_URL=url), "REDIS_URL: cannot be ")


@pytest.mark.parametrize("command", COMMANDS)
def test_mongodb_is_down(lonely: World, command: str) -> None:
    uri = f"mongodb://user:Sekret@127.0.0.1:{free_port()}/?serverSelectionTimeoutMS=300"
    check_one_line(run(lonely, command, MONGO_URI=uri), "does not answer; start it, or correct MONGO_URI")


@pytest.mark.parametrize("command", ["crawl", "sources"])
def test_an_invalid_mongodb_uri(lonely: World, command: str) -> None:
    check_one_line(run(lonely, command, MONGO_URI="mongodb://user:Sekret@@host/"), "MONGO_URI: ")


def test_a_program_that_starts_a_crawl_gets_a_message_without_a_traceback(world: World) -> None:
    """The command checks the server first; the program does not. A server may also go down after that."""
    world.rule("news.test")
    program = (
        "from scrapy.crawler import CrawlerProcess\n"
        "from scrapy.utils.project import get_project_settings\n"
        "process = CrawlerProcess(get_project_settings())\n"
        "process.crawl('news')\n"
        "process.start()\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env=world.environment(REDIS_URL=f"redis://:Sekret@127.0.0.1:{free_port()}/0"),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    (line,) = [line for line in ended.stderr.splitlines() if "ERROR" in line]
    assert "cannot be reached" in line
    assert "Traceback" not in ended.stderr
    assert "Sekret" not in ended.stderr
