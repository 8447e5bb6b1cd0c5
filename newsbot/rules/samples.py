"""Texts that a pattern matches: what hints are tried on."""

from __future__ import annotations

import re
from itertools import islice, product

from newsbot.rules.regexes import compile_pattern

MAX_SAMPLES = 24
_SMALL = 4
_PREFERRED = "".join(dict.fromkeys("a1-_.?/" + "".join(map(chr, range(33, 127)))))
"""What stands for a character class, in this order of preference."""
_TOKEN = re.compile(
    r"(?P<nothing>\(\?[a-zA-Z-]+\)|[\^$]|\\[AbBz])"
    r"|(?P<open>\((?:\?(?:P?<\w+>|[a-zA-Z-]*:))?)|(?P<close>\))|(?P<bar>\|)"
    r"|(?P<repeat>[*+?]|\{(?P<least>\d+)(?:,\d*)?\})\??"
    r"|(?P<character>\[\^?\]?(?:\\.|[^\]\\])*\]|\\.|.)",
    re.DOTALL,
)


def samples(pattern: str) -> list[str]:
    """Return paths that a valid pattern matches, one for each choice of alternatives where easily found."""
    texts = _Sampler(pattern).alternatives()
    paths = [text if text.startswith("/") else "/" + text for text in texts]
    regex = compile_pattern(pattern)
    return [path for path in dict.fromkeys(paths) if regex.search(path)]


class _Sampler:
    """Reads a pattern from left to right. What it reads wrongly gives no match, and so no sample."""

    def __init__(self, pattern: str) -> None:
        self._tokens = list(_TOKEN.finditer(pattern))
        self._at = 0

    def alternatives(self) -> list[str]:
        """Return texts for the alternatives up to the end of the group."""
        found: list[str] = []
        parts: list[list[str]] = []
        while self._at < len(self._tokens):
            token = self._tokens[self._at]
            self._at += 1
            if token["close"]:
                break
            if token["bar"]:
                found += _joined(parts)
                parts = []
            elif token["open"]:
                parts.append(self.alternatives())
            elif token["repeat"]:
                least = int(token["least"] or token["repeat"] == "+")
                parts[-1:] = [[text * least for text in texts] if least else [""] for texts in parts[-1:]]
            elif token["character"]:
                parts.append(_characters(token["character"]))
        return (found + _joined(parts))[:MAX_SAMPLES]


def _joined(parts: list[list[str]]) -> list[str]:
    return ["".join(choice) for choice in islice(product(*parts), MAX_SAMPLES)]


def _characters(text: str) -> list[str]:
    """Return all characters of a small class, else one of them."""
    if len(text) == 1 and text != ".":
        return [text]
    try:
        found = [char for char in _PREFERRED if re.fullmatch(text, char, re.ASCII)]
    except re.error:
        return [""]
    return found if len(found) <= _SMALL else found[:1]
