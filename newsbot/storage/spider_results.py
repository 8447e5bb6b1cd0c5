"""What the spiders ``monitor`` and ``search`` found on the pages of sites.

``monitor`` keeps checks: of each page its last ones, the oldest first. The page records of the news crawl are
not touched by them. ``search`` keeps searches: a search has a name, chosen by the person who searches, and
for each page and each text one result, that of the latest look, whatever races and however often it is
written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Protocol

from newsbot.search.phrases import MAX_POSITIONS, Position
from newsbot.text.words import clean
from newsbot.urls import fingerprint

MAX_CHECKS = 12
"""Checks of a page that are kept, the last ones."""
MAX_HOPS = 10
MAX_WORD = 200
"""Characters of what a header says."""
MAX_URL = 2048
_LARGEST = (1 << 63) - 1
"""A header may claim any Content-Length."""

REFUSED = frozenset({401, 402, 403, 407, 429, 451, 999})
"""Statuses with which a site refuses the crawler: people may well see the page."""
NOT_ASKED = frozenset(
    {"robots", "robots_unreachable", "robots_failing", "private_address", "bad_url", "scheme"}
)
"""Faults of checks that never were made."""
Verdict = str
"""``ok``, ``moved`` (a redirect at the end of which is a page), ``broken``, ``refused`` or ``not asked``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageCheck:
    """One look at one page. Times are POSIX seconds."""

    url: str
    """The canonical URL of the page."""
    source: str
    """The site: a rule's domain."""
    at: float
    run: float
    """When the run began that made the check: all checks of a run have the same."""
    method: str = "HEAD"
    status: int | None = None
    """Of the last hop; None: there was no answer."""
    fault: str | None = None
    """Why there was no answer, in the words of :mod:`newsbot.crawl.failures`."""
    size: int | None = None
    """Bytes as they are sent (Content-Length, or what came); None: not told."""
    content_type: str | None = None
    server: str | None = None
    seconds: float | None = None
    """From the request to the headers of the answer, of the last hop."""
    etag: str | None = None
    last_modified: str | None = None
    hops: tuple[tuple[int, str], ...] = ()
    """Redirects: the status, and where it led."""
    found_on: str | None = None
    """The page that links there, for pages that the crawl database does not know."""

    @property
    def verdict(self) -> Verdict:
        """What the check means for people."""
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
        """The status, or the fault, as a word; a page that is as it was (304) is there (200)."""
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
        """Since when, as far as is kept, the outcome is as it is now."""
        at = self.last.at
        for one in reversed(self.checks):
            if one.outcome != self.last.outcome:
                break
            at = one.at
        return at


class Checks(Protocol):
    """Checks by page."""

    def save(self, checks: Sequence[PageCheck]) -> None:
        """Keep checks: all, or, where a server fails in between, some (call again).

        Of each page the last MAX_CHECKS by time stay, whatever the order in which they come.
        """

    def get(self, fingerprints: Sequence[bytes]) -> dict[bytes, CheckedPage]:
        """Return the checks of those URLs; what was never checked is missing from the answer."""

    def iter(self, source: str | None = None, *, unlisted: bool = False) -> Iterator[CheckedPage]:
        """Stream all checked pages (of a site), in no particular order.

        With ``unlisted`` only those that have no page record.
        """

    def forget(
        self, *, source: str | None = None, url: str | None = None, before: float | None = None
    ) -> int:
        """Delete all checks of the pages that match everything that is given; return how many pages.

        ``before``: pages whose last check was earlier.
        """


_KEPT = tuple(field.name for field in fields(PageCheck) if field.name not in ("url", "source"))


def packed_check(check: PageCheck) -> dict[str, Any]:
    """Return a check as it is kept in the list of its page: bounded, without what is not known."""
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
    """Return the page of what :func:`packed_check` made."""
    checks = []
    for one in kept:
        values = {name: one[name] for name in _KEPT if name in one}
        hops = tuple((int(status), str(to)) for status, to in values.pop("hops", ()))
        checks.append(PageCheck(url=url, source=source, hops=hops, **values))
    return CheckedPage(url=url, source=source, checks=tuple(checks))


MAX_CONTEXT = 200
"""Characters that are kept on each side of a hit, and of the hit itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """What one look at one page found of one text."""

    search: str
    """The name of the search."""
    text: str
    """What was searched for, as it was given."""
    url: str
    """The canonical URL of the page."""
    source: str
    """The site: a rule's domain."""
    looked_at: float
    """When the page was read, in POSIX seconds."""
    regex: bool = False
    positions: Sequence[Position] = ()
    hits: int = 0
    """How many there are on the page; more than ``positions`` if some of these were left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchSummary:
    """One search: on how many pages it found how much, and when it looked."""

    search: str
    pages: int
    hits: int
    first: float
    last: float


class Searches(Protocol):
    """Results by search, text and page."""

    def save(self, found: Sequence[SearchResult]) -> None:
        """Keep results: all, or, where a server fails in between, some (call again).

        A result of an earlier look never replaces that of a later one. A result without positions says that
        the text is not on the page: what an earlier look found there is deleted.
        """

    def results(
        self, search: str, *, text: str | None = None, source: str | None = None
    ) -> Iterator[SearchResult]:
        """Stream the results of a search (of one text, of one site), in no particular order."""

    def all(self) -> list[SearchSummary]:
        """Return all searches that found something, the latest first."""

    def forget(self, search: str) -> int:
        """Delete the results of a search; return how many."""


def bounded(result: SearchResult) -> SearchResult:
    """Return a result as it is kept: within bounds, and with signs that every file takes."""
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
