"""What the demo's server saw of a crawl."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from benchmarks.demoweb.manifest import Manifest
from benchmarks.demoweb.messages import Record
from benchmarks.demoweb.web import without_tracking

_SOURCES = frozenset({"robots", "feed", "sitemap", "section"})


@dataclass(slots=True)
class Figures:
    """Counts over a request log."""

    requests: int = 0
    by_kind: Counter[str] = field(default_factory=Counter)
    by_status: Counter[int] = field(default_factory=Counter)
    articles: int = 0
    """Articles that were sent whole, each counted once, whichever of its addresses was asked for."""
    pages: int = 0
    """Whole answers with status 200 outside robots.txt, feeds, sitemaps and sections."""
    conditional: int = 0
    forbidden: list[str] = field(default_factory=list)
    """Addresses that robots.txt disallows and that were asked for all the same."""
    most_at_once: int = 0
    """The most requests to one host under way at the same time."""

    @property
    def useful_share(self) -> float:
        """Articles among the pages; 1 when no page was fetched."""
        return self.articles / self.pages if self.pages else 1.0


def count_log(log: Iterable[Record], manifest: Manifest) -> Figures:
    """Return the figures of a request log of the demo with that manifest."""
    figures = Figures()
    owners = {_place(address): article.url for article in manifest.articles for address in article.addresses}
    seen: set[str | None] = {None}
    for record in log:
        figures.requests += 1
        figures.by_kind[record.kind] += 1
        figures.by_status[record.status] += 1
        figures.conditional += record.conditional
        figures.most_at_once = max(figures.most_at_once, record.active)
        if record.kind == "forbidden":
            figures.forbidden.append(f"http://{record.host}{record.path}")
        if record.status == 200 and record.whole and record.kind not in _SOURCES:
            figures.pages += 1
            owner = owners.get((record.host, without_tracking(record.path)))
            figures.articles += owner not in seen
            seen.add(owner)
    return figures


def _place(url: str) -> tuple[str, str]:
    """Return host and path as they stand in the log."""
    parts = urlsplit(url)
    path = f"{parts.path}?{parts.query}" if parts.query else parts.path
    return parts.netloc.encode("idna").decode("ascii"), without_tracking(path)
