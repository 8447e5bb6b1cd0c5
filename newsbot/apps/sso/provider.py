"""An OpenID Connect provider (https://openid.net/specs/openid-connect-core-1_0.html, code flow with PKCE).

The package authlib checks the tokens. Its own HTTP clients are not used, because they need further packages.
"""

from __future__ import annotations

import base64
import hashlib
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any
from urllib.parse import quote_plus, urlencode

from aiohttp import ClientError, ClientSession, ClientTimeout

from newsbot.config.apps import load_optional
from newsbot.errors import DataUnavailable

REQUEST_TIMEOUT = 10.0
"""Maximum time in seconds of a request to the provider."""
MAX_BODY = 2**20
"""Maximum number of bytes of a response."""
FRESH = 3600.0
"""Seconds for which metadata and keys are kept."""
LEEWAY = 60
"""Seconds by which the clocks may differ."""
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512")
"""Algorithms of signatures that are accepted. Those with a shared secret are not among them."""


class Refused(Exception):
    """The provider, or what it sent, was refused. The message gives the reason in one line."""


def check_installed() -> None:
    """Raise :class:`newsbot.errors.UserError` if the package is missing."""
    load_optional("authlib", "sso", "NEWSBOT_OIDC_ISSUER")


@dataclass(slots=True)
class Provider:
    """The provider ``issuer``, at which this server has the name ``client``."""

    issuer: str
    client: str
    secret: str
    _kept: dict[str, tuple[float, dict[str, Any]]] = field(default_factory=dict)

    async def address(self, back: str, state: str, nonce: str, verifier: str) -> str:
        """Return the URL at which a person logs in. The provider then sends the browser to ``back``."""
        query = {
            "response_type": "code",
            "client_id": self.client,
            "redirect_uri": back,
            "scope": "openid email",
            "state": state,
            "nonce": nonce,
            "code_challenge": _base64(hashlib.sha256(verifier.encode()).digest()).rstrip("="),
            "code_challenge_method": "S256",
        }
        place = str((await self._metadata())["authorization_endpoint"])
        return f"{place}{'&' if '?' in place else '?'}{urlencode(query)}"

    async def email(self, code: str, back: str, nonce: str, verifier: str) -> str:
        """Return the verified e-mail address of the person who got ``code``.

        Raises :class:`Refused`, and :class:`newsbot.errors.DataUnavailable` if the provider does not answer.
        """
        metadata = await self._metadata()
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": back,
            "code_verifier": verifier,
            "client_id": self.client,
        }
        # Without a list, providers accept the secret as the password (OpenID Connect Discovery, section 3).
        ways = metadata.get("token_endpoint_auth_methods_supported") or ["client_secret_basic"]
        as_password = "client_secret_basic" in ways
        if self.secret and not as_password:
            form["client_secret"] = self.secret
        # RFC 6749, 2.3.1: name and secret are encoded like fields of a form.
        pair = f"{quote_plus(self.client)}:{quote_plus(self.secret)}".encode()
        headers = (
            {"Authorization": f"Basic {base64.b64encode(pair).decode()}"}
            if self.secret and as_password
            else {}
        )
        answer = await _ask(str(metadata["token_endpoint"]), form, headers)
        keys = await self._keys(metadata)
        claims = _claims(answer, keys, metadata, self.client, nonce)
        if claims.get("email_verified") is not True or not isinstance(claims.get("email"), str):
            raise Refused("the provider does not state a verified e-mail address")
        return str(claims["email"])

    async def _metadata(self) -> dict[str, Any]:
        found = await self._get(f"{self.issuer.rstrip('/')}/.well-known/openid-configuration")
        needed = ("authorization_endpoint", "token_endpoint", "jwks_uri")
        if found.get("issuer") != self.issuer or not all(isinstance(found.get(name), str) for name in needed):
            raise Refused("the metadata of the provider are of another issuer, or not complete")
        return found

    async def _keys(self, metadata: Mapping[str, Any]) -> dict[str, Any]:
        return await self._get(str(metadata["jwks_uri"]))

    async def _get(self, url: str) -> dict[str, Any]:
        at, found = self._kept.get(url, (0.0, {}))
        if time.monotonic() - at > FRESH or not found:
            found = await _ask(url)
            self._kept[url] = time.monotonic(), found
        return found

    def forget(self) -> None:
        """Read metadata and keys again at the next log-in, because a provider changes its keys."""
        self._kept.clear()


def _claims(
    answer: Mapping[str, Any], keys: Mapping[str, Any], metadata: Mapping[str, Any], client: str, nonce: str
) -> Mapping[str, Any]:
    """Return the claims of the ID token in an answer. Raises :class:`Refused`."""
    core, jose = import_module("authlib.oidc.core"), import_module("joserfc")
    key_set = import_module("joserfc.jwk").KeySet
    try:
        token = import_module("joserfc.jwt").decode(
            str(answer.get("id_token", "")), key_set.import_key_set(dict(keys)), algorithms=list(ALGORITHMS)
        )
        options = {"iss": {"values": [metadata["issuer"]]}, "aud": {"value": client}}
        params = {"nonce": nonce, "client_id": client}
        claims = core.CodeIDToken(token.claims, token.header, options, params)
        claims.validate(leeway=LEEWAY)
    except (jose.errors.JoseError, ValueError, KeyError, TypeError) as error:
        raise Refused(f"the token of the provider is not valid ({type(error).__name__})") from error
    if claims.get("nonce") != nonce:
        raise Refused("the token of the provider is not for this log-in")
    return dict(claims)


def _base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode()


async def _ask(
    url: str, form: Mapping[str, str] | None = None, headers: Mapping[str, str] | None = None
) -> dict[str, Any]:
    try:
        async with (
            ClientSession(timeout=ClientTimeout(REQUEST_TIMEOUT), trust_env=False) as session,
            session.request(
                "GET" if form is None else "POST", url, data=form, headers=headers, allow_redirects=False
            ) as answer,
        ):
            body = bytearray()
            while len(body) < MAX_BODY and (part := await answer.content.read(MAX_BODY - len(body))):
                body += part
            if answer.status != 200:
                raise Refused(f"the provider answers with HTTP {answer.status}")
            found = json.loads(body)
    except (ClientError, OSError, TimeoutError) as error:  # str(error) could contain the secret
        raise DataUnavailable(f"the single sign-on does not answer: {type(error).__name__}") from error
    except ValueError as error:
        raise Refused("the provider does not answer with JSON") from error
    if not isinstance(found, dict):
        raise Refused("the provider does not answer with JSON")
    return found
