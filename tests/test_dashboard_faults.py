"""Unknown URLs, requests that are too long and internal errors get error pages of newsbot."""

from __future__ import annotations

import json
import logging
from io import BytesIO
from pathlib import Path
from urllib.parse import quote

import pytest

from newsbot.apps.web.dashboard import pages, rendering
from tests.dashboarddata import address
from tests.dashboards import TOKEN, Visitor, settings_of, visit


def test_unknown_urls(tmp_path: Path) -> None:
    async def check(visitor: Visitor) -> None:
        for path in (
            "/none",
            "/sources/a/b",
            "/%00",
            "/assets/none.css",
            "/assets/../x",
            "/simulator/no.html",
        ):
            answer, text = await visitor.get(path)
            assert (answer.status, answer.content_type) == (404, "text/html"), path
            assert "Not found" in text
            assert answer.headers["X-Frame-Options"] == "DENY"
        for path in ("/api/none", "/api/", "/push/none"):
            answer, text = await visitor.get(path)
            assert answer.status == 404, path
            assert json.loads(text)["error"]
        answer, text = await visitor.post("/api/overview", {})
        assert (answer.status, answer.headers["Allow"]) == (405, "GET")
        assert json.loads(text)["error"]

    visit(settings_of(tmp_path), check)


def test_unauthorized_users_do_not_learn_which_urls_exist(tmp_path: Path) -> None:
    async def check(visitor: Visitor) -> None:
        for path in ("/none", "/sources", "/api/none", "/api/overview"):
            answer, _ = await visitor.get(path)
            assert answer.status == 401, path

    visit(settings_of(tmp_path), check, token=TOKEN, public_url="https://news.example")


def test_a_request_that_is_too_long(tmp_path: Path) -> None:
    async def check(visitor: Visitor) -> None:
        form = {"Content-Type": "application/x-www-form-urlencoded", "Authorization": f"Bearer {TOKEN}"}
        long = BytesIO(b"url=" + b"x" * 2**21)
        place = f"{visitor.address}/api/actions/add"
        async with visitor.client.post(place, data=long, headers=form) as answer:
            assert answer.status == 413
            assert "too long" in (await answer.json())["error"]

    visit(settings_of(tmp_path), check, token=TOKEN)


@pytest.mark.parametrize(
    "content_type",
    [
        "multipart/form-data",
        "multipart/form-data; boundary=x",
        "application/x-www-form-urlencoded; charset=none-such",
    ],
)
def test_a_body_that_is_not_a_form(tmp_path: Path, content_type: str) -> None:
    headers = {"Content-Type": content_type, "Authorization": f"Bearer {TOKEN}"}

    async def check(visitor: Visitor) -> None:
        for path in ("/login", "/do/pause", "/api/actions/pause", "/push/rsscloud"):
            place = visitor.address + path
            async with visitor.client.post(place, data=b"url=%FF&junk", headers=headers) as answer:
                text = await answer.text()
                assert answer.status == 400, (path, text)
                assert "the form cannot be read" in text

    visit(settings_of(tmp_path), check, token=TOKEN)


def test_an_internal_error_is_one_line_in_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_given: object, **_more: object) -> None:
        raise RuntimeError("first line\nsecond line")

    monkeypatch.setattr("newsbot.apps.web.dashboard.articles.find", broken)
    monkeypatch.setattr(pages, "history", broken)

    async def check(visitor: Visitor) -> None:
        for path in ("/articles", "/why?url=" + quote("https://news.test/1")):
            answer, text = await visitor.get(path)
            assert (answer.status, answer.content_type) == (500, "text/html"), path
            assert "error in newsbot" in text
            assert "RuntimeError" not in text
        answer, text = await visitor.get("/api/articles")
        assert answer.status == 500
        assert "error in newsbot" in json.loads(text)["error"]

    with caplog.at_level(logging.ERROR):
        visit(settings_of(tmp_path), check)
    messages = [record.getMessage() for record in caplog.records]
    assert len(messages) == 3
    assert messages[-1].startswith(
        "fault method=GET path=/api/articles error=RuntimeError at=test_dashboard_faults.py:"
    )
    assert "first line second line" in messages[-1]
    assert not any(record.exc_info for record in caplog.records)


def test_the_path_of_the_rules_is_not_shown(tmp_path: Path) -> None:
    settings = settings_of(tmp_path)
    rules = tmp_path / "rules" / "news.test.yaml"
    rules.write_text("domain: news.test\nfeeds: https://news.test/feed.xml\narticle: ^/2026/\n")

    async def check(visitor: Visitor) -> None:
        _, text = await visitor.get("/api/why?url=" + quote(address(1), safe=""))
        assert json.loads(text)["rule"] == "news.test.yaml"
        assert "news.test.yaml:3" in json.loads(text)["match"]["pattern"]
        _, page = await visitor.get("/why?url=" + quote(address(1), safe=""))
        assert "news.test.yaml" in page
        assert str(tmp_path) not in text + page

    visit(settings, check)


def test_pages_mask_the_secrets_of_urls_and_answers_in_json_do_not(tmp_path: Path) -> None:
    url = "https://news.test/1?token=geheim"

    async def check(visitor: Visitor) -> None:
        _, text = await visitor.get("/api/why?url=" + quote(url, safe=""))
        assert url in text
        _, page = await visitor.get("/why?url=" + quote(url, safe=""))
        assert "geheim" not in page.partition("<pre>")[2].partition("</pre>")[0]
        assert "https://news.test/1?token=***" in page

    visit(settings_of(tmp_path), check)
    assert rendering.href(url) == url
