"""Reads articles for the pages and the API: search results, one article with all its data, stories, news.

The news page has events that many sites report, rising words, and the newest articles. A rising word occurs
in a larger share of articles than in the weeks before (:mod:`newsbot.apps.search.articles`).

An article that a person opens is read (:mod:`newsbot.apps.team.people`). These marks are written together a
moment later, so that pages do not wait for them.
"""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from datetime import datetime, timedelta
from heapq import nsmallest
from itertools import islice
from typing import Any

from newsbot.apps.operations.explain import others_of_story
from newsbot.apps.search.articles import RisingTerm, opening
from newsbot.apps.search.index import FirstReport
from newsbot.apps.search.query import narrowed
from newsbot.apps.team.people import Change, Reading, State, reading_of, shared_readings
from newsbot.apps.web.readers import Data, Readers
from newsbot.clock import Clock, system_clock, utc
from newsbot.errors import DataError
from newsbot.items import Article, ArticleFilter, Bounded
from newsbot.pages.text.differences import changes
from newsbot.storage.articles import Story, publication_key
from newsbot.urls import canonicalize, fingerprint

PER_PAGE = 20
"""Number of articles on a page of a search."""
MAX_PAGE = 10
"""Maximum number of result pages of one search.

To see more articles, users can narrow the search or export the articles.
"""
MAX_MEMBERS = 30
"""Maximum number of members of a story that are returned."""
MAX_VERSIONS = 30
"""Maximum number of versions of an article that are returned. The latest versions are returned."""
STORIES = 40
"""Maximum number of stories in the list of the latest stories."""


@dataclass(frozen=True, slots=True)
class ArticleRow:
    """An article in a list, without its text."""

    url: str
    canonical_url: str
    source: str
    title: str
    published_at: datetime | None
    published_precision: str | None
    fetched_at: datetime | None
    language: str | None
    authors: list[str]
    story: str | None
    relation: str | None
    """The relation of the article to its story, at the time of storage: new, member, revision or derived."""
    similarity: float | None
    """Similarity to the article that decided the relation, 0 to 1."""
    derived_from: list[str]
    """Canonical URLs of articles in other stories. Most of the shorter text is the same in both articles."""
    version: int
    snippet: str = ""
    """An excerpt of the text; matches are between ``[`` and ``]``."""
    score: float = 0.0
    copies: int = 0
    """Number of other articles in the story. A search for words returns one article of each story."""
    image: str | None = None
    """Address of the main picture."""


@dataclass(frozen=True, slots=True)
class Found:
    """One page of a search."""

    articles: list[ArticleRow]
    page: int
    more: bool
    """True if there is a next page."""
    unindexed: int = 0
    """Number of articles that were not searched, because they are not in the search index yet."""
    notes: list[str] = field(default_factory=list)
    """Notes for users: which parts of the query were corrected, and why nothing was found."""


@dataclass(frozen=True, slots=True)
class VersionRow:
    """A version of an article, and its differences from the previous one."""

    version: int
    fetched_at: datetime | None
    title: str
    changes: dict[str, Any]
    """Maps each changed field to [before, after], and ``text`` to {"removed": lines, "added": lines}.

    Empty for the first version.
    """


MAX_BARS = 72
"""Maximum number of periods in a chart of reports."""
MIN_BARS = 12
_HOURS = (1, 3, 6, 24, 7 * 24, 28 * 24, 364 * 24)
"""Possible lengths of these periods."""


@dataclass(frozen=True, slots=True)
class Reports:
    """The number of articles that were published in a period."""

    at: datetime
    """The start of the period."""
    hours: int
    """The length of the period."""
    articles: int


def by_period(hours: Mapping[int, int]) -> list[Reports]:
    """Return the numbers of articles by hour since 1970 (``hours``) as periods without gaps, oldest first.

    A period has one hour, or more if there would be more than MAX_BARS. There are at least MIN_BARS.
    """
    if not hours:
        return []
    first, last = min(hours), max(hours)
    size = next((size for size in _HOURS if (last - first) // size < MAX_BARS), _HOURS[-1])
    sums: Counter[int] = Counter()
    for hour, number in hours.items():
        sums[hour // size] += number
    begin = max(first // size, last // size - MAX_BARS)
    end = max(last // size + 1, begin + MIN_BARS)
    return [Reports(utc(at * size * 3600), size, sums[at]) for at in range(begin, end)]


@dataclass(frozen=True, slots=True)
class StoryRow:
    """A story: articles with the same or nearly the same text."""

    story: str
    """The id of the story."""
    sources: list[str]
    """The sites of the members; the site of the first article comes first."""
    first: ArticleRow
    """The article that was published first."""
    members: list[ArticleRow]
    """The members, oldest first; at most 30."""
    count: int
    """Number of all members."""
    delays: list[float]
    """Seconds from the publication of the first member to that of each of the ``members``."""
    reports: list[Reports]
    """The numbers of all members by time of publication, oldest first."""


@dataclass(frozen=True, slots=True)
class Whole:
    """One article with its versions, its story and its event."""

    article: Article
    versions: list[VersionRow]
    members: list[ArticleRow]
    """The other members of its story."""
    event: str | None
    """The id of its event; None if the article is not in the search index yet."""
    others: list[ArticleRow]
    """The first article of each other story of the event.

    Only the first 30 articles of the event are read.
    """


@dataclass(slots=True, kw_only=True)
class ArticleInEvent(Article):
    """An article with its event."""

    event: str | None
    """The id of the event, see docs/search.md; null if the article is not in the search index yet."""

    @classmethod
    def of(cls, known: Whole) -> ArticleInEvent:
        """Return the article of ``known``."""
        values = {one.name: getattr(known.article, one.name) for one in fields(Article)}
        return cls(**values, event=known.event)


def find(data: Data, words: str, where: ArticleFilter, page: int, *, by_time: bool) -> Found:
    """Return one page of search results. The first page has the number 1.

    The other parameters are those of :meth:`newsbot.apps.search.articles.ArticleSearch.find`.
    """
    skip = (page - 1) * PER_PAGE
    # One more article than a page shows is read. If it exists, there is a next page.
    hits = data.search.find(words, where, limit=PER_PAGE + 1, skip=skip, by_time=by_time)
    unindexed = data.search.waiting() if words.strip() else 0
    more = len(hits) > PER_PAGE and page < MAX_PAGE
    notes = data.search.explain(words, found=bool(hits) or page > 1)
    rows = [row_of(hit.article, hit.snippet, round(hit.score, 9), hit.copies) for hit in hits[:PER_PAGE]]
    return Found(rows, page, more, unindexed, notes)


def whole(data: Data, url: str) -> Whole | None:
    """Return the article with a URL, or None if no article has it.

    Raises ``ValueError`` for an invalid URL.
    """
    article = data.storage.articles.get(canonicalize(url))
    if article is None:  # the article may be stored without the query parameters that the rule drops
        article = data.storage.articles.get(canonicalize(url, data.rules.for_url(url).drop_query))
    if article is None:
        return None
    versions = data.storage.articles.versions(article.canonical_url)[-MAX_VERSIONS:]
    event = data.search.events_of([article]).get(article.canonical_url)
    beside = data.search.in_event(event, MAX_MEMBERS) if event else []
    others = one_of_each_story(one for one in beside if _story_of(one) != _story_of(article))
    members = [row_of(one) for one in others_of_story(data.storage, article, MAX_MEMBERS)]
    return Whole(article, version_rows(versions), members, event, others)


def one_of_each_story(articles: Iterable[Article]) -> list[ArticleRow]:
    """Return the first article of each story, and each article without a story, oldest first."""
    first: dict[str, Article] = {}
    for one in sorted(articles, key=publication_key):
        first.setdefault(_story_of(one), one)
    return [row_of(one) for one in first.values()]


def _story_of(article: Article) -> str:
    return article.story or article.canonical_url


def blocks(text: str, structure: Mapping[str, Sequence[int]]) -> list[tuple[str, list[str]]]:
    """Return the blocks of a text, each with its kind and lines.

    The kinds are paragraph, heading, quote, item and table. Consecutive lines of a quote, a list or a table
    form one block. ``structure`` has the numbers of lines by kind, see :class:`newsbot.items.Article`.
    """
    kinds = {line: kind for kind, lines in structure.items() for line in lines}
    found: list[tuple[str, list[str]]] = []
    for number, line in enumerate(text.split("\n")):
        kind = kinds.get(number, "paragraph")
        if not line.strip():
            continue
        if found and found[-1][0] == kind and kind in ("quote", "item", "table"):
            found[-1][1].append(line)
        else:
            found.append((kind, [line]))
    return found


def version_rows(versions: Sequence[Article]) -> list[VersionRow]:
    """Return a row for each version, oldest first, with its differences from the previous version."""
    before = [None, *versions[:-1]]
    return [
        VersionRow(one.version, one.fetched_at, one.title, changes(old, one) if old else {})
        for old, one in zip(before, versions, strict=True)
    ]


def recent_stories(data: Data) -> list[StoryRow]:
    """Return the latest stories with more than one article.

    The result is cached, because this is expensive.
    """
    rows = [_story(one) for one in data.storage.stories.recent(limit=STORIES)]
    # The members of these stories have no text, but the list shows how the first one begins.
    keys = {one.story: fingerprint(one.first.canonical_url) for one in rows}
    whole = data.storage.articles.with_keys(list(keys.values()))
    begins = {story: opening(whole[key].text) for story, key in keys.items() if key in whole}
    return [replace(one, first=replace(one.first, snippet=begins.get(one.story, ""))) for one in rows]


def one_story(data: Data, story: str) -> StoryRow | None:
    """Return the story with this id and its first MAX_MEMBERS members, or None if it does not exist.

    The members are streamed, because a story can have more members than fit into memory.
    """
    sources: Counter[str] = Counter()
    hours: Counter[int] = Counter()

    def counted(members: Iterable[Article]) -> Iterator[Article]:
        for one in members:
            sources[one.source] += 1
            hours[_hour_of(one)] += 1
            yield one

    found = data.storage.articles.iter(ArticleFilter(story=story))
    members = nsmallest(MAX_MEMBERS, counted(found), key=publication_key)  # this also fills the counters
    if not members:
        return None
    return _story(Story(story=members[0].story or story, members=members), sources, hours)


def _hour_of(article: Article) -> int:
    return int(publication_key(article)[0].timestamp() // 3600)


def _story(story: Story, sources: Counter[str] | None = None, hours: Counter[int] | None = None) -> StoryRow:
    """Return the row of a story.

    ``sources`` and ``hours`` contain the numbers of all members by site and by hour. They are needed if
    ``story`` contains only some of the members.
    """
    first = story.first
    sources = sources or Counter(one.source for one in story.members)
    hours = hours or Counter(map(_hour_of, story.members))
    shown, begun = story.members[:MAX_MEMBERS], publication_key(first)[0]
    return StoryRow(
        story=story.story,
        sources=[first.source, *sorted(sources.keys() - {first.source})],
        first=row_of(first, opening(first.text)),
        members=[row_of(one) for one in shown],
        count=sources.total(),
        delays=[(publication_key(one)[0] - begun).total_seconds() for one in shown],
        reports=by_period(hours),
    )


@dataclass(frozen=True, slots=True)
class SiteJoined:
    """A site that reports an event."""

    site: str
    delay: float
    """Seconds from the first article of the event to the first one of the site."""
    articles: int
    first: ArticleRow


@dataclass(frozen=True, slots=True)
class EventSheet:
    """An event with its reports."""

    event: str
    first: ArticleRow
    count: int
    """Number of articles that were read, at most 300."""
    cut: bool
    """True if the event has more articles."""
    reports: list[Reports]
    sites: list[SiteJoined]
    """The sites, in the order in which they joined."""
    stories: list[ArticleRow]
    """The first article of each story, oldest first."""


MAX_OF_EVENT = 300
"""Maximum number of articles of an event that its page reads."""


def one_event(data: Data, event: str) -> EventSheet | None:
    """Return the event with this id, or None if it does not exist."""
    articles = sorted(data.search.in_event(event, MAX_OF_EVENT), key=publication_key)
    if not articles:
        return None
    of_site: dict[str, list[Article]] = defaultdict(list)
    for one in articles:
        of_site[one.source].append(one)
    begun = publication_key(articles[0])[0]
    return EventSheet(
        event=event,
        first=row_of(articles[0], opening(articles[0].text)),
        count=len(articles),
        cut=len(articles) == MAX_OF_EVENT,
        reports=by_period(Counter(map(_hour_of, articles))),
        sites=[
            SiteJoined(
                site, (publication_key(found[0])[0] - begun).total_seconds(), len(found), row_of(found[0])
            )
            for site, found in of_site.items()
        ],
        stories=one_of_each_story(articles),
    )


def row_of(article: Article, snippet: str = "", score: float = 0.0, copies: int = 0) -> ArticleRow:
    """Return an article as a row of a list."""
    shared = {
        one.name: getattr(article, one.name) for one in fields(ArticleRow) if hasattr(article, one.name)
    }
    return ArticleRow(**shared, snippet=snippet, score=score, copies=copies)


WINDOW = timedelta(hours=24)
"""The length of the period, up to now, in which events and words are looked for."""
GROWTH = timedelta(hours=3)
"""The growth of an event is the number of sites that joined it in this period up to now."""
EVENTS, TERMS, NEWEST = 10, 12, 25
"""Maximum lengths of the three lists."""
READ_FOR_NEWEST = 4 * NEWEST
"""Number of newest articles that are read. The list shows one article for each of their stories."""
READ_FOR_UNREAD = 4 * READ_FOR_NEWEST
"""The same for the newest articles that a reader has not read."""
MAX_READ = 30
"""Maximum number of articles of an event that are read to find its stories."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The sites and the language that a reader has chosen for the front page. None does not filter."""

    collection: str | None = None
    """A tag of the rules of sites."""
    language: str | None = None

    def sites(self, data: Data) -> frozenset[str] | None:
        """Return the domains of the sites of the collection; None without a collection."""
        return frozenset(data.rules.tagged(self.collection)) if self.collection else None

    def has(self, article: Article | FirstReport, sites: frozenset[str] | None) -> bool:
        """Return True if an article, or a first report, is chosen. ``sites`` comes from :meth:`sites`."""
        site = article.site if isinstance(article, FirstReport) else article.source
        return (sites is None or site in sites) and self.language in (None, article.language)


EVERYTHING = Choice()


@dataclass(frozen=True, slots=True)
class Joined:
    """The sites that joined an event within one hour. ``at`` is the start of the hour."""

    at: datetime
    sites: list[str]


@dataclass(frozen=True, slots=True)
class TopEvent:
    """An event that several sites report."""

    event: str
    first: ArticleRow
    """The first known article of the event; it can be older than 24 hours."""
    first_at: datetime
    sites: int
    """Number of sites whose first article on the event is from the last 24 hours."""
    growth: int
    """Number of these sites that joined in the last 3 hours."""
    hours: list[Joined]
    """The last 24 hours, oldest first."""
    stories: list[ArticleRow]
    """The first article of each story, oldest first. Only the first 30 articles of the event are read."""

    @property
    def joined(self) -> list[str]:
        """The sites, in the order in which they joined."""
        return [site for one in self.hours for site in one.sites]


@dataclass(frozen=True, slots=True)
class News:
    """All lists of the news page."""

    top: list[TopEvent]
    rising: list[RisingTerm]
    newest: list[ArticleRow]
    unindexed: int = 0
    """If ``top`` is empty: the number of articles that are not in the search index yet. Otherwise 0."""


def top_events(data: Data, chosen: Choice = EVERYTHING) -> list[TopEvent]:
    """Return the EVENTS events with the highest :func:`weight`, best first.

    The function reads the sites and times of the articles of the last 24 hours from the index (at most 50,000
    articles). Then it reads at most MAX_READ articles of each returned event from the storage. Only reports
    of the ``chosen`` sites and language count.
    """
    now = utc(data.clock())
    sites = chosen.sites(data)
    reports: dict[str, list[FirstReport]] = defaultdict(list)
    for one in data.search.first_reports(now - WINDOW, now):
        if chosen.has(one, sites):
            reports[one.event].append(one)
    if chosen != EVERYTHING:  # one of several sites of an event may be left
        reports = {event: found for event, found in reports.items() if len(found) > 1}
    # Events of equal weight are sorted by name, so that their order is the same at each request.
    best = sorted(reports, key=lambda event: (-weight(reports[event], now), event))[:EVENTS]
    read = [
        (event, [one for one in data.search.in_event(event, MAX_READ) if chosen.has(one, sites)])
        for event in best
    ]
    # An event has no articles if they were removed, or if they moved to another event together with their
    # story.
    return [_top_event(event, reports[event], articles, now) for event, articles in read if articles]


def weight(reports: Sequence[FirstReport], now: datetime) -> float:
    """Return the weight of an event: a sum over its sites, in which sites that joined earlier count less.

    ``reports`` contains the first article of each site on the event. An article that was published just now
    counts 1, and an article that is 12 hours old (half of WINDOW) counts 0.5. So a growing event ranks above
    an event that was large yesterday.
    """
    return float(sum(0.5 ** ((now - one.moment) / (WINDOW / 2)) for one in reports))


def _top_event(
    event: str, reports: Sequence[FirstReport], articles: Sequence[Article], now: datetime
) -> TopEvent:
    hour = now.replace(minute=0, second=0, microsecond=0)
    sites: dict[datetime, list[str]] = defaultdict(list)
    for one in reports:
        sites[one.moment.replace(minute=0, second=0, microsecond=0)].append(one.site)
    # The last 24 hours overlap with 25 hours of the clock. Only a part of the first hour and of the last hour
    # is used.
    hours = [hour - timedelta(hours=back) for back in range(int(WINDOW / timedelta(hours=1)), -1, -1)]
    first = min(articles, key=publication_key)
    return TopEvent(
        event=event,
        first=row_of(first, opening(first.text)),
        first_at=publication_key(first)[0],
        sites=len(reports),
        growth=sum(one.moment >= now - GROWTH for one in reports),
        hours=[Joined(at, sites[at]) for at in hours],
        stories=one_of_each_story(articles),
    )


def rising_terms(data: Data) -> list[RisingTerm]:
    """Return the words that rose most in the last 24 hours (:mod:`newsbot.apps.search.articles`)."""
    return data.search.rising(utc(data.clock()), TERMS)


def newest_articles(
    data: Data, chosen: Choice = EVERYTHING, is_read: Callable[[str], bool] | None = None
) -> list[ArticleRow]:
    """Return the newest articles of the ``chosen`` sites and language, one of each story.

    Articles with a date in the future are left out, because they would stay at the top of the list. With
    ``is_read``, which takes a canonical URL, articles that are read are left out.
    """
    most = READ_FOR_NEWEST if is_read is None else READ_FOR_UNREAD
    articles, shown = data.storage.articles, dict[str, Article]()
    where = ArticleFilter(until=utc(data.clock()), language=chosen.language, posts=False)
    if chosen.collection:
        number = NEWEST if is_read is None else most
        hits = data.search.find(narrowed("", tag=chosen.collection), where, limit=number)
        left = [one for one in hits if is_read is None or not is_read(one.article.canonical_url)]
        return [row_of(one.article, opening(one.article.text), copies=one.copies) for one in left[:NEWEST]]
    for one in articles.newest(where, limit=most):
        if is_read is None or not is_read(one.canonical_url):
            shown.setdefault(one.story or one.canonical_url, one)
    return [
        row_of(
            one,
            opening(one.text),
            copies=max(0, articles.count(ArticleFilter(story=one.story)) - 1) if one.story else 0,
        )
        for one in islice(shown.values(), NEWEST)
    ]


def starred_articles(data: Data, keys: Sequence[bytes]) -> list[ArticleRow]:
    """Return the stored articles with these keys, in their order."""
    found = data.storage.articles.with_keys(keys)
    return [row_of(found[key], opening(found[key].text)) for key in keys if key in found]


BACK = "back"
"""Instead of the path of a page: the page on which the button was."""
MAX_PEOPLE = 200
"""Maximum number of people whose marks are kept in memory."""
FRESH = 60.0
"""Seconds after which marks are read again, because another server may have changed them."""
PAUSE = 1.0
"""Seconds after which new marks are written."""


class Marks:
    """The marks of all people. The name of a person comes from :mod:`newsbot.apps.web.dashboard.access`."""

    def __init__(self, readers: Readers, clock: Clock = system_clock) -> None:
        self._readers = readers
        self._clock = clock
        self._known = Bounded[str, tuple[float, Reading]](MAX_PEOPLE)
        self._new: dict[str, list[Change]] = {}
        self._shared = shared_readings()
        self._task: asyncio.Task[None] | None = None

    async def of(self, person: str) -> Reading:
        """Return the marks of a person."""
        at, found = self._known.get(person, (0.0, Reading()))
        if self._clock() - at > FRESH:
            notes = await self._readers.call(lambda data: self._shared.read(data.storage.notes, [person]))
            found = reading_of(notes.get(person))
            for key, state in self._new.get(person, ()):
                found.put(key, state)
            self._known[person] = self._clock(), found
        return found

    async def opened(self, person: str, key: bytes) -> None:
        """Note that a person has opened an article."""
        found = await self.of(person)
        if not found.has_read(key):
            found.put(key, State.READ)
            self._new.setdefault(person, []).append((key, State.READ))
            if self._task is None or self._task.done():
                self._task = asyncio.ensure_future(self._later())

    async def change(self, person: str, keys: Sequence[bytes], state: State) -> None:
        """Mark articles for a person, and write it at once.

        Raises :class:`newsbot.errors.ArgumentError` if too many articles are starred.
        """
        found = await self.of(person)
        found.check_room(keys, state)
        for key in keys:
            found.put(key, state)
            self._new.setdefault(person, []).append((key, state))
        await self._write()

    async def _later(self) -> None:
        await asyncio.sleep(PAUSE)
        with suppress(DataError):  # the next mark writes these too
            await self._write()

    async def _write(self) -> None:
        taken, self._new = self._new, {}
        written: Mapping[str, object] = {}
        try:
            written = await self._readers.call(lambda data: self._shared.write(data.storage.notes, taken))
        finally:
            for person in taken.keys() - written.keys():
                self._new[person] = [*taken[person], *self._new.get(person, ())]

    async def close(self) -> None:
        """Write what is left."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        if self._new:
            with suppress(DataError):
                await self._write()
