"""People have tokens with roles, which a command shows and revokes, and a log says what they did."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from newsbot import backends
from newsbot.apps.team import people as journals
from newsbot.apps.team.people import Journal, add, hashed, people, revoke
from newsbot.apps.web.dashboard import app as dashboards
from newsbot.errors import ArgumentError
from tests.commandline import Place
from tests.dashboarddata import SITE, address, fill
from tests.dashboards import TOKEN, Visitor, settings_of, visit


def tokens_of(settings: dict[str, Any], **roles: str) -> dict[str, str]:
    storage = backends.open_storage(settings)
    found = {name: add(storage.notes, name, role, 1000.0) for name, role in roles.items()}
    storage.close()
    return found


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def test_a_role_may_do_what_it_says_and_what_was_done_is_in_the_log(tmp_path: Path) -> None:
    settings = settings_of(tmp_path)
    fill(settings, articles=3)
    tokens = tokens_of(settings, rita="read", alex="act", ada="admin")
    allowed = {
        ("star", "url", address(1)): {"rita", "alex", "ada"},
        ("pause", "site", SITE): {"alex", "ada"},
        ("start_job", "mode", "once"): {"ada"},
    }

    async def check(visitor: Visitor) -> None:
        for (action, field, value), names in allowed.items():
            for name, token in tokens.items():
                path = f"/api/actions/{action}"
                answer, text = await visitor.post(path, {field: value}, **bearer(token))
                # scrapyd is not configured, so starting a job ends with 404 for those who may do it
                expected = {200, 404} if name in names else {403}
                assert answer.status in expected, (action, name, text)
        answer, text = await visitor.post("/api/actions/pause", {"site": SITE}, **bearer(tokens["rita"]))
        assert "Your role (read) does not allow this" in json.loads(text)["error"]
        answer, _ = await visitor.post("/api/actions/pause", {"site": SITE}, **bearer("nb_wrong"))
        assert answer.status == 401

    visit(settings, check, token=TOKEN, public_url="http://news.test/")
    done = Journal(tmp_path).latest(10)
    assert [(one["person"], one["action"], one["site"]) for one in done] == [
        ("alex", "pause", SITE),
        ("ada", "pause", SITE),
    ]  # neither marks of articles nor what was refused
    assert (tmp_path / "actions.log").stat().st_mode & 0o077 == 0


def test_people_log_in_with_their_own_token_and_a_revoked_one_is_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dashboards, "MEET_EVERY", 0.05)
    settings = settings_of(tmp_path)
    fill(settings, articles=3)
    tokens = tokens_of(settings, rita="read", alex="act")

    async def check(visitor: Visitor) -> None:
        assert (await visitor.get("/"))[0].status == 401
        await visitor.post("/login", {"token": tokens["rita"], "back": "/"})
        _, text = await visitor.get(f"/sources/{SITE}")
        assert "Pause this site" not in text  # a reader has no buttons
        assert "rita ·" in text
        _, text = await visitor.get("/saved")
        assert "Starred articles" in text
        assert "/do/save" not in text
        await visitor.post("/login", {"token": tokens["alex"], "back": "/"})
        assert "Pause this site" in (await visitor.get(f"/sources/{SITE}"))[1]
        storage = backends.open_storage(settings)
        revoke(storage.notes, "alex")
        storage.close()
        while (await visitor.get("/"))[0].status != 401:
            pass
        answer, _ = await visitor.post("/login", {"token": tokens["alex"], "back": "/"})
        assert answer.status == 403

    visit(settings, check, token=TOKEN, public_url="http://news.test/")


def test_the_command_shows_adds_and_revokes(tmp_path: Path) -> None:
    place = Place(tmp_path)
    data = Path(place.environment["NEWSBOT_DATA"])
    settings = {"NEWSBOT_DATA": str(data)}
    added = place.run("team", "add", "ann@example.org", "--role", "act")
    assert added.code == 0, added.err
    token = added.out.strip()
    assert token.startswith("nb_")
    assert "not shown again" in added.err
    storage = backends.open_storage(settings)
    assert people(storage.notes)["ann@example.org"].token == hashed(token)
    assert token not in json.dumps(storage.notes.all("team"))
    storage.close()
    Journal(data).write(1000.0, "ann@example.org", "pause", {"site": SITE})
    shown = place.run("team", "--json")
    assert [(one["name"], one["role"], one["token"]) for one in shown.json] == [
        ("ann@example.org", "act", True)
    ]
    log = place.run("team", "log")
    assert log.out == f"1970-01-01T00:16:40Z  ann@example.org  pause  site={SITE}\n"
    assert place.run("team", "revoke", "ann@example.org").code == 0
    again = place.run("team", "revoke", "ann@example.org")
    assert again.code != 0
    assert "nobody has the name 'ann@example.org'" in again.err


def test_names_are_checked_and_the_log_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    storage = backends.open_storage({"NEWSBOT_DATA": str(tmp_path)})
    for name in ("owner", "", "two words", "a/b", "x" * 81):
        with pytest.raises(ArgumentError, match="a name has"):
            add(storage.notes, name, "read", 0.0)
    storage.notes.save("team", "odd", {"role": "king", "at": 1.0})
    assert people(storage.notes) == {}
    storage.close()
    monkeypatch.setattr(journals, "MAX_BYTES", 300)
    log = Journal(tmp_path)
    for number in range(20):
        log.write(0.0, "ann", "poll", {"site": f"s{number}.test\n", "url": None})
    files = sorted(path.name for path in tmp_path.glob("actions.log*"))
    assert files == ["actions.log", "actions.log.1"]
    assert sum((tmp_path / name).stat().st_size for name in files) < 1000
    assert log.latest(1, "ann")[0]["site"] == "s19.test"
    assert log.latest(5, "nobody") == []
