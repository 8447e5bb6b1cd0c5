"""``scrapy monitor`` and ``scrapy searches``: show what the spiders ``monitor`` and ``search`` found."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Any

from newsbot.apps.monitor import report as reports
from newsbot.apps.monitor.results import (
    Searches,
    SearchResult,
    checks_of,
    forget_report,
    monitored,
    searches_of,
)
from newsbot.apps.numbers import iso_of
from newsbot.backends import open_storage, stored
from newsbot.cli.command import Action, Argument, Call, positive
from newsbot.cli.program import PROGRAM
from newsbot.cli.terminal import Column, columns, counted, when
from newsbot.clock import iso, system_clock, utc
from newsbot.errors import ArgumentError, UserError, did_you_mean
from newsbot.storage.notes import Notes
from newsbot.urls import ascii_host, canonicalize, fingerprint

SHOWN = 20
"""Default number of rows of each table."""


def list_sites(call: Call) -> None:
    """List the sites that were monitored."""
    with stored(call.settings) as storage:
        sites = monitored(storage.notes)
    now = time.time()
    call.listing(
        [sites[domain] for domain in sorted(sites)],
        columns("site | last run > | pages > 1 | checked > 3 | broken > | refused > | moved > 2 | changes >"),
        (_site_row(sites[domain], now) for domain in sorted(sites)),
        empty=f"no site was monitored yet; run: {PROGRAM} crawl monitor -a sites=DOMAIN",
    )


def show(call: Call) -> None:
    """Print the report on a site, or write it as an HTML page (``--html``)."""
    options = call.options
    if options.html is not None and Path(options.html).suffix.lower() != ".html":
        raise ArgumentError(f"--html {options.html}: the file name must end in .html")
    with stored(call.settings) as storage:
        domain = _known(storage.notes, ascii_host(options.domain))
        limit = options.limit or (SHOWN if options.html is None and not call.json else 1000)
        report = reports.site_report(storage, domain, limit=limit)
    if options.html is not None:
        try:
            reports.write_reports(Path(options.html), [report], time.time())
        except OSError as error:
            raise UserError(f"{options.html}: cannot be written ({error.strerror})") from error
        call.note(f"written: {options.html}")
    elif call.json:
        call.document(report)
    else:
        _print(call, report)


def page(call: Call) -> None:
    """Show the checks of one page."""
    try:
        key = fingerprint(canonicalize(call.options.url))
    except ValueError as error:
        raise ArgumentError(f"{call.options.url}: {error}") from error
    with stored(call.settings) as storage:
        found = checks_of(storage).get([key]).get(key)
    if found is None:
        raise UserError(
            f"{call.options.url}: was never checked; run: {PROGRAM} crawl monitor -a sites=DOMAIN"
        )
    titles = columns("at | answer | ms | bytes | type | server | redirects *")
    call.listing(found.checks, titles, map(_check_row, found.checks))


def forget(call: Call) -> None:
    """Delete the monitor's data of a site."""
    with closing(open_storage(call.settings)) as storage:
        domain = ascii_host(call.options.domain)
        pages = checks_of(storage).forget(site=domain)
        known = forget_report(storage.notes, domain)
    if not known and not pages:
        raise UserError(f"{domain}: has no results; {PROGRAM} monitor list shows the sites with results")
    if call.json:
        call.document({"site": domain, "pages": pages})
    else:
        call.note(f"deleted the checks of {counted(pages, 'page')}")


def _known(notes: Notes, domain: str) -> str:
    sites = monitored(notes)
    if domain not in sites:
        hint = did_you_mean(domain, sites)
        raise UserError(f"{domain}: was not monitored{hint}; run: {PROGRAM} crawl monitor -a sites={domain}")
    return domain


def _site_row(site: Mapping[str, Any], now: float) -> tuple[object, ...]:
    return (
        *(site["site"], when(site["run"], now), site["pages"], site["checked_in_run"]),
        *(site["broken_count"], site["refused_count"], site["moved_count"]),
        sum(site["changes_count"].values()),
    )


def _check_row(one: Any) -> tuple[object, ...]:
    return (
        *(iso(utc(one.at)), one.outcome, None if one.seconds is None else round(1000 * one.seconds)),
        *(one.size, one.content_type, one.server, " ".join(f"{status} {to}" for status, to in one.hops)),
    )


def _print(call: Call, report: Mapping[str, Any]) -> None:
    call.table((Column(report["site"]), Column("", wide=True)), reports.facts(report))
    pages = "answer | since | linked from > | {} * | linked from these *"
    changed = sum(report["changes_count"].values())
    tables: tuple[tuple[int, str, Iterator[reports.Row]], ...] = (
        (report["broken_count"], pages.format("broken"), reports.broken_rows(report["broken"])),
        (report["refused_count"], pages.format("refused"), reports.broken_rows(report["refused"])),
        (changed, "what | before | now | changed *", reports.change_rows(report["changes"])),
        (report["moved_count"], "moved * | hops *", reports.moved_rows(report["moved"])),
        (report["faulty_count"], "faults * | page *", reports.faulty_rows(report["faulty"])),
    )
    for number, titles, rows in tables:
        if not number:
            continue
        call.text()
        kept = list(rows)
        call.table(columns(titles), kept)
        if number > len(kept):
            call.note(f"{number - len(kept)} more; to see them, use --limit N or --html FILE")
    call.text()
    call.table(columns("folder | pages > | broken >"), _tree(report["tree"]))


def _tree(node: Mapping[str, Any], level: int = 0) -> Iterator[tuple[object, ...]]:
    """Yield the folders of a site as rows, down to the third level."""
    yield "· " * level + str(node["name"]), node["pages"], node["broken"] or ""
    for one in node["below"] if level < 3 else ():
        yield from _tree(one, level + 1)


_DOMAIN = Argument("domain", metavar="DOMAIN", help=f"the site, as `{PROGRAM} monitor list` names it")

SITES = (
    Action(
        "list",
        "List the sites that were monitored, with the counts of the last run",
        list_sites,
    ),
    Action(
        "show",
        "Show the report on a site: broken links and the pages with them, changes, redirects, structure",
        show,
        _DOMAIN,
        Argument("--html", metavar="FILE", help="write the report as one HTML page"),
        Argument("--limit", type=positive, metavar="N", help="rows of each list (20)"),
    ),
    Action(
        "page",
        "Show the last checks of one page",
        page,
        Argument("url", metavar="URL", help="any URL of the page"),
    ),
    Action(
        "forget",
        "Delete the results of a site",
        forget,
        _DOMAIN,
        writes=True,
    ),
)


def list_searches(call: Call) -> None:
    """List all searches that have results."""
    with stored(call.settings) as storage:
        searches = searches_of(storage).all()
    now = system_clock()
    call.listing(
        [{**asdict(one), "first": iso_of(one.first), "last": iso_of(one.last)} for one in searches],
        columns("pages > | hits > | last | search *"),
        ((one.pages, one.hits, when(one.last, now), one.search) for one in searches),
        empty=f"there are no results yet; run: {PROGRAM} crawl search -a sites=DOMAIN -a text=TEXT",
    )


def show_search(call: Call) -> None:
    """Show where a search found its texts: URL, line and position, sorted by URL."""
    options = call.options
    with stored(call.settings) as storage:
        found = searches_of(storage)
        name = _known_search(found, options.name)
        results = islice(found.results(name, text=options.text, site=options.site), options.limit)
        if call.json:
            for result in results:
                call.record({**asdict(result), "looked_at": iso_of(result.looked_at)})
            return
        rows = sorted(_rows(results))
    call.table(columns("url * | line > | at > | text | found *"), rows)


def forget_search(call: Call) -> None:
    """Delete the results of a search."""
    with closing(open_storage(call.settings)) as storage:
        found = searches_of(storage)
        name = _known_search(found, call.options.name)
        count = found.forget(name)
    if call.json:
        call.document({"search": name, "results": count})
    else:
        call.note(f"{counted(count, 'result')} deleted")


def _known_search(found: Searches, name: str) -> str:
    if name not in {one.search for one in found.all()}:
        raise UserError(f"{name}: no search with this name has results; see: {PROGRAM} searches list")
    return name


def _rows(results: Iterator[SearchResult]) -> Iterator[tuple[Any, ...]]:
    for result in results:
        for one in result.positions:
            shown = f"{one.before}[{one.found}]{one.after}"
            yield result.url, one.line, one.start, result.text, shown


SEARCHES = (
    Action(
        "list",
        "List all searches with results, the latest first",
        list_searches,
    ),
    Action(
        "show",
        "Show where a search found its texts: page, line, position, context",
        show_search,
        Argument("name", metavar="NAME", help=f"the search, as `{PROGRAM} searches list` names it"),
        Argument("--text", metavar="TEXT", help="only results for this text or expression"),
        Argument("--site", metavar="DOMAIN", help="only results on this site"),
        Argument(
            "--limit",
            type=positive,
            default=1000,
            metavar="N",
            help="maximum number of results",
        ),
    ),
    Action(
        "forget",
        "Delete the results of a search",
        forget_search,
        Argument("name", metavar="NAME", help=f"the search, as `{PROGRAM} searches list` names it"),
        writes=True,
    ),
)
