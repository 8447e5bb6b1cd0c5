"""Connections to Redis that are ready before the next command."""

from __future__ import annotations

import gc
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any, TypeVar
from weakref import ref

import pytest
import redis

from newsbot.apps.redis.connection import Script, connect
from newsbot.apps.redis.frontier import RedisFrontier
from newsbot.errors import DataError, DataUnavailable
from testbed import redisserver
from testbed.servers import free_port
from tests.certificates import self_signed
from tests.contracts.frontier_backends import make_entry

ECHO = Script("return ARGV[1]")
T = TypeVar("T")


@pytest.fixture
def server(own_redis: redisserver.RedisServer) -> redisserver.RedisServer:
    """The server to which the connections are made."""
    return own_redis


@pytest.fixture
def client(server: redisserver.RedisServer) -> Iterator[redis.Redis]:
    with connect({"REDIS_URL": server.url}) as client:
        yield client


def who(client: redis.Redis) -> int:
    """Return the id that the server has given to the connection of the next command."""
    return int(client.client_id())


def test_one_connection_serves_one_command_after_another(client: redis.Redis) -> None:
    assert len({who(client) for _ in range(5)}) == 1


def test_a_connection_that_the_server_closed_is_opened_again(client: redis.Redis) -> None:
    first = who(client)
    with redis.Redis.from_url(redis_url_of(client)) as other:
        other.client_kill_filter(_id=str(first))
    assert who(client) != first


def test_it_works_again_after_the_server_was_away(
    client: redis.Redis, server: redisserver.RedisServer
) -> None:
    who(client)
    server.kill()
    with pytest.raises(redis.exceptions.ConnectionError):
        who(client)
    server.start()
    assert who(client)


def test_an_unreachable_server_is_tried_once_per_command(
    client: redis.Redis, server: redisserver.RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each attempt may take the whole connection timeout."""
    ECHO.run(client, [], [1])
    server.kill()
    attempts = []
    connect_socket = redis.Connection._connect

    def counted(self: redis.Connection) -> Any:
        attempts.append(self)
        return connect_socket(self)

    monkeypatch.setattr(redis.Connection, "_connect", counted)
    for _ in range(3):
        attempts.clear()
        with pytest.raises(redis.exceptions.ConnectionError):
            ECHO.run(client, [], [1])
        assert len(attempts) == 1


def test_an_unused_client_is_not_kept(server: redisserver.RedisServer) -> None:
    client = connect({"REDIS_URL": server.url})
    who(client)
    pool = ref(client.connection_pool)
    del client
    gc.collect()
    assert pool() is None


def test_the_answer_to_an_aborted_command_is_not_given_to_another_command(
    client: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    slow = Script("for i = 1, ARGV[1] do end return 1")
    slow.run(client, [], [1])
    with monkeypatch.context() as patch:
        patch.setattr(redis.Connection, "read_response", stopped)
        with pytest.raises(KeyboardInterrupt):
            slow.run(client, [], [50_000_000])
    assert ECHO.run(client, [], [2]) == b"2"


def test_a_client_that_is_closed_leaves_no_connection(
    client: redis.Redis, server: redisserver.RedisServer
) -> None:
    with connect({"REDIS_URL": server.url}) as other:
        number = who(other)
        assert number in numbers(client)
    wait_until_gone(client, number)


def wait_until_gone(client: redis.Redis, number: int) -> None:
    """Wait until the server has noticed that a connection was closed."""
    give_up = time.monotonic() + 10
    while number in numbers(client):
        assert time.monotonic() < give_up


def redis_url_of(client: redis.Redis) -> str:
    return f"redis://127.0.0.1:{client.connection_pool.connection_kwargs['port']}"


def numbers(client: redis.Redis) -> set[int]:
    """Return the ids of all connections of the server."""
    return {int(one["id"]) for one in client.client_list()}


def test_each_thread_gets_its_own_answers(client: redis.Redis) -> None:
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda number: int(ECHO.run(client, [], [number])), range(2000)))
    assert answers == list(range(2000))


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # Python 3.12 warns of the threads
def test_a_forked_process_uses_no_connection_of_its_parent(client: redis.Redis) -> None:
    mine = who(client)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:  # the child only reports its connection
        os.write(writer, str(who(client)).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        its = int(pipe.read())
    os.waitpid(child, 0)
    assert its != mine
    assert who(client) == mine


def test_a_pool_of_few_connections_shares_them_among_all_threads(server: redisserver.RedisServer) -> None:
    with connect({"REDIS_URL": server.url, "REDIS_PARAMS": {"max_connections": 1}}) as client:
        who(client)
        assert client.ping()
        assert who(client)


def test_an_address_with_tls_is_used(tmp_path: Path) -> None:
    redisserver.need_redis()
    self_signed(tmp_path, "localhost")
    pem, port = str(tmp_path / "certificate.pem"), str(free_port())
    options = ("--tls-port", port, "--tls-cert-file", pem, "--tls-key-file", pem, "--tls-ca-cert-file", pem)
    server = redisserver.RedisServer(tmp_path, *options, "--tls-auth-clients", "no")
    server.start()
    address = f"rediss://localhost:{port}/0"
    try:
        with closing(RedisFrontier(f"{address}?ssl_ca_certs={pem}")) as frontier:
            frontier.add([make_entry("a")])
            assert len(frontier.lease("o", 1, horizon=0, ttl=60)) == 1
        with pytest.raises(DataUnavailable, match=r"rediss://localhost:\d+/0: cannot be .*CERTIFICATE"):
            RedisFrontier(address)
    finally:
        server.kill()


def test_a_sentinel_names_the_primary_also_after_a_failover(tmp_path: Path) -> None:
    redisserver.need_redis()
    servers: list[redisserver.RedisServer] = []
    for number, login in enumerate(
        (["--requirepass", "p/w"], ["--requirepass", "p/w", "--masterauth", "p/w"])
    ):
        (tmp_path / str(number)).mkdir()
        servers.append(redisserver.RedisServer(tmp_path / str(number), *login, *_replica_of(servers)))
        servers[-1].start()
    port = free_port()
    file = tmp_path / "sentinel.conf"
    file.write_text(
        f"port {port}\nbind 127.0.0.1\ndir {tmp_path}\nsentinel monitor news 127.0.0.1 {servers[0].port} 1\n"
        "sentinel auth-pass news p/w\nsentinel down-after-milliseconds news 300\n"
    )
    log = (tmp_path / "sentinel.log").open("wb")
    sentinel = subprocess.Popen(["redis-server", str(file), "--sentinel"], stdout=log)
    address = f"redis+sentinel://:p%2Fw@127.0.0.1:{free_port()},127.0.0.1:{port}"
    try:
        with closing(patiently(lambda: RedisFrontier(f"{address}/news/1"))) as frontier:
            frontier.add([make_entry("a")])
            with redis.Redis(port=servers[0].port, db=1, password="p/w") as primary:
                patiently(lambda: primary.wait(1, 100) == 1 or _fail("no replica"))
                with redis.Redis(port=port) as asked:
                    patiently(
                        lambda: (
                            asked.sentinel_slaves("news")[0]["master-link-status"] == "ok" or _fail("unknown")
                        )
                    )
            servers[0].kill()
            with pytest.raises(DataUnavailable, match=r"redis\+sentinel://127.*/news/1: cannot be reached"):
                frontier.add([make_entry("b")])
            patiently(lambda: frontier.add([make_entry("b")]))
            assert frontier.counts()["pending"] == 2
        with pytest.raises(DataUnavailable, match="No master found for 'other'"):
            RedisFrontier(f"{address}/other")
        with pytest.raises(DataError, match=r"redis\+sentinel://host1:26379,host2:26379/name"):
            RedisFrontier(f"{address}/news?ssl=1")
    finally:
        sentinel.kill()
        sentinel.wait()
        log.close()
        for server in servers:
            server.kill()


def _replica_of(servers: list[redisserver.RedisServer]) -> list[str]:
    return ["--replicaof", f"127.0.0.1 {servers[0].port}"] if servers else []


def _fail(what: str) -> bool:
    raise DataUnavailable(what)


def patiently(work: Callable[[], T]) -> T:
    """Call a function until the servers are there."""
    end = time.monotonic() + 60
    while True:
        try:
            return work()
        except (DataUnavailable, redis.exceptions.RedisError, IndexError):
            assert time.monotonic() < end, "the servers are not there in time"
            time.sleep(0.05)
