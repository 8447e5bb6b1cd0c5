"""The queues of the frontier in Redis: keys, the scripts that change them, and the division of the hosts.

``lua/frontier/lib.lua`` defines the names of the keys and the encoding of entries. All keys of one queue
share one hash tag (``{newsbot:0}``). Redis Cluster therefore keeps them on one node, and one script can
change them together. A script never uses the keys of two queues.

The first comment of each script documents its arguments and its answer.

The number of queues can change while workers run. Each queue has keys of its own (``{newsbot:0}``,
``{newsbot:1}`` …), so that a Redis Cluster can store the queues on several nodes. All URLs of a host are in
one queue (:func:`home`).

Each queue stores the number of queues. Every script compares it with the number that its caller knows. If the
number changes from 4 to 6:

1. It becomes ``4>6:`` and a random text in all queues, in the first queue first. No script of a worker
   changes a queue from now on. The workers wait as in an outage.
2. The hosts that belong to another queue are moved there, with their entries and leases. An entry is stored
   in its new queue before it is removed from its old queue.
3. It becomes ``6`` in all queues, in the first queue last. The workers go on.
4. Known URLs (``lib.lua``) are stored without their host. Until all are moved, the first queue has the field
   ``known_from`` (``4``), and each URL is also looked up in the queue that its host had. A URL that is found
   there is moved. A worker looks up all pages of the storage. The field ``known_at`` has its last page.

One process works at a time. If it dies or stops for a minute, another begins with step 1. No step changes
anything if it is repeated, and the random text differs, so that no script of the first process changes
anything from then on.
"""

from __future__ import annotations

import json
import math
import secrets
import struct
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from hashlib import blake2b
from itertools import chain
from operator import itemgetter
from typing import Any, Literal

import redis

from newsbot.apps.redis.connection import Argument, lua_script, readable_errors
from newsbot.clock import Clock
from newsbot.errors import DataUnavailable, RecordRefused
from newsbot.frontier.base import ASIDE, Entry, EntryCopy, HostCopy, entry_json
from newsbot.items import Bounded, Kind, batched

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


MAX_ACCEPTED = 20_000
"""Maximum number of accepted hosts that are remembered, for each queue."""
_SCANNED = 500


class QueuesChanged(Exception):
    """Raised if the number of queues is not the number that the caller knows. Nothing was changed."""


class Scripts:
    """Runs the scripts on one queue.

    ``queues`` is the number of queues that the caller knows. ``clock`` is for tests; None
    means the server's own clock. Every method raises subclasses of :class:`newsbot.errors.DataError`, and
    :class:`QueuesChanged`.
    """

    def __init__(self, client: redis.Redis, keys: Keys, place: str, clock: Clock | None, queues: str) -> None:
        self._client = client
        self.keys = keys
        self._place = place
        self._clock = clock
        self.queues = queues
        self.accepted = Bounded[str, None](MAX_ACCEPTED)
        """Hosts that ``accept`` has accepted. Those that were tried longest ago come first."""
        self.offset = 0
        """Number of hosts, in the order of their turns, behind which the next lease looks."""
        self._level, self._split = FIRST_LEVEL, 0
        self.identity = ""
        """Identity of the data that the server had when this frontier was opened; see resume.lua."""
        self.process = ""
        """The server process that had the data then."""

    def run(self, name: str, *values: Argument | None, keys: Sequence[str] = ()) -> Any:
        """Run a script and return its raw answer. ``keys`` are passed in addition to the keys of all scripts.

        A script gets True as "1", and False and None as the empty text.
        """
        now = f"{'' if self._clock is None else number(self._clock())} {self.queues}"
        given = [
            "1" if value is True else "" if value is None or value is False else value for value in values
        ]
        with readable_errors(self._place):
            try:
                every = [*self.keys.fixed, *keys]
                # A server without its scripts was restarted and may have lost its data, so the data are
                # checked first.
                forgotten = None if name == "resume" else self._check_identity
                script = lua_script("frontier", name)
                return script.run(self._client, every, [now, *given], forgotten=forgotten)
            except redis.exceptions.ResponseError as error:
                word, _, level = str(error).partition(" ")
                if word == "QUEUES":
                    raise QueuesChanged from error
                if word == "LEVEL":
                    raise _LevelChanged(int(level)) from error
                raise

    def run_on(self, name: str, fingerprints: Sequence[bytes], *values: Argument | None) -> Any:
        """Run a script that reads the known URLs of ``fingerprints``, and return its raw answer.

        The script is run again if another worker has split the buckets in the meantime.
        """
        while True:
            level = self._level
            buckets = [key for one in fingerprints for key in self.keys.buckets(level, one)]
            try:
                return self.run(name, level, *values, keys=buckets)
            except _LevelChanged as error:
                # the true value of ``split`` may be higher than 0; grow() reads it before it splits
                self._level, self._split = error.level, 0

    def resume(self, owner: str, ttl: float, leases: Sequence[tuple[bytes, bytes]]) -> tuple[int, bool, bool]:
        """Resume the leases of the pairs (fingerprint, token). Return the fields of ``Resumed``."""
        values = [value for lease in leases for value in lease]
        # The server stores the random identity only if it has no identity, because the server is new or has
        # lost its data.
        kept, *found = self.run("resume", ttl, owner, secrets.token_hex(8), self.process, *values)
        before = self.identity, self.process
        self.identity, self.process = (text.decode() for text in found)
        return int(kept), self.identity != before[0], self.process != before[1]

    def fields(self, *names: str) -> list[bytes | None]:
        """Return fields of ``meta``; None for a missing field."""
        with readable_errors(self._place):
            found: Any = self._client.hmget(self.keys.meta, names)
        return list(found)

    def values(self, name: str, fields: Sequence[bytes]) -> list[bytes]:
        """Return fields of the Redis hash with this name; empty for a missing field."""
        with readable_errors(self._place):
            found: Any = self._client.hmget(self.keys.named(name), fields)
        return [value or b"" for value in found]

    def scan(self, name: str) -> Iterator[tuple[bytes, bytes]]:
        """Yield the pairs (field, value) of the Redis hash with this name, in no particular order.

        A field may occur twice if the hash changes in the meantime.
        """
        cursor = 0
        while True:
            with readable_errors(self._place):
                answer: Any = self._client.hscan(self.keys.named(name), cursor, count=_SCANNED)
            cursor, found = answer
            yield from found.items()
            if not cursor:
                return

    def forget_all(self) -> None:
        """Delete all known URLs, because this queue has no hosts any more. Raises the errors of redis-py."""
        stored = self.fields("level", "split")
        level, split = int(stored[0] or FIRST_LEVEL), int(stored[1] or 0)
        indexes = chain(
            ((level + 1, index) for index in range(2 * split)),
            ((level, index) for index in range(split, 1 << level)),
        )
        for some in batched(indexes, _SCANNED):
            self._client.unlink(*(self.keys.bucket(*one) for one in some))
        self._client.hdel(self.keys.meta, "level", "split", "known")

    def grow(self, known: int) -> None:
        """Split buckets of known URLs until there are enough for ``known`` URLs."""
        if known <= 0:
            return
        while missing_splits(known, self._level, self._split):
            # other workers split too, so the true state is read before each split
            with readable_errors(self._place):
                level, split = self._client.hmget(self.keys.meta, ["level", "split"])
            self._level, self._split = int(level or FIRST_LEVEL), int(split or 0)
            if missing_splits(known, self._level, self._split):
                keys = self.keys.halves(self._level, self._split)
                # The script returns 0 if another worker has split this bucket first; then the state is read
                # again.
                try:
                    self._split += self.run("split", self._level, self._split, keys=keys)
                except QueuesChanged:
                    return  # the caller's change is done; a later call splits

    def _check_identity(self) -> None:
        """Raise :class:`DataUnavailable` if the data are gone, after a restart or FLUSHALL."""
        with readable_errors(self._place):
            found: Any = self._client.hget(self.keys.meta, "identity")
        self.compare_identity(found)

    def compare_identity(self, found: bytes | None) -> None:
        """Raise :class:`DataUnavailable` if ``found`` is not the identity of the data at the start."""
        if self.identity and found != self.identity.encode():
            raise DataUnavailable(f"{self._place}: the server has lost its data")


class _LevelChanged(Exception):
    """Raised if the level of the buckets of known URLs is not the level that the caller assumed."""

    def __init__(self, level: int) -> None:
        super().__init__(level)
        self.level = level


VERSION = 2
"""Version of the key layout if there are several queues. Older versions of newsbot know only one queue."""
_AT_ONCE = 200  # hosts or entries that are moved with one call
_LEASED = 60.0  # seconds for which the leases are valid after a change


@lru_cache(maxsize=65536)
def home(host: str, queues: int) -> int:
    """Return the queue of a host, by jump consistent hashing (Lamping and Veach 2014).

    If the number of queues grows, hosts move only to the new queues. A host has the same queue with and
    without ``www.``, because :func:`newsbot.urls.fingerprint` makes both equal.
    """
    if host.startswith("www.") and "." in host[4:]:
        host = host[4:]
    key = int.from_bytes(blake2b(host.encode("utf8", "surrogatepass"), digest_size=8).digest())
    found, following = 0, 0
    while following < queues:
        found = following
        key = (key * 2862933555777941757 + 1) % 2**64
        following = int((found + 1) * (2**31 / ((key >> 33) + 1)))
    return found


@dataclass(frozen=True, slots=True)
class Division:
    """The number of queues, as the first queue stores it."""

    queues: int
    target: int = 0
    """The number to which it is being changed; 0 if it is not being changed."""
    known_from: int = 0
    """The number before the last change, until all known URLs are moved; otherwise 0."""

    @property
    def opened(self) -> int:
        """Number of queues in which URLs are looked up."""
        return max(self.queues, self.known_from)


def read_division(first: Scripts) -> Division:
    """Return the number of queues that the first queue stores."""
    stored, known_from = first.fields("queues", "known_from")
    queues, _, target = (stored or b"1").partition(b":")[0].partition(b">")
    return Division(int(queues), int(target or 0), int(known_from or 0))


Row = tuple[bytes, bytes]
Open = Callable[[int, str], Scripts]
"""Returns the scripts of a queue (its number, and the number of queues that it stores)."""


def change(queue: Open, before: int, after: int) -> Iterator[int]:
    """Change the number of queues. Yield after each step the number of entries that it moved.

    Raises :class:`QueuesChanged` if another process has changed it.
    """
    change_of = f"{before}>{after}:"
    mark = change_of + secrets.token_hex(4)
    every = range(max(before, after))
    for index in every:
        present = (queue(index, mark).fields("queues")[0] or b"1").decode()
        if not index and present != str(before) and not present.startswith(change_of):
            raise QueuesChanged
        queue(index, present).run("mark", mark)
        yield 0
    sources, targets = ([queue(index, mark) for index in range(number)] for number in (before, after))
    for index, source in enumerate(sources):
        yield from _move(source, index, targets)
    fields = _refill_state(sources)
    first: dict[str, str | bytes] = {"version": str(VERSION), "known_at": ""}
    first["known_from"] = str(before) if any(int(one.fields("known")[0] or 0) for one in sources) else ""
    for one in targets:
        until = float(one.run("mark", mark)) + _LEASED
        while one.run("extend", until, _AT_ONCE):
            yield 0
    for index in reversed(every):
        values = fields if index else {**fields, **first}
        queue(index, mark).run("mark", str(after), *chain.from_iterable(values.items()))


def _move(source: Scripts, index: int, targets: list[Scripts]) -> Iterator[int]:
    """Move the hosts of a queue that belong to other queues."""
    others = partial(_others, index=index, queues=len(targets))
    for groups in others(source.scan("hosts"), itemgetter(0)):
        for there, hosts in groups.items():
            targets[there].run("move_in", len(hosts), *chain.from_iterable(hosts.items()))
        yield 0
    for groups in others(source.scan("entries"), lambda row: host_of(row[1])):
        for there, records in groups.items():
            rows = zip(records, records.values(), source.values("holders", list(records)), strict=True)
            targets[there].run("move_in", 0, *chain.from_iterable(rows))
            source.run("move_out", 0, *records)
        yield sum(map(len, groups.values()))
    for groups in others(source.scan("hosts"), itemgetter(0)):
        for hosts in groups.values():
            source.run("move_out", len(hosts), *hosts)
        yield 0


def _others(
    rows: Iterable[Row], host: Callable[[Row], bytes], *, index: int, queues: int
) -> Iterator[dict[int, dict[bytes, bytes]]]:
    """Yield the rows that belong to other queues than ``index``, some at a time, by queue."""
    for some in batched(rows, _AT_ONCE):
        groups = defaultdict[int, dict[bytes, bytes]](dict)
        for row in some:
            if (there := home(host(row).decode(), queues)) != index:
                groups[there].update((row,))
        yield groups


def _refill_state(sources: list[Scripts]) -> dict[str, str | bytes]:
    """Return what all queues together have been filled with; see refill.lua."""
    rows = [one.fields("refilled", "compare", "filling") for one in sources]
    compare = [float(since) for _, since, _ in rows if since]
    unfilled = [at or b"" for refilled, _, at in rows if not refilled]
    return {
        "refilled": "" if unfilled else repr(min(float(until) for until, _, _ in rows if until)),
        "compare": repr(min(compare)) if compare else "",
        "filling": min(unfilled) if unfilled else b"",
        "refiller": "",
        "refiller_until": "",
    }
