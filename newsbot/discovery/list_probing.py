"""Decides which lists are read, by the shape of their URLs, and how far a list of many pages is read.

The pages of one list are read one after the other (:class:`ListWalks`). A site may link to hundreds of
calendar days, tag lists and archive months. The URLs of similar lists have the same *shape*
(:func:`shape_of`). One list of each shape is read first: it is *under trial*. The other lists of the shape
are held back until this trial has a result (:class:`ListTrials`). A list is *fruitful* if it has links to new
articles.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from newsbot.discovery.list_pages import is_archive
from newsbot.items import Bounded
from newsbot.rules.shape import LISTS

MAX_SHAPES = 50_000
"""Maximum number of shapes of all sites. When it is reached, all trials are forgotten."""
MAX_HELD = 400
"""Maximum number of lists of a shape that are held back."""
MAX_OF_ALL = 20_000
"""Maximum number of lists of all shapes that are held back."""
BARREN_ENOUGH = 2
"""Number of lists without any article, after which a shape is skipped in this crawl if no list of it was
fruitful."""

KNOWN_ENOUGH = 3
"""Number of lists without new articles, after which a shape is skipped in this crawl if no list of it was
fruitful."""
ASK_AGAIN = 1.0
"""Minimum seconds between two checks of the state of a list under trial."""
MAX_WALKS = 2000
"""Maximum number of lists whose state is kept until their next page is read.

Also the maximum number of sites whose shown articles are remembered.
"""
MAX_SHOWN = 50_000
"""Maximum number of articles of a site that are remembered as shown by its lists."""
MAX_COVERED = 200_000
"""Maximum number of articles of all sites that are remembered as shown. They take 20 MB."""
OLD_ENOUGH = 5
"""Number of dated articles. If the last articles of a list, as many as this, are all too old, its reading
ends."""
MAX_STALE = 2
"""Maximum number of consecutive pages of a list whose articles other lists have already shown. The reading of
the list then ends."""

_HOST_SLASHES = 2
_NUMBER = re.compile(r"\d+")
_SUFFIX = re.compile(r"\.\w{1,5}$")


@dataclass(slots=True)
class _Trial:
    waiting: str | None = None
    """URL of the list under trial; None if there is none."""
    asked: float = float("-inf")
    """Time of the last check of the state of the list under trial, in seconds."""
    barren: int = 0
    """Number of lists that showed no article."""
    known: int = 0
    """Number of lists that showed only articles that were known before."""
    fruitful: bool = False
    """True if a list showed a new article."""
    held: dict[str, Any] = field(default_factory=dict)
    """The lists that are held back: URL -> item to queue if a list of the shape is fruitful."""


@dataclass(slots=True)
class Walk:
    """The state of a list that is being read."""

    shown: set[bytes] = field(default_factory=set)
    """Fingerprints of the articles on the pages of the list that were read so far."""
    stale: int = 0
    """Number of consecutive pages up to the last one whose articles other lists had already shown."""
    dates: list[float] = field(default_factory=list)
    """The known publication times (POSIX seconds) of its articles, in the order in which they were found.

    Only the last ones are kept, after the latest of the others.
    """


class ListWalks:
    """The lists whose pages this crawl reads one after the other."""

    def __init__(self) -> None:
        self._walks = Bounded[str, Walk](MAX_WALKS)
        """URL of the page of a list that was read last -> state of this list."""
        self._covered = Bounded[str, set[bytes]](MAX_WALKS)
        """Domain -> fingerprints of the articles that the lists of the site have shown."""

    def read(self, domain: str, url: str, before: str | None, articles: Collection[bytes]) -> bool:
        """Record the articles on a page of a list. Return True if the next page may be read.

        ``before`` is the URL of the preceding page of the list. ``articles`` are fingerprints. The next page
        may be read if this page shows an article that the preceding pages did not show. The article need not
        be new. Reading ends if other lists of the site have shown all articles of the last :data:`MAX_STALE`
        pages.
        """
        # If another worker read the preceding page, its state is missing. This page then counts as the first.
        walk = self._walks.pop(before, None) if before is not None else None
        walk = walk or Walk()
        covered = self._covered[domain] = self._covered.get(domain, set())
        unseen = set(articles) - walk.shown
        # computed before the articles of this page are added to ``covered``
        walk.stale = 0 if unseen - covered else walk.stale + 1
        for seen in (walk.shown, covered):
            seen.update(unseen if len(seen) < MAX_SHOWN else ())
        self._covered.shrink(MAX_COVERED, len)
        self._walks[url] = walk
        return bool(unseen) and walk.stale < MAX_STALE

    def shown(self, domain: str) -> int:
        """Return the number of different articles that the lists of a site have shown."""
        return len(self._covered.get(domain, ()))

    def dated(self, page: str, published: float) -> None:
        """Record the publication time (POSIX seconds) of an article on ``page``, a page of a list."""
        walk = self._walks.get(page)
        if walk is not None:
            walk.dates.append(published)
            if len(walk.dates) > OLD_ENOUGH + 1:
                # The first value is the latest of all dates that were dropped; is_older() compares it with
                # ``since``.
                walk.dates[:2] = [max(walk.dates[:2])]

    def is_older(self, page: str, since: float) -> bool:
        """Return True if a list began with articles after ``since`` and has reached earlier articles.

        ``page`` is the page of the list that was read last. ``since`` is in POSIX seconds.
        """
        dates = self._walks[page].dates if page in self._walks else []
        recent = dates[-OLD_ENOUGH:]
        # A list whose articles were all older from the beginning is not sorted by date, or is an old list: it
        # does not end here.
        return len(recent) == OLD_ENOUGH and max(recent) < since <= max(dates)


class ListTrials:
    """The trials of lists in this crawl and their results, for each site and shape."""

    def __init__(self) -> None:
        self._trials: dict[tuple[str, str], _Trial] = {}
        self._number = 0
        """Number of lists of all shapes that are held back."""

    def may_try(self, domain: str, url: str) -> bool:
        """Return True if a list may be queued.

        If its shape has no result yet and no list is under trial, this list is then under trial. The trial
        ends with :meth:`tell` or :meth:`release`.
        """
        trial = self._trial(domain, url)
        if trial.fruitful or trial.waiting == url:  # the list under trial may be linked again
            return True
        if trial.waiting is not None or _is_enough(trial):
            return False
        trial.waiting = url
        return True

    def is_given_up(self, domain: str, url: str) -> bool:
        """Return True if lists with the shape of ``url`` are skipped in this crawl."""
        trial = self._trial(domain, url)
        return not trial.fruitful and _is_enough(trial)

    def is_fruitful(self, domain: str, url: str) -> bool:
        """Return True if a list with the shape of ``url`` had links to new articles."""
        return self._trial(domain, url).fruitful

    def hold(self, domain: str, url: str, item: Any) -> None:
        """Hold a list back until the list under trial has a result. ``item`` can be queued then."""
        held = self._trial(domain, url).held
        if url not in held and len(held) < MAX_HELD and self._number < MAX_OF_ALL:
            held[url] = item
            self._number += 1

    def released(self, domain: str, url: str) -> list[Any]:
        """Return the items of the lists that were held back until the list at ``url`` was found fruitful.

        Lists that were held back for a list above it are returned too, e.g. the other years if a month was
        fruitful. The returned lists are no longer held back.
        """
        items: list[Any] = []
        path = url.partition("?")[0].rstrip("/")
        while path.count("/") > _HOST_SLASHES:
            for address in (url, path, path + "/"):
                trial = self._trials.get((domain, shape_of(address)))  # not _trial(), which creates a trial
                if trial is not None and (trial.held or address == url):
                    trial.fruitful = True
                    items += trial.held.values()
                    self._number -= len(trial.held)
                    trial.held = {}
            path = path.rpartition("/")[0]
        return items

    def waiting(self, domain: str, url: str, now: float) -> str | None:
        """Return the URL of the list under trial for which ``url`` is held back; None if there is none.

        The caller then checks whether another worker has visited this list. The URL is returned at most once
        in :data:`ASK_AGAIN` seconds; otherwise the result is None. ``now`` is in seconds.
        """
        trial = self._trial(domain, url)
        if trial.waiting in (None, url) or now - trial.asked < ASK_AGAIN:
            return None
        trial.asked = now
        return trial.waiting

    def another(self, domain: str, url: str) -> list[Any]:
        """Return the item of the next list to try after one that was not fruitful: a list of 0 or 1 items.

        The second list under trial is the last of those held back, and the third is the middle one. The first
        ones are not tried, because a site links to its newest months first. The home page and the feed have
        already shown the articles of these months.
        """
        trial = self._trial(domain, url)
        if trial.waiting is not None or trial.fruitful or _is_enough(trial) or not trial.held:
            return []
        waiting = list(trial.held)
        trial.waiting = waiting[-1 if trial.barren + trial.known == 1 else len(waiting) // 2]
        self._number -= 1
        return [trial.held.pop(trial.waiting)]

    def tell(self, domain: str, url: str, *, fruitful: bool | None) -> None:
        """Record the result of a list.

        ``fruitful`` is True if the list had links to new articles, None if it had links to known articles
        only, and False if it had no links to articles.
        """
        trial = self._trial(domain, url)
        trial.waiting = None
        trial.fruitful = trial.fruitful or fruitful is True
        trial.known += fruitful is None
        trial.barren += fruitful is False

    def release(self, domain: str, url: str) -> None:
        """End the trial of the list at ``url`` without a result."""
        trial = self._trial(domain, url)
        if trial.waiting == url:
            trial.waiting = None

    def _trial(self, domain: str, url: str) -> _Trial:
        key = (domain, shape_of(url))
        if key not in self._trials and len(self._trials) >= MAX_SHAPES:
            self._trials.clear()
            self._number = 0
        return self._trials.setdefault(key, _Trial())


def _is_enough(trial: _Trial) -> bool:
    return trial.barren >= BARREN_ENOUGH or trial.barren + trial.known >= KNOWN_ENOUGH


def narrows(url: str, page: str) -> bool:
    """Return True if ``url`` is below the list at ``page``, as a month is below its year."""
    above = _list_of(page)
    return "?" not in url and "?" not in above and _list_of(url).startswith(above + "/")


def _list_of(url: str) -> str:
    return url.partition("://")[2].removeprefix("www.").rstrip("/?&")


def shape_of(url: str) -> str:
    """Return the path and query of a URL, with ``#`` for each number and ``*`` for the name of a subject.

    All days of a calendar have the same shape, and so have all tags of a site.
    """
    rest = url.partition("://")[2].partition("/")[2]
    above = rest.rstrip("/").rpartition("/")[0]
    # "/tag/climate/": the segment after a word such as "tag" is the name of a subject
    if above.rpartition("/")[2].lower() in LISTS and "?" not in rest and not is_archive(url):
        rest = f"{above}/*{'/' * rest.endswith('/')}"
    return _NUMBER.sub("#", rest)


def is_index(url: str) -> bool:
    """Return True for the page that lists all tags, categories or authors of a site."""
    return _SUFFIX.sub("", _list_of(url)).rpartition("/")[2].lower() in LISTS
