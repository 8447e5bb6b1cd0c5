"""Connections to Redis that lie ready: taken from a client's pool once, not for each command.

A pool counts, measures and locks for each command; what is needed of that is the look whether the server has
closed the connection meanwhile.
"""

from __future__ import annotations

import os
from collections import deque
from typing import Any
from weakref import WeakKeyDictionary, ref

import redis
from redis.connection import ConnectionPool

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
