"""The Redis configuration in ``deploy/``: its file, its users with minimal rights, its backup."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import redis
import yaml

from newsbot.apps.redis import index as near_redis
from newsbot.apps.redis.frontier import RedisFrontier
from newsbot.apps.redis.index import RedisIndex
from newsbot.dedup.index import signature
from newsbot.frontier.base import Entry
from newsbot.items import Kind
from newsbot.urls import fingerprint
from testbed.mockserver import MockServer
from testbed.redisserver import need_redis
from testbed.servers import free_port
from tests.crawls import ROOT, World, article_html, feed_xml

PASSWORD, ADMIN_PASSWORD = "0123456789abcdef", "fedcba9876543210"


class Shipped:
    """Redis as ``deploy/redis-start`` starts it, but on a free port."""

    def __init__(self, folder: Path) -> None:
        need_redis()
        folder.mkdir(exist_ok=True)
        self.folder = folder
        self.port = free_port()
        self.url = f"redis://newsbot:{PASSWORD}@127.0.0.1:{self.port}/0"
        self.admin: redis.Redis = redis.Redis(
            port=self.port, username="admin", password=ADMIN_PASSWORD, decode_responses=True
        )
        environment = {
            **os.environ,
            "REDIS_PASSWORD": PASSWORD,
            "REDIS_ADMIN_PASSWORD": ADMIN_PASSWORD,
            "REDIS_USERS_FILE": str(folder / "users.acl"),
        }
        command = [str(ROOT / "deploy/redis-start"), "--port", str(self.port), "--dir", str(folder)]
        with (folder / "log").open("wb") as log:
            self.process = subprocess.Popen(command, env=environment, stdout=log, stderr=subprocess.STDOUT)
        end = time.monotonic() + 60
        while not self._answers():
            assert self.process.poll() is None, (folder / "log").read_text()
            assert time.monotonic() < end
            time.sleep(0.05)

    def _answers(self) -> bool:
        try:
            return bool(self.admin.ping())
        except redis.exceptions.ConnectionError:
            return False

    def stop(self) -> None:
        self.admin.close()
        self.process.kill()
        self.process.wait()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Shipped]:
    server = Shipped(tmp_path / "redis")
    yield server
    server.stop()


def entries(count: int) -> list[Entry]:
    return [
        Entry(
            url=f"https://example.org/{n}",
            fingerprint=fingerprint(f"https://example.org/{n}"),
            host="example.org",
            kind=Kind.ARTICLE,
            priority=0.5,
            due=0.0,
            data={},
        )
        for n in range(count)
    ]


def denied(server: Shipped) -> list[str]:
    """Return the denied commands of a user from Redis' ACL log."""
    return [f"{row['reason']} {row['object']}" for row in server.admin.acl_log()]


def test_every_change_is_persisted_and_no_key_is_evicted(server: Shipped) -> None:
    wanted = {
        "appendonly": "yes",
        "appendfsync": "always",
        "maxmemory-policy": "noeviction",
        "hash-max-listpack-entries": "512",
    }
    kept: dict[Any, Any] = {}
    for name in wanted:
        kept.update(server.admin.config_get(name))
    assert kept == wanted
    assert (server.folder / "users.acl").stat().st_mode & 0o077 == 0


def test_the_rights_of_the_user_are_sufficient_for_a_crawl(
    server: Shipped, world: World, site: MockServer
) -> None:
    urls = [f"http://news.test/20/{number}.html" for number in range(10)]
    for number, url in enumerate(urls):
        site.page(url, article_html(number))
    site.page("http://news.test/feed", feed_xml(urls), headers={"Content-Type": "application/rss+xml"})
    world.rule("news.test", "domain: news.test\nfeeds: [http://news.test/feed]\narticle: /20/\n")
    for _ in range(2):
        crawl = world.crawl(REDIS_URL=server.url)
        assert crawl.code == 0, crawl.err
    assert len(world.urls()) == 10
    assert denied(server) == []


def test_all_operations_of_the_frontier_are_allowed(server: Shipped) -> None:
    some = entries(3)
    with closing(RedisFrontier(server.url)) as frontier:
        frontier.add(some)
        frontier.mark_done(entries(60_000), None)  # buckets of known URLs are split
        frontier.set_politeness("example.org", delay=0.0, concurrency=4)
        frontier.back_off("example.org", 0.001)
        frontier.add(some, force=True)
        time.sleep(0.01)
        first, second, third = frontier.lease("me", 3, horizon=time.time(), ttl=60, accept=lambda _: True)
        assert frontier.ack(first, next_due=None)
        assert frontier.nack(second, delay=0)
        assert frontier.resume("me", [third], 60).kept == 1
        assert frontier.owners() == ["me"]
        assert frontier.release("me") == 1
        assert set(frontier.known([one.fingerprint for one in some])) == {one.fingerprint for one in some}
        assert frontier.entry(third.entry.fingerprint) is not None
        frontier.outlook(horizon=time.time(), accept=lambda _: True)
        assert frontier.counts()["pending"] == 2
    assert denied(server) == []


def test_all_operations_of_the_near_duplicate_index_are_allowed(
    server: Shipped, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(near_redis, "LOAD", 0.01)  # buckets are split
    with closing(RedisIndex(server.url)) as index:
        same = signature(" ".join(f"word{number}" for number in range(100)))
        for number in range(200):  # the oldest texts are removed
            index.check_and_insert(f"{number}", "a.org", same, 1000.0 * number * 86400)
            index.check_and_insert("again and again", "a.org", same, 1000.0 * number * 86400)
        assert index.count() < 200
    assert denied(server) == []


@pytest.mark.parametrize(
    "command",
    ["FLUSHALL", "FLUSHDB", "KEYS *", "CONFIG GET dir", "ACL LIST", "SHUTDOWN", "SET other 1", "GET other"],
)
def test_dangerous_commands_are_denied_to_the_user(server: Shipped, command: str) -> None:
    with redis.Redis.from_url(server.url) as client, pytest.raises(redis.exceptions.NoPermissionError):
        client.execute_command(*command.split())


def test_a_password_is_required_from_any_address(server: Shipped) -> None:
    for source in ("127.0.0.1", "127.0.0.2"):  # Redis treats 127.0.0.2 as another machine
        with socket.create_connection(("127.0.0.1", server.port), source_address=(source, 0)) as line:
            line.sendall(b"INFO\r\n")
            assert line.recv(100).startswith(b"-NOAUTH")


def test_the_server_does_not_start_without_passwords(tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("REDIS_")}
    done = subprocess.run(
        [ROOT / "deploy/redis-start"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )
    assert done.returncode != 0
    assert "REDIS_PASSWORD" in done.stderr


def test_the_health_check_of_the_compose_file_works(server: Shipped) -> None:
    compose = yaml.safe_load((ROOT / "deploy/docker-compose.yml").read_text(encoding="utf8"))
    how, command = compose["services"]["redis"]["healthcheck"]["test"]
    assert how == "CMD-SHELL"
    command = command.replace("$$", "$").replace("redis-cli", f"redis-cli -p {server.port}")
    for password, good in ((PASSWORD, True), ("wrong", False)):
        done = subprocess.run(
            ["sh", "-c", command],
            env={**os.environ, "REDIS_PASSWORD": password},
            capture_output=True,
            check=False,
            timeout=30,
        )
        assert (done.returncode == 0) is good


def test_a_copy_of_the_folder_is_a_backup(server: Shipped, tmp_path: Path) -> None:
    # Redis 7.0 replays its file as the user "default": with fewer rights than +@all it starts empty
    with closing(RedisFrontier(server.url)) as frontier:
        frontier.add(entries(500))
        counts = frontier.counts()
    server.admin.config_set("auto-aof-rewrite-percentage", 0)  # as described in docs/operations.md
    shutil.copytree(server.folder / "appendonlydir", tmp_path / "again/appendonlydir")
    restored = Shipped(tmp_path / "again")
    try:
        with closing(RedisFrontier(restored.url)) as frontier:
            assert frontier.counts() == counts
    finally:
        restored.stop()
