"""The results of the spiders ``monitor`` and ``search``, and the last report on each site.

A report is stored, so that it can be shown immediately. The size of a note is limited
(:data:`newsbot.storage.notes.MAX_NOTE`), so long lists are shortened. Counts are always complete.
:func:`newsbot.apps.monitor.report.site_report` computes the full report again.

``monitor`` checks whether pages can be fetched. The latest checks of each page are stored, oldest first.
The page records of the news crawl are not changed.

``search`` looks for texts on pages. One result is stored for each search, page and text: the result of the
latest visit, even if several workers write at the same time or repeat a write.

Checks, reports and search results of removed pages and domains are deleted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Protocol

from newsbot.apps.monitor import APP
from newsbot.apps.operations.remove import Found
from newsbot.apps.search.phrases import MAX_POSITIONS, Position
from newsbot.items import batched
from newsbot.pages.text.words import clean
from newsbot.sites.pauses_and_removals import within
from newsbot.storage.base import REMOVED_AT_ONCE, Storage
from newsbot.storage.notes import MAX_NOTE, Notes, to_json
from newsbot.urls import fingerprint, host_key

SUMMARIES = "monitor"
"""Kind of the notes with the summaries of sites; the key is the domain."""
MAX_RUNS = 30
"""Maximum number of runs that are stored for a site. The latest runs are kept."""
PARTS: Mapping[str, tuple[str, ...]] = {
    "broken": ("broken", "refused"),
    "moved": ("moved",),
    "changes": ("changes",),
    "markup": ("faulty",),
    "structure": ("sections", "links", "depths", "tree", "orphans"),
    "extremes": ("slowest", "largest"),
}
"""The notes in which the lists of a report are stored, and the names of the lists in each."""
_LISTS = frozenset(name for names in PARTS.values() for name in names)


def keep_report(notes: Notes, report: Mapping[str, Any], run: Mapping[str, Any]) -> None:
    """Store the last report on a site, and add ``run`` to its runs.

    ``run`` has ``began``, ``ended`` (POSIX seconds), ``reason`` and counts. A run with the same ``began`` is
    replaced. Raises :class:`newsbot.errors.DataError`.
    """
    domain = str(report["site"])
    # The summary is saved last: kept_report() returns None for a site without a summary.
    for part, names in PARTS.items():
        notes.save(_kind(domain), part, _fitting({name: report[name] for name in names}))
    earlier = notes.all(SUMMARIES).get(domain, {}).get("runs", [])
    runs = [one for one in earlier if one.get("began") != run.get("began")]
    summary = {name: value for name, value in report.items() if name not in _LISTS}
    summary["runs"] = [*runs, dict(run)][-MAX_RUNS:]
    notes.save(SUMMARIES, domain, _fitting(summary))


def monitored(notes: Notes) -> dict[str, dict[str, Any]]:
    """Return the summary of each site, by domain.

    A summary is the last report without its lists, and ``runs``, a list of the last runs.

    Raises :class:`newsbot.errors.DataError`.
    """
    return notes.all(SUMMARIES)


def kept_report(notes: Notes, domain: str) -> dict[str, Any] | None:
    """Return the last report on a site with its stored lists and ``runs``; None if there is none.

    Raises :class:`newsbot.errors.DataError`.
    """
    summary = notes.all(SUMMARIES).get(domain)
    if summary is None:
        return None
    found: dict[str, Any] = {name: [] for name in _LISTS} | {"depths": {}, "tree": {}}
    for part in notes.all(_kind(domain)).values():
        found |= part
    return found | summary


def forget_lists(notes: Notes, domain: str) -> None:
    """Delete the stored lists with pages of a site. Counts stay; the next run stores new lists."""
    for part in PARTS:
        notes.forget(_kind(domain), part)


def forget_report(notes: Notes, domain: str) -> bool:
    """Delete the report of a site; return False if there is none."""
    forget_lists(notes, domain)
    return notes.forget(SUMMARIES, domain)


def _kind(domain: str) -> str:
    return f"{SUMMARIES} {domain}"


def _fitting(note: dict[str, Any]) -> dict[str, Any]:
    """Return the note, with its longest values shortened until the note is small enough to be stored."""
    # Each step halves only the longest value, so short lists stay complete.
    while len(to_json(note)) > MAX_NOTE:
        name = max(note, key=lambda one: len(to_json(note[one])))
        note = {**note, name: _half(note[name])}
    return note


def _half(value: Any) -> Any:
    """Return about half of a list or dict, or a tree of folders without its lowest level."""
    if isinstance(value, list):
        return value[: len(value) // 2]
    if isinstance(value, dict) and "below" in value:
        return _pruned(value, _height(value) - 1)
    if isinstance(value, dict):
        return dict(list(value.items())[: len(value) // 2])
    return None


def _height(node: Mapping[str, Any]) -> int:
    return 1 + max((_height(one) for one in node["below"]), default=0)


def _pruned(node: Mapping[str, Any], levels: int) -> dict[str, Any]:
    below = [_pruned(one, levels - 1) for one in node["below"]] if levels > 1 else []
    return {**node, "below": below}


MAX_CHECKS = 12
"""Maximum number of checks that are stored for each page. Older checks are deleted."""
MAX_HOPS = 10
"""Maximum number of redirects of a check that are stored."""
MAX_WORD = 200
"""Maximum number of stored characters of a header, and of any other text except a URL."""
MAX_URL = 2048
"""Maximum length of a stored URL in characters."""
_LARGEST = (1 << 63) - 1
"""The largest number that both backends store. A header may state any Content-Length."""

REFUSED = frozenset({401, 402, 403, 407, 429, 451, 999})
"""HTTP statuses with which sites refuse crawlers. Browsers may still get the page. No standard defines 999,
but some sites send it."""
NOT_ASKED = frozenset(
    {
        *("robots", "robots_unreachable", "robots_failing", "robots_unreadable"),
        *("private_address", "bad_url", "scheme"),
    }
)
"""Values of ``PageCheck.fault`` which mean that the page was not requested."""
Verdict = str
"""``ok``, ``moved`` (a redirect that led to a page), ``broken``, ``refused`` (see :data:`REFUSED`), or
``not asked`` (see :data:`NOT_ASKED`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageCheck:
    """One check of one page. Times are POSIX seconds."""

    url: str
    """The canonical URL of the page."""
    source: str
    """The site: the domain of a rule."""
    at: float
    """The time of the check."""
    run: float
    """The time at which the run began. It is the same for all checks of a run."""
    method: str = "HEAD"
    status: int | None = None
    """The status of the last response, after redirects; None if there was no response."""
    fault: str | None = None
    """The reason why there was no response: one of the words of :mod:`newsbot.crawl.failures`."""
    size: int | None = None
    """Length of the body in bytes before decompression (Content-Length, or the bytes received); None if
    unknown."""
    content_type: str | None = None
    server: str | None = None
    """The header ``Server``."""
    seconds: float | None = None
    """Seconds between the last request, after redirects, and the headers of its response."""
    etag: str | None = None
    last_modified: str | None = None
    hops: tuple[tuple[int, str], ...] = ()
    """The redirects in order: status and target."""
    found_on: str | None = None
    """The URL of a page that links to this page. None if this page is in the crawl database."""
    markup: str | None = None
    """The faults of the markup, such as ``errors:3 no_title:1``; None if the page was not read."""

    @property
    def verdict(self) -> Verdict:
        """The result of the check in one word (:data:`Verdict`)."""
        if self.fault in NOT_ASKED:
            return "not asked"
        if self.status is None:
            return "broken"
        if self.status in REFUSED:
            return "refused"
        # A redirect without a target is broken. Status 304 is not a redirect: it confirms the known content.
        if self.status >= 400 or (300 <= self.status < 400 and self.status != 304 and not self.hops):
            return "broken"
        return "moved" if self.hops else "ok"

    @property
    def outcome(self) -> str:
        """The status as text, or the fault if there was no response. A status of 304 is returned as 200."""
        if self.status == 304:
            return "200"
        return str(self.status) if self.status is not None else (self.fault or "unknown")


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedPage:
    """A page with its checks."""

    url: str
    source: str
    checks: tuple[PageCheck, ...]
    """The stored checks, oldest first; at least one."""

    @property
    def fingerprint(self) -> bytes:
        """The fingerprint of the page's URL."""
        return fingerprint(self.url)

    @property
    def last(self) -> PageCheck:
        """The last check."""
        return self.checks[-1]

    @property
    def before(self) -> PageCheck | None:
        """The last check of an earlier run; None in the first run.

        It can be older than the check before the last one, because one run can check a page several times.
        """
        return next((one for one in reversed(self.checks) if one.run < self.last.run), None)

    @property
    def since(self) -> float:
        """The time of the first stored check after which the outcome did not change.

        The page may have had this outcome even earlier, because only the latest checks are stored.
        """
        at = self.last.at
        for one in reversed(self.checks):
            if one.outcome != self.last.outcome:
                break
            at = one.at
        return at


class Checks(Protocol):
    """The stored checks by page."""

    def save(self, checks: Sequence[PageCheck]) -> None:
        """Store checks, in any order. Only the latest MAX_CHECKS checks of each page are kept.

        If the server fails, it may have stored only some of the checks. The call can be repeated.
        """

    def get(self, fingerprints: Sequence[bytes]) -> dict[bytes, CheckedPage]:
        """Return the checks of these URLs by fingerprint. URLs that were never checked are left out."""

    def iter(self, site: str | None = None, *, unlisted: bool = False) -> Iterator[CheckedPage]:
        """Stream all checked pages, or those of a site, in no particular order.

        With ``unlisted``, only pages that have no record in the crawl database are returned.
        """

    def records(self) -> Iterator[PageCheck]:
        """Stream all checks."""
        return (check for page in self.iter() for check in page.checks)

    def forget(self, *, site: str | None = None, pages: Sequence[bytes] | None = None) -> int:
        """Delete the checks of a site, of pages (fingerprints), or all. Return the number of pages."""


_KEPT = tuple(field.name for field in fields(PageCheck) if field.name not in ("url", "source"))


def packed_check(check: PageCheck) -> dict[str, Any]:
    """Return the stored form of a check. Long values are cut to their limits. Unknown values are left out.

    URL and site are left out too, because they are stored once for all checks of the page.
    """
    values: dict[str, Any] = {}
    for name in _KEPT:
        value = getattr(check, name)
        if name == "hops":
            value = [[status, clean(url[:MAX_URL])] for status, url in value[:MAX_HOPS]]
        elif isinstance(value, str):
            value = clean(value[: MAX_URL if name == "found_on" else MAX_WORD])
        # True and False are ints, too.
        elif isinstance(value, int) and not isinstance(value, bool):
            value = min(value, _LARGEST)
        if value not in (None, []):
            values[name] = value
    return values


def unpacked_checks(url: str, site: str, kept: Sequence[Mapping[str, Any]]) -> CheckedPage:
    """Return a page with its checks. ``kept`` has the stored forms of the checks (:func:`packed_check`)."""
    checks = []
    for one in kept:
        values = {name: one[name] for name in _KEPT if name in one}
        hops = tuple((int(status), str(to)) for status, to in values.pop("hops", ()))
        checks.append(PageCheck(url=url, source=site, hops=hops, **values))
    return CheckedPage(url=url, source=site, checks=tuple(checks))


MAX_CONTEXT = 200
"""Maximum number of characters that are stored for a hit, and for the text on each side of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """The result of searching one page for one text."""

    search: str
    """The name of the search."""
    text: str
    """The text or the regular expression that was searched for, as the user wrote it."""
    url: str
    """The canonical URL of the page."""
    source: str
    """The site: the domain of a rule."""
    looked_at: float
    """The time at which the page was read, in POSIX seconds."""
    regex: bool = False
    """True if ``text`` is a regular expression."""
    positions: Sequence[Position] = ()
    hits: int = 0
    """Number of hits on the page. If it is larger than the number of ``positions``, some hits were not
    stored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchSummary:
    """The results of one search in numbers."""

    search: str
    """The name of the search."""
    pages: int
    """Number of pages with at least one hit."""
    hits: int
    first: float
    """The time at which the first of these pages was read, in POSIX seconds."""
    last: float
    """The time at which the last of these pages was read, in POSIX seconds."""


class Searches(Protocol):
    """The stored results by search, text and page."""

    def save(self, found: Sequence[SearchResult]) -> None:
        """Store results. A result never replaces the result of a later visit.

        A result without positions means that the page does not contain the text. The stored result is then
        deleted. If the server fails, it may have stored only some of the results. The call can be repeated.
        """

    def results(
        self, search: str, *, text: str | None = None, site: str | None = None
    ) -> Iterator[SearchResult]:
        """Stream the results of a search in no particular order.

        ``text`` and ``site`` select the results of one text and of one site.
        """
        asked = {"search": search, "text": text, "source": site}
        return self.selected({name: clean(value) for name, value in asked.items() if value is not None})

    def selected(self, values: dict[str, Any]) -> Iterator[SearchResult]:
        """Stream the results whose fields have these values."""

    def all(self) -> list[SearchSummary]:
        """Return the summaries of all searches that have results, the latest search first."""

    def records(self) -> Iterator[SearchResult]:
        """Stream all results."""
        return (one for search in self.all() for one in self.results(search.search))

    def forget(self, search: str | None = None, *, pages: Sequence[bytes] | None = None) -> int:
        """Delete the results of a search, or those for pages (fingerprints). Return their number."""


def bounded(result: SearchResult) -> SearchResult:
    """Return the stored form of a result, with limited values and characters that every backend accepts."""
    positions = tuple(
        replace(
            one,
            before=clean(one.before[-MAX_CONTEXT:]),
            found=clean(one.found[:MAX_CONTEXT]),
            after=clean(one.after[:MAX_CONTEXT]),
        )
        for one in result.positions[:MAX_POSITIONS]
    )
    return replace(
        result,
        search=clean(result.search),
        text=clean(result.text),
        url=clean(result.url),
        source=clean(result.source),
        positions=positions,
        hits=max(result.hits, len(result.positions)),
    )


def checks_of(storage: Storage) -> Checks:
    """Open the checks in a storage."""
    checks: Checks = storage.repository(APP.repositories["checks"])
    return checks


def searches_of(storage: Storage) -> Searches:
    """Open the results of searches in a storage."""
    searches: Searches = storage.repository(APP.repositories["search results"])
    return searches


def forget(found: Found, storage: Storage) -> None:
    """Delete what the monitor and the spider ``search`` have stored about a URL or a domain."""
    checks, searches = checks_of(storage), searches_of(storage)
    for keys in batched(dict.fromkeys([*found.pages, *map(fingerprint, found.addresses)]), REMOVED_AT_ONCE):
        checks.forget(pages=keys)
        searches.forget(pages=keys)
    # Both have pages without a record too.
    if found.domain is not None:
        only = frozenset((found.domain,))
        urls = (one.url for one in searches.records())
        for keys in batched(
            (fingerprint(url) for url in urls if within(host_key(url), only)), REMOVED_AT_ONCE
        ):
            searches.forget(pages=keys)
    _forget_sites(found, checks, storage.notes)


def _forget_sites(found: Found, checks: Checks, notes: Notes) -> None:
    """Delete the checks of removed sites, and the reports and lists that name removed pages."""
    only = frozenset([] if found.domain is None else [found.domain])
    hosts = [host_key(url) for url in found.addresses] + list(only)
    for site in monitored(notes):
        if within(site, only):
            checks.forget(site=site)
            forget_report(notes, site)
        elif any(within(host, frozenset((site,))) for host in hosts):
            # The removed domain may be only a part of the monitored site.
            for page in checks.iter(site):
                if within(host_key(page.url), only):
                    checks.forget(pages=[page.fingerprint])
            forget_lists(notes, site)
