"""The pages of the dashboard need few queries, and their number does not grow with the articles."""

from __future__ import annotations

import sqlite3
import threading
from collections import Counter
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from newsbot.apps.search.articles import searching
from newsbot.storage.articles import story_id
from tests.dashboarddata import SITE, address, fill, write_events
from tests.dashboards import TOKEN, Visitor, settings_of, visit

QUERIES = {
    "/": 6,
    "/articles": 18,
    "/articles?q=bridge": 36,
    f"/article?url={quote(address(1), safe='')}": 54,
    "/stories": 0,
    f"/stories/{story_id(address(1))}": 2,
    "/attention?q=bridge": 17,
    "/saved": 1,
    "/sources": 0,
    f"/sources/{SITE}": 16,
    "/crawl": 1,
    f"/why?url={quote(address(1), safe='')}": 14,
    "/monitor": 1,
}
"""The maximum number of queries that each page sends when its cached figures are known."""


def test_pages_need_few_queries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    queries: list[str] = []

    def note(statement: str) -> None:
        # other threads compute the cached figures
        if threading.current_thread().name.startswith("look") and statement.startswith(("SELECT", "WITH")):
            queries.append(statement)

    connect = sqlite3.connect

    def connected(*given: Any, **more: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(*given, **more)
        connection.set_trace_callback(note)
        return connection

    monkeypatch.setattr(sqlite3, "connect", connected)
    settings = settings_of(tmp_path)
    fill(settings)
    write_events(settings)
    with searching(settings) as search:
        search.follow()
    sent = Counter[str]()

    async def check(visitor: Visitor) -> None:
        await visitor.post("/login", {"token": TOKEN, "back": "/"})
        for path in QUERIES:
            for _ in range(4):  # each of the threads opens its data at its first page
                await visitor.get(path)
        for path in QUERIES:
            numbers = []
            for _ in range(4):  # the first page in a thread sends more
                queries.clear()
                answer, _ = await visitor.get(path)
                assert answer.status == 200
                numbers.append(len(queries))
            sent[path] = min(numbers)

    visit(settings, check, token=TOKEN)
    assert {path: number for path, number in sent.items() if number > QUERIES[path]} == {}
