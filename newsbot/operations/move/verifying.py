"""Compares source and target of a move, by counts and by checksums that do not depend on the order."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, is_dataclass
from datetime import datetime
from hashlib import blake2b
from math import ceil
from typing import Any

from newsbot.clock import stamp
from newsbot.frontier.base import FETCH_STEP, Known
from newsbot.operations.move.copying import batches
from newsbot.operations.move.side import KINDS, Choice, Side, WholeFrontier
from newsbot.storage.base import Storage

_MODULUS = 1 << 128


@dataclass(slots=True)
class Sum:
    """The number of items, and the sum of their hashes modulo 2**128.

    Backends return items in different orders, but a sum is the same in any order. Unlike XOR, a sum also
    shows items that occur twice.
    """

    count: int = 0
    value: int = 0

    def add(self, thing: object) -> None:
        """Add an item: a dataclass or a JSON-able value."""
        digest = blake2b(_canonical(thing).encode("utf8", "replace"), digest_size=16).digest()
        self.count += 1
        self.value = (self.value + int.from_bytes(digest)) % _MODULUS

    @property
    def checksum(self) -> str:
        """The sum of the hashes in hexadecimal."""
        return f"{self.value:032x}"


@dataclass(frozen=True, slots=True)
class Compared:
    """The count and the checksum of one kind of data on both sides."""

    kind: str
    source: Sum
    target: Sum

    @property
    def same(self) -> bool:
        """True if no item is missing or different."""
        return self.source == self.target


def compare_all(
    source: Side, target: Side, choice: Choice, report: Callable[[str, int], None]
) -> list[Compared]:
    """Read the chosen data on both sides again and compare them. Return one result for each kind.

    Raises subclasses of :class:`newsbot.errors.DataError`.
    """
    assert source.storage is not None
    found = []
    if target.storage is not None:
        for kind in KINDS:
            ours = _summed(choice.copies(source.storage, kind), f"check {kind} here", report)
            theirs = _summed(getattr(target.storage.dump, kind)(), f"check {kind} there", report)
            found.append(Compared(kind, ours, theirs))
        found += _compare_books(source.storage, target.storage, choice)
    if source.frontier is not None and target.frontier is not None:
        found.append(_compare_frontiers(source.storage, source.frontier, target.frontier, choice, report))
    return found


def _summed(copies: Iterable[object], kind: str, report: Callable[[str, int], None]) -> Sum:
    total = Sum()
    for copy in copies:
        total.add(copy)
        if total.count % 500 == 0:
            report(kind, total.count)
    report(kind, total.count)
    return total


def _compare_books(source: Storage, target: Storage, choice: Choice) -> list[Compared]:
    names = ("sources", "sites", "search results", "checks", "notes and polls")
    sums = {name: (Sum(), Sum()) for name in names}
    for side, storage in enumerate((source, target)):
        for result in choice.results(storage):
            sums["search results"][side].add(result)
        for check in choice.checks(storage):
            sums["checks"][side].add(check)
        for book in choice.books(storage):
            sums["notes and polls"][side].add(book)
        for name, records in (("sources", storage.sources.all()), ("sites", storage.sites.all().values())):
            for record in records:
                if choice.has_site(record.source):
                    sums[name][side].add(record)
    return [Compared(name, *both) for name, both in sums.items()]


def _compare_frontiers(
    storage: Storage,
    source: WholeFrontier,
    target: WholeFrontier,
    choice: Choice,
    report: Callable[[str, int], None],
) -> Compared:
    """Compare the state and the last fetch of each page in both frontiers."""
    ours, theirs = Sum(), Sum()
    for copies in batches(choice.copies(storage, "pages")):
        keys = [copy.page.fingerprint for copy in copies]
        at_source, at_target = source.known(keys), target.known(keys)
        for copy in copies:
            key = copy.page.fingerprint
            if key not in at_source or (choice.of_articles and key in at_target):
                # If only articles were chosen, their pages are never queued on the target. So the states of
                # these pages may differ. A page that the target does not know still counts as a difference.
                at_source[key] = at_target.get(key, Known(state="", last_fetched=None, next_due=None))
            ours.add(_state(key, at_source[key]))
            if key in at_target:
                theirs.add(_state(key, at_target[key]))
        report("check queue", ours.count)
    return Compared("queue", ours, theirs)


def _state(key: bytes, known: Known) -> tuple[str, str, int | None]:
    # A lease becomes a pending entry when it is copied. Backends keep the last fetch in steps of FETCH_STEP.
    state = "pending" if known.state == "leased" else known.state
    return key.hex(), state, None if known.last_fetched is None else ceil(known.last_fetched / FETCH_STEP)


def _canonical(thing: object) -> str:
    return json.dumps(thing, default=_plain, sort_keys=True) if not is_dataclass(thing) else _of_fields(thing)


def _of_fields(thing: Any) -> str:
    return json.dumps(_normal(asdict(thing)), sort_keys=True)


def _normal(value: Any) -> Any:
    """Return a value in a form that is the same for all backends: numbers as float, times as text.

    A REAL column of SQLite, for example, returns an integer as a float.
    """
    if isinstance(value, dict):
        return {str(name): _normal(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_normal(item) for item in value]
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    return _plain(value) if isinstance(value, bytes | datetime) else value


def _plain(value: Any) -> Any:
    return stamp(value) if isinstance(value, datetime) else bytes(value).hex()
