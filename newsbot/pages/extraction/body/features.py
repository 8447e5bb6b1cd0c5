"""Computes features of each piece of a page from its text, the boxes around it, its place and its neighbours.

The features do not depend on the words of a language. They are sizes, links, tags, names in the markup,
places, and words that the piece shares with the headline. All sums are sums of whole numbers, and each share
is computed by one division. Therefore the values are the same on every machine.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from newsbot.pages.extraction.body.pieces import OTHER_TAG, REGIONS, SUBJECTS, Pieces, tag_number
from newsbot.pages.text.words import key, size, squash, words

Numbers = NDArray[np.int64]
Marks = NDArray[np.bool_]
Columns = dict[str, NDArray[Any]]

_LEVELS = ("kind", "box", "above1", "above2", "above3")
"""Five ways to group pieces: by the kind of their box, by their box, and by the box one to three steps above
it."""
_PROSE = 40
"""Minimum number of letters of a piece of prose. Less than half of the letters may be in links."""
_SURE = 60
"""Minimum number of letters of a piece that is certainly prose.

Such a piece must also end a sentence and have few links.
"""
_WORTH = 25
"""Minimum score of a piece that counts for its box.

The score is its number of letters minus twice its number of letters in links.
"""
_STEM = 5
"""Number of letters at the start of a word that are compared. The rest may be an ending."""
_CAPTION = 60
"""Number of letters at the start of a piece that are compared with the descriptions of pictures."""
_LEAST_COPY = 1000
"""Minimum length of a piece that may be a copy of the whole text."""
_MOST_COPIES = 5
"""Maximum number of possible copies that are checked. The longest pieces are checked."""
_START = 40
"""Number of letters at the start of a piece that are searched for in a possible copy."""
_MOST_STARTS = 500
"""Maximum number of pieces whose starts are searched for in a possible copy."""
_FROM_HEADLINE = (
    "pieces_since", "letters_since", "prose_since", "other_headlines", "common_up", "common_down",
)  # fmt: skip
_LONG = 400
"""If its score is higher than this, a piece counts for its own box, and not only for the boxes above it.

A text with ``<br>`` instead of paragraphs is all in one box.
"""
FAR = 50
"""The number of steps that stands for a box that is not around the piece."""
_NO_HEADLINE = -999
"""Value of the headline's features on a page without a headline."""
_MOST_STEPS = 40
"""Maximum value of a distance between two pieces. Larger distances are reduced to this value."""
_TITLE = (10, 300)
"""Minimum and maximum number of letters of a headline."""
_HEAD = 60
"""Number of letters at the start of a piece in which digits and capitals are counted."""
_LOOKED_AT = 1000
"""Number of letters at the start of a piece that are searched for signs and words."""
# Signs at the end of a sentence (also in Chinese and Japanese), with closing quotes or brackets.
_END = re.compile(r"[.!?…。！？»”\"'’)]\s{0,2}$")
_SENTENCE = re.compile(r"[.!?…。][\s\"»”]")
_COMMA = re.compile("[,，、]")
# 14:05, 14.05 or a year from 1900 to 2099
_DATE = re.compile(r"\b\d{1,2}[:.]\d\d\b|\b(?:19|20)\d\d\b")
_ADDRESS = re.compile(r"@|http|www\.")
# Separators in menus and paths: "News | Sport", "Home > Sport", "Home / Sport".
_BAR = re.compile(r"[|»>]|/ ")
_SHORT_LINE = 120


@dataclass(frozen=True, slots=True)
class Known:
    """What the page states about its article outside of the text."""

    titles: frozenset[str] = frozenset()
    """Keys (``words.key``) of the titles in the head and of the headings."""
    description: str = ""
    stated: str = ""
    """The text in the structured data, one paragraph per line."""
    headline: str = ""
    title_tag: str = ""
    site: frozenset[str] = frozenset()
    """Names of the site without spaces: parts of its host, and its ``og:site_name``."""
    authors: frozenset[str] = frozenset()
    """Keys of the authors' names."""


class View:
    """The pieces of one page as arrays with one entry per piece."""

    def __init__(self, pieces: Pieces, known: Known) -> None:
        texts, tree = pieces.texts, pieces.tree
        self.pieces, self.known = pieces, known
        self.scores: Numbers | None = None
        """The result of :func:`newsbot.pages.extraction.body.text.judge`, which stores it here."""
        self.count = len(texts)
        self.length = np.array([size(text) for text in texts], np.int64)
        letters = np.array([len(text) for text in texts], np.int64)
        linked = np.array(pieces.linked, np.int64)
        # A Chinese character counts as three in ``length`` and as one in ``letters``. So the length in links
        # is computed from the share of letters in links.
        self.linked: Numbers = self.length * linked // letters
        self.link_share = linked / letters
        self.strong_share = np.array(pieces.strong, np.int64) / letters
        self.ends: Marks = np.array([_END.search(text[-4:]) is not None for text in texts], np.bool_)
        self.box = np.array(pieces.boxes, np.int64)
        self.parent = np.array(tree.parents, np.int64)
        self.box_tag = np.array([tag_number(name) for name in tree.tags], np.int64)
        self.tag: Numbers = self.box_tag[self.box]
        is_prose = (self.length >= _PROSE) & (2 * linked < letters)
        self.prose: Numbers = np.where(is_prose, self.length - self.linked, 0)
        self.all_prose = max(1, int(self.prose.sum()))
        self.prose_before: Numbers = np.cumsum(self.prose)
        above = [self.box]
        # The root is its own parent, so a step from the root stays at the root.
        for _ in range(3):
            above.append(self.parent[above[-1]])
        kinds: dict[str, int] = {}
        kind_of = [kinds.setdefault(kind, len(kinds)) for kind in tree.kinds]
        self.kind: Numbers = np.array(kind_of, np.int64)[self.box]
        self.groups: list[Numbers] = [self.kind, *above]

    @cached_property
    def headline(self) -> int | None:
        """Index of the piece with the headline, None if there is none.

        The headline is the first of these that the page has: an h1 that equals a title of the page, another
        piece that equals a title, any h1.
        """
        titles, first = np.flatnonzero(self.titles), np.flatnonzero(self.tag == tag_number("h1"))
        both = titles[self.tag[titles] == tag_number("h1")]
        chosen = [*both[:1], *titles[:1], *first[:1]]
        return int(chosen[0]) if chosen else None

    @cached_property
    def common(self) -> Numbers:
        """For each box, the innermost box that contains both this box and the headline. If there is no
        headline, it is the root.

        The boxes above this box are around most of the page, so their features are nearly the same for all
        pieces.
        """
        around: set[int] = set()
        box = self.pieces.boxes[self.headline] if self.headline is not None else 0
        # The root is its own parent, so the loop ends there.
        while box not in around:
            around.add(box)
            box = self.pieces.tree.parents[box]
        found: list[int] = []
        for number, parent in enumerate(self.pieces.tree.parents):
            # A parent comes before its boxes, so found[parent] is already computed.
            found.append(number if number in around else found[parent])
        return np.array(found, np.int64)

    @cached_property
    def subjects(self) -> NDArray[np.int16]:
        """Number of boxes that name a subject: one row per box, one column per subject.

        All boxes from the box itself up to :attr:`common` are counted.
        """
        whole = b"".join([one.to_bytes(len(SUBJECTS), "little") for one in self.pieces.tree.around])
        counts = np.frombuffer(whole, np.uint8).reshape(-1, len(SUBJECTS)).astype(np.int16)
        result: NDArray[np.int16] = counts - counts[self.common]
        return result

    @cached_property
    def captions(self) -> frozenset[str]:
        """The starts of the descriptions (``alt``) of the pictures."""
        return frozenset([squash(text[:200])[:_CAPTION] for text in self.pieces.alts])

    @cached_property
    def held_starts(self) -> Numbers:
        """For the longest pieces, the number of other pieces whose start they contain; 0 for all other
        pieces.

        Some pages contain the whole text a second time in one piece.
        """
        texts = self.pieces.texts
        held = np.zeros(self.count, np.int64)
        long = np.flatnonzero(self.length >= _LEAST_COPY)
        if len(long):
            # A dict keeps the order of the texts; a set does not. Below, 1 is subtracted because a piece
            # contains its own start.
            starts = dict.fromkeys(text[:_START] for text in texts if len(text) >= _START)
            for place in long[np.argsort(-self.length[long], kind="stable")][:_MOST_COPIES].tolist():
                held[place] = sum([start in texts[place] for start in islice(starts, _MOST_STARTS)]) - 1
        return held

    @cached_property
    def titles(self) -> Marks:
        """True for pieces that equal a title in the head of the page or a heading."""
        first = {title[0] for title in self.known.titles if title}
        return np.array([self._is_title(text, first) for text in self.pieces.texts], np.bool_)

    def _is_title(self, text: str, first: set[str]) -> bool:
        # ``first`` has the first letters of the titles. Most pieces begin with another letter. For them, no
        # key is computed.
        if not _TITLE[0] < len(text) < _TITLE[1]:
            return False
        return (not text[0].isalnum() or text[0].casefold()[0] in first) and key(text) in self.known.titles

    @cached_property
    def is_open(self) -> Marks:
        """True for pieces that are judged.

        Short links, labels far from any prose, comments and questions about cookies are not judged.
        """
        held = np.bincount(self.groups[3], self.prose).astype(np.int64)
        # True if a group has less than a fiftieth of the prose of the richest group, computed with integers.
        few = 50 * held[self.groups[3]] < held.max()
        links = (self.link_share > 0.9) & (self.length < 80)
        labels = (self.length < 25) & few & ~_IS_LABEL[self.tag]
        foreign = self.subjects[self.box][:, _FOREIGN].any(axis=1)
        result: Marks = ((~links & ~labels) | self.addresses) & ~foreign
        return result

    @cached_property
    def headings(self) -> Marks:
        """True for pieces that are headings."""
        return _IS_HEADING[self.tag]

    @cached_property
    def addresses(self) -> Marks:
        """True for pieces that begin with a written-out URL."""
        return np.array([text.startswith("http") for text in self.pieces.texts], np.bool_)

    @cached_property
    def densest(self) -> int:
        """Number of the box with the most prose; -1 if no box has prose. Text in links lowers the score of a
        box."""
        return int(np.argmax(self.box_scores)) if self.box_scores.max(initial=0) > 0 else -1

    @cached_property
    def box_scores(self) -> Numbers:
        """Amount of prose in each box, including boxes up to two steps below it."""
        worth = self.length - 2 * self.linked
        worth = np.where(worth >= _WORTH, worth, 0)
        # The weights 3, 5 and 3 are for prose in the box itself, in its children (the usual <div><p>) and in
        # its grandchildren.
        total = np.bincount(self.groups[1], 3 * np.where(worth > _LONG, worth, 0), len(self.parent))
        total += np.bincount(self.groups[2], 5 * worth, len(self.parent))
        total += np.bincount(self.groups[3], 3 * worth, len(self.parent))
        return total.astype(np.int64)

    @cached_property
    def stems(self) -> list[str]:
        """The stems of the longer words of the headline."""
        return _stems(self.known.headline)

    @cached_property
    def lowered(self) -> list[str]:
        """The starts of the pieces that are judged, in lower case."""
        rows = np.flatnonzero(self.is_open).tolist()
        return [self.pieces.texts[row][:_LOOKED_AT].casefold() for row in rows]

    @cached_property
    def title_masks(self) -> list[int]:
        """For each judged piece, the :attr:`stems` that it contains, as bits."""
        return [
            sum([1 << number for number, stem in enumerate(self.stems) if stem in text])
            for text in self.lowered
        ]

    @cached_property
    def in_densest(self) -> Marks:
        """True for the pieces inside the densest box, at any depth."""
        return self.steps_to(self.densest)[self.box] < FAR

    def steps_to(self, best: int) -> Numbers:
        """Return the steps from each box up to the box ``best``, or :data:`FAR` for a box outside of
        ``best``."""
        steps: list[int] = []
        for number, parent in enumerate(self.pieces.tree.parents):
            if number == best:
                steps.append(0)
            else:
                steps.append(FAR if not number else min(FAR, steps[parent] + 1))
        return np.array(steps, np.int64)


def columns_of(view: View) -> Columns:
    """Return the features by name, each with one value per piece that is judged."""
    rows = np.flatnonzero(view.is_open)
    found: Columns = {}
    for part in (_itself, _groups, _densest, _places, _headline, _neighbours, _company):
        for name, values in part(view).items():
            found[name] = values.take(rows)
    return found | _boxes(view, rows) | _signs(view, rows)


def _itself(view: View) -> dict[str, NDArray[Any]]:
    pieces = view.pieces
    seen: Counter[str] = Counter()
    earlier = []
    for text in pieces.texts:
        earlier.append(seen[text] > 0)
        seen[text] += 1
    return {
        "length": view.length,
        "linked": view.link_share,
        "strong": view.strong_share,
        "links": np.array(pieces.links),
        "broken": np.array(pieces.broken),
        "pictures": np.minimum(np.array(pieces.pictures), 5),
        "ends": view.ends,
        "tag": view.tag,
        "title": view.titles,
        "holds": view.held_starts,
        "repeated": np.array([seen[text] - 1 for text in pieces.texts]),
        "earlier": np.array(earlier),
    }


def _groups(view: View) -> dict[str, NDArray[Any]]:
    """Return features of the five groups that each piece belongs to."""
    is_sure = view.ends & (view.length >= _SURE) & (view.link_share < 0.3)
    sure = np.where(is_sure, view.length, 0)
    inside = np.where(view.in_densest, view.prose, 0)
    most_inside = max(1, int(inside.sum()))
    columns: dict[str, NDArray[Any]] = {}
    for level, keys in zip(_LEVELS, view.groups, strict=True):
        prose, letters = np.bincount(keys, view.prose), np.maximum(1, np.bincount(keys, view.length))
        count = np.maximum(1, np.bincount(keys))
        for name, values in (
            ("most", prose / max(1, prose.max())),
            ("share", prose / view.all_prose),
            ("linked", np.bincount(keys, view.linked) / letters),
            ("count", count),
            ("mean", letters / count),
            ("sure", np.bincount(keys, sure) / letters),
            ("densest", np.bincount(keys, inside) / most_inside),
        ):
            columns[f"{level}_{name}"] = values[keys]
    return columns


def _densest(view: View) -> dict[str, NDArray[Any]]:
    """Return the distance to the densest box, and the place inside it."""
    scores, inside = view.box_scores, np.where(view.in_densest, view.prose, 0)
    like = np.maximum.reduce([scores[keys] for keys in view.groups[1:4]])
    total = max(1, int(inside.sum()))
    marked = np.flatnonzero(inside > 0)
    return {
        "densest_up": view.steps_to(view.densest)[view.box],
        "densest_like": like / max(1, int(scores.max(initial=0))),
        "densest_of_page": np.full(view.count, total / view.all_prose),
        "densest_place": np.cumsum(inside) / total,
        "densest_next": distance(marked, view.count, ahead=True),
        "densest_last": distance(marked, view.count, ahead=False),
    }


def _places(view: View) -> dict[str, NDArray[Any]]:
    """Return the place of each piece in the page and among its prose."""
    passed = np.cumsum(view.length)
    prose = np.flatnonzero(view.prose > 0)
    return {
        "place": passed / passed[-1],
        "prose_before": view.prose_before / view.all_prose,
        "all_prose": np.full(view.count, view.all_prose),
        "next_prose": distance(prose, view.count, ahead=True),
        "last_prose": distance(prose, view.count, ahead=False),
    }


def _headline(view: View) -> dict[str, NDArray[Any]]:
    """Return the distance from the headline in letters, pieces, and steps between boxes."""
    at = view.headline
    if at is None:
        nothing = np.full(view.count, _NO_HEADLINE)
        return dict.fromkeys(_FROM_HEADLINE, nothing)
    passed = np.cumsum(view.length)
    depths = np.array(view.pieces.tree.depths)
    common = view.common[view.box]
    headline = view.pieces.texts[at]
    others = (view.tag == tag_number("h1")) & np.array(
        [text != headline for text in view.pieces.texts], np.bool_
    )
    return {
        "pieces_since": np.arange(view.count) - at,
        "letters_since": passed - passed[at],
        "prose_since": (view.prose_before - view.prose_before[at]) / view.all_prose,
        "other_headlines": np.cumsum(others) - np.cumsum(others)[at],
        "common_up": depths[view.pieces.boxes[at]] - depths[common],
        "common_down": depths[view.box] - depths[common],
    }


def _company(view: View) -> dict[str, NDArray[Any]]:
    """Return how many words of headline and description each piece has, and if it names site or authors."""
    known, texts = view.known, view.pieces.texts
    rows = np.flatnonzero(view.is_open).tolist()
    lowered, stems, masks = view.lowered, view.stems, view.title_masks
    described = _stems(known.description)
    columns: dict[str, NDArray[Any]] = {
        "titled": _spread(view, rows, [mask.bit_count() for mask in masks]),
        "described": _spread(
            view,
            rows,
            [sum([stem in text for stem in described]) / max(1, len(described)) for text in lowered],
        ),
        "says_site": _spread(
            view, rows, [any(name in text.replace(" ", "") for name in known.site) for text in lowered]
        ),
        "says_author": _spread(view, rows, [any(name in text for name in known.authors) for text in lowered]),
        "captions": _spread(view, rows, [texts[row][:_CAPTION] in view.captions for row in rows]),
    }
    for level, keys in list(zip(_LEVELS, view.groups, strict=True))[:4]:
        # The words of the headline that the pieces of a group contain together, as bits.
        held: dict[int, int] = {}
        own = keys.take(rows).tolist()
        for group, mask in zip(own, masks, strict=True):
            held[group] = held.get(group, 0) | mask
        columns[f"{level}_titled"] = _spread(
            view, rows, [held[group].bit_count() / len(stems) if stems else -1 for group in own]
        )
        for name in ("says_site", "described"):
            letters = np.maximum(1, np.bincount(keys, view.prose))
            columns[f"{level}_{name}"] = (np.bincount(keys, view.prose * columns[name]) / letters)[keys]
    return columns


def _stems(text: str, most: int = 16) -> list[str]:
    """Return stems of the longer words of a text, and pairs of Chinese, Japanese or Korean characters."""
    said = words(text[:_LOOKED_AT])
    stems = [word[:_STEM] for word in said if len(word) >= _STEM]
    pairs = [
        one + other for one, other in pairwise(said) if len(one) == len(other) == 1 and not one.isascii()
    ]
    return list(dict.fromkeys(stems + pairs))[:most]


def _spread(view: View, rows: list[int], values: Sequence[float]) -> NDArray[np.float64]:
    whole = np.zeros(view.count)
    whole[rows] = values
    return whole


def _neighbours(view: View) -> dict[str, NDArray[Any]]:
    """Return lengths, links, ends and kinds of the pieces before and after each piece."""
    columns: dict[str, NDArray[Any]] = {}
    # The forest knows the columns by these names, such as "at-1_length".
    for step in (-3, -2, -1, 1, 2, 3):
        columns[f"at{step}_length"] = _shifted(view.length, step)
        columns[f"at{step}_linked"] = _shifted(view.link_share, step)
        if abs(step) < 3:
            columns[f"at{step}_ends"] = _shifted(view.ends.astype(np.int64), step)
            columns[f"at{step}_same"] = _shifted(view.kind, step) == view.kind
        if abs(step) == 1:
            columns[f"at{step}_tag"] = _shifted(view.tag, step)
            columns[f"at{step}_box"] = _shifted(view.box, step) == view.box
    for reach in (3, 8):
        letters = np.maximum(1, _window(view.length, reach))
        columns[f"within{reach}_prose"] = _window(view.prose, reach) / view.all_prose
        columns[f"within{reach}_linked"] = _window(view.linked, reach) / letters
    return columns


def _boxes(view: View, rows: NDArray[np.intp]) -> dict[str, NDArray[Any]]:
    """Return tags, depth, regions and subjects of the boxes around the pieces at ``rows``."""
    tree = view.pieces.tree
    box = view.box.take(rows)
    columns: dict[str, NDArray[Any]] = {
        "tag_above": view.box_tag[view.parent[box]],
        "depth": np.array(tree.depths)[box],
    }
    regions = np.array(tree.regions)
    # A region that also contains the headline gives no information, because it contains most of the page.
    inside = regions[box] & ~regions[view.common[box]]
    for number, name in enumerate(REGIONS):
        columns[f"in_{name}"] = inside >> number & 1
    subjects = view.subjects[box]
    for number, name in enumerate(SUBJECTS):
        columns[f"names_{name}"] = subjects[:, number]
    return columns


def _signs(view: View, rows: NDArray[np.intp]) -> dict[str, NDArray[Any]]:
    """Return features of the text of the pieces at ``rows``."""
    texts = [view.pieces.texts[row] for row in rows.tolist()]
    starts = [text[:_LOOKED_AT] for text in texts]
    heads = [text[:_HEAD] for text in texts]
    expected = set(" ".join(view.known.titles).split())
    description, stated = view.known.description, view.known.stated
    lines = set(stated.split("\n"))
    columns: dict[str, list[float] | list[int] | list[bool]] = {
        "start": [_start(text[0]) for text in texts],
        "commas": [len(_COMMA.findall(text)) for text in starts],
        "sentences": [len(_SENTENCE.findall(text)) for text in starts],
        "digits": [sum(map(str.isdigit, text)) / len(text) for text in heads],
        "capitals": [sum(map(str.isupper, text)) / len(text) for text in heads],
        "dated": [len(text) <= _SHORT_LINE and _DATE.search(text) is not None for text in starts],
        "copyright": ["©" in text for text in starts],
        "address": [_ADDRESS.search(text) is not None for text in starts],
        "bar": [_BAR.search(text) is not None for text in starts],
        "asks": ["?" in text for text in starts],
        "quoted": [text[0] in _QUOTES or text[-1] in _QUOTES for text in texts],
        "colon": [text.endswith(":") for text in texts],
        "cut": [text.endswith(("...", "…")) for text in texts],
        "like_title": [_shared(text, expected) for text in texts],
        "description": [
            bool(description) and len(text) > 30 and (text[:80] in description or description[:80] in text)
            for text in texts
        ],
        "stated": [
            # -1 means "nothing stated", and 0 means "stated but not found". The trees can distinguish them.
            (2 if text in lines else 1 if text[:50] in stated else 0) if stated else -1
            for text in texts
        ],
        "stated_letters": [len(stated) if stated else -1] * len(texts),
    }
    return {name: np.array(values) for name, values in columns.items()}


def _start(sign: str) -> int:
    if sign.isupper():
        return 1
    if sign.islower():
        return 2
    return 3 if sign.isdigit() else 4 if sign in _QUOTES or sign in "–—-" else 0


def _shared(text: str, expected: set[str]) -> float:
    """Return the share (0 to 1) of a short text's words that are in a title."""
    found = set(words(text)) if len(text) < _TITLE[1] and expected else ()
    return len(expected.intersection(found)) / len(found) if found else 0.0


def distance(marked: NDArray[np.intp], count: int, *, ahead: bool) -> Numbers:
    """Return the steps from each place to the next marked place (``ahead``) or to the previous one."""
    places = np.arange(count)
    if not len(marked):
        return np.full(count, _MOST_STEPS)
    if ahead:
        rank = np.searchsorted(marked, places, "right")
        steps = np.append(marked, count + _MOST_STEPS)[rank] - places
    else:
        rank = np.searchsorted(marked, places, "left")
        steps = places - np.insert(marked, 0, -_MOST_STEPS)[rank]
    return np.minimum(steps, _MOST_STEPS)


def _shifted(values: NDArray[np.generic], step: int) -> NDArray[np.generic]:
    """Return, for each place, the value ``step`` places after it (before it if negative). The result is -1
    beyond the ends."""
    result = np.full(len(values), -1, values.dtype)
    if abs(step) < len(values):
        if step > 0:
            result[:-step] = values[step:]
        else:
            result[-step:] = values[:step]
    return result


def _window(values: Numbers, reach: int) -> Numbers:
    """Return, for each place, the sum of the values from ``reach`` places before it to ``reach`` after it."""
    # A sum over a window is the difference of two sums from the start.
    sums = np.concatenate(([0], np.cumsum(values)))
    places = np.arange(len(values))
    return sums[np.minimum(places + reach + 1, len(values))] - sums[np.maximum(places - reach, 0)]


_FOREIGN = [list(SUBJECTS).index(name) for name in ("comment", "cookies")]
"""Subjects of boxes that never belong to the article."""
_QUOTES = "\"'“”«»„‘’"
_TAG_NUMBERS = np.arange(OTHER_TAG + 1)
# np.isin() is slow, so it is called once for all tags.
_IS_HEADING = np.isin(_TAG_NUMBERS, [tag_number(f"h{level}") for level in range(1, 7)])
_IS_LABEL = np.isin(_TAG_NUMBERS, [tag_number(name) for name in ("h1", "h2", "h3", "h4", "blockquote")])
