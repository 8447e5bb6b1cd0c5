"""Connections to Redis that lie ready for the next command."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import redis

from newsbot.readyconnections import give_back, take
from newsbot.redisserver import Script, connect
from tests import redisserver

ECHO = Script("return ARGV[1]")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[redisserver.RedisServer]:
    redisserver.need_redis()
    server = redisserver.RedisServer(tmp_path)
    server.start()
    yield server
    server.kill()


@pytest.fixture
def client(server: redisserver.RedisServer) -> Iterator[redis.Redis]:
    with connect({"REDIS_URL": server.url}) as client:
        yield client


def who(client: redis.Redis) -> int:
    """The server's number of the connection that is taken."""
    connection = take(client.connection_pool)
    try:
        connection.send_command("CLIENT", "ID")
        return int(connection.read_response())
    finally:
        give_back(client.connection_pool, connection)


def test_one_connection_serves_one_command_after_another(client: redis.Redis) -> None:
    assert len({who(client) for _ in range(5)}) == 1


def test_a_connection_that_the_server_closed_is_made_anew(client: redis.Redis) -> None:
    first = who(client)
    with redis.Redis.from_url(
        f"redis://127.0.0.1:{client.connection_pool.connection_kwargs['port']}"
    ) as other:
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


def test_a_client_that_is_closed_leaves_no_connection(
    client: redis.Redis, server: redisserver.RedisServer
) -> None:
    with connect({"REDIS_URL": server.url}) as other:
        number = who(other)
        assert number in numbers(client)
    give_up = time.monotonic() + 10
    while number in numbers(client):  # the server learns it a moment later
        assert time.monotonic() < give_up


def numbers(client: redis.Redis) -> set[int]:
    """All connections of the server."""
    return {int(one["id"]) for one in client.client_list()}


def test_each_thread_gets_its_own_answers(client: redis.Redis) -> None:
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda number: int(ECHO.run(client, [], [number])), range(2000)))
    assert answers == list(range(2000))


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # Python 3.12: the test has threads
def test_a_process_that_was_forked_takes_none_of_its_parent(client: redis.Redis) -> None:
    mine = who(client)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:  # no test of its own: it only tells
        os.write(writer, str(who(client)).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as told:
        its = int(told.read())
    os.waitpid(child, 0)
    assert its != mine
    assert who(client) == mine


def test_a_pool_of_few_connections_keeps_them_for_all(server: redisserver.RedisServer) -> None:
    with connect({"REDIS_URL": server.url, "REDIS_PARAMS": {"max_connections": 1}}) as client:
        who(client)
        assert client.ping()
        assert who(client)
