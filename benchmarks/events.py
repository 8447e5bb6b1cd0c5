"""How well newsbot's events agree with the judgement of a reader, and what an article costs.

Reads real articles of one day (a folder with ``articles.jsonl.gz``) and ``events.txt``, which is next to this
module. ``events.txt`` has groups of articles, and says which articles of a group report the same event. One
half of the groups is used to choose parameters, the other half is used for the test. All articles are indexed
three times, each time in another random order. For each half, the benchmark prints these figures for the
articles in its groups:

* B-cubed precision, recall and F1 (A. Bagga and B. Baldwin, "Entity-based cross-document coreferencing using
  the vector space model", ACL 1998). They are means over all articles. For an article A, let n be the number
  of articles that report A's event and that newsbot puts into the same event as A. Precision is n divided by
  the number of all articles that newsbot puts into this event. Recall is n divided by the number of all
  articles that report A's event
* precision, recall and F1 of pairs of articles

The benchmark also prints the figures of a plain method with TF-IDF vectors of the whole texts. This method
adds each article, in one pass, to the cluster with the nearest centroid, or to the cluster of the nearest
article. The threshold of this method is the one with the best F1 on the half that is used to choose
parameters.

With ``--cost`` the benchmark also generates articles that were published within 48 hours. They are real
articles in which sentences are left out and names are replaced. Each generated event has names of its own.
The benchmark then prints the processor time per article, for events alone and for the whole index. The
articles are indexed one at a time, and in batches of 500.

    python -m benchmarks.events [--data FOLDER] [--cost 100000]
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import re
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import chain, combinations, islice
from math import log
from pathlib import Path
from statistics import fmean
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from newsbot.apps.search.events import Beginning, Events
from newsbot.apps.search.index import SearchIndex
from newsbot.items import Article
from newsbot.pages.text.words import stems
from newsbot.urls import canonicalize, fingerprint, host_key

DATA = Path(__file__).parent.parent.parent / "shared" / "dedup"
LABELS = Path(__file__).with_suffix(".txt")
DAY = datetime(2020, 5, 3, 12, tzinfo=UTC)
ORDERS = 3
THRESHOLDS = [step / 100 for step in range(14, 60, 4)]
BATCH = 500
MEASURED = 1000
SENTENCE = re.compile(r"(?<=[.!?…])\s+")
NAME = re.compile(r"(?<=[\w,;] )[A-ZА-ЯЁ][\w-]+")

T = TypeVar("T")
Groups = list[list[list[str]]]
Clusters = Mapping[str, Any]
Matrix = NDArray[np.float32]
Pass = Callable[[Matrix, float, Sequence[int]], list[int]]


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--cost", type=int, default=0)
    options = parser.parse_args()
    articles = dict(read(options.data))
    halves = labels()
    for half, groups in halves.items():
        pairs = [pair for group in groups for pair in combinations(list(chain(*group)), 2)]
        together = sum(
            one in event and other in event
            for group in groups
            for event in group
            for one, other in combinations(event, 2)
        )
        print(f"{half}: {len(groups)} groups, {len(pairs)} pairs, {together} of one event")
    print(f"{'':24}{'':10}B-cubed P     R    F1   pairs P     R    F1")
    print_rows("events", [indexed(shuffled(articles, order)) for order in range(ORDERS)], halves)
    matrices = [matrix(articles, language) for language in ("ru", "en")]
    for name, clustered in (
        ("TF-IDF, nearest centroid", to_centroid),
        ("TF-IDF, nearest article", to_article),
    ):
        best = max(
            THRESHOLDS, key=lambda one: figures(plain(matrices, clustered, one, 1), halves["choose"])[2]
        )
        print_rows(
            name,
            [found for one in range(ORDERS) for found in plain(matrices, clustered, best, 1, one)],
            halves,
        )
    if options.cost:
        cost(list(articles.values()), options.cost)


def read(folder: Path) -> Iterator[tuple[str, Article]]:
    """Yield the articles by id."""
    with gzip.open(folder / "articles.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            url = canonicalize(row["url"])
            yield (
                row["id"],
                Article(
                    url=url,
                    canonical_url=f"{url}#{row['id']}",
                    source=host_key(url),
                    title=row["title"],
                    text=row["text"],
                    language=row["lang"],
                    published_at=DAY,
                ),
            )


def labels() -> dict[str, Groups]:
    """Return the groups of each half."""
    halves: dict[str, Groups] = {"choose": [], "test": []}
    for line in LABELS.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            half, _, group = line.partition(" ")
            halves[half].append([event.split() for event in group.split("|")])
    return halves


def batched(rows: Iterable[T], size: int) -> Iterator[list[T]]:
    """Yield rows in batches."""
    left = iter(rows)
    while some := list(islice(left, size)):
        yield some


def shuffled(articles: Mapping[str, Article], order: int) -> list[tuple[str, Article]]:
    """Return the articles in a random order."""
    rows = list(articles.items())
    random.Random(order).shuffle(rows)
    return rows


def indexed(rows: Sequence[tuple[str, Article]]) -> Clusters:
    """Return the events of articles in the search index."""
    with tempfile.TemporaryDirectory() as folder, closing(SearchIndex(Path(folder) / "search.db")) as index:
        keys = {name: fingerprint(article.canonical_url) for name, article in rows}
        for place, some in enumerate(batched(rows, BATCH)):
            index.take(index.generations()[0], [(keys[name], article) for name, article in some], str(place))
        events = index.events_of(keys.values())
    return {name: events[key] for name, key in keys.items()}


def figures(found: Sequence[Clusters], groups: Groups) -> list[float]:
    """Return the means over ``found`` of B-cubed precision, recall and F1, then those of pairs of
    articles."""
    return [fmean(some) for some in zip(*(_figures(one, groups) for one in found), strict=True)]


def _figures(found: Clusters, groups: Groups) -> list[float]:
    precisions, recalls, pairs = [], [], Counter[tuple[bool, bool]]()
    for group in groups:
        belongs = {name: place for place, names in enumerate(group) for name in names}
        for name, event in belongs.items():
            mine = {one for one in belongs if found[one] == found[name]}
            right = {one for one in belongs if belongs[one] == event}
            precisions.append(len(mine & right) / len(mine))
            recalls.append(len(mine & right) / len(right))
        pairs.update(
            (found[one] == found[other], belongs[one] == belongs[other])
            for one, other in combinations(belongs, 2)
        )
    both = pairs[True, True]
    by_pairs = both / max(1, both + pairs[True, False]), both / max(1, both + pairs[False, True])
    return [
        value
        for precision, recall in ((fmean(precisions), fmean(recalls)), by_pairs)
        for value in (precision, recall, 2 * precision * recall / max(1e-9, precision + recall))
    ]


def print_rows(name: str, found: Sequence[Clusters], halves: Mapping[str, Groups]) -> None:
    """Print the figures of both halves."""
    for half, groups in halves.items():
        values = figures(found, groups)
        shown = "   ".join(" ".join(f"{value:5.3f}" for value in some) for some in (values[:3], values[3:]))
        print(f"{name:26}{half:10}{shown}", flush=True)


def matrix(articles: Mapping[str, Article], language: str) -> tuple[list[str], Matrix]:
    """Return the articles of a language and the cosines of their TF-IDF vectors."""
    names = [name for name, one in articles.items() if one.language == language]
    counts = [Counter(stems(f"{articles[name].title}\n{articles[name].text}")) for name in names]
    known = Counter(chain.from_iterable(counts))
    places = {stem: place for place, stem in enumerate(stem for stem, number in known.items() if number > 1)}
    vectors = np.zeros((len(names), len(places)), np.float32)
    for row, count in enumerate(counts):
        weights = {stem: (1 + log(number)) * log(len(names) / known[stem]) for stem, number in count.items()}
        length = sum(weight**2 for weight in weights.values()) ** 0.5 or 1.0
        for stem, weight in weights.items():
            if stem in places:
                vectors[row, places[stem]] = weight / length
    return names, vectors @ vectors.T


def plain(
    matrices: Sequence[tuple[list[str], Matrix]],
    clustered: Pass,
    threshold: float,
    orders: int,
    first: int = 0,
) -> list[Clusters]:
    """Return the clusters of the plain TF-IDF method, one mapping for each random order."""
    found: list[Clusters] = []
    for order in range(first, first + orders):
        clusters: dict[str, Any] = {}
        for language, (names, cosines) in enumerate(matrices):
            rows = list(range(len(names)))
            random.Random(order).shuffle(rows)
            clusters |= {
                name: (language, one)
                for name, one in zip(names, clustered(cosines, threshold, rows), strict=True)
            }
        found.append(clusters)
    return found


def to_centroid(cosines: Matrix, threshold: float, rows: Sequence[int]) -> list[int]:
    """Add each article to the cluster whose centroid is nearest."""
    sums, lengths = np.zeros_like(cosines), np.zeros(len(rows), np.float32)
    found, number = [-1] * len(rows), 0
    for row in rows:
        near = sums[:number, row] / np.sqrt(lengths[:number])
        place = int(np.argmax(near)) if number else 0
        if not number or near[place] < threshold:
            place = number
            number += 1
        lengths[place] += 1 + 2 * sums[place, row]
        sums[place] += cosines[row]
        found[row] = place
    return found


def to_article(cosines: Matrix, threshold: float, rows: Sequence[int]) -> list[int]:
    """Add each article to the cluster of the nearest article."""
    found = [-1] * len(rows)
    for number, row in enumerate(rows):
        before = list(rows[:number])
        nearest = before[int(np.argmax(cosines[row, before]))] if before else row
        found[row] = found[nearest] if before and cosines[row, nearest] >= threshold else row
    return found


def made(articles: Sequence[Article], number: int) -> Iterator[Article]:
    """Yield generated articles that were published within 48 hours. Each event has one to thirty articles."""
    chance = random.Random(1)
    place = 0
    while place < number:
        model, event = chance.choice(articles), place
        size = min(30, int(chance.paretovariate(1.2)))
        for _ in range(size):
            sentences = [one for one in SENTENCE.split(model.text) if chance.random() < 0.7] or [model.text]
            text = NAME.sub(rf"\g<0>{event % 997}", " ".join(sentences))
            url = f"https://site{chance.randrange(2000)}.test/{place}"
            at = DAY + timedelta(seconds=chance.randrange(48 * 3600))
            yield replace(model, url=url, canonical_url=url, text=text, published_at=at)
            place += 1


def cost(articles: Sequence[Article], number: int) -> None:
    """Print the processor time per article when the last 48 hours have ``number`` other articles."""
    spent = Counter[str]()

    def timed(kind: str, work: Callable[..., Any]) -> Callable[..., Any]:
        def run(*positional: Any, **named: Any) -> Any:
            began = time.process_time()
            try:
                return work(*positional, **named)
            finally:
                spent[kind] += time.process_time() - began  # type: ignore[assignment]

        return run

    rows = made(articles, number + 2 * MEASURED)
    with tempfile.TemporaryDirectory() as folder, closing(SearchIndex(Path(folder) / "search.db")) as index:
        take = timed("index", index.take)
        Events.place = timed("events", Events.place)  # type: ignore[method-assign]
        Beginning.of = timed("events", Beginning.of)  # type: ignore[method-assign]
        count = 0
        for size, many in ((BATCH, number), (BATCH, MEASURED), (1, MEASURED)):
            spent.clear()
            count += many
            for some in batched((next(rows) for _ in range(many)), size):
                found = [(fingerprint(one.canonical_url), one) for one in some]
                take(index.generations()[0], found, found[-1][0].hex())
            print(
                f"{count} articles, in batches of {size}: "
                + ", ".join(f"{kind} {1000 * spent[kind] / many:.2f} ms" for kind in ("events", "index")),
                flush=True,
            )
        print(f"search.db: {index.path.stat().st_size / count:.0f} bytes per article")


if __name__ == "__main__":
    main()
