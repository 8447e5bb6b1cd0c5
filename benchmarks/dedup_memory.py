"""Memory of the near-duplicate index in Redis at any size.

Ten million insertions would take hours. The resulting data structures are known: records in blocks, and the
number of posting buckets that linear hashing has at that size (``newsbot/dedup/lua/lib.lua``). The benchmark
writes both in bulk, with addresses of 99 characters and random hashes. Then it inserts one text as usual and
finds it. For 10^5 texts the memory equals that of real insertions (``python -m benchmarks.dedup_index``).

    python -m benchmarks.dedup_memory [--documents 1000000] [--json]
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterator
from contextlib import closing

import numpy as np
import redis

from benchmarks.dedup_index import NOW, address, as_text, memory, signatures, used
from benchmarks.servers import own_redis
from newsbot.dedup.index import pack, shorten
from newsbot.dedup.minhash import PASSAGES
from newsbot.dedup.redis import LOAD, Keys, RedisIndex
from tests.nearkeys import BLOCK, block_key, bucket_key

SAMPLES = 20_000  # distinct records
POSTING = 5
BUCKETS_AT_ONCE = 8000
COMMANDS_AT_ONCE = 250


def fill(url: str, documents: int) -> None:
    """Write an index of ``documents`` texts."""
    names = Keys("newsbot")
    level = int(math.log2(documents * (PASSAGES + 1) / LOAD))
    split = math.ceil(documents * (PASSAGES + 1) / LOAD) - (1 << level)
    with redis.Redis.from_url(url) as client, client.pipeline(transaction=False) as pipe:
        for number, block in enumerate(blocks(documents)):
            pipe.rpush(block_key(names, number), *block)
            if number % COMMANDS_AT_ONCE == 0:
                pipe.execute()
        for bucket, postings in buckets(documents, level, split):
            pipe.set(bucket_key(names, bucket), postings)
            if bucket % COMMANDS_AT_ONCE == 0:
                pipe.execute()
        state = {"next": documents, "tail": 0, "level": level, "split": split, "count": documents}
        pipe.hset(names.meta, mapping=state)
        pipe.execute()


def blocks(documents: int) -> Iterator[list[bytes]]:
    """Yield the records of each block; a sample of them is repeated."""
    records = []
    for number, signature in enumerate(signatures(0, SAMPLES)):
        url, site = address(number * max(1, documents // SAMPLES))
        records.append(pack(url, shorten(url), site, signature, int(NOW)))
    for start in range(0, documents, BLOCK):
        yield [records[place % SAMPLES] for place in range(start, min(start + BLOCK, documents))]


def buckets(documents: int, level: int, split: int) -> Iterator[tuple[int, bytes]]:
    """Yield each bucket. If a bucket was split, both of its halves have half as many postings as other
    buckets."""
    chance = np.random.default_rng(1)
    for start in range(0, (1 << level) + split, BUCKETS_AT_ONCE):
        numbers = np.arange(start, min(start + BUCKETS_AT_ONCE, (1 << level) + split))
        halved = (numbers < split) | (numbers >= 1 << level)
        share = documents * (PASSAGES + 1) / 2.0 ** np.where(halved, level + 1, level)
        for number, count in zip(numbers.tolist(), chance.poisson(share).tolist(), strict=True):
            yield number, chance.bytes(count * POSTING)


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--documents", type=int, default=1_000_000)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    with own_redis() as url:
        before = used(url)
        RedisIndex(url).close()
        fill(url, arguments.documents)
        row = memory("newsbot, Redis", arguments.documents, used(url) - before)
        with closing(RedisIndex(url)) as index:
            (signature,) = signatures(arguments.documents, arguments.documents + 1)
            found = [index.check_and_insert(name, "a.org", signature, NOW) for name in ("one", "other")]
            assert [len(near) for near in found] == [0, 1], "the index does not work at this size"
    print(json.dumps([row]) if arguments.json else as_text(row))


if __name__ == "__main__":
    main()
