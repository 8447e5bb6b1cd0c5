"""Writes articles into an index of OpenSearch or Elasticsearch, with the bulk API.

Source: https://docs.opensearch.org/latest/api-reference/document-apis/bulk/. The version of an article is the
external version of the document, so an older version never replaces a newer one.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from newsbot.apps.outgoing import HttpClient, HttpFault
from newsbot.apps.sinks.rows import RESPONSE_TIMEOUT, Row, RowsRefused, SinkError, as_json

MAPPING = {
    "mappings": {
        "properties": {
            **{
                name: {"type": "date"}
                for name in ("published_at", "modified_at", "fetched_at", "discovered_at")
            },
            **{name: {"type": "keyword"} for name in ("url", "canonical_url", "source", "language", "story")},
            **{name: {"type": "text"} for name in ("title", "text", "summary")},
            "extraction": {"type": "object", "enabled": False},
        }
    }
}
_LATER = frozenset({404, 429, 503})
"""Statuses of a document that was not written because the server is busy, or has no such index."""
_FINE = {"index": frozenset({409}), "delete": frozenset({404, 409})}
"""Statuses that need nothing: a newer version that is there, and a removed document that is not there.

For a document that is written, 404 means that the index is missing.
"""


class OpenSearchTarget:
    """Keeps one document for each article. ``address`` is ``opensearch+https://user:password@host/index``."""

    drops_known_batches = False

    def __init__(self, address: str) -> None:
        parts = urlsplit(address.partition("+")[2])
        folder, _, self._index = parts.path.rstrip("/").rpartition("/")
        self._index = self._index or "articles"
        self._client = HttpClient(
            urlunsplit(parts._replace(path=folder, query="")), patience=RESPONSE_TIMEOUT
        )

    def check(self) -> None:
        """Create the index if it is missing."""
        status, body = self._send("HEAD", f"/{self._index}")
        if status == 404:
            status, body = self._json("PUT", f"/{self._index}", as_json(MAPPING))
            if status == 400 and b"resource_already_exists" in body:
                return
        if status >= 300:
            raise SinkError(f"{self._client.place} returned HTTP {status} for the index {self._index}")

    def write(self, rows: Sequence[Row], batch: str) -> None:  # noqa: ARG002
        """Write rows with one request. Raises an error if any row was not written."""
        if conflicts := self._bulk(rows):
            # An article that was removed and is stored again begins with version 1, but the server has, or
            # remembers for a minute, a higher version.
            self._bulk(self._newer(conflicts), versions=False)

    def _newer(self, rows: Sequence[Row]) -> list[Row]:
        """Return the rows that were not fetched before their documents, or that have none."""
        asked = {"docs": [{"_index": self._index, "_id": row.key} for row in rows]}
        status, body = self._json("POST", "/_mget?_source_includes=fetched_at", as_json(asked))
        try:
            found = {one["_id"]: one.get("_source", {}) for one in json.loads(body)["docs"] if one["found"]}
            times = {key: datetime.fromisoformat(one["fetched_at"]) for key, one in found.items() if one}
        except (ValueError, KeyError, TypeError, AttributeError):
            raise SinkError(f"{self._client.place} returned HTTP {status} and no documents") from None
        return [
            row
            for row in rows
            if row.key not in found
            or (row.fetched is not None and row.key in times and row.fetched >= times[row.key])
        ]

    def _bulk(self, rows: Sequence[Row], *, versions: bool = True) -> list[Row]:
        """Write rows. Return those that are older than their documents."""
        if not rows:
            return []
        lines: list[bytes] = []
        for row in rows:
            place: dict[str, Any] = {"_index": self._index, "_id": row.key}
            if row.article is None:
                lines.append(as_json({"delete": place}))
            else:
                # The version is 1 or more. Rights may change without a new version, so an equal one is
                # written.
                if versions:
                    place |= {"version": row.version, "version_type": "external_gte"}
                lines += (as_json({"index": place}), as_json(row.document()))
        status, body = self._json("POST", "/_bulk", b"\n".join(lines) + b"\n")
        if status >= 300:
            kind = RowsRefused if status in (400, 413) else SinkError
            raise kind(f"{self._client.place} returned HTTP {status}")
        try:
            answer = json.loads(body)
            pairs = [pair for one in answer["items"] for pair in one.items()] if answer["errors"] else []
            items = [(action, int(one["status"]), one) for action, one in pairs]
            bad = [(one, why) for action, one, why in items if one >= 300 and one not in _FINE[action]]
            conflicts = {one["_id"] for action, status, one in items if (action, status) == ("index", 409)}
        except (ValueError, KeyError, TypeError, AttributeError):
            raise SinkError(f"{self._client.place} returned no answer of the bulk API") from None
        if bad:
            why = bad[0][1].get("error")
            text = f"{why.get('type', 'error')}: {why.get('reason', '')}" if isinstance(why, dict) else why
            kind = SinkError if any(status in _LATER for status, _ in bad) else RowsRefused
            raise kind(f"{self._client.place}: {text}"[:300])
        return [row for row in rows if row.key in conflicts]

    def close(self) -> None:
        """Do nothing: each request has its own connection."""

    def _json(self, method: str, path: str, body: bytes) -> tuple[int, bytes]:
        kind = "application/x-ndjson" if path == "/_bulk" else "application/json"
        return self._send(method, path, body, {"Content-Type": kind})

    def _send(self, *request: Any) -> tuple[int, bytes]:
        try:
            return self._client.send(*request)
        except HttpFault as fault:
            raise SinkError(str(fault)) from None
