"""Interfaces for the results of the spiders ``monitor`` and ``search``.

``monitor`` stores the latest checks of each page, oldest first. It does not change the page records of the
news crawl.

``search`` stores one result for each search, page and text: the one of the latest visit, even if several
workers write at the same time or repeat a write.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Protocol

from newsbot.search.phrases import MAX_POSITIONS, Position
from newsbot.text.words import clean
from newsbot.urls import fingerprint

MAX_CHECKS = 12
"""Maximum number of checks of a page that are stored: the latest ones."""
MAX_HOPS = 10
"""Maximum number of redirects of a check that are stored."""
MAX_WORD = 200
"""Maximum length of the stored value of a header in characters."""
MAX_URL = 2048
"""Maximum length of a stored URL in characters."""
_LARGEST = (1 << 63) - 1
"""The largest number that both backends store. A header may state any Content-Length."""

REFUSED = frozenset({401, 402, 403, 407, 429, 451, 999})
"""Statuses with which sites refuse crawlers. Browsers may still get the page. 999 is not in any standard, but
some sites send it."""
NOT_ASKED = frozenset(
    {"robots", "robots_unreachable", "robots_failing", "private_address", "bad_url", "scheme"}
)
"""Faults of pages that were not requested."""
Verdict = str
"""``ok``, ``moved`` (a redirect that led to a page), ``broken``, ``refused`` or ``not asked``."""


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
    """The start of the run that made the check; equal for all checks of a run."""
    method: str = "HEAD"
    status: int | None = None
    """The status of the last response, after redirects; None if there was no response."""
    fault: str | None = None
    """The cause of a missing response: one of the words of :mod:`newsbot.crawl.failures`."""
    size: int | None = None
    """Bytes of the body as it was sent (Content-Length, or the bytes received); None if unknown."""
    content_type: str | None = None
    server: str | None = None
    """The header ``Server``."""
    seconds: float | None = None
    """Time from the last request, after redirects, to the headers of its response."""
    etag: str | None = None
    last_modified: str | None = None
    hops: tuple[tuple[int, str], ...] = ()
    """The redirects in order: status and target."""
    found_on: str | None = None
    """A page that links to this one, if this one is not in the crawl database."""

    @property
    def verdict(self) -> Verdict:
        """The verdict on the page (:data:`Verdict`)."""
        if self.fault in NOT_ASKED:
            return "not asked"
        if self.status is None:
            return "broken"
        if self.status in REFUSED:
            return "refused"
        # a redirect without a target leads nowhere; 304 confirms the known content
        if self.status >= 400 or (300 <= self.status < 400 and self.status != 304 and not self.hops):
            return "broken"
        return "moved" if self.hops else "ok"

    @property
    def outcome(self) -> str:
        """The status or the fault as a word. 304 counts as 200."""
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
        """The last check of an earlier run; None if there is none. A run can check a page several times."""
        return next((one for one in reversed(self.checks) if one.run < self.last.run), None)

    @property
    def since(self) -> float:
        """The time of the first stored check since which the outcome has not changed."""
        at = self.last.at
        for one in reversed(self.checks):
            if one.outcome != self.last.outcome:
                break
            at = one.at
        return at


class Checks(Protocol):
    """The stored checks by page."""

    def save(self, checks: Sequence[PageCheck]) -> None:
        """Store checks. Only the latest MAX_CHECKS of each page stay, in whatever order they are given.

        If the server fails, some of the checks can be stored. The call can be repeated.
        """

    def get(self, fingerprints: Sequence[bytes]) -> dict[bytes, CheckedPage]:
        """Return the checks of these URLs by fingerprint. URLs that were never checked are left out."""

    def iter(self, source: str | None = None, *, unlisted: bool = False) -> Iterator[CheckedPage]:
        """Stream all checked pages, or those of a site, in no particular order.

        With ``unlisted`` only those that have no page record.
        """

    def forget(
        self, *, source: str | None = None, url: str | None = None, before: float | None = None
    ) -> int:
        """Delete all checks of the pages that match all given conditions. Return the number of pages.

        ``before``: the last check was before this time (POSIX seconds).
        """


_KEPT = tuple(field.name for field in fields(PageCheck) if field.name not in ("url", "source"))


def packed_check(check: PageCheck) -> dict[str, Any]:
    """Return the stored form of a check: values are cut to their limits, and unknown ones are left out.

    URL and site are left out too: they are stored once for all checks of the page.
    """
    values: dict[str, Any] = {}
    for name in _KEPT:
        value = getattr(check, name)
        if name == "hops":
            value = [[status, clean(url[:MAX_URL])] for status, url in value[:MAX_HOPS]]
        elif isinstance(value, str):
            value = clean(value[: MAX_URL if name == "found_on" else MAX_WORD])
        elif isinstance(value, int) and not isinstance(value, bool):
            value = min(value, _LARGEST)
        if value not in (None, []):
            values[name] = value
    return values


def unpacked_checks(url: str, source: str, kept: Sequence[Mapping[str, Any]]) -> CheckedPage:
    """Return the page whose checks were made by :func:`packed_check`."""
    checks = []
    for one in kept:
        values = {name: one[name] for name in _KEPT if name in one}
        hops = tuple((int(status), str(to)) for status, to in values.pop("hops", ()))
        checks.append(PageCheck(url=url, source=source, hops=hops, **values))
    return CheckedPage(url=url, source=source, checks=tuple(checks))


MAX_CONTEXT = 200
"""Maximum number of characters stored on each side of a hit, and of the hit itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """The result of searching one page for one text."""

    search: str
    """The name of the search."""
    text: str
    """The text or pattern, as the user gave it."""
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
    """Number of hits on the page. It is larger than the number of ``positions`` if some were left out."""


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
        """Store results. A result never replaces that of a later visit.

        A result without positions means that the page does not have the text anymore; then the stored result
        is deleted. If the server fails, some of the results can be stored. The call can be repeated.
        """

    def results(
        self, search: str, *, text: str | None = None, source: str | None = None
    ) -> Iterator[SearchResult]:
        """Stream the results of a search in no particular order: all, or those of a text or a site."""

    def all(self) -> list[SearchSummary]:
        """Return all searches that have results, the latest first."""

    def forget(self, search: str) -> int:
        """Delete the results of a search, and return their number."""


def bounded(result: SearchResult) -> SearchResult:
    """Return the stored form of a result, with limited values and characters that every backend accepts."""
    positions = tuple(
        Position(
            start=one.start,
            end=one.end,
            line=one.line,
            before=clean(one.before[-MAX_CONTEXT:]),
            found=clean(one.found[:MAX_CONTEXT]),
            after=clean(one.after[:MAX_CONTEXT]),
        )
        for one in result.positions[:MAX_POSITIONS]
    )
    return SearchResult(
        search=clean(result.search),
        text=clean(result.text),
        url=clean(result.url),
        source=clean(result.source),
        looked_at=result.looked_at,
        regex=result.regex,
        positions=positions,
        hits=max(result.hits, len(result.positions)),
    )
