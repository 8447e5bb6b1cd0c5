"""What the driver raises, as faults that people understand: one line, the place, the remedy.

Codes: https://www.mongodb.com/docs/manual/reference/error-codes/
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from bson.errors import BSONError
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
"""Codes of a server that shuts down, elects or is cut off."""
_REFUSED = frozenset({2, 9, 14, 52, 57, 66, 121, 10334, 17280, 17419})
"""Codes that a single record is to blame for: its values, names or size."""


@contextmanager
def readable_errors(name: str) -> Iterator[None]:
    """Turn faults of the driver into :class:`DataError` kinds that name the place and the remedy."""
    try:
        yield
    except (PyMongoError, BSONError, OverflowError) as error:
        raise translate(name, error) from error


def translate(name: str, error: Exception) -> DataError:
    """Return the fault as :class:`DataError`; ``name`` is how people call the place."""
    if isinstance(error, BSONError | DocumentTooLarge | OverflowError):
        return RecordRefused(f"{name}: a record cannot be kept ({_cause(error)})")
    if isinstance(error, WTimeoutError | ExecutionTimeout):
        return DataUnavailable(f"{name}: {_SLOW}")
    if isinstance(error, ConnectionFailure):
        return DataUnavailable(f"{name}: {_AWAY} ({_cause(error)})")
    if isinstance(error, OperationFailure):
        return _by_code(name, error)
    return DataError(f"{name}: {_cause(error)}")


def all_duplicates(error: BulkWriteError) -> bool:
    """True if all that failed is keys that exist: another worker was faster."""
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
            return RecordRefused(f"{name}: a record cannot be kept ({_cause(error)})")
    return DataError(f"{name}: {_cause(error)}")


def _codes(error: OperationFailure) -> list[int]:
    codes = [error.code] if error.code is not None else []
    if isinstance(error, BulkWriteError):
        for part in ("writeErrors", "writeConcernErrors"):
            codes += [each["code"] for each in error.details.get(part, [])]
    return codes


def _cause(error: Exception) -> str:
    """The beginning of what the driver says: the rest describes every server that it knows."""
    text = str(error).partition(" (configured timeouts")[0].partition(", full error")[0]
    text = text.partition(", Timeout:")[0]
    return " ".join(text.split())[:_MAX_CAUSE]
