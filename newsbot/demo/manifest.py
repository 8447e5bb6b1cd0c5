"""The expected result of a crawl of the demo's web: a JSON document beside the rules of its sites."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

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
    words: int
    published: str
    addresses: list[str] = field(default_factory=list)
    """Every address on its host that holds this text, the canonical one first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """The content of the web. All addresses are as the sites write them."""

    now: str
    articles: list[Expected]
    families: list[list[str]]
    """Canonical addresses of articles that tell the same story, in the same words or nearly so."""
    templates: list[list[str]]
    """Canonical addresses of reports with the same words and different numbers, which are different news."""
    homes: list[str]
    forbidden: list[str] = field(default_factory=list)
    """Articles that robots.txt disallows."""
    seed: int = 1

    def save(self, path: Path) -> None:
        """Write the manifest as JSON."""
        path.write_text(json.dumps(asdict(self), ensure_ascii=False, indent=1), encoding="utf-8")


def load_manifest(path: Path) -> Manifest:
    """Read what :meth:`Manifest.save` wrote."""
    data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    data["articles"] = [Expected(**row) for row in data["articles"]]
    return Manifest(**data)


def without_tracking(path: str) -> str:
    """Return the path without the tracking parameters, which all sites of the web ignore."""
    start, _, query = path.partition("?")
    kept = [part for part in query.split("&") if part and not part.startswith(("utm_", "fbclid=", "sid="))]
    return f"{start}?{'&'.join(kept)}" if kept else start
