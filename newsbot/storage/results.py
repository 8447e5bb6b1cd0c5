"""What a search over the pages of sites found: which text, on which page, where.

A search has a name, chosen by who searches. Of each page and each text it keeps one result: the one of
the latest look, whatever races and however often it is written. Both storages implement
:class:`SearchResults` beside :class:`newsbot.storage.base.Storage`, with the same guarantees.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from newsbot.search.phrases import MAX_POSITIONS, Position
from newsbot.text.words import clean

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


@runtime_checkable
class SearchResults(Protocol):
    """See the module's text."""

    def save_results(self, found: Sequence[SearchResult]) -> None:
        """Keep results, all or, where a server fails in between, some: to be called again. Idempotent.

        A result of an earlier look never replaces that of a later one. One without positions says
        that the text is not on the page: what an earlier look found there goes.
        """

    def results(
        self, search: str, *, text: str | None = None, source: str | None = None
    ) -> Iterator[SearchResult]:
        """Results of a search (of one text, of one site), each once, in no particular order, streamed.

        Writing meanwhile is allowed.
        """

    def searches(self) -> list[SearchSummary]:
        """All searches that found something, the latest first."""

    def forget_search(self, search: str) -> int:
        """Delete the results of a search; how many."""


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
