"""Long-lived data of a worker is bounded and small, and gives the same answers as a simple implementation."""

from __future__ import annotations

import ctypes
import linecache
import sys

import pytest

from newsbot.crawl import memory as heap


def test_source_code_read_for_a_traceback_is_not_kept() -> None:
    assert linecache.getlines(__file__)
    heap.trim()
    assert __file__ not in linecache.cache


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="glibc only")
def test_free_memory_is_returned_to_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    if not hasattr(ctypes.CDLL(None), "malloc_trim"):
        pytest.skip("not glibc")
    blocks = [bytearray(100_000) for _ in range(300)]
    kept = blocks[::10]
    del blocks
    assert heap.trim()
    assert len(kept) == 30


def test_memory_is_not_trimmed_without_glibc(monkeypatch: pytest.MonkeyPatch) -> None:
    heap.libc_function.cache_clear()
    monkeypatch.setattr(ctypes, "CDLL", lambda _: object())
    assert not heap.trim()
    heap.libc_function.cache_clear()
