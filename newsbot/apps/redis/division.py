"""Divides the hosts among several queues, and changes the number of queues while workers run.

Each queue has keys of its own (``{newsbot:0}``, ``{newsbot:1}`` …), so that a Redis Cluster can store the
queues on several nodes. All URLs of a host are in one queue (:func:`home`).

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

import secrets
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from hashlib import blake2b
from itertools import chain
from operator import itemgetter

from newsbot.apps.redis.layout import host_of
from newsbot.apps.redis.scripts import QueuesChanged, Scripts
from newsbot.items import batched

MAX_QUEUES = 256
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
