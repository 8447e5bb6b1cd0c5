"""Computes features of a URL, and estimates from the URL alone the probability that its page is an article.

The estimate (:func:`log_odds`) is a logistic regression: each feature of the URL adds its weight to the
log-odds. It is the same for all sites. The form of one site's URLs is stated in its rule or is learned
(:mod:`newsbot.pages.rules.learn`).

The trees that are learned for a site use other features: boolean *traits* (:func:`traits`) of segments,
numbers, dates, slugs, ids and query keys. Each trait has a short name. For example, ``1=news`` means that the
first segment is *news*, and ``last:number`` means that the last segment is a number. Other examples are
``last words>=3``, ``ext=html`` and ``?id``. ``scrapy rules learn`` prints them.
"""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files

from newsbot.pages.text.languages import LOADER

PLACES = 1 << 16
"""Default number of entries of an :class:`OddsTable`."""


_TAG_BITS = 40
"""Number of bits of the hash that are stored in an entry."""


_TAGS = (1 << _TAG_BITS) - 1
"""A mask for the stored bits of the hash."""


_STEPS = 1000
"""Number of steps into which one unit of log-odds is divided when it is stored."""


_MIDDLE = 1 << 23
"""Added to each stored number, so that the stored value is always positive. A word of 0 is an empty place."""


_LARGEST = (_MIDDLE - 1) / _STEPS
"""The largest number that can be stored."""


class OddsTable:
    """A cache of numbers by hash, with a fixed size. A new entry replaces the old entry at the same place.

    Each entry is one machine word: 40 bits of the hash, and the number in thousandths in 24 bits. Threads may
    share a table, because a word is read and written as a whole. Other bits of the hash select the place.
    Therefore a lookup returns the number of another URL with a probability of at most 2^-55.
    """

    def __init__(self, places: int = PLACES) -> None:
        """``places`` is the number of entries, a power of two. Each needs 8 bytes."""
        self._mask = places - 1
        self._shift = self._mask.bit_length()
        self._words = array("Q", bytes(8 * places))

    def get(self, mark: int) -> float | None:
        """Return the number for a hash (a result of Python's ``hash``), or None if it is not in the table."""
        word = self._words[mark & self._mask]
        if not word or (word >> 24) != (mark >> self._shift) & _TAGS:
            return None
        return ((word & 0xFFFFFF) - _MIDDLE) / _STEPS

    def put(self, mark: int, odds: float) -> float:
        """Store a number and return it rounded to a thousandth, as :meth:`get` returns it later.

        So a URL has exactly the same odds at the first lookup and at later lookups.
        """
        number = round(max(-_LARGEST, min(_LARGEST, odds)) * _STEPS)
        self._words[mark & self._mask] = ((mark >> self._shift) & _TAGS) << 24 | (number + _MIDDLE)
        return number / _STEPS

    def __len__(self) -> int:
        """Return the number of places, including empty ones."""
        return len(self._words)

    def clear(self) -> None:
        """Remove all numbers."""
        self._words = array("Q", bytes(8 * len(self._words)))


_GENERAL = LOADER(
    (files("newsbot") / "pages" / "rules" / "shape.yaml").read_text(encoding="utf8")
).get_single_data()
"""Words in URLs, and the weights of features. Comments in the file explain them."""
WORDS: Mapping[str, frozenset[str]] = {
    name: frozenset(words.split()) for name, words in _GENERAL["words"].items()
}
LISTS, RUBRICS, UTILITIES = WORDS["lists"], WORDS["rubrics"], WORDS["utilities"]
WEIGHTS: Mapping[str, float] = _GENERAL["weights"]
_BIAS: float = _GENERAL["bias"]


_MAX_LOOKED_AT = 512
"""Maximum number of characters of path and query that are read."""
_MAX_KEYS = 20
"""Maximum number of query keys that are read."""


# /2024/05/17 and /2024/may/17; /17/05/2024; 2024-05-17 and 2024_05_17 anywhere; 20240517.
_DATE = re.compile(
    r"/(?:19|20)\d\d/(?:0?[1-9]|1[0-2]|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)/"
    r"(?:0?[1-9]|[12]\d|3[01])(?=/|$)"
    r"|/(?:0[1-9]|[12]\d|3[01])/(?:0[1-9]|1[0-2])/(?:19|20)\d\d(?=/|$)"
    r"|(?<!\d)(?:19|20)\d\d[-_](?:0[1-9]|1[0-2])[-_](?:0[1-9]|[12]\d|3[01])(?!\d)"
    r"|(?<!\d)20[0-3]\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])(?!\d)"
)
# /2024/05 and /2024-05
_MONTH = re.compile(r"/(?:19|20)\d\d/(?:0?[1-9]|1[0-2])(?=/|$)|/(?:19|20)\d\d[-_](?:0[1-9]|1[0-2])(?=/|$)")
# Five or more digits that are not a part of a word or of an escape (%D0).
_NUMBER = re.compile(r"(?<![A-Za-z0-9%])\d{5,}(?![A-Za-z0-9])")
_DIGIT = re.compile(r"\d")
_UUID_LENGTH = 36
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
# The places between a letter and a digit: three in a1b2.
_TURNS = re.compile(r"(?<=[a-z])(?=\d)|(?<=\d)(?=[a-z])")
_ESCAPED = re.compile(r"(?:%[0-9A-Fa-f]{2}){2,}")
_SUFFIX = re.compile(r"\.(?:s?html?|php\d?|aspx?|jsp|phtml|xhtml|cms|ece)$", re.IGNORECASE)
_BREAKS = re.compile(r"[-_,+.~–]+")

# article12345, story-12345, id_12345
_NUMBERED = re.compile(r"(?:article|artikel|art|story|news|a|id_?)-?_?\d{5,}", re.IGNORECASE)

lately = OddsTable()
"""A cache of recent results of :func:`log_odds`."""

_LIST_ID = re.compile(r"(?:s|t|c|r|cat|tag|th|topic|section|rubric|rubrik)[-_]\d{2,}", re.IGNORECASE)
"""Matches a last segment with the number of a section, such as ``s-12322`` in ``/europa/s-12322``."""

CLEARLY_NONE = -5.0
"""A URL with lower log-odds is not an article on any site. It is a search, a list or a login."""


def prior(url: str) -> float:
    """Return the probability, from 0 to 1, that the page is an article. It is estimated from the URL
    alone."""
    return probability(log_odds(url))


def log_odds(url: str) -> float:
    """Return the log-odds that the page of an http(s) URL is an article. Results are cached."""
    mark = hash(url)
    odds = lately.get(mark)
    if odds is None:
        odds = lately.put(mark, _BIAS + sum(WEIGHTS[feature] for feature in features(url)))
    return odds


def is_list_id(path: str) -> bool:
    """Return True if the last segment of a path is the number of a section, such as ``s-12322``."""
    return _LIST_ID.fullmatch(path.rstrip("/").rpartition("/")[2]) is not None


def is_front_page(url: str) -> bool:
    """Return True if a URL is the front page of a host. A query with a number identifies another page."""
    # "https://" has 8 characters. "http://" has 7, and then the first letter of the host is cut off, which is
    # harmless.
    path, _, query = url[8:].partition("/")[2].partition("?")
    return not path and not any(map(str.isdecimal, query))


def probability(odds: float) -> float:
    """Return the probability that corresponds to log-odds (the logistic function). Overflows are avoided."""
    return 1.0 / (1.0 + math.exp(-max(-30.0, min(30.0, odds))))


def features(url: str) -> list[str]:
    """Return the features of an http(s) URL, which are keys of :data:`WEIGHTS`."""
    # the first slash after "https://" or "http://x"
    at = url.find("/", 8)
    host = url[url.find("//") + 2 : at if at > 0 else None]
    path, _, query = url[at : at + _MAX_LOOKED_AT].partition("?") if at > 0 else ("/", "", "")
    found = ["utility host"] if host.partition(".")[0].lower() in UTILITIES else []
    segments = [segment for segment in path.lower().split("/") if segment]
    asked = _of_query(query) if query else []
    # In /index.php?id=123, only the number in the query identifies the page.
    if asked == ["query names item"] and len(segments) < 2:
        return [*found, *asked]
    if not segments:
        return [*found, "front page"]
    plain = _SUFFIX.sub("", segments[-1])
    if plain != segments[-1]:
        found.append("suffix")
    segments[-1] = plain
    # Some sites put the headline before a last segment with a number: /news/some-long-headline/12345.
    tail = segments[-2:]
    digits = _DIGIT.search(path) is not None
    if digits and len(path) > _UUID_LENGTH:
        # A UUID would count as several words, so it is replaced by a single code.
        tail = [_UUID.sub("0a0a0a0a0", segment) for segment in tail]
    words = max(map(_words_in, tail))
    if digits:
        found += _of_date(path.lower(), segments)
    found += _of_slug(tail, words, len(segments), digits=digits)
    found += _of_names(segments, words)
    return found + asked


def _of_date(path: str, segments: list[str]) -> list[str]:
    """Return the feature of a date in the path. A path that ends with the date is an archive page."""
    day = _DATE.search(path) is not None
    if not day and _MONTH.search(path) is None:
        return []
    # All segments at the end are numbers, and the last number is a year, month or day: /2024/05 lists the
    # articles of a month.
    if len(segments[-1]) < 5 and all(map(str.isdecimal, segments[-2:])):
        return ["archive"]
    return ["date" if day else "month"]


def _of_slug(tail: list[str], words: int, depth: int, *, digits: bool) -> list[str]:
    """Return the features of the last two segments: their words, a number, or a code."""
    if is_list_id(tail[-1]):
        return ["list"]
    number = digits and (any(map(_NUMBER.search, tail)) or any(map(_NUMBERED.match, tail)))
    if words >= 4:
        return [f"{min(words, 6)} words", *(["words and number"] if number else [])]
    if number:
        return ["number" if depth > 1 else "number at top"]
    if digits and any(_is_code(part) for segment in tail for part in _BREAKS.split(segment)):
        return ["code"]
    return [f"{max(words, 1)} at depth {min(depth, 4)}"]


def _is_code(part: str) -> bool:
    """Return True if a part mixes letters and digits like a random id, for example ``a1b2c3d4e``."""
    return len(part) >= 9 and len(_TURNS.findall(part)) >= 3


# The cache is used for names of sections. The last segment of an article's URL occurs only once and is not
# cached.
@lru_cache(maxsize=1024)
def _words_in(segment: str) -> int:
    if "%" in segment:
        segment = _ESCAPED.sub(_stand_in, segment)
    return sum(1 for word in _BREAKS.split(segment) if len(word) > 1 and word.isalpha())


def _stand_in(escaped: re.Match[str]) -> str:
    return "x" * (len(escaped[0]) // 6 + 2)  # an escaped letter of another script takes six characters


_LISTED = (("list", "list above", LISTS), ("utility", "utility above", UTILITIES))


def _of_names(segments: list[str], words: int) -> list[str]:
    """Return the features of known names among the segments. ``words`` is the number of words of the slug."""
    last = segments[-1]
    above = segments[:-1]
    found = []
    for name, above_name, listed in _LISTED:
        if last in listed:
            found.append(name)
        elif not listed.isdisjoint(above):
            # /tags/some-long-headline-with-words may be an article, but /tags/politics is a list.
            found.append(name if words < 4 else above_name)
    if "utility" not in found and not WORDS["house_words"].isdisjoint(_BREAKS.split(last)):
        found.append("utility in slug")
    if not WORDS["media"].isdisjoint(segments):
        found.append("media")
    if not WORDS["articles"].isdisjoint(above) or any(map(_NUMBERED.match, segments[-2:])):
        found.append("article")
    return found


def _of_query(query: str) -> list[str]:
    """Return the feature of the query keys. The result is empty if no key is known."""
    keys = {}
    for part in query.split("&")[:_MAX_KEYS]:
        key, _, value = part.partition("=")
        keys[key.lower()] = value
    if any(key in WORDS["item_keys"] and value.isdecimal() and len(value) > 2 for key, value in keys.items()):
        return ["query names item"]
    return [] if WORDS["list_keys"].isdisjoint(keys) else ["query lists"]


_MAX_SEGMENT = 40
"""Maximum length of a segment whose text itself is a trait (``1=news``). Longer segments are slugs."""
_FRONT = 3
"""Number of segments at the start of the path whose traits begin with their number (``1=news``)."""
_MAX_TRAIT_KEYS = 8
"""Maximum number of query keys that become traits."""
_WORDS = (2, 3, 4, 5, 6)
_DEPTHS = tuple(f"depth>={depth}" for depth in range(7))

_EXTENSION = re.compile(r"\.([a-z]{2,5}\d?)$", re.IGNORECASE)
_TRAIT_BREAKS = re.compile(r"[-_,+.~–!;:=]+")
_ANY_ESCAPED = re.compile(r"(?:%[0-9A-Fa-f]{2})+")
_DIGITS = re.compile(r"\d+")
# up to six letters before a number: "art" in art12345
_PREFIX = re.compile(r"[^\d\-_/]{1,6}(?=\d)")


def split_path(url: str) -> tuple[str, list[str], str, bool, str]:
    """Return the parts of a URL: host without ``www.``, segments, extension, final slash, query.

    The extension is removed from the last segment. The fourth part is True if the path ends with a slash.
    """
    host, _, rest = url[url.find("//") + 2 :][:_MAX_LOOKED_AT].partition("/")
    path, _, query = rest.partition("?")
    segments = [segment for segment in path.split("/") if segment]
    extension = ""
    if segments and (found := _EXTENSION.search(segments[-1])):
        extension = found[1].lower()
        segments[-1] = segments[-1][: found.start()]
    return host.removeprefix("www."), segments, extension, path.endswith("/"), query


# The cache is used for names of folders, which occur often. A slug occurs in only one URL.
@lru_cache(maxsize=1024)
def kind_of(segment: str) -> str:
    """Return the kind of a segment: year, day, small, number, word, code, slug, mixed or other.

    The kinds of numbers are: year (1900 to 2099), day (one or two digits), small (three or four digits), and
    number (more digits). A mixed segment has a number and at most one word.
    """
    if segment.isdecimal():
        return _kind_of_number(segment)
    if "%" in segment:
        # Escaped letters (%D0%B0) count as letters.
        segment = _ANY_ESCAPED.sub("xx", segment)
    if segment.isalpha():
        return "word"
    parts = [part for part in _TRAIT_BREAKS.split(segment) if part]
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
        found += _traits_of_slug("last", last)
    if query:
        found += ["?" + part.partition("=")[0] for part in query.split("&")[:_MAX_TRAIT_KEYS]]
        found.append("query")
    return frozenset(found)


@lru_cache(maxsize=4096)
def _of_folders(segments: tuple[str, ...]) -> tuple[str, ...]:
    """Return the traits of the segments before the last one. A site has only a few such paths."""
    found = list(_DEPTHS[1 : len(segments) + 1])
    for place, segment in enumerate(segments[:_FRONT], 1):
        if len(segment) <= _MAX_SEGMENT:
            found.append(f"{place}={segment.lower()}")
        found.append(f"{place}:{kind_of(segment)}")
    return (*found, *(_traits_of_slug("before", segments[-1]) if segments else ()))


@lru_cache(maxsize=1024)
def _traits_of_slug(place: str, segment: str) -> tuple[str, ...]:
    """Return the traits of the last segment, or of the segment before it (``place``: last or before)."""
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
        segment = _ANY_ESCAPED.sub(_stand_in, segment)
    return sum(len(part) > 1 and part.isalpha() for part in _TRAIT_BREAKS.split(segment))
