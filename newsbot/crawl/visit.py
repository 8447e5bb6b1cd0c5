"""The state of one visit: everything between the lease of a URL and its acknowledgement.

The scheduler creates the visit. It has four phases: the check before the request, the answer of the server,
the reading of the page, and what the pipelines did with its article. The results of each phase are an object
that does not change, and :mod:`newsbot.crawl.completion` reads them at the end. The visit is in
``request.meta["visit"]``. A redirect passes the visit on to the next request, so that a chain of hops is one
visit.

What was fetched is passed to an archive: redirects at once, pages after they were read. A page may say
``noarchive`` in its markup, which is known only after the page was read. Such a page is not archived. If the
URL or canonical URL of a page was removed during the fetch, the page is not archived either. An *exchange* is
a request and its response.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import IntEnum, auto
from typing import Any, Unpack

from scrapy.http import Response

from newsbot.clock import from_iso
from newsbot.crawl.context import Context
from newsbot.crawl.scope import Removals
from newsbot.frontier.base import EntryData, Lease
from newsbot.items import Details, Event, EventKind, GivenBy, Kind, Link, PageRecord, Where
from newsbot.pages.discovery.feeds import Feed
from newsbot.pages.extraction.verdict import Evidence
from newsbot.pages.rights import PageRights, page_rights
from newsbot.pages.rules.rule import Rule
from newsbot.recrawl.planning import Outcome
from newsbot.sites.rights import headers_of
from newsbot.urls import canonicalize, fingerprint, host_key

META_KEY = "visit"
ASIDE_KEY = "beside"
"""Request meta key: how often a request without a visit was retried.

See :mod:`newsbot.apps.monitor.side_spiders`.
"""
PART_KEY = "part of"
"""Request meta key: the page whose scripts make the request (:mod:`newsbot.apps.rendering.middleware`)."""
RULE_KEY = "rule"
"""Request meta key: the site's rule, for a page that is fetched within the visit of another page."""
GIVEN_KEY = "given"
"""Request meta key: the names of the headers that the rule of the site has given to the request."""
EXCHANGE_KEY = "exchange"
"""Request meta key: the exchange that is archived after the page was read."""
RENDERED = "rendered"
"""Flag in ``Response.flags`` of pages whose scripts were run."""
TURN_KEY = "turn"
"""Request meta key: the :class:`Turn` that is reserved for this request.

A request without this key takes the next turn of its host when it is sent.
"""

_LISTINGS = (Where.FEED, Where.NEWS_SITEMAP, Where.SITEMAP)


@dataclass(frozen=True, slots=True)
class Turn:
    """A time that is reserved for one request to a host. Turns of a host are at least its delay apart."""

    at: float
    """The time when the request may be sent, in POSIX seconds of the worker's clock."""
    leased: float | None = None
    """The same time on the frontier's clock if the turn came with a lease, else None."""


class Ending(IntEnum):
    """How a visit ends. If several of these apply, the last of them in this list counts."""

    COMPLETE = auto()
    """The page record is written and the next visit is planned, or the URL is tried again."""
    FAULT = auto()
    """The same as COMPLETE, but the spider or a pipeline raised an exception. The URL is tried again."""
    RETURNED = auto()
    """A backend was unavailable. The URL is pending again, and no attempt is counted."""
    HELD = auto()
    """A limit was reached. The worker keeps the lease until the crawl closes and releases it."""


# --- the phases of a visit
@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """What was known of the page before its request (:mod:`newsbot.middlewares.reprocessing`)."""

    record: PageRecord | None = None
    """The page record before the visit; None if there was no record or if the record was not read."""
    anew: bool = False
    """True if the page is read in full even if it has not changed.

    This is the case if the page was not read as this kind of page before, or if this crawl wants other links
    of a source (feed, sitemap or section) than the last visit did.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The last response of the visit (:mod:`newsbot.middlewares.reprocessing`)."""

    url: str
    status: int
    max_age: float | None = None
    """Seconds from the Cache-Control header."""
    retry_after: float | None = None
    """Seconds from the Retry-After header of a server that asks for fewer requests."""
    fields: Mapping[str, Any] = field(default_factory=dict)
    """Fields of the page record that are read from the headers of all responses."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What the spider read in the last response (:mod:`newsbot.spiders`)."""

    began: float = 0.0
    """The time when the spider got the response; 0 if it has none."""
    error: str | None = None
    """The reason why the content is missing, a token such as ``timeout``; None after a success."""
    content_hash: str | None = None
    """The digest of the body; None if there was no body to read."""
    changed: bool | None = None
    """True if the content differs from the previous visit; None if unknown."""
    rights: PageRights = field(default_factory=PageRights)
    """The rights reservations that were found in the response."""
    price: str | None = None
    """What the server asks for the page (status 402)."""
    links_count: int | None = None
    shown: int = 0
    """Number of links in a source; 0 if unknown."""
    span: float | None = None
    """Age in seconds of the oldest link in the source; None if the links have no dates."""
    ttl: float | None = None
    """Seconds for which a feed asks clients not to poll it again."""
    update_period: float | None = None
    """Seconds between updates, as stated by a feed."""
    skip_hours: frozenset[int] = frozenset()
    """Hours of the day (UTC) that a feed excludes from polling."""
    retry_after: float | None = None
    """Seconds from the Retry-After header of a further response that belongs to the source."""
    is_article: bool | None = None
    """True if the page is an article, False if it is not; None if unknown."""
    no_article: str = ""
    """The token of the reason why the page is not an article; empty if it is an article or was not read."""
    evidence: Evidence | None = None
    """What the page shows of being an article; None if it was not read as one."""
    is_teaser: bool = False
    """True if the page has only a part of its article."""
    canonical_url: str | None = None
    title: str | None = None
    published_at: str | None = None
    """The fields of the article, as the page gives them."""
    next_page: str | None = None
    """The URL of the article's next page; see :mod:`newsbot.spiders.news`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What the pipelines did with the article (:class:`newsbot.crawl.completion.CompletionQueue`)."""

    text_key: str = ""
    """The ``content_hash`` of the page's article; empty if there is none."""
    is_copy: bool = False
    """True if the article has most of its text in common with another article of the site."""
    is_unchanged: bool = False
    """True if the stored text is the same, although the page may differ, for example in ads."""


@dataclass(slots=True, kw_only=True)
class Settling:
    """The progress of the completion, which is repeated after a fault (:mod:`newsbot.crawl.completion`)."""

    steps: Iterator[int] | None = None
    """The remaining steps to queue ``found[0]`` (:meth:`newsbot.crawl.links.queue.Links.steps`)."""
    concluded: int | None = None
    """Number of events when the first attempt to conclude the visit began; None before this attempt."""
    error: str | None = None
    """A fault that only the completion sees."""
    new_items: int = 0
    """Number of links that were not known before."""
    left_out: int = 0
    """Number of links that did not fit into the queue (:mod:`newsbot.crawl.links.queue`)."""
    goes_on: bool = False
    """True if the next pages of the list are worth reading (:mod:`newsbot.crawl.links.families`)."""
    told: bool = False
    """True once the result of this list is recorded for its family."""
    taught: bool = False
    """True once URL learning knows whether the page is an article (:mod:`newsbot.ranking.url_learning`)."""
    booked: bool = False
    """True once this visit is counted as a poll in the source's record."""


@dataclass(frozen=True, slots=True)
class Hop:
    """A request of the visit that was redirected."""

    url: str
    cookies: bytes


@dataclass(frozen=True, slots=True)
class Due:
    """The time of the next visit, if it is known before the recrawl policy is asked. None: never."""

    at: float | None


@dataclass(slots=True, kw_only=True)
class Visit:
    """The state of one visit. Times are POSIX seconds.

    Each phase replaces one of the objects ``check``, ``answer``, ``reading`` and ``kept``, which do not
    change themselves. A later phase reads them. :attr:`outcome` is the result for the recrawl policies.
    """

    lease: Lease
    rule: Rule
    started: float
    address: str = ""
    """The URL of the first request; empty if it is the URL of the entry."""
    carrier: object = None
    """The request that carries the visit now: the leased request, or the last hop of its redirects."""
    hops: tuple[Hop, ...] = ()
    """The requests that were redirected, in their order."""
    redirected_to: str | None = None
    """The canonical URL of the last target of a redirect."""
    check: Check = Check()
    answer: Answer | None = None
    reading: Reading = Reading()
    kept: Kept = Kept()
    settling: Settling = field(default_factory=Settling)
    found: list[Found] = field(default_factory=list)
    """Links of the page that are not queued yet."""
    events: list[Event] = field(default_factory=list)
    """The events of this visit, in order. ``scrapy why`` shows them."""
    ending: Ending = Ending.COMPLETE
    """How the visit ends; see :meth:`end`."""
    due: Due | None = None
    """The time of the next visit; None if the recrawl policy decides."""
    reads_again: bool = False
    """True if the next visit must read the page in full, because links of the page were left out."""
    has_other_kind: bool = False
    """True if the page was queued as a page of another kind (:meth:`become`)."""

    @property
    def record(self) -> PageRecord | None:
        """The page record before the visit (:attr:`Check.record`)."""
        return self.check.record

    @property
    def url(self) -> str:
        """The URL of the last response of this visit, or else of its first request."""
        return self.address or self.lease.entry.url if self.answer is None else self.answer.url

    @property
    def outcome(self) -> Outcome:
        """The result of the visit so far."""
        answer, reading = self.answer, self.reading
        return Outcome(
            kind=self.kind.like,
            status=None if answer is None else answer.status,
            not_modified=answer is not None and answer.status == 304,
            max_age=None if answer is None else answer.max_age,
            retry_after=reading.retry_after or (None if answer is None else answer.retry_after),
            error=self.settling.error or reading.error,
            changed=False if self.kept.is_unchanged else reading.changed,
            new_items=self.settling.new_items,
            ttl=reading.ttl,
            update_period=reading.update_period,
            skip_hours=reading.skip_hours,
            shown=reading.shown,
            span=reading.span,
            is_article=reading.is_article,
            redirected_to=self.redirected_to,
        )

    def read(self, **fields: Any) -> None:
        """Add fields to :attr:`reading`. Only the spider and its middlewares call this method."""
        self.reading = replace(self.reading, **fields)

    def become(self, kind: Kind) -> None:
        """Go on as a visit of another kind of page. The next visits are of this kind, too."""
        self.lease = replace(self.lease, entry=replace(self.lease.entry, kind=kind))
        self.has_other_kind = True

    @property
    def kind(self) -> Kind:
        """The kind that the URL was expected to have when it was queued."""
        return self.lease.entry.kind

    @property
    def data(self) -> EntryData:
        """The data of the leased entry."""
        return self.lease.entry.data

    @property
    def forced(self) -> bool:
        """True if a person requested this URL and it has not been fetched since."""
        if not self.data.get("force"):
            return False
        fetched = None if self.record is None else self.record.last_fetched
        return fetched is None or fetched <= self.discovered_at()

    @property
    def guessed(self) -> bool:
        """True for a guessed address of a feed or sitemap that was never read in full.

        See :mod:`newsbot.crawl.links.usual_places`.
        """
        untried = self.record is None or self.record.last_full_fetch is None
        return self.data.get("where") == Where.GUESS and untried

    @property
    def of_index(self) -> bool:
        """True for a sitemap that an index named (:mod:`newsbot.spiders.sources`)."""
        return self.kind.is_sitemap and self.data.get("where") == Where.SITEMAP

    @property
    def keeps_book(self) -> bool:
        """True if the visit counts as a poll in the record of its source.

        A file of a sitemap index counts only if it was read before and has new links now.
        """
        known = self.record is not None and self.record.last_full_fetch is not None
        return self.kind.is_source and (not self.of_index or (known and self.settling.new_items > 0))

    def end(self, ending: Ending) -> None:
        """Set the ending, unless the present ending is later in the list of :class:`Ending`."""
        self.ending = max(self.ending, ending)

    def note(self, at: float, kind: EventKind, **details: Unpack[Details]) -> None:
        """Add an event to the history of the URL; ``at`` in POSIX seconds."""
        event: Event = {"at": round(at, 3), "event": kind.value, **details}
        self.events.append(event)

    def hint(self) -> Link:
        """Return the link that led to this page, as evidence for the extraction.

        If the link is from another site than the page, it is evidence for nothing but the address.
        """
        url, where = self.lease.entry.url, Where(self.data.get("where", Where.BODY))
        if not GivenBy.of(self.data).counts_for(self.rule.domain):
            return Link(url=url, where=Where.BODY if where in _LISTINGS else where, kind=self.kind)
        return Link(
            url=url,
            where=where,
            kind=self.kind,
            text=self.data.get("title"),
            published_at=from_iso(self.data.get("published_at")),
            authors=tuple(self.data.get("authors", ())),
            media=tuple(self.data.get("media", ())),
        )

    def discovered_at(self) -> float:
        """Return the time when the URL was discovered, in POSIX seconds."""
        return float(self.data.get("discovered_at") or self.started)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Links of one page or rule.

    A spider yields this object like an item, and the links middleware (:mod:`newsbot.middlewares.links`)
    queues the links.
    """

    links: tuple[Link, ...]
    referrer: str | None
    depth: int
    """Number of clicks from a seed to these links."""
    force: bool = False
    """True if a person requested the links. They are fetched now even if they are known."""
    patient: bool = False
    """True if these sitemaps have a lower priority than articles."""
    site: str | None = None
    """Domain of the rule that names the links. None if each link belongs to the site of its host."""
    feed: Feed | None = None
    """The feed that has the links. Spider middlewares of apps use it."""


# --- archive
async def keep_page(context: Context, removals: Removals, response: Response) -> None:
    """Archive a response that was read, unless its headers say ``noarchive`` or its page was removed."""
    request = response.request
    exchange = request.meta.pop(EXCHANGE_KEY, None) if request is not None else None
    if context.archive is None or exchange is None:
        return
    # This is checked after the download, because a page may be removed while it is fetched.
    if _was_taken_out(removals, response):
        context.count("archive/removed")
    elif page_rights(headers_of(response)).archive:
        await context.archive.keep(exchange)
    else:
        context.count("archive/noarchive")


def _was_taken_out(removals: Removals, response: Response) -> bool:
    visit: Visit | None = response.meta.get(META_KEY)
    canonical_url = "" if visit is None else visit.reading.canonical_url or ""
    drop = () if visit is None else visit.rule.drop_query
    urls = {canonicalize(url, drop) for url in (response.url, canonical_url) if url}
    return any(removals.covers(fingerprint(url), host_key(url)) for url in urls)
