"""Several writes as one: all of them or nothing, also in a race, also when a server dies meanwhile.

Like the driver's own ``with_transaction``, but with the patience of a crawl that stands still: that
one tries for two minutes.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from itertools import count
from typing import TypeVar

from pymongo import ReadPreference
from pymongo.errors import ConnectionFailure, PyMongoError
from pymongo.read_concern import ReadConcern

from newsbot.connections.mongo import Place, Session

_Answer = TypeVar("_Answer")
_PATIENCE = 5.0
"""Seconds for which a transaction that meets others is begun again.

A worker that is killed in the few milliseconds of a transaction holds its keys until the server ends
it (``transactionLifetimeLimitSeconds``, 60 by default): whoever meets the same text is told to come again
(:class:`newsbot.errors.RecordBusy`).
"""
_LONGEST_PAUSE = 0.25
_CONNECTIONS = 2
"""How often the way to the server may be tried; each waits for an answer (see connection.py)."""


def transact(place: Place, work: Callable[[Session], _Answer]) -> _Answer:
    """Run ``work`` in a transaction and return its answer; ``work`` may run several times.

    Raises what the driver raises when the server is away or others write the same all the time. It is
    then not known whether a commit on its way came to pass: ``work`` must be idempotent.
    """
    give_up = time.monotonic() + _PATIENCE
    lost = 0
    with place.client.start_session() as session:
        for turn in count():
            try:
                with session.start_transaction(
                    ReadConcern("snapshot"), place.write_concern, ReadPreference.PRIMARY
                ):
                    return work(session)
            except PyMongoError as error:
                lost += isinstance(error, ConnectionFailure)
                again = error.has_error_label("TransientTransactionError")
                if not again or lost >= _CONNECTIONS or time.monotonic() > give_up:
                    raise
            time.sleep(random.uniform(0, min(_LONGEST_PAUSE, 0.002 * 1.5**turn)))  # noqa: S311
    raise AssertionError("count() does not end")
