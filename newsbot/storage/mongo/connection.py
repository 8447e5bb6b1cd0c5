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

from newsbot.connections.mongo import Collections, Document, Place, Session, all_duplicates, readable_errors

_Answer = TypeVar("_Answer")
_Record = TypeVar("_Record")
_PATIENCE = 5.0
"""Seconds for which a transaction that conflicts with another one is tried again.

If a worker is killed during a transaction, its documents stay locked until the server aborts the transaction
(``transactionLifetimeLimitSeconds``, 60 by default). Another worker that stores the same text meanwhile gets
:class:`newsbot.errors.RecordBusy` and tries again later.
"""
_LONGEST_PAUSE = 0.25
"""Maximum pause in seconds between two attempts at a transaction."""
_CONNECTIONS = 2
"""Maximum number of connection failures in a transaction. Each one takes as long as the driver's timeout."""
_TURNS = 5
"""Maximum number of attempts at a bulk write. If two workers create the same document at the same time, one
needs a second attempt."""


class Server:
    """One client of the database, shared by all repositories of a storage."""

    def __init__(self, place: Place) -> None:
        self.at = place
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

        A batch must not leave a cursor open: the caller can take a long time between two records, and the
        server closes idle cursors.
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

        The first batch starts after the ``_id`` ``after`` (None: with the first document). Each batch is a
        query of its own.
        """
        while True:
            behind = {} if after is None else {"_id": {"$gt": after}}
            found = list(self.at.database[name].find(query | behind).sort("_id", 1).limit(size))
            if not found:
                return
            yield found
            after = found[-1]["_id"]

    def transact(self, work: Callable[[Session], _Answer]) -> _Answer:
        """Run ``work`` in a transaction and return its result. ``work`` can run several times.

        This is the driver's ``with_transaction`` with a shorter time limit: the driver tries for two minutes,
        which is too long for a crawl. If the server does not respond, or if conflicts do not end, the
        driver's exception is raised. Even then the transaction can be committed, so ``work`` must be
        idempotent.
        """
        give_up = time.monotonic() + _PATIENCE
        lost = 0
        with self.at.client.start_session() as session:
            for turn in count():
                try:
                    with session.start_transaction(
                        ReadConcern("snapshot"), self.at.write_concern, ReadPreference.PRIMARY
                    ):
                        return work(session)
                except PyMongoError as error:
                    lost += isinstance(error, ConnectionFailure)
                    # If the result of a commit is unknown, the error has another label and is raised.
                    again = error.has_error_label("TransientTransactionError")
                    if not again or lost >= _CONNECTIONS or time.monotonic() > give_up:
                        raise
                # Random pauses that grow keep transactions from conflicting again.
                time.sleep(random.uniform(0, min(_LONGEST_PAUSE, 0.002 * 1.5**turn)))  # noqa: S311
        raise AssertionError("count() does not end")


def write_in_turns(write: Callable[[], object]) -> None:
    """Call ``write``, an idempotent bulk write, and repeat it if another worker created a document first.

    MongoDB reports such a race as a duplicate key, although the operation is an upsert.
    """
    for turn in range(1, _TURNS + 1):
        try:
            write()
            return
        except BulkWriteError as error:
            if turn == _TURNS or not all_duplicates(error):
                raise
