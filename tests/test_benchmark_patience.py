"""Limits for foreign extractors while they are measured."""

from __future__ import annotations

import socket

import pytest

from benchmarks.patience import TooSlow, bounded


def test_an_extractor_that_catches_every_exception_is_stopped_too() -> None:
    def endless(_: bytes, __: str) -> dict[str, object]:
        while True:
            try:
                sum(range(10_000))
            except Exception:  # noqa: BLE001 - as some extractors do
                continue

    with pytest.raises(TooSlow, match="CPU"):
        bounded(endless, 0.05)(b"", "")


def test_the_network_is_blocked() -> None:
    def asking(_: bytes, __: str) -> dict[str, object]:
        with socket.socket() as one, pytest.raises(OSError, match="no network"):
            one.connect(("127.0.0.1", 9))
        return {"title": "x"}

    assert bounded(asking)(b"", "") == {"title": "x"}
