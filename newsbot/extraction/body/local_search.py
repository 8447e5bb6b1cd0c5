"""Answers XPath searches that depend only on an element's name and attributes, in Python and with a cache.

Trafilatura uses XPath with regular expressions to find the elements that it removes from a page. For
these, lxml calls Python several times for each of some thousand elements. But the result depends only on the
name and a few attributes of the element. Most elements have the same ones as an element seen before, on this
page or on another page of the site. So the results are cached. :func:`quicker` compiles such a path once. It
supports the part of XPath 1.0 that trafilatura's paths use.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

from lxml import etree

from newsbot.extraction.body.predicates import TAG, Given, PredicateReader
from newsbot.items import Bounded

MAX_KNOWN = 20_000
"""Maximum number of results that a search caches. The cache is emptied when it is full."""
MAX_KEY = 300
"""Maximum total length of the attributes of an element whose result is cached, in characters."""

Search = Callable[[Any], list[Any]]
"""A function from an element to the matching elements below it."""
Attributes = tuple[tuple[str, str], ...]
"""The attributes of an element that a search uses, in their order. The name comes first if it is used."""

_PATH = re.compile(r"\.//\*\[((?:self::[\w-]+|\s|\bor\b)+)\]\s*(\[.*\])|\.//\*()(\[.*\])", re.DOTALL)
_FIRST = re.compile(r"(\()?(.*?)(?(1)\))\s*\[1\]", re.DOTALL)
_NEXT = re.compile(r"\]\s*\[")


def quicker(xpath: Any) -> Search:
    """Return a fast search equivalent to an ``etree.XPath``, or the XPath itself if it is not supported.

    If only the last predicates depend on other elements, the predicates before them are compiled to a guard.
    It is a fast search, and the XPath runs only if this search finds an element.
    """
    search: Search = xpath
    path = xpath.path.strip()
    # First the whole path is tried, then the path without its last predicate, and so on.
    for end in (len(path), *(match.start() + 1 for match in reversed(list(_NEXT.finditer(path))))):
        try:
            local = LocalSearch(path[:end])
        except ValueError:
            continue
        return local if end == len(path) else GuardedSearch(local, search)
    return search


class _Memory:
    """Evaluates elements and caches the answers.

    The answer is a number that is 0 if the element does not match. It depends only on the attributes that the
    search uses, so elements with the same attributes are evaluated once.
    """

    def __init__(self, names: Collection[str], by_tag: bool, matches: Callable[[Given], int]) -> None:
        self._names = names
        self._by_tag = by_tag
        self._matches = matches
        self._known = Bounded[Attributes, int](MAX_KNOWN)

    def matching(self, elements: Iterable[etree._Element]) -> Iterator[tuple[etree._Element, int]]:
        """Yield the elements that match, each with its answer."""
        # This loop runs for each element of a page, so it avoids attribute lookups and function calls.
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
            self._known[key] = answer
        return answer


class LocalSearch:
    """Finds the elements that an XPath finds below an element, in order.

    If the path ends with ``[1]``, only the first one is found. Threads may share an instance.
    """

    def __init__(self, path: str) -> None:
        """Compile ``path``. Raises ``ValueError`` if it is unsupported or depends on other elements."""
        path = path.strip()
        first = _FIRST.fullmatch(path)
        self.first = first is not None
        found = _PATH.fullmatch(first[2].strip() if first else path)
        if found is None:
            raise ValueError("unsupported path: it does not select elements by name and attributes")
        self.tags = tuple((found[1] or "").replace("self::", "").replace(" or ", " ").split())
        """Names of the elements that are checked. If there are none, all elements are checked."""
        reader = PredicateReader(found[2] or found[4])
        self.matches = reader.predicates()
        self.names = reader.names
        """Names of the attributes that are used."""
        self._memory = _Memory(self.names, reader.by_tag, lambda given: bool(self.matches(given)))
        # _Memory skips elements without these attributes, so such elements must not match.
        if self.matches({}):
            raise ValueError("unsupported path: it also matches elements without attributes")

    def __call__(self, tree: etree._Element) -> list[etree._Element]:
        """Return the elements below ``tree`` that match."""
        matching = self._memory.matching(tree.iterdescendants(*self.tags))
        return [element for element, _ in (islice(matching, 1) if self.first else matching)]


@dataclass(frozen=True, slots=True)
class GuardedSearch:
    """A search that runs only if its guard, a search with fewer predicates, finds something."""

    guard: LocalSearch
    search: Search

    def __call__(self, tree: etree._Element) -> list[etree._Element]:
        """Return the elements below ``tree`` that match."""
        return self.search(tree) if self.guard(tree) else []


class JointSearch:
    """Runs several searches below an element in one walk. Threads may share an instance."""

    def __init__(self, searches: Sequence[Search]) -> None:
        """Join ``searches``. Raises ``ValueError`` for searches that :func:`quicker` could not compile.

        Searches that find only the first element are refused too.
        """
        self._searches = searches
        self._locals = [_local(search) for search in searches]
        tags = [local.tags for local in self._locals]
        self._tags = tuple(dict.fromkeys(chain(*tags))) if all(tags) else ()
        names = frozenset(chain(*(local.names for local in self._locals)))
        # The searches may check different elements, so the name is always part of the key.
        self._memory = _Memory(names, True, self._which)

    def __call__(self, tree: etree._Element) -> list[etree._Element]:
        """Return the elements that each search finds, one search after the other.

        An element that several searches find occurs several times.
        """
        by_search: list[list[etree._Element]] = [[] for _ in self._searches]
        for element, which in self._memory.matching(tree.iterdescendants(*self._tags)):
            for place, found in enumerate(by_search):
                if which >> place & 1:
                    found.append(element)
        # For a GuardedSearch, the walk has only run the guard. Now its XPath runs.
        for place, search in enumerate(self._searches):
            if by_search[place] and isinstance(search, GuardedSearch):
                by_search[place] = search.search(tree)
        return [*chain(*by_search)]

    def _which(self, given: Given) -> int:
        """Return a number with one bit for each search, which is 1 if the search matches such an element."""
        which, bit = 0, 1
        for local in self._locals:
            if (not local.tags or given[TAG] in local.tags) and local.matches(given):
                which |= bit
            bit <<= 1
        return which


def _local(search: Search) -> LocalSearch:
    local = search.guard if isinstance(search, GuardedSearch) else search
    if not isinstance(local, LocalSearch) or local.first:
        raise ValueError("the search does not check each element alone")
    return local
