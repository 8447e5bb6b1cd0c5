"""The dashboard shows the same data on Redis and MongoDB as on the embedded file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from pymongo import MongoClient

from newsbot.apps.search.articles import searching
from testbed.redisserver import RedisServer, need_redis
from tests.dashboarddata import SITE, fill, write_events
from tests.dashboards import TOKEN, Visitor, settings_of, visit
from tests.test_dashboard_api import STORY_PLACE, paths_of_reads

TIMES = (
    *("fetched_at", "published_at", "discovered_at", "deadline", "at", "next_poll", "last_poll", "last_new"),
    *("last_article", "first", "last", "failing_since", "last_error_at", "first_seen", "looked_at", "run"),
    *("began", "created", "ended", "since", "next_due", "last_fetched", "runs", "first_at", "hours"),
)
PASSING = frozenset((*TIMES, "score", "lag", "rule", "host_pace", "notices", "changes"))
"""Fields that differ by design: times, the rank of a search, the path of a rule file, counts that decay."""


@pytest.fixture
def uri(mongo_uri: str) -> Iterator[str]:
    """The URI of a database for one test."""
    name = f"newsbot_test_{uuid4().hex[:12]}"
    place, _, options = mongo_uri.partition("?")
    yield f"{place.rstrip('/')}/{name}{'?' if options else ''}{options}"
    with MongoClient[dict[str, Any]](mongo_uri) as client:
        client.drop_database(name)


@contextmanager
def redis(folder: Path) -> Iterator[RedisServer]:
    """A server for one test."""
    need_redis()
    server = RedisServer(folder)
    server.start()
    try:
        yield server
    finally:
        server.kill()


def answers(settings: dict[str, Any]) -> dict[str, Any]:
    """Return all responses of the API, without times and similar fields."""
    found: dict[str, Any] = {}

    async def check(visitor: Visitor) -> None:
        _, text = await visitor.get("/api/stories")
        story = json.loads(text)[0]["story"]
        for name, place in paths_of_reads().items():
            if name == "event":  # its reports depend on the time at which the servers group articles
                continue
            path = place.replace(STORY_PLACE, story)
            answer, text = await visitor.get(path)
            assert answer.status == 200, (path, text)
            found[name] = lasting(json.loads(text))
        bearer = {"Authorization": f"Bearer {TOKEN}"}
        _, text = await visitor.post("/api/actions/pause", {"site": SITE}, **bearer)
        assert json.loads(text)["verdict"] == "paused"
        _, text = await visitor.get(f"/api/sources/{SITE}")
        assert json.loads(text)["row"]["health"] == "paused"
        assert (await visitor.get("/"))[0].status == 200
        assert (await visitor.get("/healthz"))[0].status == 200

    visit(settings, check, token=TOKEN)
    return found


def lasting(value: Any) -> Any:
    """Return a value without the fields of PASSING."""
    if isinstance(value, dict):
        return {name: lasting(item) for name, item in value.items() if name not in PASSING}
    return [lasting(item) for item in value] if isinstance(value, list) else value


def test_servers_give_the_same_answers(tmp_path: Path, uri: str) -> None:
    file, shared = tmp_path / "file", tmp_path / "shared"
    for folder in (file, shared):
        folder.mkdir()
    embedded = settings_of(file)
    with redis(tmp_path) as server:
        servers = settings_of(shared, MONGO_URI=uri, REDIS_URL=server.url)
        for settings in (embedded, servers):
            fill(settings)
            write_events(settings)
            with searching(settings) as search:  # a server that is still indexing gives other answers
                search.follow()
        found, expected = answers(servers), answers(embedded)
    assert not (shared / "newsbot.db").exists()
    for name, answer in expected.items():
        assert found[name] == answer, name
