"""Searches as feeds for feed readers."""

from __future__ import annotations

import asyncio
import csv
import json
from base64 import b64encode
from contextlib import closing
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from newsbot.apps.export.formats import feed_of
from newsbot.apps.search.articles import open_search, searching
from newsbot.backends import open_storage
from newsbot.items import ArticleFilter
from newsbot.pages.discovery.feeds import parse_feed
from newsbot.storage.sqlite import SqliteStorage
from tests.commandline import article
from tests.dashboards import TOKEN, Visitor, settings_of, visit

ATOM = "http://www.w3.org/2005/Atom"


@pytest.fixture
def settings(tmp_path: Path) -> dict[str, str]:
    with closing(SqliteStorage(tmp_path / "newsbot.db")) as storage:
        storage.articles.store(
            article(1, title="The old harbour", text="A bridge stands at the harbour. " * 9)
        )
        storage.articles.store(article(2, title="Порт", text="Мост стоит у порта. " * 9, language="ru"))
        storage.articles.store(
            article(3, title="Another harbour", source="other.net", text="Ships of the sea. " * 9)
        )
    found = settings_of(tmp_path)
    with searching(found) as search:  # otherwise a busy server may answer before it has indexed them
        search.follow()
    return found


def basic(password: str, name: str = "reader") -> str:
    return "Basic " + b64encode(f"{name}:{password}".encode()).decode()


@pytest.mark.parametrize("kind", ["atom", "rss"])
def test_a_search_is_a_feed(settings: dict[str, str], kind: str) -> None:
    async def check(visitor: Visitor) -> None:
        for query, titles in (
            ("", {"The old harbour", "Порт", "Another harbour"}),
            ("?q=harbours", {"The old harbour", "Another harbour"}),
            ("?q=harbour+-bridge", {"Another harbour"}),
            ("?source=OTHER.net", {"Another harbour"}),
            ("?language=ru", {"Порт"}),
            ("?q=nothing+at+all", set()),
        ):
            answer, text = await visitor.get(f"/articles.{kind}{query}")
            assert (answer.status, answer.content_type) == (200, f"application/{kind}+xml")
            feed = parse_feed(text.encode(), visitor.address)
            assert feed.problems == ([] if titles else ["no_items:1"])
            assert {link.text for link in feed.links} == titles, query
        _, text = await visitor.get(f"/articles.{kind}?limit=1")
        assert len(parse_feed(text.encode(), visitor.address).links) == 1

    visit(settings, check)


def test_an_unchanged_feed_is_not_sent_again(settings: dict[str, str]) -> None:
    async def check(visitor: Visitor) -> None:
        first, text = await visitor.get("/articles.atom?q=harbour")
        assert text
        again, text = await visitor.get("/articles.atom?q=harbour", If_None_Match=first.headers["ETag"])
        assert (again.status, text) == (304, "")
        assert again.headers["ETag"] == first.headers["ETag"]

        def store() -> None:
            with closing(SqliteStorage(Path(settings["NEWSBOT_DATA"]) / "newsbot.db")) as storage:
                storage.articles.store(article(4, title="A third harbour"))

        await asyncio.to_thread(store)
        again, text = await visitor.get("/articles.atom?q=harbour", If_None_Match=first.headers["ETag"])
        assert again.status == 200
        assert "A third harbour" in text

    visit(settings, check)


def test_the_page_of_a_search_links_to_its_feed(settings: dict[str, str]) -> None:
    async def check(visitor: Visitor) -> None:
        _, text = await visitor.get("/articles?q=old+%26+new&source=other.net&page=1")
        at = "/articles.atom?q=old+%26+new&amp;source=other.net"
        assert f'<link rel="alternate" type="application/atom+xml" title="This search" href="{at}">' in text
        answer, text = await visitor.get(at.replace("&amp;", "&"))
        root = ET.fromstring(text)
        assert answer.status == 200
        assert root.find(f"{{{ATOM}}}link").get("href") == visitor.address + at.replace("&amp;", "&")  # type: ignore[union-attr]
        page = root.findall(f"{{{ATOM}}}link")[-1].get("href")
        assert page == visitor.address + "/articles?q=old+%26+new&source=other.net"
        _, text = await visitor.get("/articles.rss?q=old")
        assert ET.fromstring(text).findtext("channel/link") == f"{visitor.address}/articles?q=old"
        assert root.findtext(f"{{{ATOM}}}title") == "newsbot: old & new, other.net"

    visit(settings, check)


def test_a_search_is_a_file(settings: dict[str, str]) -> None:
    async def check(visitor: Visitor) -> None:
        _, page = await visitor.get("/articles?q=harbour&language=en")
        assert 'href="/articles.csv?q=harbour&amp;language=en" download' in page
        answer, text = await visitor.get("/articles.csv?q=harbour")
        assert answer.headers["Content-Disposition"] == 'attachment; filename="articles.csv"'
        rows = list(csv.DictReader(text.splitlines()))
        assert sorted(one["title"] for one in rows) == ["Another harbour", "The old harbour"]
        assert "A bridge stands" in "".join(one["text"] for one in rows)
        _, text = await visitor.get("/articles.jsonl?language=ru&limit=1")
        assert [json.loads(line)["title"] for line in text.splitlines()] == ["Порт"]
        answer, _ = await visitor.get("/articles.csv?limit=1001")
        assert answer.status == 400

    visit(settings, check)


@pytest.mark.parametrize("query", ["limit=0", "limit=x", "limit=201", "since=soon", f"q={'x' * 2001}"])
def test_errors_are_reported_in_one_line(settings: dict[str, str], query: str) -> None:
    async def check(visitor: Visitor) -> None:
        answer, text = await visitor.get(f"/articles.rss?{query}")
        assert answer.status == 400
        assert text.startswith('{"error": "' + query.partition("=")[0])

    visit(settings, check)


def test_a_reader_sends_the_token_as_a_password(settings: dict[str, str]) -> None:
    async def check(visitor: Visitor) -> None:
        answer, _ = await visitor.get("/articles.atom")
        assert (answer.status, answer.headers["WWW-Authenticate"]) == (401, 'Basic realm="newsbot"')
        for header in (basic(TOKEN), basic(TOKEN, ""), f"Bearer {TOKEN}"):
            answer, text = await visitor.get("/articles.atom?q=harbour", Authorization=header)
            assert answer.status == 200
            assert "The old harbour" in text
        for header in (basic(TOKEN[:-1]), basic(""), "Basic", "Basic ?", "Basic /w==", f"Basic {TOKEN}"):
            answer, text = await visitor.get("/articles.atom", Authorization=header)
            assert answer.status == 401, header
            assert "harbour" not in text

    visit(settings, check, token=TOKEN, public_url="https://news.example")


def test_a_password_gives_access_only_to_feeds(settings: dict[str, str]) -> None:
    """Browsers send a password automatically, also for pages of other sites."""

    async def check(visitor: Visitor) -> None:
        for path in ("/", "/articles", "/api/articles", "/metrics"):
            answer, _ = await visitor.get(path, Authorization=basic(TOKEN))
            assert answer.status == 401, path
        form = {"site": "news.test"}
        answer, _ = await visitor.post("/api/actions/pause", form, Authorization=basic(TOKEN))
        assert answer.status == 401

    visit(settings, check, token=TOKEN, public_url="https://news.example")


def test_without_a_token_an_empty_password_gives_no_access(settings: dict[str, str]) -> None:
    async def check(visitor: Visitor) -> None:
        answer, _ = await visitor.get("/articles.atom", Host="evil.example", Authorization=basic(""))
        assert answer.status == 403

    visit(settings, check)


def test_each_search_has_a_permanent_id(tmp_path: Path) -> None:
    def identity(query: str, where: ArticleFilter | None = None, limit: int = 9) -> str | None:
        return ET.fromstring(feed_of(search, query, where, limit=limit)).findtext(f"{{{ATOM}}}id")

    settings = {"NEWSBOT_DATA": str(tmp_path)}
    with closing(open_storage(settings)) as storage, closing(open_search(settings, storage)) as search:
        searches = [
            ("", None),
            ("a", None),
            ("b", None),
            ("a", ArticleFilter(source="x.net")),
            ("x.net", None),
        ]
        found = [identity(query, where) for query, where in searches]
        assert len(set(found)) == len(searches)
        storage.articles.store(article(1))
        assert [identity(query, where, 3) for query, where in searches] == found
        assert identity(" a ", ArticleFilter()) == found[1]
