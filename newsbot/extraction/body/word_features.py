"""Computes features of a piece of text from its own words and from the boxes around it.

The learned trees were trained with these features. After a change here they must be trained again
(``benchmarks/learning.py``).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from newsbot.extraction.body.pieces import REGIONS, Box, Piece
from newsbot.extraction.body.talk import NAMES, counts, talks, tally
from newsbot.extraction.body.tidy import foreign_kind
from newsbot.extraction.strings import key, size, word_list, words

Numbers = NDArray[np.float32]
Columns = dict[str, Numbers]

_TAGS = (
    "p", "li", "div", "td", "span", "h1", "h2", "h3", "h4", "blockquote", "a", "th", "dt", "dd", "pre",
    "section", "article", "figcaption", "font", "center", "body",
)  # fmt: skip
_OTHER_TAG = 30.0
"""The number of a tag that is not in :data:`TAG_NUMBERS`."""
TAG_NUMBERS = {name: float(index) for index, name in enumerate(_TAGS)}
_SUBJECTS = (
    ("comment", word_list("comment disqus discuss reply opinions")),
    ("share", word_list("share sharing social follow facebook twitter like vote rating")),
    (
        "related",
        word_list(
            "relat recommend more also popular trend teaser promo outbrain taboola similar readmore most",
            "latest next other recirc listing feed card linkbox",
        ),
    ),
    ("foot", word_list("foot copyright legal disclaim bottom contacts?")),
    ("nav", word_list("nav menu breadcrumb topbar toolbar pagination pager masthead")),
    ("side", word_list("side widget rail aside column right left col")),
    ("ad", word_list("^ads?$ advert sponsor banner adv dfp gpt commerc shop buy price affili")),
    (
        "meta",
        word_list("byline author meta date time info credit source publish posted writer avtor bio agency"),
    ),
    (
        "media",
        word_list(
            "caption figure photo image img gallery media video embed audio player pic slide carousel foto ",
            "credit copyright",
        ),
    ),
    ("tag", word_list("^tags?$ topic keyword label categor section rubric")),
    (
        "subscribe",
        word_list(
            "newsletter subscri signup paywall login register cookie consent modal popup overlay premium",
            "piano donat notif alert gdpr download app",
        ),
    ),
    ("title", word_list("title headline heading header kicker")),
    (
        "lead",
        word_list(
            "summary lead lede standfirst intro deck dek subtitle description excerpt abstract teaser chapo",
            "anons",
        ),
    ),
    ("article", word_list("article story post entry news single detail")),
    ("body", word_list("body content text paragraph main copy rich wysiwyg prose txt")),
    ("hidden", word_list("hidden hide sr visually screen print tooltip dropdown collapse")),
    ("quote", word_list("quote pull box factbox info embed tweet insta blockquote")),
)
"""Subjects of words in ``class`` and ``id``, and the regular expressions of the words of each."""
_PATTERNS = tuple((name, re.compile("|".join(parts))) for name, parts in _SUBJECTS)
_END = re.compile(r"[.!?…。！？»”\"'’)]\s{0,2}$")
_SENTENCE = re.compile(r"[.!?…。][\s\"»”]")
_DATE = re.compile(r"\b\d{1,2}[:.]\d\d\b|\b(?:19|20)\d\d\b")
_ADDRESS = re.compile(r"@|http|www\.")
_BAR = re.compile(r"[|»>]|/ ")
_COMMA = re.compile("[,，、]")
_LONG = 1000
"""Maximum number of letters of a piece that are searched."""


@dataclass(frozen=True, slots=True)
class Known:
    """What a page states about its article outside of the text."""

    titles: frozenset[str]
    """Keys (:func:`~newsbot.extraction.strings.key`) of the titles and headings."""
    description: str
    """The description in the head of the page."""
    stated: str = ""
    """The text of the article in the structured data, one paragraph per line."""
    authors: frozenset[str] = frozenset()
    """Keys of the authors' names."""
    site: frozenset[str] = frozenset()
    """Names of the site: words of its host, and its name without spaces."""
    captions: frozenset[str] = frozenset()
    """Starts of the descriptions (``alt``) of pictures."""


def basic_clues(pieces: list[Piece]) -> Columns:
    """Return the basic features of every piece: its length, share of links, end and tag."""
    return {
        "length": _numbers([size(piece.text) for piece in pieces]),
        "linked": _numbers([piece.linked for piece in pieces]),
        "ends": _numbers([bool(_END.search(piece.text[-4:])) for piece in pieces]),
        "tag": _numbers([TAG_NUMBERS.get(piece.box.tag, _OTHER_TAG) for piece in pieces]),
    }


def repetitions(pieces: list[Piece]) -> Columns:
    """Return how often the text of each piece occurs elsewhere on the page, and if it occurred before."""
    seen: Counter[str] = Counter()
    earlier = []
    texts = [piece.text[:_LONG] for piece in pieces]
    for text in texts:
        earlier.append(seen[text] > 0)
        seen[text] += 1
    return {"repeated": _numbers([seen[text] - 1 for text in texts]), "earlier": _numbers(earlier)}


def titles_of(pieces: list[Piece], known: Known) -> Numbers:
    """Return 1 for each piece that is the headline as the page states it, else 0."""
    first = {title[0] for title in known.titles}
    return _numbers([_is_title(piece, known.titles, first) for piece in pieces])


def _is_title(piece: Piece, titles: frozenset[str], first: set[str]) -> bool:
    """True if the piece is one of the ``titles``.

    ``first`` has the first letters of the titles. Most pieces begin with another letter and are excluded
    quickly.
    """
    if not 10 < len(piece.text) < 300 or piece.linked >= 0.5:
        return False
    sign = piece.text[0]
    return (not sign.isalnum() or sign.casefold()[0] in first) and key(piece.text) in titles


def said_in(pieces: list[Piece]) -> list[list[str]]:
    """Return the first words of each piece, for :func:`own_clues` and others."""
    return [words(piece.text[:_LONG]) for piece in pieces]


def own_clues(pieces: list[Piece], known: Known, said: list[list[str]]) -> Columns:
    """Return the features of each piece's text by name. ``said`` is the result of :func:`said_in`."""
    texts = [piece.text for piece in pieces]
    starts = [text[:_LONG] for text in texts]
    columns = {name: _numbers([count(text) for text in starts]) for name, count in _COUNTED.items()}
    columns["links"] = _numbers([piece.links for piece in pieces])
    columns["strong"] = _numbers([piece.strong for piece in pieces])
    columns["after_break"] = _numbers([piece.after_break for piece in pieces])
    columns["colon"] = _numbers([text.endswith(":") for text in texts])
    columns["cut"] = _numbers([text.endswith(("...", "…")) for text in texts])
    shares = talks(texts, said)
    columns |= {f"talk_{name}": shares[:, place] for place, name in enumerate(NAMES)}
    return columns | _said_elsewhere(pieces, known, said)


def _said_elsewhere(pieces: list[Piece], known: Known, said: list[list[str]]) -> Columns:
    """Return features that compare each piece with the headline, the description and the stated text."""
    expected = set(" ".join(known.titles).split())
    described = known.description
    like, lead = [], []
    for piece, own in zip(pieces, said, strict=True):
        text = piece.text
        found = set(own) if len(text) < 300 else set()
        like.append(len(found & expected) / len(found) if found else 0.0)
        # Sites cut their descriptions at some length, so only the starts are compared.
        lead.append(bool(described) and len(text) > 30 and (text[:80] in described or described[:80] in text))
    return {"like_title": _numbers(like), "description": _numbers(lead)} | _stated(pieces, known.stated)


def _stated(pieces: list[Piece], text: str) -> Columns:
    """Return for each piece if the text in the structured data contains it, and the length of that text.

    The first feature is 2 for a whole line, 1 for a part of a line, 0 for other pieces. Both features are -1
    if the structured data have no text.
    """
    if not text:
        nothing = np.full(len(pieces), -1.0, np.float32)
        return {"stated": nothing, "stated_letters": nothing}
    lines = set(text.split("\n"))
    hits = [2 if p.text in lines else 1 if p.text[:50] in text else 0 for p in pieces]
    return {"stated": _numbers(hits), "stated_letters": np.full(len(pieces), len(text), np.float32)}


def box_clues(pieces: list[Piece]) -> Columns:
    """Return the features of the boxes around each piece, by name."""
    boxes = [piece.box for piece in pieces]
    columns = {
        "tag_above": _numbers([TAG_NUMBERS.get(box.above(1).tag, _OTHER_TAG) for box in boxes]),
        "depth": _numbers([box.depth for box in boxes]),
    }
    for region in REGIONS:
        columns[f"in_{region}"] = _numbers([region in box.regions for box in boxes])
    own = _counted([_told(box.words) for box in boxes])
    above = _counted([_told(box.above(1).words) for box in boxes])
    near = np.maximum(own, above / 2)  # a name of the parent counts half
    sums: dict[Box, int] = {}
    around = _counted([_told_around(box, sums) for box in boxes])
    for index, (name, _) in enumerate(_PATTERNS):
        columns[f"near_{name}"] = near[:, index]
        columns[f"around_{name}"] = around[:, index]
    return columns


def _counted(tallies: list[int]) -> Numbers:
    return counts(tallies, len(_PATTERNS)).astype(np.float32)


@lru_cache(maxsize=8192)
def _told(names: tuple[str, ...]) -> int:
    """Return the subjects in the words of a box as packed counts (:mod:`talk`). Each subject counts once."""
    return tally({subject for word in names for subject in _subjects(word)})


@lru_cache(maxsize=16384)
def _subjects(word: str) -> tuple[int, ...]:
    """Return the numbers of the subjects of a word.

    The results are cached, because the class names of new sites consist of words seen before.
    """
    return tuple([place for place, (_, pattern) in enumerate(_PATTERNS) if pattern.search(word)])


def _told_around(box: Box, sums: dict[Box, int]) -> int:
    """Return packed counts of the subjects of a box and its ancestors. ``sums`` is a cache."""
    # A loop, not recursion: broken pages nest their elements hundreds of levels deep.
    chain: list[Box] = []
    above: Box | None = box
    while above is not None and above not in sums:
        chain.append(above)
        above = above.parent
    total = sums[above] if above is not None else 0
    for inner in reversed(chain):
        total += _told(inner.words)
        sums[inner] = total
    return total


def _start(text: str) -> float:
    """Return a number for the kind of the first character, such as a capital or a digit."""
    sign = text[0]
    if sign.isupper():
        return 1.0
    if sign.islower():
        return 2.0
    return 3.0 if sign.isdigit() else 4.0 if sign in "\"“«„‘'–—-" else 0.0


def _numbers(values: list[float] | list[int] | list[bool]) -> Numbers:
    return np.asarray(values, np.float32)


_COUNTED: dict[str, Callable[[str], float]] = {
    "start": _start,
    "commas": lambda text: len(_COMMA.findall(text)),
    "digits": lambda text: sum(map(str.isdigit, text[:200])) / len(text[:200]),
    "capitals": lambda text: sum(map(str.isupper, text[:200])) / len(text[:200]),
    "sentences": lambda text: len(_SENTENCE.findall(text)),
    "foreign": foreign_kind,
    "dated": lambda text: len(text) <= 120 and bool(_DATE.search(text)),
    "copyright": lambda text: "©" in text,
    "address": lambda text: bool(_ADDRESS.search(text)),
    "bar": lambda text: bool(_BAR.search(text)),
    "asks": lambda text: "?" in text,
}
