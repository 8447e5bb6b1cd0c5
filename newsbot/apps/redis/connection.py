"""Connects to Redis like scrapy-redis, runs scripts, and converts errors to readable messages.

The messages do not contain credentials.

The frontier and the near-duplicate index use this module, which opens all connections to Redis. The settings
are those of scrapy-redis (https://github.com/rmax/scrapy-redis): REDIS_URL, REDIS_HOST, REDIS_PORT, REDIS_DB
and REDIS_PARAMS (with ``redis_cls``, for example ``redis.cluster.RedisCluster``).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from hashlib import sha1
from importlib.resources import files
from typing import Any
from urllib.parse import unquote, urlsplit

import redis
from redis.backoff import NoBackoff
from redis.cluster import ClusterNode
from redis.retry import Retry
from redis.sentinel import Sentinel, SentinelConnectionPool
from scrapy_redis.connection import get_redis_from_settings

from newsbot.config.settings import SettingsLike
from newsbot.errors import DataError, DataFull, DataUnavailable

TIMEOUT = 5.0
"""Default timeout in seconds, for connecting and for a response. REDIS_PARAMS overrides it."""


FORM = (
    "redis://host:6379/0 or redis://user:password@host:6379/0 (percent-encode : / ? # @ % in a password), or "
    "redis://host1:6379,host2:6379 for a Redis Cluster, or redis+sentinel://host1:26379,host2:26379/name/0"
)

Argument = bytes | str | int | float
"""Type of the arguments of a script."""

_NO_ADDRESS = "REDIS_URL"
"""Name of the server in messages if its URL is invalid. The URL is not shown: it may contain a password."""
_SENTINEL = "redis+sentinel"
_PATHS = {"redis": r"/?\d*", "rediss": r"/?\d*", "unix": r".*", _SENTINEL: r"/[\w.-]+(/\d+)?"}
"""Paths of URLs by scheme. redis-py ignores other paths and uses database 0."""
_NOT_NOW = ("MISCONF", "NOREPLICAS", "BUSY", "LOADING")
"""Beginnings of error messages after which the same command may succeed later."""
_NO_RIGHTS = re.compile("executing the script can't|ACL failure in script")
"""Matches an error of a script whose user lacks a right, of Redis and of Valkey."""
_TIMEOUTS = ("socket_timeout", "socket_connect_timeout")


class _Settings:
    """The settings in the form that the connection function of scrapy-redis reads."""

    def __init__(self, settings: SettingsLike, url: str, params: Mapping[str, Any]) -> None:
        self._settings = settings
        self._url = url
        self._params = params

    def get(self, name: str, default: Any = None) -> Any:
        if name == "REDIS_URL":
            return self._url or default
        if name in ("REDIS_ENCODING", "REDIS_DECODE_RESPONSES"):
            return default  # records are bytes, so these settings of scrapy-redis must not apply
        return self._settings.get(name, default)

    def getdict(self, name: str) -> dict[str, Any]:
        return dict(self._params) if name == "REDIS_PARAMS" else {}


def connect(settings: SettingsLike) -> redis.Redis:
    """Return a client. Only a cluster client sends a request immediately: it requests the list of nodes.

    If REDIS_URL names several nodes, a client of a Redis Cluster is returned. One of the nodes must be up.

    The client never retries a command. If the response to a call that leases entries is lost, a second call
    would lease other entries. The first entries would then wait until their leases expire. Raises
    :class:`DataError` for invalid settings.
    """
    given = settings.get("REDIS_PARAMS") or {}
    try:
        given = dict(json.loads(given) if isinstance(given, str) else given)
    except (ValueError, TypeError) as error:
        raise DataError(f"REDIS_PARAMS is not a JSON object: {error}") from error
    params = {**dict.fromkeys(_TIMEOUTS, TIMEOUT), **given}
    params |= {"decode_responses": False, "retry_on_timeout": False, "retry": Retry(NoBackoff(), 0)}
    place = server_name(settings)
    if place == _NO_ADDRESS:
        raise DataError(f"{place}: cannot be used; write {FORM}")
    url, others = _split(str(settings.get("REDIS_URL") or ""))
    if others and not url.startswith(_SENTINEL):
        node: Callable[..., Any] = ClusterNode
        nodes = [node(*other) for other in others]
        # redis_cls is before **params, so that REDIS_PARAMS may name another class.
        params = {"redis_cls": "redis.cluster.RedisCluster", **params, "startup_nodes": nodes}
    try:
        for name in _TIMEOUTS:
            params[name] = params[name] and float(params[name])
        with readable_errors(place):  # a cluster client connects at once
            if url.startswith(_SENTINEL):
                client: redis.Redis = _primary(url, others, params)
            else:
                client = get_redis_from_settings(_Settings(settings, url, params))
        pool = getattr(client, "connection_pool", None)
        if pool is not None:
            # This connection is created only as a check: unknown names in REDIS_PARAMS raise an error now.
            # Otherwise, the first command would raise it.
            pool.connection_class(**pool.connection_kwargs)
    except (ValueError, TypeError, ImportError, AttributeError, NameError) as error:
        # the client's message may quote parts of a password that is not escaped
        raise DataError(f"{place}: cannot be used ({_one_line(error)})") from error
    return client


def _split(url: str) -> tuple[str, list[tuple[str, int]]]:
    """Return the URL with only the first of its hosts, and the other hosts and their ports."""
    parts = urlsplit(url)
    login, at, hosts = parts.netloc.rpartition("@")
    first, *others = hosts.split(",")
    # After "//", urlsplit() finds the host and the port, also of an IPv6 address.
    nodes = [urlsplit(f"//{other}") for other in others]
    usual = 26379 if parts.scheme == _SENTINEL else 6379
    hosts_and_ports = [(each.hostname or "localhost", each.port or usual) for each in nodes]
    return url.replace(parts.netloc, f"{login}{at}{first}", 1), hosts_and_ports


def _primary(url: str, others: Sequence[tuple[str, int]], params: Mapping[str, Any]) -> redis.Redis:
    """Return a client that asks the Sentinels in the URL for the primary server before it connects.

    The user name and the password of the URL are those of the server.
    """
    parts = urlsplit(url)
    name, _, database = parts.path[1:].partition("/")
    login = {"username": parts.username, "password": parts.password}
    given = {key: unquote(value) for key, value in login.items() if value}
    own = {key: params[key] for key in (*_TIMEOUTS, "retry")}
    sentinel: Callable[..., Any] = Sentinel
    found = sentinel([(parts.hostname, parts.port or 26379), *others], sentinel_kwargs=own)
    client: redis.Redis = found.master_for(name, **{"db": int(database or 0), **given, **params})
    return client


def close(client: Any) -> None:
    """Close a client with all its connections, also those to Sentinels, which the client leaves open."""
    pool = getattr(client, "connection_pool", None)
    for sentinel in pool.sentinel_manager.sentinels if isinstance(pool, SentinelConnectionPool) else ():
        sentinel.close()
    if hasattr(client, "disconnect_connection_pools"):
        client.disconnect_connection_pools()  # close() of a cluster client leaves them open
    client.close()


def server_name(settings: SettingsLike) -> str:
    """Return the address of the server for messages, without user name and password.

    For an invalid URL, the result is ``REDIS_URL``, because a part of a password could be anywhere in the
    URL.
    """
    url = settings.get("REDIS_URL")
    if not url:
        return f"redis://{settings.get('REDIS_HOST') or 'localhost'}:{settings.get('REDIS_PORT') or 6379}"
    try:
        parts = urlsplit(str(url))
        for host in parts.netloc.rpartition("@")[2].split(","):
            _ = urlsplit(f"//{host}").port  # raises ValueError if it is a part of a password
    except ValueError:
        return _NO_ADDRESS
    if parts.scheme not in _PATHS or "@" in f"{parts.path}{parts.query}{parts.fragment}":
        return _NO_ADDRESS
    if not re.fullmatch(_PATHS[parts.scheme], parts.path) or (parts.query and parts.scheme == _SENTINEL):
        return _NO_ADDRESS
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


class Script:
    """A Lua script, which Redis runs atomically.

    The script is called by its hash. If the server does not know the script (after SCRIPT FLUSH or a
    restart), the text of the script is sent.
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
        """Run the script in one round trip and return its raw result.

        If the server does not know the script, it may have restarted without its data. ``forgotten`` is then
        called before the text is sent. Raises the errors of redis-py (see :func:`readable_errors`).
        """
        try:
            return _send(client, "EVALSHA", self._digest, len(keys), *keys, *arguments)
        except redis.exceptions.NoScriptError:
            if forgotten is not None:
                forgotten()
            return _send(client, "EVAL", self.text, len(keys), *keys, *arguments)


def _send(client: redis.Redis, *command: Argument) -> Any:
    """Send a command and return the raw response.

    The client's own method ``execute_command`` takes twice as long, because of its metrics and retries. It is
    used only for a cluster client, which has no pool, because it finds the node that has the keys.
    """
    pool = getattr(client, "connection_pool", None)
    if pool is None:
        return _send_to_cluster(client, *command)
    connection = pool.get_connection()
    try:
        connection.send_command(*command)
        return connection.read_response()
    except redis.exceptions.ResponseError:  # the response was complete, so the connection stays usable
        raise
    except BaseException:
        # BaseException includes Ctrl-C. Without this handler, the response to this command would be read as
        # the response to the next command.
        connection.disconnect()
        raise
    finally:
        pool.release(connection)


def _send_to_cluster(client: redis.Redis, *command: Argument) -> Any:
    execute: Callable[..., Any] = client.execute_command
    try:
        return execute(*command)
    except AttributeError as error:  # the client was redirected to a new node that it does not know yet
        raise redis.exceptions.TryAgainError(str(error)) from error


@cache
def lua_script(folder: str, name: str) -> Script:
    """Return the script that consists of ``lib.lua`` and ``name.lua`` in ``lua/<folder>``."""
    place = files("newsbot") / "apps" / "redis" / "lua" / folder
    return Script("\n".join((place / f"{part}.lua").read_text(encoding="utf8") for part in ("lib", name)))


def refuse_eviction(client: redis.Redis, place: str, what: str) -> None:
    """Raise :class:`DataError` if the server would evict keys when its memory is full.

    ``what`` names the data in the keys, for the message.
    """
    # The policies volatile-… evict only keys with an expiry time. newsbot's keys have no expiry time.
    for memory in _infos(client, "memory"):
        if memory.get("maxmemory") and str(memory.get("maxmemory_policy")).startswith("allkeys"):
            raise DataError(
                f"{place}: would delete {what} when its memory is full; set maxmemory-policy noeviction"
            )


def logs_writes(client: redis.Redis) -> bool:
    """Return True if the server, or each node of a cluster, has an append-only file (``appendonly yes``)."""
    return all(int(one.get("aof_enabled") or 0) for one in _infos(client, "persistence"))


def thrown_away(client: redis.Redis) -> int:
    """Return the number of keys that the server has evicted since it started."""
    return sum(int(stats.get("evicted_keys") or 0) for stats in _infos(client, "stats"))


def _infos(client: Any, section: str) -> list[Mapping[str, Any]]:
    """Return a section of INFO from the server, or from each reachable primary node of a cluster."""
    if not hasattr(client, "get_primaries"):
        return [client.info(section)]
    found: list[Mapping[str, Any]] = []
    for node in client.get_primaries():
        with suppress(redis.exceptions.ConnectionError, redis.exceptions.TimeoutError):
            found.append(client.info(section, target_nodes=node))
    return found


@contextmanager
def readable_errors(place: str) -> Iterator[None]:
    """Convert errors of the client to subclasses of :class:`DataError`.

    Their text is one line that begins with ``place``.
    """
    try:
        yield
    except redis.exceptions.AuthenticationError as error:
        raise DataUnavailable(
            f"{place}: the server refuses user name or password; correct REDIS_URL"
        ) from error
    except redis.exceptions.BusyLoadingError as error:
        raise DataUnavailable(f"{place}: the server is loading its data; wait until it is ready") from error
    except redis.exceptions.TimeoutError as error:
        raise DataUnavailable(
            f"{place}: no answer in time; the server is overloaded or unreachable"
        ) from error
    except (redis.exceptions.ConnectionError, OSError) as error:
        raise DataUnavailable(
            f"{place}: cannot be reached ({_cause(error)}); start it, or correct REDIS_URL"
        ) from error
    except redis.exceptions.RedisClusterException as error:  # it is not a subclass of RedisError
        raise DataUnavailable(f"{place}: the cluster cannot be reached ({_one_line(error)})") from error
    except redis.exceptions.OutOfMemoryError as error:
        raise DataFull(f"{place}: the server's memory is full; raise its maxmemory") from error
    except redis.exceptions.ReadOnlyError as error:
        raise DataUnavailable(
            f"{place}: the server is a read-only replica; set REDIS_URL to its primary"
        ) from error
    except redis.exceptions.RedisError as error:
        raise _of_server(place, error) from error


def _of_server(place: str, error: Exception) -> DataError:
    text = _one_line(error)
    if "No space left" in text:
        return DataFull(f"{place}: the server's disk is full; free some space there")
    if "OOM" in text:
        return DataFull(f"{place}: the server's memory is full; raise its maxmemory")
    if "NOAUTH" in text or "NOPERM" in text:
        return DataUnavailable(f"{place}: the server refuses user name or password; correct REDIS_URL")
    if isinstance(error, redis.exceptions.ClusterError) or text.startswith(_NOT_NOW):
        return DataUnavailable(f"{place}: the server cannot write now ({text})")
    return _of_rights_or_cluster(place, error, text)


def _of_rights_or_cluster(place: str, error: Exception, text: str) -> DataError:
    if isinstance(error, redis.exceptions.NoPermissionError) or _NO_RIGHTS.search(text):
        return DataError(
            f"{place}: the user lacks rights ({text}); deploy/redis-users.acl lists the rights that it needs"
        )
    if isinstance(error, redis.exceptions.MovedError):
        return DataError(
            f"{place}: the server is a node of a Redis Cluster; set REDIS_PARAMS to"
            ' {"redis_cls": "redis.cluster.RedisCluster"}'
        )
    moving = redis.exceptions.AskError, redis.exceptions.TryAgainError
    if isinstance(error, moving) or "non local key" in text:  # an error of a script has this text
        return DataUnavailable(f"{place}: the cluster is moving keys between its nodes; try again")
    return DataError(f"{place}: {text}")


def _cause(error: BaseException) -> str:
    """Return the reason that the operating system gives, such as ``Connection refused``, or the client's
    message."""
    cause = error.__cause__ or error.__context__ or error
    reason = getattr(cause, "strerror", None)
    return str(reason) if reason else _one_line(error)


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:200]
