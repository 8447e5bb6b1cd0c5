"""Connects to Redis as scrapy-redis does, runs its scripts, and reports its faults in plain words without
credentials.

The only place that connects; the frontier and the near-duplicate index build on it. Settings as in
scrapy-redis: REDIS_URL, REDIS_HOST, REDIS_PORT, REDIS_DB, REDIS_PARAMS (with ``redis_cls``, for example
``redis.cluster.RedisCluster``).
"""

from __future__ import annotations

import json
import os
import re
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from hashlib import sha1
from importlib.resources import files
from typing import Any
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary, ref

import redis
from redis.backoff import NoBackoff
from redis.connection import ConnectionPool
from redis.retry import Retry
from scrapy_redis.connection import get_redis_from_settings

from newsbot.config.check import SettingsLike
from newsbot.errors import DataError, DataFull, DataUnavailable

FEW = 20
"""A pool that may have no more connections keeps them: others may wait for one."""

_ready: WeakKeyDictionary[ConnectionPool, deque[ref[Any]]] = WeakKeyDictionary()
"""Its pool keeps a connection; one that was kept here would keep its pool, which it knows."""


def take(pool: ConnectionPool) -> Any:
    """Return a ``redis.Connection`` for one command; any number of threads may. Raises the client's errors.

    One that the server has closed, or on which lies an answer that nobody read, connects again with the next
    command. A process that was forked makes its own.
    """
    ready = _ready.get(pool)
    try:
        connection = ready.pop()() if ready else None
    except IndexError:  # another thread was quicker
        connection = None
    if connection is None or connection.pid != os.getpid():
        return pool.get_connection()
    try:
        stale = connection.can_read()
    except (redis.exceptions.ConnectionError, redis.exceptions.TimeoutError, OSError):
        stale = True
    if stale:
        connection.disconnect()
    return connection


def give_back(pool: ConnectionPool, connection: Any) -> None:
    """Let it lie ready for the next command."""
    if pool.max_connections <= FEW:
        pool.release(connection)
    else:
        _ready.setdefault(pool, deque()).append(ref(connection))


def give_up(pool: ConnectionPool, connection: Any) -> None:
    """Close it after a fault: an answer may be on its way still. The pool connects it when it is needed."""
    connection.disconnect()
    pool.release(connection)


TIMEOUT = 5.0
"""Seconds for connecting and for an answer, unless REDIS_PARAMS says else: a crawl waits no longer."""


FORM = "redis://user:password@host:6379/0 (signs like : / ? # @ % in a password are written as %3A …)"

Argument = bytes | str | int | float
"""What a script takes."""

_NO_ADDRESS = "REDIS_URL"
_SCHEMES = ("redis", "rediss", "unix")
_NOT_NOW = ("MISCONF", "NOREPLICAS", "BUSY", "LOADING")
_TIMEOUTS = ("socket_timeout", "socket_connect_timeout")


class _Settings:
    """Settings as scrapy-redis's connection function reads them."""

    def __init__(self, settings: SettingsLike, params: Mapping[str, Any]) -> None:
        self._settings = settings
        self._params = params

    def get(self, name: str, default: Any = None) -> Any:
        if name in ("REDIS_ENCODING", "REDIS_DECODE_RESPONSES"):
            return default  # records are bytes, whatever others on this server wish
        return self._settings.get(name, default)

    def getdict(self, name: str) -> dict[str, Any]:
        return dict(self._params) if name == "REDIS_PARAMS" else {}


def connect(settings: SettingsLike) -> redis.Redis:
    """Return a client; nothing is sent yet, unless it is a cluster's, which asks for the nodes.

    Raises :class:`DataError` for settings that make no sense.

    The client never repeats a command by itself: a lease handed out twice would be lost.
    """
    given = settings.get("REDIS_PARAMS") or {}
    try:
        given = dict(json.loads(given) if isinstance(given, str) else given)
    except (ValueError, TypeError) as error:
        raise DataError(f"REDIS_PARAMS is no JSON object: {error}") from error
    params = {**dict.fromkeys(_TIMEOUTS, TIMEOUT), **given}
    params |= {"decode_responses": False, "retry_on_timeout": False, "retry": Retry(NoBackoff(), 0)}
    place = server_name(settings)
    if place == _NO_ADDRESS:
        raise DataError(f"{place}: cannot be used; write {FORM}")
    try:
        for name in _TIMEOUTS:
            params[name] = params[name] and float(params[name])
        with readable_errors(place):  # a cluster is asked for its nodes at once
            client: redis.Redis = get_redis_from_settings(_Settings(settings, params))
        pool = getattr(client, "connection_pool", None)
        if pool is not None:
            pool.connection_class(**pool.connection_kwargs)  # names of REDIS_PARAMS that it does not know
    except (ValueError, TypeError, ImportError, AttributeError, NameError) as error:
        # the client's words may quote parts of a password, when it is not escaped
        raise DataError(f"{place}: cannot be used ({_one_line(error)})") from error
    return client


def server_name(settings: SettingsLike) -> str:
    """Return where the server is, as people may read it: without user name and password."""
    url = settings.get("REDIS_URL")
    if not url:
        return f"redis://{settings.get('REDIS_HOST') or 'localhost'}:{settings.get('REDIS_PORT') or 6379}"
    try:
        parts = urlsplit(str(url))
        _ = parts.port  # raises ValueError if it is no number: then it may be part of a password
    except ValueError:
        return _NO_ADDRESS
    if parts.scheme not in _SCHEMES or "@" in f"{parts.path}{parts.query}{parts.fragment}":
        return _NO_ADDRESS
    if parts.scheme != "unix" and not re.fullmatch(r"/?\d*", parts.path):
        return _NO_ADDRESS  # redis-py would take database 0
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


class Script:
    """A Lua script: Redis runs it as a whole or not at all.

    It is sent by its hash; a server that lost it (SCRIPT FLUSH, restart) gets its text.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._digest = sha1(text.encode(), usedforsecurity=False).hexdigest()

    def run(
        self,
        client: redis.Redis,
        keys: Sequence[bytes | str],
        arguments: Sequence[Argument],
        *,
        forgotten: Callable[[], None] | None = None,
    ) -> Any:
        """Run it, in one round trip. Raises the client's errors (:func:`readable_errors` reads them).

        ``forgotten`` is called before a server that does not know the script gets it: it may be new.
        """
        try:
            return _send(client, "EVALSHA", self._digest, len(keys), *keys, *arguments)
        except redis.exceptions.NoScriptError:
            if forgotten is not None:
                forgotten()
            return _send(client, "EVAL", self.text, len(keys), *keys, *arguments)


def _send(client: redis.Redis, *command: Argument) -> Any:
    """Send a command and return the answer as it comes.

    Not by the client's own way, which takes twice the time for measurements and retries that nobody asked
    for. A cluster's client has no pool: it finds the node of the keys.
    """
    pool = getattr(client, "connection_pool", None)
    if pool is None:
        return _send_to_cluster(client, *command)
    connection = take(pool)
    try:
        connection.send_command(*command)
        answer = connection.read_response()
    except redis.exceptions.ResponseError:  # a refusal is an answer
        give_back(pool, connection)
        raise
    except BaseException:
        give_up(pool, connection)
        raise
    give_back(pool, connection)
    return answer


def _send_to_cluster(client: redis.Redis, *command: Argument) -> Any:
    execute: Callable[..., Any] = client.execute_command
    try:
        return execute(*command)
    except AttributeError as error:  # sent on to a node that has no slot yet: the client knows none such
        raise redis.exceptions.TryAgainError(str(error)) from error


@cache
def lua_script(folder: str, name: str) -> Script:
    """Return the script ``name`` of a folder of the package, with the folder's ``lib`` put in front."""
    place = files("newsbot").joinpath(*folder.split("/"))
    return Script("\n".join((place / f"{part}.lua").read_text(encoding="utf8") for part in ("lib", name)))


def refuse_eviction(client: redis.Redis, place: str, what: str) -> None:
    """Raise :class:`DataError` if the server would throw ``what`` away when its memory is full."""
    memory = client.info("memory")
    if memory.get("maxmemory") and str(memory.get("maxmemory_policy")).startswith("allkeys"):
        raise DataError(
            f"{place}: would throw {what} away when its memory is full; set maxmemory-policy noeviction"
        )


def thrown_away(client: redis.Redis) -> int:
    """Return how many keys the server has thrown away for want of memory since it started."""
    return int(client.info("stats").get("evicted_keys") or 0)


@contextmanager
def readable_errors(place: str) -> Iterator[None]:
    """Turn the client's errors into :class:`DataError` kinds of one line that begin with ``place``."""
    try:
        yield
    except redis.exceptions.AuthenticationError as error:
        raise DataUnavailable(f"{place}: the server refuses user name or password") from error
    except redis.exceptions.BusyLoadingError as error:
        raise DataUnavailable(f"{place}: the server is loading its data") from error
    except redis.exceptions.TimeoutError as error:
        raise DataUnavailable(f"{place}: no answer in time") from error
    except (redis.exceptions.ConnectionError, OSError) as error:
        raise DataUnavailable(f"{place}: cannot be reached ({_cause(error)})") from error
    except redis.exceptions.RedisClusterException as error:  # no RedisError: none of its nodes answers
        raise DataUnavailable(f"{place}: the cluster cannot be reached ({_one_line(error)})") from error
    except redis.exceptions.OutOfMemoryError as error:
        raise DataFull(f"{place}: the server's memory is full (maxmemory)") from error
    except redis.exceptions.ReadOnlyError as error:
        raise DataUnavailable(f"{place}: the server is a read-only replica") from error
    except redis.exceptions.RedisError as error:
        raise _of_server(place, error) from error


def _of_server(place: str, error: Exception) -> DataError:
    text = _one_line(error)
    if "No space left" in text:
        return DataFull(f"{place}: the server's disk is full")
    if "OOM" in text:
        return DataFull(f"{place}: the server's memory is full (maxmemory)")
    if "NOAUTH" in text or "NOPERM" in text:
        return DataUnavailable(f"{place}: the server refuses user name or password")
    if isinstance(error, redis.exceptions.ClusterError) or text.startswith(_NOT_NOW):
        return DataUnavailable(f"{place}: the server cannot write now ({text})")
    return _of_rights_or_cluster(place, error, text)


def _of_rights_or_cluster(place: str, error: Exception, text: str) -> DataError:
    if isinstance(error, redis.exceptions.NoPermissionError) or "executing the script can't" in text:
        return DataError(
            f"{place}: the user may not do all that is needed ({text}); deploy/redis-users.acl has the rights"
        )
    if isinstance(error, redis.exceptions.MovedError):
        return DataError(
            f"{place}: is a node of a Redis Cluster; set REDIS_PARAMS to"
            ' {"redis_cls": "redis.cluster.RedisCluster"}'
        )
    moving = redis.exceptions.AskError, redis.exceptions.TryAgainError
    if isinstance(error, moving) or "non local key" in text:  # of a script that makes names
        return DataUnavailable(f"{place}: the cluster is moving the keys")
    return DataError(f"{place}: {text}")


def _cause(error: BaseException) -> str:
    cause = error.__cause__ or error.__context__ or error
    reason = getattr(cause, "strerror", None)
    return str(reason) if reason else _one_line(error)


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:200]
