"""One round of alerts: measure, apply the rules, send. It runs in a crawl, in ``scrapy serve`` or by ``scrapy
alerts``.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from newsbot import backends
from newsbot.alerts import state as book
from newsbot.alerts.measurements import keep_totals, measure
from newsbot.alerts.outputs import AT_ONCE, Output, OutputError, outputs_from
from newsbot.alerts.rules import RULES, Alert, Limits, Message, find
from newsbot.clock import Clock
from newsbot.config.check import SettingsLike
from newsbot.errors import ArgumentError
from newsbot.frontier.base import Frontier
from newsbot.storage.base import Storage

logger = logging.getLogger(__name__)

EVERY = 300.0
"""Seconds between two rounds, where no setting says more."""


@dataclass(slots=True)
class Delivery:
    """What an output is to be told, and whether it took it."""

    output: Output
    messages: list[Message]
    done: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the settings say of alerts."""

    outputs: tuple[Output, ...]
    limits: Limits
    every: float
    """Seconds; 0: never."""
    folder: Path | None
    """The data folder, whose disk is watched."""


def options_from(settings: SettingsLike) -> Options:
    """Return the options. Raises :class:`ArgumentError`; see :mod:`newsbot.config.check`."""
    given = settings.get("NEWSBOT_ALERTS_OFF") or ""
    words = given if isinstance(given, list | tuple) else str(given).replace(",", " ").split()
    for word in words:
        if word not in RULES:
            raise ArgumentError(f"NEWSBOT_ALERTS_OFF={word}: is no rule of alerts ({', '.join(RULES)})")
    return Options(
        outputs=tuple(outputs_from(settings)),
        limits=Limits(
            lag=float(settings.get("NEWSBOT_ALERT_LAG") or Limits().lag),
            disk=float(settings.get("NEWSBOT_ALERT_DISK", Limits().disk)),
            off=frozenset(map(str, words)),
        ),
        every=float(settings.get("NEWSBOT_ALERT_EVERY", EVERY)),
        folder=backends.data_folder(settings),
    )


class Watch:
    """The rounds of one process. :meth:`look` and :meth:`note` use the data, :func:`tell` the network."""

    def __init__(
        self, storage: Storage, frontier: Frontier, options: Options, *, owner: str, clock: Clock
    ) -> None:
        self._storage, self._frontier = storage, frontier
        self._notes = storage.notes
        self._options, self._owner, self._clock = options, owner, clock
        self._book: dict[str, book.Entry] = {}

    def found(self) -> list[Alert]:
        """Return what is wrong now; nothing is kept. Raises :class:`newsbot.errors.DataError`."""
        measured = measure(self._storage, self._frontier, self._options.folder, self._clock())
        return find(measured, self._options.limits)

    def look(self) -> list[Delivery]:
        """Return what is to be told; nothing while another process tells.

        Raises :class:`newsbot.errors.DataError`.
        """
        now = self._clock()
        if not book.take_lock(self._notes, self._owner, now, 3 * (self._options.every or EVERY)):
            return []
        measured = measure(self._storage, self._frontier, self._options.folder, now)
        keep_totals(self._notes, measured)
        kept = book.entries(self._notes)
        self._book = book.updated(kept, find(measured, self._options.limits), now)
        deliveries = [
            Delivery(output, book.messages_for(output.name, self._book)[:AT_ONCE])
            for output in self._options.outputs
        ]
        # the telling may last: what was seen is kept before
        book.write(self._notes, self._notes.all(book.KIND), self._book, now)
        return [one for one in deliveries if one.messages]

    def note(self, deliveries: Sequence[Delivery]) -> None:
        """Note what was told. Raises :class:`newsbot.errors.DataError`: then it is told once more."""
        if not deliveries:  # perhaps because another process tells: the book is its
            return
        now = self._clock()
        for one in deliveries:
            if one.done:
                book.note_told(self._book, one.output.name, one.messages, now)
        book.write(self._notes, self._notes.all(book.KIND), self._book, now)

    def leave(self) -> None:
        """Let another process tell. Raises :class:`newsbot.errors.DataError`."""
        book.drop_lock(self._notes, self._owner)


def tell(deliveries: Sequence[Delivery]) -> list[str]:
    """Send what is to be told; return what went wrong, a line each. Waits for answers: not in a reactor."""
    faults = []
    for one in deliveries:
        try:
            one.output.send(one.messages)
            one.done = True
        except OutputError as error:
            faults.append(f"alerts: {one.output.name}: {error}; tried again in the next round")
    return faults
