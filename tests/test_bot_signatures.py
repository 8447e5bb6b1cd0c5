"""Signed requests (Web Bot Auth), with the test vectors of RFC 9421."""

from __future__ import annotations

import asyncio
import json
import re
from base64 import b64decode, b64encode
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientSession
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from newsbot.apps.signatures.middleware import DIRECTORY, DIRECTORY_TYPE, LIFETIME, Signer, open_signer, sign
from newsbot.apps.web.service import running
from newsbot.errors import ArgumentError
from testbed.messages import Answer, Request
from tests.crawls import article_html
from tests.newssite import HOST, HTML, feed_of

# RFC 9421, B.1.4: a key for tests
PEM = """-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEIJ+DYvh6SEqVTm50DFtMDoQikTmiCqirVv9mWG9qfSnF
-----END PRIVATE KEY-----
"""
AGENT = "https://crawler.example"


def key() -> Ed25519PrivateKey:
    loaded = load_pem_private_key(PEM.encode(), None)
    assert isinstance(loaded, Ed25519PrivateKey)
    return loaded


@pytest.fixture
def pem(tmp_path: Path) -> Path:
    path = tmp_path / "key.pem"
    path.write_text(PEM)
    return path


def test_the_signature_is_that_of_the_rfc() -> None:
    """RFC 9421, B.2.6."""
    components = [
        ('"date"', "Tue, 20 Apr 2021 02:07:55 GMT"),
        ('"@method"', "POST"),
        ('"@path"', "/foo"),
        ('"@authority"', "example.com"),
        ('"content-type"', "application/json"),
        ('"content-length"', "18"),
    ]
    names = " ".join(name for name, _ in components)
    signature = sign(key(), components, f'({names});created=1618884473;keyid="test-key-ed25519"')
    assert b64encode(signature).decode() == (
        "wqcAqbmYJ2ji2glfAMaRy4gruYYnx2nEFN2HN6jrnDnQCK1u02Gb04v9EDgwUPiu4A0w6vuQv5lIp5WPpBKRCw=="
    )


def test_the_key_has_the_name_of_its_thumbprint() -> None:
    """RFC 7638; the value for this key is in the draft of Web Bot Auth."""
    signer = Signer(key(), AGENT)
    assert signer.public == "JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs"
    assert signer.key_id == "poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U"


def verified(
    headers: Any, authority: str, component: str = '"@authority" "signature-agent"'
) -> dict[str, str]:
    """Verify a signature as a site does, and return its parameters."""
    names = {name.lower(): value for name, value in headers.items()}
    match = re.fullmatch(r"sig1=(\(([^)]*)\)(;.*))", names["signature-input"])
    assert match is not None
    assert match[2] == component
    lines = [
        f"{name}: {authority if 'authority' in name else names['signature-agent']}"
        for name in match[2].split()
    ]
    base = "\n".join([*lines, f'"@signature-params": {match[1]}'])
    signature = b64decode(names["signature"].removeprefix("sig1=:").removesuffix(":"))
    key().public_key().verify(signature, base.encode())
    return dict(part.split("=", 1) for part in match[3].strip(";").split(";"))


def test_requests_are_signed_for_one_host_and_a_short_time() -> None:
    headers = Signer(key(), AGENT).request_headers("news.test", 1000.5)
    parameters = verified(headers, "news.test")
    assert headers["Signature-Agent"] == f'"{AGENT}"'
    assert parameters["tag"] == '"web-bot-auth"'
    assert (parameters["created"], parameters["expires"]) == ("1000", str(1000 + LIFETIME))
    with pytest.raises(InvalidSignature):
        verified(headers, "other.test")


def test_each_request_of_a_crawl_is_signed(site, world, pem):
    sent: list[Request] = []

    def handler(request: Request) -> Answer:
        sent.append(request)
        return Answer(body=article_html(1).encode(), headers=HTML)

    site.page(f"{HOST}/story/1", status=302, headers={"Location": "http://other.test:80/story/2"})
    site.page("http://other.test/story/2", handler)
    site.page(f"{HOST}/robots.txt", handler)
    feed_of(site, world, f"{HOST}/story/1")
    world.crawl(NEWSBOT_SIGN_KEY=str(pem), NEWSBOT_PUBLIC_URL=f"{AGENT}/")
    assert {request.host for request in sent} == {"news.test", "other.test"}
    for request in sent:
        verified(request.headers, request.host)


def test_requests_are_not_signed_by_default(site, world):
    sent: list[Request] = []

    def handler(request: Request) -> Answer:
        sent.append(request)
        return Answer(status=404)

    site.page(f"{HOST}/story/1", handler)
    feed_of(site, world, f"{HOST}/story/1")
    world.crawl()
    assert not any("signature" in name.lower() for name in sent[0].headers)


def test_the_server_publishes_the_key(tmp_path, pem):
    (tmp_path / "news.test.yaml").write_text("domain: news.test\n")
    settings = {
        "NEWSBOT_DATA": str(tmp_path / "data"),
        "NEWSBOT_RULES": str(tmp_path),
        "NEWSBOT_SIGN_KEY": str(pem),
        "NEWSBOT_PUBLIC_URL": AGENT,
    }

    async def ask() -> tuple[str, bytes, dict[str, str]]:
        async with running(settings, "127.0.0.1", 0) as address, ClientSession() as session:
            answer = await session.get(address.rstrip("/") + DIRECTORY)
            return answer.content_type, await answer.read(), dict(answer.headers)

    kind, body, headers = asyncio.run(ask())
    [published] = json.loads(body)["keys"]
    assert kind == DIRECTORY_TYPE
    assert published["x"] == Signer(key(), AGENT).public
    assert "d" not in published
    assert (
        verified(headers, "crawler.example", '"@authority";req')["tag"]
        == '"http-message-signatures-directory"'
    )


@pytest.mark.parametrize(
    ("content", "agent", "says"),
    [
        (None, AGENT, "cannot be read"),
        ("no key", AGENT, "has no Ed25519 key; make one: openssl genpkey"),
        (PEM, "", "needs NEWSBOT_PUBLIC_URL"),
        (PEM, "http://crawler.example", "needs NEWSBOT_PUBLIC_URL"),
    ],
)
def test_a_key_that_cannot_be_used_is_reported(tmp_path, content, agent, says):
    path = tmp_path / "key.pem"
    if content is not None:
        path.write_text(content)
    with pytest.raises(ArgumentError, match=says):
        open_signer({"NEWSBOT_SIGN_KEY": str(path), "NEWSBOT_PUBLIC_URL": agent})
    assert open_signer({"NEWSBOT_SIGN_KEY": ""}) is None
