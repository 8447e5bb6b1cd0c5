"""Computes the report on one site: responses, broken links and the pages that contain them, structure.

Each page record of the site is read once, with its last check. Checks of pages without a record are also read
once. Memory use depends on the length of the lists and the number of folders, but it does not grow with the
number of pages.

Reports are written as JSON, or as an HTML page that needs no other files.

The actions of ``scrapy monitor`` and ``scrapy searches`` show what the spiders ``monitor`` and ``search``
found.
"""

from __future__ import annotations

import json
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from heapq import nlargest
from itertools import islice
from operator import itemgetter
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np

from newsbot.apps.files import replacing
from newsbot.apps.monitor.page_check import (
    CONTENT,
    ERRORS,
    FAULTS,
    LISTED,
    MEANING,
    NEW,
    changes_of,
    read_faults,
)
from newsbot.apps.monitor.results import (
    CheckedPage,
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
from newsbot.items import Kind, PageRecord, batched
from newsbot.pages.text.words import clean
from newsbot.storage.base import Storage
from newsbot.storage.notes import Notes
from newsbot.urls import ascii_host, canonicalize, fingerprint

MAX_SECTIONS = 300
"""Maximum number of sections. Pages in further sections are counted under :data:`OTHERS`."""
MAX_LEVELS = 5
"""Maximum depth of folders. Pages in deeper folders are counted in the folder at this depth."""
MAX_FOLDERS = 20_000
"""Maximum number of folders of a site. Pages in further folders are counted only in the folder above."""
MAX_CHILDREN = 25
"""Maximum number of subfolders that are shown: the subfolders with the most pages.

All other subfolders are shown together in one line.
"""
MAX_NAME = 80
"""Maximum number of characters of a folder's name."""
OTHERS = "(others)"


def folders(url: str, domain: str, *, is_section: bool = False) -> tuple[str, ...]:
    """Return the folders that contain a page, from the top.

    If the host is not the domain of the site, the host is the first folder. ``is_section`` means that the
    page is the front page of a folder, even if its URL does not end in a slash.
    """
    host, path = _split(url)
    host = host.removeprefix("www.")
    names = path.split("/")
    # The last name is the page itself: a file, or nothing after a final slash.
    if names and not (is_section and names[-1]):
        names.pop()
    found = [f"/{name[:MAX_NAME]}" for name in names if name][:MAX_LEVELS]
    return tuple([host[:MAX_NAME], *found] if host != domain else found)


def _split(url: str) -> tuple[str, str]:
    """Return host and path of a canonical http(s) URL, without the slash between them."""
    rest = url.partition("://")[2].partition("?")[0].partition("#")[0]
    place, _, path = rest.partition("/")
    place = place.rpartition("@")[2].lower()
    if place.startswith("["):  # an IPv6 address
        return place[1:].partition("]")[0], path
    return place.partition(":")[0], path


def section(places: tuple[str, ...]) -> str:
    """Return the section of a page: the first of its folders ``places``, or ``/`` if there is none."""
    return places[0] if places else "/"


@dataclass(slots=True)
class Folder:
    """A folder. Its counts include all folders below it."""

    pages: int = 0
    broken: int = 0
    below: dict[str, Folder] = field(default_factory=dict)

    def plain(self, name: str, levels: int = MAX_LEVELS, children: int = MAX_CHILDREN) -> dict[str, Any]:
        """Return the folder as ``{"name", "pages", "broken", "below": [...]}``, the largest folders first.

        ``levels`` is the maximum depth, and ``children`` is the maximum number of subfolders of each folder.
        """
        found: dict[str, Any] = {"name": name, "pages": self.pages, "broken": self.broken, "below": []}
        if levels <= 0:
            return found
        inside = sorted(self.below.items(), key=lambda item: (-item[1].pages, item[0]))
        found["below"] = [one.plain(word, levels - 1, children) for word, one in inside[:children]]
        if rest := inside[children:]:
            pages, broken = sum(one.pages for _, one in rest), sum(one.broken for _, one in rest)
            name = f"({len(rest)} more)"
            found["below"].append({"name": name, "pages": pages, "broken": broken, "below": []})
        return found


class Structure:
    """Counts the pages of one site by folder and section, and the links between sections."""

    def __init__(self, domain: str) -> None:
        self.domain = domain
        self.root = Folder()
        self._folders = 0
        self._sections: dict[str, Folder] = {}
        self._links: Counter[tuple[str, str]] = Counter()
        self.depths: Counter[int] = Counter()

    def add(self, places: tuple[str, ...], *, broken: bool) -> str:
        """Count a page in its folders and in its section; return the section."""
        node = self.root
        self._count(node, broken)
        for name in places:
            if name not in node.below:
                if self._folders >= MAX_FOLDERS:
                    break
                self._folders += 1
                node.below[name] = Folder()
            node = node.below[name]
            self._count(node, broken)
        name = self._named(section(places))
        self._count(self._sections.setdefault(name, Folder()), broken)
        return name

    def link(self, source: str, target: str) -> None:
        """Count a link between two sections, or within one."""
        self._links[self._named(source), self._named(target)] += 1

    def sections(self) -> list[dict[str, Any]]:
        """Return the sections, sorted by the number of pages, largest first."""
        ordered = sorted(self._sections.items(), key=lambda item: (-item[1].pages, item[0]))
        return [{"section": name, "pages": one.pages, "broken": one.broken} for name, one in ordered]

    def links(self, limit: int) -> list[dict[str, Any]]:
        """Return the ``limit`` most frequent links between sections, the most frequent first."""
        ordered = sorted(self._links.items(), key=lambda item: (-item[1], item[0]))
        return [{"from": a, "to": b, "links": number} for (a, b), number in ordered[:limit]]

    def _named(self, name: str) -> str:
        if name in self._sections or len(self._sections) < MAX_SECTIONS:
            return name
        return OTHERS

    @staticmethod
    def _count(folder: Folder, broken: bool) -> None:
        folder.pages += 1
        folder.broken += broken


class Top:
    """Keeps the ``limit`` items with the largest values of ``key``, and counts all items.

    Items with equal values of ``key`` are ordered by the values of the keys in ``more``.
    """

    def __init__(self, limit: int, key: str, *more: str) -> None:
        self._limit, self._key = limit, itemgetter(key, *more)
        self._kept: list[dict[str, Any]] = []
        self.count = 0

    def add(self, thing: dict[str, Any]) -> None:
        """Count an item, and keep it if it is among the largest."""
        self.count += 1
        self._kept.append(thing)
        # The list is sorted only when it exceeds twice the limit, so each item costs constant time on
        # average.
        if len(self._kept) > 2 * self._limit:
            self._kept = self.listed()

    def listed(self) -> list[dict[str, Any]]:
        """Return the largest items, the largest first."""
        return nlargest(self._limit, self._kept, key=self._key)


def quantiles(millis: array[float]) -> dict[str, int | None]:
    """Return the median and the 95th percentile of times in milliseconds; None if there are no times."""
    if not millis:
        return {"median_milliseconds": None, "p95_milliseconds": None}
    # array("f") has the memory layout of float32, so frombuffer() does not copy it.
    ordered = np.sort(np.frombuffer(millis, np.float32))
    last = len(ordered) - 1  # the 95th percentile is rounded up to the next item
    return {
        "median_milliseconds": round(float(ordered[last // 2])),
        "p95_milliseconds": round(float(ordered[-(-last * 95 // 100)])),
    }


LIMIT = 1000
"""Maximum number of pages in each list of a report. Further pages are only counted."""
MAX_WORDS = 200
"""Maximum number of server names, and of content types, that are counted separately."""
TOPS = {
    "broken": "referrer_count",
    "refused": "at",
    "moved": "hops_count",
    "orphans": "at",
    "faulty": "errors",
}
"""The lists of a report, and the value by which each list is sorted. A report also counts all their pages."""
REFERRERS = 5
"""Maximum number of feeds and sitemaps that a report names for an orphan (a page that no page links to)."""
_AT_ONCE = 500

Report = dict[str, Any]
"""A JSON-serializable dict. docs/monitoring.md describes every field."""


def site_report(storage: Storage, domain: str, *, limit: int = LIMIT) -> Report:
    """Return the report on a site (the domain of its rule), with at most ``limit`` items in each list.

    Raises :class:`newsbot.errors.DataError`.
    """
    survey = _Survey(storage, domain, limit)
    for page, checked in _pages(storage, domain):
        survey.add(page, checked)
    return survey.report()


def _pages(storage: Storage, domain: str) -> Iterator[tuple[PageRecord | None, CheckedPage | None]]:
    """Yield the record and the checks of each page of a site that is known or was checked.

    Each page is yielded once. If it has no record or no checks, None is yielded instead.
    """
    for pages in batched(storage.pages.iter(site=domain), _AT_ONCE):
        checked = checks_of(storage).get([page.fingerprint for page in pages])
        for page in pages:
            yield page, checked.get(page.fingerprint)
    for one in checks_of(storage).iter(domain, unlisted=True):
        yield None, one


class _Survey:
    """Collects the figures of one site, page by page."""

    def __init__(self, storage: Storage, domain: str, limit: int) -> None:
        self.domain = domain
        self._limit = limit
        sources = storage.sources.all(domain)
        self._lists = {_key(one.url) for one in sources if one.kind.is_listing}
        self._fronts = {_key(one.url) for one in sources if one.kind is Kind.SECTION}
        self._rough = {_rough(one.url) for one in sources}
        # The cache belongs to this object. lru_cache as a decorator would keep all objects alive.
        self._where = lru_cache(20_000)(self._where_of)
        self._structure = Structure(domain)
        self._counts: Counter[str] = Counter()
        self._words: dict[str, Counter[str]] = {
            name: Counter() for name in ("verdicts", "outcomes", "types", "servers")
        }
        self._markup = Counter[str]()
        """The number of pages with each fault of the markup."""
        self._millis = array("f")
        self._tops = {name: Top(limit, key) for name, key in TOPS.items()}
        self._slowest, self._largest = Top(min(limit, 50), "milliseconds"), Top(min(limit, 50), "size")
        self._run = self._first_run = 0.0
        self._begin_run(0.0)

    def _begin_run(self, run: float) -> None:
        """Begin to collect the changes of ``run``, and drop the changes of earlier runs.

        Only the pages of the latest run are compared with the run before. The latest run is known only after
        all pages were read, so this method is called again when a page of a later run is found.
        """
        self._run = run
        self._in_run = 0
        self._changes: dict[str, Any] = {kind: Top(self._limit, "at") for kind in LISTED}
        self._content_changed = 0

    def add(self, page: PageRecord | None, checked: CheckedPage | None) -> None:
        """Add one page to all figures."""
        self._counts["pages"] += 1
        broken = checked is not None and checked.last.verdict == "broken"
        self._place(page, checked, broken=broken)
        if checked is None:
            self._counts["never_checked"] += 1
            return
        self._describe(checked)
        if checked.last.verdict != "ok":
            self._name(page, checked)
        self._compare(checked)

    def _place(self, page: PageRecord | None, checked: CheckedPage | None, *, broken: bool) -> None:
        """Add the page to its folders, with the links to it. A page without such links is an orphan."""
        url = page.url if page is not None else checked.url if checked is not None else ""
        is_front = page is not None and page.kind is Kind.SECTION
        here = self._structure.add(folders(url, self.domain, is_section=is_front), broken=broken)
        if page is None:
            return
        self._structure.depths[page.depth] += 1
        by_page = 0
        for referrer in page.referrers:
            where = self._where(referrer)
            if where is not None:
                by_page += 1
                self._structure.link(where, here)
        if not by_page and self._is_orphan(page):
            self._tops["orphans"].add(
                {"url": page.url, "at": page.first_seen, "listed_in": page.referrers[:REFERRERS]}
            )

    @staticmethod
    def _is_orphan(page: PageRecord) -> bool:
        # Crawls know these pages from rules or robots.txt, so no page needs to link to them.
        if page.kind.is_listing or (page.kind is Kind.SECTION and page.depth == 0):
            return False
        # Only some referrers are stored. If there are more, one of them may be a page.
        return page.referrer_count <= len(page.referrers)

    def _where_of(self, referrer: str) -> str | None:
        """Return the section of a linking page.

        Returns None for feeds, sitemaps and robots.txt, which are not pages.
        """
        # A rough comparison comes first, because computing the exact keys of all referrers would be slow.
        key = _key(referrer) if _rough(referrer) in self._rough else b""
        if key in self._lists or referrer.endswith("/robots.txt"):
            return None
        return section(folders(referrer, self.domain, is_section=key in self._fronts))

    def _describe(self, checked: CheckedPage) -> None:
        last = checked.last
        self._counts["checked"] += 1
        media = (last.content_type or "").partition(";")[0].strip().lower()
        values = {"verdicts": last.verdict, "outcomes": last.outcome, "types": media, "servers": last.server}
        for name, word in values.items():
            words = self._words[name]
            if word:
                words[word if word in words or len(words) < MAX_WORDS else "(others)"] += 1
        if last.size:
            self._counts["bytes"] += last.size
            self._largest.add({"url": checked.url, "size": last.size, "content_type": media})
        if last.markup is not None:
            self._counts["read"] += 1
            faults = read_faults(last.markup)
            self._markup.update(faults.keys())
            if faults:
                errors = faults.get(ERRORS, 0)
                self._tops["faulty"].add({"url": checked.url, "errors": errors, "faults": faults})
        if last.seconds is not None:
            milliseconds = round(1000 * last.seconds)
            self._millis.append(milliseconds)
            self._slowest.add({"url": checked.url, "milliseconds": milliseconds})

    def _name(self, page: PageRecord | None, checked: CheckedPage) -> None:
        """Add the page to the list of broken, refused or moved pages if it belongs to one of them."""
        last = checked.last
        plain: dict[str, Any] = {"url": checked.url, "outcome": last.outcome, "at": last.at}
        if last.verdict == "moved":
            hops = [{"status": status, "to": to} for status, to in last.hops]
            self._tops["moved"].add({**plain, "hops": hops, "hops_count": len(hops)})
            return
        referrers = [] if page is None else list(page.referrers)
        if last.found_on and last.found_on not in referrers:
            referrers.append(last.found_on)
        # The record counts all referrers, but stores only the first referrers.
        number = max(len(referrers), 0 if page is None else page.referrer_count)
        plain |= {
            "since": checked.since,
            "kind": None if page is None else page.kind.value,
            "hops": [{"status": status, "to": to} for status, to in last.hops],
            "referrers": referrers,
            "referrer_count": number,
        }
        if last.verdict in ("broken", "refused"):
            self._tops[last.verdict].add(plain)

    def _compare(self, checked: CheckedPage) -> None:
        runs = {one.run for one in checked.checks}
        self._first_run = min(runs | ({self._first_run} if self._first_run else set()))
        last = checked.last
        if last.run > self._run:
            self._begin_run(last.run)
        if last.run < self._run:  # not checked in the latest run
            return
        self._in_run += 1
        for kind, (before, now) in changes_of(checked).items():
            if kind == CONTENT:
                self._content_changed += 1
            else:
                self._changes[kind].add(
                    {"url": checked.url, "what": kind, "before": before, "now": now, "at": last.at}
                )

    def report(self) -> Report:
        """Return the report on the pages that were added."""
        changes = {kind: top for kind, top in self._changes.items() if top.count}
        if self._first_run == self._run:  # in the first run every page is new
            changes.pop(NEW, None)
        listed = [one for kind in LISTED if kind in changes for one in changes[kind].listed()]
        words = {name: dict(counted.most_common()) for name, counted in self._words.items()}
        return {
            "site": self.domain,
            "run": self._run or None,
            "pages": self._counts["pages"],
            "checked": self._counts["checked"],
            "checked_in_run": self._in_run,
            "never_checked": self._counts["never_checked"],
            **words,
            "bytes": self._counts["bytes"],
            "markup": {"read": self._counts["read"], **dict(self._markup.most_common())},
            **quantiles(self._millis),
            **{f"{name}_count": top.count for name, top in self._tops.items()},
            **{name: top.listed() for name, top in self._tops.items()},
            "changes_count": {kind: top.count for kind, top in changes.items()},
            "content_changed": self._content_changed,
            "changes": listed[: self._limit],
            "depths": {str(depth): number for depth, number in sorted(self._structure.depths.items())},
            "sections": self._structure.sections(),
            "links": self._structure.links(self._limit),
            "tree": self._structure.root.plain(self.domain),
            "slowest": self._slowest.listed(),
            "largest": self._largest.listed(),
        }


def _rough(url: str) -> str:
    """Return the last part of the path of a URL. All URLs with the same key have the same last part.

    Computing this part is much faster than computing the key.
    """
    path = url.strip().partition("?")[0].partition("#")[0]
    # ";" may begin a session id, "." and ".." are steps in the path. Canonical URLs have neither.
    last = unquote(path.rpartition("/")[2].partition(";")[0])
    return "" if last in (".", "..") else last


def _key(url: str) -> bytes:
    try:
        return fingerprint(canonicalize(url))
    except ValueError:
        return b""


# --- commands
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


SHOWN_ROWS = 20
"""Default number of rows of each table."""


def list_sites(call: Call) -> None:
    """List the sites that were monitored."""
    with stored(call.settings) as storage:
        sites = monitored(storage.notes)
    now = system_clock()
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
        limit = options.limit or (SHOWN_ROWS if options.html is None and not call.json else LIMIT)
        report = site_report(storage, domain, limit=limit)
    if options.html is not None:
        try:
            write_reports(Path(options.html), [report], system_clock())
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
    call.table((Column(report["site"]), Column("", wide=True)), facts(report))
    pages = "answer | since | linked from > | {} * | linked from these *"
    changed = sum(report["changes_count"].values())
    tables: tuple[tuple[int, str, Iterator[Row]], ...] = (
        (report["broken_count"], pages.format("broken"), broken_rows(report["broken"])),
        (report["refused_count"], pages.format("refused"), broken_rows(report["refused"])),
        (changed, "what | before | now | changed *", change_rows(report["changes"])),
        (report["moved_count"], "moved * | hops *", moved_rows(report["moved"])),
        (report["faulty_count"], "faults * | page *", faulty_rows(report["faulty"])),
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
            default=LIMIT,
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
