"""Access to the dashboard: who may read, who may act, and the security headers of responses."""

from __future__ import annotations

import base64
from pathlib import Path
from unittest.mock import Mock

import pytest
from aiohttp.test_utils import make_mocked_request

from newsbot.apps.web.dashboard.access import COOKIE, LONGEST_WAIT, Access, kept_token, make_access
from newsbot.errors import UserError
from tests.builders import ManualClock
from tests.dashboards import TOKEN, Visitor, settings_of, visit


def test_on_loopback_reading_needs_no_token_but_actions_do(tmp_path: Path) -> None:
    async def check(visitor: Visitor) -> None:
        answer, text = await visitor.get("/")
        assert answer.status == 200
        assert "Newest" in text
        assert "read only" in text
        answer, _ = await visitor.get("/healthz")
        assert answer.status == 200
        answer, _ = await visitor.post("/logout", {})
        assert answer.status == 403

    visit(settings_of(tmp_path), check)


@pytest.mark.parametrize("name", ["evil.example", "127.0.0.1.evil.example", "[", "", "10.0.0.1:80"])
def test_requests_with_a_foreign_host_header_are_refused(tmp_path: Path, name: str) -> None:
    async def check(visitor: Visitor) -> None:
        for path in ("/", "/metrics", "/api/overview"):
            answer, text = await visitor.get(path, Host=name)
            assert answer.status in (400, 403, 404), path
            assert "articles stored" not in text
            assert "newsbot_articles" not in text

    visit(settings_of(tmp_path), check)


@pytest.mark.parametrize("options", [{"host": "0.0.0.0"}, {"public_url": "https://news.example"}])
def test_on_other_addresses_reading_needs_the_token(tmp_path: Path, options: dict[str, str]) -> None:
    async def check(visitor: Visitor) -> None:
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

    visit(settings_of(tmp_path), check, token=TOKEN, **options)


def test_other_addresses_without_a_token_are_refused_at_the_start() -> None:
    with pytest.raises(UserError, match="NEWSBOT_WEB_TOKEN"):
        make_access("", "0.0.0.0", public=False)
    with pytest.raises(UserError, match="fewer than 16"):
        make_access("short", "127.0.0.1", public=False)
    assert make_access("", "::1", public=False).reads_open
    assert not make_access("", "127.0.0.1", public=True).reads_open


def test_a_user_logs_in_and_out(tmp_path: Path) -> None:
    async def check(visitor: Visitor) -> None:
        answer, text = await visitor.post("/login", {"token": "wrong"})
        assert answer.status == 403
        assert "token is wrong" in text
        answer, _ = await visitor.post("/login", {"token": TOKEN})
        assert answer.status == 303
        cookie = answer.headers["Set-Cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=Strict" in cookie
        answer, text = await visitor.get("/")
        assert answer.status == 200
        secret = text.split('name="secret" value="')[1].split('"')[0]
        answer, _ = await visitor.post("/logout", {})  # a form of another site does not know the secret
        assert answer.status == 401
        answer, _ = await visitor.post("/logout", {"secret": secret}, Origin="https://evil.example")
        assert answer.status == 401
        answer, _ = await visitor.post("/logout", {"secret": secret}, Sec_Fetch_Site="cross-site")
        assert answer.status == 401
        answer, _ = await visitor.post("/logout", {"secret": secret}, Origin=visitor.address)
        assert answer.status == 303
        answer, _ = await visitor.get("/")
        assert answer.status == 401

    visit(settings_of(tmp_path), check, token=TOKEN, public_url="https://news.example")


def from_proxy() -> Mock:
    """Return the connection of a proxy on this machine."""
    transport = Mock()
    transport.get_extra_info = {"peername": ("127.0.0.1", 4711)}.get
    return transport


def test_attempts_to_guess_the_token_are_limited() -> None:
    clock = ManualClock()
    access = Access(TOKEN, reads_open=True, clock=clock)

    def log_in(token: str, client: str) -> bool:
        request = make_mocked_request("POST", "/login", {"X-Forwarded-For": client}, transport=from_proxy())
        return access.log_in(request, token) is not None

    waits: list[int] = []
    for number in range(80):
        while access._guesses.must_wait("203.0.113.9"):
            clock.now += 1
            waits[-1] += 1
        assert not log_in(f"guess {number}", "203.0.113.9")
        waits.append(0)
        assert log_in(TOKEN, "203.0.113.7"), "another client of the same proxy is a different sender"
    assert waits[:9] == [0] * 9
    assert waits[9:13] == [1, 2, 4, 8]
    assert max(waits) == LONGEST_WAIT
    assert not log_in(TOKEN, "203.0.113.9")
    clock.now -= 30 * 86400.0
    assert not access._guesses.must_wait("203.0.113.9"), "the clock was ahead when the wrong tokens came"
    clock.now += 30 * 86400.0 + LONGEST_WAIT
    assert log_in(TOKEN, "203.0.113.9")


@pytest.mark.parametrize("kind", ["Bearer", "Basic"])
def test_attempts_to_guess_the_token_in_a_header_are_limited(kind: str) -> None:
    access = Access(TOKEN, reads_open=False, clock=ManualClock())

    def may_follow(token: str, client: str) -> bool:
        value = base64.b64encode(f"reader:{token}".encode()).decode() if kind == "Basic" else token
        headers = {"X-Forwarded-For": client, "Authorization": f"{kind} {value}"}
        return access.may_follow(make_mocked_request("GET", "/", headers, transport=from_proxy()))

    for number in range(20):
        assert not may_follow(f"guess {number}", "203.0.113.9")
    assert not may_follow(TOKEN, "203.0.113.9")
    assert may_follow(TOKEN, "203.0.113.7")


def test_a_wrong_token_is_one_guess_for_each_request() -> None:
    access = make_access(TOKEN, "0.0.0.0", public=True)
    for number in range(2):
        given = {"Authorization": f"Bearer guess {number}"}
        request = Mock(spec=["headers", "remote", "cookies"], headers=given, remote="203.0.113.9", cookies={})
        for _ in range(3):  # several steps of a request ask for its sender
            assert access.who(request) is None
            assert not access.may_act(request, None)
    assert access._guesses._wrong["203.0.113.9"][0] == 2


def test_security_headers_forbid_content_of_other_sites(tmp_path: Path) -> None:
    async def check(visitor: Visitor) -> None:
        for path in ("/", "/login", "/assets/keys.js", "/metrics"):
            answer, _ = await visitor.get(path)
            policy = answer.headers["Content-Security-Policy"]
            assert "default-src 'none'" in policy
            assert "unsafe" not in policy
            assert "frame-ancestors 'none'" in policy
            assert answer.headers["X-Content-Type-Options"] == "nosniff"
            assert answer.headers["Server"] == "newsbot"

    visit(settings_of(tmp_path), check)


def test_a_link_logs_in_once(tmp_path: Path) -> None:
    async def check(visitor: Visitor) -> None:
        answer, _ = await visitor.get("/login?once=another")
        assert (answer.status, COOKIE in answer.cookies) == (200, False)
        answer, _ = await visitor.get("/login?once=secret-of-the-start")
        assert (answer.status, answer.headers["Location"], COOKIE in answer.cookies) == (303, "/", True)
        answer, text = await visitor.get("/login?once=secret-of-the-start")
        assert (COOKIE in answer.cookies, "was used already" in text) == (False, True)

    visit(settings_of(tmp_path), check, token=TOKEN, once="secret-of-the-start")


@pytest.mark.parametrize(
    ("back", "place"),
    [
        ("/why?url=https%3A%2F%2Fa.test%2F", "/why?url=https%3A%2F%2Fa.test%2F"),
        ("/saved", "/saved"),
        ("//evil.test/", "/"),
        ("/\\evil.test", "/"),
        ("https://evil.test/", "/"),
        ("/a\r\nSet-Cookie: x=1", "/"),
        ("", "/"),
    ],
)
def test_after_the_log_in_the_user_is_back_on_the_page(tmp_path: Path, back: str, place: str) -> None:
    async def check(visitor: Visitor) -> None:
        _, page = await visitor.get("/saved")
        assert '<a href="/login?back=%2Fsaved">Log in to save' in page
        _, page = await visitor.get("/sources/new")
        assert '<a href="/login?back=%2Fsources%2Fnew">Log in to add a site</a>' in page
        answer, _ = await visitor.post("/login", {"token": TOKEN, "back": back})
        assert (answer.status, answer.headers["Location"]) == (303, place)
        _, page = await visitor.get("/sources/new")
        assert 'value="None"' not in page
        assert 'name="site" value=""' in page

    visit(settings_of(tmp_path), check, token=TOKEN)


def test_the_token_is_made_once_and_only_its_owner_can_read_it(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    token = kept_token(folder)
    assert len(token) >= 32
    assert kept_token(folder) == token
    file = folder / "web-token"
    assert file.stat().st_mode & 0o777 == 0o600
    file.chmod(0o644)
    with pytest.raises(UserError, match="other users may read the token"):
        kept_token(folder)


@pytest.mark.parametrize(
    ("action", "page", "form", "message"),
    [
        ("propose", "/sources/new", {"site": "no site at all"}, "is not the address of a site"),
        ("propose", "/sources/new", {"site": "http://127.0.0.1/x"}, "is not a public address"),
        ("add", "/why", {"url": "mailto:a@b.test"}, "mailto"),
        ("save", "/saved", {"name": "Bridges", "q": ""}, "q is missing"),
        ("forget", "/saved", {"name": ""}, "name is missing"),
    ],
)
def test_wrong_input_keeps_the_form_with_the_message(
    tmp_path: Path, action: str, page: str, form: dict[str, str], message: str
) -> None:
    async def check(visitor: Visitor) -> None:
        await visitor.post("/login", {"token": TOKEN})
        _, text = await visitor.get(page)
        secret = text.partition('name="secret" value="')[2].partition('"')[0]
        answer, _ = await visitor.post(f"/do/{action}", {"secret": secret, **form})
        assert answer.status == 303
        answer, text = await visitor.get(answer.headers["Location"])
        assert answer.status == 200
        assert message in text.partition('role="alert"')[2]
        for value in filter(None, form.values()):
            assert f'value="{value}"' in text
        await visitor.post("/logout", {"secret": secret})
        _, text = await visitor.get(f"{page}?wrong=Call+this+number&form={action}")
        assert "Call this number" not in text  # links of others show no message

    visit(settings_of(tmp_path), check, token=TOKEN)
