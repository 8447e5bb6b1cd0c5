"""Holds the open database, with transactions, streams, and errors with readable messages."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import TypeVar

from pymongo import ReadPreference
from pymongo.errors import BulkWriteError, ConnectionFailure, PyMongoError
from pymongo.read_concern import ReadConcern

from newsbot.apps.mongodb.client import Collections, Document, Place, Session, all_duplicates, readable_errors

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

    @contextmanager
    def showing(self) -> Iterator[Collections]:
        """Do the same as :meth:`readable` with the database :attr:`shown`."""
        with readable_errors(self.at.name):
            yield self.shown

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
    """A part of the storage, with its collections in the database."""

    def __init__(self, server: Server) -> None:
        self.server = server


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
