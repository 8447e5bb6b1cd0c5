"""The expected result of a crawl of the demo. It is a JSON file in the folder of the demo's rules."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

# Parameters that a crawler must remove from URLs.
TRACKING = "?utm_source=demo&utm_medium=feed&fbclid=Zx81"


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """One article that must be stored exactly once."""

    url: str
    title: str
    language: str
    host: str
    source: str
    """The domain of the rule, in ASCII form."""
    first_line: str
    """The first paragraph of the text."""
    words: int
    """Number of words of the text."""
    published: str
    """Time of publication in ISO 8601."""
    addresses: list[str] = field(default_factory=list)
    """All URLs of the host that have this text. The first one is the canonical URL."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """The content of the web. All URLs are in the form in which the sites write them."""

    now: str
    """The time of the web in ISO 8601. The newest articles are a little older."""
    articles: list[Expected]
    families: list[list[str]]
    """Groups of canonical URLs of articles with the same news, in the same or almost the same words."""
    templates: list[list[str]]
    """Groups of canonical URLs of reports that have the same words, but are different news.

    Only the numbers in the reports of a group differ.
    """
    homes: list[str]
    """URLs of the front pages."""
    forbidden: list[str] = field(default_factory=list)
    """URLs of articles that robots.txt disallows."""
    seed: int = 1

    def save(self, path: Path) -> None:
        """Write the manifest as JSON."""
        path.write_text(json.dumps(asdict(self), ensure_ascii=False, indent=1), encoding="utf-8")


def load_manifest(path: Path) -> Manifest:
    """Return the manifest in a file that :meth:`Manifest.save` wrote."""
    data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    data["articles"] = [Expected(**row) for row in data["articles"]]
    return Manifest(**data)


def without_tracking(path: str) -> str:
    """Return a path with its query, without the tracking and session parameters. The sites ignore these."""
    start, _, query = path.partition("?")
    kept = [part for part in query.split("&") if part and not part.startswith(("utm_", "fbclid=", "sid="))]
    return f"{start}?{'&'.join(kept)}" if kept else start
