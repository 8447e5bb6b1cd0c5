"""People log in through an OpenID Connect provider, here one on this machine, if they are in the team."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from aiohttp import web

from newsbot import backends
from newsbot.apps.team.people import add
from tests.dashboards import TOKEN, Visitor, settings_of, visiting

challenges = pytest.importorskip("authlib.oauth2.rfc7636")
jwt = pytest.importorskip("joserfc.jwt")
ECKey = pytest.importorskip("joserfc.jwk").ECKey

CLIENT, SECRET = "newsbot-here", "the secret of this server"


@dataclass
class LocalProvider:
    """A provider. ``claims`` change what its tokens say."""

    claims: dict[str, Any] = field(default_factory=dict)
    key: Any = field(default_factory=lambda: ECKey.generate_key("P-256", {"kid": "one"}))
    signed_with: Any = None
    address: str = ""
    asked: dict[str, str] = field(default_factory=dict)
    """The query with which a browser came."""

    async def metadata(self, _request: web.Request) -> web.Response:
        return web.json_response(
            {
                "issuer": self.address,
                "authorization_endpoint": f"{self.address}/authorize",
                "token_endpoint": f"{self.address}/token",
                "jwks_uri": f"{self.address}/keys",
            }
        )

    async def keys(self, _request: web.Request) -> web.Response:
        return web.json_response({"keys": [self.key.as_dict(private=False)]})

    async def token(self, request: web.Request) -> web.Response:
        form = dict(await request.post())
        assert request.headers["Authorization"].startswith("Basic ")
        assert form["code"] == "a code"
        challenge = challenges.create_s256_code_challenge(str(form["code_verifier"]))
        assert challenge == self.asked["code_challenge"]
        now = int(time.time())
        claims = {
            "iss": self.address,
            "aud": CLIENT,
            "sub": "1",
            "iat": now,
            "exp": now + 60,
            "nonce": self.asked["nonce"],
            "email": "ann@example.org",
            "email_verified": True,
            **self.claims,
        }
        key = self.signed_with or self.key
        text = jwt.encode({"alg": "ES256", "kid": "one"}, claims, key)
        return web.json_response({"access_token": "x", "token_type": "Bearer", "id_token": text})


def with_provider(
    folder: Path, work: Callable[[Visitor, LocalProvider], Awaitable[None]], **people: str
) -> None:
    """Run a provider and the dashboard. ``people`` are the roles of the team, by the name before ``@``."""

    async def whole() -> None:
        provider = LocalProvider()
        app = web.Application()
        app.router.add_get("/.well-known/openid-configuration", provider.metadata)
        app.router.add_get("/keys", provider.keys)
        app.router.add_post("/token", provider.token)
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        provider.address = "http://{}:{}".format(*runner.addresses[0][:2])
        settings = settings_of(
            folder,
            NEWSBOT_OIDC_ISSUER=provider.address,
            NEWSBOT_OIDC_CLIENT=CLIENT,
            NEWSBOT_OIDC_SECRET=SECRET,
        )
        storage = backends.open_storage(settings)
        for name, role in people.items():
            add(storage.notes, f"{name}@example.org", role, 1.0, with_token=False)
        storage.close()
        async with visiting(settings, token=TOKEN) as visitor:
            await work(visitor, provider)
        await runner.cleanup()

    asyncio.run(whole())


async def come_back(visitor: Visitor, provider: LocalProvider, **changes: str) -> tuple[Any, str]:
    """Begin a log-in, and come back from the provider."""
    answer, _ = await visitor.get("/login/sso?back=/saved")
    assert answer.status == 303
    place = urlsplit(answer.headers["Location"])
    provider.asked = dict(parse_qsl(place.query))
    assert f"{place.scheme}://{place.netloc}{place.path}" == f"{provider.address}/authorize"
    assert provider.asked["redirect_uri"] == f"{visitor.address}/login/sso/back"
    state = changes.get("state", provider.asked["state"])
    return await visitor.get(f"/login/sso/back?code=a+code&state={state}")


def test_a_person_of_the_team_logs_in_with_the_role_there(tmp_path: Path) -> None:
    async def check(visitor: Visitor, provider: LocalProvider) -> None:
        assert 'href="/login/sso?back=' in (await visitor.get("/login?back=/saved"))[1]
        answer, _ = await come_back(visitor, provider)
        assert (answer.status, answer.headers["Location"]) == (303, "/saved")
        _, text = await visitor.get("/saved")
        assert "ann@example.org ·" in text
        assert "/do/save" in text  # the role is act
        used = provider.asked["state"]
        answer, _ = await visitor.get(f"/login/sso/back?code=a+code&state={used}")
        assert answer.status == 403  # each log-in counts once

    with_provider(tmp_path, check, ann="act")


@pytest.mark.parametrize(
    ("claims", "reason"),
    [
        ({"email": "eve@example.org"}, "eve@example.org is not in the team"),
        ({"email_verified": False}, "does not state a verified e-mail address"),
        ({"nonce": "another"}, "is not valid"),
        ({"aud": "another"}, "is not valid"),
        ({"iss": "https://evil.test"}, "is not valid"),
        ({"exp": 1000}, "is not valid"),
    ],
)
def test_tokens_that_are_not_for_this_log_in_are_refused(
    tmp_path: Path, claims: dict[str, Any], reason: str
) -> None:
    async def check(visitor: Visitor, provider: LocalProvider) -> None:
        provider.claims = claims
        answer, text = await come_back(visitor, provider)
        assert answer.status == 403
        assert reason in text
        assert "newsbot_session" not in answer.headers.get("Set-Cookie", "")

    with_provider(tmp_path, check, ann="act")


def test_other_keys_other_browsers_and_no_provider_are_refused(tmp_path: Path) -> None:
    async def check(visitor: Visitor, provider: LocalProvider) -> None:
        provider.signed_with = ECKey.generate_key("P-256", {"kid": "one"})
        assert "is not valid" in (await come_back(visitor, provider))[1]
        provider.signed_with = None
        answer, text = await come_back(visitor, provider, state="made-up")
        assert answer.status == 403
        assert "begun in another browser" in text
        await visitor.get("/login/sso")
        visitor.client.cookie_jar.clear()
        answer, _ = await visitor.get(f"/login/sso/back?code=a+code&state={provider.asked['state']}")
        assert answer.status == 403
        answer, _ = await come_back(visitor, provider)
        assert answer.status == 303

    with_provider(tmp_path, check, ann="read")


def test_without_the_setting_there_is_no_single_sign_on(tmp_path: Path) -> None:
    async def whole() -> None:
        async with visiting(settings_of(tmp_path), token=TOKEN) as visitor:
            assert (await visitor.get("/login/sso"))[0].status == 404
            assert "/login/sso" not in (await visitor.get("/login"))[1]

    asyncio.run(whole())
