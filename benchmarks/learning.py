"""Learn which pieces of a page belong to its article, and say how well that holds for other publishers.

Reads the sets of :mod:`benchmarks.extraction` that have whole texts, and the one that has snippets: they say
little of each page, but of many publishers. Publishers are split in folds; the trees that read a fold have
never seen its publishers. Then trees are learned from all pages and written
to ``newsbot/extraction/forest.json``. Needs ``benchmarks/requirements.txt``.

    python -m benchmarks.learning [FOLDER] [--write] [--folds 5] [--keep DIR]

``--keep`` writes the trees of each fold to ``DIR/forest-N.json`` and the publishers of each fold to
``DIR/folds.json``: ``python -m benchmarks.extraction --left-out DIR`` measures the whole extractor with them.
"""

from __future__ import annotations

import argparse
import json
import logging
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.extraction import DATA, fold_of, load_definitions
from newsbot.errors import NotAnArticle
from newsbot.extraction.body import first_text, lean_copy
from newsbot.extraction.learned import clues
from newsbot.extraction.page import Page
from newsbot.extraction.parse import parse_html
from newsbot.extraction.pieces import cut
from newsbot.extraction.strings import squash
from newsbot.extraction.text import known_of

SETS = ("fundus", "aeb", "fundeval", "daniel-ru", "traf")
TARGET = Path(__file__).parent.parent / "newsbot" / "extraction" / "forest.json"
TREES = {
    "max_iter": 100,
    "learning_rate": 0.1,
    "max_leaf_nodes": 16,
    "min_samples_leaf": 40,
    "l2_regularization": 5.0,
    "max_features": 0.3,
    "random_state": 0,
}
"""Chosen by the mean over folds of publishers left out."""
SNIPPET = 0.02
"""Weight of a piece that a snippet speaks of, likewise chosen; the words of an article together weigh 1."""


@dataclass(frozen=True, slots=True)
class Sample:
    """The open pieces of one page: numbers, whether each is in the gold text, how much it weighs."""

    publisher: str
    names: tuple[str, ...]
    rows: NDArray[np.float32]
    belongs: NDArray[np.int8]
    weights: NDArray[np.float64]


def main(arguments: list[str] | None = None) -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", nargs="?", type=Path, default=DATA, help="where score.py and the sets are")
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--write", action="store_true", help=f"write {TARGET.name}")
    parser.add_argument("--keep", type=Path, help="folder for the trees of the folds")
    options = parser.parse_args(arguments)
    logging.getLogger("trafilatura").setLevel(logging.CRITICAL)
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
    """Learn with each fold left out; print the share of weight judged right on the fold."""
    folder.mkdir(parents=True, exist_ok=True)
    folds = {sample.publisher: fold_of(sample.publisher, count) for sample in samples}
    (folder / "folds.json").write_text(json.dumps({"count": count}), encoding="utf-8")
    for number in range(count):
        trees = learn([s for s in samples if folds[s.publisher] != number])
        (folder / f"forest-{number}.json").write_text(as_json(trees, samples[0].names), encoding="utf-8")
        left_out = [s for s in samples if folds[s.publisher] == number and s.weights.any()]
        right = [
            float(np.average((trees.decision_function(s.rows) > 0) == s.belongs, weights=s.weights))
            for s in left_out
        ]
        print(f"fold {number}: {len(left_out)} pages left out, judged right {np.mean(right):.3f}")


def read(definitions: ModuleType, page: dict[str, Any], *, strict: bool) -> Sample | None:
    """Return a page with what its gold text or snippets say of each piece; None for a page without."""
    gold = page["gold"]
    if "text" not in gold and "inc" not in gold:
        return None
    try:
        tree = parse_html(page["read"]())
    except NotAnArticle:
        return None
    found = Page.read(tree, page["url"])
    lean = lean_copy(tree, ())
    pieces = cut(tree)
    if not pieces:
        return None
    columns, is_open = clues(pieces, known_of(found), first_text(lean))
    if not is_open.any():
        return None
    names = tuple(columns)
    rows = np.stack([columns[name] for name in names], axis=1)
    texts = [piece.text for piece, chosen in zip(pieces, is_open, strict=True) if chosen]
    if "text" in gold:
        labels = _Labels(definitions, gold, strict=strict)
        said = [labels.of(text) for text in texts]
        belongs = np.array([answer for answer, _ in said], np.int8)
        weights = _balanced(np.array([weight for _, weight in said], float), belongs, labels.size)
    else:
        belongs, weights = _by_snippets(texts, gold)
    return Sample(definitions.publisher(page), names, rows, belongs, weights)


class _Labels:
    """Whether a text stands in the gold text, by its runs of up to four words."""

    def __init__(self, definitions: ModuleType, gold: dict[str, Any], *, strict: bool) -> None:
        self._words = definitions.WC.findall
        words = self._words(gold["text"])
        self.size = len(words)
        self._runs = {n: {tuple(words[i : i + n]) for i in range(len(words) - n + 1)} for n in (1, 2, 3, 4)}
        self._lines = {" ".join(self._words(line)) for line in gold["text"].split("\n")}
        optional = "" if strict else f"{gold.get('title') or ''} {gold.get('optional') or ''}"
        self._optional = " ".join(self._words(optional))

    def of(self, text: str) -> tuple[bool, int]:
        """Return the answer and its weight in words; 0 where it does not matter."""
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


def _by_snippets(texts: list[str], gold: dict[str, Any]) -> tuple[NDArray[np.int8], NDArray[np.float64]]:
    """Say of pieces that hold a snippet whether it is one of the article; all others weigh nothing."""
    wanted, unwanted = ([line for line in map(squash, gold.get(name, ())) if line] for name in ("inc", "exc"))
    said = [(any(line in text for line in wanted), any(line in text for line in unwanted)) for text in texts]
    belongs = np.array([inside for inside, _ in said], np.int8)
    return belongs, np.array([SNIPPET * (inside != outside) for inside, outside in said], float)


def _balanced(words: NDArray[np.float64], belongs: NDArray[np.int8], size: int) -> NDArray[np.float64]:
    """Weights as the measure counts words, by page; no page's boilerplate may weigh over two articles."""
    weights = words / max(size, 60)
    foreign = weights[belongs == 0].sum()
    if foreign > 2:
        weights[belongs == 0] *= 2 / foreign
    balanced: NDArray[np.float64] = weights + (words > 0) * 0.002
    return balanced


def learn(samples: list[Sample]) -> Any:
    """Return scikit-learn's boosted trees over the samples."""
    from sklearn.ensemble import HistGradientBoostingClassifier  # noqa: PLC0415 - not needed to score

    weights = np.concatenate([sample.weights for sample in samples])
    rows = np.concatenate([sample.rows for sample in samples])
    belongs = np.concatenate([sample.belongs for sample in samples])
    counted = weights > 0
    weights = weights[counted]
    trees = HistGradientBoostingClassifier(**TREES)
    return trees.fit(rows[counted], belongs[counted], sample_weight=weights / weights.mean())


def as_json(trees: Any, names: tuple[str, ...]) -> str:
    """Return the trees in the form of :class:`newsbot.extraction.forest.Forest`, only columns in use."""
    roots: list[int] = []
    nodes: list[tuple[int, float, int, int, float]] = []
    depth = 0
    for (predictor,) in trees._predictors:  # noqa: SLF001 - the nodes have no public name
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
                    float(f"{node['value']:.4g}") if leaf else 0.0,
                )
            )
    used = sorted({node[0] for node in nodes} - {-1})
    number = {column: index for index, column in enumerate(used)} | {-1: -1}
    data = {
        "names": [names[column] for column in used],
        "base": float(trees._baseline_prediction.item()),  # noqa: SLF001 - likewise
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
