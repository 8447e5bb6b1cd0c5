"""The results of the spiders ``monitor`` and ``search``.

``monitor`` checks whether pages can be fetched. The latest checks of each page are stored, oldest first.
The page records of the news crawl are not changed.

``search`` looks for texts on pages. One result is stored for each search, page and text: the result of the
latest visit, even if several workers write at the same time or repeat a write.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Protocol

from newsbot.apps.monitor.app import APP
from newsbot.items import MAX_POSITIONS, Position
from newsbot.pages.text.words import clean
from newsbot.storage.base import Storage
from newsbot.urls import fingerprint

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
