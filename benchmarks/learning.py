"""Trains the model that decides which pieces of a page are article text, with cross-validation by publisher.

Reads the sets of :mod:`benchmarks.extraction` with whole texts, and the set with snippets, which has little
of each page, but many publishers. Publishers are split into folds; each fold is judged by trees that were
trained without its publishers. The final trees are trained on all pages and written to
``newsbot/extraction/body/forest.json``. Needs ``benchmarks/requirements.txt``.

Two forests are trained and averaged. One is trained on the pages as they are read. The other also gets each
page without the text of another extractor, and with the text of a different one, so that the forest does
not rely on that text.

    OMP_NUM_THREADS=1 python -m benchmarks.learning [FOLDER] [--write] [--folds 5] [--keep DIR]

``--keep`` writes the trees of each fold to ``DIR/forest-N.json`` and the publishers of each fold to
``DIR/folds.json``: ``python -m benchmarks.extraction --left-out DIR`` measures the whole extraction with
them.
"""

from __future__ import annotations

import argparse
import importlib
import json
import logging
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from lxml.html import HtmlElement, fromstring, tostring
from numpy.typing import NDArray

from benchmarks.extraction import DATA, fold_of, load_definitions
from newsbot.errors import NotAnArticle
from newsbot.extraction.blocks import join, render
from newsbot.extraction.body.density import densest
from newsbot.extraction.body.extractor import first_reading, lean_copy
from newsbot.extraction.body.learned import clues, without_copies
from newsbot.extraction.body.pieces import cut
from newsbot.extraction.body.text import known_of
from newsbot.extraction.body.word_features import Columns
from newsbot.extraction.page.page import Page
from newsbot.extraction.page.parse import parse_html
from newsbot.extraction.strings import key, squash

SETS = ("fundus", "aeb", "fundeval", "daniel-ru", "traf")
TARGET = Path(__file__).parent.parent / "newsbot" / "extraction" / "body" / "forest.json"
TREES = {
    "max_iter": 150,
    "learning_rate": 0.07,
    "max_leaf_nodes": 16,
    "min_samples_leaf": 40,
    "l2_regularization": 5.0,
    "max_features": 0.3,
    "random_state": 0,
}
"""Chosen by the mean over the folds."""
SNIPPET = 0.02
"""Weight of a piece with a snippet, chosen in the same way. The total weight of an article's words is 1."""
LEAD = 0.5
"""Weight of the words of a standfirst: it belongs to the article, but the measure does not require it."""
VARIED = 0.4
"""Weight of a page with no text or a different text of another extractor."""
LEAST_AGREED = 0.3
"""The F1 that at least one simple extractor must reach on a page. If none does, the gold text
probably belongs to something else (comment rules, a menu)."""


@dataclass(frozen=True, slots=True)
class Sample:
    """The open pieces of one page: features, whether each is in the gold text, and weights.

    ``varied`` is the same page with different texts of another extractor.
    """

    publisher: str
    names: tuple[str, ...]
    rows: NDArray[np.float32]
    belongs: NDArray[np.int8]
    weights: NDArray[np.float64]
    varied: tuple[NDArray[np.float32], ...] = ()


def main(arguments: list[str] | None = None) -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "folder", nargs="?", type=Path, default=DATA, help="folder with score.py and the sets"
    )
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--write", action="store_true", help=f"write {TARGET.name}")
    parser.add_argument("--keep", type=Path, help="folder for the trees of the folds")
    options = parser.parse_args(arguments)
    for name in ("trafilatura", "readability"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    definitions = load_definitions(options.folder)
    samples = [
        sample
        for name in SETS
        for page in definitions.ds_flat(str(options.folder / name))
        if (sample := read(definitions, page, strict=name == "aeb")) is not None
    ]
    print(f"{len(samples)} pages, {sum(len(s.rows) for s in samples)} pieces")
    if options.keep is not None:
        _folds(samples, options.folds, options.keep)
    if options.write:
        TARGET.write_text(as_json(learn(samples), samples[0].names), encoding="utf-8")


def _folds(samples: list[Sample], count: int, folder: Path) -> None:
    """Train with each fold left out; print the share of weight that is judged correctly on the fold."""
    folder.mkdir(parents=True, exist_ok=True)
    folds = {sample.publisher: fold_of(sample.publisher, count) for sample in samples}
    (folder / "folds.json").write_text(json.dumps({"count": count}), encoding="utf-8")
    for number in range(count):
        trees = learn([s for s in samples if folds[s.publisher] != number])
        (folder / f"forest-{number}.json").write_text(as_json(trees, samples[0].names), encoding="utf-8")
        left_out = [s for s in samples if folds[s.publisher] == number and s.weights.any()]
        right = [
            float(np.average((_mean(trees, s.rows) > 0) == s.belongs, weights=s.weights)) for s in left_out
        ]
        print(f"fold {number}: {len(left_out)} pages left out, judged right {np.mean(right):.3f}")


def read(definitions: ModuleType, page: dict[str, Any], *, strict: bool) -> Sample | None:
    """Return a page with the labels of its pieces from gold text or snippets; None for a page without either.

    Also None if the gold text belongs to something else, see :data:`LEAST_AGREED`.
    """
    gold = page["gold"]
    if "text" not in gold and "inc" not in gold:
        return None
    try:
        tree = parse_html(page["read"]())
    except NotAnArticle:
        return None
    found = Page.read(tree, page["url"])
    lean = lean_copy(tree)
    pieces, _ = without_copies(cut(tree))
    known = known_of(found)
    first, other = join(first_reading(copy(lean))), _by_readability(lean)
    columns, is_open = clues(pieces, known, first) if pieces else ({}, np.zeros(0, np.bool_))
    if not is_open.any():
        return None
    texts = [piece.text for piece, chosen in zip(pieces, is_open, strict=True) if chosen]
    if "text" in gold:
        if not _agreed(definitions, gold, (first, other, join(densest(lean)))):
            return None
        belongs, weights = _by_gold(definitions, gold, texts, strict=strict)
    else:
        belongs, weights = _by_snippets(texts, gold)
    varied = tuple(_rows(clues(pieces, known, text)[0]) for text in _others(other))
    names = tuple(columns)
    return Sample(definitions.publisher(page), names, _rows(columns), belongs, weights, varied)


def _by_readability(tree: HtmlElement) -> str:
    """Return the text that readability takes for the article, empty if it fails."""
    document = importlib.import_module("readability").Document  # needed for training only
    try:
        found = document(tostring(tree, encoding="unicode")).summary(html_partial=True)
        return join(render([fromstring(found)]))
    except Exception:  # noqa: BLE001 - if the library fails, only one variant of the page is missing
        return ""


def _rows(columns: Columns) -> NDArray[np.float32]:
    return np.stack(list(columns.values()), axis=1)


def _others(other: str) -> list[str]:
    return ["", other] if len(other) >= 100 else [""]


def _agreed(definitions: ModuleType, gold: dict[str, Any], texts: tuple[str, ...]) -> bool:
    """True if at least one text has something in common with the gold text."""
    for text in texts:
        true, false, missed, _ = definitions.body(gold, text, False)
        if 2 * true >= LEAST_AGREED * (2 * true + false + missed) > 0:
            return True
    return False


def _by_gold(
    definitions: ModuleType, gold: dict[str, Any], texts: list[str], *, strict: bool
) -> tuple[NDArray[np.int8], NDArray[np.float64]]:
    """Return for each piece whether it is in the gold text or in the standfirst, and its weight."""
    labels = _Labels(definitions, gold, strict=strict)
    said = [labels.of(text) for text in texts]
    belongs = np.array([answer for answer, _ in said], np.int8)
    weights = _balanced(np.array([weight for _, weight in said], float), belongs, labels.size)
    for index, text in enumerate(texts):
        if not belongs[index] and (count := labels.standfirst(text)):
            belongs[index] = 1
            weights[index] = LEAD * count / max(labels.size, 60) + 0.002
    return belongs, weights


class _Labels:
    """Decides whether a text is in the gold text, by sequences of up to four words."""

    def __init__(self, definitions: ModuleType, gold: dict[str, Any], *, strict: bool) -> None:
        self._words = definitions.WC.findall
        words = self._words(gold["text"])
        self.size = len(words)
        self._runs = {n: {tuple(words[i : i + n]) for i in range(len(words) - n + 1)} for n in (1, 2, 3, 4)}
        self._lines = {" ".join(self._words(line)) for line in gold["text"].split("\n")}
        optional = "" if strict else f"{gold.get('title') or ''} {gold.get('optional') or ''}"
        self._optional = " ".join(self._words(optional))
        self._title = key(gold.get("title") or "")
        self._standfirst = "" if strict else " ".join(self._words(gold.get("optional") or ""))

    def of(self, text: str) -> tuple[bool, int]:
        """Return the label and its weight in words; the weight is 0 if the label is unimportant."""
        words = self._words(text)
        length = min(4, len(words))
        if not length:
            return False, 0
        runs = [tuple(words[i : i + length]) for i in range(len(words) - length + 1)]
        share = sum(run in self._runs[length] for run in runs) / len(runs)
        line = " ".join(words)
        belongs = share > 0.5 if length == 4 else line in self._lines or (length == 3 and share == 1)
        if not belongs and length >= 2 and line in self._optional:
            return False, 0
        return belongs, len(words)

    def standfirst(self, text: str) -> int:
        """Return the number of words if the text is part of the standfirst; 0 for others and the headline."""
        words = self._words(text)
        inside = len(words) >= 5 and " ".join(words) in self._standfirst and key(text) != self._title
        return len(words) if inside else 0


def _by_snippets(texts: list[str], gold: dict[str, Any]) -> tuple[NDArray[np.int8], NDArray[np.float64]]:
    """Return for pieces with a snippet whether it is one of the article; other pieces have the weight 0."""
    wanted, unwanted = ([line for line in map(squash, gold.get(name, ())) if line] for name in ("inc", "exc"))
    said = [(any(line in text for line in wanted), any(line in text for line in unwanted)) for text in texts]
    belongs = np.array([inside for inside, _ in said], np.int8)
    return belongs, np.array([SNIPPET * (inside != outside) for inside, outside in said], float)


def _balanced(words: NDArray[np.float64], belongs: NDArray[np.int8], size: int) -> NDArray[np.float64]:
    """Return weights as the measure counts words. Boilerplate of a page weighs at most two articles."""
    weights = words / max(size, 60)
    foreign = weights[belongs == 0].sum()
    if foreign > 2:
        weights[belongs == 0] *= 2 / foreign
    balanced: NDArray[np.float64] = weights + (words > 0) * 0.002
    return balanced


def learn(samples: list[Sample]) -> list[Any]:
    """Return two forests of scikit-learn: one for the samples as read, one with the varied samples too."""
    plain = [(sample.rows, sample.belongs, sample.weights) for sample in samples]
    varied = [(rows, s.belongs, VARIED * s.weights) for s in samples for rows in s.varied]
    return [_fit(plain), _fit(plain + varied)]


def _fit(parts: list[tuple[NDArray[np.float32], NDArray[np.int8], NDArray[np.float64]]]) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier  # noqa: PLC0415 - not needed to score

    rows, belongs, weights = (np.concatenate(values) for values in zip(*parts, strict=True))
    counted = weights > 0
    weights = weights[counted]
    trees = HistGradientBoostingClassifier(**TREES)
    return trees.fit(rows[counted], belongs[counted], sample_weight=weights / weights.mean())


def _mean(forests: list[Any], rows: NDArray[np.float32]) -> NDArray[np.float64]:
    scores: NDArray[np.float64] = np.mean([trees.decision_function(rows) for trees in forests], axis=0)
    return scores


def as_json(forests: list[Any], names: tuple[str, ...]) -> str:
    """Return the mean of forests in the format of :class:`newsbot.extraction.body.forest.Forest`.

    Unused columns are dropped.
    """
    roots: list[int] = []
    nodes: list[tuple[int, float, int, int, float]] = []
    depth = 0
    for (predictor,) in (stage for trees in forests for stage in trees._predictors):  # noqa: SLF001 - no public name
        start = len(nodes)
        roots.append(start)
        for node in predictor.nodes:
            leaf = bool(node["is_leaf"])
            depth = max(depth, int(node["depth"]))
            nodes.append(
                (
                    -1 if leaf else int(node["feature_idx"]),
                    0.0 if leaf else float(f"{node['num_threshold']:.6g}"),
                    start + int(node["left"]),
                    start + int(node["right"]),
                    float(f"{node['value'] / len(forests):.4g}") if leaf else 0.0,
                )
            )
    used = sorted({node[0] for node in nodes} - {-1})
    number = {column: index for index, column in enumerate(used)} | {-1: -1}
    data = {
        "names": [names[column] for column in used],
        "base": float(np.mean([trees._baseline_prediction.item() for trees in forests])),  # noqa: SLF001
        "depth": depth,
        "roots": roots,
        "feature": [number[node[0]] for node in nodes],
        "threshold": [node[1] for node in nodes],
        "left": [node[2] for node in nodes],
        "right": [node[3] for node in nodes],
        "value": [node[4] for node in nodes],
    }
    lines = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in data.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


if __name__ == "__main__":
    main()
