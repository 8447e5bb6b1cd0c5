"""The names of the keys in Redis and the encoding of entries; ``lua/frontier/lib.lua`` defines both.

All keys of one queue share one hash tag (``{newsbot:0}``). Redis Cluster therefore keeps them on one node,
and one script can change them together. A script never uses the keys of two queues (division.py).
"""

from __future__ import annotations

import json
import math
import struct
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Literal

from newsbot.errors import RecordRefused
from newsbot.frontier.base import ASIDE, Entry, EntryCopy, HostCopy, entry_json
from newsbot.items import Kind

NAMES = (
    "meta",
    "entries",
    "queue",
    "dated",
    "waiting",
    "held",
    "due",
    "aside",
    "leases",
    "holders",
    "owned",
    "out",
    "hosts",
    "turns",
    "full",
)
"""Key names in the order of ``KEYS`` of every script."""

FIRST_LEVEL = 8
"""The initial number of buckets of known URLs is ``2 ** FIRST_LEVEL``. lib.lua has the same constant."""
LOAD = 200
"""Average number of known URLs in a bucket. A bucket that is not split yet may have twice this number."""
LISTPACK = 512
"""Maximum number of fields of a hash that Redis stores as a listpack.

A listpack takes a fraction of the memory of a larger hash. The number is the default of the setting
hash-max-listpack-entries.
"""


class Keys:
    """The keys of one queue of the frontier ``namespace``."""

    def __init__(self, namespace: str, queue: int) -> None:
        self.tag = f"{{{namespace}:{queue}}}"
        self.fixed = [f"{self.tag}:{name}" for name in NAMES]

    @property
    def meta(self) -> str:
        """The key that holds data about the frontier as a whole, e.g. its identity."""
        return self.fixed[0]

    @property
    def lock(self) -> str:
        """A key that exists while a process moves hosts or known URLs to other queues."""
        return f"{self.tag}:mover"

    @property
    def probe(self) -> str:
        """A key that exists only while probe.lua runs."""
        return f"{self.tag}:probe"

    def named(self, name: str) -> str:
        """Return one of the keys of :data:`NAMES`."""
        return self.fixed[NAMES.index(name)]

    def bucket(self, level: int, index: int) -> str:
        """Return the key of one bucket of known URLs."""
        return f"{self.tag}:known:{level}:{index:x}"

    def buckets(self, level: int, fingerprint: bytes) -> tuple[str, str]:
        """Return the keys of a fingerprint's bucket at ``level`` and at the next level."""
        top = int.from_bytes(fingerprint[:4])
        # The first `level` bits are the number of the bucket. One more bit gives the bucket at the next
        # level.
        return self.bucket(level, top >> (32 - level)), self.bucket(level + 1, top >> (31 - level))

    def halves(self, level: int, index: int) -> tuple[str, str, str]:
        """Return the keys of a bucket and of the two next-level buckets that it splits into."""
        return (
            self.bucket(level, index),
            self.bucket(level + 1, 2 * index),
            self.bucket(level + 1, 2 * index + 1),
        )


def missing_splits(known: int, level: int, split: int) -> int:
    """Return how many more buckets must be split to store ``known`` URLs.

    The buckets work as in linear hashing (Litwin 1980). Their present number is ``2 ** level + split``.
    """
    wanted = math.ceil(known / LOAD)
    return max(0, wanted - ((1 << level) + split))


# --- records: numbers that the Lua scripts read, and JSON that they do not read

STATES = {
    "r": "pending",
    "w": "pending",
    "h": "pending",
    "l": "leased",
    "d": "done",
    "a": "aside",
}
"""Maps the state letter in a record (see lib.lua) to the state name of :mod:`newsbot.frontier.base`."""

_HEAD = struct.Struct(">cHBdddddH")  # the same as LAYOUT in lib.lua, up to the length of the host


@dataclass(frozen=True, slots=True)
class StoredEntry:
    """An entry with its counters and the time of its last fetch."""

    entry: Entry
    attempts: int
    lost: int
    fetched: float | None


def arguments(entry: Entry) -> list[bytes | str]:
    """Return an entry as the five arguments that scripts take.

    Raises :class:`RecordRefused` if the due time or the priority is NaN.
    """
    # the queue is sorted by these numbers, and NaN cannot be sorted
    if math.isnan(entry.due) or math.isnan(entry.priority):
        raise RecordRefused(f"{entry.url}: due {entry.due} and priority {entry.priority} must be numbers")
    body = entry_json({"url": entry.url, "kind": entry.kind.value, "depth": entry.depth, "data": entry.data})
    return [entry.fingerprint, entry.host, number(entry.priority), number(entry.due), body]


def number(value: float) -> str:
    """Return a number as text that Lua can read, without loss of precision."""
    return repr(float(value))


def optional(text: bytes) -> float | None:
    """Return the number that a script wrote as text; None for an empty text."""
    return float(text) if text else None


def host_of(raw: bytes) -> bytes:
    """Return the host of a record."""
    return raw[_HEAD.size : _HEAD.size + _HEAD.unpack_from(raw)[-1]]


def record_of(fingerprint: bytes, raw: bytes) -> StoredEntry:
    """Return the decoded record. The function ``pack`` of lib.lua has written ``raw``."""
    # state, at and the number in the queue are not part of a StoredEntry
    _, attempts, lost, _, priority, due, fetched, _, size = _HEAD.unpack_from(raw)
    host, rest = raw[_HEAD.size : _HEAD.size + size], raw[_HEAD.size + size :]
    # The rest has the length of the note in two bytes, the note (why the entry was set aside), and JSON.
    start = 2 + int.from_bytes(rest[:2])
    note, body = rest[2:start], json.loads(rest[start:])
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
    return StoredEntry(entry, attempts, lost, fetched if fetched >= 0 else None)


_LETTERS = {"pending": "w", "held": "h", "done": "d", "aside": "a"}
_STATES: dict[bytes, Literal["held", "done", "aside"]] = {b"h": "held", b"d": "done", b"a": "aside"}
_HOST = struct.Struct(">dIddII")  # the format that put_hosts in lib.lua writes
_AT = struct.Struct(">cHBd")  # the beginning of LAYOUT in lib.lua


def entry_copy(fingerprint: bytes, raw: bytes) -> EntryCopy:
    """Return a record of lib.lua as an :class:`EntryCopy`."""
    record = record_of(fingerprint, raw)
    letter, _, _, at = _AT.unpack_from(raw)
    state = _STATES.get(letter)
    return EntryCopy(
        entry=record.entry,
        state=state or "pending",
        # lib.lua writes inf for "never due again"
        at=at if state and at < float("inf") else None,
        last_fetched=record.fetched,
        attempts=record.attempts,
        lost=record.lost,
    )


def host_copy(name: bytes, raw: bytes) -> HostCopy:
    """Return the politeness settings of a host. ``raw`` was written by ``put_hosts`` of lib.lua."""
    delay, concurrency, last_turn, next_turn, ready, _ = _HOST.unpack(raw)
    return HostCopy(
        host=name.decode(),
        delay=delay,
        concurrency=concurrency,
        next_turn=next_turn,
        ready=ready,
        visited=last_turn >= 0,
    )


def values(copy: EntryCopy, within: float) -> list[bytes | str]:
    """Return a copied entry as the twelve arguments of the script ``take``.

    If it is done and due later than ``within`` seconds from now, the script stores only its URL as known.
    """
    note = str(copy.entry.data.get(ASIDE, ""))
    data = copy.entry.data.copy()
    # The reason has its own field in a record, so the JSON must not have it a second time.
    data.pop(ASIDE, None)
    return [
        *arguments(replace(copy.entry, data=data)),
        *(_LETTERS[copy.state], _optional(copy.at), _optional(copy.last_fetched)),
        *(str(copy.attempts), str(copy.lost), note, number(within)),
    ]


def _optional(value: float | None) -> str:
    return "" if value is None else number(value)


_DEFAULT_HOST = _HOST.pack(1.0, 1, -1.0, 0.0, 0, 0)


@dataclass(slots=True)
class Ahead:
    """What is pending at accepted hosts, from the rows of ``ahead.lua``."""

    hosts: dict[str, bytes] = field(default_factory=dict)
    """The records of the hosts that have ready entries."""
    held: list[tuple[str, bytes, float]] = field(default_factory=list)
    """Host, record of the host, and end of the delay of each held entry."""
    later: Counter[str] = field(default_factory=Counter)
    """Number of ready entries that are due after the horizon, by host."""
    expires: dict[str, float] = field(default_factory=dict)
    """The first deadline of the leases of each host."""
    leased: int = 0

    def take(self, part: int, host: str, record: bytes, moment: bytes) -> None:
        """Add a row."""
        match part:
            case 1:
                self.later[host] += 1
            case 2 | 3:
                self.hosts[host] = record
            case 4:
                self.held.append((host, record, float(moment)))
            case 5:
                self.expires[host] = min(self.expires.get(host, math.inf), float(moment))
                self.leased += bool(record)

    def outlook(self) -> tuple[int, int, dict[str, float]]:
        """Return the numbers of leases and pending entries, and the next moment of each host."""
        moments: dict[str, float] = {}
        pending = len(self.held)
        for host, record in self.hosts.items():
            if record and (ready := _HOST.unpack(record)[4] - self.later[host]) > 0:
                pending += ready
                moments[host] = self._opens(host, record)
        for host, record, moment in self.held:
            at = max(moment, self._opens(host, record or _DEFAULT_HOST))
            moments[host] = min(moments.get(host, at), at)
        return self.leased, pending, moments

    def _opens(self, host: str, record: bytes) -> float:
        """Return the time from which an entry of the host can be leased, like ``opens`` of lib.lua."""
        _, concurrency, _, next_turn, _, leased = _HOST.unpack(record)
        free = self.expires.get(host, next_turn) if leased >= concurrency else next_turn
        return float(max(next_turn, free))
