"""Searches that look at one element's name and attributes only, in Python and with a memory.

Trafilatura finds what to take out of a page by XPath with regular expressions, for which lxml calls Python
several times for each of some thousand elements. Whether an element matches hangs on its name and a few of
its attributes, and most elements are like others that were met before, on the page or on another of the site.
:func:`quicker` reads such a path once and answers it so; it knows what those paths use of XPath 1.0.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

from lxml import etree

from newsbot.extraction.body.predicates import TAG, Given, PredicateReader

MAX_KNOWN = 20_000
"""Answers that a search remembers; all go when there are more."""
MAX_KEY = 300
"""Letters of an element's attributes; the answer for one with more is not remembered."""

Search = Callable[[Any], list[Any]]
"""From an element to those below it that match."""
Attributes = tuple[tuple[str, str], ...]
"""Those of an element that a search looks at, in their order; before them its name, where that matters."""

_PATH = re.compile(r"\.//\*\[((?:self::[\w-]+|\s|\bor\b)+)\]\s*(\[.*\])|\.//\*()(\[.*\])", re.DOTALL)
_FIRST = re.compile(r"(\()?(.*?)(?(1)\))\s*\[1\]", re.DOTALL)
_NEXT = re.compile(r"\]\s*\[")


def quicker(xpath: Any) -> Search:
    """Return a search that finds what an ``etree.XPath`` does; itself if its path is not understood.

    Where only its last predicates see more than one element, the others say first whether there is anything.
    """
    search: Search = xpath
    path = xpath.path.strip()
    for end in (len(path), *(match.start() + 1 for match in reversed(list(_NEXT.finditer(path))))):
        try:
            local = LocalSearch(path[:end])
        except ValueError:
            continue
        return local if end == len(path) else GuardedSearch(local, search)
    return search


class _Memory:
    """Whether elements match, by their attributes: asked once for all that are alike."""

    def __init__(self, names: Collection[str], by_tag: bool, matches: Callable[[Given], int]) -> None:
        self._names = names
        self._by_tag = by_tag
        self._matches = matches
        self._known: dict[Attributes, int] = {}

    def matching(self, elements: Iterable[etree._Element]) -> Iterator[tuple[etree._Element, int]]:
        """Yield the elements that match, with what was answered for each."""
        names, known, by_tag = self._names, self._known, self._by_tag
        for element in elements:
            items: Any = element.items()
            if not items:
                continue
            key = tuple([item for item in items if item[0] in names])
            if not key:
                continue
            if by_tag:
                key = ((TAG, element.tag), *key)
            answer = known.get(key)
            if answer is None:
                answer = self._learn(key)
            if answer:
                yield element, answer

    def _learn(self, key: Attributes) -> int:
        answer = self._matches(dict(key))
        if sum(len(value) for _, value in key) <= MAX_KEY:
            if len(self._known) >= MAX_KNOWN:
                self._known.clear()
            self._known[key] = answer
        return answer


class LocalSearch:
    """What an XPath finds below an element, in order; the first of it where the path ends with ``[1]``.

    May be shared between threads.
    """

    def __init__(self, path: str) -> None:
        """Raise ``ValueError`` for a path that is not understood, or whose predicates see other elements."""
        path = path.strip()
        first = _FIRST.fullmatch(path)
        self.first = first is not None
        found = _PATH.fullmatch(first[2].strip() if first else path)
        if found is None:
            raise ValueError("not a path to elements of some names with some attributes")
        self.tags = tuple((found[1] or "").replace("self::", "").replace(" or ", " ").split())
        """Names of the elements that are looked at; none for all."""
        reader = PredicateReader(found[2] or found[4])
        self.matches = reader.predicates()
        self.names = reader.names
        """Attributes that are looked at."""
        self._memory = _Memory(self.names, reader.by_tag, lambda given: bool(self.matches(given)))
        if self.matches({}):
            raise ValueError("the path finds elements without attributes")

    def __call__(self, tree: etree._Element) -> list[etree._Element]:
        """Return the elements below ``tree`` that match."""
        matching = self._memory.matching(tree.iterdescendants(*self.tags))
        return [element for element, _ in (islice(matching, 1) if self.first else matching)]


@dataclass(frozen=True, slots=True)
class GuardedSearch:
    """A search that is asked only where another, with fewer predicates, finds something."""

    guard: LocalSearch
    search: Search

    def __call__(self, tree: etree._Element) -> list[etree._Element]:
        """Return the elements below ``tree`` that match."""
        return self.search(tree) if self.guard(tree) else []


class JointSearch:
    """What several searches find below an element, by search, in one walk. May be shared between threads."""

    def __init__(self, searches: Sequence[Search]) -> None:
        """Raise ``ValueError`` for others than :func:`quicker` makes, and for those that find the first."""
        self._searches = searches
        self._locals = [_local(search) for search in searches]
        tags = [local.tags for local in self._locals]
        self._tags = tuple(dict.fromkeys(chain(*tags))) if all(tags) else ()
        names = frozenset(chain(*(local.names for local in self._locals)))
        self._memory = _Memory(names, True, self._which)

    def __call__(self, tree: etree._Element) -> list[etree._Element]:
        """Return the elements that each search finds, one after the other; some may come twice."""
        by_search: list[list[etree._Element]] = [[] for _ in self._searches]
        for element, which in self._memory.matching(tree.iterdescendants(*self._tags)):
            for place, found in enumerate(by_search):
                if which >> place & 1:
                    found.append(element)
        for place, search in enumerate(self._searches):
            if by_search[place] and isinstance(search, GuardedSearch):
                by_search[place] = search.search(tree)
        return [*chain(*by_search)]

    def _which(self, given: Given) -> int:
        """A bit for each search that finds such an element."""
        which, bit = 0, 1
        for local in self._locals:
            if (not local.tags or given[TAG] in local.tags) and local.matches(given):
                which |= bit
            bit <<= 1
        return which


def _local(search: Search) -> LocalSearch:
    local = search.guard if isinstance(search, GuardedSearch) else search
    if not isinstance(local, LocalSearch) or local.first:
        raise ValueError("not a search that looks at each element alone")
    return local
