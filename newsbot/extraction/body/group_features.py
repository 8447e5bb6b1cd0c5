"""Computes features of a piece of text from its group, its place, its neighbours and another extractor."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

from newsbot.extraction.body.pieces import Box, Piece
from newsbot.extraction.body.word_features import Columns

_LEVELS = 4
"""Number of ways to group pieces: by the kind of box, and by the box that is one, two or three steps up."""
_FAR = 50.0
"""The number of steps to a box that is not around the piece, and the maximum distance to a taken piece."""
_NOWHERE = 99.0
"""The distance to a piece that does not exist."""
_LEAST = 25
"""Minimum worth of a piece that counts as prose: its letters minus twice those in links."""
_LONG = 400
"""Worth above which a piece also counts for its own box, as in :mod:`density`."""


def surrounding_clues(pieces: list[Piece], own: Columns, extracted: str) -> Columns:
    """Return the features of the surroundings of each piece by name.

    ``own`` has the basic features of each piece, ``title`` included. ``extracted`` is the text of another
    extractor.
    """
    view = _View(pieces, own)
    return view.groups() | view.densest() | view.places() | view.neighbours() | view.extracted(extracted)


class _View:
    """The pieces of a page as arrays, from which the features are computed."""

    def __init__(self, pieces: list[Piece], own: Columns) -> None:
        self._pieces = pieces
        self._boxes = [piece.box for piece in pieces]
        self._tags = own["tag"]
        self._own = own
        self._length = own["length"].astype(np.float64)
        self._linked = own["linked"].astype(np.float64)
        # Short lines and lines that are mostly links are not prose.
        prose = (self._length >= 40) & (self._linked < 0.5)
        self._prose = np.where(prose, self._length * (1 - self._linked), 0.0)
        self._all_prose = self._prose.sum() or 1.0  # 1, so that shares of nothing are 0
        self._keys = [_numbered([box.kind for box in self._boxes])]
        self._keys += [_numbered([box.above(step) for box in self._boxes]) for step in range(1, _LEVELS)]

    def groups(self) -> Columns:
        """Return features of the four groups to which each piece belongs.

        One group has the pieces in boxes of the same kind. The others have the pieces below the box that is
        one, two or three steps up.
        """
        sure = (self._own["ends"] > 0) & (self._length >= 60) & (self._linked < 0.3)
        columns: Columns = {}
        for level, keys in enumerate(self._keys):
            # bincount() sums over each group, and values[keys] gives each piece the sum of its group.
            prose = np.bincount(keys, self._prose)
            letters = np.maximum(1.0, np.bincount(keys, self._length))
            count = np.bincount(keys)
            for name, values in (
                ("most", prose / (prose.max() or 1.0)),
                ("share", prose / self._all_prose),
                ("linked", np.bincount(keys, self._length * self._linked) / letters),
                ("count", count),
                ("mean", letters / count),
                ("sure", np.bincount(keys, np.where(sure, self._length, 0.0)) / letters),
            ):
                columns[f"group{level}_{name}"] = values[keys].astype(np.float32)
        return columns

    def densest(self) -> Columns:
        """Return the steps up to the box with most prose, and how much prose the piece's own boxes have.

        The box is found as in :mod:`density`. The second feature is relative to the prose of that box.
        """
        scores: dict[Box, float] = {}
        worths = self._length * (1 - 2 * self._linked)
        for box, worth in zip(self._boxes, worths.tolist(), strict=True):
            if worth < _LEAST:
                continue
            for step, share in enumerate((0.6 if worth > _LONG else 0.0, 1.0, 0.6)):
                around = box.above(step)
                scores[around] = scores.get(around, 0.0) + share * worth
        count = len(self._pieces)
        if not scores:
            return {name: np.full(count, -1.0, np.float32) for name in ("densest_up", "densest_like")}
        best = max(scores, key=lambda box: scores[box])
        ups: dict[Box, tuple[float, float]] = {}
        for box in self._boxes:
            if box not in ups:
                ups[box] = (
                    _steps(box, best),
                    max(scores.get(box.above(step), 0.0) for step in range(3)) / scores[best],
                )
        found = np.array([ups[box] for box in self._boxes], np.float32)
        return {"densest_up": found[:, 0], "densest_like": found[:, 1]}

    def places(self) -> Columns:
        """Return the position of each piece in the page, relative to the headline and to the prose."""
        passed = np.cumsum(self._length)
        columns = {
            "place": passed / passed[-1],
            "prose_before": np.cumsum(self._prose) / self._all_prose,
            "all_prose": np.full(len(passed), self._all_prose),
        }
        prose = np.flatnonzero(self._prose > 0)
        after, before = _ranks(prose, len(passed))
        columns["next_prose"] = np.minimum(_distance(prose, after, len(passed), 1), 40)
        columns["last_prose"] = np.minimum(_distance(prose, before, len(passed), -1), 40)
        return {
            name: values.astype(np.float32) for name, values in (columns | self._headline(passed)).items()
        }

    def _headline(self, passed: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
        count = len(passed)
        at = self._headline_index()
        # -999 tells the trees that the page has no headline. Hardly any other piece has this value.
        if at is None:
            nothing = np.full(count, -999.0)
            return dict.fromkeys(("pieces_since", "letters_since", "common_up", "common_down"), nothing)
        line: dict[Box, int] = {}
        box: Box | None = self._boxes[at]
        while box is not None:
            line[box] = len(line)
            box = box.parent
        met = [_meeting(box, line) for box in self._boxes]
        return {
            "pieces_since": np.arange(count) - float(at),
            "letters_since": passed - passed[at],
            "common_up": np.array([up for up, _ in met], float),
            "common_down": np.array([down for _, down in met], float),
        }

    def _headline_index(self) -> int | None:
        """Return the index of the headline, or None if there is none.

        The headline is an ``h1`` with the page's title, else another piece with it, else the first ``h1``.
        """
        titles = np.flatnonzero(self._own["title"] > 0)
        firsts = [index for index, box in enumerate(self._boxes) if box.tag == "h1"]
        both = [index for index in titles if self._boxes[index].tag == "h1"]
        chosen = [*both[:1], *titles[:1], *firsts[:1]]
        return int(chosen[0]) if chosen else None

    def neighbours(self) -> Columns:
        """Return lengths, links, ends and kinds of the pieces before and after each piece."""
        columns: dict[str, NDArray[np.float64]] = {}
        ends, kinds = self._own["ends"].astype(np.float64), self._keys[0].astype(np.float64)
        for step in (-3, -2, -1, 1, 2, 3):
            columns[f"at{step}_length"] = _shifted(self._length, step)
            columns[f"at{step}_linked"] = _shifted(self._linked, step)
            if abs(step) < 3:
                columns[f"at{step}_ends"] = _shifted(ends, step)
                columns[f"at{step}_same"] = (_shifted(kinds, step) == kinds).astype(np.float64)
            if abs(step) == 1:
                columns[f"at{step}_tag"] = _shifted(self._tags.astype(np.float64), step)
        for reach in (3, 8):
            letters = np.maximum(1.0, _window(self._length, reach))
            columns[f"within{reach}_prose"] = _window(self._prose, reach) / self._all_prose
            columns[f"within{reach}_linked"] = _window(self._length * self._linked, reach) / letters
        return {name: values.astype(np.float32) for name, values in columns.items()}

    def extracted(self, text: str) -> Columns:
        """Return features that show if each piece and its neighbours are in the text of another extractor."""
        count = len(self._pieces)
        lines = set(text.split("\n"))
        # The other extractor may join pieces, so a piece also counts (as 1) if the text contains its start.
        hits = [2 if p.text in lines else 1 if p.text[:50] in text else 0 for p in self._pieces]
        found = np.array(hits, float)
        inside = np.where(found > 0, self._length, 0.0)
        total = inside.sum() or 1.0
        prose, taken = np.flatnonzero(self._prose > 0), np.flatnonzero(found > 0)
        after, before = _ranks(prose, count)
        columns = {
            "found": found,
            "found_next": _shifted(found, 1),
            "found_last": _shifted(found, -1),
            "found_before": np.cumsum(inside) / total,
            "found_within": _window(inside, 3) / np.maximum(1.0, _window(self._length, 3)),
            "found_next_prose": _picked(found, prose, after),
            "found_last_prose": _picked(found, prose, before),
            "found_letters": np.full(count, total),
            "found_of_prose": np.full(count, total / self._all_prose),
        }
        after, before = _ranks(taken, count, itself=True)
        columns["found_ahead"] = np.minimum(_distance(taken, after, count, 1), _FAR)
        columns["found_behind"] = np.minimum(_distance(taken, before, count, -1), _FAR)
        for level, keys in enumerate(self._keys[:3]):
            held = np.bincount(keys, inside)
            columns[f"found{level}_share"] = (held / np.maximum(1.0, np.bincount(keys, self._length)))[keys]
            columns[f"found{level}_of_all"] = (held / total)[keys]
        return {name: values.astype(np.float32) for name, values in columns.items()}


def _numbered(keys: Sequence[Hashable]) -> NDArray[np.intp]:
    """Return the number of each key's group, counted from 0 in order of appearance."""
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys], np.intp)


def _meeting(box: Box, line: dict[Box, int]) -> tuple[int, int]:
    """Return the steps from the headline up to the box that it shares with ``box``, and from there down.

    ``line`` has the steps from the headline to each of its boxes.
    """
    down = 0
    above: Box | None = box
    while above is not None and above not in line:
        above = above.parent
        down += 1
    return (line[above] if above is not None else len(line)), down


def _steps(box: Box, outer: Box) -> float:
    """Return the steps up from ``box`` to ``outer``, or _FAR if ``box`` is not inside ``outer``."""
    above: Box | None = box
    count = 0
    while above is not None and above is not outer:
        above = above.parent
        count += 1
    return float(count) if above is not None else _FAR


def _ranks(
    marked: NDArray[np.intp], count: int, *, itself: bool = False
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return for each place the index in ``marked`` of the next marked place, and of the previous one.

    The index is ``len(marked)`` or -1 if there is none. With ``itself``, a marked place counts as its own
    next and previous one.
    """
    places = np.arange(count)
    after = np.searchsorted(marked, places, "left" if itself else "right")
    before = np.searchsorted(marked, places, "right" if itself else "left") - 1
    return after.astype(np.intp), before.astype(np.intp)


def _distance(
    marked: NDArray[np.intp], ranks: NDArray[np.intp], count: int, sign: int
) -> NDArray[np.float64]:
    """Return the distance from each place to the marked place of its rank.

    ``sign`` is 1 for places ahead and -1 for places behind.
    """
    if not len(marked):
        return np.full(count, _NOWHERE)
    valid = (ranks >= 0) & (ranks < len(marked))
    target = marked[np.clip(ranks, 0, len(marked) - 1)]
    return np.where(valid, sign * (target - np.arange(count)), _NOWHERE).astype(np.float64)


def _picked(
    values: NDArray[np.float64], marked: NDArray[np.intp], ranks: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Return for each place the value at the marked place of its rank, -1 if there is none."""
    if not len(marked):
        return np.full(len(ranks), -1.0)
    valid = (ranks >= 0) & (ranks < len(marked))
    return np.where(valid, values[marked[np.clip(ranks, 0, len(marked) - 1)]], -1.0)


def _shifted(values: NDArray[np.float64], step: int) -> NDArray[np.float64]:
    """Return for each place the value ``step`` places after it (before if negative), -1 beyond the ends."""
    result = np.full(len(values), -1.0)
    if abs(step) < len(values):
        if step > 0:
            result[:-step] = values[step:]
        else:
            result[-step:] = values[:step]
    return result


def _window(values: NDArray[np.float64], reach: int) -> NDArray[np.float64]:
    """Return for each place the sum of the values up to ``reach`` places before and after it."""
    # With prefix sums, the time does not depend on the reach.
    sums = np.concatenate(([0.0], np.cumsum(values)))
    places = np.arange(len(values))
    return sums[np.minimum(len(values), places + reach + 1)] - sums[np.maximum(0, places - reach)]
