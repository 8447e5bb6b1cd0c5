"""The API matches its OpenAPI description, rejects bad requests in one line, and acts only with the token."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

import jsonschema
import pytest

from newsbot import backends
from newsbot.apps.search.articles import ArticleSearch
from newsbot.apps.web.dashboard.app import description
from newsbot.apps.web.dashboard.articles import MAX_MEMBERS
from newsbot.apps.web.dashboard.endpoints import OPERATIONS
from newsbot.items import Kind
from newsbot.sites.pauses_and_removals import paused
from newsbot.storage.articles import story_id
from newsbot.storage.base import SourceRecord
from newsbot.urls import canonicalize, fingerprint
from tests.dashboarddata import SITE, address, fill, make_article
from tests.dashboards import TOKEN, Visitor, settings_of, visit

STORY_PLACE, EVENT_PLACE = "{story}", "{event}"


def paths_of_reads() -> dict[str, str]:
    """Return a request for each operation that reads."""
    one = quote(address(1), safe="")
    return {
        "news": "/api/news",
        "overview": "/api/overview",
        "verdict": "/api/verdict",
        "activity": f"/api/activity?source={SITE}&range=7d",
        "queue": "/api/queue",
        "troubles": "/api/troubles",
        "sources": "/api/sources",
        "source": f"/api/sources/{SITE}",
        "articles": "/api/articles?q=bridge&since=30d&language=en&sort=time&page=2",
        "counts": "/api/articles/counts?q=bridge&since=30d",
        "attention": "/api/articles/attention?q=bridge&q=site:news.test&since=7d",
        "article": f"/api/article?url={one}",
        "versions": f"/api/article/versions?url={quote(address(0), safe='')}",
        "stories": "/api/stories",
        "story": f"/api/stories/{STORY_PLACE}",
        "event": f"/api/events/{EVENT_PLACE}",
        "why": f"/api/why?url={one}",
        "monitor": "/api/monitor",
        "monitor_report": f"/api/monitor/{SITE}",
        "saved": "/api/saved",
        "searches": "/api/searches",
        "search_results": "/api/searches/results?search=plain",
    }


def answer_schema(name: str) -> dict[str, Any]:
    document = description()
    for path in document["paths"].values():
        for operation in path.values():
            if operation["operationId"] == name:
                schema = operation["responses"]["200"]["content"]["application/json"]["schema"]
                return {**schema, "components": document["components"]}
    raise AssertionError(name)


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    found = settings_of(tmp_path_factory.mktemp("api"))
    fill(found)
    return found


def test_every_read_operation_is_tested_below() -> None:
    elsewhere = {"proposal", "jobs", "job_log"}  # see test_dashboard_new_site and test_scrapyd
    assert set(paths_of_reads()) == {one.name for one in OPERATIONS if one.method == "GET"} - elsewhere


def test_responses_match_their_descriptions(settings: dict[str, Any]) -> None:
    async def check(visitor: Visitor) -> None:
        answer, text = await visitor.get("/openapi.json")
        assert json.loads(text) == description()
        assert json.loads(text)["openapi"] == "3.1.0"
        _, text = await visitor.get("/api/stories")
        story = json.loads(text)[0]["story"]
        _, text = await visitor.get(paths_of_reads()["article"])
        event = json.loads(text)["event"] or ""
        for name, place in paths_of_reads().items():
            path = place.replace(STORY_PLACE, story).replace(EVENT_PLACE, event)
            answer, text = await visitor.get(path)
            assert answer.status == 200, (path, text)
            found = json.loads(text)
            assert found, name
            jsonschema.Draft202012Validator(answer_schema(name)).validate(found)

    visit(settings, check)


def test_references_in_descriptions_exist() -> None:
    text = json.dumps(description())
    schemas = description()["components"]["schemas"]
    named = {part.split('"')[0] for part in text.split('"#/components/schemas/')[1:]}
    assert named <= set(schemas)
    for name, schema in schemas.items():
        jsonschema.Draft202012Validator.check_schema(schema)
        assert name == "Error" or schema["description"], name


def test_members_of_a_story_have_their_relation(tmp_path: Path) -> None:
    """The story is also found under the id that it had before it was merged into another story."""
    settings = settings_of(tmp_path)
    storage = backends.open_storage(settings)
    for number, relation, similarity in ((1, "new", None), (2, "derived", 0.31), (3, "member", 0.87)):
        basis = [address(9)] if relation == "derived" else []
        ids = {"story": story_id(address(number)), "derived_from": basis}
        storage.articles.store(make_article(number, relation=relation, similarity=similarity, **ids))
    storage.stories.join([address(1), address(2), address(3)])
    storage.close()

    async def check(visitor: Visitor) -> None:
        for number in (1, 2, 3):
            answer, text = await visitor.get(f"/api/stories/{story_id(address(number))}")
            assert answer.status == 200, text
            found = json.loads(text)
            members = {one["canonical_url"]: one for one in found["members"]}
            assert {one["story"] for one in members.values()} == {found["story"]}
            relations = [
                (members[address(n)]["relation"], members[address(n)]["similarity"]) for n in (1, 2, 3)
            ]
            assert relations == [("new", None), ("derived", 0.31), ("member", 0.87)]
            assert members[address(2)]["derived_from"] == [address(9)]
            answer, text = await visitor.get(f"/stories/{story_id(address(number))}")
            assert "nearly the same text (87 % of the words)" in text
            assert "takes over parts of another text (31 % of the words)" in text
            assert f'has text of <a href="/article?url={quote(address(9), safe="")}">{SITE}</a>' in text

    visit(settings, check)


def test_the_members_of_a_long_story_are_those_published_first(tmp_path: Path) -> None:
    """The first article is the one that was published first, even if its page was fetched last."""
    settings = settings_of(tmp_path)
    storage = backends.open_storage(settings)
    for number in range(MAX_MEMBERS + 2):  # higher numbers were published earlier
        seen = datetime.now(UTC) + timedelta(minutes=number)
        fields = {"story": "long", "source": "late.test" if number == 0 else "news.test"}
        storage.articles.store(make_article(number, fetched_at=seen, discovered_at=seen, **fields))
    storage.close()

    async def check(visitor: Visitor) -> None:
        found = json.loads((await visitor.get("/api/stories/long"))[1])
        assert found["first"]["canonical_url"] == address(MAX_MEMBERS + 1)
        assert found["count"] == MAX_MEMBERS + 2
        assert found["sources"] == ["news.test", "late.test"]  # late.test's article is not shown
        assert [one["canonical_url"] for one in found["members"]] == [
            address(number) for number in range(MAX_MEMBERS + 1, 1, -1)
        ]

    visit(settings, check)


def test_a_search_reports_an_incomplete_index(
    settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ArticleSearch, "waiting", lambda _: 4101)

    async def check(visitor: Visitor) -> None:
        for words, unindexed in (("bridge", 4101), ("", 0)):
            _, text = await visitor.get(f"/api/articles?q={words}")
            assert json.loads(text)["unindexed"] == unindexed
            _, page = await visitor.get(f"/articles?q={words}")
            assert ("4\u202f101 articles were not searched" in page) == bool(unindexed)
            assert ("scrapy articles index" in page) == bool(unindexed)

    visit(settings, check)


def test_each_article_is_on_one_page_of_the_results(settings: dict[str, Any]) -> None:
    async def check(visitor: Visitor) -> None:
        seen: list[str] = []
        for page in (1, 2, 3):
            _, text = await visitor.get(f"/api/articles?q=&source={SITE}&page={page}")
            found = json.loads(text)
            seen += [one["canonical_url"] for one in found["articles"]]
            assert found["more"] == (page < 3)
            assert found["unindexed"] == 0
        assert len(seen) == len(set(seen)) == 45
        _, text = await visitor.get("/api/articles?q=bridge&source=other.test")
        assert json.loads(text)["articles"] == []
        _, text = await visitor.get(f"/api/article/versions?url={quote(address(0), safe='')}")
        first, second = json.loads(text)
        assert first["changes"] == {}
        assert second["changes"]["text"]["added"][0] == "Another text."

    visit(settings, check)


@pytest.mark.parametrize(
    ("path", "status", "message"),
    [
        ("/api/articles?page=0", 400, "page is a whole number from 1 to 10"),
        ("/api/articles?page=99999999999999999999", 400, "page is a whole number"),
        ("/api/articles?since=soon", 400, "is not a date"),
        ("/api/articles?sort=best", 400, "sort is one of: time, rank"),
        ("/api/articles?q=" + "x" * 2001, 400, "q is longer than 2000"),
        ("/api/article", 400, "url is missing"),
        ("/api/article?url=nonsense", 400, "is not an absolute"),
        ("/api/article?url=https://news.test/none", 404, "no article is stored"),
        ("/api/why?url=//x", 400, "is not an absolute"),
        ("/api/sources/none.example", 404, "is not a site"),
        ("/api/activity?range=9d", 400, "is one of: 2d, 7d, 30d, 60d"),
        ("/api/proposal?site=new.example", 404, "no proposal was requested"),
        ("/api/proposal?site=a+b", 400, "is not the address of a site"),
        ("/api/jobs", 404, "no scrapyd is configured"),
        ("/api/stories/none", 404, "there is no story with this id"),
        ("/api/monitor/none.example", 404, "was never monitored"),
    ],
)
def test_errors_are_one_line(settings: dict[str, Any], path: str, status: int, message: str) -> None:
    async def check(visitor: Visitor) -> None:
        answer, text = await visitor.get(path)
        assert answer.status == status
        assert message in json.loads(text)["error"]
        assert "Traceback" not in text

    visit(settings, check)


def test_actions_need_the_token(tmp_path: Path) -> None:
    settings = settings_of(tmp_path)
    bearer = {"Authorization": f"Bearer {TOKEN}"}
    url = f"https://{SITE}/2026/11/21/by-hand.html"

    async def check(visitor: Visitor) -> None:
        for path in ("add", "refetch", "pause", "poll", "propose", "resume"):
            form = {"url": url, "site": SITE}
            assert (await visitor.post(f"/api/actions/{path}", form))[0].status == 401
            wrong = {"Authorization": "Bearer " + "x" * 30}
            assert (await visitor.post(f"/api/actions/{path}", form, **wrong))[0].status == 401
        assert paused_sites(settings) == {}
        _, text = await visitor.post("/api/actions/add", {"url": url, "kind": "article"}, **bearer)
        assert json.loads(text)["verdict"] == "new"
        _, text = await visitor.post("/api/actions/refetch", {"url": url}, **bearer)
        assert json.loads(text)["verdict"] == "known"
        _, text = await visitor.post("/api/actions/pause", {"site": SITE}, **bearer)
        assert json.loads(text)["verdict"] == "paused"
        assert list(paused_sites(settings)) == [SITE]
        _, text = await visitor.get("/api/sources")
        assert [one["health"] for one in json.loads(text)] == ["paused"]
        _, text = await visitor.post("/api/actions/resume", {"site": SITE}, **bearer)
        assert json.loads(text)["verdict"] == "resumed"
        for path, form in (("add", {"url": "ftp://x"}), ("add", {}), ("pause", {"site": "none.example"})):
            answer, text = await visitor.post(f"/api/actions/{path}", form, **bearer)
            assert answer.status == 400, text

    visit(settings, check, token=TOKEN)
    assert paused_sites(settings) == {}
    frontier = backends.open_frontier(settings)
    key = fingerprint(canonicalize(url))
    assert frontier.known([key])[key].state == "pending"
    frontier.close()


def test_poll_now_also_works_for_sources_on_another_host(tmp_path: Path) -> None:
    settings, other = settings_of(tmp_path), "https://feeds.example/of-news-test.xml"
    fill(settings)
    storage = backends.open_storage(settings)
    storage.sources.save([SourceRecord(url=other, source=SITE, kind=Kind.FEED)])
    storage.close()
    (tmp_path / "rules" / "new.test.yaml").write_text("domain: new.test\n")

    async def check(visitor: Visitor) -> None:
        async def poll(**form: str) -> str:
            bearer = {"Authorization": f"Bearer {TOKEN}"}
            answer, text = await visitor.post("/api/actions/poll", form, **bearer)
            assert answer.status in (200, 400)
            return str(json.loads(text)["text" if answer.status == 200 else "error"])

        assert (await poll(site=SITE, url=other)).startswith(f"1 source of {SITE} queued")
        assert (await poll(site=SITE)).startswith(f"2 sources of {SITE} queued")
        assert "no such source is known" in await poll(site=SITE, url="https://feeds.example/other.xml")
        assert "crawls look for feeds by themselves" in await poll(site="new.test")
        assert "is not a site" in await poll(site="none.example")

    visit(settings, check, token=TOKEN)
    frontier = backends.open_frontier(settings)
    for host in ("feeds.example", SITE):
        frontier.set_politeness(host, delay=0.0, concurrency=9)
    found = [one.entry for one in frontier.lease("w", 99, horizon=time.time(), ttl=9)]
    frontier.close()
    assert {(one.url, one.data["source"]) for one in found if one.kind is Kind.FEED} == {
        (other, SITE),
        (f"https://{SITE}/feed.xml", SITE),
    }


def paused_sites(settings: dict[str, Any]) -> dict[str, float]:
    storage: Any = backends.open_storage(settings)
    try:
        return paused(storage.notes)
    finally:
        storage.close()


def test_without_a_token_no_action_runs(tmp_path: Path) -> None:
    settings = settings_of(tmp_path)

    async def check(visitor: Visitor) -> None:
        for header in ("", "Bearer", "Bearer ", "Bearer x"):
            answer, _ = await visitor.post("/api/actions/pause", {"site": SITE}, Authorization=header)
            assert answer.status == 403

    visit(settings, check)
    assert paused_sites(settings) == {}


def test_each_operation_and_parameter_is_documented() -> None:
    text = (Path(__file__).resolve().parent.parent / "docs/dashboard.md").read_text(encoding="utf-8")
    for one in OPERATIONS:
        (row,) = [line for line in text.splitlines() if line.startswith(f"- `{one.method} /api{one.path}`: ")]
        assert all(f"`{parameter.name}`" in row for parameter in one.parameters), row
