"""Sample articles and pages."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from newsbot.dedup.index import text_key
from newsbot.items import Article, Kind, PageRecord
from newsbot.storage.base import Storage
from newsbot.urls import fingerprint

NOON = datetime(2024, 5, 3, 12, 0, 0, 123456, tzinfo=UTC)


def make_article(path: str, text: str = "Текст новости.", *, hours: float = 0, **fields: Any) -> Article:
    """Return an article of example.org (or ``source``) published ``hours`` after noon."""
    source = fields.pop("source", "example.org")
    url = f"https://{source}/{path}"
    defaults: dict[str, Any] = {
        "url": f"{url}?utm_source=feed",
        "canonical_url": url,
        "source": source,
        "title": f"Title of {path}",
        "text": text,
        "language": "ru",
        "published_at": NOON + timedelta(hours=hours),
        "fetched_at": NOON + timedelta(hours=hours, minutes=5),
        "content_hash": text_key(text),
        "structure": {"heading": [0], "item": [2, 3]},
    }
    return Article(**defaults | fields)


def owner_of(storage: Storage, content_hash: str, *, source: str = "example.org") -> str | None:
    """Return the canonical URL of the article of ``source`` with this text, or None."""
    return storage.texts.owners([(source, content_hash)]).get((source, content_hash))


def make_page(path: str, referrers: tuple[str, ...] = (), **fields: Any) -> PageRecord:
    url = f"https://example.org/{path}"
    defaults: dict[str, Any] = {
        "url": url,
        "fingerprint": fingerprint(url),
        "host": "example.org",
        "source": "example.org",
        "kind": Kind.ARTICLE,
        "referrers": [f"https://example.org/{name}" for name in referrers],
        "first_seen": 100.0,
        "depth": 2,
    }
    return PageRecord(**defaults | fields)
