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
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise, product
from math import fsum, hypot, log
from typing import Any
from zlib import crc32

from newsbot.items import Article
from newsbot.pages.text.names import MONTHS
from newsbot.pages.text.words import stem, stemming, tokens

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
"""Maximum number of events that are read for one stem from one part of the inverted index. The newest events
are read."""
COMPARED = 8
"""Maximum number of events whose vectors are read and compared with an article."""
NEAR = 0.28
"""The lowest cosine at which an article joins an event."""
NAMES = 0.05
"""The lowest share of the cosine that must come from names, if the article has names."""
WINDOW = 48 * 3600
"""Maximum time in seconds between the first article of an event and its other articles."""
_SPAN = 8 * WINDOW
"""Length in seconds of one part of the inverted index. The events that an article can join began in one part
or in two. Each part is searched for each stem, so most articles should need only one."""
HALF = 96 * 3600
"""Half-life of the cosine in seconds, counted from the beginning of the event to the article."""
ASSUMED = 10
"""Number that is added to the number of articles when weights are computed. Without it, the first articles
would have no rare stems."""
_UNIT = 1 << 30
"""Weights are rounded to multiples of ``1 / _UNIT``."""
# The word is after a letter or comma and a space ("in Berlin"), or after a quote or bracket („Spiegel“).
_NAME = re.compile(r"[^\W\d_a-zа-яё](?:(?<=[\w,;] .)|(?<= [«„“\"(].))[\w-]+")
"""Matches a word that does not begin a sentence. Most words in lower case are left out."""

TABLES = (
    # The events. ``key`` is the key of the first article, and ``began`` its time in seconds since 1970.
    """CREATE TABLE event_{0} (
        id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, began INTEGER NOT NULL, articles INTEGER NOT NULL,
        days TEXT NOT NULL, vector BLOB NOT NULL
    )""",
    # The inverted index: events by their heaviest stems. Rows of one period (``_SPAN``) are neighbours, so an
    # article costs the same in an index of many years.
    """CREATE TABLE event_stem_{0} (
        span INTEGER, stem INTEGER, began INTEGER, event INTEGER, PRIMARY KEY (span, stem, began, event)
    ) WITHOUT ROWID""",
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
    transaction."""

    def __init__(self, database: sqlite3.Connection, number: int) -> None:
        self._database, self._number = database, number
        self._known: dict[int, int] = {}
        self._placed: dict[bytes, int] = {}

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
        for key, one in found.items():
            if one is None and key in former:
                self._forget(self._placed.pop(key))
            elif one is not None and key not in former:
                self._placed[key] = self._place(one)
        self._write(f"INSERT OR REPLACE INTO known_{self._number} VALUES (?, ?)", self._known.items())
        return self._placed

    def drop(self, since: int, until: int) -> None:
        """Remove the events that began in ``since <= began <= until``."""
        number = self._number
        self._database.execute(
            f"DELETE FROM event_stem_{number} WHERE span BETWEEN ? AND ? AND began BETWEEN ? AND ?",
            (since // _SPAN, until // _SPAN, since, until),
        )
        self._database.execute(f"DELETE FROM event_{number} WHERE began BETWEEN ? AND ?", (since, until))

    def _read_known(self, beginnings: Iterable[Beginning]) -> None:
        asked = {one for beginning in beginnings for one in (beginning.language, *beginning.counts)}
        rows = self._database.execute(
            f"SELECT stem, articles FROM known_{self._number} WHERE stem IN (SELECT value FROM json_each(?))",
            (json.dumps(sorted(asked)),),
        )
        self._known = dict.fromkeys(sorted(asked), 0) | dict(rows)

    def _place(self, one: Beginning) -> int:
        # The vector is computed before the article is counted, so that its stems do not become less rare.
        vector = self._vector(one)
        for counted in (one.language, *one.counts):
            self._known[counted] += 1
        event = self._of_story(one) or self._nearest(one, vector)
        if event is None:
            return self._begin(one, vector)
        self._join(event, one, vector)
        return event

    def _vector(self, one: Beginning) -> Vector:
        # The weight of a stem is (1 + ln tf) * ln(N / df). 0.5 is added to df, because it is 0 for a new
        # stem.
        articles = self._known[one.language] + ASSUMED + 1
        weights = {
            found: (1 + log(number) if number > 1 else 1.0) * log(articles / (self._known[found] + 0.5))
            for found, number in one.counts.items()
        }
        vector = _cut(weights, STEMS)
        length = hypot(*vector.values()) or 1.0  # an empty vector has length 0
        return {found: weight / length for found, weight in vector.items()}

    def _of_story(self, one: Beginning) -> int | None:
        if one.story in self._placed:  # articles of this batch are not in the tables yet
            return self._placed[one.story]
        number = self._number
        found = self._one(
            f"SELECT event FROM article_{number} WHERE key = ?1"  # if that article was removed:
            f" UNION ALL SELECT id FROM event_{number} WHERE key IN (?1, ?2)",
            *(one.story, one.key),
        )
        return None if found is None else int(found[0])

    def _nearest(self, one: Beginning, vector: Vector) -> int | None:
        # The inverted index has no weights. So events are first ranked by the weights that the shared stems
        # have in the article. For the best events, vectors are read and the exact cosine is computed.
        since, until = one.moment - WINDOW, one.moment + WINDOW
        places = [*product(sorted({since // _SPAN, until // _SPAN}), list(vector)[:INDEXED])]
        if not places:
            return None
        posted = (
            f"SELECT * FROM (SELECT event, ? AS weight FROM event_stem_{self._number}"
            " WHERE span = ? AND stem = ? AND began BETWEEN ? AND ?"
            f" ORDER BY began DESC, event DESC LIMIT {MOST_POSTED})"
        )
        values: list[int] = []
        for span, found in places:
            # The weight is squared. The event's weight is unknown, so the article's weight is used for both.
            # Sums of integers are exact, so that all machines choose the same events.
            values += (round(vector[found] ** 2 * _UNIT), span, found, since, until)
        events = self._database.execute(
            f"SELECT event.began, days, vector, id FROM"
            f" (SELECT event, sum(weight) AS shared FROM ({' UNION ALL '.join([posted] * len(places))})"
            f" GROUP BY event ORDER BY shared DESC, event LIMIT {COMPARED})"
            f" JOIN event_{self._number} AS event ON event.id = event ORDER BY shared DESC, event",
            values,
        )
        best, nearest = NEAR, None
        for began, days, packed, event in events:
            # Both headlines name days, but they have no day in common.
            if one.days and days and one.days.isdisjoint(days.split()):
                continue
            cosine = _cosine(one, vector, packed) * 0.5 ** (abs(one.moment - began) / HALF)
            if cosine > best:
                best, nearest = cosine, event
        return nearest

    def _begin(self, one: Beginning, vector: Vector) -> int:
        (event,) = self._one(
            f"INSERT INTO event_{self._number} (key, began, articles, days, vector) VALUES (?, ?, 1, ?, ?)"
            " RETURNING id",
            *(one.key, one.moment, " ".join(sorted(one.days)), _packed(vector)),
        )
        self._post(event, one.moment, (), vector)
        return int(event)

    def _join(self, event: int, one: Beginning, vector: Vector) -> None:
        began, days, packed = self._read(event)
        before = _unpacked(packed)
        together = {found: before.get(found, 0.0) + vector.get(found, 0.0) for found in {**before, **vector}}
        after = _cut(together, EVENT_STEMS)
        self._database.execute(
            f"UPDATE event_{self._number} SET articles = articles + 1, days = ?, vector = ? WHERE id = ?",
            (days or " ".join(sorted(one.days)), _packed(after), event),
        )
        self._post(event, began, before, after)

    def _forget(self, event: int) -> None:
        """Remove an article from an event. The event is removed with its last article.

        The vector of the event is not changed, because the vector of the removed article is not stored.
        """
        number = self._number
        self._database.execute(f"UPDATE event_{number} SET articles = articles - 1 WHERE id = ?", (event,))
        if self._one(f"SELECT 1 FROM event_{number} WHERE id = ? AND articles < 1", event):
            began, _days, packed = self._read(event)
            self._post(event, began, _unpacked(packed), ())
            self._database.execute(f"DELETE FROM event_{number} WHERE id = ?", (event,))

    def _post(self, event: int, began: int, before: Iterable[int], after: Iterable[int]) -> None:
        """Update the inverted index after a change of an event.

        ``before`` and ``after`` are the stems of the event before and after the change, highest weight first.
        """
        old, new = (
            {(began // _SPAN, one, began, event) for one in list(stems)[:INDEXED]}
            for stems in (before, after)
        )
        name = f"event_stem_{self._number}"
        self._write(f"DELETE FROM {name} WHERE span = ? AND stem = ? AND began = ? AND event = ?", old - new)
        self._write(f"INSERT INTO {name} VALUES (?, ?, ?, ?)", new - old)

    def _read(self, event: int) -> tuple[int, str, bytes]:
        began, days, packed = self._one(
            f"SELECT began, days, vector FROM event_{self._number} WHERE id = ?", event
        )
        return began, days, packed

    def _one(self, query: str, *values: object) -> Any:
        return self._database.execute(query, values).fetchone()

    def _write(self, query: str, rows: Iterable[tuple[int, ...]]) -> None:
        # sorted, so that neighbouring rows of the table are written together
        self._database.executemany(query, sorted(rows))


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
