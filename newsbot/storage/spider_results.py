"""Results of the spiders ``monitor`` and ``search``.

``monitor`` stores the latest checks of each page, oldest first, and does not touch the page records of the
news crawl.

``search`` stores, under the name of the search, one result for each page and text: that of the latest look,
in any race and however often it is written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Protocol

from newsbot.search.phrases import MAX_POSITIONS, Position
from newsbot.text.words import clean
from newsbot.urls import fingerprint

MAX_CHECKS = 12
"""Number of checks of a page that are stored, the latest ones."""
MAX_HOPS = 10
MAX_WORD = 200
"""Maximum number of characters of a header's value."""
MAX_URL = 2048
_LARGEST = (1 << 63) - 1
"""Maximum size; a header may state any Content-Length."""

REFUSED = frozenset({401, 402, 403, 407, 429, 451, 999})
"""Statuses with which a site refuses the crawler. People may well see the page."""
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
    """The site: a rule's domain."""
    at: float
    run: float
    """Start of the run that made the check; equal for all checks of a run."""
    method: str = "HEAD"
    status: int | None = None
    """Status of the last hop; None: there was no answer."""
    fault: str | None = None
    """Cause of a missing answer, one of the words of :mod:`newsbot.crawl.failures`."""
    size: int | None = None
    """Bytes as sent (Content-Length, or the bytes received); None: unknown."""
    content_type: str | None = None
    server: str | None = None
    seconds: float | None = None
    """Time from the request of the last hop to the headers of its answer."""
    etag: str | None = None
    last_modified: str | None = None
    hops: tuple[tuple[int, str], ...] = ()
    """Redirects: status and target."""
    found_on: str | None = None
    """A page that links to this one, if the crawl database does not know this one."""

    @property
    def verdict(self) -> Verdict:
        """Return the verdict on the page (:data:`Verdict`)."""
        if self.fault in NOT_ASKED:
            return "not asked"
        if self.status is None:
            return "broken"
        if self.status in REFUSED:
            return "refused"
        if self.status >= 400 or (300 <= self.status < 400 and self.status != 304 and not self.hops):
            return "broken"
        return "moved" if self.hops else "ok"

    @property
    def outcome(self) -> str:
        """Return the status or the fault as a word. 304 counts as 200."""
        if self.status == 304:
            return "200"
        return str(self.status) if self.status is not None else (self.fault or "unknown")


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedPage:
    """A page and its checks, oldest first, never empty."""

    url: str
    source: str
    checks: tuple[PageCheck, ...]

    @property
    def fingerprint(self) -> bytes:
        """The identity of the page."""
        return fingerprint(self.url)

    @property
    def last(self) -> PageCheck:
        """The last check."""
        return self.checks[-1]

    @property
    def before(self) -> PageCheck | None:
        """The last check of an earlier run."""
        return next((one for one in reversed(self.checks) if one.run < self.last.run), None)

    @property
    def since(self) -> float:
        """Return the time since which the outcome is the same, as far as checks are stored."""
        at = self.last.at
        for one in reversed(self.checks):
            if one.outcome != self.last.outcome:
                break
            at = one.at
        return at


class Checks(Protocol):
    """Checks by page."""

    def save(self, checks: Sequence[PageCheck]) -> None:
        """Store checks.

        If the server fails, some of them may be stored; call again. The latest MAX_CHECKS of each page stay,
        in whatever order checks come.
        """

    def get(self, fingerprints: Sequence[bytes]) -> dict[bytes, CheckedPage]:
        """Return the checks of these URLs. URLs that were never checked are missing."""

    def iter(self, source: str | None = None, *, unlisted: bool = False) -> Iterator[CheckedPage]:
        """Stream all checked pages, or those of a site, in no particular order.

        With ``unlisted`` only those that have no page record.
        """

    def forget(
        self, *, source: str | None = None, url: str | None = None, before: float | None = None
    ) -> int:
        """Delete all checks of the pages that match all given conditions. Returns the number of pages.

        ``before``: pages whose last check was earlier.
        """


_KEPT = tuple(field.name for field in fields(PageCheck) if field.name not in ("url", "source"))


def packed_check(check: PageCheck) -> dict[str, Any]:
    """Return a check as it is stored in the list of its page: with limited values, without unknown ones."""
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
    """The result of one look at one page for one text."""

    search: str
    """The name of the search."""
    text: str
    """The text or pattern, as it was given."""
    url: str
    """The canonical URL of the page."""
    source: str
    """The site: a rule's domain."""
    looked_at: float
    """When the page was read, in POSIX seconds."""
    regex: bool = False
    positions: Sequence[Position] = ()
    hits: int = 0
    """Number of hits on the page; more than ``positions`` if some of these were left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchSummary:
    """One search: its pages and hits, and its first and last look."""

    search: str
    pages: int
    hits: int
    first: float
    last: float


class Searches(Protocol):
    """Results by search, text and page."""

    def save(self, found: Sequence[SearchResult]) -> None:
        """Store results.

        If the server fails, some of them may be stored; call again. A result never replaces one of a later
        look. A result without positions means that the page no longer has the text: the stored result is
        deleted.
        """

    def results(
        self, search: str, *, text: str | None = None, source: str | None = None
    ) -> Iterator[SearchResult]:
        """Stream the results of a search, of one text or of one site, in no particular order."""

    def all(self) -> list[SearchSummary]:
        """Return all searches that have results, the latest first."""

    def forget(self, search: str) -> int:
        """Delete the results of a search; return how many."""


def bounded(result: SearchResult) -> SearchResult:
    """Return a result as it is stored: with limited values, and with characters that every backend
    accepts."""
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
