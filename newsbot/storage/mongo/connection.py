"""The open database: its transactions, and its faults in readable words."""

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
"""Seconds for which a transaction that meets others is begun again.

A worker that is killed in the few milliseconds of a transaction holds its keys until the server ends it
(``transactionLifetimeLimitSeconds``, 60 by default). Another worker that meets the same text gets
:class:`newsbot.errors.RecordBusy` and tries again later.
"""
_LONGEST_PAUSE = 0.25
_CONNECTIONS = 2
"""How often the way to the server may be tried; each try waits for an answer."""
_TURNS = 5
"""How often a bulk write is tried: a document that two workers write for the first time at once needs a
second turn."""


class Server:
    """One client of the database; every repository of a storage works on it."""

    def __init__(self, place: Place) -> None:
        self.at = place
        self.patience = place.patience
        """Milliseconds that a long read may take in the server."""

    @contextmanager
    def readable(self) -> Iterator[Collections]:
        """Give the collections; faults inside the block are raised as :class:`newsbot.errors.DataError`
        kinds."""
        with readable_errors(self.at.name):
            yield self.at.database

    def streamed(self, batches: Iterator[list[_Record]]) -> Iterator[_Record]:
        """Yield the records of batches. A batch must leave no cursor open: the caller may take its time."""
        while True:
            with readable_errors(self.at.name):
                batch = next(batches, None)
            if batch is None:
                return
            yield from batch

    def batches(
        self, name: str, query: Document, size: int, after: object = None
    ) -> Iterator[list[Document]]:
        """Yield what matches in a collection by ``_id``, in batches, beginning behind ``after``."""
        while True:
            behind = {} if after is None else {"_id": {"$gt": after}}
            found = list(self.at.database[name].find(query | behind).sort("_id", 1).limit(size))
            if not found:
                return
            yield found
            after = found[-1]["_id"]

    def transact(self, work: Callable[[Session], _Answer]) -> _Answer:
        """Run ``work`` in a transaction and return its answer; ``work`` may run several times.

        It works like the driver's own ``with_transaction``, but that one tries for two minutes, which is too
        long for a crawl that stands still. Raises what the driver raises when the server is away or when
        others write the same all the time. It is then not known whether the commit happened: ``work`` must be
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
                    again = error.has_error_label("TransientTransactionError")
                    if not again or lost >= _CONNECTIONS or time.monotonic() > give_up:
                        raise
                time.sleep(random.uniform(0, min(_LONGEST_PAUSE, 0.002 * 1.5**turn)))  # noqa: S311
        raise AssertionError("count() does not end")


def write_in_turns(write: Callable[[], object]) -> None:
    """Call ``write``, an ordered bulk write, again when another worker was quicker to make a document."""
    for turn in range(1, _TURNS + 1):
        try:
            write()
            return
        except BulkWriteError as error:
            if turn == _TURNS or not all_duplicates(error):
                raise
