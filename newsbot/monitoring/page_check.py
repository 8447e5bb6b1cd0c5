"""How one page is checked, and what its answers mean; no network in here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from newsbot.storage.spider_results import MAX_HOPS, PageCheck
from newsbot.urls import canonicalize, resolve

REDIRECTS = (301, 302, 303, 307, 308)


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A page that is asked for, and the redirects so far."""

    url: str
    """Canonical."""
    source: str
    run: float
    etag: str | None = None
    last_modified: str | None = None
    found_on: str | None = None
    depth: int = 0
    reads: bool = False
    """Its body is wanted too, for its links."""
    hops: tuple[tuple[int, str], ...] = ()

    def conditions(self) -> dict[str, str]:
        """Return the headers of a conditional request (RFC 9110, 13.1)."""
        told = {"If-None-Match": self.etag, "If-Modified-Since": self.last_modified}
        return {name: value for name, value in told.items() if value}


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came back, or why nothing did."""

    method: str
    status: int | None = None
    fault: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    body: int = 0
    """Bytes that came."""
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """Where a redirect leads; ``url`` is empty where it leads nowhere, or in a circle."""

    target: Target
    url: str = ""
    fault: str | None = None


def needs_get(status: int) -> bool:
    """Return True for answers to HEAD that are believed only after a GET: many servers do not know HEAD."""
    return status >= 400 and status not in (410, 429, 503)


def next_hop(status: int, location: bytes | None, url: str, target: Target) -> Step | None:
    """Return where the answer to ``url`` redirects; None: it does not."""
    if status not in REDIRECTS:
        return None
    to = resolve(url, (location or b"").decode("utf-8", "replace").strip()) if location else None
    try:
        canonical = canonicalize(to) if to else ""
    except ValueError:
        canonical = ""
    if not to or not canonical:
        return Step(target, fault="redirects")
    ahead = replace(target, hops=(*target.hops, (status, to)))
    seen = {one for _, one in target.hops} | {url}
    if to in seen or len(ahead.hops) >= MAX_HOPS:
        return Step(ahead, fault="redirects")
    return Step(ahead, url=to)


def to_check(target: Target, answer: Answer, now: float) -> PageCheck:
    """Return the check; a fault stands in place of the status. ``now`` in POSIX seconds."""
    return PageCheck(
        url=target.url,
        source=target.source,
        at=now,
        run=target.run,
        method=answer.method,
        status=None if answer.fault else answer.status,
        fault=answer.fault,
        size=_size(answer),
        content_type=answer.headers.get("Content-Type"),
        server=answer.headers.get("Server"),
        seconds=None if answer.seconds is None else round(answer.seconds, 4),
        etag=answer.headers.get("ETag"),
        last_modified=answer.headers.get("Last-Modified"),
        hops=target.hops,
        found_on=target.found_on,
    )


def _size(answer: Answer) -> int | None:
    told = answer.headers.get("Content-Length", "").strip()
    if told.isascii() and told.isdigit() and len(told) < 19 and answer.status != 304:
        return int(told)
    return answer.body or None
