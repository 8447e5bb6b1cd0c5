"""Generated texts for the near-duplicate index: signatures by number, with URLs."""

from __future__ import annotations

import numpy as np

from newsbot.apps.redis.index import RedisIndex
from newsbot.dedup.index import PERMUTATIONS, Signature
from tests.contracts.index_backends import made_up

NOW = 1_795_000_000.0


def sample(number: int) -> Signature:
    values = np.random.default_rng(number).integers(0, 2**32, PERMUTATIONS, dtype=np.uint32)
    return made_up(values, 400)


def url(number: int) -> str:
    return f"https://www.gazette{number % 300}.com/news/2026/11/{number}-council-votes-on-the-old-bridge.html"


def insert(where: RedisIndex, number: int, at: float = NOW) -> list[str]:
    source = f"gazette{number % 300}.com"
    return [near.doc_id for near in where.check_and_insert(url(number), source, sample(number), at)]
