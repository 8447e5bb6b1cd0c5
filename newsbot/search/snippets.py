"""Cuts a snippet (a short part around the matches) out of an article's text.

Matches are put between ``[`` and ``]``.
"""

from __future__ import annotations

from itertools import islice

from newsbot.text.stems import placed_stems

WIDTH = 200
"""Approximate length of a snippet in characters. Words are not cut."""
_MAX_MATCHES = 1000  # matches of a text that are checked to find the best position
_BEFORE = 40  # characters shown before the first match
_WORD_END = 30  # characters by which a cut may move to keep a word whole

_Match = tuple[str, int, int]


def snippet(title: str, text: str, wanted: frozenset[str], language: str = "") -> str:
    """Return the part of ``text`` with the most different stems of ``wanted``.

    If the text has none of these stems, the title is used. If the title has none either, the beginning of the
    text is used. ``language`` is the language for stemming, see :func:`newsbot.text.stems.stemming`.
    """
    for shown in (text, title):
        matches = list(
            islice((match for match in placed_stems(shown, language) if match[0] in wanted), _MAX_MATCHES)
        )
        if matches:
            return _cut(shown, _best(matches))
    return _cut(text or title, [])


def _best(matches: list[_Match]) -> list[_Match]:
    """Return the matches within the width of a snippet that have the most different stems.

    If several places have the same number of different stems, the matches of the first place are returned.
    """
    best: list[_Match] = []
    most = 0
    last = 0
    # This is a sliding window. ``last`` never moves back, so each match is visited a few times only.
    for first, match in enumerate(matches):
        last = max(last, first)
        while last < len(matches) and matches[last][2] - match[1] <= WIDTH - _BEFORE:
            last += 1
        together = matches[first : max(last, first + 1)]  # one match can be wider than the window
        kinds = len({stem for stem, _, _ in together})
        if kinds > most:
            best, most = together, kinds
    return best


def _cut(text: str, matches: list[_Match]) -> str:
    start = _left_edge(text, matches[0][1] - _BEFORE if matches else 0)
    end = _right_edge(text, max(start + WIDTH, matches[-1][2] if matches else 0))
    parts: list[str] = []
    place = start
    for _, first, after in matches:
        parts += text[place:first], "[", text[first:after], "]"
        place = after
    parts.append(text[place:end])
    shown = " ".join("".join(parts).split())
    return f"{'…' if start > 0 else ''}{shown}{'…' if end < len(text) else ''}"


def _left_edge(text: str, place: int) -> int:
    if place <= 0:
        return 0
    for near in range(place, min(place + _WORD_END, len(text))):
        if text[near - 1].isspace():
            return near
    return place


def _right_edge(text: str, place: int) -> int:
    if place >= len(text):
        return len(text)
    for near in range(place, max(place - _WORD_END, 0), -1):
        if text[near].isspace():
            return near
    return place
