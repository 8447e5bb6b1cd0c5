"""Sends batches of whole articles to an HTTP address, signed (Standard Webhooks)."""

from __future__ import annotations

import time
from collections.abc import Sequence

from newsbot.apps.outgoing import HttpClient, HttpFault, signing_key, webhook_headers
from newsbot.apps.sinks.rows import RESPONSE_TIMEOUT, Row, RowsRefused, SinkError, as_json

REFUSED = frozenset({400, 409, 413, 415, 422})
"""Statuses that say that the content is wrong. Other errors may be over after some time."""


class WebhookTarget:
    """Posts ``{"type": "articles", "timestamp": …, "data": [row, …]}``; a removed row has ``removed``."""

    drops_known_batches = True

    def __init__(self, address: str, secret: str = "") -> None:
        self._client = HttpClient(address, patience=RESPONSE_TIMEOUT)
        self._key = signing_key(secret)

    def check(self) -> None:
        """Do nothing: a request without articles would surprise the receiver."""

    def write(self, rows: Sequence[Row], batch: str) -> None:
        """Post the rows. The id of the request is ``batch``."""
        now = int(time.time())
        body = as_json({"type": "articles", "timestamp": now, "data": [row.plain() for row in rows]})
        headers = {"Content-Type": "application/json", **webhook_headers(self._key, batch, now, body)}
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
