"""Which expressions can run away: take exponential or cubic time on a text made for it.

Backtracking tries every way in which a text can be read before it gives up. The number of ways
follows from the automaton (A. Weber, H. Seidl: On the degree of ambiguity of finite automata,
1991): it is exponential if one loop can read a text in two ways (``(a+)+``, ``(a|a)*``), and grows
with the power d of the length if d loops in a row can each hand a text on to the next
(``.*.*.*``). The search for the place to begin is one such loop more when there is no ``^``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from newsbot.rules.automaton import ALL, Automaton, Refused, build

MAX_DEGREE = 1
"""Two loops may share a text: quadratic time, about 40 ms on the longest text that is searched."""
MAX_WAYS = 256
MAX_STEPS = 300_000
"""Work of the analysis itself; ordinary patterns need some hundred steps."""

_NESTED = "one quantifier repeats another, as in (a+)+: this can take for ever; write (?:/[^/]+)+ or a+"
_TWO_WAYS = "a repeated part can read the same text in two ways, as in (a|a)* or (\\w|\\d)+; keep one of them"
_THREE = "more than two parts such as .* can share a text, as in .*.*.*; write [^/]+ for .* or keep one"
_ANYWHERE = (
    "it begins anywhere and then has two parts that can share a text, as in .+/.+x; "
    "begin with ^ or write [^/]+ for .+"
)
_OPTIONAL = "too many optional parts and alternatives that can share a text; split it into several patterns"
_TOO_COMPLEX = "too complicated to be checked; split it into several patterns"


def refuse_runaway(text: str, flags: int = re.ASCII) -> None:
    """Raise :class:`Refused` when the (valid) expression can run away; the text says what to write.

    ``flags`` are those that it is compiled with (:func:`newsbot.rules.automaton.build`).
    """
    automaton = build(text, flags)
    if automaton.nested:
        raise Refused(_NESTED)
    if automaton.ways > MAX_WAYS:
        raise Refused(_OPTIONAL)
    graph = _Graph(automaton.letters, automaton.follow)
    if automaton.doubled or graph.reads_in_two_ways():
        raise Refused(_TWO_WAYS)
    if graph.degree() > MAX_DEGREE:
        raise Refused(_THREE)
    if not automaton.anchored and _search_graph(automaton).degree() > MAX_DEGREE:
        raise Refused(_ANYWHERE)


def _search_graph(automaton: Automaton) -> _Graph:
    """The automaton with the search for a beginning, without what is never tried twice."""
    done = automaton.last if automaton.ends_freely else set()  # there the search has succeeded
    start = len(automaton.letters)
    follow = [set() if state in done else after - done for state, after in enumerate(automaton.follow)]
    return _Graph([*automaton.letters, ALL], [*follow, {start} | (automaton.first - done)])


class _Graph:
    def __init__(self, letters: list[int], follow: list[set[int]]) -> None:
        self._letters = letters
        self._follow = follow
        self._reach = [_closure(follow, state) for state in range(len(follow))]
        self._loops = [state for state, reach in enumerate(self._reach) if state in reach]
        self._steps = 0

    def reads_in_two_ways(self) -> bool:
        """True when a text leads from a state back to it on two ways."""
        for state in self._loops:
            ring = self._ring(state)
            allowed = (ring, ring)
            seen = self._walk((state, state), allowed)
            if any(a != b and (state, state) in self._walk((a, b), allowed) for a, b in seen if a <= b):
                return True
        return False

    def degree(self) -> int:
        """How many times in a row a loop can hand a text on to a later loop."""
        after: dict[int, set[int]] = {}
        for p in self._loops:
            for q in self._reach[p]:
                if q in self._reach[q] and p not in self._reach[q] and self._hands_on(p, q):
                    after.setdefault(min(self._ring(p)), set()).add(min(self._ring(q)))
        return max((self._chain(p, after) for p in after), default=0)

    def _chain(self, start: int, after: dict[int, set[int]]) -> int:
        """The longest chain of hand-overs that begins with loop ``start`` or later."""
        begins = [p for p in after if p == start or p in self._reach[start]]
        return max((1 + self._chain(q, after) for p in begins for q in after[p]), default=0)

    def _ring(self, state: int) -> set[int]:
        """The states from which one comes back to ``state``."""
        return {other for other in self._reach[state] if state in self._reach[other]}

    def _hands_on(self, p: int, q: int) -> bool:
        """True when one text leads from p to p, from p to q, and from q to q."""
        between = {state for state in self._reach[p] if q in self._reach[state]}
        return (p, q, q) in self._walk((p, p, q), (self._ring(p), between, self._ring(q)))

    def _walk(self, start: tuple[int, ...], allowed: tuple[set[int], ...]) -> set[tuple[int, ...]]:
        """All that can be reached from ``start`` by runners that read the same text."""
        seen: set[tuple[int, ...]] = set()
        todo = [start]
        while todo:
            for states in self._next(todo.pop(), allowed):
                if states not in seen:
                    seen.add(states)
                    todo.append(states)
        return seen

    def _next(self, states: tuple[int, ...], allowed: tuple[set[int], ...]) -> Iterable[tuple[int, ...]]:
        partial: list[tuple[tuple[int, ...], int]] = [((), ALL)]
        for state, may in zip(states, allowed, strict=True):
            partial = [
                ((*done, after), letters & self._letters[after])
                for done, letters in partial
                for after in self._follow[state]
                if after in may and letters & self._letters[after]
            ]
            self._steps += len(partial)
            if self._steps > MAX_STEPS:
                raise Refused(_TOO_COMPLEX)
        return [done for done, _ in partial]


def _closure(follow: list[set[int]], state: int) -> set[int]:
    seen: set[int] = set()
    todo = [state]
    while todo:
        for after in follow[todo.pop()]:
            if after not in seen:
                seen.add(after)
                todo.append(after)
    return seen
