"""newsbot's frontier in Redis, compared with scrapy-redis's PriorityQueue and dupefilter on the same server.

Rates: N client processes queue URLs and take them out again. newsbot queues 100 URLs per call, like the links
of a page, and leases 16 URLs per call with politeness. scrapy-redis queues one URL per call, because it has
no method for several URLs. Only newsbot then acknowledges each URL. Memory: ``MEMORY USAGE`` of all keys, per
waiting URL and per known URL.

Known URLs (``--only known``): one to two million URLs are remembered, as after Redis has lost its data. Then
their buckets are copied to the buckets of other fingerprints until there are ``--known`` URLs. The figures
are the bytes per URL (allocated, and resident), and the processor time of Redis and of the client per URL:
once to remember a new URL, and once to find a known URL that is added again. For the snapshot, the figures
are the bytes per URL and the processor time to write and to load it.

Waits: how long a lease blocks the reactor of a worker. Two workers fetch 100 pages per second each. They
lease as many URLs as they have free slots, and acknowledge them.

    python -m benchmarks.frontier [--urls 20000] [--known 1000000] [--turns 3] [--only PART] [--json]
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import random
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from hashlib import blake2b
from itertools import islice
from math import ceil, log2
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import redis
from scrapy import Request, Spider
from scrapy_redis.dupefilter import RFPDupeFilter
from scrapy_redis.queue import PriorityQueue

from benchmarks.servers import own_redis, redis_seconds
from newsbot.frontier.base import Added, Entry, Lease
from newsbot.frontier.redis import RedisFrontier
from newsbot.frontier.redis.layout import FIRST_LEVEL, LOAD, Keys
from newsbot.items import Kind

HOSTS = 1000
CLIENTS = (1, 2, 4)
PAGE_OF_LINKS = 100
LEASES = 16
PACE = 0.01
"""Seconds between two pages of a worker whose waits are measured."""
IN_FLIGHT = 8
CALLS = 1000
AGAIN = 100_000
"""Number of known URLs that are added again. Then the same number of new URLs is remembered."""
KNOWN_FIGURES = ("redis_us", "client_us", "seconds", "bytes", "resident")
REMEMBERED = 2_000_000
"""Maximum number of known URLs that are not copies."""
FIRST_MINUTE = (1_795_000_000 - 2_019_686_400) // 60
"""Time of fetches, in the format of ``newsbot/frontier/lua/lib.lua``."""
Timed = tuple[int, float, list[float]]
"""Number of URLs, total seconds, and duration of each call."""


def entries(start: int, stop: int) -> Iterator[Entry]:
    """Yield entries like those of a crawl."""
    for number in range(start, stop):
        url = f"https://news{number % HOSTS}.example/politics/2026/11/{number}-what-happened-today"
        yield Entry(
            url=url,
            fingerprint=blake2b(url.encode(), digest_size=16).digest(),
            host=f"news{number % HOSTS}.example",
            kind=Kind.ARTICLE,
            priority=float(number % 10),
            data={"source": f"news{number % HOSTS}.example", "where": "feed", "discovered_at": 1.795e9},
        )


# --- the work of one client; each function returns its timings


def newsbot_add(url: str, start: int, stop: int) -> Timed:
    """Queue the URLs of one client."""
    frontier = RedisFrontier(url)
    batches = _in_batches(entries(start, stop), PAGE_OF_LINKS)
    return _timed(frontier.add, batches, stop - start)


def newsbot_lease(url: str, start: int, stop: int) -> Timed:
    """Lease the URLs of one client. URLs of any host may be leased, as in a crawl of all sites."""
    frontier = RedisFrontier(url)

    def lease(limit: int) -> None:
        frontier.lease(f"worker {start}", limit, horizon=0, ttl=3600, accept=bool)

    return _timed(lease, [LEASES] * ((stop - start) // LEASES), stop - start)


def newsbot_turn(url: str, start: int, stop: int) -> Timed:
    """Lease and acknowledge the URLs of one client; the latencies are those of the acknowledgements."""
    frontier = RedisFrontier(url)
    done, latencies = 0, []
    begin = time.perf_counter()
    while done < stop - start:
        leases = frontier.lease(f"worker {start}", LEASES, horizon=0, ttl=3600, accept=bool)
        for one in leases:
            before = time.perf_counter()
            frontier.ack(one, next_due=None)
            latencies.append(time.perf_counter() - before)
        done += len(leases)
        if not leases:
            break
    return done, time.perf_counter() - begin, latencies


def newsbot_waits(url: str, start: int, stop: int) -> Timed:
    """Lease and acknowledge at the rate of a crawl; the latencies are those of the leases."""
    del stop
    frontier = RedisFrontier(url)
    held: deque[Lease] = deque()
    latencies = []
    begin = time.perf_counter()
    for turn in range(CALLS):
        time.sleep(max(0.0, begin + turn * PACE - time.perf_counter()))
        if len(held) >= IN_FLIGHT:
            frontier.ack(held.popleft(), next_due=None)
        before = time.perf_counter()
        held += frontier.lease(f"worker {start}", IN_FLIGHT - len(held), horizon=0, ttl=3600, accept=bool)
        latencies.append(time.perf_counter() - before)
    return CALLS, time.perf_counter() - begin, latencies


def scrapy_redis_add(url: str, start: int, stop: int) -> Timed:
    """Queue the URLs of one client as scrapy-redis's scheduler does."""
    client = redis.Redis.from_url(url)
    queue, seen = PriorityQueue(client, Spider("b"), "requests"), RFPDupeFilter(client, "dupefilter")
    requests = [
        Request(entry.url, priority=int(entry.priority), meta=dict(entry.data))
        for entry in entries(start, stop)
    ]

    def push(request: Request) -> None:
        if not seen.request_seen(request):
            queue.push(request)

    return _timed(push, requests, len(requests))


def scrapy_redis_pop(url: str, start: int, stop: int) -> Timed:
    """Take the URLs of one client out of the queue."""
    queue = PriorityQueue(redis.Redis.from_url(url), Spider("b"), "requests")
    return _timed(lambda _: queue.pop(), range(start, stop), stop - start)


def _timed(call: Callable[[Any], object], arguments: Iterable[Any], urls: int) -> Timed:
    latencies = []
    begin = time.perf_counter()
    for argument in arguments:
        before = time.perf_counter()
        call(argument)
        latencies.append(time.perf_counter() - before)
    return urls, time.perf_counter() - begin, latencies


def _in_batches(values: Iterable[Entry], size: int) -> list[list[Entry]]:
    return list(_batches(values, size))


def _batches(values: Iterable[Entry], size: int) -> Iterator[list[Entry]]:
    stream = iter(values)
    while some := list(islice(stream, size)):
        yield some


STEPS: tuple[tuple[str, str, Callable[[str, int, int], Timed]], ...] = (
    ("scrapy-redis", "add", scrapy_redis_add),
    ("scrapy-redis", "take out", scrapy_redis_pop),
    ("newsbot", "add", newsbot_add),
    ("newsbot", "take out", newsbot_lease),
    ("newsbot", "take out, acknowledge", newsbot_turn),
)


# --- measuring


def rates(url: str, urls: int, clients: int) -> Iterator[dict[str, Any]]:
    """Yield one row for each step."""
    with redis.Redis.from_url(url) as client, multiprocessing.get_context("spawn").Pool(clients) as pool:
        for system, step, work in STEPS:
            if step == "add":
                client.flushdb()
            elif system == "newsbot":
                _refill(url, urls)
            share = urls // clients
            parts = pool.starmap(work, [(url, n * share, (n + 1) * share) for n in range(clients)], 1)
            latencies = [one for _, _, taken in parts for one in taken]
            yield {
                "system": system,
                "step": step,
                "clients": clients,
                "per_second": sum(done for done, _, _ in parts) / max(seconds for _, seconds, _ in parts),
                **_percentiles(latencies),
            }


def _middle(rows: tuple[dict[str, Any], ...]) -> dict[str, Any]:
    """Return one row with the medians of several turns."""
    figures = ("per_second", "p50_ms", "p99_ms")
    return rows[0] | {name: median(row[name] for row in rows) for name in figures}


def waits(url: str, urls: int) -> dict[str, Any]:
    """Return the duration of leases for two workers at the rate of a crawl, with this many pending URLs."""
    _refill(url, urls)
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        parts = pool.starmap(newsbot_waits, [(url, n, n) for n in range(2)], 1)
    latencies = [one for _, _, taken in parts for one in taken]
    return {"system": "newsbot", "wait": "lease", "urls": urls, **_percentiles(latencies)}


def _percentiles(latencies: list[float]) -> dict[str, float]:
    cuts = quantiles(latencies, n=100)
    return {"p50_ms": cuts[49] * 1000, "p99_ms": cuts[98] * 1000}


def _refill(url: str, urls: int) -> None:
    with redis.Redis.from_url(url) as client:
        client.flushdb()
    frontier = RedisFrontier(url)
    for host in range(HOSTS):
        frontier.set_politeness(f"news{host}.example", delay=0, concurrency=urls)
    for batch in _in_batches(entries(0, urls), 500):
        frontier.add(batch)
    frontier.close()


def memory(url: str, queued: int, known: int) -> Iterator[dict[str, Any]]:
    """Yield bytes per URL."""
    with redis.Redis.from_url(url, socket_timeout=600) as client:
        client.flushdb()
        scrapy_redis_add(url, 0, queued)
        yield {"system": "scrapy-redis", "urls": queued, "queued": _used(client, "requests") / queued}
        client.flushdb()
        newsbot_add(url, 0, queued)
        yield {"system": "newsbot", "urls": queued, "queued": _used(client, "*") / queued}
        client.flushdb()
        for batch in _batches(entries(0, known), 500):
            client.sadd("dupefilter", *(entry.fingerprint.hex() + "01234567" for entry in batch))
        yield {"system": "scrapy-redis", "urls": known, "known": _used(client, "dupefilter") / known}
        client.flushdb()
        frontier = RedisFrontier(url)
        for batch in _batches(entries(0, known), 5000):
            frontier.mark_done(batch, None)
        frontier.close()
        _give_times(client)
        yield {"system": "newsbot", "urls": known, "known": _used(client, "*:known:*") / known}


def known_urls(url: str, number: int) -> Iterator[dict[str, Any]]:
    """Make this many URLs known, then yield one row for each step."""
    frontier = RedisFrontier(url)
    chance = random.Random(1)
    doublings = max(0, ceil(log2(number / REMEMBERED)))
    base = number >> doublings
    buckets = max(ceil(base / LOAD), 1 << FIRST_LEVEL)
    level = buckets.bit_length() - 1
    split = buckets - (1 << level)

    def key(one: int, copy: int) -> bytes:
        """Return the fingerprint of a URL. Its copies differ in the bits that follow those of the bucket."""
        bits = int.from_bytes(blake2b(one.to_bytes(8), digest_size=16).digest())
        place = 128 - level - (bits >> (128 - level) < split) - doublings
        bits &= ~((copies - 1) << place)
        return (bits | copy << place).to_bytes(16)

    def remember(numbers: range, copy: int = 0) -> None:
        for some in _parts(numbers, 500):
            frontier.remember({key(one, copy): 1.795e9 + chance.randrange(10**7) for one in some})

    def add_again() -> None:
        for some in _batches(entries(0, AGAIN), PAGE_OF_LINKS):
            keys = [key(chance.randrange(base), chance.randrange(copies)) for _ in some]
            again = [replace(one, fingerprint=known) for one, known in zip(some, keys, strict=True)]
            assert set(frontier.add(again)) == {Added.KNOWN}

    copies = 1 << doublings
    with redis.Redis.from_url(url, socket_timeout=3600) as client:
        empty = client.info("memory")
        yield _cost(url, f"remember {base:,} URLs", lambda: remember(range(base)), base)
        _copy_buckets(client, doublings)
        known, full = base * copies, client.info("memory")
        yield {
            "known_step": f"known: {known:,} URLs",
            "bytes": (full["used_memory"] - empty["used_memory"]) / known,
            "resident": (full["used_memory_rss"] - empty["used_memory_rss"]) / known,
        }
        yield _cost(url, "add a known URL", add_again, AGAIN)
        yield _cost(url, "remember another", lambda: remember(range(base, base + AGAIN)), AGAIN)
        saved = _cost(url, "write a snapshot", client.save, known)
        snapshot = Path(client.config_get("dir")["dir"]) / "dump.rdb"
        yield saved | {"bytes": snapshot.stat().st_size / known}
        yield _cost(url, "load the snapshot", lambda: client.execute_command("DEBUG RELOAD NOSAVE"), known)


def _copy_buckets(client: redis.Redis, doublings: int) -> None:
    """Double the number of known URLs several times by copying the buckets."""
    for name in list(client.scan_iter("*:known:*", count=1000)):
        stem, level, index = name.decode().rsplit(":", 2)
        with client.pipeline(transaction=False) as pipe:
            pipe.rename(name, "copied")
            for copy in range(1 << doublings):
                number = (int(index, 16) << doublings) + copy
                pipe.copy("copied", f"{stem}:{int(level) + doublings}:{number:x}")
            pipe.delete("copied")
            pipe.execute()
    meta = Keys("newsbot", 0).meta
    level, split, known = client.hmget(meta, "level", "split", "known")
    client.hset(
        meta,
        mapping={
            "level": int(level or FIRST_LEVEL) + doublings,
            "split": int(split or 0) << doublings,
            "known": int(known or 0) << doublings,
        },
    )


def _parts(numbers: range, size: int) -> Iterator[range]:
    for start in range(0, len(numbers), size):
        yield numbers[start : start + size]


def _cost(url: str, step: str, work: Callable[[], object], urls: int) -> dict[str, Any]:
    before, ours, wall = redis_seconds(url), time.process_time(), time.perf_counter()
    work()
    return {
        "known_step": step,
        "redis_us": 1e6 * (redis_seconds(url) - before) / urls,
        "client_us": 1e6 * (time.process_time() - ours) / urls,
        "seconds": time.perf_counter() - wall,
    }


def _give_times(client: redis.Redis) -> None:
    """Store a fetch time for each known URL, as an acknowledgement does."""
    chance = random.Random(1)
    for key in client.scan_iter("*:known:*", count=1000):
        fields = client.hkeys(key)
        client.hset(
            key, mapping={field: str(FIRST_MINUTE + chance.randrange(10**7 // 60)) for field in fields}
        )


def _used(client: redis.Redis, pattern: str) -> float:
    return sum(client.memory_usage(key, samples=0) or 0 for key in client.scan_iter(pattern, count=1000))


def _print(rows: list[dict[str, Any]]) -> None:
    if any("step" in row for row in rows):
        _print_rates(rows)
    if any("known" in row for row in rows):
        _print_memory(rows)
    for row in rows:
        if "known_step" in row:
            figures = (f"{name} {row[name]:.2f}" for name in KNOWN_FIGURES if name in row)
            print(f"{row['known_step']:30}", *figures, sep="  ")


def _print_rates(rows: list[dict[str, Any]]) -> None:
    print(f"{'':15}{'':24}{'clients':>8}{'URLs/s':>15}{'p50 of a call':>15}{'p99 of a call':>15}")
    timed = [row for row in rows if "step" in row]
    theirs = {(row["step"], row["clients"]): row["per_second"] for row in timed if row["system"] != "newsbot"}
    for row in timed:
        ratio = row["per_second"] / theirs[row["step"].split(",")[0], row["clients"]]
        note = f"  {ratio:.1f} times" if row["system"] == "newsbot" else ""
        print(
            f"{row['system']:15}{row['step']:24}{row['clients']:8}{row['per_second']:15,.0f}"
            f"{row['p50_ms']:12.2f} ms{row['p99_ms']:12.2f} ms{note}"
        )
    print("\nURLs per second for all steps: add, take out, acknowledge")
    for clients in CLIENTS:
        pace = {
            system: 1
            / sum(
                1 / row["per_second"]
                for row in timed
                if (row["system"], row["clients"]) == (system, clients)
                and row["step"] != ("take out" if system == "newsbot" else "")
            )
            for system in ("scrapy-redis", "newsbot")
        }
        print(
            f"{clients} clients: scrapy-redis {pace['scrapy-redis']:,.0f}, newsbot {pace['newsbot']:,.0f}, "
            f"{pace['newsbot'] / pace['scrapy-redis']:.2f} times"
        )
    for row in rows:
        if "wait" in row:
            print(
                f"\nthe reactor waits for a lease, {row['urls']:,} URLs pending: p50 {row['p50_ms']:.2f} ms, "
                f"p99 {row['p99_ms']:.2f} ms"
            )


def _print_memory(rows: list[dict[str, Any]]) -> None:
    print("\nbytes per URL")
    for kind in ("queued", "known"):
        first = None
        for row in rows:
            if kind in row:
                first = first or row[kind]
                note = f"  {first / row[kind]:.1f} times less" if row[kind] != first else ""
                print(f"{row['system']:15}{kind:10}{row['urls']:12,} URLs{row[kind]:10.1f}{note}")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--urls", type=int, default=20_000)
    parser.add_argument("--known", type=int, default=1_000_000)
    parser.add_argument("--turns", type=int, default=3, help="number of runs, whose median is shown")
    parser.add_argument("--only", choices=("rates", "memory", "known"), help="only this part")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with own_redis("--enable-debug-command", "yes") as url:
        rows: list[dict[str, Any]] = []
        if options.only == "known":
            rows += known_urls(url, options.known)
        if options.only in (None, "rates"):
            turns = [
                [row for clients in CLIENTS for row in rates(url, options.urls, clients)]
                for _ in range(options.turns)
            ]
            rows += [_middle(same) for same in zip(*turns, strict=True)]
            rows.append(waits(url, options.urls))
        if options.only in (None, "memory"):
            rows += memory(url, options.urls, options.known)
    if options.json:
        print(json.dumps(rows))
    else:
        _print(rows)


if __name__ == "__main__":
    main()
