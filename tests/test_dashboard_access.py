"""Who may see the dashboard, who may act, and what each answer tells a browser."""

from __future__ import annotations

from pathlib import Path

import pytest

from newsbot.errors import UserError
from newsbot.web.dashboard.access import TRIES_PER_HOUR, Access, make_access
from tests.builders import ManualClock
from tests.dashboards import TOKEN, Visitor, settings_of, visit


def test_on_loopback_all_may_read_and_nobody_acts_without_a_token(tmp_path: Path) -> None:
    async def look(visitor: Visitor) -> None:
        answer, text = await visitor.get("/")
        assert answer.status == 200
        assert "Overview" in text
        assert "read only" in text
        answer, _ = await visitor.get("/healthz")
        assert answer.status == 200
        answer, _ = await visitor.post("/logout", {})
        assert answer.status == 403

    visit(settings_of(tmp_path), look)


@pytest.mark.parametrize("name", ["evil.example", "127.0.0.1.evil.example", "[", "", "10.0.0.1:80"])
def test_a_name_that_leads_to_loopback_opens_nothing(tmp_path: Path, name: str) -> None:
    async def look(visitor: Visitor) -> None:
        for path in ("/", "/metrics", "/api/overview"):
            answer, text = await visitor.get(path, Host=name)
            assert answer.status in (400, 403, 404), path
            assert "articles stored" not in text
            assert "newsbot_articles" not in text

    visit(settings_of(tmp_path), look)


@pytest.mark.parametrize("options", [{"host": "0.0.0.0"}, {"public_url": "https://news.example"}])
def test_where_others_reach_us_reading_takes_the_token(tmp_path: Path, options: dict[str, str]) -> None:
    async def look(visitor: Visitor) -> None:
        visitor.address = visitor.address.replace("0.0.0.0", "127.0.0.1")
        for path in ("/", "/metrics"):
            answer, text = await visitor.get(path)
            assert answer.status == 401, path
            assert "newsbot_articles" not in text
            answer, _ = await visitor.get(path, Authorization=f"Bearer {TOKEN[:-1]}")
            assert answer.status == 401
            answer, _ = await visitor.get(path, Authorization=f"Bearer {TOKEN}")
            assert answer.status == 200
        answer, _ = await visitor.get("/healthz")
        assert answer.status == 200
        answer, _ = await visitor.get("/assets/style.css")
        assert answer.status == 200

    visit(settings_of(tmp_path), look, token=TOKEN, **options)


def test_another_address_without_a_token_is_refused_at_start() -> None:
    with pytest.raises(UserError, match="NEWSBOT_WEB_TOKEN"):
        make_access("", "0.0.0.0", public=False)
    with pytest.raises(UserError, match="less than 16"):
        make_access("short", "127.0.0.1", public=False)
    assert make_access("", "::1", public=False).reads_open
    assert not make_access("", "127.0.0.1", public=True).reads_open


def test_a_person_logs_in_and_out(tmp_path: Path) -> None:
    async def look(visitor: Visitor) -> None:
        answer, text = await visitor.post("/login", {"token": "wrong"})
        assert answer.status == 403
        assert "not the token" in text
        answer, _ = await visitor.post("/login", {"token": TOKEN})
        assert answer.status == 303
        cookie = answer.headers["Set-Cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=Strict" in cookie
        answer, text = await visitor.get("/")
        assert answer.status == 200
        secret = text.split('name="secret" value="')[1].split('"')[0]
        answer, _ = await visitor.post("/logout", {})  # another site's form does not know the secret
        assert answer.status == 401
        answer, _ = await visitor.post("/logout", {"secret": secret}, Origin="https://evil.example")
        assert answer.status == 401
        answer, _ = await visitor.post("/logout", {"secret": secret}, Sec_Fetch_Site="cross-site")
        assert answer.status == 401
        answer, _ = await visitor.post("/logout", {"secret": secret}, Origin=visitor.address)
        assert answer.status == 303
        answer, _ = await visitor.get("/")
        assert answer.status == 401

    visit(settings_of(tmp_path), look, token=TOKEN, public_url="https://news.example")


def test_tokens_cannot_be_tried_without_end() -> None:
    class Request:
        remote = "203.0.113.9"

    clock = ManualClock()
    access = Access(TOKEN, reads_open=True, clock=clock)
    for number in range(10):
        assert access.log_in(Request(), f"guess {number}") is None  # type: ignore[arg-type]
    assert access.log_in(Request(), TOKEN) is None  # type: ignore[arg-type]
    clock.now += 3600 / TRIES_PER_HOUR
    assert access.log_in(Request(), TOKEN) is not None  # type: ignore[arg-type]


def test_headers_let_nothing_in_from_elsewhere(tmp_path: Path) -> None:
    async def look(visitor: Visitor) -> None:
        for path in ("/", "/login", "/assets/keys.js", "/metrics"):
            answer, _ = await visitor.get(path)
            policy = answer.headers["Content-Security-Policy"]
            assert "default-src 'none'" in policy
            assert "unsafe" not in policy
            assert "frame-ancestors 'none'" in policy
            assert answer.headers["X-Content-Type-Options"] == "nosniff"
            assert answer.headers["Server"] == "newsbot"

    visit(settings_of(tmp_path), look)
