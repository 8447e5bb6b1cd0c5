"""Groups articles that report the same event in different words, in one language, within 48 hours.

A story (:mod:`newsbot.dedup`) consists of copies of one text. An event consists of stories. Articles are
assigned to events when they are indexed, in the order of the storage's changes. The crawl itself stores no
events.

The headline and the beginning of an article become a vector of length 1. It has the stems with the highest
weights by TF-IDF (G. Salton and C. Buckley, "Term-weighting approaches in automatic text retrieval",
Information Processing & Management 24(5), 1988). Names and numbers are rare, so they have high weights. The
vector of an event is the sum of the vectors of its articles, limited to the stems with the highest weights.
An article joins the event with the highest cosine. The cosine is reduced if the event began long ago. If no
event is close enough, the article begins a new event. An article is compared with the sum of all articles of
an event. Therefore a chain of articles in which each is similar only to the next does not become one event.
Further rules:

* An article joins the event of the article that began its story. A new version of an article stays in the
  article's event.
* The names in the article must contribute a part of the cosine. Otherwise the weather forecasts of two places
  would be one event, because they share many common words.
* If the headline names days and the event has other days, the article does not join the event, because it is
  probably another issue of a series.
"""

from __future__ import annotations

import json
import re
import sqlite3
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass
from itertools import accumulate, chain, islice, pairwise
from math import fsum, hypot, log
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from newsbot.connections.sqlite import MAX_KEYS
from newsbot.items import Article, batched
from newsbot.pages.text.names import MONTHS
from newsbot.pages.text.stems import stem, stemming
from newsbot.pages.text.words import tokens

BEGINNING = 1200
"""Number of characters at the beginning of the text that are used."""
IN_TITLE = 3
"""Number of times that each word of the headline is counted. Words of the text are counted once."""
STEMS = 40
"""Maximum number of stems in the vector of an article."""
EVENT_STEMS = 80
"""Maximum number of stems in the vector of an event."""
INDEXED = 10
"""Number of stems of an event that are in the inverted index, and of an article that are looked up in it: the
stems with the highest weights."""
MOST_POSTED = 300
"""Maximum number of events that are compared for one stem. The newest events are compared."""
COMPARED = 8
"""Maximum number of events whose vectors are read and compared with an article."""
NEAR = 0.28
"""The lowest cosine at which an article joins an event."""
NAMES = 0.05
"""The lowest share of the cosine that must come from names, if the article has names."""
WINDOW = 48 * 3600
"""Maximum time in seconds between the first article of an event and its other articles."""
_SPAN = WINDOW
"""Length in seconds of one part of the inverted index. The events that an article can join began in three
parts. With longer parts, fewer rows are read and written, but they are longer."""
HALF = 96 * 3600
"""Half-life of the cosine in seconds, counted from the beginning of the event to the article."""
ASSUMED = 10
"""Number that is added to the number of articles when weights are computed. Without it, the first articles
would have no rare stems."""
_UNIT = 1 << 30
"""Weights are rounded to multiples of ``1 / _UNIT``."""
_ROUNDING = 1e-9
_ENTRY = "<u8"
"""The type of an entry of the inverted index. It is the same on all machines."""
_LOW = (1 << 32) - 1
_HALF = np.uint64(32)
_WITHIN = np.uint64((2 * WINDOW + 1) << 32)
# The word is after a letter or comma and a space ("in Berlin"), or after a quote or bracket („Spiegel“).
_NAME = re.compile(r"[^\W\d_a-zа-яё](?:(?<=[\w,;] .)|(?<= [«„“\"(].))[\w-]+")
"""Matches a word that does not begin a sentence. Most words in lower case are left out."""

TABLES = (
    # The events. ``key`` is the key of the first article, and ``began`` its time in seconds since 1970.
    """CREATE TABLE event_{0} (
        id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, began INTEGER NOT NULL, articles INTEGER NOT NULL,
        days TEXT NOT NULL, vector BLOB NOT NULL
    )""",
    # The inverted index: events by their heaviest stems. The upper half of ``place`` is a period (``_SPAN``),
    # and the lower half is the stem. Rows of one period are neighbours, so an article costs the same in an
    # index of many years. ``events`` has eight bytes for each event: the lower half is its id, and the upper
    # half is its time.
    "CREATE TABLE event_stem_{0} (place INTEGER PRIMARY KEY, events BLOB NOT NULL)",
    # The number of articles that have a stem in their beginning.
    "CREATE TABLE known_{0} (stem INTEGER PRIMARY KEY, articles INTEGER NOT NULL)",
)
TABLE_NAMES = ("event", "event_stem", "known")

Vector = Mapping[int, float]
"""Weights by stem, the highest weight first. Here a stem is a hash of language and text, so that the same
letters in two languages are two stems."""


@dataclass(frozen=True, slots=True)
class Beginning:
    """The data of an article that are used to choose its event."""

    key: bytes
    story: bytes
    """The key of the article that began its story."""
    moment: int
    """Time of publication, or of the fetch if that is unknown, in seconds since 1970."""
    language: int
    """A hash of the language. It is counted like a stem of each article, so that its count is the number of
    articles in the language."""
    counts: Mapping[int, int]
    """Number of occurrences of each stem in the headline and the beginning of the text."""
    names: frozenset[int]
    """The stems of names: capitalized words that do not begin a sentence."""
    days: frozenset[str]
    """The days that the headline names, see :func:`days_in`."""

    @classmethod
    def of(cls, key: bytes, article: Article, moment: int, title: list[str], text: list[str]) -> Beginning:
        """Return the data of an article with this key and time.

        ``title`` and ``text`` are the stems of the headline and of the beginning of the text.
        """
        language = crc32((article.language or "").lower().partition("-")[0].encode())
        words, start = Counter(title * IN_TITLE + text), article.text[: end_of_beginning(article.text)]
        if article.form == "post":  # it has an event of its own, because it has nothing that is compared
            words, start = Counter(), ""
        code = stemming(article.language)
        names = (part for name in _NAME.findall(start) if name[0].isupper() for part in name.split("-"))
        return cls(
            key=key,
            story=event_key(article.story or "") or key,
            moment=moment,
            language=language,
            # the language is the start value of the checksum
            counts={crc32(one.encode(), language): number for one, number in words.items()},
            names=frozenset(crc32(stem(name, code).encode(), language) for name in names),
            days=days_in(article.title if words else ""),
        )


@dataclass(slots=True)
class _Event:
    """A row of the table of events, without its id."""

    key: bytes
    began: int
    articles: int
    days: str
    vector: bytes


def end_of_beginning(text: str) -> int:
    """Return where the beginning of a text ends: after a whole word, if words are separated by spaces."""
    return len(text) if len(text) <= BEGINNING else text.rfind(" ", 0, BEGINNING) + 1 or BEGINNING


def event_key(event: str) -> bytes:
    """Return the key of the article that began the event or story with this id.

    Return empty bytes if ``event`` is not such an id.
    """
    try:
        return bytes.fromhex(event)
    except ValueError:
        return b""


def days_in(headline: str) -> frozenset[str]:
    """Return the days that a headline names, each as month and day.

    A day is a number directly before or after the name of a month.
    """
    found = set()
    for one, other in pairwise(tokens(headline)):
        for number, name in ((one, other), (other, one)):
            if number.isdecimal() and len(number) <= 2 and name in MONTHS:
                found.add(f"{MONTHS[name]}-{int(number)}")
    return frozenset(found)


class Events:
    """The events of one generation of the index (:mod:`newsbot.apps.search.index`). Use it within a
    transaction, for one batch of changes.

    The rows that a batch needs are read together and written together. In between, articles are placed in
    memory, one after the other.
    """

    def __init__(self, database: sqlite3.Connection, number: int) -> None:
        self._database, self._number = database, number
        self._known: dict[int, int] = {}
        self._placed: dict[bytes, int] = {}
        self._of_stories: dict[bytes, int] = {}
        self._events: dict[int, _Event] = {}
        self._posted: dict[int, bytes] = {}
        self._changed: set[int] = set()
        self._reposted: set[int] = set()
        self._last = 0

    def place(
        self, found: Mapping[bytes, Beginning | None], former: Mapping[bytes, int]
    ) -> Mapping[bytes, int]:
        """Choose the events of changed articles. Return the row number of each article's event, by the key of
        the article.

        ``found`` has the articles in the order of the changes, or None for a removed one. ``former`` has the
        events of those articles that were in the index before. The old rows of these articles have already
        been deleted.
        """
        fresh = [one for key, one in found.items() if one is not None and key not in former]
        self._placed = dict(former)  # a new version stays in its event and is not counted again
        self._read_known(fresh)
        vectors = {one.key: self._counted(one) for one in fresh}
        self._read_stories(fresh)
        self._read_posted(place for one in fresh for place in chain(*_places(one, vectors[one.key])))
        (self._last,) = self._rows(f"SELECT ifnull(max(id), 0) FROM event_{self._number}")[0]
        for key, one in found.items():
            if one is None and key in former:
                self._forget(self._placed.pop(key))
            elif one is not None and key not in former:
                self._placed[key] = self._place(one, vectors[key])
        self._store()
        return self._placed

    def drop(self, since: int, until: int) -> None:
        """Remove the events that began in ``since <= began <= until``.

        Entries of the inverted index stay in its first and its last part. They name events that are missing.
        """
        number = self._number
        self._database.execute(
            f"DELETE FROM event_stem_{number} WHERE place BETWEEN ? AND ?",
            ((since // _SPAN + 1) << 32, ((until // _SPAN) << 32) - 1),
        )
        self._database.execute(f"DELETE FROM event_{number} WHERE began BETWEEN ? AND ?", (since, until))

    def _read_known(self, beginnings: Iterable[Beginning]) -> None:
        asked = {one for beginning in beginnings for one in (beginning.language, *beginning.counts)}
        self._known = dict.fromkeys(asked, 0) | dict(
            self._chosen(f"SELECT stem, articles FROM known_{self._number} WHERE stem", asked)
        )

    def _read_stories(self, beginnings: Iterable[Beginning]) -> None:
        """Read the events of stories: of the article that began the story, or if it was removed, of its
        event."""
        keys = {key for one in beginnings for key in (one.story, one.key)}
        for some in batched(keys, MAX_KEYS):
            marks, number = ", ".join("?" * len(some)), self._number
            for query in (
                f"SELECT key, id FROM event_{number} WHERE key IN ({marks})",
                f"SELECT key, event FROM article_{number} WHERE key IN ({marks})",
            ):
                self._of_stories |= dict(self._rows(query, *some))

    def _read_posted(self, places: Iterable[int]) -> None:
        asked = {one for one in places if one not in self._posted}
        if asked:
            query = f"SELECT place, events FROM event_stem_{self._number} WHERE place"
            self._posted |= dict.fromkeys(asked, b"") | dict(self._chosen(query, asked))

    def _read_events(self, events: Iterable[int]) -> None:
        asked = {one for one in events if one not in self._events}
        if asked:
            query = f"SELECT id, key, began, articles, days, vector FROM event_{self._number} WHERE id"
            self._events |= {row[0]: _Event(*row[1:]) for row in self._chosen(query, asked)}

    def _counted(self, one: Beginning) -> Vector:
        """Return the vector of an article, and count its stems."""
        # The vector is computed before the article is counted, so that its stems do not become less rare. The
        # weight of a stem is (1 + ln tf) * ln(N / df). 0.5 is added to df, because it is 0 for a new stem.
        known = self._known
        articles = known[one.language] + ASSUMED + 1
        weights = {
            found: (1 + log(number) if number > 1 else 1.0) * log(articles / (known[found] + 0.5))
            for found, number in one.counts.items()
        }
        vector = _cut(weights, STEMS)
        length = hypot(*vector.values()) or 1.0  # an empty vector has length 0
        for counted in (one.language, *one.counts):
            known[counted] += 1
        return {found: weight / length for found, weight in vector.items()}

    def _place(self, one: Beginning, vector: Vector) -> int:
        event = self._of_story(one) or self._nearest(one, vector)
        if event is None:
            return self._begin(one, vector)
        self._join(event, one, vector)
        return event

    def _of_story(self, one: Beginning) -> int | None:
        if one.story in self._placed:  # articles of this batch are not in the tables yet
            return self._placed[one.story]
        event = self._of_stories.get(one.story) or self._of_stories.get(one.key)
        if event is None:
            return None
        self._read_events([event])
        return event if event in self._events else None  # its last article may have been removed just now

    def _nearest(self, one: Beginning, vector: Vector) -> int | None:
        # The inverted index has no weights. So events are first ranked by the weights that the shared stems
        # have in the article. For the best events, vectors are read and the exact cosine is computed.
        since = one.moment - WINDOW
        posted = [
            _newest(b"".join([self._posted[place] for place in places]), since)
            for places in _places(one, vector)
        ]
        # The weight is squared. The event's weight is unknown, so the article's weight is used for both. Sums
        # of integers are exact, so that all machines choose the same events.
        squares = [round(weight**2 * _UNIT) for weight in islice(vector.values(), INDEXED)]
        entries = _from(b"".join(posted), since)
        inside = entries < _WITHIN
        weights = np.repeat(np.array(squares, np.uint64), [len(some) // 8 for some in posted])[inside]
        best = _heaviest(np.sort(entries[inside] << _HALF | weights)) if weights.size else []
        self._read_events(best)
        found = [event for event in best if event in self._events]
        cosines = _near(vector, [self._events[event].vector for event in found])
        closest, nearest = NEAR, None
        for event, about in zip(found, cosines, strict=True):
            began, days = self._events[event].began, self._events[event].days
            # Both headlines name days, but they have no day in common.
            if about < NEAR or (one.days and days and one.days.isdisjoint(days.split())):
                continue
            cosine = _cosine(one, vector, self._events[event].vector)
            cosine *= 0.5 ** (abs(one.moment - began) / HALF)
            if cosine > closest:
                closest, nearest = cosine, event
        return nearest

    def _begin(self, one: Beginning, vector: Vector) -> int:
        self._last += 1
        days = " ".join(sorted(one.days))
        self._events[self._last] = _Event(one.key, one.moment, 1, days, _packed(vector))
        self._changed.add(self._last)
        self._post(self._last, one.moment, (), vector)
        return self._last

    def _join(self, number: int, one: Beginning, vector: Vector) -> None:
        self._read_events([number])
        event = self._events[number]
        before = _unpacked(event.vector)
        together = {found: before.get(found, 0.0) + vector.get(found, 0.0) for found in {**before, **vector}}
        after = _cut(together, EVENT_STEMS)
        event.articles += 1
        event.days = event.days or " ".join(sorted(one.days))
        event.vector = _packed(after)
        self._changed.add(number)
        self._post(number, event.began, before, after)

    def _forget(self, number: int) -> None:
        """Remove an article from an event. The event is removed with its last article.

        The vector of the event is not changed, because the vector of the removed article is not stored.
        """
        self._read_events([number])
        event = self._events[number]
        event.articles -= 1
        self._changed.add(number)
        if event.articles < 1:
            self._post(number, event.began, _unpacked(event.vector), ())
            del self._events[number]
            self._database.execute(f"DELETE FROM event_{self._number} WHERE id = ?", (number,))

    def _post(self, event: int, began: int, before: Iterable[int], after: Iterable[int]) -> None:
        """Update the inverted index after a change of an event.

        ``before`` and ``after`` are the stems of the event before and after the change, highest weight first.
        """
        old, new = (
            {_place_of(began // _SPAN, one) for one in islice(stems, INDEXED)} for stems in (before, after)
        )
        entry = np.array([(began & _LOW) << 32 | event], _ENTRY)
        self._read_posted(old ^ new)
        self._reposted |= old ^ new
        for place in new - old:
            self._posted[place] += entry.tobytes()
        for place in old - new:
            entries = np.frombuffer(self._posted[place], _ENTRY)
            self._posted[place] = entries[entries != entry].tobytes()

    def _store(self) -> None:
        number = self._number
        self._write(f"INSERT OR REPLACE INTO known_{number} VALUES (?, ?)", self._known.items())
        changed = ((one, *astuple(self._events[one])) for one in self._changed & self._events.keys())
        self._write(
            f"INSERT INTO event_{number} (id, key, began, articles, days, vector) VALUES (?, ?, ?, ?, ?, ?)"
            " ON CONFLICT (id) DO UPDATE"
            " SET articles = excluded.articles, days = excluded.days, vector = excluded.vector",
            changed,
        )
        name = f"event_stem_{number}"
        empty = {place for place in self._reposted if not self._posted[place]}
        posted = ((place, self._posted[place]) for place in self._reposted - empty)
        self._write(f"DELETE FROM {name} WHERE place = ?", ((place,) for place in empty))
        self._write(f"INSERT OR REPLACE INTO {name} VALUES (?, ?)", posted)

    def _rows(self, query: str, *values: object) -> list[Any]:
        return self._database.execute(query, values).fetchall()

    def _chosen(self, query: str, values: Iterable[int]) -> Iterable[Any]:
        """Return the rows of a query that ends with the name of a column that has one of ``values``."""
        # one JSON value, because SQLite limits the number of parameters
        return self._rows(f"{query} IN (SELECT value FROM json_each(?))", json.dumps([*values]))

    def _write(self, query: str, rows: Iterable[tuple[Any, ...]]) -> None:
        # sorted, so that neighbouring rows of the table are written together
        self._database.executemany(query, sorted(rows))


def _place_of(span: int, stem: int) -> int:
    return span << 32 | stem


def _places(one: Beginning, vector: Vector) -> list[list[int]]:
    """Return for each stem that is looked up the rows of the inverted index that can have near events."""
    spans = range((one.moment - WINDOW) // _SPAN, (one.moment + WINDOW) // _SPAN + 1)
    return [[_place_of(span, stem) for span in spans] for stem in islice(vector, INDEXED)]


def _from(entries: bytes, since: int) -> NDArray[np.uint64]:
    """Return entries with the time counted from ``since``. Earlier times become very large numbers."""
    return np.frombuffer(entries, _ENTRY) - np.uint64((since & _LOW) << 32)


def _newest(entries: bytes, since: int) -> bytes:
    """Return the newest MOST_POSTED entries of a stem that are near enough; all if there are not more."""
    if len(entries) <= 8 * MOST_POSTED:
        return entries
    near = _from(entries, since)
    near = np.sort(near[near < _WITHIN])[-MOST_POSTED:]
    return (near + np.uint64((since & _LOW) << 32)).astype(_ENTRY).tobytes()


def _heaviest(sums: NDArray[np.uint64]) -> list[int]:
    """Return the COMPARED events with the highest sums of weights, the highest first.

    ``sums`` has an event in the upper half of each number, and a weight in the lower half. It is sorted.
    """
    events = sums >> _HALF
    firsts = np.ones(len(events), bool)
    np.not_equal(events[1:], events[:-1], out=firsts[1:])
    starts = firsts.nonzero()[0]
    shared = np.add.reduceat(sums & np.uint64(_LOW), starts).astype(np.int64)
    # a stable sort, so the older one of two equal events is first
    order = np.argsort(-shared, kind="stable")[:COMPARED]
    return [int(event) for event in events[starts[order]]]


def _near(vector: Vector, packed: Sequence[bytes]) -> list[float]:
    """Return an upper bound of :func:`_cosine` of an article and each event.

    It differs from the cosine by rounding only, unless names contribute too little.
    """
    if not packed:
        return []
    halves = [len(one) // 2 for one in packed]
    stems = np.frombuffer(b"".join([one[:half] for one, half in zip(packed, halves, strict=True)]), np.uint32)
    weights = np.frombuffer(
        b"".join([one[half:] for one, half in zip(packed, halves, strict=True)]), np.float32
    ).astype(np.float64)
    own = np.array(sorted(vector), np.uint32)
    places = np.searchsorted(own, stems)
    own_weights = np.array([vector[one] for one in sorted(vector)])
    shared = np.where(
        own.take(places, mode="clip") == stems, own_weights.take(places, mode="clip") * weights, 0.0
    )
    starts = np.array([0, *accumulate(halves[:-1])]) // 4
    lengths = np.sqrt(np.add.reduceat(weights * weights, starts))
    return [float(one) for one in np.add.reduceat(shared, starts) / lengths + _ROUNDING]


def _cut(weights: Mapping[int, float], number: int) -> Vector:
    # Among few articles, most weights are equal. Equal weights are sorted by stem, so that two articles with
    # the same stems keep the same ones.
    heaviest = sorted(sorted(weights), key=weights.__getitem__, reverse=True)[:number]
    return {one: weights[one] for one in heaviest}


def _cosine(one: Beginning, vector: Vector, event: bytes) -> float:
    """Return the cosine of an article and an event. Return 0 if names contribute too little to it.

    ``event`` is the packed vector. The article's vector has length 1, so the product is divided only by the
    length of the event's vector.
    """
    stems, weights = _halves(event)
    shared = [
        (found, vector[found] * weight)
        for found, weight in zip(stems, weights, strict=True)
        if found in vector
    ]
    # fsum() is exact, so the order of the stems does not matter.
    total = fsum([product for _, product in shared])
    if one.names and fsum([product for found, product in shared if found in one.names]) < NAMES * total:
        return 0.0
    return total / (hypot(*weights) or 1.0)


def _packed(vector: Vector) -> bytes:
    """Return a vector as bytes: all stems, then all weights, four bytes each."""
    return array("I", vector).tobytes() + array("f", vector.values()).tobytes()


def _halves(packed: bytes) -> tuple[array[int], array[float]]:
    half = len(packed) // 2
    return array("I", packed[:half]), array("f", packed[half:])


def _unpacked(packed: bytes) -> dict[int, float]:
    return dict(zip(*_halves(packed), strict=True))
