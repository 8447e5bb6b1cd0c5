"""The near-duplicate index in Redis and in the embedded file, compared with the index of datasketch.

* Rates: 1 and 2 client processes insert new texts, with one call for each text (in newsbot, a call is one
  round trip). Signatures are computed beforehand, so only the index is measured. ``best`` is the rate of the
  fastest tenth of the intervals, so that a busy machine does not look like a slow index. For the same reason,
  the processor time per text is measured in the client and in Redis. If the client and Redis each have a free
  core, one client can insert 1 / (client time + Redis time) texts per second.
* Memory: growth of ``used_memory`` per document. newsbot stores the signature, buckets, time, size, source
  and address. Addresses have 99 characters, the average of real articles. datasketch stores the same
  addresses as keys of ``MinHashLSH(num_perm=128, params=(16, 4))``. The index of datasketch does not store
  signatures, so the benchmark stores them as ``MinHash`` in a Redis hash.
* Races: processes insert similar texts at the same moment. A round fails if two processes inserted similar
  texts and neither process found the text of the other one. With datasketch, each process first queries and
  then inserts, because datasketch has no atomic operation for both.

    python -m benchmarks.dedup_index [--documents 100000] [--rounds 10000] [--theirs 300] [--only sqlite]
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import tempfile
import time
from collections.abc import Iterator
from itertools import pairwise
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

import numpy as np
import redis
from datasketch import MinHash, MinHashLSH
from numpy.typing import NDArray

from benchmarks.servers import own_redis
from newsbot.dedup.index import NearIndex
from newsbot.dedup.minhash import PASSAGES, PERMUTATIONS, SEED, Signature
from newsbot.dedup.redis import RedisIndex
from newsbot.dedup.sqlite import SqliteIndex

BANDS, ROWS = 16, 4  # of datasketch
CLIENTS = (1, 2)
RACERS = (2, 4, 8)
AT_ONCE = 10_000  # signatures that are computed before they are inserted
NOW = 1_795_000_000.0
STRETCH = 0.1  # seconds

Row = dict[str, Any]


def signatures(start: int, stop: int) -> Iterator[Signature]:
    """Yield signatures of texts that are not similar to any others."""
    values = np.random.default_rng(start).integers(0, 2**32, (stop - start, PERMUTATIONS), dtype=np.uint32)
    return (made_up(row) for row in values)


def made_up(values: NDArray[np.uint32]) -> Signature:
    """Return a signature without a text; its last values are its lookup keys."""
    return Signature(values, 400, values[-PASSAGES:].astype(np.uint64))


def address(number: int) -> tuple[str, str]:
    """Return a URL of 99 characters and its site."""
    site = f"morningpost{number % 700:03}.com"
    words = (
        "council",
        "kilkenny",
        "wahlkampf",
        "futbol",
        "zhurnalist",
        "weather",
        "obschestvo",
        "hgv-queues",
    )
    slug = "-".join(words[number // 8**place % 8] for place in range(4))
    url = f"https://www.{site}/news/2026/11/{number:08}-{slug}-posle-dolgih-sporov-v-gorode-by-jk-9f3c2a71b.html"
    return url[:99], site


def open_index(where: str) -> NearIndex:
    """Open the index at a Redis URL or in a file."""
    return RedisIndex(where) if where.startswith("redis") else SqliteIndex(Path(where))


# --- rates


def insert(where: str, start: int, stop: int) -> tuple[list[float], float]:
    """Insert the texts of one client; return the duration of each call, and the total CPU seconds."""
    index = open_index(where)
    took = []
    busy = 0.0
    for begin in range(start, stop, AT_ONCE):
        end = min(begin + AT_ONCE, stop)
        ready = [
            (*address(number), one)
            for number, one in zip(range(begin, end), signatures(begin, end), strict=True)
        ]
        worked = time.process_time()
        for url, site, signature in ready:
            before = time.perf_counter()
            index.check_and_insert(url, site, signature, NOW)
            took.append(time.perf_counter() - before)
        busy += time.process_time() - worked
    index.close()
    return took, busy


def rates(name: str, where: str, documents: int) -> Iterator[Row]:
    """Yield one row for each number of clients; documents of earlier rows stay in the index."""
    begin = 0
    for clients in CLIENTS:
        share = documents // len(CLIENTS) // clients
        with multiprocessing.get_context("spawn").Pool(clients) as pool:
            shares = [(where, begin + n * share, begin + (n + 1) * share) for n in range(clients)]
            served = server_seconds(where)
            done = pool.starmap(insert, shares, 1)
            served = server_seconds(where) - served
        took = [one for one, _ in done]
        begin += clients * share
        yield {
            "what": "insert",
            "system": name,
            "clients": clients,
            "documents": begin,
            "per_second": sum(len(one) / sum(one) for one in took),
            "best_per_second": sum(best(one) for one in took),
            "p99_ms": float(np.quantile(np.concatenate(took), 0.99) * 1000),
            "client_cpu_us": sum(busy for _, busy in done) / (clients * share) * 1e6,
            "redis_cpu_us": served / (clients * share) * 1e6,
        }


def server_seconds(where: str) -> float:
    """Return the processor time used by a Redis server; 0 for a file."""
    if not where.startswith("redis"):
        return 0.0
    with redis.Redis.from_url(where) as client:
        usage = client.info("cpu")
    return float(usage["used_cpu_user"]) + float(usage["used_cpu_sys"])


def best(took: list[float]) -> float:
    """Return the rate of the fastest tenth of the intervals."""
    ends = np.cumsum(took)
    places = np.searchsorted(ends, np.arange(STRETCH, ends[-1], STRETCH)).tolist()
    found = [(after - before) / STRETCH for before, after in pairwise([0, *places])]
    return float(np.quantile(found, 0.9)) if found else len(took) / float(ends[-1])


# --- memory


def used(url: str) -> int:
    """Return the memory that a server has in use."""
    with redis.Redis.from_url(url) as client:
        return int(client.info("memory")["used_memory"])


def emptied(url: str) -> int:
    """Delete all data of a server; return its used memory."""
    with redis.Redis.from_url(url) as client:
        client.flushall()
    return used(url)


def ours_in_redis(url: str, documents: int) -> Iterator[Row]:
    """Yield rates and memory of newsbot's index."""
    before = emptied(url)
    yield from rates("newsbot, Redis", url, documents)
    kept = RedisIndex(url).count()
    yield memory("newsbot, Redis", kept, used(url) - before)


def ours_in_a_file(folder: Path, documents: int) -> Iterator[Row]:
    """Yield rates and size of newsbot's embedded index."""
    file = folder / "newsbot.db"
    yield from rates("newsbot, SQLite", str(file), documents)
    index = SqliteIndex(file)
    kept = index.count()
    index.close()
    yield memory("newsbot, SQLite", kept, file.stat().st_size)


def memory(system: str, documents: int, size: int) -> Row:
    """Return a row."""
    return {"what": "memory", "system": system, "documents": documents, "bytes": size / documents}


# --- datasketch


def their_index(url: str) -> MinHashLSH:
    """Open datasketch's index on Redis."""
    port = int(url.rpartition(":")[2].partition("/")[0])
    storage = {"type": "redis", "basename": b"theirs", "redis": {"host": "127.0.0.1", "port": port}}
    return MinHashLSH(num_perm=PERMUTATIONS, params=(BANDS, ROWS), storage_config=storage)


def their_minhash(signature: Signature) -> MinHash:
    """Return a signature as datasketch's ``MinHash``."""
    return MinHash(num_perm=PERMUTATIONS, seed=SEED, hashvalues=signature.values, scheme="affine32")


def theirs(url: str, documents: int) -> Iterator[Row]:
    """Yield rate and memory of datasketch's index."""
    before = emptied(url)
    index = their_index(url)
    ready = [(address(number)[0], their_minhash(one)) for number, one in enumerate(signatures(0, documents))]
    with redis.Redis.from_url(url) as client:
        sent = int(client.info("stats")["total_commands_processed"])
        took = []
        for name, one in ready:
            begin = time.perf_counter()
            index.query(one)
            index.insert(name, one, check_duplication=False)
            took.append(time.perf_counter() - begin)
        sent = int(client.info("stats")["total_commands_processed"]) - sent
        for name, one in ready:
            client.hset("theirs:signatures", name, one.hashvalues.tobytes())
    yield {
        "what": "insert",
        "system": "datasketch, Redis",
        "clients": 1,
        "documents": documents,
        "per_second": len(took) / sum(took),
        "best_per_second": best(took),
        "p99_ms": float(np.quantile(took, 0.99) * 1000),
        "commands": sent / documents,
    }
    yield memory("datasketch, Redis", documents, used(url) - before)


# --- races


def race(where: str, system: str, racer: int, rounds: int, barrier: Barrier) -> list[int]:
    """Insert one text per round, at the same moment as all other racers. Return for each round how many of
    their texts were found."""
    seen = []
    index = their_index(where) if system.startswith("datasketch") else open_index(where)
    for round_, one in enumerate(signatures(10**9, 10**9 + rounds)):
        mine = made_up(one.values.copy())
        mine.values[racer * 3 : racer * 3 + 3] += 1
        url = f"https://site{racer}.com/{round_}"
        barrier.wait()
        if isinstance(index, MinHashLSH):
            minhash = their_minhash(mine)
            seen.append(len(index.query(minhash)))
            index.insert(url, minhash, check_duplication=False)
        else:
            seen.append(len(index.check_and_insert(url, f"site{racer}.com", mine, NOW)))
    return seen


def races(system: str, where: str, rounds: int, racers: int) -> Row:
    """Return the number of failed rounds."""
    context = multiprocessing.get_context("spawn")
    with context.Manager() as manager, context.Pool(racers) as pool:
        barrier = manager.Barrier(racers)
        jobs = [(where, system, racer, rounds, barrier) for racer in range(racers)]
        seen = pool.starmap(race, jobs, 1)
    pairs = racers * (racers - 1) // 2
    missed = sum(sum(counts) < pairs for counts in zip(*seen, strict=True))
    return {"what": "race", "system": system, "clients": racers, "rounds": rounds, "missed": missed}


# --- all


def measure(url: str, folder: Path, arguments: argparse.Namespace) -> Iterator[Row]:
    """Yield all rows."""
    if arguments.only != "sqlite":
        yield from theirs(url, arguments.theirs)
        yield from ours_in_redis(url, arguments.documents)
    if arguments.only != "redis":
        yield from ours_in_a_file(folder, arguments.documents)
    for racers in RACERS if arguments.rounds else ():
        for system, where, rounds in (
            ("datasketch, Redis", url, min(arguments.rounds, arguments.theirs)),
            ("newsbot, Redis", url, arguments.rounds),
            ("newsbot, SQLite", str(folder / f"{racers}.db"), arguments.rounds),
        ):
            if arguments.only and not system.lower().endswith(arguments.only):
                continue
            emptied(url)
            open_index(where).close()
            yield races(system, where, rounds, racers)


def as_text(row: Row) -> str:
    """Return a row as readable text."""
    if row["what"] == "insert":
        commands = f", {row['commands']:.0f} commands each" if "commands" in row else ""
        if "client_cpu_us" in row:
            commands = f", CPU {row['client_cpu_us']:.0f} µs"
            commands += f" + Redis {row['redis_cpu_us']:.0f} µs" if row["redis_cpu_us"] else ""
        text = (
            f"{row['per_second']:8,.0f} per second (at best {row['best_per_second']:,.0f}), p99"
            f" {row['p99_ms']:.2f} ms, {row['clients']} clients, {row['documents']:,} documents{commands}"
        )
    elif row["what"] == "memory":
        text = f"{row['bytes']:8,.0f} bytes per document, {row['documents']:,} documents"
    else:
        text = f"{row['missed']:8,} of {row['rounds']:,} rounds missed, {row['clients']} processes at once"
    return f"{row['system']:20}{text}"


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--documents", type=int, default=100_000, help="documents in newsbot's indexes")
    parser.add_argument(
        "--theirs", type=int, default=300, help="number of documents and of rounds with datasketch"
    )
    parser.add_argument("--rounds", type=int, default=10_000, help="rounds of each race; 0: no races")
    parser.add_argument("--only", choices=("redis", "sqlite"), help="index to measure (default: both)")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    rows = []
    with own_redis() as url, tempfile.TemporaryDirectory() as folder:
        for row in measure(url, Path(folder), arguments):
            rows.append(row)
            if not arguments.json:
                print(as_text(row), flush=True)
    if arguments.json:
        print(json.dumps(rows))


if __name__ == "__main__":
    main()
