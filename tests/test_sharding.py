"""Which commands of a crawl would reach all shards of a sharded MongoDB.

A router cannot be run here. So the server records every command of a crawl, and each is compared with the
shard keys and the list of exceptions in docs/operations.md.
"""

from __future__ import annotations

import re
import secrets
from collections import Counter
from typing import Any

from pymongo import MongoClient

from newsbot.apps.mongodb.storage import MongoStorage
from testbed.demoweb.server import DemoServer
from testbed.redisserver import RedisServer
from tests.crawls import ROOT, World

DOCS = (ROOT / "docs/operations.md").read_text(encoding="utf8")
HASHED = set(re.findall(r'"(\w+)"', re.search(r"for \(const name of \[(.*?)\]\)", DOCS, re.DOTALL)[1]))  # type: ignore[index]
BY_RANGE = set(re.findall(r'shardCollection\("newsbot\.(\w+)", \{ _id: 1 \}\)', DOCS))
SCATTERS = set(re.findall(r"^- `(\w+)` by `([\w$]+)`", DOCS, re.MULTILINE))


def condition_of(command: dict[str, Any]) -> dict[str, Any]:
    """Return the condition of a recorded command that selects documents."""
    if "pipeline" in command:
        first = command["pipeline"][0] if command["pipeline"] else {}
        return dict(first.get("$match", {}))
    return dict(command.get("q") or command.get("filter") or command.get("query") or {})


def has_key(name: str, condition: dict[str, Any]) -> bool:
    """Return True if a condition names the values of the shard key, so that few shards are asked."""
    key = condition.get("_id")
    if not isinstance(key, dict):
        return key is not None
    return "$in" in key or "$eq" in key or name in BY_RANGE


def test_every_command_of_a_crawl_has_the_shard_key_or_is_a_documented_scatter(
    demo_world: World, demo: DemoServer, redis_server: RedisServer, mongo_uri: str
) -> None:
    database = f"sharding-{secrets.token_hex(4)}"
    with MongoClient[dict[str, Any]](mongo_uri) as client:
        watched, uri = client[database], f"{mongo_uri}{database}"
        MongoStorage(uri).close()  # creates the collections, as operations.md says
        watched.create_collection("system.profile", capped=True, size=2**26)
        watched.command("profile", 2)
        for _ in range(2):
            crawl = demo_world.crawl(REDIS_URL=redis_server.url, MONGO_URI=uri)
            assert crawl.code == 0, crawl.err
        watched.command("profile", 0)
        seen: Counter[tuple[str, str]] = Counter()
        commands = Counter[str]()
        for row in watched["system.profile"].find({"op": {"$nin": ["insert", "getmore"]}}):
            name, command = row["ns"].partition(".")[2], row["command"]
            if name not in HASHED | BY_RANGE or "createIndexes" in command or "create" in command:
                continue
            assert "$truncated" not in command
            condition = condition_of(command)
            commands[name] += 1
            if not has_key(name, condition):
                # The second batch of a command to all shards also has the last _id of the first batch.
                seen[name, min(condition.keys() - {"_id"}, default="_id")] += 1
        client.drop_database(database)
    assert commands["pages"] > 100
    assert commands["articles"] > 100
    assert not seen.keys() - SCATTERS, seen
