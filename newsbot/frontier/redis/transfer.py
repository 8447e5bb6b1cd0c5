"""Between copies of entries and what the scripts keep; see :mod:`newsbot.frontier.base`."""

from __future__ import annotations

import struct
from dataclasses import replace
from typing import Literal

from newsbot.frontier.base import ASIDE, EntryCopy, HostCopy
from newsbot.frontier.redis.codec import arguments, number, record_of

_LETTERS = {"pending": "w", "held": "h", "done": "d", "aside": "a"}
_STATES: dict[bytes, Literal["held", "done", "aside"]] = {b"h": "held", b"d": "done", b"a": "aside"}
_HOST = struct.Struct(">dIddII")  # as put_hosts of lib.lua writes it
_AT = struct.Struct(">cHBd")  # the beginning of LAYOUT of lib.lua


def entry_copy(fingerprint: bytes, raw: bytes) -> EntryCopy:
    """Return the copy of a record."""
    record = record_of(fingerprint, raw)
    letter, _, _, at = _AT.unpack_from(raw)
    state = _STATES.get(letter)
    return EntryCopy(
        entry=record.entry,
        state=state or "pending",
        at=at if state and at < float("inf") else None,
        last_fetched=record.fetched,
        attempts=record.attempts,
        lost=record.lost,
    )


def host_copy(name: bytes, raw: bytes) -> HostCopy:
    """Return the copy of a host."""
    delay, concurrency, _, next_turn, _, _ = _HOST.unpack(raw)
    return HostCopy(host=name.decode(), delay=delay, concurrency=concurrency, next_turn=next_turn)


def values(copy: EntryCopy, within: float) -> list[bytes | str]:
    """Return a copy as the twelve arguments of the script ``take``.

    What is done and due later than ``within`` seconds from now will only be known.
    """
    note = str(copy.entry.data.get(ASIDE, ""))
    data = copy.entry.data.copy()
    data.pop(ASIDE, None)
    return [
        *arguments(replace(copy.entry, data=data)),
        *(_LETTERS[copy.state], _optional(copy.at), _optional(copy.last_fetched)),
        *(str(copy.attempts), str(copy.lost), note, number(within)),
    ]


def _optional(value: float | None) -> str:
    return "" if value is None else number(value)
