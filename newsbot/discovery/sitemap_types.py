"""The data of a sitemap, and the selection of pages if there are too many."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from typing import Literal

from newsbot.discovery.dates import parse_date
from newsbot.discovery.feed_types import clean_title
from newsbot.discovery.pages import absolute
from newsbot.discovery.xml_events import Enough
from newsbot.items import Kind, Link, Where
from newsbot.urls import canonicalize

MAX_URLS = 50_000
"""Maximum number of pages of one sitemap file that are kept. It is the limit of the protocol."""
MAX_SEEN = 10 * MAX_URLS
"""Maximum number of pages of one file that are read. The newest of them are kept."""

_UNDATED = datetime.min.replace(tzinfo=UTC)


class SitemapError(ValueError):
    """Raised if a body is not a sitemap; ``reason`` is a token. Other faults are counted in ``problems``."""

    def __init__(self, reason: Literal["empty", "html", "not_a_sitemap"]) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Child:
    """A sitemap that an index points to."""

    url: str
    lastmod: datetime | None = None


@dataclass(slots=True, kw_only=True)
class Entry:
    """A page or a child sitemap, with the texts that the file contains."""

    loc: str = ""
    lastmod: str = ""
    news: bool = False
    title: str = ""
    published: str = ""


class SitemapCollector:
    """Collects the entries of a sitemap: resolves URLs, parses dates, merges duplicates, counts faults."""

    def __init__(self, url: str, now: datetime, zone: tzinfo) -> None:
        self._url = url
        self._own_name = _name(url)
        self._now = now
        self._zone = zone
        self._problems: Counter[str] = Counter()
        self._links: dict[str, Link] = {}
        self._children: dict[str, Child] = {}
        self._seen = 0
        self._dropped = 0

    def anew(self) -> SitemapCollector:
        """Return an empty collector for the same file, to parse it in another way."""
        return SitemapCollector(self._url, self._now, self._zone)

    def problem(self, token: str) -> None:
        """Count a fault."""
        self._problems[token] += 1

    def problems(self) -> list[str]:
        """Return the faults with their numbers, e.g. ``bad_date:3``."""
        return [f"{token}:{count}" for token, count in self._problems.items()]

    def add(self, entry: Entry) -> None:
        """Add a page, or count its fault. Raises :class:`Enough` after :data:`MAX_SEEN` pages."""
        self._seen += 1
        if self._seen > MAX_SEEN:
            self.problem("too_long")
            raise Enough
        url = absolute(self._url, entry.loc)
        if url is None:
            self.problem("bad_link")
        elif url in self._links:
            self.problem("duplicate_url")
        else:
            self._links[url] = Link(
                url=url,
                where=Where.NEWS_SITEMAP if entry.news else Where.SITEMAP,
                kind=Kind.ARTICLE if entry.news else None,
                text=clean_title(entry.title) if entry.title else None,
                published_at=self._date(entry.published),
                modified_at=self._date(entry.lastmod),
            )
            # only when it holds twice the limit, because _thin_out sorts all pages
            if len(self._links) >= 2 * MAX_URLS:
                self._thin_out()

    def add_child(self, entry: Entry) -> None:
        """Add a child of an index, or count its fault."""
        url = absolute(self._url, entry.loc)
        if url is None:
            self.problem("bad_link")
            return
        name = _name(url)
        if name == self._own_name:
            self.problem("self_reference")
        elif name in self._children:
            self.problem("duplicate_child")
        else:
            self._children[name] = Child(url, self._date(entry.lastmod))
            # only at twice the limit, so that the children are sorted rarely
            if len(self._children) >= 2 * MAX_URLS:
                self._thin_out_children()

    def links(self) -> list[Link]:
        """Return the pages in file order; if there are too many, only the newest."""
        self._thin_out()
        if self._dropped:
            self._problems["too_many_urls"] += self._dropped
            self._dropped = 0
        return list(self._links.values())

    def children(self) -> list[Child]:
        """Return the children in file order; if there are too many, only the newest."""
        self._thin_out_children()
        return list(self._children.values())

    def _thin_out(self) -> None:
        """Keep at most :data:`MAX_URLS` pages: the newest, and among pages of equal or no date the first."""
        if len(self._links) <= MAX_URLS:
            return
        self._dropped += len(self._links) - MAX_URLS
        newest = sorted(self._links.values(), key=_time, reverse=True)[:MAX_URLS]
        kept = {link.url for link in newest}
        self._links = {url: link for url, link in self._links.items() if url in kept}

    def _thin_out_children(self) -> None:
        """Keep at most :data:`MAX_URLS` children: the newest, then children without a date.

        Children without a date are taken from both ends of the file, because the newest may be at either end.
        """
        over = len(self._children) - MAX_URLS
        if over <= 0:
            return
        self._problems["too_many_urls"] += over
        dated = [one for one in self._children.items() if one[1].lastmod is not None]
        kept = {name for name, _ in sorted(dated, key=_child_time, reverse=True)[:MAX_URLS]}
        undated = [name for name, child in self._children.items() if child.lastmod is None]
        room = MAX_URLS - len(kept)
        kept |= {*undated[: room - room // 2], *undated[len(undated) - room // 2 :]}
        self._children = {name: child for name, child in self._children.items() if name in kept}

    def _date(self, text: str) -> datetime | None:
        if not text:
            return None
        moment = parse_date(text, now=self._now, zone=self._zone)
        if moment is None:
            self.problem("bad_date")
        return moment


def _time(link: Link) -> datetime:
    return link.published_at or link.modified_at or _UNDATED


def _child_time(child: tuple[str, Child]) -> datetime:
    return child[1].lastmod or _UNDATED


def _name(url: str) -> str:
    try:
        return canonicalize(url)
    except ValueError:
        return url
