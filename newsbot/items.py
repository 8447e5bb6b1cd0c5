"""The data types of newsbot: links, page records, articles, and the reasons and events in their history."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import datetime
from enum import StrEnum
from itertools import islice
from typing import Any, ClassVar, Generic, Literal, Self, TypedDict, TypeVar

from newsbot.clock import iso
from newsbot.urls import ascii_host

Precision = Literal["second", "minute", "day"]
Form = Literal["article", "live", "gallery", "post"]
_Key = TypeVar("_Key")
_Value = TypeVar("_Value")
_Item = TypeVar("_Item")


class Bounded(OrderedDict[_Key, _Value], Generic[_Key, _Value]):
    """A mapping with at most ``most`` keys. If a new key exceeds the limit, the oldest key is removed.

    The oldest key is the key that was set longest ago. Workers keep data about sites, hosts and URLs in
    mappings of this class, because the number of sites, hosts and URLs has no limit. :meth:`add` uses the
    mapping as a set: the values are None.
    """

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    def __setitem__(self, key: _Key, value: _Value) -> None:
        super().__setitem__(key, value)
        self.move_to_end(key)
        if len(self) > self._most:
            self.popitem(last=False)

    def add(self: Bounded[_Key, None], *keys: _Key) -> None:
        """Add keys without a value."""
        self.update(dict.fromkeys(keys))

    def shrink(self, most: int, weigh: Callable[[_Value], int]) -> None:
        """Remove the oldest keys until the sum of ``weigh`` over all values is at most ``most``.

        The newest key is kept in any case.
        """
        left = sum(map(weigh, self.values()))
        while left > most and len(self) > 1:
            left -= weigh(self.popitem(last=False)[1])


def batched(items: Iterable[_Item], most: int) -> Iterator[list[_Item]]:
    """Split ``items`` into lists of ``most`` items. The last list may be shorter."""
    left = iter(items)
    while some := list(islice(left, most)):
        yield some


class Kind(str):
    """The kind of content that a URL is expected to have.

    A reader of sources declares its kind with ``Kind(name, like=...)``. The kind is *like* one of
    :data:`KINDS`, so the keys of rules, the intervals and the priorities of that kind hold for it. There is
    one object for each name. A name that nobody has declared is like ``feed``, because only sources have such
    kinds: it is stored, and its reader is left out.
    """

    __slots__ = ("like",)
    FEED: ClassVar[Kind]
    SITEMAP: ClassVar[Kind]
    SECTION: ClassVar[Kind]
    ARTICLE: ClassVar[Kind]
    OTHER: ClassVar[Kind]
    like: Kind

    def __new__(cls, name: str, like: Kind | None = None) -> Kind:
        """Return the kind with this name."""
        kind = _DECLARED.get(name)
        if kind is None:
            kind = _DECLARED[name] = super().__new__(cls, name)
            kind.like = kind if name in _BUILT_IN else Kind.FEED
        if like is not None:
            kind.like = like.like
        return kind

    def __reduce__(self) -> tuple[type[Kind], tuple[str]]:
        """Copies of a kind are the kind itself."""
        return Kind, (self.value,)

    @property
    def value(self) -> str:
        """The name as a plain text."""
        return str(self)

    @property
    def is_source(self) -> bool:
        """True for kinds of pages that are read for their links. Such a page is called a source."""
        return self.is_listing or self.like is Kind.SECTION

    @property
    def is_listing(self) -> bool:
        """True for sources that list links for programs: feeds and sitemaps."""
        return self.is_feed or self.is_sitemap

    @property
    def is_feed(self) -> bool:
        """True for sources that are named and polled like feeds."""
        return self.like is Kind.FEED

    @property
    def is_sitemap(self) -> bool:
        """True for sources that are named and polled like sitemaps."""
        return self.like is Kind.SITEMAP


_DECLARED: dict[str, Kind] = {}
_BUILT_IN = ("feed", "sitemap", "section", "article", "other")
KINDS = tuple(map(Kind, _BUILT_IN))
"""The kinds that rules name."""
Kind.FEED, Kind.SITEMAP, Kind.SECTION, Kind.ARTICLE, Kind.OTHER = KINDS


class GivenBy(str):
    """The domain of the site that states something about a page: the site whose source has the link.

    A site's word counts only for the site itself. If another site has the link, the address may be fetched,
    but the headline, dates and authors that come with it are not used, and nothing is learned from them. The
    text is empty if nobody vouches for the link.
    """

    __slots__ = ()

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> GivenBy:
        """Return who stated the data of a frontier entry. A person or a rule speaks for the entry's site."""
        return cls(data.get("given_by", data.get("source", "")))

    def counts_for(self, domain: str) -> bool:
        """Return True if what this site states counts for the site ``domain``."""
        return self == domain


class Where(StrEnum):
    """Where a link was found. Ranking uses it as evidence."""

    SEED = "seed"
    FEED = "feed"
    NEWS_SITEMAP = "news_sitemap"
    SITEMAP = "sitemap"
    BODY = "body"
    NAVIGATION = "navigation"
    AUTODISCOVERY = "autodiscovery"
    GUESS = "guess"
    """The URL is a usual address of a feed or sitemap. It is tried although no page links to it."""
    ARGUMENT = "argument"
    NEXT_PAGE = "next_page"
    """The next page of a list."""
    REDIRECT = "redirect"
    PUSH = "push"


class Reason(StrEnum):
    """Reasons as tokens. The code compares these tokens, and articles, stats and records contain them.

    Records may contain other tokens, such as ``http_503`` or ``feed_empty``, which the code does not compare.
    :mod:`newsbot.apps.operations.explain` turns tokens into sentences for users.
    """

    # why a URL was queued, or was marked as done without a visit
    ALIAS = "alias"
    """The URL is another address of a fetched page."""
    CLAIMED = "claimed"
    """A fetched page names the URL as its canonical address."""
    DOUBTED = "doubted"
    """Another page names the URL as its canonical address. This may be wrong, so the URL is fetched too."""
    DUE_AGAIN = "due_again"
    IMPORTED = "imported"
    LIKELY_ARTICLE = "likely_article"
    """A member of an open family (:mod:`newsbot.ranking.families`)."""
    LIST = "list"
    """A list that no rule names. It is fetched only while such lists lead to articles."""
    RULE = "rule"
    SAMPLE = "sample"
    """A member of an unknown or closed family that is fetched to decide about the family."""
    SUBJECT_LIST = "subject_list"
    """A list by tag, category or author. Such lists are read last."""
    UNRANKED = "unranked"
    # why a link is not followed
    BARREN_LIST = "barren_list"
    FRONT_PAGE = "front_page"
    NOT_FOLLOWED = "not_followed"
    NOT_IN_RULE = "not_in_rule"
    OFFSITE = "offsite"
    TOO_DEEP = "too_deep"
    TOO_OLD = "too_old"
    UNLIKELY_LIST = "unlikely_list"
    WAITS = "waits"
    """The family of the URL is not open. The link is kept."""
    # why a visit returned no page to read
    BAD_URL = "bad_url"
    CONNECTION = "connection"
    CREDENTIALS = "credentials"
    """A secret that the site's rule names is missing."""
    DENIED = "denied"
    DNS = "dns"
    HTTP_404 = "http_404"
    HTTP_410 = "http_410"
    IGNORED = "ignored"
    LIMIT = "limit"
    """The crawl has reached its limit of articles for the site."""
    NO_ARTICLE = "no_article"
    NOTHING_THERE = "nothing_there"
    """The feed or sitemap at a usual address contains no links."""
    OURS = "ours"
    """An error in newsbot or in its data."""
    PRIVATE_ADDRESS = "private_address"
    PORT = "port"
    PROXY = "proxy"
    REDIRECT_KNOWN = "redirect_known"
    REDIRECTS = "redirects"
    REFUSED = "refused"
    RENDER = "render"
    """The browser could not render the page."""
    REMOVED = "removed"
    """A person removed the page (``scrapy remove``)."""
    ROBOTS = "robots"
    ROBOTS_FAILING = "robots_failing"
    ROBOTS_UNREACHABLE = "robots_unreachable"
    ROBOTS_UNREADABLE = "robots_unreadable"
    """The server has sent a robots.txt whose content is damaged or too long."""
    SAME_PAGE = "same_page"
    """The URL differs from the URL of a known page only in a session id."""
    SCHEME = "scheme"
    SCRIPTS = "scripts"
    """The page is a list without links, and its scripts may add links."""
    TIMEOUT = "timeout"
    TLS = "tls"
    TOO_LARGE = "too_large"
    TOO_YOUNG = "too_young"
    """The page's interval has not passed since its last visit."""
    UNNAMED = "unnamed"
    """The page is a source that is no longer named in any rule."""
    # why an article was not stored
    COPY = "copy"
    """The text is a part of a stored article of the same site."""
    SAME_TEXT = "same_text"
    UNCHANGED = "unchanged"


class EventKind(StrEnum):
    """The kind of an event in the history of a page."""

    DISCOVERED = "discovered"
    FETCHED = "fetched"
    NEXT_PAGE = "next_page"
    """The next page of a list."""
    REDIRECT = "redirect"
    HOST_RESTS = "host_rests"
    NO_PAGE = "no_page"
    UNREADABLE = "unreadable"
    NOFOLLOW = "nofollow"
    LINKS_CUT = "links_cut"
    FEED_PROBLEMS = "feed_problems"
    SITEMAPS_LEFT = "sitemaps_left"
    QUEUE_FULL = "queue_full"
    """Some links of the source were not queued, because too many pages of the site wait."""
    MOVED = "moved"
    NOT_AN_ARTICLE = "not_an_article"
    PAGES_JOINED = "pages_joined"
    STORED = "stored"
    DROPPED = "dropped"
    FAULT = "fault"
    LEFT = "left"
    """The URL was queued but not fetched, because the crawl has since learned that the page is not wanted."""
    GUESSED = "guessed"
    RESPELLED = "respelled"
    """The page failed and is tried under another spelling of the same address."""
    CANONICAL = "canonical"
    RETRY = "retry"
    PLANNED = "planned"
    """The visit has ended, and the next visit is planned."""
    IMPORTED = "imported"


class Medium(TypedDict, total=False):
    """A picture, audio or video of an article: the type, the URL, and what is stated about the file."""

    type: Literal["image", "audio", "video"]
    url: str
    mime: str
    width: int
    """In pixels, like ``height``."""
    height: int
    bytes: int
    caption: str


class Details(TypedDict, total=False):
    """The details of an event besides its time and kind. Each kind of event has some of these keys."""

    where: str
    """In the event ``discovered``: where the link was found, a :class:`Where`."""
    referrer: str | None
    why: str
    """In ``discovered``: a :class:`Reason` or :class:`Where`, optionally with a colon and a detail.

    In ``planned``: a sentence.
    """
    given_by: str
    """In ``discovered``: the domain of the site that has the link (:class:`GivenBy`)."""
    published_at: str
    authors: list[str]
    media: list[Medium]
    ruled: bool
    status: int
    bytes: int
    tls: str
    """In ``fetched``: ``not verified`` if the rule says ``tls: ignore``."""
    price: str
    """In ``fetched``: the price that the server states with the status 402; ``402`` if it states none."""
    rendered: bool
    """In ``fetched``: True if the page was read after its scripts were run."""
    missing: list[str]
    """In ``not_an_article``: what the page lacks of what articles have
    (:mod:`newsbot.pages.extraction.verdict`)."""
    scripts: bool
    """In ``not_an_article``: True if the page has scripts and hardly any text."""
    unchanged: bool
    to: str
    host: str
    seconds: float
    cause: str
    text: str
    kept: int
    problems: list[str]
    left: int
    old: int
    of: int
    reason: str
    pages: int
    fault: str
    version: int | None
    error: str
    fruitful: bool
    absent: str
    believed: bool
    after: float
    attempt: int
    next_due: float | None
    changed: bool | None
    file: str


class Event(Details):
    """An event as it is stored, in JSON."""

    at: float
    """The time of the event in POSIX seconds."""
    event: str
    """The kind of the event, an :class:`EventKind`."""


def read_reason(stored: str | None) -> tuple[str, str]:
    """Return the token and the detail of a stored reason."""
    token, _, detail = (stored or "").partition(":")
    return token, detail


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """One link in a source. ``url`` is absolute, in the site's spelling."""

    url: str
    where: Where
    kind: Kind | None = None
    text: str | None = None
    """The text of the link, or the title of the feed's item."""
    published_at: datetime | None = None
    modified_at: datetime | None = None
    authors: tuple[str, ...] = ()
    """The authors that a feed names, as the feed writes them."""
    media: tuple[Medium, ...] = ()
    """The pictures, audio and video that a feed names."""

    @property
    def bare(self) -> Self:
        """The link without what its source states about the page."""
        return replace(self, text=None, published_at=None, modified_at=None, authors=(), media=())


@dataclass(slots=True, kw_only=True)
class PageRecord:
    """The record of one URL: its state, the last response, and its history. Times are POSIX seconds."""

    url: str
    fingerprint: bytes
    host: str
    source: str
    kind: Kind
    state: Literal["pending", "leased", "done", "gone", "failed"] = "pending"
    http_status: int | None = None
    content_type: str | None = None
    content_length: int | None = None
    server: str | None = None
    etag: str | None = None
    last_modified: str | None = None
    content_hash: str | None = None
    referrers: list[str] = field(default_factory=list)
    referrer_count: int = 0
    links_count: int | None = None
    depth: int = 0
    first_seen: float = 0.0
    last_fetched: float | None = None
    last_full_fetch: float | None = None
    """Time of the last successful response with a body (not 304)."""
    next_due: float | None = None
    checks: int = 0
    changes: int = 0
    failures: int = 0
    """Number of failures in a row; 0 after a success."""
    history: list[Event] = field(default_factory=list)
    """The last events, oldest first. The storage limits their number."""

    def last(self, kind: EventKind) -> Event | None:
        """Return the last event of this kind, or None."""
        return next((event for event in reversed(self.history) if event.get("event") == kind), None)


ARCHIVE, FETCHED = "archive", "fetched"
"""Keys of :attr:`Article.extraction`."""
TIME = {"serializer": iso}
"""Metadata of fields that hold a time. Scrapy's feed exports call the serializer."""


@dataclass(slots=True, kw_only=True)
class Article:
    """One article: the Scrapy item, the stored document and the export row.

    Times are aware. ``published_at`` and ``modified_at`` keep the UTC offset of the page; exported rows are
    in UTC.
    """

    url: str
    canonical_url: str
    source: str
    """The domain of the site's rule, or the registered domain if the site has no rule."""
    title: str
    text: str
    summary: str | None = None
    authors: list[str] = field(default_factory=list)
    agencies: list[str] = field(default_factory=list)
    """News agencies that the page names as author or source.

    Agencies in the byline are in ``authors`` too.
    """
    published_at: datetime | None = field(default=None, metadata=TIME)
    published_source: str | None = None
    published_precision: Precision | None = None
    modified_at: datetime | None = field(default=None, metadata=TIME)
    language: str | None = None
    section: str | None = None
    tags: list[str] = field(default_factory=list)
    image: str | None = None
    media: list[Medium] = field(default_factory=list)
    """The pictures, audio and video of the article (:mod:`newsbot.pages.extraction.fields.details`)."""
    structure: dict[str, list[int]] = field(default_factory=dict)
    """Lines of ``text`` (from 0) that are not plain paragraphs, by kind: heading, quote, item, table."""
    form: Form = "article"
    """The form of the text: one article, a live blog, a gallery of pictures with captions, or a post of a
    microblog."""
    partial: bool = False
    """True if only a part of the text could be read, such as the teaser of an article for subscribers."""
    discovered_at: datetime | None = field(default=None, metadata=TIME)
    fetched_at: datetime | None = field(default=None, metadata=TIME)
    content_hash: str = ""
    """Hexadecimal key of the normalised :attr:`shown` text (see :mod:`newsbot.dedup.index`)."""
    story: str | None = None
    """Id of the group of articles that report the same in nearly the same words."""
    relation: str | None = None
    """How the article was related to its story when it was stored: new, member, revision, continues or
    derived (newsbot/dedup/decision.py)."""
    similarity: float | None = None
    """Similarity to the nearest article of the story, from 0 to 1."""
    duplicate_of: str | None = None
    """Canonical URL of an article of the same source with nearly the same text."""
    derived_from: list[str] = field(default_factory=list)
    """Canonical URLs of articles that have much text in common with this article.

    The common text makes up most of the shorter text. The article with the largest share comes first.
    """
    version: int = 1
    rights: dict[str, str] = field(default_factory=dict)
    """The reservations of the site by name, each with the place that states it, e.g. ``{"noai": "meta"}``.

    See :mod:`newsbot.pages.rights`.
    """
    extraction: dict[str, str] = field(default_factory=dict)
    """The method that found each field, e.g. ``{"title": "json-ld"}``.

    ``site_lines``: see :attr:`site_lines`. ``archive``: the URL of the archived page that was read.
    ``fetched``: see :attr:`fetched_url`.
    """

    def __post_init__(self) -> None:
        """Accept ``derived_from`` as it was stored until November 2026: one URL or None."""
        named: list[str] | str | None = self.derived_from
        self.derived_from = [named] if isinstance(named, str) else list(named or ())

    @property
    def fetched_url(self) -> str:
        """The URL that returned the page. It differs from :attr:`url` if :meth:`move_to` was called."""
        return self.extraction.get(FETCHED, self.url)

    def move_to(self, url: str) -> None:
        """Set :attr:`url`, an address of the same page, and note the URL that returned the page."""
        fetched, self.url = self.fetched_url, url
        if fetched != url:
            self.extraction[FETCHED] = fetched

    @property
    def is_archived(self) -> bool:
        """True if the text is from an archive of pages, and not from the site itself (``archive``)."""
        return ARCHIVE in self.extraction

    @property
    def site_lines(self) -> list[tuple[int, str]]:
        """The lines that were removed because the site repeats them around its articles.

        Each is a pair of a number and the removed line. The number is the index (from 0) of the line of
        ``text`` that followed the removed line.
        """
        notes = (note.partition(": ") for note in self.extraction.get("site_lines", "").split("\n"))
        return [(int(number), line) for number, colon, line in notes if colon]

    @site_lines.setter
    def site_lines(self, removed: Iterable[tuple[int, str]]) -> None:
        if notes := "\n".join(f"{number}: {line}" for number, line in removed):
            self.extraction["site_lines"] = notes

    @property
    def shown(self) -> str:
        """The text as the page shows it, including the site's lines."""
        lines = self.text.split("\n") if self.text else []
        # The lines are inserted from the end, so that the numbers of the other lines stay valid.
        for number, line in reversed(self.site_lines):
            lines.insert(number, line)
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return the article as a JSON-serializable mapping. Times are in ISO 8601 with ``Z``."""
        row = asdict(self)
        return {key: iso(value) if isinstance(value, datetime) else value for key, value in row.items()}

    @classmethod
    def from_dict(cls, row: Mapping[str, Any]) -> Self:
        """Return the article from a mapping made by :meth:`to_dict`. Unknown keys are ignored.

        Raises ``TypeError`` if a field without a default is missing, and ``ValueError`` if a time is not in
        ISO 8601.
        """
        values = {one.name: row[one.name] for one in fields(cls) if one.name in row}
        for one in fields(cls):
            if one.metadata == TIME and values.get(one.name) is not None:
                values[one.name] = datetime.fromisoformat(values[one.name])
        return cls(**values)

    def to_markdown(self) -> str:
        """Return headline, byline, address and text as Markdown (CommonMark)."""
        when = self.published_at.date().isoformat() if self.published_at else ""
        byline = ", ".join(filter(None, [*self.authors, when]))
        marks = {line: kind for kind, lines in self.structure.items() for line in lines}
        body = [
            _MARKDOWN.get(marks.get(number, ""), "") + _plain_markdown(line)
            for number, line in enumerate(self.text.split("\n"))
            if line.strip()
        ]
        head = [f"# {_plain_markdown(self.title)}", _plain_markdown(byline), f"<{self.url}>"]
        return "\n\n".join(part for part in (*head, *body) if part) + "\n"


_MARKDOWN = {"heading": "## ", "quote": "> ", "item": "- "}
"""Kind of a line -> the Markdown prefix of such a line."""
_SPECIAL = re.compile(r"[\\`*_\[\]<>|]|^[#+-]|(?<=^\d)[.)]|(?<=^\d\d)[.)]")
"""Matches characters that have a special meaning in Markdown, within a line or at its beginning."""


def _plain_markdown(line: str) -> str:
    """Escape the characters of a line that have a special meaning in Markdown."""
    return _SPECIAL.sub(r"\\\g<0>", line.strip())


@dataclass(frozen=True, slots=True, kw_only=True)
class ArticleFilter:
    """A filter of articles. All conditions must hold. A field that is None does not filter."""

    source: str | None = None
    """The domain of a site, in ASCII or Unicode form."""
    language: str | None = None
    story: str | None = None
    """The id of a story, or the former id of a story that has since been joined with another story."""
    since: datetime | None = None
    """The earliest publication time, inclusive. If it is unknown, the time of the fetch is compared."""
    until: datetime | None = None
    """The latest publication time, exclusive. If it is unknown, the time of the fetch is compared."""
    posts: bool | None = None
    """True: only posts (:attr:`Article.form`); False: no posts."""

    def __post_init__(self) -> None:
        """Convert the domain to ASCII, which is the form in the storage."""
        if self.source:
            object.__setattr__(self, "source", ascii_host(self.source))
