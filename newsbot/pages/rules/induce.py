"""Makes readable regular expressions (patterns) that match the article URLs of a site, from example URLs.

Article URLs are grouped by their form: the number of segments, the kinds of the segments, and the extension.
For each group, several expressions are built, from strict to lenient. The most lenient expression that
matches only a few other pages is kept. All expressions match from the beginning of the path.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from newsbot.pages.rules.expressions import PatternSet, compile_pattern
from newsbot.pages.rules.shape import kind_of, split_path, words_in

MIN_EXAMPLES = 3
"""Minimum number of articles that a pattern must match. A single unusual URL is not enough for a pattern."""
MIN_PRECISION = 0.8
"""Minimum precision of a pattern: the share of articles among the known pages that the pattern matches."""
_TOLERATED = 0.03
"""Maximum loss of precision when a strict pattern is replaced by a more lenient one."""
MAX_PATTERNS = 12
"""Maximum number of patterns of one site."""
_MAX_NAMES = 6
"""Maximum number of names that are listed as alternatives for a segment, as in ``(?:news|sport)``."""
_MIN_EACH = 2
"""Minimum number of examples for each of these names."""
_MAX_FORMS = 60
"""Maximum number of groups that are tried. The largest groups are tried."""
_SHOWN = 3
"""Maximum number of articles that are stored as examples of a pattern."""
_SLUGS = ("slug", "mixed", "code", "word")
# Matches the end of the path, with or without a query.
_END = r"(?:\?|$)"


@dataclass(frozen=True, slots=True)
class LearnedPattern:
    """A regular expression for path and query of a URL, and the number of known pages that it matches."""

    text: str
    articles: int
    """Number of known articles that the pattern matches."""
    others: int
    """Number of other known pages that the pattern matches."""
    examples: tuple[str, ...]
    """Path and query of some of the matched articles."""

    @property
    def precision(self) -> float:
        """The share of articles among the known pages that it matches."""
        return self.articles / max(1, self.articles + self.others)


@dataclass(frozen=True, slots=True)
class _Known:
    """Path and query of the known pages: articles, other pages, and pages with a doubtful label."""

    good: list[str]
    bad: list[str]
    doubtful: list[str]


@dataclass(frozen=True, slots=True)
class _Example:
    path: str
    segments: tuple[str, ...]
    extension: str
    slash: bool
    query: str


def induce(
    articles: Sequence[str], others: Sequence[str], doubtful: Sequence[str] = ()
) -> list[LearnedPattern]:
    """Return patterns for the URLs of articles. The pattern that matches the most articles comes first.

    Each pattern matches at least MIN_EXAMPLES articles that the patterns before it do not match. Its
    precision is at least MIN_PRECISION, computed with one additional wrong match. All URLs are canonical.
    ``doubtful`` are other pages whose label is probably wrong. They are counted in the result, but they never
    exclude a pattern.
    """
    examples = {example.path: example for example in map(_example, articles)}
    known = _Known(list(examples), [path_of(url) for url in others], [path_of(url) for url in doubtful])
    found: dict[str, LearnedPattern] = {}
    for group in _groups(list(examples.values())):
        pattern = _chosen(group, known)
        if pattern is not None:
            found[pattern.text] = pattern
    return _cover(list(found.values()), known.good)


def path_of(url: str) -> str:
    """Return path and query of a URL. Patterns are searched in this part."""
    # "https://" has 8 characters.
    at = url.find("/", 8)
    return url[at:] if at > 0 else "/"


def _example(url: str) -> _Example:
    _, segments, extension, slash, query = split_path(url)
    return _Example(path_of(url), tuple(segments), extension, slash, query)


def _groups(examples: list[_Example]) -> Iterator[list[_Example]]:
    """Yield groups of examples with the same form, large groups first.

    Each example is in two groups. In one group, all segments of the examples have the same kinds. In the
    second group, only the last segments have the same kind.
    """
    groups: dict[tuple[object, ...], list[_Example]] = defaultdict(list)
    for one in examples:
        kinds = tuple(_coarse(segment) for segment in one.segments)
        groups[len(one.segments), kinds, one.extension, one.slash, _item_key(one.query)].append(one)
        groups[len(one.segments), kinds[-1:], one.extension, one.slash, _item_key(one.query)].append(one)
    largest = sorted(groups.values(), key=len, reverse=True)[:_MAX_FORMS]
    yield from (group for group in largest if len(group) >= MIN_EXAMPLES and group[0].segments)


def _coarse(segment: str) -> str:
    kind = kind_of(segment)
    return "name" if kind in _SLUGS else kind


def _item_key(query: str) -> str | None:
    """Return the key of a query that has a single key with a number as value, else None.

    Such a number often identifies the page.
    """
    key, _, value = query.partition("=")
    return key if value.isdecimal() else None


def _chosen(group: list[_Example], known: _Known) -> LearnedPattern | None:
    """Return the most lenient expression of a group that is precise enough, or None."""
    best: LearnedPattern | None = None
    best_share = 0.0
    for text in _expressions(group):
        try:
            compile_pattern(text)
        except ValueError:  # no pattern can be made from URLs with unusual characters
            continue
        hits = _matched(text, known.good)
        wrong = len(_matched(text, known.bad))
        # A few matches may all be articles by chance, so an additional wrong match is assumed.
        share = len(hits) / max(1, len(hits) + wrong)
        if len(hits) < MIN_EXAMPLES or len(hits) / (len(hits) + wrong + 1) < _needed(wrong):
            continue
        if best is None or share >= best_share - _TOLERATED:
            doubted = len(_matched(text, known.doubtful))
            # The share is compared with the best share so far, so that many small losses do not add up.
            best_share = max(share, best_share)
            best = LearnedPattern(text, len(hits), wrong + doubted, tuple(hits[:_SHOWN]))
    return best


def _matched(text: str, paths: Iterable[str]) -> list[str]:
    pattern = PatternSet((text,))
    return [path for path in paths if pattern.first(path) is not None]


def _needed(wrong: int) -> float:
    """Return the minimum precision of a pattern with this number of wrong matches.

    Without wrong matches, MIN_EXAMPLES articles are enough.
    """
    return MIN_PRECISION if wrong else MIN_EXAMPLES / (MIN_EXAMPLES + 1)


def _cover(patterns: list[LearnedPattern], good: list[str]) -> list[LearnedPattern]:
    """Return a small set of patterns that together match most articles.

    The choice is greedy: the next pattern is always the pattern that matches the most remaining articles.
    Finding the smallest set would take a search through all combinations.
    """
    matched = {one.text: set(_matched(one.text, good)) for one in patterns}
    left, chosen = set(good), list[LearnedPattern]()
    while patterns and len(chosen) < MAX_PATTERNS:
        best = max(patterns, key=lambda one: (len(matched[one.text] & left), one.precision, -len(one.text)))
        new = matched[best.text] & left
        if len(new) < MIN_EXAMPLES:
            break
        chosen.append(best)
        left -= new
        patterns.remove(best)
    return chosen


def _expressions(group: list[_Example]) -> Iterator[str]:
    """Yield expressions for a group, from strict to lenient."""
    # Column n has segment n of each example.
    columns = list(zip(*(one.segments for one in group), strict=True))
    key = _item_key(group[0].query)
    last = key is None
    for names, strict in ((True, True), (True, False), (False, True), (False, False)):
        parts = [_segment(column, names=names) for column in columns[:-1]]
        end = _last(columns[-1], strict=strict) if last else _segment(columns[-1], names=True)
        if group[0].extension:
            end += _literal("." + group[0].extension)
        path = "^/" + "/".join([*parts, end]) + ("/?" if not group[0].extension else "")
        yield path + (rf"\?{_literal(key)}=\d+$" if key else _END)


def _segment(values: Sequence[str], *, names: bool) -> str:
    """Return an expression for a segment that is not the last."""
    if number := _number(values):
        return number
    found = Counter(values)
    if len(found) == 1:
        return _literal(values[0])
    if headed := _headed_number(values):
        return headed
    if names and len(found) <= _MAX_NAMES and min(found.values()) >= _MIN_EACH:
        return "(?:" + "|".join(_literal(name) for name in sorted(found)) + ")"
    return "[^/?]+"


def _literal(text: str) -> str:
    return re.escape(text).replace(r"\-", "-")  # outside of brackets, "-" needs no escape


def _number(values: Sequence[str]) -> str | None:
    kinds = set(map(kind_of, values))
    if kinds == {"year"}:
        return r"(?:19|20)\d\d"
    if kinds == {"day"}:
        return r"\d\d" if all(len(value) == 2 for value in values) else r"\d\d?"
    if kinds <= {"number", "small", "day", "year"}:
        return _digits(min(map(len, values)))
    return None


def _digits(least: int) -> str:
    """Return an expression for numbers with at least this many digits.

    For long numbers the expression requires only five digits. Five digits are specific enough, and ids of
    further articles may be shorter.
    """
    return r"\d+" if least == 1 else rf"\d{{{min(least, 5)},}}"


def _headed_number(values: Sequence[str]) -> str | None:
    """Return an expression for values with a common prefix before a number, else None.

    Examples: ``article123``, ``id_123``, ``!123``.
    """
    head = _shared_head(values).rstrip("0123456789")
    if head and all(value[len(head) :].isdecimal() for value in values):
        return _literal(head) + _digits(min(len(value) - len(head) for value in values))
    return None


def _last(values: Sequence[str], *, strict: bool) -> str:
    """Return an expression for the last segment.

    The forms are tried in this order: a number, letters and a number, words and a number, words. If none
    fits, the expression matches any text.
    """
    if number := _number(values) or _headed_number(values):
        return number
    tail = _tail_digits(values)
    # town-hall-12345
    if tail and strict:
        return rf"[^/?]+\D{_digits(tail)}"
    # 12345-town-hall
    if all(re.match(r"\d{4,}\D", value) for value in values):
        return r"\d{4,}[^/?]+"
    head = _id_head(values)
    words = min(words_in(value[len(head) :]) for value in values)
    # town-hall-opens-again; further words after the fourth are optional
    if words >= 3 or (strict and words >= 2):
        return _literal(head) + rf"[^/?-]+(?:-[^/?-]+){{{min(words, 4) - 1},}}"
    # town-hall-2nd
    if strict and all(re.search(r"\d", value[len(head) :]) for value in values):
        return _literal(head) + r"[^/?\d]*\d[^/?]*"
    return _literal(head) + "[^/?]+"


def _shared_head(values: Sequence[str]) -> str:
    # A prefix that the alphabetically first and last values have in common is a prefix of all values.
    first, last = min(values), max(values)
    at = next((place for place, sign in enumerate(first) if last[place : place + 1] != sign), len(first))
    return first[:at]


def _id_head(values: Sequence[str]) -> str:
    """Return the letters before the first number or capital of all values: ``art`` in ``art12-title``."""
    letters = re.match(r"[A-Za-z]*", _shared_head(values))
    head = letters[0] if letters else ""
    after = [value[len(head) : len(head) + 1] for value in values]
    return head if all(sign.isdecimal() or sign.isupper() for sign in after) else ""


def _tail_digits(values: Sequence[str]) -> int:
    """Return the lowest number of digits at the end of the values, or 0 if it is below 4."""
    found = [re.search(r"\d+$", value) for value in values]
    length = min((len(one[0]) if one else 0) for one in found)
    return length if length >= 4 else 0
