"""Runs the Lua scripts of the frontier. The head of each script documents its arguments and its answer."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from typing import Any

import redis

from newsbot.clock import Clock
from newsbot.connections.redis import Argument, lua_script, readable_errors
from newsbot.errors import DataUnavailable
from newsbot.frontier.redis.codec import number
from newsbot.frontier.redis.keys import FIRST_LEVEL, Keys, missing_splits

_SCANNED = 500


class Scripts:
    """Runs the scripts on one client.

    ``clock`` is for tests; None means the server's own clock. Every method raises subclasses of
    :class:`newsbot.errors.DataError`.
    """

    def __init__(self, client: redis.Redis, keys: Keys, place: str, clock: Clock | None) -> None:
        self._client = client
        self._keys = keys
        self._place = place
        self._clock = clock
        self._level, self._split = FIRST_LEVEL, 0
        self.identity = ""
        """Identity of the data that the server had when this frontier was opened; see resume.lua."""
        self.process = ""
        """The server process that had the data then."""

    def run(self, name: str, *values: Argument | None, keys: Sequence[str] = ()) -> Any:
        """Run a script and return its raw answer. ``keys`` are keys besides those of every script.

        A script gets True as "1", and False and None as the empty text.
        """
        now = "" if self._clock is None else number(self._clock())
        given = [
            "1" if value is True else "" if value is None or value is False else value for value in values
        ]
        with readable_errors(self._place):
            try:
                every = [*self._keys.fixed, *keys]
                # a server that forgot its scripts was restarted and may have lost its data: check this first
                forgotten = None if name == "resume" else self._check_identity
                script = lua_script("frontier/lua", name)
                return script.run(self._client, every, [now, *given], forgotten=forgotten)
            except redis.exceptions.ResponseError as error:
                word, _, level = str(error).partition(" ")
                if word == "LEVEL":
                    raise _LevelChanged(int(level)) from error
                raise

    def run_on(self, name: str, fingerprints: Sequence[bytes], *values: Argument | None) -> Any:
        """Run a script that reads the known URLs of ``fingerprints``, and return its raw answer.

        The script is run again if another worker has split the buckets in the meantime.
        """
        while True:
            level = self._level
            buckets = [key for one in fingerprints for key in self._keys.buckets(level, one)]
            try:
                return self.run(name, level, *values, keys=buckets)
            except _LevelChanged as error:
                # the true value of ``split`` may be higher than 0; grow() reads it before it splits
                self._level, self._split = error.level, 0

    def resume(self, owner: str, ttl: float, leases: Sequence[tuple[bytes, bytes]]) -> tuple[int, bool, bool]:
        """Resume ``leases``, pairs (fingerprint, token). Return the fields of ``Resumed``."""
        values = [value for lease in leases for value in lease]
        # The random identity is stored only if the server has none: if it has lost its data.
        kept, *found = self.run("resume", ttl, owner, secrets.token_hex(8), self.process, *values)
        before = self.identity, self.process
        self.identity, self.process = (text.decode() for text in found)
        return int(kept), self.identity != before[0], self.process != before[1]

    def scan(self, name: str) -> Iterator[tuple[bytes, bytes]]:
        """Yield the pairs (field, value) of the Redis hash with this name, in no particular order.

        A field may occur twice if the hash changes in the meantime.
        """
        cursor = 0
        while True:
            with readable_errors(self._place):
                answer: Any = self._client.hscan(self._keys.named(name), cursor, count=_SCANNED)
            cursor, found = answer
            yield from found.items()
            if not cursor:
                return

    def grow(self, known: int) -> None:
        """Split buckets of known URLs until there are enough for ``known`` URLs."""
        if known <= 0:
            return
        while missing_splits(known, self._level, self._split):
            # other workers split too, so the true state is read before each split
            with readable_errors(self._place):
                level, split = self._client.hmget(self._keys.meta, ["level", "split"])
            self._level, self._split = int(level or FIRST_LEVEL), int(split or 0)
            if missing_splits(known, self._level, self._split):
                keys = self._keys.halves(self._level, self._split)
                # The script returns 0 if another worker has split this bucket first; then the state is read
                # again.
                self._split += self.run("split", self._level, self._split, keys=keys)

    def _check_identity(self) -> None:
        """Raise :class:`DataUnavailable` if the data are gone, after a restart or FLUSHALL."""
        with readable_errors(self._place):
            found: Any = self._client.hget(self._keys.meta, "identity")
        self.compare_identity(found)

    def compare_identity(self, found: bytes | None) -> None:
        """Raise :class:`DataUnavailable` if ``found`` is not the identity of the data at the start."""
        if self.identity and found != self.identity.encode():
            raise DataUnavailable(f"{self._place}: the server has lost its data")


class _LevelChanged(Exception):
    """Raised if the buckets of known URLs have another level than the caller assumed."""

    def __init__(self, level: int) -> None:
        super().__init__(level)
        self.level = level
