"""Connects to MongoDB, with the options of the URI, and with newsbot's defaults for all other options.

A write is acknowledged when a majority of the replica set has written it to the journal. In a test with
MongoDB's own default for a single node, kill -9 lost up to 162 acknowledged inserts. With the journal, no
insert was lost. Timeouts are short, because the crawl is blocked while it waits. The caller retries after a
timeout.

:class:`Server` holds the open database, with transactions, streams, and errors with readable messages.

Articles are converted to documents and back here. Times of articles are BSON dates, which have a resolution
of milliseconds. The field ``finer`` has the remaining microseconds. The fields ``fetched`` and ``moment`` are
for sorting, in microseconds since 1970. ``moment`` is the time of publication, or the time of the fetch if
the time of publication is unknown.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime, timedelta
from functools import wraps
from inspect import isfunction
from itertools import count
from typing import Any, TypeVar
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
from pymongo.read_concern import ReadConcern

from newsbot.clock import from_stamp, stamp
from newsbot.errors import DataError, DataFull, DataUnavailable, RecordBusy, RecordRefused
from newsbot.items import Article, ArticleFilter
from newsbot.pages.text.words import clean
from newsbot.urls import fingerprint

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


_Answer = TypeVar("_Answer")
_Record = TypeVar("_Record")
_RETRY_CONFLICT_SECONDS = 5.0
"""Number of seconds for which a transaction is tried again if it conflicts with another transaction.

If a worker is killed during a transaction, its documents stay locked until the server aborts the transaction
(``transactionLifetimeLimitSeconds``, 60 by default). If another worker stores the same text in the meantime,
:class:`newsbot.errors.RecordBusy` is raised, and the worker tries again later.
"""
_LONGEST_PAUSE = 0.25
"""Maximum pause in seconds between two attempts at a transaction."""
_CONNECTIONS = 2
"""Number of connection failures after which a transaction is not tried again. Each failure takes as long as
the driver's timeout."""
_TURNS = 5
"""Maximum number of attempts at a bulk write. If two workers create the same document at the same time, one
worker needs a second attempt."""


class Server:
    """One client of the database. All repositories of a storage share it."""

    def __init__(self, place: Place, *, stale: bool = False) -> None:
        """If ``stale``, :attr:`shown` follows the read preference of the URI."""
        self.at = place
        self.shown = place.shown if stale else place.database
        """The database for data that are only shown or exported. Nothing that is written may depend on it."""
        self.patience = place.patience
        """Time limit of a long read in the server, in milliseconds."""

    @contextmanager
    def readable(self) -> Iterator[Collections]:
        """Yield the collections.

        Errors of the driver inside the block are raised as subclasses of :class:`newsbot.errors.DataError`.
        """
        with readable_errors(self.at.name):
            yield self.at.database

    def streamed(self, batches: Iterator[list[_Record]]) -> Iterator[_Record]:
        """Yield the records of ``batches`` one by one.

        The iterator must not keep a cursor open between two batches. The caller may take a long time between
        two records, and the server closes idle cursors.
        """
        while True:
            with readable_errors(self.at.name):
                batch = next(batches, None)
            if batch is None:
                return
            yield from batch

    def batches(
        self, name: str, query: Document, size: int, after: object = None
    ) -> Iterator[list[Document]]:
        """Yield the matching documents of a collection in batches of ``size``, sorted by ``_id``.

        The first batch starts after the document whose ``_id`` is ``after``, or with the first document if
        ``after`` is None. Each batch is a separate query.
        """
        while True:
            behind = {} if after is None else {"_id": {"$gt": after}}
            found = list(self.at.database[name].find(query | behind).sort("_id", 1).limit(size))
            if not found:
                return
            yield found
            after = found[-1]["_id"]

    def transact(
        self, work: Callable[[Session], _Answer], patience: float = _RETRY_CONFLICT_SECONDS
    ) -> _Answer:
        """Run ``work`` in a transaction and return its result. ``work`` may run several times.

        This method does the same as the driver's ``with_transaction``, but with a shorter time limit. The
        driver tries again for two minutes, which is too long for a crawl. If the server does not respond, or
        if conflicts do not end, the driver's exception is raised. Even then, the transaction may have been
        committed, so ``work`` must be idempotent. ``patience`` is the time limit in seconds.
        """
        give_up = time.monotonic() + patience
        lost = 0
        with self.at.client.start_session() as session:
            for turn in count():
                try:
                    with session.start_transaction(
                        ReadConcern("snapshot"), self.at.write_concern, ReadPreference.PRIMARY
                    ):
                        return work(session)
                except PyMongoError as error:
                    # A conflict is reported at once. A lost connection takes a whole timeout each time, so
                    # lost connections have their own limit.
                    lost += isinstance(error, ConnectionFailure)
                    # If it is unknown whether the commit succeeded, the error has another label and is
                    # raised.
                    again = error.has_error_label("TransientTransactionError")
                    if not again or lost >= _CONNECTIONS or time.monotonic() > give_up:
                        raise
                # The pauses are random and grow, so that the same transactions do not conflict again.
                time.sleep(random.uniform(0, min(_LONGEST_PAUSE, 0.002 * 1.5**turn)))  # noqa: S311
        raise AssertionError("count() does not end")


class Repository:
    """A part of the storage, with its collections in the database.

    Methods raise newsbot's errors instead of those of the driver. A generator has to use
    :meth:`Server.streamed` or :meth:`Server.readable` for that, because its code runs later.
    """

    def __init__(self, server: Server) -> None:
        self.server = server
        self.database, self.shown = server.at.database, server.shown

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        for name, method in list(vars(cls).items()):
            if isfunction(method) and not name.startswith("_"):
                setattr(cls, name, _translating(method))


def _translating(method: Callable[..., _Answer]) -> Callable[..., _Answer]:
    @wraps(method)
    def call(repository: Repository, *given: Any, **more: Any) -> _Answer:
        with readable_errors(repository.server.at.name):
            return method(repository, *given, **more)

    return call


def write_in_turns(write: Callable[[], object]) -> None:
    """Call ``write``, an idempotent bulk write. Call it again if another worker created a document first.

    MongoDB reports this case as a duplicate key, although the operation is an upsert.
    """
    for turn in range(1, _TURNS + 1):
        try:
            write()
            return
        except BulkWriteError as error:
            if turn == _TURNS or not all_duplicates(error):
                raise


KEY = 16
"""Length in bytes of a fingerprint, which is the ``_id`` of an article."""
_FIELDS = tuple(field.name for field in fields(Article))
_TIMES = ("published_at", "modified_at", "discovered_at", "fetched_at")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_LARGEST = (1 << 63) - 1  # BSON integers have 64 bits; a header may state any Content-Length


def micros(moment: datetime | None) -> int | None:
    """Return a time in microseconds since 1970 (UTC), or None if there is no time."""
    normal = from_stamp(stamp(moment))
    return None if normal is None else (normal - _EPOCH) // _MICROSECOND


def harmless(value: Any) -> Any:
    """Return ``value`` in a form that BSON accepts.

    Invalid characters are removed or replaced. Integers are limited to 64 bits. NUL is removed from keys.
    """
    if isinstance(value, str):
        return clean(str(value))
    if isinstance(value, dict):
        return {clean(str(key)).replace("\0", ""): harmless(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [harmless(item) for item in value]
    # True and False are ints, too.
    if isinstance(value, int) and not isinstance(value, bool):
        return max(-_LARGEST, min(value, _LARGEST))
    return value


def to_document(article: Article) -> Document:
    """Return the document of an article, with its ``_id``."""
    document: Document = {"_id": fingerprint(article.canonical_url)}
    document |= {name: harmless(getattr(article, name)) for name in _FIELDS}
    finer: dict[str, int] = {}
    for name in _TIMES:
        # The time is converted to the text that SQLite stores, so that both backends return the same time.
        moment = document[name] = from_stamp(stamp(document[name]))
        if moment is not None and moment.microsecond % 1000:
            finer[name] = moment.microsecond % 1000
    if finer:
        document["finer"] = finer
    document["fetched"] = micros(article.fetched_at)
    document["moment"] = document["fetched"] if article.published_at is None else micros(article.published_at)
    return document


def from_document(document: Document) -> Article:
    """Return the article of a document. Missing fields get the default of :class:`Article`."""
    values = {name: document[name] for name in _FIELDS if name in document}
    for name, more in document.get("finer", {}).items():
        values[name] += more * _MICROSECOND
    return Article(**values)


def articles_by_key(database: Collections, keys: Sequence[bytes]) -> dict[bytes, Article]:
    """Return articles by key (the fingerprint of the canonical URL). Unknown keys are left out."""
    documents = database["articles"].find({"_id": {"$in": list(keys)}})
    return {document["_id"]: from_document(document) for document in documents}


def conditions(where: ArticleFilter | None) -> Document:
    """Return the query for the articles that match a filter."""
    if where is None:
        return {}
    asked = {"source": where.source, "language": where.language, "story": where.story}
    found: Document = {name: clean(value) for name, value in asked.items() if value is not None}
    if where.posts is not None:
        found["form"] = "post" if where.posts else {"$ne": "post"}
    if "story" in found:
        found["story"] = strings(found["story"])
    bounds = {"$gte": micros(where.since), "$lt": micros(where.until)}
    moment = {operator: value for operator, value in bounds.items() if value is not None}
    return found | {"moment": moment} if moment else found


def strings(*values: str) -> Document:
    """Return the condition that a field is one of these strings, for a field whose index has only strings
    (``only`` in storage.py).

    MongoDB uses such an index only for queries with the same ``$type``. Otherwise it reads all documents.
    """
    return {"$in": list(values), "$type": "string"}


def current(database: Collections, where: ArticleFilter | None) -> ArticleFilter | None:
    """Return the filter, but with the current story if the filter's story was joined with another story."""
    if where is None or where.story is None:
        return where
    joined = database["joined"].find_one({"_id": clean(where.story)})
    return where if joined is None else replace(where, story=str(joined["into"]))


def text_key(site: str, content_hash: str) -> str:
    """Return the ``_id`` of a text: its site and its hash, separated by a space.

    Neither the site nor the hash contains a space.
    """
    return clean(f"{site} {content_hash}")


def texts_of_site(site: str) -> Document:
    """Return the condition on ``_id`` for all texts of a site."""
    # "!" is the character after the space
    return {"$gte": f"{site} ", "$lt": f"{site}!"}


def version_key(article: bytes, number: int) -> bytes:
    """Return the ``_id`` of a version, so that the versions of an article are sorted by number."""
    return article + number.to_bytes(4, "big")


def all_versions(article: bytes) -> Document:
    """Return the query for all earlier versions of an article."""
    return {"_id": {"$gte": version_key(article, 0), "$lte": version_key(article, 0xFFFFFFFF)}}
