"""Which shapes of list URLs lead to articles: one list of a shape is tried, the others wait for its result.

A site links hundreds of calendar days, tag lists and archive months. One look at a list of each shape
tells whether the others are worth their downloads.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

MAX_SHAPES = 50_000
MAX_HELD = 400
"""Lists of a shape that wait for the one under trial."""
BARREN_ENOUGH = 2
"""Barren lists of a shape, with no fruitful one, after which the shape is left alone in this crawl."""

ASK_AGAIN = 1.0

_HOST_SLASHES = 2
_PAGE = re.compile(
    r"(?:[?&/](?:page|pg|paged|p|start|offset|seite|strana|stranica)[=/_-]?|/)\d{1,9}$", re.IGNORECASE
)
_NUMBER = re.compile(r"\d+")


@dataclass(slots=True)
class _Trial:
    waiting: str | None = None
    """The list under trial."""
    asked: float = float("-inf")
    """When it was asked after last."""
    barren: int = 0
    fruitful: bool = False
    held: dict[str, Any] = field(default_factory=dict)
    """URL -> what is to be queued if the shape turns out well."""


class ListTrials:
    """What this crawl has learned of lists, by site and shape."""

    def __init__(self) -> None:
        self._trials: dict[tuple[str, str], _Trial] = {}

    def may_try(self, domain: str, url: str) -> bool:
        """Return True if a list may be queued; it is then under trial until :meth:`tell`."""
        trial = self._trial(domain, url)
        if trial.fruitful or trial.waiting == url:
            return True
        if trial.waiting is not None or trial.barren >= BARREN_ENOUGH:
            return False
        trial.waiting = url
        return True

    def is_given_up(self, domain: str, url: str) -> bool:
        """Tell whether lists of this shape are left alone in this crawl."""
        trial = self._trial(domain, url)
        return not trial.fruitful and trial.barren >= BARREN_ENOUGH

    def hold(self, domain: str, url: str, item: Any) -> None:
        """Keep a list until the one under trial has shown what such lists hold."""
        held = self._trial(domain, url).held
        if len(held) < MAX_HELD:
            held[url] = item

    def released(self, domain: str, url: str) -> list[Any]:
        """Return what waited for a fruitful list, and for the lists above it: the months beside its month."""
        items: list[Any] = []
        path = url.partition("?")[0].rstrip("/")
        while path.count("/") > _HOST_SLASHES:
            for address in (url, path, path + "/"):
                trial = self._trials.get((domain, shape_of(address)))
                if trial is not None and (trial.held or address == url):
                    trial.fruitful = True
                    items += trial.held.values()
                    trial.held = {}
            path = path.rpartition("/")[0]
        return items

    def waiting(self, domain: str, url: str, now: float) -> str | None:
        """Return the list whose trial keeps ``url`` waiting, to be asked after; at most once a second each.

        Another worker may have visited it. ``now`` in seconds.
        """
        trial = self._trial(domain, url)
        if trial.waiting in (None, url) or now - trial.asked < ASK_AGAIN:
            return None
        trial.asked = now
        return trial.waiting

    def tell(self, domain: str, url: str, *, fruitful: bool) -> None:
        """Record whether a list held links to articles."""
        trial = self._trial(domain, url)
        trial.waiting = None
        trial.fruitful = trial.fruitful or fruitful
        trial.barren += not fruitful

    def release(self, domain: str, url: str) -> None:
        """End a trial that showed nothing."""
        trial = self._trial(domain, url)
        if trial.waiting == url:
            trial.waiting = None

    def _trial(self, domain: str, url: str) -> _Trial:
        key = (domain, shape_of(url))
        if key not in self._trials and len(self._trials) >= MAX_SHAPES:
            self._trials.clear()
        return self._trials.setdefault(key, _Trial())


def belongs_to(url: str, page: str) -> bool:
    """Return True if ``url`` is a further page of the list on ``page``: only the page number differs."""
    lists = {_list_of(page), _PAGE.sub("", _list_of(page)).rstrip("/?&")}
    return _PAGE.sub("", _list_of(url)).rstrip("/?&") in lists


def narrows(url: str, page: str) -> bool:
    """Return True if ``url`` lies below the list on ``page``: the months of a year, the days of a month."""
    above = _list_of(page)
    return "?" not in url and "?" not in above and _list_of(url).startswith(above + "/")


def _list_of(url: str) -> str:
    return url.partition("://")[2].removeprefix("www.").rstrip("/?&")


def shape_of(url: str) -> str:
    """Return path and query with each number as ``#``: what the days of one calendar share."""
    rest = url.partition("://")[2]
    return _NUMBER.sub("#", rest.partition("/")[2])
