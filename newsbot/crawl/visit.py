"""One visit: everything between the lease of a URL and its acknowledgement.

The scheduler makes it, middlewares, spider and pipelines add what they see, and
:mod:`newsbot.crawl.completion` reads it at the end. It travels in ``request.meta["visit"]``; a redirect hands
it on to the next request, so that a chain of hops stays one visit.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum, auto
from typing import Any, Unpack

from newsbot.clock import from_iso
from newsbot.frontier.base import EntryData, Lease
from newsbot.items import Details, Event, EventKind, Kind, Link, PageRecord, Where
from newsbot.recrawl.policy import Outcome
from newsbot.rights import PageRights
from newsbot.rules.schema import Rule

META_KEY = "visit"
ASIDE_KEY = "beside"
"""Request meta key: tries of a request without a visit (:mod:`newsbot.crawl.auxiliary_scheduler`)."""


class Ending(IntEnum):
    """How a visit ends. If several things happen to it, the later in this list counts."""

    COMPLETE = auto()
    """The page record is written and the next visit is planned, or the URL is tried again."""
    FAULT = auto()
    """As complete, but spider or pipeline had a fault: the URL is tried again."""
    RETURNED = auto()
    """The data were away when they were needed: the URL is pending again, and no attempt is counted."""
    HELD = auto()
    """A limit was reached: the lease stays ours until the crawl closes and gives it back."""


@dataclass(slots=True, kw_only=True)
class Visit:
    """The state of one visit. Times are POSIX seconds."""

    lease: Lease
    rule: Rule
    started: float
    record: PageRecord | None = None
    """The page record as it was before the visit."""
    outcome: Outcome
    carrier: object = None
    """The request that carries the visit now: the one leased, or the last hop of its redirects."""
    url: str = ""
    """Where the last hop leads to."""
    hops: list[str] = field(default_factory=list)
    """URLs that redirected, in order."""
    found: list[Found] = field(default_factory=list)
    """Links that the page gave, not yet queued."""
    events: list[Event] = field(default_factory=list)
    """For ``scrapy why``: what happened, in order."""
    page: dict[str, Any] = field(default_factory=dict)
    """Fields of the page record that the answer gave."""
    rights: PageRights = field(default_factory=PageRights)
    """What may be done with the page, as far as its answer was read."""
    ending: Ending = Ending.COMPLETE
    """How the visit ends; see :meth:`end`."""
    no_article: str = ""
    """Why the page holds no article, as a token; empty if it holds one or was not read as one."""
    anew: bool = False
    """A source that is read in full although it may be unchanged: something else is wanted of it now."""
    asked_head: bool = False
    """HEAD was asked and did not settle it: this is the GET after it."""
    tried: bool = False
    """What the list under trial holds was told (:mod:`newsbot.discovery.list_probing`)."""
    taught: bool = False
    """What the page turned out to be was told (:mod:`newsbot.ranking.url_learning`)."""
    booked: bool = False
    """The poll is counted in its source's record."""
    next_page: str | None = None
    """Where the article that was read goes on; see :mod:`newsbot.spiders.paging`."""

    @property
    def kind(self) -> Kind:
        """What the URL was expected to be when it was queued."""
        return self.lease.entry.kind

    @property
    def data(self) -> EntryData:
        """What travelled with the frontier's entry."""
        return self.lease.entry.data

    @property
    def forced(self) -> bool:
        """True when a person asked for this URL, and it has not been fetched since."""
        if not self.data.get("force"):
            return False
        fetched = None if self.record is None else self.record.last_fetched
        return fetched is None or fetched <= self.discovered_at()

    @property
    def guessed(self) -> bool:
        """True for a usual place of feeds and sitemaps that has not given one yet."""
        untried = self.record is None or self.record.last_full_fetch is None
        return self.data.get("where") == Where.GUESS and untried

    @property
    def of_index(self) -> bool:
        """True for a sitemap that an index named (:mod:`newsbot.spiders.sitemap_index`)."""
        return self.kind is Kind.SITEMAP and self.data.get("where") == Where.SITEMAP

    @property
    def keeps_book(self) -> bool:
        """True for sources of which polls are counted; files of an index: once they bring something new."""
        known = self.record is not None and self.record.last_full_fetch is not None
        return self.kind.is_source and (not self.of_index or (known and self.outcome.new_items > 0))

    def end(self, ending: Ending) -> None:
        """Let the visit end so, unless it ends in a stronger way already."""
        self.ending = max(self.ending, ending)

    def note(self, at: float, kind: EventKind, **details: Unpack[Details]) -> None:
        """Add an event to the history of the URL; ``at`` in POSIX seconds."""
        event: Event = {"at": round(at, 3), "event": kind.value, **details}
        self.events.append(event)

    def hint(self) -> Link:
        """The link that led here, as evidence for extraction."""
        return Link(
            url=self.lease.entry.url,
            where=Where(self.data.get("where", Where.BODY)),
            kind=self.kind,
            text=self.data.get("title"),
            published_at=from_iso(self.data.get("published_at")),
        )

    def discovered_at(self) -> float:
        """When the URL was first heard of."""
        return float(self.data.get("discovered_at") or self.started)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Links that one place gave; spiders yield it beside items, the links middleware queues it."""

    links: tuple[Link, ...]
    referrer: str | None
    depth: int
    """Clicks from a seed to these links."""
    force: bool = False
    """Fetch them now, also if they are known: a person asked."""
    patient: bool = False
    """These sitemaps come behind articles."""
    source: str | None = None
    """Domain of the rule that names these links; None: each link belongs to the site of its host."""
