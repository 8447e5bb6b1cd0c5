"""The near-duplicate index in Redis, for any number of workers. See :mod:`newsbot.dedup.index`.

Lookup and insertion are one Lua script, which Redis runs atomically in one round trip. The script returns the
records of the candidates, and this module compares their signatures. All times come from ``at``, the fetch
time of the inserted text in whole seconds. The clocks of the server and the worker are not used. No key
expires by itself. After every 64 insertions, a worker deletes up to 256 texts that are too old.

A *posting* is a pair of a hash and a text that has this hash. The postings are stored in *buckets*: one
bucket is one Redis key with the postings of many hashes (see lib.lua).

Two limits are specific to this backend. For each passage, only the newest ``MAX_CANDIDATES`` texts that share
it are found. At most ``MAX_TEXTS`` texts are kept; if there are more, the oldest are deleted early.
"""

from __future__ import annotations

import logging
import random
import re
from typing import Any

import numpy as np
import redis

from newsbot.cli.program import PROGRAM
from newsbot.clock import DAY
from newsbot.config.check import SettingsLike
from newsbot.connections.redis import (
    Argument,
    close,
    connect,
    lua_script,
    readable_errors,
    refuse_eviction,
    server_name,
    thrown_away,
)
from newsbot.dedup.index import (
    BUCKETS,
    KEEP,
    MAX_CANDIDATES,
    PIECES_ID,
    SHARED,
    Near,
    near_of,
    pack,
    posting_hashes,
    seconds,
    shorten,
    unpack,
)
from newsbot.dedup.minhash import PASSAGES, Signature
from newsbot.errors import DataError, SchemaError

LOAD = 50.0
"""Average number of postings in a bucket. Smaller buckets need more memory, because each key needs about 96
bytes in addition to its value. With larger buckets, each insertion reads and writes more data."""


class Keys:
    """The names of the Redis keys that Python code uses. The scripts build the names of the other keys."""

    def __init__(self, namespace: str) -> None:
        self.tag = f"{{{namespace}:near}}:"
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
MAX_TEXTS = 2**24 - 2**16
"""Maximum number of texts in the index. Each text has a number, which is stored in three bytes."""

_TEND_EVERY = 64  # insertions of this worker between two calls of tend.lua
_FORGET_AT_ONCE = 256  # maximum number of texts that one call deletes; it is higher than _TEND_EVERY
_SPLITS_AT_ONCE = 24  # maximum number of buckets that one call splits; _TEND_EVERY insertions need 22
_CLEAR_AT_ONCE = 64  # number of buckets in which one call removes the postings of deleted texts

logger = logging.getLogger(__name__)


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
        self._keys = Keys(namespace)
        self._insertions = 0
        self._is_full = False
        self._chance = random.Random()  # noqa: S311  the choice of the next bucket need not be secret
        try:
            with readable_errors(self._place):
                refuse_eviction(self._client, self._place, "the near-duplicate index")
            self._check_scheme()
            self._check_evictions()
        except DataError:
            self.close()
            raise

    def check_and_insert(self, doc_id: str, source: str, signature: Signature, at: float) -> list[Near]:
        """See :meth:`newsbot.dedup.index.NearIndex.check_and_insert`."""
        moment = seconds(at)
        with readable_errors(self._place):
            # This is also done before the first insertion (0), so that a crawl of a few texts deletes old
            # texts too.
            if self._insertions % _TEND_EVERY == 0:
                self._tend(moment)
            self._insertions += 1
            found = self._insert(doc_id, source, signature, moment)
        return near_of(signature, [unpack(raw) for raw in found]) if found else []

    def count(self) -> int:
        """See :meth:`newsbot.dedup.index.NearIndex.count`."""
        with readable_errors(self._place):
            return int(self._client.hget(self._keys.meta, "count") or 0)

    def close(self) -> None:
        """See :meth:`newsbot.dedup.index.NearIndex.close`."""
        close(self._client)

    # --- inside
    def _insert(self, doc_id: str, source: str, signature: Signature, moment: int) -> list[bytes]:
        short = shorten(doc_id)
        # An empty record tells the script to delete an earlier text with this id, and to store nothing.
        record = pack(doc_id, short, source, signature, moment) if signature.comparable else b""
        places = places_of(doc_id, signature)
        arguments = (SCHEME, MAX_CANDIDATES, SHARED, short, record, moment - int(self.keep), places)
        try:
            return self._run("insert", *arguments)
        except redis.exceptions.OutOfMemoryError:
            self._insertions = 0  # makes the next insertion delete old texts first
            raise
        except redis.exceptions.ResponseError as error:
            if not str(error).startswith("SCHEME"):
                raise
            # insert.lua found another scheme or none: the index was replaced or lost during this crawl
            self._begin_again()
            return self._run("insert", *arguments)

    def _tend(self, moment: int) -> None:
        """Delete texts that are too old, clean some buckets, and split buckets if the index has grown."""
        limits = moment - int(self.keep), _FORGET_AT_ONCE, MAX_TEXTS
        # Each text has a posting for each passage, and one for its id.
        texts_per_bucket = LOAD / (PASSAGES + 1)
        growth = texts_per_bucket, _SPLITS_AT_ONCE
        (early,) = self._run("tend", *limits, *growth, self._chance.random(), _CLEAR_AT_ONCE)
        if int(early) and not self._is_full:
            self._is_full = True  # a worker logs this once
            logger.warning(
                "near-duplicate index is full place=%s texts=%d; texts are compared for %.1f days only,"
                " instead of %.1f. Set NEWSBOT_NEAR_DAYS to this number, or divide the crawl by sites",
                *(self._place, MAX_TEXTS, (moment - int(early)) / DAY, self.keep / DAY),
            )

    def _run(self, name: str, *arguments: Argument) -> list[bytes]:
        found: list[bytes] = lua_script("dedup/lua", name).run(self._client, [self._keys.meta], arguments)
        return found

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

    def _begin_again(self) -> None:
        """Start again if the server has lost its data, or raise :class:`SchemaError` for another scheme.

        The loss is logged only by the first worker that notices it.
        """
        if self._client.hsetnx(self._keys.meta, "scheme", SCHEME):
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


def empty(where: str | SettingsLike, *, namespace: str = "newsbot") -> None:
    """Delete an index, whatever its scheme is. Raises subclasses of :class:`DataError`."""
    settings: SettingsLike = {"REDIS_URL": where} if isinstance(where, str) else where
    client = connect(settings)
    try:
        with readable_errors(server_name(settings)):
            keys = Keys(namespace)
            client.unlink(keys.meta)  # deleted first, so that a partly deleted index looks empty
            for key in client.scan_iter(match=f"{_literal(keys.tag)}*", count=1000):
                client.unlink(key)
    finally:
        close(client)


def _literal(text: str) -> str:
    """Return a glob pattern that matches only the text itself."""
    return re.sub(r"([\\*?\[\]^])", r"\\\1", text)
