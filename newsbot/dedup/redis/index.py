"""The near-duplicate index in Redis, for any number of workers; what it promises: :mod:`newsbot.dedup.index`.

Looking and inserting are one Lua script, which Redis runs as a whole or not at all: one round trip.
Candidates come back as records with their signatures, and are compared here. Time is ``at`` alone, in
whole seconds; no clock of a server or worker is asked, and nothing expires by itself: every 64 insertions
of a worker take out up to 256 texts that are too old, in steps that keep nobody waiting.

Beside what the protocol says: of the texts that share a passage, the newest ``MAX_CANDIDATES`` stay
findable by it; at most ``MAX_TEXTS`` are kept, then the oldest go early.
"""

from __future__ import annotations

import logging
import random
import re
from contextlib import closing
from typing import Any

import numpy as np
import redis

from newsbot.config.check import SettingsLike
from newsbot.connections.redis import (
    Argument,
    connect,
    lua_script,
    readable_errors,
    refuse_eviction,
    server_name,
    thrown_away,
)
from newsbot.dedup.index import BUCKETS, KEEP, MAX_CANDIDATES, SHARED, Near, near_of, posting_hashes
from newsbot.dedup.minhash import PASSAGES, Signature
from newsbot.dedup.record import PIECES_ID, pack, seconds, shorten, unpack
from newsbot.errors import DataError, SchemaError

LOAD = 50.0
"""Postings in a bucket, on average. A key takes some 96 bytes beside its value: with fewer that counts, with
more each text reads and writes more."""


class Keys:
    """The keys of the index ``namespace`` that are used here; its scripts make the others."""

    def __init__(self, namespace: str) -> None:
        self.tag = f"{{{namespace}:near}}:"
        self.meta = f"{self.tag}meta".encode()


def texts_a_bucket() -> float:
    """How many texts there are for each bucket: :data:`LOAD` postings."""
    return LOAD / (PASSAGES + 1)


def places_of(doc_id: str, signature: Signature) -> bytes:
    """Return where a text's postings go, four bytes each: 16 bits that they keep, 16 bits more of the hash.

    One a passage, the last for its id. A text that is not comparable has only the last.
    """
    return (posting_hashes(doc_id, signature) >> np.uint64(32)).astype(">u4").tobytes()


SCHEME = f"{BUCKETS} redis=3 pieces={PIECES_ID}"
"""What two workers must share to use one index: signatures, passages, and the layout of the keys."""
MAX_TEXTS = 2**24 - 2**16
"""Numbers of texts are kept in three bytes."""

_TEND_EVERY = 64  # insertions
_FORGET_AT_ONCE = 256  # texts: more than come in between, so that it keeps up
_SPLITS_AT_ONCE = 24  # so many insertions need 22
_CLEAR_AT_ONCE = 64  # buckets

logger = logging.getLogger(__name__)


class RedisIndex:
    """A :class:`newsbot.dedup.index.NearIndex` in Redis.

    ``where`` is a URL (``redis://…``) or settings with the names of scrapy-redis; ``namespace`` tells
    indexes on one server apart; ``keep``: seconds after which a text is forgotten. Raises
    :class:`newsbot.errors.DataError` kinds, also from every method.
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
        self._chance = random.Random()  # noqa: S311  which bucket is cleared next is no secret
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
        self._client.close()

    # --- inside
    def _insert(self, doc_id: str, source: str, signature: Signature, moment: int) -> list[bytes]:
        short = shorten(doc_id)
        record = pack(doc_id, short, source, signature, moment) if signature.comparable else b""
        places = places_of(doc_id, signature)
        arguments = (SCHEME, MAX_CANDIDATES, SHARED, short, record, moment - int(self.keep), places)
        try:
            return self._run("insert", *arguments)
        except redis.exceptions.OutOfMemoryError:
            self._insertions = 0  # what is too old makes room, before the next one
            raise
        except redis.exceptions.ResponseError as error:
            if not str(error).startswith("SCHEME"):
                raise
            self._begin_again()
            return self._run("insert", *arguments)

    def _tend(self, moment: int) -> None:
        """Forget what is too old, clear some buckets, and let the index grow."""
        limits = moment - int(self.keep), _FORGET_AT_ONCE, MAX_TEXTS
        growth = texts_a_bucket(), _SPLITS_AT_ONCE
        self._run("tend", *limits, *growth, self._chance.random(), _CLEAR_AT_ONCE)

    def _run(self, name: str, *arguments: Argument) -> list[bytes]:
        found: list[bytes] = lua_script("dedup/lua", name).run(self._client, [self._keys.meta], arguments)
        return found

    def _check_scheme(self) -> None:
        with readable_errors(self._place):
            self._client.hsetnx(self._keys.meta, "scheme", SCHEME)
            scheme: Any = self._client.hget(self._keys.meta, "scheme")
        if scheme.decode() != SCHEME:
            raise SchemaError(
                f"{self._place}: the near-duplicate index was made another way ({scheme.decode()}; here:"
                f" {SCHEME}), and the two cannot be compared; use the newsbot that made it, or make it anew"
                " from the stored texts: scrapy articles reindex --anew"
            )

    def _begin_again(self) -> None:
        """Fill a server that lost its data, or refuse; the worker that notices it first says it."""
        if self._client.hsetnx(self._keys.meta, "scheme", SCHEME):
            logger.error(
                "near-duplicate index came back empty place=%s; its server has lost its data, near copies of"
                " what was stored before will not be recognised. To put it right: scrapy articles reindex",
                self._place,
            )
        self._check_scheme()

    def _check_evictions(self) -> None:
        """Say if parts of the index may be gone; what is left of it is still right."""
        with readable_errors(self._place):
            gone = thrown_away(self._client)
        if gone:
            logger.warning(
                "near-duplicate index has lost keys place=%s evicted=%d; its memory was full, near copies"
                " may not be recognised: set maxmemory-policy noeviction, and then run:"
                " scrapy articles reindex --anew",
                self._place,
                gone,
            )


def empty(where: str | SettingsLike, *, namespace: str = "newsbot") -> None:
    """Throw an index away, whatever its scheme. Raises :class:`DataError` kinds."""
    settings: SettingsLike = {"REDIS_URL": where} if isinstance(where, str) else where
    with readable_errors(server_name(settings)), closing(connect(settings)) as client:
        keys = Keys(namespace)
        client.unlink(keys.meta)  # first: what is half gone looks like an empty one
        for key in client.scan_iter(match=f"{_literal(keys.tag)}*", count=1000):
            client.unlink(key)


def _literal(text: str) -> str:
    """Return a pattern that only matches the text itself."""
    return re.sub(r"([\\*?\[\]^])", r"\\\1", text)
