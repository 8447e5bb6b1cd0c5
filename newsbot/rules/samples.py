"""Texts that a pattern matches: what hints are tried on."""

from __future__ import annotations

import re
import re._constants as sre  # type: ignore[import-not-found]  # private, but the names of the parser's tree
import re._parser as sre_parse  # type: ignore[import-not-found]  # private, but exactly what will run
from collections.abc import Iterable
from itertools import islice, product
from typing import Any

from newsbot.rules.automaton import letters_of

MAX_SAMPLES = 24
_SMALL = 4
_PREFERRED = "".join(dict.fromkeys("a1-_.?/" + "".join(map(chr, range(33, 127)))))
"""What stands for a character class, in this order of preference."""


def samples(pattern: re.Pattern[str]) -> list[str]:
    """Return paths that the pattern matches, one for each choice of alternatives, as far as easily found."""
    texts = _sequence(sre_parse.parse(pattern.pattern, re.ASCII))
    paths = [text if text.startswith("/") else "/" + text for text in texts]
    return [path for path in dict.fromkeys(paths) if pattern.search(path)]


def _sequence(tree: Iterable[Any]) -> list[str]:
    parts = [_node(op, value) for op, value in tree]
    return ["".join(choice) for choice in islice(product(*parts), MAX_SAMPLES)]


def _node(op: Any, value: Any) -> list[str]:
    if op in (sre.LITERAL, sre.IN, sre.ANY, sre.NOT_LITERAL):
        return _characters(op, value)
    if op is sre.BRANCH:
        return [text for body in value[1] for text in _sequence(body)][:MAX_SAMPLES]
    if op in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT):
        low, _, body = value
        return [text * low for text in _sequence(body)] if low else [""]
    if op in (sre.SUBPATTERN, sre.ATOMIC_GROUP):
        return _sequence(value[3] if op is sre.SUBPATTERN else value)
    return [""]  # conditions: the caller searches what came out


def _characters(op: Any, value: Any) -> list[str]:
    """All characters of a small class, for Python reads ``(?:a|b)`` as one; else one of them."""
    letters = letters_of(op, value)
    found = [char for char in _PREFERRED if letters >> ord(char) & 1]
    return found if letters.bit_count() <= _SMALL else found[:1] or [""]
