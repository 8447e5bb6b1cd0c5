"""Memory that the C library keeps or returns to the system."""

from __future__ import annotations

import ctypes
import subprocess
import sys

import pytest

_WORK = """
import resource, sys, threading
from newsbot.apps.web.service import keep_free
if sys.argv[1] == "keep":
    assert keep_free(32 * 2**20)

def work():
    for turn in range(50):
        pieces = [bytearray(100_000) for _ in range(40)]  # 4 MB, below the size that is mapped alone
        del pieces

before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
thread = threading.Thread(target=work)
thread.start()
thread.join()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def _faults(word: str) -> int:
    done = subprocess.run(
        [sys.executable, "-c", _WORK, word], capture_output=True, text=True, check=True, timeout=60
    )
    return int(done.stdout)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="glibc's")
def test_freed_memory_is_reused_without_page_faults() -> None:
    try:
        ctypes.CDLL(None).mallopt  # noqa: B018
    except AttributeError:
        pytest.skip("not glibc")
    assert _faults("keep") < _faults("give back") / 4
