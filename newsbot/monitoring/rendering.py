"""Writes reports as JSON, or as an HTML page that needs no other files."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from newsbot.cli.terminal import counted
from newsbot.clock import iso, utc
from newsbot.text.words import clean

SHOWN = 1000
"""Maximum number of rows that a table shows."""
_STYLE = """
:root { color-scheme: light dark; --line: #d5dbe1; --soft: #5c6872; --bad: #b00020; }
@media (prefers-color-scheme: dark) { :root { --line: #3a434b; --soft: #a4b0ba; --bad: #ff8a80; } }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 1100px; margin: 1.5em auto; padding: 0 1em; }
h1 { font-size: 1.5em; } h2 { font-size: 1.15em; margin-top: 1.8em; }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-size: 14px; }
caption { text-align: left; color: var(--soft); }
th, td { padding: 3px 12px 3px 0; border-bottom: 1px solid var(--line); text-align: left;
  vertical-align: top; }
td a { overflow-wrap: anywhere; }
td.n, th.n { text-align: right; white-space: nowrap; }
.bad { color: var(--bad); font-weight: 600; } .soft { color: var(--soft); }
ul { list-style: none; padding-left: 1.2em; } summary { cursor: pointer; }
"""

Row = Sequence[object]


def write_reports(path: Path, reports: Sequence[Mapping[str, Any]], now: float) -> None:
    """Write reports to a file: as JSON if its name ends in ``.json``, otherwise as HTML.

    An existing file is replaced atomically. ``now`` is in POSIX seconds. Raises ``OSError``.
    """
    if path.suffix.lower() == ".json":
        text = json.dumps(list(reports), ensure_ascii=False, indent=1) + "\n"
    else:
        text = "".join(to_html(reports, now))
    part = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        part.write_text(clean(text), encoding="utf-8")
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def to_html(reports: Sequence[Mapping[str, Any]], now: float) -> Iterator[str]:
    """Yield the parts of an HTML page with all reports. ``now`` is in POSIX seconds."""
    sites = ", ".join(str(report["site"]) for report in reports) or "no site"
    yield '<!doctype html><html lang="en"><head><meta charset="utf-8">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>Monitor: {escape(sites)}</title><style>{_STYLE}</style></head><body>\n"
    yield f'<p class="soft">newsbot monitor, {iso(utc(now))}</p>\n'
    for report in reports:
        yield from _site(report)
    yield "</body></html>\n"


def facts(report: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield each figure of a report as a pair of texts: its name and its value."""
    run = report["run"]
    yield "last run", "never" if run is None else str(iso(utc(run)))
    yield "pages known", str(report["pages"])
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
        yield "time to answer", times
    yield "orphans", str(report["orphans_count"])
    yield "pages by depth", _counts(report["depths"])


def broken_rows(pages: Iterable[Mapping[str, Any]]) -> Iterator[Row]:
    """Yield a row for each broken page.

    A row has the outcome, the time since when the page is broken, the number of links to the page, its URL,
    and some of the linking pages.
    """
    for one in pages:
        linked = " ".join(one["referrers"][:5])
        yield one["outcome"], iso(utc(one["since"])), one["referrer_count"], one["url"], linked


def moved_rows(pages: Iterable[Mapping[str, Any]]) -> Iterator[Row]:
    """Yield a row for each page that redirects: its URL, then the status and the target of each redirect."""
    for one in pages:
        yield one["url"], " ".join(f"{hop['status']} {hop['to']}" for hop in one["hops"])


def change_rows(changes: Iterable[Mapping[str, Any]]) -> Iterator[Row]:
    """Yield a row for each change: kind, value before, value now, URL."""
    for one in changes:
        yield one["what"], one["before"], one["now"], one["url"]


def _counts(counted: Mapping[str, int]) -> str:
    return ", ".join(f"{name}: {number}" for name, number in list(counted.items())[:20])


def _site(report: Mapping[str, Any]) -> Iterator[str]:
    yield f"<h1>{escape(str(report['site']))}</h1>\n"
    yield from _table("Figures", ("what", "how much"), facts(report), head=False)
    number = report["broken_count"]
    yield from _table(
        f"Broken links: {number}",
        ("answer", "since", "linked from", "page", "pages that link there"),
        broken_rows(report["broken"]),
        number,
    )
    yield from _table(
        f"Refused to the crawler: {report['refused_count']}",
        ("answer", "since", "linked from", "page", "pages that link there"),
        broken_rows(report["refused"]),
        report["refused_count"],
    )
    changed = sum(report["changes_count"].values())
    yield from _table(
        f"Changes since the run before: {changed}",
        ("what", "before", "now", "page"),
        change_rows(report["changes"]),
        changed,
    )
    yield from _table(
        f"Redirects: {report['moved_count']}",
        ("page", "hops"),
        moved_rows(report["moved"]),
        report["moved_count"],
    )
    yield "<h2>Structure</h2>\n<ul>"
    yield from _node(report["tree"])
    yield "</ul>\n"
    sections = ((one["section"], one["pages"], one["broken"]) for one in report["sections"])
    yield from _table("Sections", ("section", "pages", "broken"), sections, len(report["sections"]))
    links = ((one["from"], one["to"], one["links"]) for one in report["links"])
    yield from _table("Links between sections", ("from", "to", "links"), links, len(report["links"]))
    orphans = ((one["url"], " ".join(one["listed_in"])) for one in report["orphans"])
    number = report["orphans_count"]
    yield from _table(f"Pages that no page links to: {number}", ("page", "listed in"), orphans, number)
    slowest = ((one["milliseconds"], one["url"]) for one in report["slowest"])
    yield from _table("Slowest", ("ms", "page"), slowest, len(report["slowest"]))
    largest = ((one["size"], one["content_type"], one["url"]) for one in report["largest"])
    yield from _table("Largest", ("bytes", "type", "page"), largest, len(report["largest"]))


def _table(
    title: str, columns: Sequence[str], rows: Iterable[Row], number: int | None = None, *, head: bool = True
) -> Iterator[str]:
    """Yield the HTML of a table; nothing if it has no rows.

    ``number`` is the number of all rows. If it is larger than the number of rows in the table, a caption says
    so.
    """
    kept = [row for row, _ in zip(rows, range(SHOWN), strict=False)]
    if not kept:
        return
    yield f'<h2>{escape(title)}</h2>\n<div class="wide"><table>'
    if number is not None and number > len(kept):
        yield f"<caption>The first {len(kept)} of {number}</caption>"
    if head:
        yield "<tr>" + "".join(f"<th>{escape(name)}</th>" for name in columns) + "</tr>\n"
    for row in kept:
        yield "<tr>" + "".join(map(_cell, row)) + "</tr>\n"
    yield "</table></div>\n"


def _cell(value: object) -> str:
    if isinstance(value, int):
        return f'<td class="n">{value}</td>'
    text = "" if value is None else str(value)
    parts = [_linked(word) for word in text.split(" ")] if "://" in text else [escape(text)]
    return f"<td>{' '.join(parts)}</td>"


def _linked(word: str) -> str:
    """Return a URL as an HTML link.

    A URL with a scheme other than http and https is not linked, because a click could run a script.
    """
    if not word.startswith(("http://", "https://")):
        return escape(word)
    return f'<a rel="noreferrer nofollow" href="{escape(word)}">{escape(word)}</a>'


def _node(node: Mapping[str, Any]) -> Iterator[str]:
    """Yield the HTML of a folder with its counts, and of the folders below it."""
    broken = f' <span class="bad">{node["broken"]} broken</span>' if node["broken"] else ""
    pages = counted(node["pages"], "page")
    label = f'{escape(str(node["name"]))} <span class="soft">{pages}</span>{broken}'
    if not node["below"]:
        yield f"<li>{label}</li>"
        return
    yield f"<li><details open><summary>{label}</summary><ul>"
    for one in node["below"]:
        yield from _node(one)
    yield "</ul></details></li>"
