"""How much an address alone looks like an article's.

Each feature of the path adds to the log-odds; the sum through the logistic function is the prior.
Knows no site: what a site's addresses look like is for its rule, and for what is learned from it.
"""

from __future__ import annotations

import math
import re
from functools import lru_cache

from newsbot.rules.oddstable import OddsTable
from newsbot.rules.shapewords import (
    ARTICLES,
    HOUSE_WORDS,
    ITEM_KEYS,
    LIST_KEYS,
    LISTS,
    MEDIA,
    UTILITIES,
)

_MAX_LOOKED_AT = 512
_MAX_KEYS = 20


_DATE = re.compile(
    r"/(?:19|20)\d\d/(?:0?[1-9]|1[0-2]|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)/"
    r"(?:0?[1-9]|[12]\d|3[01])(?=/|$)"
    r"|/(?:0[1-9]|[12]\d|3[01])/(?:0[1-9]|1[0-2])/(?:19|20)\d\d(?=/|$)"
    r"|(?<!\d)(?:19|20)\d\d[-_](?:0[1-9]|1[0-2])[-_](?:0[1-9]|[12]\d|3[01])(?!\d)"
    r"|(?<!\d)20[0-3]\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])(?!\d)"
)
_MONTH = re.compile(r"/(?:19|20)\d\d/(?:0?[1-9]|1[0-2])(?=/|$)|/(?:19|20)\d\d[-_](?:0[1-9]|1[0-2])(?=/|$)")
_NUMBER = re.compile(r"(?<![A-Za-z0-9%])\d{5,}(?![A-Za-z0-9])")
_DIGIT = re.compile(r"\d")
_UUID_LENGTH = 36
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_TURNS = re.compile(r"(?<=[a-z])(?=\d)|(?<=\d)(?=[a-z])")
_ESCAPED = re.compile(r"(?:%[0-9A-Fa-f]{2}){2,}")
_SUFFIX = re.compile(r"\.(?:s?html?|php\d?|aspx?|jsp|phtml|xhtml|cms|ece)$", re.IGNORECASE)
_BREAKS = re.compile(r"[-_,+.~–]+")

_NUMBERED = re.compile(r"(?:article|artikel|art|story|news|a|id_?)-?_?\d{5,}", re.IGNORECASE)

lately = OddsTable()
"""What :func:`log_odds` said lately."""

_BIAS = -1.5
WEIGHTS = {
    # The slug: a headline, a number, a code, or few words at some depth.
    "6 words": 3.3,
    "5 words": 2.6,
    "4 words": 1.9,
    "words and number": 0.9,
    "number": 2.0,
    "number at top": 1.0,
    "code": 1.0,
    "3 at depth 1": -0.5,
    "3 at depth 2": -0.5,
    "3 at depth 3": 0.3,
    "3 at depth 4": 0.5,
    "2 at depth 1": -2.0,
    "2 at depth 2": -1.8,
    "2 at depth 3": -1.0,
    "2 at depth 4": -0.3,
    "1 at depth 1": -3.0,
    "1 at depth 2": -2.5,
    "1 at depth 3": -1.8,
    "1 at depth 4": -1.0,
    "front page": -4.0,
    # Dates in the path.
    "date": 3.0,
    "month": 2.0,
    "archive": -4.0,
    # Names of segments.
    "article": 2.2,
    "media": -0.7,
    "list": -3.0,
    "list above": -1.5,
    "utility": -3.0,
    "utility above": -1.5,
    "utility in slug": -2.5,
    "utility host": -3.0,
    # The rest.
    "suffix": 0.6,
    "query names item": 2.0,
    "query lists": -2.0,
}
"""Log-odds, set by hand after a regression over links of 29 sites; see ``benchmarks/ranking.py``."""


def prior(url: str) -> float:
    """Return how likely the page is an article, from 0 to 1, by its address alone."""
    return probability(log_odds(url))


def log_odds(url: str) -> float:
    """Return the sum of the weights of all :func:`features`."""
    mark = hash(url)
    odds = lately.get(mark)
    if odds is None:
        odds = lately.put(mark, _BIAS + sum(WEIGHTS[feature] for feature in features(url)))
    return odds


def is_front_page(url: str) -> bool:
    """Tell the front page of a host, with or without a query that names no page."""
    path, _, query = url[8:].partition("/")[2].partition("?")
    return not path and (not query or _of_query(query) != ["query names item"])


def probability(odds: float) -> float:
    """Return the probability for log-odds."""
    return 1.0 / (1.0 + math.exp(-max(-30.0, min(30.0, odds))))


def features(url: str) -> list[str]:
    """Return the names of what is found in an http(s) URL: keys of :data:`WEIGHTS`."""
    at = url.find("/", 8)
    host = url[url.find("//") + 2 : at if at > 0 else None]
    path, _, query = url[at : at + _MAX_LOOKED_AT].partition("?") if at > 0 else ("/", "", "")
    found = ["utility host"] if host.partition(".")[0].lower() in UTILITIES else []
    segments = [segment for segment in path.lower().split("/") if segment]
    asked = _of_query(query) if query else []
    if asked == ["query names item"] and len(segments) < 2:
        return [*found, *asked]
    if not segments:
        return [*found, "front page"]
    plain = _SUFFIX.sub("", segments[-1])
    if plain != segments[-1]:
        found.append("suffix")
    segments[-1] = plain
    tail = segments[-2:]
    digits = _DIGIT.search(path) is not None
    if digits and len(path) > _UUID_LENGTH:
        tail = [_UUID.sub("0a0a0a0a0", segment) for segment in tail]
    words = max(map(_words_in, tail))
    if digits:
        found += _of_date(path.lower(), segments)
    found += _of_slug(tail, words, len(segments), digits=digits)
    found += _of_names(segments, words)
    return found + asked


def _of_date(path: str, segments: list[str]) -> list[str]:
    day = _DATE.search(path) is not None
    if not day and _MONTH.search(path) is None:
        return []
    if len(segments[-1]) < 5 and all(map(str.isdecimal, segments[-2:])):
        return ["archive"]
    return ["date" if day else "month"]


def _of_slug(tail: list[str], words: int, depth: int, *, digits: bool) -> list[str]:
    """What the last two segments are made of: words, a number, a code."""
    number = digits and (any(map(_NUMBER.search, tail)) or any(map(_NUMBERED.match, tail)))
    if words >= 4:
        return [f"{min(words, 6)} words", *(["words and number"] if number else [])]
    if number:
        return ["number" if depth > 1 else "number at top"]
    if digits and any(_is_code(part) for segment in tail for part in _BREAKS.split(segment)):
        return ["code"]
    return [f"{max(words, 1)} at depth {min(depth, 4)}"]


def _is_code(part: str) -> bool:
    return len(part) >= 9 and len(_TURNS.findall(part)) >= 3


@lru_cache(maxsize=1024)  # for the names of sections: the last segment of an address is there once
def _words_in(segment: str) -> int:
    if "%" in segment:
        segment = _ESCAPED.sub(_stand_in, segment)
    return sum(1 for word in _BREAKS.split(segment) if len(word) > 1 and word.isalpha())


def _stand_in(escaped: re.Match[str]) -> str:
    return "x" * (len(escaped[0]) // 6 + 2)  # a letter of another script is six characters


_LISTED = (("list", "list above", LISTS), ("utility", "utility above", UTILITIES))


def _of_names(segments: list[str], words: int) -> list[str]:
    last = segments[-1]
    above = segments[:-1]
    found = []
    for name, above_name, listed in _LISTED:
        if last in listed:
            found.append(name)
        elif not listed.isdisjoint(above):
            found.append(name if words < 4 else above_name)
    if "utility" not in found and not HOUSE_WORDS.isdisjoint(_BREAKS.split(last)):
        found.append("utility in slug")
    if not MEDIA.isdisjoint(segments):
        found.append("media")
    if not ARTICLES.isdisjoint(above) or any(map(_NUMBERED.match, segments[-2:])):
        found.append("article")
    return found


def _of_query(query: str) -> list[str]:
    keys = {}
    for part in query.split("&")[:_MAX_KEYS]:
        key, _, value = part.partition("=")
        keys[key.lower()] = value
    if any(key in ITEM_KEYS and value.isdecimal() and len(value) > 2 for key, value in keys.items()):
        return ["query names item"]
    return [] if LIST_KEYS.isdisjoint(keys) else ["query lists"]
