"""Categories: learns from texts whether an article is in a category, with a probability.

A text is a vector of its stems: (1 + ln n) · ln(N / df) for a stem that occurs n times, and in df of N texts,
divided by the length of the vector. Logistic regression with an L2 penalty finds a weight for each stem. It
is minimised by Nesterov's accelerated gradient method ("A method of solving a convex programming problem with
convergence rate O(1/k²)", 1983).

The texts are divided into parts, so that all texts of a site are in one part. The texts of each part are
judged with what was learned from the other parts. These judgements give the figures, the threshold and the
probability (J. Platt, "Probabilistic outputs for support vector machines", 1999): they are about sites that
were not seen.

The examples of a category are the articles that its definition names. The other articles of the same sites,
and the examples of other categories, are what does not belong to it. An article of no category may still
belong to the category, because a site files some articles elsewhere: therefore the threshold is chosen with
the examples of all categories, if there are several.

A category is stored as notes: one for the definition, and one for each :data:`_IN_NOTE` stems. The keys of
the latter contain a hash of what was learned, so that nobody reads stems of different times.

The last part of the file has the actions of ``scrapy categories``.
"""

from __future__ import annotations

import heapq
import json
import re
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, field, fields, replace
from hashlib import blake2b
from itertools import chain, count
from math import exp, log, sqrt
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from newsbot.apps.operations.articles import find_article
from newsbot.apps.search.articles import ArticleSearch, open_search
from newsbot.backends import stored
from newsbot.cli.command import Action, Argument, Call
from newsbot.cli.program import PROGRAM
from newsbot.cli.terminal import columns, counted
from newsbot.clock import iso, utc
from newsbot.config.settings import SettingsLike
from newsbot.errors import ArgumentError, DataUnavailable, did_you_mean
from newsbot.items import Article, ArticleFilter, batched
from newsbot.pages.text.words import stemming, stems
from newsbot.storage.base import Storage
from newsbot.storage.notes import Notes
from newsbot.urls import canonicalize, fingerprint

MAX_STEMS = 7_000
"""Maximum number of stems that a model has. The most frequent stems are used."""
PARTS = 10
STEPS = 100
PENALTY = 0.1
THRESHOLDS = tuple(round(0.05 * step, 2) for step in range(1, 20))

Floats = NDArray[np.float64]
Numbers = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Model:
    """What was learned about one category."""

    stems: Mapping[str, tuple[float, float]]
    """Stem -> ln(N / df), and the weight."""
    bias: float
    slope: float
    """The probability is 1 / (1 + exp(-(slope · judgement + offset)))."""
    offset: float
    threshold: float
    """An article with at least this probability is in the category."""

    def probability(self, counts: Mapping[str, int]) -> float:
        """Return the probability that a text is in the category. ``counts`` are its stems."""
        length = total = 0.0
        for stem, number in counts.items():
            if (known := self.stems.get(stem)) is not None:
                value = (1 + log(number)) * known[0]
                length += value * value
                total += value * known[1]
        judgement = self.bias + (total / sqrt(length) if length else 0.0)
        return 1 / (1 + exp(-max(-50.0, min(50.0, self.slope * judgement + self.offset))))


@dataclass(frozen=True, slots=True)
class Figures:
    """The number of articles that were judged rightly and wrongly."""

    right: int = 0
    """Articles of the category that were found."""
    wrong: int = 0
    """Articles that were found, and are not in the category."""
    missed: int = 0
    """Articles of the category that were not found."""

    @property
    def precision(self) -> float:
        """The share of the found articles that are in the category."""
        return self.right / (self.right + self.wrong) if self.right else 0.0

    @property
    def recall(self) -> float:
        """The share of the articles of the category that were found."""
        return self.right / (self.right + self.missed) if self.right else 0.0

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        return 2 * self.right / (2 * self.right + self.wrong + self.missed) if self.right else 0.0


def figures(found: NDArray[np.bool_], wanted: NDArray[np.bool_]) -> Figures:
    """Count the articles that were ``found``, and those that are ``wanted``."""
    return Figures(int((found & wanted).sum()), int((found & ~wanted).sum()), int((~found & wanted).sum()))


class Texts:
    """Texts as vectors: a sparse matrix with a row for each text."""

    def __init__(self, counts: Sequence[Mapping[str, int]]) -> None:
        df = Counter(chain.from_iterable(counts))
        known = sorted((-number, stem) for stem, number in df.items() if number > 1)[:MAX_STEMS]
        self.idf = {stem: log(len(counts) / -number) for number, stem in known}
        self.size = len(counts)
        place = {stem: number for number, stem in enumerate(self.idf)}
        cells = [
            (row, place[stem], (1 + log(number)) * self.idf[stem])
            for row, of in enumerate(counts)
            for stem, number in of.items()
            if stem in place
        ]
        rows, columns, values = zip(*cells, strict=True) if cells else ((), (), ())
        self.rows: Numbers = np.array(rows, np.intp)
        self.columns: Numbers = np.array(columns, np.intp)
        self.values: Floats = np.array(values, np.float64)
        lengths = np.sqrt(_sums(self.rows, self.values**2, self.size))
        self.values /= np.where(lengths > 0, lengths, 1)[self.rows]

    def judged(self, weights: Floats, bias: float) -> Floats:
        """Return the judgement of each text."""
        return _sums(self.rows, self.values * weights[self.columns], self.size) + bias

    def learned(self, wanted: NDArray[np.bool_], used: NDArray[np.bool_]) -> tuple[Floats, float]:
        """Return the weights and the bias that are learned from the ``used`` texts."""
        cells = used[self.rows]
        rows, columns, values = self.rows[cells], self.columns[cells], self.values[cells]
        # Both classes have the same total weight, however rare the category is.
        share = (wanted & used).sum() / used.sum()
        loss = np.where(wanted, 0.5 / share, 0.5 / (1 - share)) * used
        return _minimum(Cells(rows, columns, values), loss, wanted, len(self.idf))


class Cells(NamedTuple):
    """The values of a sparse matrix that are not 0."""

    rows: Numbers
    columns: Numbers
    values: Floats


def _sums(places: Numbers, values: Floats, size: int) -> Floats:
    """Return the sum of the values of each place."""
    found: Floats = np.bincount(places, values, size).astype(np.float64)
    return found


def _minimum(cells: Cells, loss: Floats, wanted: NDArray[np.bool_], size: int) -> tuple[Floats, float]:
    """Return the weights and the bias with the least loss. ``loss`` is the weight of each text."""
    rows, columns, values = cells

    def gradient(errors: Floats) -> Floats:
        return np.append(_sums(columns, values * errors[rows], size), errors.sum())

    def judged(at: Floats) -> Floats:
        return _sums(rows, values * at[columns], len(loss)) + float(at[-1])

    penalty = np.append(np.full(size, PENALTY), 0.0)
    # Power iteration: the largest curvature of the loss limits the length of a step.
    direction, curvature = np.ones(size + 1), 1.0
    for _ in range(20):
        direction = gradient(loss * judged(direction / np.linalg.norm(direction)))
        curvature = float(np.linalg.norm(direction))
    step = 1 / (0.25 * 1.05 * curvature + PENALTY)
    now = ahead = np.zeros(size + 1)
    pace = 1.0
    for _ in range(STEPS):
        errors = loss * (1 / (1 + np.exp(-judged(ahead))) - wanted)
        after = ahead - step * (gradient(errors) + penalty * ahead)
        pace, before = (1 + sqrt(1 + 4 * pace * pace)) / 2, pace
        ahead = after + (before - 1) / pace * (after - now)
        now = after
    return now[:-1], float(now[-1])


@dataclass(frozen=True, slots=True)
class Judged:
    """The texts, each judged with what was learned from other sites."""

    probabilities: Floats
    found: NDArray[np.bool_]
    """The threshold of each part was chosen with the other parts."""


def fit(
    counts: Sequence[Mapping[str, int]],
    wanted: Sequence[bool],
    sites: Sequence[str],
    sure: Sequence[bool],
) -> tuple[Model, Judged]:
    """Learn a category from texts. ``counts`` are their stems, and ``wanted`` says which are in the category.

    ``sure`` says of which texts this is known for sure: the threshold is chosen with them. There must be
    texts in the category and others, and both from at least two parts (:func:`parts_of`).
    """
    texts, truth, known = Texts(counts), np.array(wanted), np.array(sure)
    parts = parts_of(sites, wanted)
    scores = np.zeros(len(truth))
    for part in range(PARTS):
        weights, bias = texts.learned(truth, parts != part)
        scores[parts == part] = texts.judged(weights, bias)[parts == part]
    slope, offset = _calibrated(scores, truth)
    probabilities = 1 / (1 + np.exp(-np.clip(slope * scores + offset, -50, 50)))
    found = np.zeros(len(truth), bool)
    for part in range(PARTS):
        here = parts == part
        found[here] = probabilities[here] >= _threshold(probabilities, truth, known & ~here)
    weights, bias = texts.learned(truth, np.ones(len(truth), bool))
    stems = {
        stem: (round(idf, 3), round(float(weight), 4))
        for (stem, idf), weight in zip(texts.idf.items(), weights, strict=True)
    }
    model = Model(stems, bias, slope, offset, _threshold(probabilities, truth, known))
    return model, Judged(probabilities, found)


def parts_of(sites: Sequence[str], wanted: Sequence[bool]) -> Numbers:
    """Return the part of each text. All texts of a site are in one part, unless there are too few sites.

    The parts get about the same number of texts of the category, and then of other texts.
    """
    inside = {site for site, one in zip(sites, wanted, strict=True) if one}
    names = list(sites) if len(inside) > 1 else [str(number) for number in range(len(sites))]
    numbers: Counter[tuple[str, bool]] = Counter(zip(names, wanted, strict=True))
    load = [[0, 0] for _ in range(PARTS)]
    chosen: dict[str, int] = {}
    for name in sorted(set(names), key=lambda one: (-numbers[one, True], -numbers[one, False], one)):
        inner, outer = numbers[name, True], numbers[name, False]
        # sites without an article of the category come last, and fill the parts up
        part = chosen[name] = min(range(PARTS), key=lambda one: load[one] if inner else load[one][::-1])
        load[part][0] += inner
        load[part][1] += outer
    return np.array([chosen[name] for name in names], np.intp)


def _calibrated(scores: Floats, wanted: NDArray[np.bool_]) -> tuple[float, float]:
    """Return slope and offset that turn judgements into probabilities."""
    scale = float(np.abs(scores).max()) or 1.0
    cells = Cells(np.arange(len(scores)), np.zeros(len(scores), np.intp), scores / scale)
    slope, offset = _minimum(cells, np.ones(len(scores)), wanted, 1)
    return float(slope[0]) / scale, offset


def _threshold(probabilities: Floats, wanted: NDArray[np.bool_], used: NDArray[np.bool_]) -> float:
    """Return the threshold with the best F1; of several, the one nearest to one half."""
    return max(
        THRESHOLDS,
        key=lambda one: (figures(probabilities[used] >= one, wanted[used]).f1, -abs(one - 0.5)),
    )


KIND = "categories"
"""Kind of the notes with definitions; the key is the name of the category."""
STEMS = "category_stems"
"""Kind of the notes with stems."""
_IN_NOTE = 700
MAX_CATEGORIES = 50
MAX_INSIDE, MAX_OUTSIDE = 4_000, 12_000
"""Maximum number of examples, and of other articles, from which a category is learned."""
MIN_EXAMPLES = 10
MAX_URLS = 500
"""Maximum number of URLs that a definition names."""
MAX_DEFINITION = 60_000
"""Maximum length of a definition in JSON."""
FRESH = 60.0
"""Seconds after which a process reads the categories again."""
NAME = re.compile(r"[^\W_](?:[\w-]{0,38}[^\W_])?")


@dataclass(frozen=True, slots=True)
class Definition:
    """What names the examples of a category. An article is an example if any of these holds."""

    sections: tuple[str, ...] = ()
    """Sections in small letters: the field ``section`` of the article, or a part of its URL."""
    tags: tuple[str, ...] = ()
    """Tags in small letters."""
    query: str = ""
    urls: tuple[str, ...] = ()

    def filed(self, article: Article) -> bool:
        """Return True if the site files the article under a section or a tag of the definition."""
        if any(tag.casefold() in self.tags for tag in article.tags):
            return True
        if not self.sections:
            return False
        if (article.section or "").casefold() in self.sections:
            return True
        # sport.example.org/tennis/1: sport, tennis
        parts = urlsplit(article.canonical_url.casefold())
        folders = parts.path.split("/")[:-1]
        return not {*folders, (parts.hostname or "").partition(".")[0]}.isdisjoint(self.sections)


@dataclass(frozen=True, slots=True)
class Category:
    """A definition and what was learned, except for the stems."""

    name: str
    definition: Definition
    learned: float = 0.0
    """Time in POSIX seconds; 0 if nothing was learned."""
    digest: str = ""
    """A hash of what was learned."""
    examples: int = 0
    others: int = 0
    notes: int = 0
    """Number of notes with stems."""
    bias: float = 0.0
    slope: float = 0.0
    offset: float = 0.0
    threshold: float = 0.0
    figures: Figures = field(default_factory=Figures)
    """Of the articles of sites that were not seen."""


def categories(notes: Notes) -> dict[str, Category]:
    """Return all categories by name."""
    return {name: _category(name, note) for name, note in sorted(notes.all(KIND).items())}


def _category(name: str, note: Mapping[str, Any]) -> Category:
    row = {one.name: note[one.name] for one in fields(Category) if one.name in note}
    given: dict[str, Any] = row.get("definition", {})
    lists: dict[str, Any] = {key: tuple(one) if isinstance(one, list) else one for key, one in given.items()}
    made = {"name": name, "definition": Definition(**lists), "figures": Figures(**row.get("figures", {}))}
    return Category(**row | made)


def define(notes: Notes, name: str, definition: Definition) -> None:
    """Store the definition of a new category, or replace that of an existing one."""
    known = categories(notes)
    if NAME.fullmatch(name) is None:
        raise ArgumentError(f"{name}: the name of a category has 1 to 40 letters, digits or -, such as sport")
    if name not in known and len(known) >= MAX_CATEGORIES:
        raise ArgumentError(f"there are {MAX_CATEGORIES} categories already; forget one first")
    if len(definition.urls) > MAX_URLS or len(json.dumps(asdict(definition))) > MAX_DEFINITION:
        raise ArgumentError(
            f"{len(definition.urls)} URLs are too many for a category (at most {MAX_URLS}, with "
            f"{MAX_DEFINITION} characters); name it by sections, tags or a query"
        )
    before = asdict(known[name]) if name in known else {}
    notes.save(KIND, name, {**before, "name": name, "definition": asdict(definition)})


def forget(notes: Notes, name: str) -> bool:
    """Delete a category. Return False if there is none."""
    known = categories(notes).get(name)
    if known is not None:
        _forget_stems(notes, known)
    return notes.forget(KIND, name)


def _forget_stems(notes: Notes, category: Category) -> None:
    for number in range(category.notes):
        notes.forget(STEMS, f"{category.digest} {number}")


def save(notes: Notes, name: str, definition: Definition, examples: Examples, model: Model) -> Category:
    """Store what was learned about a category."""
    former = categories(notes).get(name)
    rows = [(stem, *values) for stem, values in model.stems.items()]
    text = json.dumps([rows, model.bias, model.slope, model.offset, model.threshold])
    digest = blake2b(text.encode(), digest_size=8).hexdigest()
    number = count()
    for some in batched(rows, _IN_NOTE):
        notes.save(STEMS, f"{digest} {next(number)}", {"stems": [list(one) for one in some]})
    made = Category(
        name,
        definition,
        learned=time.time(),
        digest=digest,
        examples=sum(examples.wanted),
        others=len(examples.wanted) - sum(examples.wanted),
        notes=next(number),
        figures=examples.figures(),
        **{one: getattr(model, one) for one in ("bias", "slope", "offset", "threshold")},
    )
    notes.save(KIND, name, asdict(made))
    if former is not None and former.digest != digest:
        _forget_stems(notes, former)
    return made


def model_of(notes: Notes, category: Category) -> Model | None:
    """Return what was learned about a category; None if nothing was learned."""
    names = [(STEMS, f"{category.digest} {number}") for number in range(category.notes)]
    found = notes.get_many(names)
    if not names or len(found) < len(names):
        return None
    stems_ = {stem: (idf, weight) for note in found.values() for stem, idf, weight in note["stems"]}
    return Model(stems_, category.bias, category.slope, category.offset, category.threshold)


@dataclass(slots=True)
class Examples:
    """The articles from which a category is learned."""

    counts: list[Counter[str]] = field(default_factory=list)
    wanted: list[bool] = field(default_factory=list)
    sites: list[str] = field(default_factory=list)
    sure: list[bool] = field(default_factory=list)
    """True for the examples of all categories, if there are several."""
    judged: Judged | None = None

    def figures(self, site: str | None = None) -> Figures:
        """Return the figures of a site, or of all: of the articles that belong to a category for sure."""
        assert self.judged is not None
        here = [site in (None, one) for one in self.sites]
        used = np.array(self.sure) & np.array(here)
        return figures(self.judged.found[used], np.array(self.wanted)[used])


def learn(storage: Storage, search: ArticleSearch, name: str) -> tuple[Examples, Model]:
    """Learn a category from the stored articles. Raises :class:`ArgumentError` if there are too few."""
    defined = {one: known.definition for one, known in categories(storage.notes).items()}
    examples = collect(storage, search, name, defined)
    inside = sum(examples.wanted)
    outside = len(examples.wanted) - inside
    if min(inside, outside) < MIN_EXAMPLES:
        raise ArgumentError(
            f"{name}: {inside} stored articles belong to the category, and {outside} others of the same "
            f"sites or of other categories do not; at least {MIN_EXAMPLES} of both are needed"
        )
    model, examples.judged = fit(examples.counts, examples.wanted, examples.sites, examples.sure)
    return examples, model


def collect(
    storage: Storage, search: ArticleSearch, name: str, defined: Mapping[str, Definition]
) -> Examples:
    """Return the examples of a category and other articles. The choice is the same for the same articles."""
    keys = {one: _named_keys(search, definition) for one, definition in defined.items()}

    def belongs(one: str, key: bytes, article: Article) -> bool:
        return key in keys[one] or defined[one].filed(article)

    inside = _Sample(MAX_INSIDE)
    sites: set[str] = set()
    for article in storage.articles.iter():
        key = fingerprint(article.canonical_url)
        if belongs(name, key, article):
            sites.add(article.source)
            inside.add(key, article, sure=True)
    outside = _Sample(MAX_OUTSIDE)
    others = [one for one in defined if one != name]
    for article in storage.articles.iter():
        key = fingerprint(article.canonical_url)
        other = any(belongs(one, key, article) for one in others)
        if (other or article.source in sites) and not belongs(name, key, article):
            outside.add(key, article, sure=other)
    found = Examples()
    for sample in (inside, outside):
        for counts, site, sure in sample.kept():
            found.counts.append(counts)
            found.wanted.append(sample is inside)
            found.sites.append(site)
            found.sure.append(sure)
    if not any(sure and not wanted for sure, wanted in zip(found.sure, found.wanted, strict=True)):
        found.sure = [True] * len(found.sure)
    return found


class _Sample:
    """A random sample of articles: those with the smallest keys, which are hashes.

    Of each story, the first article is used. A copy on another site would count as seen.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._stories: set[str] = set()
        self._heap: list[tuple[int, Counter[str], str, bool]] = []

    def add(self, key: bytes, article: Article, *, sure: bool) -> None:
        if article.story in self._stories:
            return
        if article.story is not None:
            self._stories.add(article.story)
        # A heap has its smallest item first, so the order of the keys is turned round.
        rank = -int.from_bytes(key, "big")
        if len(self._heap) < self._limit or rank > self._heap[0][0]:
            row = (rank, Counter(stems_of(article)), article.source, sure)
            if len(self._heap) < self._limit:
                heapq.heappush(self._heap, row)
            else:
                heapq.heapreplace(self._heap, row)

    def kept(self) -> Iterator[tuple[Counter[str], str, bool]]:
        for _rank, counts, site, sure in sorted(self._heap, key=lambda row: row[0]):
            yield counts, site, sure


def stems_of(article: Article) -> list[str]:
    """Return the stems of the title and the text of an article, as the search index has them."""
    language = stemming(article.language)
    return [*stems(article.title, language), *stems(article.text, language)]


def _named_keys(search: ArticleSearch, definition: Definition) -> set[bytes]:
    keys = set(map(fingerprint, definition.urls))
    if definition.query:
        found = search.every(definition.query, ArticleFilter())
        keys |= {fingerprint(one.canonical_url) for one in found}
    return keys


class CategoryField:
    """The field ``category`` of searches (:class:`newsbot.apps.search.query.LabelField`)."""

    def __init__(self, settings: SettingsLike) -> None:
        self._settings = settings
        self._models: dict[str, Model] = {}
        self._version = ""
        self._next = 0.0

    def version(self) -> str:
        """Return the hashes of all categories. They are read again after FRESH seconds."""
        if time.monotonic() >= self._next:
            with suppress(DataUnavailable):  # nothing has been crawled yet
                self._read()
            self._next = time.monotonic() + FRESH
        return self._version

    def labels(self, article: Article, stems: Sequence[str]) -> list[str]:  # noqa: ARG002  (an interface)
        """Return the categories of an article, the most probable first."""
        self.version()
        counts = Counter(stems)
        found = {name: model.probability(counts) for name, model in self._models.items()}
        chosen = (name for name in found if found[name] >= self._models[name].threshold)
        return sorted(chosen, key=lambda name: -found[name])

    def named(self, value: str) -> tuple[str, ...]:
        """Return the category with this name."""
        self.version()
        return tuple(name for name in self._models if name.casefold() == value.casefold())

    def title(self, label: str) -> str:
        """Return the name of the category."""
        return label

    def _read(self) -> None:
        with stored(self._settings, stale=True) as storage:
            known = categories(storage.notes)
            version = " ".join(f"{name}={one.digest}" for name, one in known.items() if one.digest)
            if version != self._version:
                models = {name: model_of(storage.notes, one) for name, one in known.items()}
                self._models = {name: model for name, model in models.items() if model is not None}
                self._version = version


category_field = CategoryField


MAX_SHOWN = 30
"""Maximum number of sites in the table of ``test``."""


def learn_categories(call: Call) -> None:
    """Learn one category, or all of them again."""
    definition = _definition(call)
    name = call.options.name
    if name is None and definition != Definition():
        raise ArgumentError("give a name before the URLs and options, e.g. sport")
    with stored(call.settings) as storage, closing(open_search(call.settings, storage)) as search:
        search.follow()
        if name is not None and definition != Definition():
            define(storage.notes, name, _checked(storage, search, definition))
        known = categories(storage.notes)
        if name is not None and name not in known:
            raise ArgumentError(
                f"{name}: say what belongs to it: URLs of articles, --section, --tag or --query"
                f"{did_you_mean(name, known)}"
            )
        made = []
        for one in [name] if name is not None else list(known):
            examples, model = learn(storage, search, one)
            made.append(save(storage.notes, one, known[one].definition, examples, model))
            call.note(f"{one}: {_summary(made[-1])}")
    if call.json:
        call.document([_row(one) for one in made])
    call.note("the search index is rebuilt with the categories; searches use the old one until then")


def test(call: Call) -> None:
    """Print the figures of a category by site."""
    with stored(call.settings) as storage, closing(open_search(call.settings, storage)) as search:
        search.follow()
        category = _known(storage, call.options.name)
        examples, _ = learn(storage, search, category.name)
    sizes = Counter(site for site, sure in zip(examples.sites, examples.sure, strict=True) if sure)
    rows = [_figures(examples, site, sizes[site]) for site, _ in sizes.most_common()]
    total = {**_figures(examples, None, sizes.total()), "site": "all sites"}
    assert examples.judged is not None
    unsure = [bool(one) for one, sure in zip(examples.judged.found, examples.sure, strict=True) if not sure]
    if call.json:
        call.document({**total, "sites": rows, "elsewhere": {"articles": len(unsure), "found": sum(unsure)}})
        return
    names = ("site", "articles", "examples", "precision", "recall", "f1")
    shown = [total, *rows[:MAX_SHOWN]]
    call.table(
        columns("site * | articles > | examples > | precision > | recall > | F1 >"),
        ([_shown(row[name]) for name in names] for row in shown),
    )
    if len(rows) > MAX_SHOWN:
        call.note(f"and {counted(len(rows) - MAX_SHOWN, 'more site')} (--json lists all)")
    if unsure:
        call.note(
            f"the category was also found in {sum(unsure)} of {counted(len(unsure), 'article')} of these "
            "sites that no category names"
        )


def listing(call: Call) -> None:
    """List the categories."""
    with stored(call.settings, stale=True) as storage:
        known = categories(storage.notes)
    call.listing(
        [_row(one) for one in known.values()],
        columns("category | examples > | precision > | recall > | F1 > | learned | named by *"),
        (
            (
                one.name,
                one.examples,
                *(_shown(value) for value in (one.figures.precision, one.figures.recall, one.figures.f1)),
                iso(utc(one.learned)) if one.learned else "-",
                _named_by(one.definition),
            )
            for one in known.values()
        ),
        empty=f"no category; to name one: {PROGRAM} categories learn NAME --section SECTION",
    )


def show(call: Call) -> None:
    """Print the probability of each category for one article."""
    with stored(call.settings, stale=True) as storage:
        article = find_article(call, storage)
        models = {name: model_of(storage.notes, one) for name, one in categories(storage.notes).items()}
    counts = Counter(stems_of(article))
    rows: list[dict[str, Any]] = [
        {
            "category": name,
            "probability": round(model.probability(counts), 4),
            "threshold": model.threshold,
            "belongs": model.probability(counts) >= model.threshold,
        }
        for name, model in models.items()
        if model is not None
    ]
    rows.sort(key=lambda row: -row["probability"])
    call.listing(
        rows,
        columns("category | probability > | threshold > | belongs"),
        ([_shown(value) for value in row.values()] for row in rows),
        empty="no category",
    )


def forget_category(call: Call) -> None:
    """Delete a category."""
    with stored(call.settings) as storage:
        forget(storage.notes, _known(storage, call.options.name).name)
    call.note(f"{call.options.name}: deleted")


def _definition(call: Call) -> Definition:
    options = call.options
    urls = list(options.url)
    if options.file is not None:
        try:
            lines = options.file.read_text(encoding="utf-8").split("\n")
        except (OSError, UnicodeDecodeError) as error:
            raise ArgumentError(f"{options.file}: cannot be read ({error})") from error
        urls += [line.strip() for line in lines if line.strip()]
    try:
        canonical = tuple(map(canonicalize, urls))
    except ValueError as error:
        raise ArgumentError(str(error)) from error
    return Definition(_words(options.section), _words(options.tag), options.query or "", canonical)


def _words(value: str | None) -> tuple[str, ...]:
    return tuple(word.strip().casefold() for word in (value or "").split(",") if word.strip())


def _checked(storage: Storage, search: ArticleSearch, definition: Definition) -> Definition:
    """Return the definition with the URLs under which its articles are stored.

    Raises :class:`ArgumentError` if the query has an error or if a URL is not that of an article.
    """
    if definition.query and (notes := search.explain(definition.query, found=True)):
        raise ArgumentError(f"correct the query: {notes[0]}")
    known = storage.articles.get_many(definition.urls)
    for url in definition.urls:
        if url not in known:
            raise ArgumentError(f"{url}: is not a stored article")
    return replace(definition, urls=tuple(known[url].canonical_url for url in definition.urls))


def _known(storage: Storage, name: str) -> Category:
    known = categories(storage.notes)
    if name not in known:
        raise ArgumentError(f"{name}: there is no such category{did_you_mean(name, known)}")
    return known[name]


def _row(one: Category) -> dict[str, Any]:
    return {
        "category": one.name,
        "sections": list(one.definition.sections),
        "tags": list(one.definition.tags),
        "query": one.definition.query,
        "urls": list(one.definition.urls),
        "examples": one.examples,
        "others": one.others,
        "threshold": one.threshold,
        "learned": iso(utc(one.learned)) if one.learned else None,
        **_values(one.figures),
    }


def _values(found: Figures) -> dict[str, float]:
    return {name: round(getattr(found, name), 4) for name in ("precision", "recall", "f1")}


def _figures(examples: Examples, site: str | None, articles: int) -> dict[str, Any]:
    found = examples.figures(site)
    return {
        "site": site,
        "articles": articles,
        "examples": found.right + found.missed,
        **_values(found),
    }


def _named_by(definition: Definition) -> str:
    parts = [
        f"sections {', '.join(definition.sections)}" if definition.sections else "",
        f"tags {', '.join(definition.tags)}" if definition.tags else "",
        definition.query,
        counted(len(definition.urls), "URL") if definition.urls else "",
    ]
    return "; ".join(filter(None, parts))


def _summary(one: Category) -> str:
    found = one.figures
    return (
        f"{counted(one.examples, 'example')} and {counted(one.others, 'other article')}; on sites that were "
        f"not seen: precision {found.precision:.2f}, recall {found.recall:.2f}, F1 {found.f1:.2f}"
    )


def _shown(value: object) -> object:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.2f}" if isinstance(value, float) else value


_NAME = Argument("name", help="name of the category")

ACTIONS = (
    Action(
        "learn",
        "Learn a category from stored articles; without a name, learn all categories again",
        learn_categories,
        Argument("name", nargs="?", help="name of the category: letters, digits and -"),
        Argument("url", nargs="*", help="URLs of stored articles that belong to it"),
        Argument("--from", dest="file", type=Path, metavar="FILE", help="a file with such URLs, one a line"),
        Argument(
            "--section",
            metavar="NAME,…",
            help="articles that a site files under these sections: field section, or a part of the URL",
        ),
        Argument("--tag", metavar="NAME,…", help="articles with these tags of their sites"),
        Argument("--query", help="articles that match this query"),
        writes=True,
    ),
    Action(
        "test",
        "Print precision, recall and F1 of a category by site, learned without the articles of that site",
        test,
        _NAME,
    ),
    Action("list", "List the categories", listing),
    Action(
        "show",
        "Print the probability of each category for an article",
        show,
        Argument("url", help="any URL of the article"),
    ),
    Action("forget", "Delete a category", forget_category, _NAME, writes=True),
)
