"""Entries as Redis keeps them: numbers that scripts read, then JSON that they do not."""

from __future__ import annotations

import json
import math
import struct
from dataclasses import dataclass

from newsbot.errors import RecordRefused
from newsbot.frontier.base import ASIDE, Entry
from newsbot.frontier.sqlite.schema import dump
from newsbot.items import Kind

STATES = {
    "r": "pending",
    "w": "pending",
    "h": "pending",
    "l": "leased",
    "d": "done",
    "a": "aside",
}
"""What the protocol calls each letter of lib.lua."""

_HEAD = struct.Struct(">cHBdddddH")  # as LAYOUT of lib.lua, up to the length of the host


@dataclass(frozen=True, slots=True)
class Record:
    """An entry with what the frontier noted beside it."""

    entry: Entry
    attempts: int
    lost: int
    fetched: float | None


def arguments(entry: Entry) -> list[bytes | str]:
    """Return an entry as the five arguments that scripts take.

    Raises :class:`RecordRefused` for a due time or priority that is no number.
    """
    if math.isnan(entry.due) or math.isnan(entry.priority):
        raise RecordRefused(f"{entry.url}: due {entry.due} and priority {entry.priority} must be numbers")
    body = dump({"url": entry.url, "kind": entry.kind.value, "depth": entry.depth, "data": entry.data})
    return [entry.fingerprint, entry.host, number(entry.priority), number(entry.due), body]


def number(value: float) -> str:
    """Return a number as text that keeps every bit and that Lua reads."""
    return repr(float(value))


def optional(text: bytes) -> float | None:
    """Read a number that may be missing."""
    return float(text) if text else None


def record_of(fingerprint: bytes, raw: bytes) -> Record:
    """Read what ``pack`` of lib.lua wrote."""
    _, attempts, lost, _, priority, due, fetched, _, size = _HEAD.unpack_from(raw)
    host, rest = raw[_HEAD.size : _HEAD.size + size], raw[_HEAD.size + size :]
    noted = 2 + int.from_bytes(rest[:2])
    note, body = rest[2:noted], json.loads(rest[noted:])
    if note:
        body["data"][ASIDE] = note.decode()
    entry = Entry(
        url=body["url"],
        fingerprint=fingerprint,
        host=host.decode(),
        kind=Kind(body["kind"]),
        priority=priority,
        due=due,
        depth=body["depth"],
        data=body["data"],
    )
    return Record(entry, attempts, lost, fetched if fetched >= 0 else None)
