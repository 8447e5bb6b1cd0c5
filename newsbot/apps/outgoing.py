"""Requests to addresses that the operator names, such as a webhook, and S3-compatible object stores.

The addresses may be private. Redirects are not followed, so that nothing is sent to another host. Messages
are signed by Standard Webhooks 1.0.0 (https://github.com/standard-webhooks/standard-webhooks).
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import urllib.error
import urllib.request
from collections.abc import Mapping
from http.client import HTTPException
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit, urlunsplit

from newsbot.apps.optional import load_optional
from newsbot.errors import UserError

MAX_ANSWER = 16 * 2**20
"""Maximum number of bytes of a response that are read."""


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_given: Any, **_more: Any) -> None:
        """Return None, so that a redirect is an error with its status."""


class HttpFault(Exception):
    """No response was received. The text says why, without the path and the secrets of the address."""


class HttpClient:
    """Sends requests below one address. A name and a password in the address are sent as Basic."""

    def __init__(self, address: str, *, patience: float, user_agent: str = "newsbot") -> None:
        """``patience``: seconds to wait for the connection, and for each part of the response."""
        self._patience = patience
        parts = urlsplit(address)
        self.place = parts.hostname or ""
        self._base = urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2], fragment=""))
        self._headers = {"User-Agent": user_agent}
        if parts.username:
            pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}".encode()
            self._headers["Authorization"] = f"Basic {base64.b64encode(pair).decode()}"
        self._opener = urllib.request.build_opener(_NoRedirects)

    def send(
        self, method: str, path: str = "", body: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> tuple[int, bytes]:
        """Return the status and the body of the response. Raises :class:`HttpFault` if there is none."""
        request = urllib.request.Request(  # noqa: S310  (the scheme was checked)
            self._base + path, data=body, headers={**self._headers, **(headers or {})}, method=method
        )
        # Only the host appears in errors, because the path may be secret.
        try:
            with self._opener.open(request, timeout=self._patience) as answer:
                return answer.status, answer.read(MAX_ANSWER)
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read(MAX_ANSWER)
        except (OSError, HTTPException, ValueError) as error:
            reason = getattr(error, "reason", None)
            why = reason if isinstance(reason, OSError) else error
            raise HttpFault(f"{self.place} cannot be reached ({type(why).__name__})") from None


def signing_key(secret: str) -> bytes:
    """Return the key of a secret: base64, with or without ``whsec_``; other texts are used as they are."""
    try:
        return base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except binascii.Error:
        return secret.encode()


def webhook_headers(key: bytes, message_id: str, timestamp: int, body: bytes) -> dict[str, str]:
    """Return the headers ``webhook-id`` and ``webhook-timestamp``, and with a key ``webhook-signature``
    (``v1``: HMAC-SHA256 of id, time and body)."""
    headers = {"webhook-id": message_id, "webhook-timestamp": str(timestamp)}
    if key:
        signed = hmac.new(key, f"{message_id}.{timestamp}.".encode() + body, hashlib.sha256).digest()
        headers["webhook-signature"] = f"v1,{base64.b64encode(signed).decode()}"
    return headers


def object_store(address: str, user: str, *, patience: float) -> tuple[Any, str]:
    """Return a ``pyarrow.fs.S3FileSystem`` and the folder in it, for an address such as
    ``s3://key:secret@bucket/folder?region=…&endpoint_override=…``.

    ``user`` is what needs the package, and ``patience`` the time to wait for a response in seconds. Raises
    :class:`newsbot.errors.UserError`, without the secret.
    """
    files = load_optional("pyarrow.fs", "parquet", user)
    parts = urlsplit(address)
    options: dict[str, Any] = dict(parse_qsl(parts.query))
    if parts.username:
        options |= {"access_key": unquote(parts.username), "secret_key": unquote(parts.password or "")}
    bucket = parts.netloc.rpartition("@")[2]
    # The part after a slash in a secret would become the folder, and appear in errors.
    if parts.scheme != "s3" or not bucket or ":" in bucket or "@" in parts.path:
        raise UserError(
            f"{user}: the address must have the form s3://key:secret@bucket/folder, with %2F for a slash in "
            "the secret"
        )
    try:
        store = files.S3FileSystem(connect_timeout=patience, request_timeout=patience, **options)
    except (TypeError, ValueError, OSError) as error:  # errors of pyarrow are ValueErrors or OSErrors
        raise UserError(f"s3: {error}") from None
    return store, f"{bucket}{unquote(parts.path)}".rstrip("/")
