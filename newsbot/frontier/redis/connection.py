"""Connecting to Redis as scrapy-redis does, and its faults in plain words, without credentials.

Settings as there: REDIS_URL, REDIS_HOST, REDIS_PORT, REDIS_DB, REDIS_PARAMS (with ``redis_cls``, for
example ``redis.cluster.RedisCluster``).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol
from urllib.parse import urlsplit

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry
from scrapy_redis.connection import get_redis_from_settings

from newsbot.errors import DataError, DataFull, DataUnavailable

TIMEOUT = 5.0
"""Seconds for connecting and for an answer, unless REDIS_PARAMS says else: a crawl waits no longer."""


class SettingsLike(Protocol):
    """What is asked of settings: Scrapy's have it, a dict too."""

    def get(self, name: str, default: Any = None) -> Any:
        """Return the value of a setting."""


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
    """Return a client; nothing is sent yet. Raises :class:`DataError` for settings that make no sense.

    The client never repeats a command by itself: a lease handed out twice would be lost.
    """
    given = settings.get("REDIS_PARAMS") or {}
    try:
        given = json.loads(given) if isinstance(given, str) else dict(given)
    except ValueError as error:
        raise DataError(f"REDIS_PARAMS is no JSON object: {error}") from error
    params = {"socket_timeout": TIMEOUT, "socket_connect_timeout": TIMEOUT, **given}
    params |= {"decode_responses": False, "retry_on_timeout": False, "retry": Retry(NoBackoff(), 0)}
    try:
        client: redis.Redis = get_redis_from_settings(_Settings(settings, params))
    except (ValueError, TypeError, ImportError, AttributeError, NameError) as error:
        raise DataError(f"{server_name(settings)}: cannot be used ({_one_line(error)})") from error
    return client


def server_name(settings: SettingsLike) -> str:
    """Return where the server is, as people may read it: without user name and password."""
    url = settings.get("REDIS_URL")
    if not url:
        return f"redis://{settings.get('REDIS_HOST') or 'localhost'}:{settings.get('REDIS_PORT') or 6379}"
    try:
        parts = urlsplit(str(url))
        place = parts.netloc.rpartition("@")[2]
    except ValueError:
        return "REDIS_URL"
    return f"{parts.scheme}://{place}{parts.path}" if parts.scheme else "REDIS_URL"


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
    if text.startswith(("MISCONF", "CLUSTERDOWN", "MASTERDOWN", "NOREPLICAS", "BUSY", "LOADING", "TRYAGAIN")):
        return DataUnavailable(f"{place}: the server cannot write now ({text})")
    if "NOAUTH" in text or "NOPERM" in text:
        return DataUnavailable(f"{place}: the server refuses user name or password")
    if "OOM" in text:
        return DataFull(f"{place}: the server's memory is full (maxmemory)")
    return DataError(f"{place}: {text}")


def _cause(error: BaseException) -> str:
    cause = error.__cause__ or error.__context__ or error
    reason = getattr(cause, "strerror", None)
    return str(reason) if reason else _one_line(error)


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:200]
