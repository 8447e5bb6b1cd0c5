"""For each backend: a frontier with a clock that the test moves, a near-duplicate index, and a place for a
storage."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from newsbot.dedup.index import NearIndex
from newsbot.frontier.base import Frontier
from newsbot.storage.base import Storage
from tests.contracts import index_backends, storage_backends
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


@pytest.fixture(params=sorted(index_backends.BACKENDS))
def index_place(request: pytest.FixtureRequest, tmp_path: Path) -> index_backends.IndexPlace:
    return index_backends.IndexPlace(request.param, tmp_path)


@pytest.fixture
def index(index_place: index_backends.IndexPlace) -> Iterator[NearIndex]:
    opened = index_place.open()
    yield opened
    opened.close()


@pytest.fixture(params=sorted(storage_backends.BACKENDS))
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[storage_backends.Place]:
    """An empty place for the data of a storage. In MongoDB, each command must use an index."""
    if request.param == "sqlite":
        yield storage_backends.Place("sqlite", tmp_path)
        return
    uri = request.getfixturevalue("mongo_uri")
    storage_backends.empty_mongo(uri)
    with storage_backends.without_collection_scans(uri):
        yield storage_backends.Place(request.param, tmp_path, uri)


@pytest.fixture
def storage(place: storage_backends.Place) -> Iterator[Storage]:
    opened = place.open()
    yield opened
    opened.close()
