"""Gives memory that is free but not used back to the system.

Parsers, compressors and sockets allocate buffers of all sizes, in threads of their own. glibc keeps the free
pieces between those in use, and a process that runs for weeks has tens of megabytes of them. pymongo records
where a client was made, for which Python keeps the source of each module on the way, 1.5 MB.
"""

from __future__ import annotations

import ctypes
import linecache
from collections.abc import Callable
from functools import cache

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # malloc.h


def trim() -> bool:
    """Give back what is free, in whole pages; False if nothing was, or where the C library is not glibc."""
    linecache.clearcache()
    call = _malloc_trim()
    return call is not None and call(0) == 1


def keep_free(size: int) -> bool:
    """Let glibc keep so many free bytes at the end of each heap; False where the C library is not glibc.

    Else a search for a phrase maps and clears 19 MB anew for arrays that live for milliseconds, which takes a
    quarter of its time (mallopt(3); pieces of more than an eighth of ``size`` still come from the system).
    """
    try:
        call = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError):
        return False
    call.argtypes, call.restype = [ctypes.c_int, ctypes.c_int], ctypes.c_int
    return int(call(_M_TRIM_THRESHOLD, size)) == 1 and int(call(_M_MMAP_THRESHOLD, size // 8)) == 1


@cache
def _malloc_trim() -> Callable[[int], int] | None:
    try:
        found = ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError):
        return None
    found.argtypes, found.restype = [ctypes.c_size_t], ctypes.c_int
    return found
