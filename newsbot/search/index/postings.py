"""Which terms stand in which articles, how often and where, as arrays.

An article is a number within its segment, in the order of time, the newest first. Positions of a title
are 0 to 249, those of a text begin at 256, so that a phrase cannot run from one into the other. Marks
(site, language) and words of authors are terms of their own, with a sign before them that no word has.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

import numpy as np
import numpy.typing as npt

from newsbot.search.index.entry import Entry

TEXT_BEGINS = 256
MAX_TITLE = 250
MAX_POSITION = 0xFFFF
"""Words farther behind are found, but not in phrases."""
MAX_COUNT = 255
"""Places of a word in one article that are kept."""
_TITLE_SHIFT, _MAX_IN_TITLE, _MAX_IN_TEXT = 5, 7, 31
ONLY_TITLE = _MAX_IN_TITLE << _TITLE_SHIFT
"""The bits of a weight that tell of the title."""
_AUTHORS_APART = 8

Ints = npt.NDArray[Any]
_SIGN = "\x01"
SITE, LANGUAGE, AUTHOR = f"{_SIGN}s", f"{_SIGN}l", f"{_SIGN}a"


@dataclass(frozen=True, slots=True)
class Postings:
    """Sorted by term (in the order of ``terms``), then by article."""

    terms: list[bytes]
    term: Ints
    """Of each posting, the place of its term in ``terms``."""
    doc: Ints
    """The article (uint16)."""
    weight: Ints
    """How often it has the term (uint8): three bits for the title, five for the rest."""
    count: Ints
    """How many places are kept (uint8)."""
    position: Ints
    """All places, those of the first posting first (uint16)."""


def in_title(weight: Ints) -> Ints:
    """Return how often the title has the term."""
    return weight >> _TITLE_SHIFT


def in_text(weight: Ints) -> Ints:
    """Return how often the rest has the term."""
    return weight & _MAX_IN_TEXT


def postings_of(entries: Sequence[Entry], only: frozenset[str] | None = None) -> Postings:
    """Return the postings of articles, which are numbered as they come; of all terms or ``only`` some."""
    numbers: defaultdict[str, int] = defaultdict(count().__next__)
    term: list[int] = []
    place: list[Ints] = []
    plain = [word for word in only or () if word[0] != _SIGN]
    for doc, entry in enumerate(entries):
        words, positions = _placed(entry) if only is None else _sought(entry, only, plain)
        if not words:
            continue
        term += map(numbers.__getitem__, words)
        place.append(positions | doc << 16)
    names = [name.encode() for name in numbers]
    order = sorted(range(len(names)), key=names.__getitem__)
    rank = np.empty(len(names), np.int64)
    rank[order] = np.arange(len(names))
    places = np.concatenate(place) if place else np.empty(0, np.int64)
    keys = np.sort(rank[np.array(term, np.int64)] << 32 | places)
    return _from_keys([names[number] for number in order], keys[_firsts(keys)])


def _placed(entry: Entry) -> tuple[list[str], Ints]:
    """All terms of an article as they stand, and where."""
    title, text = entry.title.split()[:MAX_TITLE], entry.text.split()
    words, positions = _marked(entry)
    in_text = np.minimum(np.arange(TEXT_BEGINS, TEXT_BEGINS + len(text)), MAX_POSITION)
    places = np.concatenate([np.array(positions, np.int64), np.arange(len(title)), in_text])
    return [*words, *title, *text], places


def _sought(entry: Entry, only: frozenset[str], plain: Sequence[str]) -> tuple[list[str], Ints]:
    """The same of ``only`` some terms, of which ``plain`` are words of titles and texts.

    Most articles have none of them: their words are not told apart.
    """
    marked, places = _marked(entry)
    chosen = [number for number, word in enumerate(marked) if word in only]
    words, positions = [marked[number] for number in chosen], [places[number] for number in chosen]
    for field, begins, most in ((entry.title, 0, MAX_TITLE), (entry.text, TEXT_BEGINS, None)):
        likely = [word for word in plain if word in field]
        split = field.split()[:most] if likely else []
        for word in likely:
            found = _all_places(split, word)
            words += [word] * len(found)
            positions += [min(begins + place, MAX_POSITION) for place in found]
    return words, np.array(positions, np.int64)


def _all_places(words: list[str], word: str) -> list[int]:
    found: list[int] = []
    with suppress(ValueError):
        place = -1
        while True:
            place = words.index(word, place + 1)
            found.append(place)
    return found


def _marked(entry: Entry) -> tuple[list[str], list[int]]:
    """The marks of an article and the words of its authors, and where these stand."""
    words = [SITE + entry.source, *([LANGUAGE + entry.language] if entry.language else [])]
    positions = [0] * len(words)
    position = 0
    for author in entry.authors.split(",") if entry.authors else ():
        for word in author.split():
            words.append(AUTHOR + word)
            positions.append(min(position, MAX_POSITION))
            position += 1
        position += _AUTHORS_APART
    return words, positions


def _firsts(values: Ints) -> Ints:
    """Where a value of a sorted array stands for the first time."""
    new = np.ones(len(values), bool)
    np.not_equal(values[1:], values[:-1], out=new[1:])
    return np.flatnonzero(new)


def _from_keys(terms: list[bytes], keys: Ints) -> Postings:
    """``keys``: term, article and position in one number, sorted, each once."""
    first = _firsts(keys >> 16)
    pairs = keys[first] >> 16
    counts = np.diff(np.append(first, len(keys)))
    nth = np.arange(len(keys)) - np.repeat(first, counts)
    positions = (keys & 0xFFFF).astype(np.uint16)
    owner = np.repeat(np.arange(len(pairs)), counts)
    title = np.bincount(owner[positions < TEXT_BEGINS], minlength=len(pairs))
    marks = np.fromiter((name[:1] == b"\x01" for name in terms), bool, len(terms))
    term = (pairs >> 16).astype(np.int32)
    title[marks[term]] = 0
    weight = np.minimum(title, _MAX_IN_TITLE) << _TITLE_SHIFT | np.minimum(counts - title, _MAX_IN_TEXT)
    return Postings(
        terms,
        term,
        (pairs & 0xFFFF).astype(np.uint16),
        weight.astype(np.uint8),
        np.minimum(counts, MAX_COUNT).astype(np.uint8),
        positions[nth < MAX_COUNT],
    )


def joined(parts: Iterable[Postings]) -> Postings:
    """Return the postings of several parts as one; no article may have a term in two of them."""
    some = list(parts)
    known: dict[bytes, int] = {}
    for part in some:
        for name in part.terms:
            known.setdefault(name, len(known))
    names = sorted(known)
    rank = {name: number for number, name in enumerate(names)}
    maps = [np.fromiter((rank[name] for name in part.terms), np.int64, len(part.terms)) for part in some]
    term = np.concatenate([own[part.term] for own, part in zip(maps, some, strict=True)])
    doc = np.concatenate([part.doc for part in some])
    order = np.argsort(term << 16 | doc, kind="stable")
    count = np.concatenate([part.count for part in some])
    return Postings(
        names,
        term[order].astype(np.int32),
        doc[order],
        np.concatenate([part.weight for part in some])[order],
        count[order],
        gathered(np.concatenate([part.position for part in some]), count, order),
    )


def gathered(values: Ints, counts: Ints, order: Ints) -> Ints:
    """Return runs of ``values`` (the n-th has ``counts[n]``, which is never 0) in the given order of runs."""
    if not len(order):
        return values[:0]
    sizes = counts[order].astype(np.int64)
    starts = (np.cumsum(counts, dtype=np.int64) - counts)[order]
    ends = np.cumsum(sizes)
    steps = np.ones(int(ends[-1]), np.int64)  # summed: the place of each value
    steps[0] = starts[0]
    steps[ends[:-1]] = starts[1:] - starts[:-1] - sizes[:-1] + 1
    found: Ints = values[np.cumsum(steps)]
    return found


def repeated(values: Ints, counts: Ints) -> Ints:
    """Return each of ascending ``values`` as often as ``counts`` says, which is never 0 (uint32).

    As ``np.repeat`` does in three times the time.
    """
    if not len(values):
        return np.empty(0, np.uint32)
    ends = np.cumsum(counts, dtype=np.int64)
    steps = np.zeros(int(ends[-1]), np.uint32)  # summed: the values
    steps[0] = values[0]
    steps[ends[:-1]] = np.diff(values)
    return np.cumsum(steps, dtype=np.uint32)


def chosen_of(postings: Postings, kept: Ints) -> Postings:
    """Return some of the postings; terms that none is left of go too."""
    term = postings.term[kept]
    places = _firsts(term)
    having = np.diff(np.append(places, len(term)))
    return Postings(
        [postings.terms[number] for number in term[places].tolist()],
        np.repeat(np.arange(len(places), dtype=np.int32), having),
        postings.doc[kept],
        postings.weight[kept],
        postings.count[kept],
        postings.position[np.repeat(kept, postings.count)],
    )


def replace_docs(postings: Postings, numbers: Ints) -> Postings:
    """Return the postings with other numbers of articles."""
    return replace(postings, doc=numbers[postings.doc])
