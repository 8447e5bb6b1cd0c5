"""Reads the measurements that the alert rules need from the data."""

from __future__ import annotations

import shutil
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from newsbot.frontier.base import Frontier
from newsbot.sites.health import NOTE_KIND, Pages, pages_from
from newsbot.storage.base import Storage
from newsbot.storage.notes import Notes
from newsbot.storage.sources import SiteRecord, SourceRecord

TOTALS = ("alerts_totals", "all")
"""Kind and key of the note with the hourly totals of the last days."""
HOUR, DAY = 3600.0, 86400.0
KEPT_HOURS = 8 * 24
"""Maximum number of hourly totals that are kept."""


@dataclass(frozen=True, slots=True)
class Total:
    """Sums over all sites at the time ``at`` (POSIX seconds).

    ``pages`` is the number of fetched pages; feeds, sitemaps and sections do not count. ``articles`` is the
    number of these pages that had an article.
    """

    at: float
    pages: float
    articles: float


@dataclass(slots=True, kw_only=True)
class Measured:
    """All measurements of one round. Times are POSIX seconds."""

    now: float
    sources: Mapping[str, list[SourceRecord]] = field(default_factory=dict)
    """The sources, by domain of their site."""
    sites: Mapping[str, SiteRecord] = field(default_factory=dict)
    pages: Mapping[str, Pages] = field(default_factory=dict)
    """Outcomes of the last pages, by domain of their site."""
    totals: list[Total] = field(default_factory=list)
    """One total per hour, oldest first; the last one is the current total."""
    pending: int = 0
    workers: int = 0
    """Number of workers that hold leases."""
    disk_free: float | None = None
    """Free bytes on the disk of the data folder; None if unknown."""


def measure(storage: Storage, frontier: Frontier, folder: Path | None, now: float) -> Measured:
    """Return the current measurements. ``folder`` is the data folder; ``now`` is in POSIX seconds.

    Raises :class:`newsbot.errors.DataError`.
    """
    notes = storage.notes
    sources: dict[str, list[SourceRecord]] = defaultdict(list)
    for record in storage.sources.all():
        sources[record.source].append(record)
    sites = storage.sites.all()
    return Measured(
        now=now,
        sources=dict(sources),
        sites=sites,
        pages={domain: pages_from(plain) for domain, plain in notes.all(NOTE_KIND).items()},
        totals=[*_kept(notes), _total(sites, now)],
        pending=frontier.counts()["pending"],
        workers=len(frontier.owners()),
        disk_free=_free(folder),
    )


def keep_totals(notes: Notes, measured: Measured) -> None:
    """Store the current total, unless one was stored within the last hour.

    Raises :class:`newsbot.errors.DataError`.
    """
    *kept, latest = measured.totals
    if kept and latest.at - kept[-1].at < HOUR:
        return
    rows = [[one.at, one.pages, one.articles] for one in [*kept, latest][-KEPT_HOURS:]]
    notes.save(*TOTALS, {"rows": rows})


def _kept(notes: Notes) -> list[Total]:
    rows: Any = notes.all(TOTALS[0]).get(TOTALS[1], {}).get("rows", [])
    try:
        return [Total(float(at), float(pages), float(articles)) for at, pages, articles in rows]
    except (TypeError, ValueError):  # a note of another version: start again
        return []


def _total(sites: Mapping[str, SiteRecord], now: float) -> Total:
    counters = [site.counters for site in sites.values()]
    return Total(
        now,
        sum(one.get("pages", 0) for one in counters),
        sum(one.get("article_pages", 0) for one in counters),
    )


def _free(folder: Path | None) -> float | None:
    if folder is None:
        return None
    try:
        return float(shutil.disk_usage(folder).free)
    except OSError:
        return None
