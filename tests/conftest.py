"""Fixtures that several tests share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.crawls import World
from tests.mockserver import MockServer


@pytest.fixture
def site() -> Iterator[MockServer]:
    """A local web with pages of the test's own and named misbehaviours."""
    with MockServer() as server:
        yield server


@pytest.fixture
def world(tmp_path: Path, site: MockServer) -> World:
    """A data folder and a rules folder for whole crawls of ``site``."""
    return World(tmp_path, site)
