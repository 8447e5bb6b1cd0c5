"""Signs requests, so that sites can verify that they come from this newsbot (Web Bot Auth).

The signatures are HTTP message signatures (RFC 9421) with Ed25519, as in
https://datatracker.ietf.org/doc/draft-meunier-web-bot-auth-architecture/. Sites find the public key in a
directory that ``scrapy serve`` publishes at :data:`DIRECTORY`.
The setting NEWSBOT_SIGN_KEY switches it on.
"""

from __future__ import annotations

import json
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.http import Request

from newsbot.config.settings import SettingsLike, value_of
from newsbot.crawl.assembly import Crawl
from newsbot.errors import ArgumentError
from newsbot.middlewares import Middleware
from newsbot.urls import host_key

DIRECTORY = "/.well-known/http-message-signatures-directory"
DIRECTORY_TYPE = "application/http-message-signatures-directory+json"
LIFETIME = 300
"""Seconds for which a signature is valid."""


@dataclass(frozen=True, slots=True)
class Signer:
    """Signs with one private key. ``agent`` is the address of the server with the directory."""

    key: Ed25519PrivateKey
    agent: str

    @property
    def public(self) -> str:
        """The public key as in a JSON Web Key (RFC 8037)."""
        return _base64url(self.key.public_key().public_bytes_raw())

    @property
    def key_id(self) -> str:
        """The thumbprint of the public key (RFC 7638)."""
        members = {"crv": "Ed25519", "kty": "OKP", "x": self.public}
        return _base64url(sha256(json.dumps(members, separators=(",", ":")).encode()).digest())

    def request_headers(self, authority: str, now: float) -> dict[str, str]:
        """Return the headers that sign a request to ``authority`` (host, and port if it is not usual)."""
        agent = f'"{self.agent}"'
        components = [('"@authority"', authority), ('"signature-agent"', agent)]
        return {"Signature-Agent": agent, **self._headers(components, now, "web-bot-auth")}

    def directory(self, now: float) -> tuple[bytes, dict[str, str]]:
        """Return the body of the directory, and the headers that sign it."""
        key = {"kty": "OKP", "crv": "Ed25519", "x": self.public, "kid": self.key_id, "use": "sig"}
        authority = self.agent.removeprefix("https://").partition("/")[0].lower()
        headers = self._headers([('"@authority";req', authority)], now, "http-message-signatures-directory")
        return json.dumps({"keys": [key]}).encode(), {"Content-Type": DIRECTORY_TYPE, **headers}

    def _headers(self, components: Sequence[tuple[str, str]], now: float, tag: str) -> dict[str, str]:
        names = " ".join(name for name, _ in components)
        parameters = (
            f'({names});created={int(now)};expires={int(now) + LIFETIME};keyid="{self.key_id}"'
            f';alg="ed25519";tag="{tag}"'
        )
        signature = b64encode(sign(self.key, components, parameters)).decode()
        return {"Signature-Input": f"sig1={parameters}", "Signature": f"sig1=:{signature}:"}


def sign(key: Ed25519PrivateKey, components: Sequence[tuple[str, str]], parameters: str) -> bytes:
    """Return the signature of components (name, value) with these parameters (RFC 9421, 2.5)."""
    lines = [*components, ('"@signature-params"', parameters)]
    return key.sign("\n".join(f"{name}: {value}" for name, value in lines).encode("ascii"))


def open_signer(settings: SettingsLike) -> Signer | None:
    """Return the signer of the settings NEWSBOT_SIGN_KEY and NEWSBOT_PUBLIC_URL; None if there is no key.

    Raises :class:`newsbot.errors.ArgumentError` if the key cannot be used.
    """
    path = value_of(settings, "NEWSBOT_SIGN_KEY")
    if not path:
        return None
    agent = str(value_of(settings, "NEWSBOT_PUBLIC_URL") or "").rstrip("/")
    if not agent.startswith("https://"):
        raise ArgumentError("NEWSBOT_SIGN_KEY needs NEWSBOT_PUBLIC_URL: the https address of scrapy serve")
    try:
        key = load_pem_private_key(Path(path).read_bytes(), None)
    except OSError as error:
        raise ArgumentError(f"NEWSBOT_SIGN_KEY: {path} cannot be read ({error.strerror})") from error
    except (TypeError, ValueError):
        key = None
    if not isinstance(key, Ed25519PrivateKey):
        raise ArgumentError(
            f"NEWSBOT_SIGN_KEY: {path} has no Ed25519 key; "
            "make one: openssl genpkey -algorithm ed25519 -out FILE"
        )
    return Signer(key, agent)


def check(settings: SettingsLike, _rules: object) -> None:
    """Check the settings before a crawl. Raises :class:`newsbot.errors.ArgumentError`."""
    open_signer(settings)


def _base64url(data: bytes) -> str:
    return urlsafe_b64encode(data).decode().rstrip("=")


class SignaturesMiddleware(Middleware):
    """Adds the headers ``Signature-Agent``, ``Signature-Input`` and ``Signature``."""

    _signer: Signer

    def __init__(self, crawler: Crawler) -> None:
        signer = open_signer(crawler.settings)
        if signer is None:
            raise NotConfigured
        super().__init__(crawler)
        self._signer, self._clock = signer, Crawl.of(crawler).context.clock

    def process_request(self, request: Request) -> None:
        """Sign the request. A copy of a request, such as the next hop of a redirect, is signed again."""
        for name, value in self._signer.request_headers(host_key(request.url), self._clock()).items():
            request.headers[name] = value
