"""Real articles with labelled pairs, the data of :mod:`benchmarks.dedup`."""

from __future__ import annotations

import gzip
import json
from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

from newsbot.dedup.index import shingle_hashes

COMMON = 400  # texts; a shingle in more texts is a stock phrase and does not make candidate pairs

Pair = tuple[int, int]


@dataclass(slots=True)
class Corpus:
    """The articles, their labelled pairs, and the exact similarities that are .04 or more."""

    articles: list[dict[str, str]]
    labels: dict[Pair, int]
    exact: dict[Pair, float]
    sizes: list[int]
    """The shingles of each article."""


def load(folder: Path) -> Corpus:
    """Read articles and pairs, and compute exact similarities."""
    with gzip.open(folder / "articles.jsonl.gz", "rt", encoding="utf-8") as file:
        articles = [json.loads(line) for line in file]
    number = {article["id"]: place for place, article in enumerate(articles)}
    labels: dict[Pair, int] = {}
    for line in (folder / "pairs.jsonl").read_text(encoding="utf-8").splitlines():
        pair = json.loads(line)
        one, other = sorted((number[pair["a"]], number[pair["b"]]))
        labels[one, other] = pair["label"]
    shingles = [shingle_hashes(article["text"]) for article in articles]
    return Corpus(articles, labels, exact_similarities(shingles), [len(some) for some in shingles])


def exact_similarities(shingles: list[Any]) -> dict[Pair, float]:
    """Return the Jaccard similarities that are .04 or more, computed from the shared shingles."""
    texts: dict[int, list[int]] = defaultdict(list)
    for place, hashes in enumerate(shingles):
        for value in hashes.tolist():
            texts[value].append(place)
    shared: Counter[Pair] = Counter()
    for places in texts.values():
        if 1 < len(places) <= COMMON:
            shared.update(combinations(places, 2))
    found = {
        (one, other): count / (len(shingles[one]) + len(shingles[other]) - count)
        for (one, other), count in shared.items()
    }
    return {pair: value for pair, value in found.items() if value >= 0.04}
