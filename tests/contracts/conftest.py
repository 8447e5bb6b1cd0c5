"""One frontier for each backend, with a clock that the test moves."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from newsbot.frontier.base import Frontier
from tests.contracts.frontier_backends import BACKENDS, FakeClock, FrontierPlace


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture(params=sorted(BACKENDS))
def frontier_place(request: pytest.FixtureRequest, tmp_path: Path) -> FrontierPlace:
    return FrontierPlace(request.param, tmp_path)


@pytest.fixture
def frontier(frontier_place: FrontierPlace, clock: FakeClock) -> Iterator[Frontier]:
    opened = frontier_place.open(clock)
    yield opened
    opened.close()
