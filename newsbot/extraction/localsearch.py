"""Searches that look at one element's name and attributes only, in Python and with a memory.

Trafilatura finds what to take out of a page by XPath with regular expressions, for which lxml calls Python
several times for each of some thousand elements. Whether an element matches hangs on its name and a few of
its attributes, and most elements are like others that were met before, on the page or on another of the site.
:func:`quicker` reads such a path once and answers it so; it knows what those paths use of XPath 1.0.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any

from lxml import etree

MAX_KNOWN = 20_000
"""Answers that a search remembers; all go when there are more."""
MAX_KEY = 300
"""Letters of an element's attributes; the answer for one with more is not remembered."""

Search = Callable[[Any], list[Any]]
"""From an element to those below it that match."""
Attributes = tuple[tuple[str, str], ...]
"""Those of an element that a search looks at, in their order; before them its name, where that matters."""
_Value = str | bool | list[str]
"""What a part of a path is worth; a list holds the values of attributes, in their order."""
_Part = Callable[[Attributes], _Value]
_TAG = ""
"""No attribute is called so."""

_PATH = re.compile(r"\.//\*\[((?:self::[\w-]+|\s|\bor\b)+)\]\s*(\[.*\])|\.//\*()(\[.*\])", re.DOTALL)
_FIRST = re.compile(r"(\()?(.*?)(?(1)\))\s*\[1\]", re.DOTALL)
_NEXT = re.compile(r"\]\s*\[")
_TOKEN = re.compile(r"\s*('[^']*'|\"[^\"]*\"|@[\w-]+|[A-Za-z][\w:-]*|[()\[\]|,=])")


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
        return local if end == len(path) else partial(_if_any, local, search)
    return search


def _if_any(local: LocalSearch, search: Search, tree: Any) -> list[Any]:
    return search(tree) if local(tree) else []


class LocalSearch:
    """What an XPath finds below an element, in order; the first of it where the path ends with ``[1]``.

    May be shared between threads.
    """

    def __init__(self, path: str) -> None:
        """Raise ``ValueError`` for a path that is not understood, or whose predicates see other elements."""
        path = path.strip()
        first = _FIRST.fullmatch(path)
        self._first = first is not None
        found = _PATH.fullmatch(first[2].strip() if first else path)
        if found is None:
            raise ValueError("not a path to elements of some names with some attributes")
        self._tags = tuple((found[1] or "").replace("self::", "").replace(" or ", " ").split())
        reader = _Reader(found[2] or found[4])
        self._matches = reader.predicates()
        self._names = reader.names
        self._by_tag = reader.by_tag
        self._known: dict[Attributes, bool] = {}
        if bool(self._matches(())):
            raise ValueError("the path finds elements without attributes")

    def __call__(self, tree: etree._Element) -> list[etree._Element]:
        """Return the elements below ``tree`` that match."""
        names, known = self._names, self._known
        found = []
        for element in tree.iterdescendants(*self._tags):
            items: Any = element.items()
            if not items:
                continue
            key = tuple([item for item in items if item[0] in names])
            if not key:
                continue
            if self._by_tag:
                key = ((_TAG, element.tag), *key)
            answer = known.get(key)
            if answer is None:
                answer = self._learn(key)
            if answer:
                found.append(element)
                if self._first:
                    break
        return found

    def _learn(self, key: Attributes) -> bool:
        answer = bool(self._matches(key))
        if sum(len(value) for _, value in key) <= MAX_KEY:
            if len(self._known) >= MAX_KNOWN:
                self._known.clear()
            self._known[key] = answer
        return answer


class _Reader:
    """Reads predicates (``[…][…]``) into a function of an element's attributes."""

    def __init__(self, text: str) -> None:
        self.names: set[str] = set()
        self.by_tag = False
        self._tokens = []
        at = 0
        while at < len(text.rstrip()):
            match = _TOKEN.match(text, at)
            if match is None:
                raise ValueError(f"not understood: {text[at : at + 40]}")
            self._tokens.append(match[1])
            at = match.end()
        self._tokens.reverse()

    def predicates(self) -> _Part:
        parts = []
        while self._tokens:
            self._take("[")
            parts.append(self._either())
            self._take("]")
        return lambda element: all(bool(part(element)) for part in parts)

    def _either(self) -> _Part:
        parts = [self._both()]
        while self._next("or"):
            parts.append(self._both())
        return parts[0] if len(parts) == 1 else lambda element: any(bool(part(element)) for part in parts)

    def _both(self) -> _Part:
        parts = [self._equal()]
        while self._next("and"):
            parts.append(self._equal())
        return parts[0] if len(parts) == 1 else lambda element: all(bool(part(element)) for part in parts)

    def _equal(self) -> _Part:
        left = self._value()
        if not self._next("="):
            return left
        right = self._value()
        return lambda element: not set(_list(left(element))).isdisjoint(_list(right(element)))

    def _value(self) -> _Part:
        part = self._tokens.pop() if self._tokens else ""
        if part[:1] in ("'", '"'):
            literal = part[1:-1]
            return lambda _: literal
        if part[:1] == "@":
            names = {part[1:]}
            while self._next("|"):
                names.add(self._tokens.pop().removeprefix("@"))
            self.names |= names
            return lambda element: [value for name, value in element if name in names]
        if part.startswith("self::"):
            self.by_tag = True
            return lambda element: (_TAG, part[6:]) in element
        if part == "(":
            inner = self._either()
            self._take(")")
            return inner
        function = _FUNCTIONS.get(part)
        if function is None:
            raise ValueError(f"not understood: {part}")
        self._take("(")
        given = [self._either()]
        while self._next(","):
            given.append(self._either())
        self._take(")")
        return function(*given)

    def _next(self, token: str) -> bool:
        if self._tokens and self._tokens[-1] == token:
            self._tokens.pop()
            return True
        return False

    def _take(self, token: str) -> None:
        if not self._next(token):
            raise ValueError(f"{token} is missing")


def _test(text: _Part, pattern: _Part, flags: _Part | None = None) -> _Part:
    search = re.compile(
        _string(pattern(())), re.IGNORECASE if flags and "i" in _string(flags(())) else 0
    ).search
    return lambda element: search(_string(text(element))) is not None


def _contains(text: _Part, part: _Part) -> _Part:
    return lambda element: _string(part(element)) in _string(text(element))


def _starts_with(text: _Part, part: _Part) -> _Part:
    return lambda element: _string(text(element)).startswith(_string(part(element)))


def _translate(text: _Part, old: _Part, new: _Part) -> _Part:
    table = str.maketrans(_string(old(())), _string(new(())))
    return lambda element: _string(text(element)).translate(table)


def _not(part: _Part) -> _Part:
    return lambda element: not bool(part(element))


_FUNCTIONS: dict[str, Callable[..., _Part]] = {
    "re:test": _test,
    "contains": _contains,
    "starts-with": _starts_with,
    "translate": _translate,
    "not": _not,
}


def _string(value: _Value) -> str:
    """A text as XPath has it: of attributes the first, of none the empty one."""
    if isinstance(value, list):
        return value[0] if value else ""
    return value if isinstance(value, str) else str(value).lower()


def _list(value: _Value) -> list[str]:
    return value if isinstance(value, list) else [_string(value)]
