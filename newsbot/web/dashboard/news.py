"""Computes the lists of the news page: events that many sites report, rising words, newest articles.

Rising words are words in a larger share of today's articles than before (:mod:`newsbot.search.rising`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice

from newsbot.clock import utc
from newsbot.items import Article, ArticleFilter
from newsbot.search.articles import RisingTerm
from newsbot.search.index import Told
from newsbot.storage.stories import out_by
from newsbot.web.dashboard.articles import ArticleRow, one_of_each_story, row_of
from newsbot.web.readers import Data

WINDOW = timedelta(hours=24)
"""The length of the period, up to now, in which events and words are looked for."""
GROWTH = timedelta(hours=3)
"""The growth of an event is the number of sites that joined it within this time before now."""
EVENTS, TERMS, NEWEST = 10, 12, 25
"""Maximum lengths of the three lists."""
READ_FOR_NEWEST = 4 * NEWEST
"""Number of the newest articles that are read. Of these, one article of each story is shown."""
MAX_READ = 30
"""Maximum number of articles of an event that are read to find its stories."""


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
    """The first article of each story of the event, among its first 30 articles, oldest first."""


@dataclass(frozen=True, slots=True)
class News:
    """All lists of the news page."""

    top: list[TopEvent]
    rising: list[RisingTerm]
    newest: list[ArticleRow]
    unindexed: int = 0
    """If ``top`` is empty: the number of articles that are not in the search index yet. Otherwise 0."""


def top_events(data: Data) -> list[TopEvent]:
    """Return the EVENTS events with the highest weight, best first. :func:`weight` computes the weight.

    This reads the site and the time of the articles of the last 24 hours from the index, 50,000 at most. Then
    it reads at most MAX_READ articles of each returned event from the storage.
    """
    now = utc(data.clock())
    told: dict[str, list[Told]] = defaultdict(list)
    for one in data.search.told(now - WINDOW, now):
        told[one.event].append(one)
    best = sorted(told, key=lambda event: (-weight(told[event], now), event))[:EVENTS]
    read = [(event, data.search.in_event(event, MAX_READ)) for event in best]
    # An event has no articles if they were removed, or if they moved to another event with their story.
    return [_top_event(event, told[event], articles, now) for event, articles in read if articles]


def weight(told: Sequence[Told], now: datetime) -> float:
    """Return the weight of an event: a sum over its sites, in which sites that joined earlier count less.

    ``told`` has each site's first article on the event. An article that was published now counts 1, and an
    article of 12 hours ago (half of WINDOW) counts 0.5. So an event that grows ranks above an event that was
    large yesterday.
    """
    return float(sum(0.5 ** ((now - one.moment) / (WINDOW / 2)) for one in told))


def _top_event(event: str, told: Sequence[Told], articles: Sequence[Article], now: datetime) -> TopEvent:
    hour = now.replace(minute=0, second=0, microsecond=0)
    sites: dict[datetime, list[str]] = defaultdict(list)
    for one in told:
        sites[one.moment.replace(minute=0, second=0, microsecond=0)].append(one.site)
    # The last 24 hours are spread over 25 hours of the clock. The first and the last of these are incomplete.
    hours = [hour - timedelta(hours=back) for back in range(int(WINDOW / timedelta(hours=1)), -1, -1)]
    first = min(articles, key=out_by)
    return TopEvent(
        event=event,
        first=row_of(first),
        first_at=out_by(first)[0],
        sites=len(told),
        growth=sum(one.moment >= now - GROWTH for one in told),
        hours=[Joined(at, sites[at]) for at in hours],
        stories=one_of_each_story(articles),
    )


def rising_terms(data: Data) -> list[RisingTerm]:
    """Return the words that rose most in the last 24 hours (:mod:`newsbot.search.rising`)."""
    return data.search.rising(utc(data.clock()), TERMS)


def newest_articles(data: Data) -> list[ArticleRow]:
    """Return the newest articles, one of each story.

    Articles with a date in the future are left out, because they would stay at the top of the list.
    """
    articles, shown = data.storage.articles, dict[str, Article]()
    for one in articles.newest(ArticleFilter(until=utc(data.clock())), limit=READ_FOR_NEWEST):
        shown.setdefault(one.story or one.canonical_url, one)
    return [
        row_of(one, copies=max(0, articles.count(ArticleFilter(story=one.story)) - 1) if one.story else 0)
        for one in islice(shown.values(), NEWEST)
    ]
