"""The near-duplicate index in Redis, for any number of workers. See :mod:`newsbot.dedup.index`.

Lookup and insertion are one Lua script, which Redis runs atomically in one round trip. The script returns the
records of the candidates, and this module compares their signatures. All times come from ``at``, the fetch
time of the inserted text in whole seconds. The clocks of the server and the worker are not used. No key
expires by itself. After every 64 insertions, a worker deletes up to 256 texts that are too old.

A *posting* is a pair of a hash and a text that has this hash. The postings are stored in *buckets*: one
bucket is one Redis key with the postings of many hashes (see lib.lua).

The index has *parts*, which a Redis Cluster can store on several nodes. A text is inserted into the newest
part. When this part has ``PART_SIZE`` texts, it is closed, and the next part is opened. Each insertion first
runs the script on the newest part, then on the older parts without the record. A part is opened only after
the part before it was closed, so a text finds all texts that were inserted before it. A part whose texts are
all too old is deleted.

For each passage, only the newest ``MAX_CANDIDATES`` texts that share it are found.
"""

from __future__ import annotations

import logging
import random
import re
from typing import Any

import numpy as np
import redis

from newsbot.apps.redis.connection import (
    Argument,
    close,
    connect,
    lua_script,
    readable_errors,
    refuse_eviction,
    server_name,
    thrown_away,
)
from newsbot.cli.program import PROGRAM
from newsbot.config.settings import SettingsLike
from newsbot.dedup.index import (
    BUCKETS,
    KEEP,
    MAX_CANDIDATES,
    PASSAGES,
    PIECES_ID,
    SHARED,
    Near,
    Signature,
    near_of,
    pack,
    posting_hashes,
    seconds,
    shorten,
    unpack,
)
from newsbot.errors import DataError, DataUnavailable, SchemaError

logger = logging.getLogger(__name__)

LOAD = 50.0
"""Average number of postings in a bucket. Smaller buckets need more memory, because each key needs about 96
bytes in addition to its value. With larger buckets, each insertion reads and writes more data."""


class Keys:
    """The keys of one part that Python code uses. The scripts build the names of the other keys."""

    def __init__(self, namespace: str, part: int = 0) -> None:
        self.tag = f"{{{namespace}:near:{part}}}:" if part else f"{{{namespace}:near}}:"
        self.meta = f"{self.tag}meta".encode()


def places_of(doc_id: str, signature: Signature) -> bytes:
    """Return the upper 32 bits of each hash under which a text is indexed, four bytes each.

    They determine the bucket of a posting; half of the bits are also stored in the posting (see lib.lua).
    There is one hash for each passage. The hash of the id comes last. A text that is not comparable has only
    the hash of its id.
    """
    return (posting_hashes(doc_id, signature) >> np.uint64(32)).astype(">u4").tobytes()


SCHEME = f"{BUCKETS} redis=3 pieces={PIECES_ID}"
"""Parameters of signatures and passages, and the layout of the keys. They must be the same in all workers
that use one index."""
PART_SIZE = 2**24 - 2**16
"""Maximum number of texts in a part. Each text has a number, which is stored in three bytes."""

_TEND_EVERY = 64  # insertions of this worker between two calls of tend.lua
_FORGET_AT_ONCE = 256  # maximum number of texts that one call deletes; it is higher than _TEND_EVERY
_SPLITS_AT_ONCE = 24  # maximum number of buckets that one call splits; _TEND_EVERY insertions need 22
_CLEAR_AT_ONCE = 64  # number of buckets in which one call removes the postings of deleted texts
_DELETE_AT_ONCE = 1000  # number of buckets of an old part that are deleted together


class _PartClosed(Exception):
    """Raised if a part takes no more texts."""


class RedisIndex:
    """A :class:`newsbot.dedup.index.NearIndex` in Redis.

    ``where`` is a URL (``redis://…``) or settings with the names of scrapy-redis. ``namespace``
    distinguishes indexes on one server. ``keep`` is the number of seconds after which a text is forgotten.
    The constructor and all methods raise subclasses of :class:`newsbot.errors.DataError`.
    """

    place = "Redis"
    is_local = False

    def __init__(self, where: str | SettingsLike, *, namespace: str = "newsbot", keep: float = KEEP) -> None:
        settings: SettingsLike = {"REDIS_URL": where} if isinstance(where, str) else where
        self.keep = keep
        self._place = server_name(settings)
        self._client = connect(settings)
        self._namespace = namespace
        self._keys = Keys(namespace)
        self._first = self._last = 0
        """The oldest and the newest part."""
        self._insertions = 0
        self._chance = random.Random()  # noqa: S311  the choice of the next bucket need not be secret
        try:
            with readable_errors(self._place):
                refuse_eviction(self._client, self._place, "the near-duplicate index")
            self._check_scheme()
            with readable_errors(self._place):
                self._read_parts()
            self._check_evictions()
        except DataError:
            self.close()
            raise

    def check_and_insert(self, doc_id: str, site: str, signature: Signature, at: float) -> list[Near]:
        """See :meth:`newsbot.dedup.index.NearIndex.check_and_insert`."""
        moment = seconds(at)
        with readable_errors(self._place):
            # This is also done before the first insertion (0), so that a crawl of a few texts deletes old
            # texts too.
            if self._insertions % _TEND_EVERY == 0:
                self._read_parts()
                for part in range(self._first, self._last + 1):
                    self._tend(part, moment)
            self._insertions += 1
            found = self._insert(doc_id, site, signature, moment)
        return near_of(signature, [unpack(raw) for raw in found]) if found else []

    def count(self) -> int:
        """See :meth:`newsbot.dedup.index.NearIndex.count`."""
        with readable_errors(self._place):
            self._read_parts()
            parts = range(self._first, self._last + 1)
            return sum(int(self._client.hget(self._of(part).meta, "count") or 0) for part in parts)

    def close(self) -> None:
        """See :meth:`newsbot.dedup.index.NearIndex.close`."""
        close(self._client)

    # --- inside
    def _of(self, part: int) -> Keys:
        return Keys(self._namespace, part) if part else self._keys

    def _read_parts(self) -> None:
        stored: Any = self._client.hmget(self._keys.meta, ["first", "last"])
        self._first, self._last = (int(value or 0) for value in stored)

    def _insert(self, doc_id: str, site: str, signature: Signature, moment: int) -> list[bytes]:
        short = shorten(doc_id)
        # An empty record tells the script to delete an earlier text with this id, and to store nothing.
        record = pack(doc_id, short, site, signature, moment) if signature.comparable else b""
        places = places_of(doc_id, signature)

        def insert(part: int, record: bytes, newer: bytes) -> list[bytes]:
            given = MAX_CANDIDATES, SHARED, short, record, moment - int(self.keep), places, PART_SIZE, newer
            return self._run_on(part, *given)

        try:
            while True:
                try:
                    newer, *found = insert(self._last, record, b"")
                    break
                except _PartClosed:
                    self._open_next()
            for part in range(self._last - 1, self._first - 1, -1):
                newer, *older = insert(part, b"", newer)
                found = older + found
        except redis.exceptions.OutOfMemoryError:
            self._insertions = 0  # makes the next insertion delete old texts first
            raise
        return found

    def _run_on(self, part: int, *arguments: Argument) -> list[bytes]:
        """Run insert.lua on a part."""
        for _ in range(2):
            try:
                return list(self._run("insert", part, SCHEME, *arguments))
            except redis.exceptions.ResponseError as error:
                text = str(error)
                if text.startswith("CLOSED"):
                    raise _PartClosed from error
                if not text.startswith("SCHEME"):
                    raise
            # The script found another scheme or none. Another worker has deleted the part because all of its
            # texts were too old, or the index was replaced or lost during this crawl.
            last = self._last
            self._read_parts()
            if part < self._first:
                return [b""]
            self._last = max(last, self._last)
            self._begin_again(part)
        raise DataUnavailable(f"{self._place}: the near-duplicate index is being replaced; try again")

    def _open_next(self) -> None:
        """Open the next part, unless another worker has done this."""
        closed = self._last
        self._read_parts()
        if self._last <= closed:
            self._client.hsetnx(self._of(closed + 1).meta, "scheme", SCHEME)
            self._client.hset(self._keys.meta, "last", closed + 1)
            self._last = closed + 1

    def _tend(self, part: int, moment: int) -> None:
        """Delete texts that are too old, clean some buckets, and split buckets if the part has grown."""
        # Each text has a posting for each passage, and one for its id.
        texts_per_bucket = LOAD / (PASSAGES + 1)
        growth = texts_per_bucket, _SPLITS_AT_ONCE
        limits = moment - int(self.keep), _FORGET_AT_ONCE
        buckets: Any = self._run("tend", part, *limits, *growth, self._chance.random(), _CLEAR_AT_ONCE)
        if buckets and part == self._first < self._last:
            self._delete(part, int(buckets))

    def _delete(self, part: int, buckets: int) -> None:
        """Delete the rest of a part that has no texts, some buckets at a time."""
        keys = self._of(part)
        begin = int(self._client.hget(keys.meta, "deleted") or 0)
        end = min(begin + _DELETE_AT_ONCE, buckets)
        self._client.unlink(*(f"{keys.tag}postings:{bucket:x}" for bucket in range(begin, end)))
        if end < buckets:
            self._client.hset(keys.meta, "deleted", end)
            return
        self._client.hset(self._keys.meta, "first", part + 1)
        if part:
            self._client.unlink(keys.meta)
        self._first = part + 1

    def _run(self, name: str, part: int, *arguments: Argument) -> Any:
        return lua_script("index", name).run(self._client, [self._of(part).meta], arguments)

    def _check_scheme(self) -> None:
        with readable_errors(self._place):
            self._client.hsetnx(self._keys.meta, "scheme", SCHEME)
            scheme: Any = self._client.hget(self._keys.meta, "scheme")
        if scheme.decode() != SCHEME:
            raise SchemaError(
                f"{self._place}: the near-duplicate index has format {scheme.decode()}, but newsbot now needs"
                f" {SCHEME}; run the version of newsbot that made the index, or rebuild the index"
                f" from the stored texts: {PROGRAM} articles reindex --anew"
            )

    def _begin_again(self, part: int) -> None:
        """Start again if the server has lost its data, or raise :class:`SchemaError` for another scheme.

        The loss is logged only by the first worker that notices it.
        """
        if self._client.hsetnx(self._of(part).meta, "scheme", SCHEME):
            if not part and self._last:  # the other parts still have their texts
                state = "first", self._first, "last", self._last, "closed", 1
                self._client.hset(self._keys.meta, items=list(state))
            logger.error(
                "near-duplicate index came back empty place=%s; its server has lost its data, so"
                " near-duplicates of earlier texts will not be recognised. To restore the index, run:"
                " %s articles reindex",
                self._place,
                PROGRAM,
            )
        self._check_scheme()

    def _check_evictions(self) -> None:
        """Log a warning if the server has evicted keys. The rest of the index remains correct."""
        with readable_errors(self._place):
            gone = thrown_away(self._client)
        if gone:
            logger.warning(
                "near-duplicate index has lost keys place=%s evicted=%d; the server's memory was full, so"
                " near-duplicates may not be recognised. Set maxmemory-policy noeviction, and then run:"
                " %s articles reindex --anew",
                self._place,
                gone,
                PROGRAM,
            )

    @staticmethod
    def empty(where: str | SettingsLike, *, namespace: str = "newsbot") -> None:
        """Delete an index, whatever its scheme is. Raises subclasses of :class:`DataError`."""
        settings: SettingsLike = {"REDIS_URL": where} if isinstance(where, str) else where
        client = connect(settings)
        try:
            with readable_errors(server_name(settings)):
                client.unlink(
                    Keys(namespace).meta
                )  # deleted first, so that a partly deleted index looks empty
                for end in ("}", ":"):
                    for key in client.scan_iter(match=f"{_literal(f'{{{namespace}:near{end}')}*", count=1000):
                        client.unlink(key)
        finally:
            close(client)


def _literal(text: str) -> str:
    """Return a glob pattern that matches only the text itself."""
    return re.sub(r"([\\*?\[\]^])", r"\\\1", text)
