"""Copying all that a frontier holds, to another frontier of any kind: what ``scrapy move`` asks for.

Hosts need nothing of their own: :meth:`~newsbot.frontier.base.Frontier.set_politeness` and ``back_off``
take them. Nobody else should work meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from newsbot.frontier.base import Entry


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryCopy:
    """An entry with all that is noted beside it. What was leased is pending."""

    entry: Entry
    state: Literal["pending", "held", "done", "aside"]
    """``held`` is pending, after a delay."""
    at: float | None = None
    """When the delay ends, when it is due again (None: never), when it was set aside."""
    last_fetched: float | None = None
    attempts: int = 0
    lost: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class HostCopy:
    """How a host is treated. Times in POSIX seconds."""

    host: str
    delay: float
    concurrency: int
    next_turn: float


class FrontierTransfer(Protocol):
    """What a frontier offers beside :class:`newsbot.frontier.base.Frontier`."""

    def at_work(self) -> list[str]:
        """Who holds leases that have not run out. Looking changes nothing, unlike handing out."""

    def copy_hosts(self) -> Iterator[HostCopy]:
        """All hosts."""

    def copy_entries(self) -> Iterator[EntryCopy]:
        """All entries that are kept whole; the storage's pages tell the others."""

    def take_entries(self, copies: Sequence[EntryCopy]) -> None:
        """Keep entries that are not known yet."""
