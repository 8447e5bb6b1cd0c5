"""Parses and checks the arguments of ``scrapy crawl monitor -a name=value``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from newsbot.clock import parse_duration
from newsbot.crawl.arguments import Arguments, count, given_values, words
from newsbot.errors import ArgumentError

MAX_PAGES = 10_000
"""Default of ``max_pages`` with ``follow=links``, because a site may have endless pages."""

Follow = Literal["known", "links"]
Method = Literal["HEAD", "GET"]

HELP = {
    "sites": "domains of rule files, comma separated; without it all rules",
    "method": "head (the default; GET if the host refuses HEAD) or get (conditional, headers only)",
    "follow": "known (the pages of the crawl database; the default) or links (pages are read, and their "
    "links within the site are checked too)",
    "max_pages": f"maximum number of requested pages (default: all known; with follow=links {MAX_PAGES})",
    "min_age": "leave out pages that were checked within this time: min_age=12h",
    "report": "write the report on each site to this file: report.html or report.json",
}
"""The meaning of each argument. Error messages show it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Monitoring:
    """The arguments of one run."""

    method: Method = "HEAD"
    follow: Follow = "known"
    max_pages: int | None = None
    min_age: float = 0.0
    """Minimum number of seconds since the last check of a page.

    Pages that were checked later are left out.
    """
    report: Path | None = None
    scope: Arguments
    """The arguments that all spiders have. They name the sites."""


def parse_monitoring(given: Mapping[str, Any]) -> Monitoring:
    """Return the checked arguments. Raises :class:`ArgumentError`, whose message says what is allowed."""
    values = given_values(given, HELP)
    follow = _one_of("follow", values, ("known", "links"))
    most = count("max_pages", values.get("max_pages"), HELP)
    return Monitoring(
        method="GET" if _one_of("method", values, ("head", "get")) == "get" else "HEAD",
        follow="links" if follow == "links" else "known",
        max_pages=most or (MAX_PAGES if follow == "links" else None),
        min_age=_age(values.get("min_age")),
        report=_report(values.get("report")),
        scope=Arguments(sites=tuple(word.lower() for word in words(values.get("sites")))),
    )


def _one_of(name: str, values: Mapping[str, str], allowed: tuple[str, ...]) -> str:
    value = values.get(name) or allowed[0]
    if value.lower() not in allowed:
        raise ArgumentError(f"{name}={value}: not understood; {name} is {HELP[name]}")
    return value.lower()


def _age(value: str | None) -> float:
    try:
        return parse_duration(value) if value else 0.0
    except ValueError as error:
        raise ArgumentError(f"min_age={value}: {error}") from error


def _report(value: str | None) -> Path | None:
    if not value:
        return None
    path = Path(value).expanduser()
    if path.suffix.lower() not in (".html", ".json"):
        raise ArgumentError(f"report={value}: name a file that ends in .html or .json")
    if not path.absolute().parent.is_dir():
        raise ArgumentError(f"report={value}: there is no folder {path.absolute().parent}")
    return path
