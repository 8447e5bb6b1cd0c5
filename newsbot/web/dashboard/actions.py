"""What people can do in the dashboard: queue URLs, fetch one again, pause a site and resume it."""

from __future__ import annotations

from dataclasses import dataclass

from newsbot.errors import ArgumentError
from newsbot.items import Kind
from newsbot.operations.add import entry_by_hand, queue_by_hand
from newsbot.operations.source_report import known_sites
from newsbot.sites.pauses import go_on, pause
from newsbot.web.readers import Data

KINDS = ("feed", "sitemap", "section", "article")


@dataclass(frozen=True, slots=True)
class Done:
    """What came of it."""

    verdict: str
    """new, sooner, known; paused, goes on, unchanged."""
    text: str
    """The same for people."""


_SAID = {
    "new": "was queued: a running crawl takes it at once",
    "sooner": "was known, and is fetched again now",
    "known": "already waits, or is being fetched",
}


def add(data: Data, url: str, kind: str | None) -> Done:
    """Queue a URL, also one that is known. Raises :class:`ArgumentError` if it is none."""
    try:
        entry = entry_by_hand(url, data.rules, Kind(kind) if kind else None, data.clock())
    except ValueError as error:
        raise ArgumentError(str(error)) from error
    (verdict,) = queue_by_hand([entry], data.rules, data.storage, data.frontier)
    return Done(verdict.value, f"{entry.url} {_SAID[verdict.value]}.")


def set_pause(data: Data, site: str, *, paused: bool) -> Done:
    """Pause a site of the rules or the data, or let it go on. Raises :class:`ArgumentError` if it is none."""
    rule = data.rules.get(site)
    domain = rule.domain if rule else site.lower()
    if rule is None and domain not in known_sites(data.storage, data.rules):
        raise ArgumentError(f"{site!r} is no site of the rules or the data")
    if paused:
        pause(data.notes, domain, data.clock())
        return Done("paused", f"{domain} is paused: within seconds nothing of it is fetched any more.")
    if go_on(data.notes, domain):
        return Done("goes on", f"{domain} goes on.")
    return Done("unchanged", f"{domain} was not paused.")
