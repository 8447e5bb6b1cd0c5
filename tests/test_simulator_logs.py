"""Random numbers, pages and logs match the experiment's description and depend only on the seed."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest

from newsbot.apps.simulator.model import (
    FREQUENCIES,
    MAX_SIZE,
    MIN_SIZE,
    NEVER,
    NEW,
    ChangeLog,
    between,
    exponential,
    make_changes,
    make_pages,
    make_queries,
    make_routes,
    pack,
    stream,
)

KEY = stream("a test")


def test_integers_are_uniformly_distributed() -> None:
    drawn = np.array([between(KEY, number, 1, 40) for number in range(20_000)])
    counts = np.bincount(drawn, minlength=41)[1:]
    assert (drawn.min(), drawn.max()) == (1, 40)
    assert ((counts - 500) ** 2 / 500).sum() < 70  # chi-square, 39 degrees of freedom: 1 in 600


def test_gaps_are_exponential() -> None:
    gaps = np.sort([exponential(KEY, number, 10.0) for number in range(20_000)])
    expected = 1 - np.exp(-gaps / 10)
    observed = np.arange(1, len(gaps) + 1) / len(gaps)
    assert abs(observed - expected).max() < 1.63 / sqrt(len(gaps))  # Kolmogorov-Smirnov, 1 %


def test_streams_depend_on_their_words() -> None:
    assert stream("pages", 1, 23) != stream("pages", 12, 3)
    assert stream("pages", 1) == stream("pages", 1)


@pytest.mark.parametrize("intensity", [0.3, 5, 50])
def test_a_log_has_one_additional_row_per_page(intensity: float) -> None:
    pages, time = 4_000, 100_000
    log = make_queries(pages, time, intensity, KEY)
    assert abs(log.rows - (intensity + 1) * pages) < 4 * sqrt(intensity * pages)
    last = log.times[log.starts[1:] - 1]
    assert (last > time).all()
    assert (log.times > time).sum() == pages
    assert (np.diff(log.times) >= 0)[np.setdiff1d(np.arange(log.rows - 1), log.starts[1:-1] - 1)].all()


def test_the_history_of_a_page_does_not_depend_on_other_pages() -> None:
    few, many = make_queries(10, 1_000, 5, KEY), make_queries(500, 1_000, 5, KEY)
    assert few.times.tolist() == many.times[: few.rows].tolist()


@pytest.mark.parametrize("preset", sorted(FREQUENCIES))
def test_types_have_the_given_frequencies_and_determine_the_sizes(preset: str) -> None:
    sizes = make_pages(2_000, KEY)
    assert MIN_SIZE <= sizes.min() < sizes.max() <= MAX_SIZE
    log = make_changes(sizes, 100_000, 20, FREQUENCIES[preset], KEY)
    shares = np.bincount(log.types, minlength=7)[1:] / log.rows
    assert shares == pytest.approx(FREQUENCIES[preset], abs=0.01)
    before = np.concatenate([np.insert(log.sizes[a : b - 1], 0, size) for a, b, size in zip(log.starts, log.starts[1:], sizes, strict=False)])  # fmt: skip  # noqa: E501
    assert (log.sizes <= before)[log.types == 4].all()
    assert (log.sizes >= before)[log.types == 5].all()
    assert (log.sizes == before)[(log.types != 4) & (log.types != 5)].all()


def test_rows_that_are_not_changes() -> None:
    """No changes: a repeated type with the old size, type 6 after 4 or 5, rows at time 0 or after the end."""
    kinds = [1, 6, 6, 1, 1, 2, 6, 4, 4, 6, 5, 5, 3]
    times = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]
    new = [False, False, True, False, True, True, True, True, False, True, True]
    log = ChangeLog(np.array([0, 13]), np.array(times), np.array(kinds), np.full(13, 70))
    history = pack(np.array([99]), log, 11)
    inner = history.rows[1:-1]
    assert [bool(row & NEW) for row in inner] == new
    assert (inner >> 32).tolist() == times[1:-1]
    assert history.rows[-1] >> 32 == NEVER


@pytest.mark.parametrize("robots", [1, 3, 5, 7])
def test_routes_are_contiguous_parts_of_about_equal_size(robots: int) -> None:
    routes = make_routes(100, robots)
    assert routes.pages.tolist() == list(range(100))
    sizes = np.diff(routes.starts)
    assert len(sizes) == routes.robots == robots
    assert sizes.max() - sizes.min() <= 1
