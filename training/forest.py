"""Trains the trees that decide which pieces of a page are article text, with cross-validation by publisher.

Reads the sets of :mod:`benchmarks.extraction` with whole texts, and a set with snippets. The snippets are
short parts of pages from many publishers. ``--labels`` adds texts that an earlier extraction found on pages
without a gold text. ``--freeze`` writes these texts to a file. They are not in the repository, because the
publishers own them. The publishers are split into folds. Each fold is judged with trees that were trained on
the other folds. The final trees are trained on all pages and written to
``newsbot/pages/extraction/body/forest.json``. Needs ``benchmarks/requirements.txt``.

    python -m training.forest [FOLDER] --freeze FILE --by CHECKOUT
    python -m training.forest [FOLDER] [--labels FILE] [--mixed PAGES] [--write] [--folds 5] [--keep DIR]

``--keep`` writes the trees of each fold to ``DIR/forest-N.json`` and the number of folds to
``DIR/folds.json``: ``python -m benchmarks.extraction --left-out DIR`` measures the whole extraction with
them.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import mixed
from benchmarks.extraction import DATA, fold_of, load_definitions
from newsbot.errors import NotAnArticle
from newsbot.pages.extraction.body.features import columns_of
from newsbot.pages.extraction.body.text import LEAVES, SCALE, stated_blocks, view_of
from newsbot.pages.extraction.page import Page
from newsbot.pages.extraction.parsing import parse_html
from newsbot.pages.text.words import key, squash

HERE = Path(__file__).parent.parent
SETS = ("fundus", "aeb", "fundeval", "daniel-ru", "traf")
MORE = {"wcxb": 0.5, "daniel-en": 0.5, "daniel-pl": 0.5, "daniel-el": 0.5, "daniel-zh": 0.5}
"""Further sets with whole texts, in the folder ``gold``, and the weight of their pages.

Their gold texts are less exact than those of :data:`SETS`, or their pages are rarely news.
"""
LABELLED = ("traf", "htmldate")
"""Sets without gold texts. Their pages are labelled by the texts that an earlier extraction found."""
TARGET = HERE / "newsbot" / "pages" / "extraction" / "body" / "forest.json"
TREES = {
    "objective": "binary",
    "learning_rate": 0.1,
    "num_leaves": LEAVES,
    "min_data_in_leaf": 80,
    "lambda_l2": 20.0,
    "feature_fraction": 0.1,
    "bagging_fraction": 0.6,
    "bagging_freq": 1,
    "max_bin": 127,
    "deterministic": True,
    "num_threads": 1,
    "verbosity": -1,
}
"""These parameters were chosen by the mean result over the folds.

Each tree sees only a few of the features and of the pieces. Otherwise the trees would overfit to the few
publishers.
"""
ROUNDS = 250
SEEDS = (0, 1, 2)
"""The forest is the mean of three models. The F1 of a single model varies by .003 with the seed."""
SNIPPET = 0.02
"""Weight of a piece with a snippet. It was also chosen by the mean result over the folds. The total weight of
an article's words is 1."""
LEAD = 0.5
"""Weight of the words of a standfirst: it belongs to the article, but the measure does not require it."""
LABEL = 0.3
"""Weight of a page that is labelled by the text of an earlier extraction."""
MIXED = 0.5
"""Weight of a page of :mod:`benchmarks.mixed`."""
MIXED_PAGES = 2
"""Number of pages of each theme of that benchmark. It is low, because all pages of a theme have the same
markup."""
LEAST_AGREED = 0.3
"""Minimum share of a gold text in the pieces of its page. Otherwise the text belongs to another page."""

FEW_HELD = 2
"""A piece that contains more other pieces than this is a second copy of the text."""

Gold = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Sample:
    """The judged pieces of one page: features, whether each is in the gold text, and weights."""

    name: str
    id: str
    publisher: str
    names: tuple[str, ...]
    rows: NDArray[np.float32]
    belongs: NDArray[np.int8]
    weights: NDArray[np.float64]


def main(arguments: list[str] | None = None) -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", nargs="?", type=Path, default=DATA, help="where score.py and the sets are")
    parser.add_argument("--labels", type=Path, help="texts for pages without a gold text, from --freeze")
    parser.add_argument("--mixed", type=Path, help="pages of benchmarks.mixed, from its --keep")
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--write", action="store_true", help=f"write {TARGET.name}")
    parser.add_argument("--keep", type=Path, help="folder for the trees of the folds")
    parser.add_argument("--freeze", type=Path, help="write the texts that an extraction gives, and stop")
    parser.add_argument("--by", type=Path, default=HERE, help="the checkout whose extraction --freeze uses")
    options = parser.parse_args(arguments)
    if options.freeze is not None:
        freeze(options.folder, options.freeze, options.by)
        return
    definitions = load_definitions(options.folder)
    samples = list(read_all(definitions, options.folder, options.labels))
    if options.mixed is not None:
        samples += read_mixed(definitions, options.mixed)
    print(f"{len(samples)} pages, {sum(len(s.rows) for s in samples)} pieces", flush=True)
    if options.keep is not None:
        learn_folds(samples, options.folds, options.keep)
    if options.write:
        TARGET.write_text(as_json(learn(samples), samples[0].names), encoding="utf-8")


_READER = """
import json, sys
from pathlib import Path
from benchmarks.extraction import load_definitions
from newsbot.pages.extraction import extract
folder = Path(sys.argv[1])
for name in sys.argv[2:]:
    for page in load_definitions(folder).ds_flat(str(folder / name)):
        try:
            article = extract(page["read"](), page["url"])
        except ValueError:  # one page of the set has an invalid URL
            continue
        if article is not None:
            record = {"set": name, "id": page["id"], "title": article.title, "text": article.text}
            print(json.dumps(record, ensure_ascii=False), flush=True)
"""
"""This program runs in another checkout, so it uses only functions that all versions have."""


def freeze(folder: Path, target: Path, checkout: Path) -> None:
    """Write the texts that another checkout finds on the pages of :data:`LABELLED`, as JSON lines."""
    place = checkout.resolve()
    command = [sys.executable, "-c", _READER, str(folder.resolve()), *LABELLED]
    with target.open("wb") as lines:
        environment = {**os.environ, "PYTHONPATH": str(place), "PYTHONUTF8": "1"}
        subprocess.run(command, cwd=place, env=environment, stdout=lines, check=True)


def read_all(definitions: ModuleType, folder: Path, labels: Path | None) -> Iterator[Sample]:
    """Yield a sample for each page that has a gold text, snippets or a frozen text."""
    frozen = _frozen(labels) if labels is not None else {}
    for name in dict.fromkeys((*SETS, *(LABELLED if frozen else ()))):
        for page in definitions.ds_flat(str(folder / name)):
            sample = read(definitions, name, page, frozen.get((name, page["id"])))
            if sample is not None:
                yield sample
    for name, weight in MORE.items():
        if (folder / "gold" / name).is_dir():
            for page in definitions.ds_flat(str(folder / "gold" / name)):
                sample = read(definitions, name, page, None)
                if sample is not None:
                    yield replace(sample, weights=weight * sample.weights)


def read_mixed(definitions: ModuleType, folder: Path) -> Iterator[Sample]:
    """Yield samples of the themes that may be looked at; each theme counts as a publisher."""
    themes: dict[str, list[Gold]] = {}
    for page in mixed.read_pages(definitions, folder, mixed.LOOKED_AT):
        themes.setdefault(page["theme"], []).append(page)
    for number, pages in enumerate(themes.values()):
        step = len(pages) // MIXED_PAGES
        for page in pages[number % step :: step]:
            gold = page["gold"] | {"optional": ""}  # captions do not belong to the text
            sample = read(definitions, "mixed", page | {"gold": gold}, None)
            if sample is not None:
                yield replace(sample, weights=MIXED * sample.weights)


def _frozen(labels: Path) -> dict[tuple[str, str], Gold]:
    with labels.open(encoding="utf-8") as lines:
        found = [json.loads(line) for line in lines]
    return {(record["set"], record["id"]): record for record in found}


def learn_folds(samples: list[Sample], count: int, folder: Path) -> None:
    """Train with each fold left out; print the share of weight that is judged correctly on the fold."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "folds.json").write_text(json.dumps({"count": count}), encoding="utf-8")
    for number in range(count):
        trees = learn([s for s in samples if fold_of(s.publisher, count) != number])
        (folder / f"forest-{number}.json").write_text(as_json(trees, samples[0].names), encoding="utf-8")
        left_out = [s for s in samples if fold_of(s.publisher, count) == number and s.weights.any()]
        right = [
            float(np.average((_mean(trees, s.rows) > 0) == s.belongs, weights=s.weights)) for s in left_out
        ]
        print(
            f"fold {number}: {len(left_out)} pages left out, share judged correctly {np.mean(right):.3f}",
            flush=True,
        )


def read(definitions: ModuleType, name: str, page: Gold, label: Gold | None) -> Sample | None:
    """Return a page with labels from its gold text, frozen text or snippets.

    The result is None if the page has none of these, or if it lacks the gold text (:data:`LEAST_AGREED`).
    """
    gold = page["gold"]
    if "text" not in gold and "inc" not in gold and label is None:
        return None
    try:
        found = Page.read(parse_html(page["read"]()), page["url"])
    except NotAnArticle:
        return None
    view = view_of(found, stated_blocks(found))
    if not view.count or not view.is_open.any():
        return None
    columns = columns_of(view)
    copies = columns["holds"] > FEW_HELD
    texts = [view.pieces.texts[place] for place in np.flatnonzero(view.is_open).tolist()]
    labelled = _labelled(definitions, (name, gold, label), texts, copies)
    if labelled is None:
        return None
    rows = np.stack(list(columns.values()), axis=1, dtype=np.float32, casting="unsafe")
    return Sample(name, page["id"], definitions.publisher(page), tuple(columns), rows, *labelled)


def _labelled(
    definitions: ModuleType,
    page: tuple[str, Gold, Gold | None],
    texts: list[str],
    copies: NDArray[np.bool_],
) -> tuple[NDArray[np.int8], NDArray[np.float64]] | None:
    name, gold, label = page
    if "text" in gold:
        return _by_gold(definitions, gold, texts, copies, strict=name == "aeb")
    found = _by_gold(definitions, label, texts, copies, strict=False) if label is not None else None
    if "inc" not in gold:
        return None if found is None else (found[0], LABEL * found[1])
    belongs, weights = _by_snippets(texts, gold)
    if found is None:
        return belongs, weights
    has_snippet = weights > 0
    return np.where(has_snippet, belongs, found[0]), np.where(
        has_snippet, np.maximum(weights, LABEL * found[1]), LABEL * found[1]
    )


def _by_gold(
    definitions: ModuleType, gold: Gold, texts: list[str], copies: NDArray[np.bool_], *, strict: bool
) -> tuple[NDArray[np.int8], NDArray[np.float64]] | None:
    """For each piece, return whether it is in the gold text or the standfirst, and its weight."""
    labels = _Labels(definitions, gold, strict=strict)
    judged = [(False, 0)] * len(texts)
    for index in np.argsort(copies, kind="stable").tolist():
        judged[index] = labels.of(texts[index])
    belongs = np.array([answer for answer, _ in judged], np.int8)
    counts = np.array([weight for _, weight in judged], float)
    if counts[belongs == 1].sum() < LEAST_AGREED * labels.size:
        return None
    weights = _balanced(counts, belongs, labels.size)
    for index, text in enumerate(texts):
        if not belongs[index] and (count := labels.standfirst(text)):
            belongs[index] = 1
            weights[index] = LEAD * count / max(labels.size, 60) + 0.002
    return belongs, weights


class _Labels:
    """Recognises pieces of the gold text by their runs of up to four words."""

    def __init__(self, definitions: ModuleType, gold: Gold, *, strict: bool) -> None:
        self._words = definitions.WC.findall
        words = self._words(gold["text"])
        self.size = len(words)
        self._runs = {
            n: Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1)) for n in (1, 2, 3, 4)
        }
        """Remaining uses of each run. A run of the gold text labels only one piece: copies get no label."""
        self._lines = Counter(" ".join(self._words(line)) for line in gold["text"].split("\n"))
        optional = "" if strict else f"{gold.get('title') or ''} {gold.get('optional') or ''}"
        self._optional = " ".join(self._words(optional))
        self._title = key(gold.get("title") or "")
        self._standfirst = "" if strict else " ".join(self._words(gold.get("optional") or ""))

    def of(self, text: str) -> tuple[bool, int]:
        """Return whether a text is in the gold text, and the weight of the text in words (0 for optional
        text)."""
        words = self._words(text)
        length = min(4, len(words))
        if not length:
            return False, 0
        runs = [tuple(words[i : i + length]) for i in range(len(words) - length + 1)]
        share = sum(self._runs[length][run] > 0 for run in runs) / len(runs)
        line = " ".join(words)
        belongs = share > 0.5 if length == 4 else self._lines[line] > 0 or (length == 3 and share == 1)
        if belongs:
            self._runs[length].subtract(runs)
            self._lines[line] -= 1
        elif length >= 2 and line in self._optional:
            return False, 0
        return belongs, len(words)

    def standfirst(self, text: str) -> int:
        """Return the number of words of a text in the standfirst, and 0 for other texts and the headline."""
        words = self._words(text)
        inside = len(words) >= 5 and " ".join(words) in self._standfirst and key(text) != self._title
        return len(words) if inside else 0


def _by_snippets(texts: list[str], gold: Gold) -> tuple[NDArray[np.int8], NDArray[np.float64]]:
    """Return for each piece whether it has a snippet of the article. The weight of other pieces is 0."""
    wanted, unwanted = ([line for line in map(squash, gold.get(name, ())) if line] for name in ("inc", "exc"))
    matches = [
        (any(line in text for line in wanted), any(line in text for line in unwanted)) for text in texts
    ]
    belongs = np.array([inside for inside, _ in matches], np.int8)
    return belongs, np.array([SNIPPET * (inside != outside) for inside, outside in matches], float)


def _balanced(words: NDArray[np.float64], belongs: NDArray[np.int8], size: int) -> NDArray[np.float64]:
    """Return weights relative to the article's length. The total of other pieces is at most 2."""
    weights = words / max(size, 60)
    foreign = weights[belongs == 0].sum()
    if foreign > 2:
        weights[belongs == 0] *= 2 / foreign
    balanced: NDArray[np.float64] = weights + (words > 0) * 0.002
    return balanced


def learn(samples: Iterable[Sample]) -> list[Any]:
    """Return the models that LightGBM has trained on the samples, one for each of :data:`SEEDS`."""
    import lightgbm  # noqa: PLC0415 - not needed to score

    parts = [(sample.rows, sample.belongs, sample.weights) for sample in samples]
    rows, belongs, weights = (np.concatenate(values) for values in zip(*parts, strict=True))
    counted = weights > 0
    weights = weights[counted]
    data = lightgbm.Dataset(
        rows[counted], label=belongs[counted], weight=weights / weights.mean(), params=TREES
    )
    return [lightgbm.train({**TREES, "seed": seed}, data, ROUNDS) for seed in SEEDS]


def _mean(models: list[Any], rows: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the mean score of each row, in log odds."""
    scores: NDArray[np.float64] = np.mean([model.predict(rows, raw_score=True) for model in models], axis=0)
    return scores


def as_json(models: list[Any], names: tuple[str, ...]) -> str:
    """Return the mean of the models as JSON for ``judge.from_json``, without unused features."""
    scale = SCALE / len(models)
    nodes: list[tuple[int, float, int]] = []
    values: list[int] = []
    for tree in [tree for model in models for tree in model.dump_model()["tree_info"]]:
        own, leaves = _nodes_and_leaves(tree["tree_structure"])
        nodes += own + [(own[0][0], 0.0, 0xFF)] * (LEAVES - 1 - len(own))
        values += [round(scale * leaf) for leaf in leaves] + [0] * (LEAVES - len(leaves))
    used = sorted({feature for feature, _, _ in nodes})
    data = {
        "names": [names[column] for column in used],
        "feature": [used.index(feature) for feature, _, _ in nodes],
        "threshold": [threshold for _, threshold, _ in nodes],
        "mask": [mask for _, _, mask in nodes],
        "value": values,
    }
    lines = [f"{json.dumps(key)}: {json.dumps(value, separators=(',', ':'))}" for key, value in data.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _nodes_and_leaves(tree: dict[str, Any]) -> tuple[list[tuple[int, float, int]], list[float]]:
    """Return the nodes of a tree as (feature, threshold, mask), and its leaves from left to right."""
    nodes: list[tuple[int, float, int]] = []
    leaves: list[float] = []

    def walk(node: dict[str, Any]) -> None:
        if "split_feature" not in node:
            leaves.append(node["leaf_value"])
            return
        first = len(leaves)
        walk(node["left_child"])
        lost = (1 << len(leaves)) - (1 << first)
        nodes.append((node["split_feature"], float(f"{node['threshold']:.6g}"), 0xFF & ~lost))
        walk(node["right_child"])

    walk(tree)
    return nodes, leaves


if __name__ == "__main__":
    main()
