"""Connects to MongoDB, with the options of the URI, and with newsbot's defaults for all other options.

A write is acknowledged when a majority of the replica set has written it to the journal. In a test with
MongoDB's own default for a single node, kill -9 lost up to 162 acknowledged inserts. With the journal, no
insert was lost. Timeouts are short, because the crawl is blocked while it waits. The caller retries after a
timeout.
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
"""The database that is used if neither the URI nor the caller names one."""
_DEFAULTS: dict[str, Any] = {
    "serverSelectionTimeoutMS": 3_000,
    "connectTimeoutMS": 3_000,
    "socketTimeoutMS": 60_000,
    "appname": "newsbot",
}
_MAJORITY_MS = 20_000
"""Maximum time in milliseconds for a majority of the replica set to acknowledge a write."""
_ANSWER_MS = 30_000
_HURRIED: dict[str, Any] = {"serverSelectionTimeoutMS": 2_000, "socketTimeoutMS": 5_000}
"""Shorter timeouts for a crawl. A call blocks its reactor, so a call must end soon. The crawl retries."""
_HURRIED_MAJORITY_MS = 4_000
FORM = (
    "mongodb://host:27017/newsbot or mongodb://user:password@host:27017/newsbot (percent-encode : / ? # @ % "
    "in a password)"
)


@dataclass(frozen=True, slots=True)
class Place:
    """A client, its database, and a name for messages.

    The name has hosts and database, but no credentials.
    """

    client: Client
    database: Collections
    write_concern: WriteConcern
    shown: Collections
    """The same database with the read preference of the URI."""
    name: str
    patience: int = _ANSWER_MS
    """Maximum time that the server may spend on a long read, in milliseconds."""


def connect(uri: str, database: str | None, *, hurried: bool = False) -> Place:
    """Create a client without connecting. ``hurried`` sets the short timeouts of a crawl.

    Raises :class:`DataUnavailable` for an invalid URI.
    """
    hosts, query = _hosts_and_query(uri)
    given = {name.lower() for name, _ in parse_qsl(query, keep_blank_values=True)}
    wanted = _DEFAULTS | _HURRIED if hurried else _DEFAULTS
    # Options in the URI replace newsbot's defaults. Their names are not case-sensitive.
    more = {name: value for name, value in wanted.items() if name.lower() not in given}
    try:
        client: Client = MongoClient(uri, connect=False, **more)
    except (PyMongoError, ValueError, TypeError) as error:
        # The message of the driver is left out, because it may quote parts of a password that is not escaped.
        raise DataUnavailable(f"MONGO_URI: the driver refuses it; write {FORM}") from error
    try:
        timeout = _HURRIED_MAJORITY_MS if hurried else _MAJORITY_MS
        safe: dict[str, Any] = {"w": "majority", "wtimeout": timeout, "j": True}
        # options of the write concern in the URI replace newsbot's values
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
    shown = chosen.with_options(read_preference=client.read_preference)
    return Place(client, chosen, concern, shown, f"MongoDB {hosts}/{chosen.name}")


def _hosts_and_query(uri: str) -> tuple[str, str]:
    """Return the hosts of a URI, without credentials, and its query. Raises :class:`DataUnavailable`."""
    scheme, mark, rest = uri.strip().partition("://")
    place, _, query = rest.partition("?")
    authority, _, path = place.partition("/")
    # An @ in the path means that a / in the password was not escaped. Messages would then show the rest of
    # the password, so the URI is refused.
    if not mark or scheme not in ("mongodb", "mongodb+srv") or "@" in path:
        raise DataUnavailable(f"MONGO_URI: is not a MongoDB URI; write {FORM}")
    return authority.rpartition("@")[2], query


DUPLICATE_KEY = 11000
_AWAY = "does not answer; start it, or correct MONGO_URI"
_SLOW = "answers too slowly, because it is overloaded or a member is unreachable; stored data are safe"
_MAX_CAUSE = 160
_FAULTS: dict[int, tuple[type[DataError], str]] = {
    # AuthenticationFailed. MongoDB's cloud service reports it as AtlasError (8000).
    18: (DataUnavailable, "refuses user name or password; correct them in MONGO_URI"),
    8000: (DataUnavailable, "refuses user name or password; correct them in MONGO_URI"),
    # Unauthorized
    13: (DataUnavailable, "the user has too few rights; grant it the role readWrite on the database"),
    # OutOfDiskSpace
    14031: (DataFull, "the server's disk is full; free some space there (stored data are safe)"),
    12501: (DataFull, "the quota is used up; raise it (stored data are safe)"),
    # MaxTimeMSExpired, WriteConcernTimeout and, below, ExceededTimeLimit
    50: (DataUnavailable, _SLOW),
    64: (DataUnavailable, _SLOW),
    # UnsatisfiableWriteConcern
    100: (DataUnavailable, "has too few members for the write concern; start them, or correct MONGO_URI"),
    # WriteConflict: two transactions change one document. A dead worker's transaction ends after a minute.
    112: (RecordBusy, "another worker is writing the same data, or was killed; try again in a minute"),
    262: (DataUnavailable, _SLOW),
}
_GONE = frozenset({6, 7, 89, 91, 189, 202, 317, 358, 9001, 10107, 11600, 11602, 13435, 13436})
"""Error codes of a server that shuts down, holds an election, or has lost its connection.

All codes are listed at https://www.mongodb.com/docs/manual/reference/error-codes/.
"""
_REFUSED = frozenset({2, 9, 14, 52, 57, 66, 121, 10334, 17280, 17419})
"""Error codes that a single record causes by its values, names or size."""


@contextmanager
def readable_errors(name: str) -> Iterator[None]:
    """Convert errors of the driver to subclasses of :class:`DataError`.

    Their messages begin with ``name``, the name of the server, and say what to do.
    """
    try:
        yield
    except (PyMongoError, BSONError, OverflowError) as error:
        raise translate(name, error) from error


def translate(name: str, error: Exception) -> DataError:
    """Return an error of the driver as :class:`DataError`, whose message begins with ``name``."""
    if isinstance(error, BSONError | DocumentTooLarge | OverflowError):
        return RecordRefused(f"{name}: a record cannot be stored ({_cause(error)})")
    # These two classes are subclasses of OperationFailure, so they are tested before it.
    if isinstance(error, WTimeoutError | ExecutionTimeout):
        return DataUnavailable(f"{name}: {_SLOW}")
    if isinstance(error, ConnectionFailure):
        return DataUnavailable(f"{name}: {_AWAY} ({_cause(error)})")
    if isinstance(error, OperationFailure):
        return _by_code(name, error)
    return DataError(f"{name}: {_cause(error)}")


def all_duplicates(error: BulkWriteError) -> bool:
    """Return True if duplicate keys are the only errors of a bulk write.

    This happens if another worker has inserted the same records first.
    """
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
    """Return the codes of an error: the code of the command, and the codes of the writes that failed."""
    codes = [error.code] if error.code is not None else []
    if isinstance(error, BulkWriteError):
        for part in ("writeErrors", "writeConcernErrors"):
            codes += [each["code"] for each in error.details.get(part, [])]
    return codes


def _cause(error: Exception) -> str:
    """Return the beginning of the driver's message, without the description of all servers that it knows."""
    # e.g. "db:27017: [Errno 111] Connection refused (configured timeouts: …), Timeout: 3.0s, …"
    text = str(error).partition(" (configured timeouts")[0].partition(", full error")[0]
    text = text.partition(", Timeout:")[0]
    return " ".join(text.split())[:_MAX_CAUSE]
