"""Computes boolean features (traits) of a URL: its segments, numbers, dates, slugs, ids, query keys.

Each trait has a short name. For example, ``1=news`` means that the first segment is *news*, and
``last:number`` means that the last segment is a number. Other examples are ``last words>=3``, ``ext=html``
and ``?id``. The trees that are learned for a site use these names (:mod:`newsbot.rules.learn`), and ``scrapy
rules learn`` prints them.
"""

from __future__ import annotations

import re
from functools import lru_cache

MAX_LOOKED_AT = 512
"""Maximum number of characters of a URL (without its scheme) that are read."""
_MAX_SEGMENT = 40
"""Maximum length of a segment whose text itself is a trait (``1=news``). Longer segments are slugs."""
_FRONT = 3
"""Number of segments at the start of the path that have traits with their number (``1=news``)."""
_MAX_KEYS = 8
"""Maximum number of query keys that become traits."""
_WORDS = (2, 3, 4, 5, 6)
_DEPTHS = tuple(f"depth>={depth}" for depth in range(7))

_EXTENSION = re.compile(r"\.([a-z]{2,5}\d?)$", re.IGNORECASE)
_BREAKS = re.compile(r"[-_,+.~–!;:=]+")
_ESCAPED = re.compile(r"(?:%[0-9A-Fa-f]{2})+")
_DIGITS = re.compile(r"\d+")
_PREFIX = re.compile(r"[^\d\-_/]{1,6}(?=\d)")


def split_path(url: str) -> tuple[str, list[str], str, bool, str]:
    """Return the parts of a URL: host without ``www.``, segments, extension, final slash, query.

    The extension is removed from the last segment. The fourth part is True if the path ends with a slash.
    """
    host, _, rest = url[url.find("//") + 2 :][:MAX_LOOKED_AT].partition("/")
    path, _, query = rest.partition("?")
    segments = [segment for segment in path.split("/") if segment]
    extension = ""
    if segments and (found := _EXTENSION.search(segments[-1])):
        extension = found[1].lower()
        segments[-1] = segments[-1][: found.start()]
    return host.removeprefix("www."), segments, extension, path.endswith("/"), query


# The cache is for the names of folders, which occur often. A slug occurs in one URL only.
@lru_cache(maxsize=1024)
def kind_of(segment: str) -> str:
    """Return the kind of a segment: year, day, small, number, word, code, slug, mixed or other.

    The kinds of numbers are: year (1900 to 2099), day (one or two digits), small (three or four digits), and
    number (more digits). A mixed segment has a number and at most one word.
    """
    if segment.isdecimal():
        return _kind_of_number(segment)
    if "%" in segment:
        segment = _ESCAPED.sub("xx", segment)
    if segment.isalpha():
        return "word"
    parts = [part for part in _BREAKS.split(segment) if part]
    if not parts:
        return "other"
    if len(parts) == 1:
        return "word" if parts[0].isalpha() else "code"
    words = sum(part.isalpha() and len(part) > 1 for part in parts)
    return "mixed" if words < 2 and any(map(str.isdigit, segment)) else "slug"


def _kind_of_number(segment: str) -> str:
    if len(segment) == 4 and segment.startswith(("19", "20")):
        return "year"
    if len(segment) <= 2:
        return "day"
    return "small" if len(segment) <= 4 else "number"


def traits(url: str) -> frozenset[str]:
    """Return the names of all traits of a canonical http(s) URL. Never raises."""
    host, segments, extension, slash, query = split_path(url)
    last = segments.pop() if segments else ""
    found = [
        "host=" + host,
        "slash" if slash else "no slash",
        "ext=" + extension,
        *_of_folders(tuple(segments)),
    ]
    if last:
        depth = len(segments) + 1
        if depth < len(_DEPTHS):
            found.append(_DEPTHS[depth])
        if depth <= _FRONT:
            found.append(f"{depth}:{kind_of(last)}")
        found += _of_slug("last", last)
    if query:
        found += ["?" + part.partition("=")[0] for part in query.split("&")[:_MAX_KEYS]]
        found.append("query")
    return frozenset(found)


@lru_cache(maxsize=4096)
def _of_folders(segments: tuple[str, ...]) -> tuple[str, ...]:
    """Return the traits of the segments before the last one. A site has few such paths."""
    found = list(_DEPTHS[1 : len(segments) + 1])
    for place, segment in enumerate(segments[:_FRONT], 1):
        if len(segment) <= _MAX_SEGMENT:
            found.append(f"{place}={segment.lower()}")
        found.append(f"{place}:{kind_of(segment)}")
    return (*found, *(_of_slug("before", segments[-1]) if segments else ()))


@lru_cache(maxsize=1024)
def _of_slug(place: str, segment: str) -> tuple[str, ...]:
    """Return the traits of the last segment, or of the one before it."""
    found = [f"{place}:{kind_of(segment)}"]
    words = words_in(segment)
    if words > 1:
        found += [f"{place} words>={number}" for number in _WORDS if words >= number]
    if (numbers := _DIGITS.findall(segment)) and not segment.isdecimal():
        found += [f"{place} with number", *([f"{place} with id"] if max(map(len, numbers)) >= 5 else [])]
        if segment.endswith(numbers[-1]):
            found.append(f"{place} ends in {min(len(numbers[-1]), 5)} digits")
        if segment.startswith(numbers[0]):
            found.append(f"{place} begins with {min(len(numbers[0]), 5)} digits")
        elif prefix := _PREFIX.match(segment):
            found.append(f"{place} begins with {prefix[0]}")
    if len(segment) <= _MAX_SEGMENT:
        found.append(f"{place}={segment.lower()}")
    if "," in segment:
        found.append(f"{place} has ,")
    if "!" in segment:
        found.append(f"{place} has !")
    return tuple(found)


def words_in(segment: str) -> int:
    """Return the number of words of at least two letters in a segment."""
    if "%" in segment:
        segment = _ESCAPED.sub(_stand_in, segment)
    return sum(len(part) > 1 and part.isalpha() for part in _BREAKS.split(segment))


def _stand_in(escaped: re.Match[str]) -> str:
    return "x" * (len(escaped[0]) // 6 + 2)  # a letter of another script takes six characters
