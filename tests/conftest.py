"""Fixtures that several tests share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.mockserver import MockServer


@pytest.fixture
def site() -> Iterator[MockServer]:
    """A local web with pages of the test's own and named misbehaviours."""
    with MockServer() as server:
        yield server
