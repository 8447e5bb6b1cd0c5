"""A regular expression as an automaton: the form in which run-away patterns can be recognised.

Glushkov's construction (V. M. Glushkov, 1961): one state for each place of the expression that
reads a character, no empty moves. Built from the tree that Python's own parser makes, so that
what is judged is what will run. Characters are bits of an integer: ASCII, which is all that a
canonical URL contains, and one more bit for everything else.

Where Python can do less than the automaton the automaton is the larger: ``x{2,5}`` is taken as
``x{2,}``, possessive and atomic parts as plain ones, conditions such as ``$`` as always true.
"""

from __future__ import annotations

import re
import re._constants as sre  # type: ignore[import-not-found]  # private, but the names of the parser's tree
import re._parser as sre_parse  # type: ignore[import-not-found]  # private, but exactly what will run
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

MAX_STATES = 600
MAX_REPEAT = 100
_LONG_RANGE = 5000
"""Characters of a range that are looked at one by one; a longer one is taken as all kinds."""

_WORDS, _DIGITS, _SPACES, _REST = (1 << 128 << kind for kind in range(4))
"""The characters beyond ASCII, by kind: only expressions that are not of ``re.ASCII`` tell them apart."""
OTHER = _WORDS | _DIGITS | _SPACES | _REST
ALL = (1 << 132) - 1
NEWLINE = 1 << 10


class Refused(ValueError):
    """The expression uses what newsbot does not allow; the text says what to write in its place."""


def _mask(test: Callable[[str], bool]) -> int:
    return sum(1 << code for code in range(128) if test(chr(code)))


# Patterns are compiled with re.ASCII, so that these classes are exact.
_DIGIT = _mask(str.isdigit)
_WORD = _mask(lambda char: char.isalnum() or char == "_")
_SPACE = _mask(lambda char: char in " \t\n\r\f\v")
_CATEGORIES = {
    sre.CATEGORY_DIGIT: _DIGIT,
    sre.CATEGORY_NOT_DIGIT: ALL & ~_DIGIT,
    sre.CATEGORY_WORD: _WORD,
    sre.CATEGORY_NOT_WORD: ALL & ~_WORD,
    sre.CATEGORY_SPACE: _SPACE,
    sre.CATEGORY_NOT_SPACE: ALL & ~_SPACE,
}

_BEYOND = {
    sre.CATEGORY_DIGIT: _DIGITS,
    sre.CATEGORY_NOT_DIGIT: OTHER & ~_DIGITS,
    sre.CATEGORY_WORD: _WORDS | _DIGITS,
    sre.CATEGORY_NOT_WORD: _SPACES | _REST,
    sre.CATEGORY_SPACE: _SPACES,
    sre.CATEGORY_NOT_SPACE: OTHER & ~_SPACES,
}
"""What a category takes beyond ASCII."""
_FOLDED = sum(1 << ord(char) for char in "iksIKS")
"""Letters that ``re.IGNORECASE`` takes for one beyond ASCII: the Kelvin sign, the long s, the dotless i."""


_REPEATS = (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT)


@dataclass(slots=True)
class Automaton:
    """The states of an expression. A match begins in ``first`` and may end in ``last``."""

    letters: list[int] = field(default_factory=list)
    """The characters that each state reads, as bits."""
    follow: list[set[int]] = field(default_factory=list)
    """The states that may come next."""
    first: set[int] = field(default_factory=set)
    last: set[int] = field(default_factory=set)
    anchored: bool = False
    """It can begin at the start of the text only."""
    ends_freely: bool = True
    """Nothing but characters decides: once in ``last`` the search has succeeded."""
    nested: bool = False
    """Two quantifiers repeat the same thing, as in ``(a+)+``."""
    doubled: bool = False
    """Two alternatives are the same, as in ``(a|a)*``."""
    ways: int = 1
    """In how many ways the optional parts and alternatives outside of loops can share a text, at most."""


@dataclass(frozen=True, slots=True)
class _Part:
    nullable: bool
    first: frozenset[int] = frozenset()
    last: frozenset[int] = frozenset()


_NOTHING = _Part(nullable=True)


def build(text: str, flags: int = re.ASCII) -> Automaton:
    """Return the automaton of a valid expression. Raises :class:`Refused`.

    ``flags`` are those that it is compiled with: of ``re.ASCII`` and ``re.IGNORECASE``.
    """
    tree = sre_parse.parse(text, flags)
    if tree.state.flags & ~(flags | re.UNICODE | re.IGNORECASE):
        raise Refused("of the inline flags only (?i) is allowed")
    builder = _Builder(beyond=not flags & re.ASCII)
    part = builder.sequence(tree, ignore_case=bool(tree.state.flags & re.IGNORECASE))
    automaton = builder.automaton
    automaton.first, automaton.last = set(part.first), set(part.last)
    automaton.anchored = _begins_at_start(tree)
    return automaton


def _begins_at_start(tree: Iterable[Any]) -> bool:
    for op, value in tree:
        if op is sre.AT:
            return value in (sre.AT_BEGINNING, sre.AT_BEGINNING_STRING)
        if op is sre.SUBPATTERN:
            return _begins_at_start(value[3])
        return op is sre.BRANCH and all(map(_begins_at_start, value[1]))
    return False


class _Builder:
    def __init__(self, *, beyond: bool) -> None:
        self.automaton = Automaton()
        self._beyond = beyond

    def sequence(self, tree: Iterable[Any], *, ignore_case: bool) -> _Part:
        whole = _NOTHING
        for op, value in tree:
            whole = self._join(whole, self._node(op, value, ignore_case))
        return whole

    def _join(self, left: _Part, right: _Part) -> _Part:
        for state in left.last:
            self.automaton.follow[state] |= right.first
        return _Part(
            left.nullable and right.nullable,
            left.first | right.first if left.nullable else left.first,
            right.last | left.last if right.nullable else right.last,
        )

    def _node(self, op: Any, value: Any, ignore_case: bool) -> _Part:
        if op in _LETTERS:
            letters = letters_of(op, value)
            return self._state(_by_kind(letters, op, value) if self._beyond else letters, ignore_case)
        if op is sre.SUBPATTERN:
            return self._group(value, ignore_case)
        if op is sre.BRANCH:
            return self._branch([self.sequence(body, ignore_case=ignore_case) for body in value[1]])
        if op in _REPEATS:
            low, high, body = value
            if _is_double_choice(body):
                self.automaton.doubled = True
            return self._repeat(int(low), high, lambda: self.sequence(body, ignore_case=ignore_case))
        if op is sre.ATOMIC_GROUP:
            return self.sequence(value, ignore_case=ignore_case)
        return self._condition(op, value, ignore_case)

    def _group(self, value: Any, ignore_case: bool) -> _Part:
        _, added, removed, body = value
        if (added | removed) & ~re.IGNORECASE:
            raise Refused("of the inline flags only (?i) is allowed")
        scoped = bool(added & re.IGNORECASE) or (ignore_case and not removed & re.IGNORECASE)
        return self.sequence(body, ignore_case=scoped)

    def _state(self, letters: int, ignore_case: bool) -> _Part:
        if ignore_case:
            upper, lower = letters >> 65 & 0x3FFFFFF, letters >> 97 & 0x3FFFFFF
            letters |= upper << 97 | lower << 65
            letters |= _WORDS if self._beyond and letters & _FOLDED else 0
        number = len(self.automaton.letters)
        if number >= MAX_STATES:
            raise Refused("it is too long with its repeat counts written out; make it shorter")
        self.automaton.letters.append(letters)
        self.automaton.follow.append(set())
        only = frozenset([number])
        return _Part(False, only, only)

    def _branch(self, parts: Sequence[_Part]) -> _Part:
        first = frozenset[int]().union(*(part.first for part in parts))
        last = frozenset[int]().union(*(part.last for part in parts))
        clashes = sum(
            any(self._clash(part, earlier) for earlier in parts[:at]) for at, part in enumerate(parts)
        )
        self.automaton.ways *= 1 + clashes
        if sum(part.nullable for part in parts) > 1:  # Python reads (a|a) as a(|)
            self.automaton.doubled = True
        return _Part(any(part.nullable for part in parts), first, last)

    def _clash(self, left: _Part, right: _Part) -> bool:
        """True when a text of one alternative can begin with a text of the other."""
        if left.nullable or right.nullable:
            return True
        letters, follow = self.automaton.letters, self.automaton.follow
        todo = [(a, b) for a in left.first for b in right.first if letters[a] & letters[b]]
        seen = set(todo)
        while todo:
            a, b = todo.pop()
            if a in left.last or b in right.last:
                return True
            for pair in ((c, d) for c in follow[a] for d in follow[b] if letters[c] & letters[d]):
                if pair not in seen:
                    seen.add(pair)
                    todo.append(pair)
        return False

    def _repeat(self, low: int, high: Any, make: Callable[[], _Part]) -> _Part:
        if high == 0:
            return _NOTHING
        endless = high is sre.MAXREPEAT
        if low > MAX_REPEAT or (not endless and high > MAX_REPEAT):
            raise Refused(f"a repeat count above {MAX_REPEAT} is not allowed; write + or *")
        part = make()
        if high == 1:
            if low == 0:
                self.automaton.ways *= 2
            return _Part(part.nullable or low == 0, part.first, part.last)
        if part.nullable:
            raise Refused(
                "what is repeated can be empty, as in (a*)*: this can take for ever; repeat it once"
            )
        whole = _NOTHING
        for _ in range(low - 1):
            whole = self._join(whole, part)
            part = make()
        if endless or high > low:
            self._loop(part)
        whole = self._join(whole, part)
        return _Part(low == 0, whole.first, whole.last)

    def _loop(self, part: _Part) -> None:
        for state in part.last:
            if self.automaton.follow[state] & part.first:
                self.automaton.nested = True
            self.automaton.follow[state] |= part.first

    def _condition(self, op: Any, value: Any, ignore_case: bool) -> _Part:
        if op is sre.AT:
            if value not in (sre.AT_BEGINNING, sre.AT_BEGINNING_STRING):
                self.automaton.ends_freely = False
            return _NOTHING
        if op not in (sre.ASSERT, sre.ASSERT_NOT):
            raise Refused("backreferences and conditional groups are not allowed; write the parts out")
        if _has_repeat(value[1]):
            raise Refused(
                "a look-ahead or look-behind with * + ? or {} inside is not allowed; use deny for that"
            )
        _Builder(beyond=self._beyond).sequence(
            value[1], ignore_case=ignore_case
        )  # refuses what is not allowed in there either
        self.automaton.ends_freely = False
        return _NOTHING


def _is_double_choice(body: Any) -> bool:
    # Python reads (\w|\d) as [\w\d], which cannot run away; but it is a slip, and other engines do.
    while len(body) == 1 and body[0][0] is sre.SUBPATTERN:
        body = body[0][1][3]
        if len(body) == 1 and body[0][0] is sre.IN:
            masks = [_class([item]) for item in body[0][1] if item[0] is not sre.NEGATE]
            return any(mask & other for at, mask in enumerate(masks) for other in masks[:at])
    return False


def _has_repeat(tree: Iterable[Any]) -> bool:
    for op, value in tree:
        if op in _REPEATS:
            return True
        if op is sre.SUBPATTERN and _has_repeat(value[3]):
            return True
        if op is sre.BRANCH and any(map(_has_repeat, value[1])):
            return True
        if op in (sre.ASSERT, sre.ASSERT_NOT) and _has_repeat(value[1]):
            return True
        if op is sre.ATOMIC_GROUP and _has_repeat(value):
            return True
    return False


def _bit(code: int) -> int:
    return 1 << code if code < 128 else OTHER


def _class(items: Iterable[Any]) -> int:
    letters = 0
    negated = False
    for op, value in items:
        if op is sre.NEGATE:
            negated = True
        elif op is sre.LITERAL:
            letters |= _bit(value)
        elif op is sre.RANGE:
            low, high = value
            letters |= _mask(lambda char, low=low, high=high: low <= ord(char) <= high)  # type: ignore[misc]
            letters |= OTHER if high > 127 else 0
        else:
            letters |= _CATEGORIES[value]
    return (ALL & ~letters) | OTHER if negated else letters


def _by_kind(letters: int, op: Any, value: Any) -> int:
    """Return the letters of a node with the kinds beyond ASCII that it can take in place of all."""
    if op is sre.LITERAL and value > 127:
        return _kind(value)
    if op is not sre.IN or value[0][0] is sre.NEGATE:
        return letters
    kinds = 0
    for item, given in value:
        if item is sre.LITERAL:
            kinds |= _kind(given) if given > 127 else 0
        elif item is sre.RANGE:
            kinds |= _kinds_between(*given)
        else:
            kinds |= _BEYOND[given]
    return letters & ~OTHER | kinds


def _kinds_between(low: int, high: int) -> int:
    if high - low > _LONG_RANGE:
        return OTHER if high > 127 else 0
    kinds = 0
    for code in range(max(low, 128), high + 1):
        kinds |= _kind(code)
    return kinds


def _kind(code: int) -> int:
    char = chr(code)
    if char.isdecimal():
        return _DIGITS
    if char.isalnum():
        return _WORDS
    return _SPACES if char.isspace() else _REST


_LETTERS: dict[Any, Callable[[Any], int]] = {
    sre.LITERAL: _bit,
    sre.NOT_LITERAL: lambda code: ALL & ~_bit(code) | OTHER,
    sre.ANY: lambda _: ALL & ~NEWLINE,
    sre.IN: _class,
}


def letters_of(op: Any, value: Any) -> int:
    """Return the characters, as bits, that a node of the tree reads which reads exactly one."""
    return _LETTERS[op](value)
