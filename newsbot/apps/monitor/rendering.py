"""Writes reports as JSON, or as an HTML page that needs no other files."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from newsbot.apps.files import replacing
from newsbot.apps.monitor.markup import FAULTS, MEANING
from newsbot.cli.terminal import counted
from newsbot.clock import iso, utc
from newsbot.pages.text.words import clean

SHOWN = 1000
"""Maximum number of rows that a table shows."""
Row = Sequence[object]


def write_reports(path: Path, reports: Sequence[Mapping[str, Any]], now: float) -> None:
    """Write reports to a file: as JSON if its name ends in ``.json``, otherwise as HTML.

    An existing file is replaced atomically. ``now`` is in POSIX seconds. Raises ``OSError``.
    """
    if path.suffix.lower() == ".json":
        text = json.dumps(list(reports), ensure_ascii=False, indent=1) + "\n"
    else:
        text = to_html(reports, now)
    with replacing(path) as stream:
        stream.write(clean(text).encode())


def to_html(reports: Sequence[Mapping[str, Any]], now: float) -> str:
    """Return an HTML page with all reports. ``now`` is in POSIX seconds."""
    from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415  (only reports need it)

    loader = PackageLoader("newsbot.apps.monitor")
    environment = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    environment.globals |= {"counted": counted, "facts": facts, "broken_rows": broken_rows}
    environment.globals |= {"change_rows": change_rows, "moved_rows": moved_rows, "shown": SHOWN}
    environment.globals["faulty_rows"] = faulty_rows
    return environment.get_template("reports.html").render(reports=reports, now=iso(utc(now)))


def facts(report: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the name and the value of each figure of a report, as texts."""
    run = report["run"]
    yield "last run", "never" if run is None else str(iso(utc(run)))
    yield "known pages", str(report["pages"])
    yield "checked in the last run", str(report["checked_in_run"])
    yield "never checked", str(report["never_checked"])
    yield "verdicts", _counts(report["verdicts"])
    yield "answers", _counts(report["outcomes"])
    yield "servers", _counts(report["servers"])
    yield "types", _counts(report["types"])
    yield "changes", _counts(report["changes_count"]) or "none"
    yield "content changed", str(report["content_changed"])
    if report["median_milliseconds"] is not None:
        times = f"{report['median_milliseconds']} ms median, {report['p95_milliseconds']} ms p95"
        yield "response time", times
    if report["markup"]["read"]:
        faults = {MEANING[name]: report["markup"][name] for name in FAULTS if name in report["markup"]}
        yield f"faults on {counted(report['markup']['read'], 'read page')}", _counts(faults) or "none"
    yield "orphans", str(report["orphans_count"])
    yield "pages by depth", _counts(report["depths"])


def broken_rows(pages: Iterable[Mapping[str, Any]]) -> Iterator[Row]:
    """Yield a row for each broken page.

    A row has the outcome, the time of the first failed check, the number of links to the page, its URL, and
    the URLs of some pages that link to it.
    """
    for one in pages:
        linked = " ".join(one["referrers"][:5])
        yield one["outcome"], iso(utc(one["since"])), one["referrer_count"], one["url"], linked


def moved_rows(pages: Iterable[Mapping[str, Any]]) -> Iterator[Row]:
    """Yield a row for each page that redirects: its URL, then the status and the target of each redirect."""
    for one in pages:
        yield one["url"], " ".join(f"{hop['status']} {hop['to']}" for hop in one["hops"])


def faulty_rows(pages: Iterable[Mapping[str, Any]]) -> Iterator[Row]:
    """Yield a row for each page with faults in its markup: the faults, and the URL."""
    for one in pages:
        yield _counts({MEANING[name]: number for name, number in one["faults"].items()}), one["url"]


def change_rows(changes: Iterable[Mapping[str, Any]]) -> Iterator[Row]:
    """Yield a row for each change: kind, value before, value now, URL."""
    for one in changes:
        yield one["what"], one["before"], one["now"], one["url"]


def _counts(counted: Mapping[str, int]) -> str:
    return ", ".join(f"{name}: {number}" for name, number in list(counted.items())[:20])
