"""Runs the Lua scripts of one queue.

The first comment of each script documents its arguments and its answer.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

import redis

from newsbot.apps.redis.connection import Argument, lua_script, readable_errors
from newsbot.apps.redis.layout import FIRST_LEVEL, Keys, missing_splits, number
from newsbot.clock import Clock
from newsbot.errors import DataUnavailable
from newsbot.items import Bounded, batched

MAX_ACCEPTED = 20_000
"""Maximum number of accepted hosts that are remembered, for each queue."""
_SCANNED = 500


class QueuesChanged(Exception):
    """Raised if the number of queues is not the number that the caller knows. Nothing was changed."""


class Scripts:
    """Runs the scripts on one queue.

    ``queues`` is the number of queues that the caller knows (see division.py). ``clock`` is for tests; None
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
