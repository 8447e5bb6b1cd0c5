"""One open database: its collections, and its faults in readable words."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

from newsbot.connections.mongo import Collections, Place, readable_errors

_Record = TypeVar("_Record")


class Access:
    """What the parts of the storage share."""

    def __init__(self, place: Place) -> None:
        self._place = place

    @contextmanager
    def _readable(self) -> Iterator[Collections]:
        with readable_errors(self._place.name):
            yield self._place.database

    def _streamed(self, batches: Iterator[list[_Record]]) -> Iterator[_Record]:
        while True:
            with readable_errors(self._place.name):
                batch = next(batches, None)
            if batch is None:
                return
            yield from batch
