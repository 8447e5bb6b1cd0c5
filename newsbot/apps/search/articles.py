"""Searches stored articles. The index finds their keys, and the storage returns the articles.

The key of an article is the fingerprint of its canonical URL. A *snippet* is a short part of the text around
the matches, which are between ``[`` and ``]``.

A *rising* word occurs in a significantly larger share of articles now than before. "Today" means the last 24
hours. Candidates are the words of today's titles. The share of today's articles with a word is compared with
the share in the 30 days before, by the log-likelihood ratio of two proportions (T. Dunning, "Accurate methods
for the statistics of surprise and coincidence", Computational Linguistics 19(1), 1993). For both periods, a
random sample of articles is read. An article has a word if its title or its text contains the word's stem.
Three kinds of words are excluded without a word list:

* Words of a single site: for each word, the site that has it most often today is not counted.
* Words that return each week, such as names of days: a word must also have risen compared with the same day
  of the previous weeks.
* Dates and amounts: words with a character that is not a letter are not counted.

An article counts only for its strongest word. Otherwise ten words of one event would fill the list.

Each search first updates the index for a short time. ``scrapy serve`` updates it continuously. Only one
process writes at a time, while it holds a lock on a file beside the index. The operating system releases the
lock when the process ends, even if the process is killed.
"""

from __future__ import annotations

import fcntl
import re
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property, partial
from itertools import accumulate, islice
from math import log
from pathlib import Path
from statistics import NormalDist
from typing import Any, Protocol

from newsbot.apps.followers.following import Follower
from newsbot.apps.operations.verdict import Sign, State
from newsbot.apps.search.events import event_key
from newsbot.apps.search.index import Conditions, Counts, FirstReport, Generation, Row, Sampled, SearchIndex
from newsbot.apps.search.query import (
    FORM,
    NO_LABELS,
    POST,
    Hit,
    Labels,
    Mark,
    Query,
    Tagged,
    describe,
    expression,
    expression_of,
    open_labels,
    parse,
    ranking,
    stems_of,
)
from newsbot.backends import data_folder, present_rules, stored
from newsbot.cli.terminal import counted
from newsbot.config.settings import SettingsLike
from newsbot.errors import RecordBusy
from newsbot.items import Article, ArticleFilter
from newsbot.pages.rules.load import PresentRules
from newsbot.pages.text.words import placed_stems, stemming
from newsbot.storage.articles import Change, Changes
from newsbot.storage.base import Storage
from newsbot.urls import fingerprint

# --- the changes of the storage
AT_ONCE = 500
"""Maximum number of changes that are read and written in one batch."""
IN_BULK = 4
"""Number of batches that are written together if there is no time limit. Each batch writes most pages of the
file, because most stems are in it."""
_LOOK = 0.02
"""Seconds between two checks whether another process is still updating the index."""
Tell = Callable[[int], None]
"""A function that is called with the number of articles written so far."""


class Library(Protocol):
    """The part of :class:`newsbot.storage.articles.Articles` that searches use."""

    def with_keys(self, keys: Sequence[bytes]) -> dict[bytes, Article]:
        """Return articles by key. Unknown keys are left out."""

    def newest(self, where: ArticleFilter | None = None, *, limit: int) -> list[Article]:
        """Return the newest articles that match."""

    def iter(self, where: ArticleFilter | None = None) -> Iterator[Article]:
        """Stream the articles that match."""

    def count(self, where: ArticleFilter | None = None) -> int:
        """Return the number of matching articles."""

    def changes_after(self, cursor: str) -> int:
        """Return approximately how many changes come after a cursor."""

    def changes_since(self, cursor: str = "", limit: int = AT_ONCE) -> Changes:
        """Return at most ``limit`` changes since a cursor. An empty cursor is before the first change."""


class IndexFollower(Follower):
    """Writes changes to one index (:class:`newsbot.apps.followers.following.Follower`)."""

    def __init__(self, path: Path, labels: Labels = NO_LABELS) -> None:
        """``path`` is the file of the index."""
        self._path, self._labels = path, labels
        self._lock = path.with_suffix(".lock")

    @cached_property
    def _index(self) -> SearchIndex:
        """The index. SQLite allows only the thread that opens a file to use it."""
        return SearchIndex(self._path, self._labels)

    def position(self) -> str:
        """Return the position of the index that is being built, or of the only one.

        An index with other labels is rebuilt from the first change.
        """
        target = self._index.generations()[-1]
        return "" if self._is_outdated(target) else target.cursor

    def take(self, changes: Changes) -> None:
        """Write changes to the index, unless another process is updating it."""
        with _locked(self._lock) as mine:
            if mine:
                for _ in self._write(self._index.generations()[-1], changes):
                    pass

    def close(self) -> None:
        """Close the index."""
        if "_index" in vars(self):
            self._index.close()

    def _is_outdated(self, target: Generation) -> bool:
        return target.labels != self._labels.version()

    def _write(self, target: Generation, changes: Changes) -> Iterator[int]:
        """Write one batch to a generation. Yield the number of changes, and 0 after each step of merging."""
        # the index is of another storage, or was made with other labels
        if (changes.restarted and target.cursor) or self._is_outdated(target):
            self._index.keep_active()
            self._index.begin()
            return
        # the cursor can move without a change, for example from empty to the beginning of the numbering
        if changes.found or changes.cursor != target.cursor:
            found = [(one.fingerprint, one.article) for one in changes.found]
            # If another process has written in the meantime, the cursor is read again.
            if not self._index.take(target, found, changes.cursor):
                return
            while self._index.merge(target.number):
                yield 0  # the caller can stop between two steps of merging
        yield len(changes.found)
        if len(changes.found) < AT_ONCE and not target.active:
            self._index.activate(target.number)


class Updater(IndexFollower):
    """Writes the changes of one storage to one index. An index of another storage is rebuilt."""

    def __init__(self, index: SearchIndex, source: Library) -> None:
        super().__init__(index.path, index.labels)
        self._index = index
        self._source = source

    def follow(self, seconds: float | None = None, tell: Tell = lambda _number: None) -> bool:
        """Write changes to the index for at most ``seconds`` (None: until all are written).

        Return True if the index is complete. ``tell`` is called after each batch. If another process is
        updating the index, wait for it. With a time limit, do not wait for a process that rebuilds the index,
        because this can take many minutes.
        """
        give_up = None if seconds is None else time.monotonic() + seconds
        while True:
            with _locked(self._lock) as mine:
                if mine:
                    for written in accumulate(self._steps(in_bulk=give_up is None)):
                        tell(written)
                        if _over(give_up):
                            return self.is_current()
                    return True
            if self.is_current():
                return True
            if _over(give_up) or (give_up is not None and self._is_remade()):
                return False
            time.sleep(_LOOK)

    def remake(self, tell: Tell = lambda _number: None) -> bool:
        """Rebuild the index. Searches use the old index until the new one is complete.

        Return False if nothing was done because another process is updating the index.
        """
        with _locked(self._lock) as mine:
            if mine:
                self._index.keep_active()
                self._index.begin()
                for written in accumulate(self._steps(in_bulk=True)):
                    tell(written)
        return mine

    def change(self, work: Callable[[], None]) -> bool:
        """Call ``work``, which changes files of the index. Return False if another process is writing."""
        with _locked(self._lock) as mine:
            if mine:
                work()
        return mine

    def is_current(self) -> bool:
        """Return True if the active index has all changes of the storage."""
        known = self._index.generations()
        if len(known) != 1 or self._is_outdated(known[0]):  # the index is being rebuilt, or has to be
            return False
        changes = self._source.changes_since(known[0].cursor, 1)
        # If the numbering was restarted, the storage was replaced. An index with an empty cursor is new and
        # not outdated.
        return not changes.found and not (changes.restarted and known[0].cursor)

    def waiting(self) -> int:
        """Return approximately how many changes the active index does not have yet."""
        if self.is_current():
            return 0
        # The index of another storage must be rebuilt, even if that storage has no articles.
        return max(1, self._source.changes_after(self._index.generations()[0].cursor))

    def _is_remade(self) -> bool:
        return len(self._index.generations()) > 1

    def _steps(self, *, in_bulk: bool) -> Iterator[int]:
        """Write batches until the index is complete. Yield the number of changes in each batch."""
        at_once = AT_ONCE * IN_BULK if in_bulk else AT_ONCE
        if in_bulk:
            self._index.use_memory()
        while True:
            target = self._index.generations()[-1]  # the generation being built, or the only one
            changes = self._source.changes_since(target.cursor, at_once)
            yield from self._write(target, changes)
            outdated = (changes.restarted and target.cursor) or self._is_outdated(target)
            if target.active and not changes.found and not outdated:
                return


def _over(moment: float | None) -> bool:
    return moment is not None and time.monotonic() >= moment


@contextmanager
def _locked(path: Path) -> Iterator[bool]:
    """Try to take the lock. Yield True if this process holds it within the block."""
    # "a" creates the file and does not change it. The lock applies to the open file, so the content of the
    # file does not matter.
    with path.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True


# --- searches
Strength = Callable[[str, int], float]
"""A function that returns the log-likelihood ratio of a stem. The second argument is the number of today's
articles that have the stem."""
DAY = timedelta(days=1)
DAYS = 30
"""Number of previous days that today is compared with."""
SAMPLED = 2_000
"""Maximum number of today's articles in the sample. The sample of the days before is three times as large."""
CHANCE = 0.01
"""Maximum probability that the list contains a word that rose by chance. For the test of a single word, it is
divided by the number of words (Bonferroni correction)."""


@dataclass(frozen=True, slots=True)
class Rise:
    """A rising stem."""

    stem: str
    share: float
    """Share of today's articles with the stem, 0 to 1."""
    before: float
    """Share of the articles of the days before with the stem, 0 to 1."""
    likelihood: float
    """The log-likelihood ratio, -2 ln λ."""
    keys: tuple[bytes, ...]
    """Keys of today's articles that have this stem and no stronger rising stem, newest first."""


def rising(index: SearchIndex, now: datetime, limit: int) -> list[Rise]:
    """Return the ``limit`` stems that rose most within the 24 hours before ``now``, strongest first.

    This reads at most 8,000 articles from the index. To choose them, it reads the keys of all articles.
    """
    today = index.sample(now - DAY, now, SAMPLED)
    before = index.sample(now - (DAYS + 1) * DAY, now - DAY, 3 * SAMPLED)
    # The same 24 hours in each of the previous weeks. Today's articles are not included, because now - moment
    # is at least a day.
    week = [one for one in before if (now - one.moment) % timedelta(weeks=1) < DAY]
    return risen(today, before, week, limit)


def risen(
    today: Sequence[Sampled], before: Sequence[Sampled], week: Sequence[Sampled], limit: int
) -> list[Rise]:
    """Return the ``limit`` stems that rose most, strongest first. The list is empty if there are no articles.

    ``today`` and ``before`` are the samples that are compared. ``week`` has the articles of ``before`` that
    were published on the same weekday as today.
    """
    if not today or not before:
        return []
    counts = Counter(stem for one in today for stem in one.stems if stem.isalpha())
    past, same_days = (Counter(stem for one in some for stem in one.stems) for some in (before, week))
    # -2 ln λ has a chi-squared distribution with one degree of freedom. The square of a normal variable has
    # the same distribution.
    needed = NormalDist().inv_cdf(1 - CHANCE / max(1, len(counts)) / 2) ** 2

    def strength(stem: str, number: int) -> float:
        return min(
            likelihood(number, len(today), past[stem], len(before)),
            likelihood(number, len(today), same_days[stem], len(week)) if week else float("inf"),
        )

    titles = Counter(stem for one in today for stem in one.title)
    # If sites or articles are left out, the strength of a stem can only fall. So weak stems are dropped here.
    strong = {stem: n for stem, n in titles.items() if strength(stem, counts[stem]) > needed}
    rest, found = list(today), list[Rise]()
    while len(found) < limit and (best := _strongest(rest, strong, strength, needed)) is not None:
        stem, value = best
        # The articles of this stem are taken out, so the next stem must be strong without them.
        having = [one for one in rest if stem in one.stems]
        rest = [one for one in rest if stem not in one.stems]
        keys = tuple(one.key for one in sorted(having, key=lambda one: one.moment, reverse=True))
        share, earlier = counts[stem] / len(today), past[stem] / len(before)
        found.append(Rise(stem, share, earlier, value, keys))
    return found


def likelihood(number: int, of: int, past: int, of_past: int) -> float:
    """Return the log-likelihood ratio -2 ln λ of two shares: ``number`` / ``of`` and ``past`` / ``of_past``.

    Return 0 if the first share is not higher than the second. This is Dunning's formula in the form of the
    G-test: twice the sum of observed * ln(observed / expected).
    """
    if not of or not of_past or number / of <= past / of_past:
        return 0.0
    together = (number + past) / (of + of_past)
    parts = (
        (number, of * together),
        (past, of_past * together),
        (of - number, of * (1 - together)),
        (of_past - past, of_past * (1 - together)),
    )
    return 2 * sum(seen * log(seen / expected) for seen, expected in parts if seen)


def _strongest(
    articles: Sequence[Sampled], titles: Mapping[str, int], strength: Strength, needed: float
) -> tuple[str, float] | None:
    """Return the strongest stem of these articles and its strength. Return None if no stem exceeds
    ``needed``.

    For each stem, the site that has it most often is not counted. ``titles`` has the number of titles with
    each candidate stem. If two stems are equally strong, the stem in more titles is returned.
    """
    sites: dict[str, Counter[str]] = {}
    for one in articles:
        for stem in one.stems & titles.keys():
            sites.setdefault(stem, Counter())[one.site] += 1
    # max(of.values()) is subtracted to leave out the site that has the stem most often
    values = {stem: strength(stem, of.total() - max(of.values())) for stem, of in sites.items()}
    best = max(values, key=lambda stem: (values[stem], titles[stem], stem), default=None)
    return None if best is None or values[best] <= needed else (best, values[best])


WIDTH = 200
"""Approximate length of a snippet in characters. Words are not cut."""
_MAX_MATCHES = 1000  # matches of a text that are checked to find the best position
_BEFORE = 40  # characters shown before the first match
_WORD_END = 30  # characters by which a cut may move to keep a word whole

_Match = tuple[str, int, int]


def snippet(title: str, text: str, wanted: frozenset[str], language: str = "") -> str:
    """Return the part of ``text`` that contains the largest number of different stems of ``wanted``.

    If the text has none of these stems, the title is used. If the title contains none of them either, the
    beginning of the text is used. ``language`` is the language for stemming, see
    :func:`newsbot.pages.text.words.stemming`.
    """
    for shown in (text, title):
        matches = list(
            islice((match for match in placed_stems(shown, language) if match[0] in wanted), _MAX_MATCHES)
        )
        if matches:
            return _cut(shown, _best(_in_words(shown, matches) or matches))
    return _cut(text or title, [])


def _in_words(text: str, matches: list[_Match]) -> list[_Match]:
    """Return the matches without single letters from the middle of another word.

    In scripts without spaces each letter is a stem. A letter belongs to the query's word only beside another
    match.
    """
    starts, ends = {first for _, first, _ in matches}, {after for _, _, after in matches}

    def is_part(first: int, after: int) -> bool:
        beside = text[max(0, first - 1) : first] + text[after : after + 1]
        return (
            after - first == 1 and first not in ends and after not in starts and any(map(str.isalpha, beside))
        )

    return [match for match in matches if not is_part(match[1], match[2])]


def _best(matches: list[_Match]) -> list[_Match]:
    """Return the matches that fit into a snippet and have the largest number of different stems.

    If several places have the same number of different stems, the matches of the first place are returned.
    """
    best: list[_Match] = []
    most = 0
    last = 0
    # This is a sliding window. ``last`` never moves back, so each match is visited only a few times.
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
    start = _edge(text, matches[0][1] - _BEFORE if matches else 0, 1)
    end = _edge(text, max(start + WIDTH, matches[-1][2] if matches else 0), -1)
    parts: list[str] = []
    place = start
    for _, first, after in matches:
        parts += text[place:first], "[", text[first:after], "]"
        place = after
    parts.append(text[place:end])
    shown = " ".join("".join(parts).split())
    return f"{'…' if start > 0 else ''}{shown}{'…' if end < len(text) else ''}"


def _edge(text: str, place: int, step: int) -> int:
    """Return the place of a cut, moved to the right (``step`` 1) or to the left (-1) to the end of a word.

    The place moves by less than _WORD_END, because texts without spaces have no word end.
    """
    if not 0 < place < len(text):
        return min(max(place, 0), len(text))
    limit = min(place + _WORD_END, len(text)) if step > 0 else max(place - _WORD_END, 0)
    for near in range(place, limit, step):
        if text[near - (step > 0)].isspace():
            return near
    return place


MAX_OPENING = 280
"""Maximum number of characters of an opening."""


def opening(text: str) -> str:
    """Return the first sentences of a text, or the first words of a long sentence."""
    start = " ".join(text[: 4 * MAX_OPENING].split())
    if len(start) <= MAX_OPENING:
        return start
    cut = start[: MAX_OPENING + 1]
    ends = [found.end() for found in _SENTENCE_END.finditer(cut)]
    if ends and ends[-1] > MAX_OPENING / 3:
        return cut[: ends[-1]]
    return cut.rpartition(" ")[0].rstrip(" ,;:") + " …" if " " in cut else cut[:MAX_OPENING] + "…"


_SENTENCE_END = re.compile(r"([.!?…][\"”»’)]?)(?=\s)|([。！？])")


MAX_IN_EVENT = 500
"""Maximum number of articles of an event that a query with ``event:`` reads. After that, all articles of
their stories are added."""
READ_FOR_WORD = 5
"""Maximum number of articles that are read to find the most frequent written form of a stem."""
CATCH_UP_SECONDS = 0.5
"""Maximum number of seconds for which a search updates the index before it searches."""


LOOKED_BACK = 30
"""Number of days for which matches are counted if no date is given."""
MAX_DAYS = 366
"""Maximum number of days for which matches are counted."""
MAX_COMPARED = 4
"""Maximum number of queries that are compared."""


@dataclass(frozen=True, slots=True)
class Followed:
    """The number of matches of one query, by day."""

    query: str
    counts: Counts
    notes: list[str]
    """Notes for the user: the parts of the query that were corrected."""


@dataclass(frozen=True, slots=True)
class Attention:
    """The number of matches of several queries, by day."""

    days: list[str]
    """All days of the period as YYYY-MM-DD (UTC), oldest first."""
    articles: list[int]
    """The number of all articles of each day."""
    queries: list[Followed]

    def numbers(self, one: Followed) -> list[int]:
        """Return the number of matches on each of :attr:`days`."""
        return [one.counts.days.get(day, 0) for day in self.days]

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield a row for each day and query: day, query, matches, all articles, share of all articles."""
        for day, every in zip(self.days, self.articles, strict=True):
            for one in self.queries:
                number = one.counts.days.get(day, 0)
                share = round(number / every, 6) if every else 0.0
                yield {"day": day, "query": one.query, "articles": number, "of": every, "share": share}


@dataclass(frozen=True, slots=True)
class RisingTerm:
    """A word that a larger share of articles has now than before."""

    word: str
    """The most frequent written form of the word."""
    share: float
    """Share of the articles of the last 24 hours that have the word, 0 to 1."""
    before: float
    """Share of the articles of the 30 days before that have the word, 0 to 1."""


class ArticleSearch(Updater):
    """Full-text search over one storage, with the index file at ``path``. Only one thread may use an object.

    ``tagged`` returns the domains of the sites with a tag, and ``labels`` finds the labels of articles.
    Methods raise subclasses of :class:`newsbot.errors.DataError` if the index or the storage cannot be used.
    """

    def __init__(
        self,
        path: Path,
        library: Library,
        tagged: Tagged = lambda _tag: (),
        labels: Labels = NO_LABELS,
    ) -> None:
        super().__init__(SearchIndex(path, labels), library)
        self._tagged = tagged

    def find(
        self,
        query: str,
        where: ArticleFilter | None = None,
        *,
        limit: int = 20,
        skip: int = 0,
        by_time: bool = True,
        patience: float = CATCH_UP_SECONDS,
    ) -> list[Hit]:
        """Return the articles that match a query (see :mod:`newsbot.apps.search.query`) and a filter.

        The newest articles come first. Without ``by_time``, the newest 5,000 matches are sorted by BM25
        score. A blank query matches every article, the newest first. A query that is not blank but contains
        no word matches nothing. Only one article of each story is returned, unless the query or the filter
        names a story. The first ``skip`` results are left out. ``limit`` is the maximum number of results.

        The index is first updated for at most ``patience`` seconds. If this time is not enough, the newest
        articles are not found yet.
        """
        where, parsed = where or ArticleFilter(), self._parsed(query)
        if limit <= 0 or (parsed.empty and not parsed.blank):
            return []
        if parsed.blank:
            newest = self._source.newest(replace(where, posts=False), limit=skip + limit)
            return [Hit(one, snippet(one.title, one.text, frozenset()), 0.0) for one in newest[skip:]]
        self._catch_up(patience)
        languages = self._index.languages()  # after the update, which can add a language
        asked = self._asked(parsed, where, languages)
        by_time = by_time or not any(parsed.terms())
        # The index returns batches lazily: another batch is read only if too many rows were filtered out.
        rows = (self._index.newest if by_time else self._index.best)(asked, skip + limit)
        found = _between(self._present(rows), asked.since, asked.until)
        if where.story is None and parsed.story is None:
            found = _one_of_each_story(found)
        stems = stems_of(parsed, languages)
        return [self._hit(article, stems, row.score) for row, article in islice(found, skip, skip + limit)]

    def counts(
        self, query: str, where: ArticleFilter | None = None, *, patience: float = CATCH_UP_SECONDS
    ) -> Counts:
        """Return how many articles match a query, by day, site and language.

        All articles of a story are counted. A blank query matches every article.
        """
        parsed = self._parsed(query)
        if parsed.empty and not parsed.blank:
            return Counts(0, {}, {}, {})
        self._catch_up(patience)
        return self._index.counts(self._asked(parsed, where or ArticleFilter(), self._index.languages()))

    def label_counts(self, query: str, where: ArticleFilter, field: str) -> dict[str, int]:
        """Return how many of the newest matches have each label of a field, by the title of the label.

        A blank query matches every article.
        """
        parsed = self._parsed(query)
        if parsed.empty and not parsed.blank:
            return {}
        self._catch_up(CATCH_UP_SECONDS)
        found = self._index.label_counts(self._asked(parsed, where, self._index.languages()), field)
        return {self._labels.fields[field].title(label): number for label, number in found.items()}

    def every(self, query: str, where: ArticleFilter) -> Iterator[Article]:
        """Yield all articles that match a query that is not blank, newest first."""
        parsed = self._parsed(query)
        if not parsed.empty:
            asked = self._asked(parsed, where, self._index.languages())
            rows = self._present(self._index.newest(asked, AT_ONCE))
            yield from (article for _, article in _between(rows, asked.since, asked.until))

    def attention(self, queries: Sequence[str], where: ArticleFilter, now: datetime) -> Attention:
        """Return the number of matches of several queries by day (UTC).

        The period is given by ``where``; the default is the last LOOKED_BACK days before ``now``. Only the
        first MAX_COMPARED queries and the last MAX_DAYS days are counted.
        """
        end = (min(where.until, now) if where.until else now).astimezone(UTC)
        begin = (where.since or end - timedelta(days=LOOKED_BACK - 1)).astimezone(UTC)
        last = (end - timedelta(microseconds=1)).date()  # until midnight does not include the next day
        first = max(begin.date(), last - timedelta(days=MAX_DAYS - 1))
        days = [str(first + timedelta(days=place)) for place in range((last - first).days + 1)]
        followed = [
            Followed(query, self.counts(query, where), self.explain(query, found=True))
            for query in queries[:MAX_COMPARED]
        ]
        written = Conditions(expression_of(Mark(FORM, POST, (POST,)), ()), since=begin, until=end)
        known, posts = self._index.days(), self._index.counts(written).days
        return Attention(days, [known.get(day, 0) - posts.get(day, 0) for day in days], followed)

    def rising(self, now: datetime, limit: int) -> list[RisingTerm]:
        """Return at most ``limit`` rising words, strongest first. :func:`rising` finds them.

        A word is left out if it no longer occurs in any of the articles that are read for it.
        """
        found = []
        for one in rising(self._index, now, limit):
            articles = self._source.with_keys(one.keys[:READ_FOR_WORD]).values()
            if word := _written(one.stem, articles):
                found.append(RisingTerm(word, one.share, one.before))
        return found

    def explain(self, query: str, *, found: bool) -> list[str]:
        """Return notes for the user on the parts of a query that were corrected.

        If nothing was ``found``, the notes also say how the query was understood, and which parts match no
        article.
        """
        parsed = self._parsed(query)
        if found or parsed.empty:
            return [*parsed.notes, *([] if found or parsed.blank else ["the query has no words"])]
        understood = [describe(one) for one in parsed.parts()]
        dates = (("since", parsed.since), ("until", parsed.until))
        understood += [f"{name}:{moment:%Y-%m-%dT%H:%MZ}" for name, moment in dates if moment]
        whole = (("story", parsed.story), ("event", parsed.event))
        understood += [f"{name}:{value}" for name, value in whole if value]
        languages = self._index.languages()
        # Each part is searched alone and without dates. A part that matches nothing is probably misspelled.
        alone = [(one, Conditions(expression_of(one, languages))) for one in parsed.parts()]
        missing = [describe(one) for one, asked in alone if not self._index.total(asked)]
        lines = [*parsed.notes, f"understood as: {' AND '.join(understood)}"]
        if missing:
            return [*lines, f"no article has {', '.join(missing)}; look for another spelling, or write word*"]
        return [
            *lines,
            "each part matches articles, but no article matches all parts, dates and filters; remove some",
        ]

    def events_of(self, articles: Iterable[Article]) -> dict[str, str]:
        """Return the id of each article's event, by canonical URL. See :mod:`newsbot.apps.search.events`.

        All articles of a story have the same event. Articles that are not indexed yet are left out.
        """
        # Stories can be joined after their articles were indexed, so the first article of the story decides.
        keys = {one.canonical_url: (event_key(one.story or ""), _key(one)) for one in articles}
        known = self._index.events_of({key for both in keys.values() for key in both})
        found = {url: known.get(story) or known.get(own) for url, (story, own) in keys.items()}
        return {url: event for url, event in found.items() if event}

    def in_event(self, event: str, limit: int) -> list[Article]:
        """Return the first ``limit`` articles of an event, oldest first.

        Articles that were removed, or that moved to another event with their story, are left out.
        """
        keys = self._index.members(event, limit)
        found = self._source.with_keys(keys)
        articles = [found[key] for key in keys if key in found]
        events = self.events_of(articles)  # a story that was joined later can have another event
        return [one for one in articles if events.get(one.canonical_url) == event]

    def known_languages(self) -> list[str]:
        """Return the languages of the indexed articles; see :meth:`SearchIndex.known_languages`."""
        return self._index.known_languages()

    def first_reports(self, since: datetime, until: datetime) -> list[FirstReport]:
        """Return each site's first article on each event in ``since <= moment < until``.

        Before that, the index is updated as for a search. See :meth:`SearchIndex.first_reports`.
        """
        self._catch_up(CATCH_UP_SECONDS)
        return self._index.first_reports(since, until)

    def months_of(self, period: str) -> list[str]:
        """Return the months of a year (``2024``) or the month (``2024-05``) that the index has."""
        return self._index.months_of(period)

    def change_months(self, months: Sequence[str], folder: Path | None) -> bool:
        """Move the files of months to a folder, or delete these months from the index if it is None.

        Return False if nothing was done because another process is writing the index.
        """
        if folder is None:
            return self.change(partial(self._index.drop_months, months))
        return self.change(partial(self._index.move_months, months, folder))

    def interrupt(self) -> None:
        """Make a search in another thread fail with :class:`newsbot.errors.DataError`."""
        self._index.interrupt()

    def _parsed(self, query: str) -> Query:
        return parse(query, self._tagged, self._labels.named)

    def _catch_up(self, patience: float) -> None:
        with suppress(RecordBusy):  # another process is numbering the changes: search the index as it is
            self.follow(patience)

    def _hit(self, article: Article, stems: frozenset[str], score: float) -> Hit:
        story = article.story
        copies = 0 if story is None else self._source.count(ArticleFilter(story=story)) - 1
        shown = snippet(article.title, article.text, stems, stemming(article.language))
        return Hit(article, shown, score, max(0, copies))

    def _asked(self, query: Query, where: ArticleFilter, languages: Sequence[str]) -> Conditions:
        # both periods must match, so the later beginning and the earlier end are used
        since = max(filter(None, (query.since, where.since)), default=None)
        until = min(filter(None, (query.until, where.until)), default=None)
        keys = None
        named = [self._of_story(one) for one in (query.story, where.story) if one]
        for found in (*named, *([self._of_event(query.event)] if query.event else ())):
            keys = list(found if keys is None else found & {*keys})
        ranked = ranking(query, where, languages)
        return Conditions(expression(query, where, languages), ranked, since, until, keys)

    def _of_story(self, story: str) -> set[bytes]:
        """Return the keys of a story's articles from the storage.

        The index cannot return them, because it does not record which stories were joined.
        """
        return {_key(one) for one in self._source.iter(ArticleFilter(story=story))}

    def _of_event(self, event: str) -> set[bytes]:
        members = self.in_event(event, MAX_IN_EVENT)
        stories = {one.story for one in members if one.story}
        return {_key(one) for one in members}.union(*map(self._of_story, stories))

    def _present(self, parts: Iterator[list[Row]]) -> Iterator[tuple[Row, Article]]:
        """Yield rows with their articles. Articles that have changed since they were indexed are left out."""
        for rows in parts:
            articles = self._source.with_keys([row.key for row in rows])
            for row in rows:
                article = articles.get(row.key)
                if article is not None and article.version == row.version:
                    yield row, article


def _key(article: Article) -> bytes:
    return fingerprint(article.canonical_url)


def _between(
    found: Iterator[tuple[Row, Article]], since: datetime | None, until: datetime | None
) -> Iterator[tuple[Row, Article]]:
    """Yield the articles with ``since <= time < until``.

    The index selects articles by row number. The time of a row number can be slightly later than the time of
    its article, so the times are checked here too.
    """
    for row, article in found:
        moment = article.published_at or article.fetched_at
        early = since is not None and (moment is None or moment < since)
        late = until is not None and (moment is None or moment >= until)
        if not early and not late:
            yield row, article


def _one_of_each_story(found: Iterator[tuple[Row, Article]]) -> Iterator[tuple[Row, Article]]:
    seen: set[str] = set()
    for row, article in found:
        # None is never in ``seen``: articles without a story are all shown.
        if article.story not in seen:
            yield row, article
        if article.story is not None:
            seen.add(article.story)


def _written(stem: str, articles: Iterable[Article]) -> str:
    """Return the most frequent written form of a stem; empty if no article has it."""
    forms: Counter[str] = Counter()
    for one in articles:
        text = f"{one.title}\n{one.text}"
        placed = placed_stems(text, stemming(one.language))
        forms.update(text[start:end] for found, start, end in placed if found == stem)
    return max(forms, key=lambda form: (forms[form], form), default="")


SEARCH_FILE = "search.db"
"""Name of the file with the search index in the data folder."""


def open_search(settings: SettingsLike, storage: Storage, rules: PresentRules | None = None) -> ArticleSearch:
    """Open this machine's search index of the articles in ``storage``.

    A query can name tags of ``rules``. By default, the rules are read when a query names a tag. Raises
    :class:`newsbot.errors.DataError`.
    """
    present = rules or present_rules(settings)
    return ArticleSearch(
        data_folder(settings) / SEARCH_FILE,
        storage.articles,
        lambda tag: present.get().tagged(tag),
        open_labels(settings),
    )


@contextmanager
def searching(settings: SettingsLike) -> Iterator[ArticleSearch]:
    """Open the search for a command. Raises the same errors as :func:`newsbot.backends.stored`."""
    with stored(settings, stale=True) as storage, closing(open_search(settings, storage)) as search:
        yield search


def machine_followers(settings: SettingsLike) -> dict[str, Follower]:
    """Return the follower that keeps the search index of this machine up to date, by name."""
    return {"search": IndexFollower(data_folder(settings) / SEARCH_FILE, open_labels(settings))}


INDEXED = 0.99
"""The index counts as complete if it has at least this share of the articles."""


def signs(settings: SettingsLike, storage: Storage) -> Iterator[Sign]:
    """Yield how much of the search index is built, for the verdict on the crawl.

    A machine that never searched has no index, and nothing is missing there.
    """
    if not (data_folder(settings) / SEARCH_FILE).exists():
        return
    with closing(open_search(settings, storage)) as search:
        waiting, articles = search.waiting(), storage.articles.count()
    share = 1 - min(1.0, waiting / articles) if articles else 1.0
    if share < INDEXED:
        text = f"the search index has {share:.0%} of {counted(articles, 'article')}"
        yield Sign(text=text, page="/", state=State.INDEXING)


def matches(
    articles: Mapping[bytes, Article],
    queries: Mapping[str, str],
    tagged: Tagged,
    labels: Labels = NO_LABELS,
) -> dict[str, set[bytes]]:
    """Return the keys of the articles that match each query, by name of the query.

    ``articles`` are given by the fingerprints of their canonical URLs. ``tagged`` returns the sites of a tag,
    and ``labels`` finds the labels of articles.
    """
    if not articles:
        return {name: set() for name in queries}
    with (
        tempfile.TemporaryDirectory(prefix="newsbot-") as folder,
        closing(ArticleSearch(Path(folder) / "search.db", _InMemory(articles), tagged, labels)) as index,
    ):
        index.follow()
        return {
            name: {fingerprint(hit.article.canonical_url) for hit in index.find(query, limit=len(articles))}
            for name, query in queries.items()
        }


class _InMemory:
    """A batch of articles in memory that :class:`ArticleSearch` can index.

    It implements :class:`newsbot.apps.search.articles.Library`.
    """

    def __init__(self, articles: Mapping[bytes, Article]) -> None:
        self._articles = articles

    def changes_since(self, cursor: str = "", limit: int = 500) -> Changes:
        """Return all articles at the first call, and none at later calls."""
        found = [] if cursor else [Change(key, one) for key, one in self._articles.items()]
        # Any text that is not empty can be the cursor after all articles.
        return Changes(found[:limit], "all", restarted=not cursor)

    def with_keys(self, keys: Sequence[bytes]) -> dict[bytes, Article]:
        """Return the articles with these keys."""
        return {key: self._articles[key] for key in keys if key in self._articles}

    def iter(self, where: ArticleFilter | None = None) -> Iterator[Article]:
        """Yield all articles, or only those of the story that the filter names.

        Other filters are not used.
        """
        story = where.story if where else None
        return (one for one in self._articles.values() if story is None or one.story == story)

    def newest(self, where: ArticleFilter | None = None, *, limit: int) -> list[Article]:
        """Return up to ``limit`` articles of a story, in any order."""
        return list(self.iter(where))[:limit]

    def count(self, where: ArticleFilter | None = None) -> int:
        """Return the number of articles of a story."""
        return sum(1 for _ in self.iter(where))

    def changes_after(self, cursor: str) -> int:
        """Return the number of articles for an empty cursor, and 0 for any other cursor."""
        return 0 if cursor else len(self._articles)
