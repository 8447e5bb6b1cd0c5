"""Shared fixtures."""

from __future__ import annotations

import ctypes
import gc
import logging
import os
import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import redis
from hypothesis import settings as hypothesis_settings

from testbed import redisserver
from testbed.demoweb.server import DemoServer
from testbed.mockserver import MockServer
from testbed.servers import run_mongo
from tests import warm
from tests.builders import Desk
from tests.crawls import World

hypothesis_settings.register_profile("ci", derandomize=True, deadline=None, print_blob=True, max_examples=40)
hypothesis_settings.register_profile("here", deadline=None)  # a slow machine is not a failure of the code
# In CI, all runs use the same examples, so that a failure is caused by the change. Others use new ones.
hypothesis_settings.load_profile("ci" if os.environ.get("CI") else "here")

warm.install()

LONG = (
    *("test_crawl_rendering.py", "test_sinks.py", "test_scrapyd.py", "test_availability_mongo.py"),
    *("test_kill.py", "test_extend.py", "test_politeness.py", "test_failover.py"),
)
"""The files that take longest, the longest first."""


def pytest_configure(config: pytest.Config) -> None:
    """Keep the order of the files: xdist starts files with few tests last, and many of these are long."""
    if hasattr(config.option, "loadscopereorder"):
        config.option.loadscopereorder = False


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Start the longest files first, so that no worker is busy alone at the end."""
    places = {name: place for place, name in enumerate(LONG)}
    items.sort(key=lambda item: places.get(item.path.name, len(LONG)))


MEMORY = Path("/dev/shm")
ENOUGH = 4 * 2**30
"""Free bytes that tests need. Only the files of failed tests are kept, but some tests fill a server."""
if (
    "TMPDIR" not in os.environ
    and MEMORY.is_dir()
    and shutil.disk_usage(MEMORY).free >= ENOUGH
    and not os.statvfs(MEMORY).f_flag & os.ST_NOEXEC
):
    # Test files are in memory: with a disk, writing would take a third of the time. No test simulates a power
    # failure.
    # Acknowledged data is still written and synced, so that kill -9 of a server does not lose it.
    os.environ["TMPDIR"] = tempfile.tempdir = str(MEMORY)


_LIBC = ctypes.CDLL(None)


@pytest.fixture(autouse=True, scope="module")
def memory_goes_back() -> Iterator[None]:
    """Give the memory of a module's tests back to the system, so that a worker of xdist stays small.

    Some tests read pages of 10 MB. Without this, a worker would keep most of the memory that it ever used.
    What is left is frozen: later collections need not look at the objects of all tests and modules, half a
    million, which takes half a second.
    """
    yield
    gc.collect()
    gc.freeze()
    if hasattr(_LIBC, "malloc_trim"):  # glibc
        _LIBC.malloc_trim(0)


@pytest.fixture(autouse=True)
def logging_stays() -> Iterator[None]:
    """Restore logging, which commands set up when a test runs them in this process."""
    root = logging.getLogger()
    handlers, levels = root.handlers[:], _levels()
    yield
    for handler in [one for one in root.handlers if one not in handlers]:
        root.removeHandler(handler)
    for name, level in _levels().items():
        if level != levels.get(name, level):  # new loggers keep the level of their module
            logging.getLogger(name).setLevel(levels[name])


def _levels() -> dict[str, int]:
    loggers = logging.root.manager.loggerDict
    return {"": logging.root.level} | {
        name: logger.level for name, logger in loggers.items() if isinstance(logger, logging.Logger)
    }


@pytest.fixture(scope="session")
def redis_url() -> str:
    """A Redis server that all tests share. Without a server the test is skipped; in CI it fails."""
    return redisserver.redis_url()


@pytest.fixture
def redis_place(redis_url: str) -> Iterator[dict[str, Any]]:
    """Arguments of a frontier or an index that only this test uses."""
    namespace = f"test-{secrets.token_hex(8)}"
    yield {"where": redis_url, "namespace": namespace}
    with redis.Redis.from_url(redis_url) as client:
        for key in client.scan_iter(f"{{{namespace}:*"):
            client.delete(key)


@pytest.fixture
def own_redis(tmp_path: Path) -> Iterator[redisserver.RedisServer]:
    """A server that a test may fill, reconfigure or kill."""
    redisserver.need_redis()
    server = redisserver.RedisServer(tmp_path)
    server.start()
    yield server
    server.kill()


@pytest.fixture
def durable_redis(tmp_path: Path) -> Iterator[redisserver.RedisServer]:
    """A server that a test may kill; acknowledged data is in its file.

    ``appendfsync everysec`` does not guarantee that: the server postpones writes while the disk is busy.
    """
    redisserver.need_redis()
    server = redisserver.RedisServer(tmp_path, "--appendonly", "yes", "--appendfsync", "always")
    server.start()
    yield server
    server.kill()


@pytest.fixture
def site() -> Iterator[MockServer]:
    """A local web with pages registered by the test and named misbehaviours."""
    with MockServer() as server:
        yield server


@pytest.fixture
def world(tmp_path: Path, site: MockServer) -> World:
    """A data folder and a rules folder for complete crawls of ``site``."""
    return World(tmp_path, site)


@pytest.fixture
def make_desk(tmp_path: Path) -> Iterator[Callable[..., Desk]]:
    """Makes desks (the parts of a crawl without the engine) from rules, settings and arguments."""
    desks: list[Desk] = []

    def make(
        rules: Mapping[str, str] | None = None, settings: Mapping[str, Any] | None = None, **arguments: Any
    ) -> Desk:
        desk = Desk(tmp_path, rules, settings or {}, **arguments)
        desks.append(desk)
        return desk

    yield make
    for desk in desks:
        desk.crawl.close()


@pytest.fixture
def no_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """Allows a scheduler without a reactor: the scheduler starts no looping calls."""
    monkeypatch.setattr("newsbot.crawl.scheduler.create_looping_call", lambda _function: None)


@pytest.fixture
def desk(make_desk: Callable[..., Desk]) -> Desk:
    """A desk with one site: news.test, with a feed."""
    return make_desk()


@pytest.fixture(scope="session")
def mongo_uri(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URI of a MongoDB: that of NEWSBOT_TEST_MONGO_URI, otherwise a temporary one."""
    uri = os.environ.get("NEWSBOT_TEST_MONGO_URI")
    if uri:
        yield uri
        return
    for server in run_mongo(tmp_path_factory.mktemp("mongo")):
        yield server.uri


@pytest.fixture
def redis_server(tmp_path: Path) -> Iterator[redisserver.RedisServer]:
    """A Redis server for one test that persists acknowledged data."""
    redisserver.need_redis()
    (tmp_path / "redis").mkdir()
    server = redisserver.RedisServer(tmp_path / "redis", "--appendonly", "yes", "--appendfsync", "always")
    server.start()
    yield server
    server.kill()


@pytest.fixture
def demo(tmp_path: Path) -> Iterator[DemoServer]:
    """The site of ``scrapy demo``, with its manifest of expected articles."""
    with DemoServer(tmp_path / "rules", articles=60) as server:
        yield server


@pytest.fixture
def demo_world(tmp_path: Path, demo: DemoServer) -> World:
    """A data folder and the demo's rules."""
    world = World(tmp_path, demo)
    world.rules = demo.rules
    return world
