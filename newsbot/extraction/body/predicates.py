"""Compiles XPath 1.0 predicates on an element's name and attributes into Python functions.

Only the part of XPath (https://www.w3.org/TR/xpath-10/) that trafilatura's paths use is supported.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

Given = Mapping[str, str]
"""An element's attributes, and its name under the key :data:`TAG`."""
TAG = ""
"""The key of the element's name. It is empty because no attribute has an empty name."""
_Value = str | bool | list[str]
"""The value of a part of a predicate.

A list has the values of several attributes, in the order in which the element has them.
"""
Part = Callable[[Given], _Value]
"""A compiled part of a predicate: a function from an element to the value of the part."""

_TOKEN = re.compile(r"\s*('[^']*'|\"[^\"]*\"|@[\w-]+|[A-Za-z][\w:-]*|[()\[\]|,=])")


class PredicateReader:
    """Parses predicates (``[…][…]``) by recursive descent. Raises ``ValueError`` for unknown characters."""

    def __init__(self, text: str) -> None:
        self.names: set[str] = set()
        """Names of the attributes that the predicates use. They are known after :meth:`predicates`."""
        self.by_tag = False
        """True if the predicates use the name of the element."""
        self._tokens = []
        at = 0
        while at < len(text.rstrip()):
            match = _TOKEN.match(text, at)
            if match is None:
                raise ValueError(f"unsupported predicate: {text[at : at + 40]}")
            self._tokens.append(match[1])
            at = match.end()
        self._tokens.reverse()  # the next token is at the end, where pop() is fast

    def predicates(self) -> Part:
        """Return a function that returns True for an element that meets all predicates.

        Call this only once. Raises ``ValueError`` for predicates that are not supported.
        """
        parts = []
        while self._tokens:
            self._take("[")
            parts.append(self._either())
            self._take("]")
        return _all_of(parts)

    def _either(self) -> Part:
        parts = [self._both()]
        while self._next("or"):
            parts.append(self._both())
        return _any_of(parts)

    def _both(self) -> Part:
        parts = [self._equal()]
        while self._next("and"):
            parts.append(self._equal())
        return _all_of(parts)

    def _equal(self) -> Part:
        left = self._value()
        if not self._next("="):
            return left
        return _equal(left, self._value())

    def _value(self) -> Part:
        part = self._tokens.pop() if self._tokens else ""
        if part[:1] in ("'", '"'):
            return _Literal(part[1:-1])
        if part[:1] == "@":
            names = {part[1:]}
            while self._next("|"):
                names.add(self._tokens.pop().removeprefix("@"))
            self.names |= names
            return _Attributes(frozenset(names))
        if part.startswith("self::"):
            self.by_tag = True
            return lambda given: given.get(TAG) == part[6:]
        if part == "(":
            inner = self._either()
            self._take(")")
            return inner
        function = _FUNCTIONS.get(part)
        if function is None:
            raise ValueError(f"unsupported predicate: {part}")
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
            raise ValueError(f"expected {token}")


@dataclass(frozen=True, slots=True)
class _Literal:
    text: str

    def __call__(self, _: Given) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class _Attributes:
    """A set of attributes such as ``@id`` or ``@id|@class``."""

    names: frozenset[str]

    def __call__(self, given: Given) -> list[str]:
        return [value for name, value in given.items() if name in self.names]

    def first(self, given: Given) -> str:
        """Return the value of the attribute that comes first in the element."""
        # XPath converts a set of nodes to the string of its first node.
        for name, value in given.items():
            if name in self.names:
                return value
        return ""


def _all_of(parts: list[Part]) -> Part:
    def met(given: Given) -> bool:
        for part in parts:  # noqa: SIM110  (``all`` over a generator takes twice as long)
            if not part(given):
                return False
        return True

    return parts[0] if len(parts) == 1 else met


def _any_of(parts: list[Part]) -> Part:
    def met(given: Given) -> bool:
        for part in parts:  # noqa: SIM110  (as above)
            if part(given):
                return True
        return False

    return parts[0] if len(parts) == 1 else met


def _equal(left: Part, right: Part) -> Part:
    # Most comparisons have the form @id='…' and need no sets.
    if isinstance(left, _Attributes) and len(left.names) == 1 and isinstance(right, _Literal):
        (name,), text = left.names, right.text
        return lambda given: given.get(name) == text
    # In XPath, a set of attributes equals a string if one of its values does.
    return lambda given: not set(_list(left(given))).isdisjoint(_list(right(given)))


def _test(text: Part, pattern: Part, flags: Part | None = None) -> Part:
    # This is EXSLT's re:test(). Trafilatura's patterns and flags are literals, so no element is needed.
    is_loud = flags is not None and "i" in _string(flags({}))
    search = re.compile(_string(pattern({})), re.IGNORECASE if is_loud else 0).search
    said = _said(text)
    return lambda given: search(said(given)) is not None


def _contains(text: Part, part: Part) -> Part:
    said, wanted = _said(text), _said(part)
    return lambda given: wanted(given) in said(given)


def _starts_with(text: Part, part: Part) -> Part:
    said, start = _said(text), _said(part)
    return lambda given: said(given).startswith(start(given))


def _translate(text: Part, old: Part, new: Part) -> Part:
    # For strings of different lengths maketrans() raises ValueError, and the predicate counts as unsupported.
    said, table = _said(text), str.maketrans(_string(old({})), _string(new({})))
    return lambda given: said(given).translate(table)


def _not(part: Part) -> Part:
    return lambda given: not part(given)


_FUNCTIONS: dict[str, Callable[..., Part]] = {
    "re:test": _test,
    "contains": _contains,
    "starts-with": _starts_with,
    "translate": _translate,
    "not": _not,
}


def _said(part: Part) -> Callable[[Given], str]:
    """Return a function that returns the value of a part as a string."""
    if isinstance(part, _Literal):
        return part
    if isinstance(part, _Attributes):
        if len(part.names) == 1:
            (name,) = part.names
            return lambda given: given.get(name, "")
        return part.first
    return lambda given: _string(part(given))


def _string(value: _Value) -> str:
    """Convert a value to a string as XPath does: of several attributes, the first one counts."""
    if isinstance(value, list):
        return value[0] if value else ""
    return value if isinstance(value, str) else str(value).lower()


def _list(value: _Value) -> list[str]:
    return value if isinstance(value, list) else [_string(value)]
