"""Which backend is used for which purpose, with MongoDB."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from pymongo import MongoClient

from newsbot.apps.mongodb.storage import MongoStorage
from newsbot.backends import open_storage
from newsbot.storage.sqlite import SqliteStorage
from testbed.mockserver import MockServer
from testbed.servers import free_port
from tests.crawls import World


@pytest.fixture
def uri(mongo_uri: str) -> Iterator[str]:
    """The URI of a database for one test."""
    name = f"newsbot_test_{uuid4().hex[:12]}"
    place, _, options = mongo_uri.partition("?")
    yield f"{place.rstrip('/')}/{name}{'?' if options else ''}{options}"
    with MongoClient[dict[str, Any]](mongo_uri) as client:
        client.drop_database(name)


def test_mongo_uri_chooses_the_storage(tmp_path: Path, uri: str) -> None:
    with closing(open_storage({"NEWSBOT_DATA": str(tmp_path), "MONGO_URI": ""})) as storage:
        assert isinstance(storage, SqliteStorage)
    with closing(open_storage({"NEWSBOT_DATA": str(tmp_path / "unused"), "MONGO_URI": uri})) as storage:
        assert isinstance(storage, MongoStorage)
    assert not (tmp_path / "unused").exists()


ARTICLE = """<html lang="en"><head><title>{0}</title></head><body><article><h1>{0}</h1>
<p>The council of {0} has met again on Monday and decided to build the bridge that people asked for.</p>
<p>Work begins in spring, {0} being first. The mayor said that nobody will have to wait for long, and that
the money has been found in the budget of the coming year, after a debate of six hours.</p></article>
</body></html>"""


def test_a_crawl_keeps_its_articles_in_mongodb(world: World, site: MockServer, uri: str) -> None:
    for name in ("oslo", "bergen"):
        site.page(f"news.test/2024/05/03/{name}-bridge.html", ARTICLE.format(name))
    world.rule("news.test", "domain: news.test\narticle: /\\d+/\\d+/\\d+/\n")
    urls = ",".join(f"http://news.test/2024/05/03/{name}-bridge.html" for name in ("oslo", "bergen"))
    crawl = world.crawl("-a", f"urls={urls}", MONGO_URI=uri)
    assert crawl.code == 0, crawl.err
    with closing(MongoStorage(uri)) as storage:
        assert {article.source for article in storage.articles.iter()} == {"news.test"}
        assert storage.articles.count() == 2
        assert {page.state for page in storage.pages.iter()} == {"done"}
    again = world.crawl("-a", f"urls={urls}", MONGO_URI=uri)
    assert again.code == 0, again.err
    with closing(MongoStorage(uri)) as storage:
        assert storage.articles.count() == 2


def test_a_crawl_reports_in_one_line_that_mongodb_is_down(world: World) -> None:
    world.rule("news.test")
    uri = f"mongodb://user:Sekret@127.0.0.1:{free_port()}/?serverSelectionTimeoutMS=300"
    crawl = world.crawl(MONGO_URI=uri)
    assert crawl.code == 1
    (line,) = crawl.err.strip().splitlines()
    assert "does not answer; start it, or correct MONGO_URI" in line
    assert "Sekret" not in crawl.err + crawl.out
    assert json.dumps(crawl.stats) == "{}"
