"""Sends batches of whole articles to an HTTP address, signed.

Source: Standard Webhooks 1.0.0 (https://github.com/standard-webhooks/standard-webhooks): the headers
``webhook-id``, ``webhook-timestamp`` and ``webhook-signature`` (``v1``: HMAC-SHA256 of id, time and body).
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import time
from collections.abc import Sequence

from newsbot.apps.sinks.rows import PATIENCE, Row, RowsRefused, SinkError, to_json
from newsbot.connections.http import HttpClient, HttpFault

REFUSED = frozenset({400, 409, 413, 415, 422})
"""Statuses that say that the content is wrong. Other errors may be over after some time."""


class WebhookTarget:
    """Posts ``{"type": "articles", "timestamp": …, "data": [row, …]}``; a removed row has ``removed``."""

    def __init__(self, address: str, secret: str = "") -> None:
        """``secret``: base64, with or without ``whsec_``; other texts are used as they are."""
        self._client = HttpClient(address, patience=PATIENCE)
        self._key = _key_of(secret) if secret else b""

    def check(self) -> None:
        """Do nothing: a request without articles would surprise the receiver."""

    def write(self, rows: Sequence[Row], batch: str) -> None:
        """Post the rows. The id of the request is ``batch``."""
        now = int(time.time())
        body = to_json({"type": "articles", "timestamp": now, "data": [row.plain() for row in rows]})
        headers = {"Content-Type": "application/json", "webhook-id": batch, "webhook-timestamp": str(now)}
        if self._key:
            headers["webhook-signature"] = sign(self._key, batch, now, body)
        try:
            status, _body = self._client.send("POST", "", body, headers)
        except HttpFault as fault:
            raise SinkError(str(fault)) from None
        if status in REFUSED:
            raise RowsRefused(f"{self._client.place} returned HTTP {status}")
        if not 200 <= status < 300:
            raise SinkError(f"{self._client.place} returned HTTP {status}")

    def close(self) -> None:
        """Do nothing: each request has its own connection."""


def sign(key: bytes, message_id: str, timestamp: int, body: bytes) -> str:
    """Return the header ``webhook-signature``."""
    signed = hmac.new(key, f"{message_id}.{timestamp}.".encode() + body, hashlib.sha256).digest()
    return f"v1,{base64.b64encode(signed).decode()}"


def _key_of(secret: str) -> bytes:
    try:
        return base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except binascii.Error:
        return secret.encode()
