"""Connects to MongoDB, with the options of the URI and newsbot's defaults for options that are missing.

A write is acknowledged when a majority of the replica set has it in its journal. With MongoDB's own default
for a single node, kill -9 lost up to 162 acknowledged inserts; with the journal it lost none.
Timeouts are short, because the crawl is blocked while it waits; the caller retries.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

from bson.codec_options import CodecOptions
from bson.errors import BSONError
from pymongo import MongoClient, ReadPreference, WriteConcern
from pymongo.client_session import ClientSession
from pymongo.database import Database
from pymongo.errors import (
    BulkWriteError,
    ConnectionFailure,
    DocumentTooLarge,
    ExecutionTimeout,
    OperationFailure,
    PyMongoError,
    WTimeoutError,
)

from newsbot.errors import DataError, DataFull, DataUnavailable, RecordBusy, RecordRefused

Document = dict[str, Any]
Client = MongoClient[Document]
Collections = Database[Document]
Session = ClientSession

DATABASE = "newsbot"
"""The database that is used when neither the URI nor the caller names one."""
_DEFAULTS: dict[str, Any] = {
    "serverSelectionTimeoutMS": 3_000,
    "connectTimeoutMS": 3_000,
    "socketTimeoutMS": 60_000,
    "appname": "newsbot",
}
_MAJORITY_MS = 20_000
_ANSWER_MS = 30_000
_HURRIED: dict[str, Any] = {"serverSelectionTimeoutMS": 2_000, "socketTimeoutMS": 5_000}
"""Shorter timeouts for a crawl, whose reactor is blocked while it waits. The caller retries."""
_HURRIED_MAJORITY_MS = 4_000
FORM = (
    "mongodb://host:27017/newsbot, a log-in as user:password@ before the host (signs like : / ? # @ % in a "
    "password are written as %3A …)"
)


@dataclass(frozen=True, slots=True)
class Place:
    """An open client, its database, and a name for messages (hosts and database, no credentials)."""

    client: Client
    database: Collections
    write_concern: WriteConcern
    name: str
    patience: int = _ANSWER_MS
    """Maximum time of a long read in the server, in milliseconds."""


def connect(uri: str, database: str | None, *, hurried: bool = False) -> Place:
    """Create a client without connecting. Raises :class:`DataUnavailable` for an invalid URI."""
    hosts, query = _hosts_and_query(uri)
    given = {name.lower() for name, _ in parse_qsl(query, keep_blank_values=True)}
    wanted = _DEFAULTS | _HURRIED if hurried else _DEFAULTS
    more = {name: value for name, value in wanted.items() if name.lower() not in given}
    try:
        client: Client = MongoClient(uri, connect=False, **more)
    except (PyMongoError, ValueError, TypeError) as error:
        # the driver's message may quote parts of a password that is not escaped
        raise DataUnavailable(f"MONGO_URI: the driver refuses it; write {FORM}") from error
    try:
        timeout = _HURRIED_MAJORITY_MS if hurried else _MAJORITY_MS
        safe: dict[str, Any] = {"w": "majority", "wtimeout": timeout, "j": True}
        concern = WriteConcern(**(safe | client.write_concern.document))
        chosen = client.get_database(
            database or client.get_default_database(DATABASE).name,
            codec_options=CodecOptions(tz_aware=True),
            read_preference=ReadPreference.PRIMARY,
            write_concern=concern,
        )
    except (PyMongoError, ValueError, TypeError) as error:
        client.close()
        raise DataUnavailable(f"MONGO_URI: the driver refuses it; write {FORM}") from error
    return Place(client, chosen, concern, f"MongoDB {hosts}/{chosen.name}")


def _hosts_and_query(uri: str) -> tuple[str, str]:
    scheme, mark, rest = uri.strip().partition("://")
    place, _, query = rest.partition("?")
    authority, _, path = place.partition("/")
    if not mark or scheme not in ("mongodb", "mongodb+srv") or "@" in path:
        raise DataUnavailable(f"MONGO_URI: is not an address of MongoDB; write {FORM}")
    return authority.rpartition("@")[2], query


DUPLICATE_KEY = 11000
_AWAY = "does not answer; start it, or correct MONGO_URI"
_SLOW = "answers too slowly; it is overloaded or a part of it is away: nothing acknowledged is lost"
_MAX_CAUSE = 160
_FAULTS: dict[int, tuple[type[DataError], str]] = {
    18: (DataUnavailable, "refuses the user or the password; correct them in MONGO_URI"),
    8000: (DataUnavailable, "refuses the user or the password; correct them in MONGO_URI"),
    13: (DataUnavailable, "does not let this user do that; grant it the role readWrite on the database"),
    14031: (DataFull, "the server's disk is full; make room there: nothing stored is lost"),
    12501: (DataFull, "the quota is used up; raise it: nothing stored is lost"),
    50: (DataUnavailable, _SLOW),
    64: (DataUnavailable, _SLOW),
    100: (DataUnavailable, "has too few members for the write concern; start them, or correct MONGO_URI"),
    112: (RecordBusy, "another worker writes the same, or died while it did; try again in a minute"),
    262: (DataUnavailable, _SLOW),
}
_GONE = frozenset({6, 7, 89, 91, 189, 202, 317, 358, 9001, 10107, 11600, 11602, 13435, 13436})
"""Error codes of a server that shuts down, holds an election or has lost its connection."""
_REFUSED = frozenset({2, 9, 14, 52, 57, 66, 121, 10334, 17280, 17419})
"""Error codes caused by a single record: its values, names or size."""


@contextmanager
def readable_errors(name: str) -> Iterator[None]:
    """Convert errors of the driver to subclasses of :class:`DataError` that name the place and the remedy."""
    try:
        yield
    except (PyMongoError, BSONError, OverflowError) as error:
        raise translate(name, error) from error


def translate(name: str, error: Exception) -> DataError:
    """Return the fault as :class:`DataError`; ``name`` is how people call the place."""
    if isinstance(error, BSONError | DocumentTooLarge | OverflowError):
        return RecordRefused(f"{name}: a record cannot be stored ({_cause(error)})")
    if isinstance(error, WTimeoutError | ExecutionTimeout):
        return DataUnavailable(f"{name}: {_SLOW}")
    if isinstance(error, ConnectionFailure):
        return DataUnavailable(f"{name}: {_AWAY} ({_cause(error)})")
    if isinstance(error, OperationFailure):
        return _by_code(name, error)
    return DataError(f"{name}: {_cause(error)}")


def all_duplicates(error: BulkWriteError) -> bool:
    """Return True if all failures are duplicate keys, because another worker was faster."""
    found = error.details["writeErrors"]
    return (
        bool(found)
        and not error.details["writeConcernErrors"]
        and all(each["code"] == DUPLICATE_KEY for each in found)
    )


def _by_code(name: str, error: OperationFailure) -> DataError:
    for code in _codes(error):
        if code in _FAULTS:
            kind, text = _FAULTS[code]
            return kind(f"{name}: {text}")
        if code in _GONE:
            return DataUnavailable(f"{name}: {_AWAY} ({_cause(error)})")
        if code in _REFUSED:
            return RecordRefused(f"{name}: a record cannot be stored ({_cause(error)})")
    return DataError(f"{name}: {_cause(error)}")


def _codes(error: OperationFailure) -> list[int]:
    codes = [error.code] if error.code is not None else []
    if isinstance(error, BulkWriteError):
        for part in ("writeErrors", "writeConcernErrors"):
            codes += [each["code"] for each in error.details.get(part, [])]
    return codes


def _cause(error: Exception) -> str:
    """Return the beginning of the driver's message. The rest describes every server that it knows."""
    text = str(error).partition(" (configured timeouts")[0].partition(", full error")[0]
    text = text.partition(", Timeout:")[0]
    return " ".join(text.split())[:_MAX_CAUSE]
