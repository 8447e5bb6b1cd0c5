"""What a generated world is made of, and reading it from ``--world key=value,…``."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from typing import Any, Final

from newsbot.errors import ArgumentError


def _of(default: float, low: float, high: float, about: str) -> Any:
    return field(default=default, metadata={"low": low, "high": high, "about": about})


WHOLE: Final = ("feeds", "sections", "pages", "days", "learn", "window", "section_window", "hosts")


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteSettings:
    """A number for each property of the world; the metadata say what it means and its limits."""

    feeds: int = _of(150, 0, 100_000, "feeds")
    sections: int = _of(50, 0, 100_000, "section pages")
    pages: int = _of(0, 0, 100_000, "article pages, looked at for edits")
    days: int = _of(14, 2, 400, "length of the run")
    learn: int = _of(5, 0, 399, "first days, not counted: policies learn")
    window: int = _of(20, 1, 10_000, "items that a feed shows")
    section_window: int = _of(40, 1, 10_000, "links that a section shows")
    median: float = _of(3.4, 0.001, 1e4, "items a day of the source in the middle")
    sigma: float = _of(1.6, 0, 3, "of the logarithm of that rate")
    most: float = _of(1500, 0.001, 1e5, "items a day of the busiest sources")
    diurnal: float = _of(1, 0, 3, "depth of the night; 0: all hours alike")
    weekly: float = _of(1, 0, 1, "quiet of the weekend; 0: all days alike")
    batching: float = _of(0.2, 0, 1, "share of sources that release items in batches")
    batch: float = _of(4, 1, 1000, "mean items of a batch")
    bursts: float = _of(1, 0, 100, "bursts of a source in a week")
    burst_factor: float = _of(12, 1, 1000, "by how much more is published in a burst")
    burst_hours: float = _of(2, 0.01, 168, "mean length of a burst")
    burst_most: float = _of(150, 0, 1e5, "items an hour that a burst adds at most")
    changes: float = _of(0.1, 0, 1e4, "changes a day of the page in the middle, for as long as it lives")
    edits: float = _of(0.8, 0, 100, "mean edits of a young page besides")
    edit_hours: float = _of(6, 0.01, 1000, "mean age of a page at such an edit")
    born: float = _of(0.5, 0, 1, "share of the pages that are published during the run")
    deaths: float = _of(0.002, 0, 1, "share of the pages that die in a day")
    feed_bytes: float = _of(40_000, 1, 1e8, "median size of a feed")
    page_bytes: float = _of(90_000, 1, 1e8, "median size of a section or page")
    response: float = _of(0.3, 0, 600, "median seconds that an answer takes")
    ignoring: float = _of(0.1, 0, 1, "share of hosts whose servers ignore validators")
    hosts: int = _of(50, 1, 100_000, "hosts that the sources are on")
    host_delay: float = _of(1, 0, 3600, "seconds between requests to a host")

    def __post_init__(self) -> None:
        for one in fields(self):
            value, low, high = getattr(self, one.name), one.metadata["low"], one.metadata["high"]
            if not low <= value <= high:
                raise ArgumentError(f"--world {one.name}={value:g}: must be {low:g} to {high:g}")
        if self.feeds + self.sections + self.pages < 1:
            raise ArgumentError("--world: there must be a feed, a section or a page")
        if self.learn >= self.days:
            raise ArgumentError(f"--world learn={self.learn}: must be less than days={self.days}")


def read_settings(text: str) -> SiteSettings:
    """Return what ``key=value,key=value`` says, defaults for the rest.

    Raises :class:`ArgumentError` that names the key, and what is allowed.
    """
    known = {one.name: one for one in fields(SiteSettings)}
    given: dict[str, Any] = {}
    for pair in filter(None, (part.strip() for part in text.split(","))):
        name, equals, value = (part.strip() for part in pair.partition("="))
        if name not in known:
            near = get_close_matches(name, known, 1)
            hint = f" (did you mean {near[0]!r}?)" if near else ""
            raise ArgumentError(f"--world: unknown key {name!r}{hint}; allowed: {', '.join(known)}")
        if name in given:
            raise ArgumentError(f"--world: {name} is given twice")
        given[name] = _number(name, value if equals else "")
    return SiteSettings(**given)


def as_dict(settings: SiteSettings) -> Mapping[str, float]:
    """Return all keys with their values."""
    return {one.name: getattr(settings, one.name) for one in fields(settings)}


def _number(name: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    whole = name in WHOLE
    if not math.isfinite(value) or (whole and value != int(value)):
        raise ArgumentError(f"--world {name}={text}: is no {'whole ' if whole else ''}number")
    return int(value) if whole else value
