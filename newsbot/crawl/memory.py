"""Returns free memory to the system.

Parsers, compressors and sockets allocate buffers of all sizes in several threads. The C library glibc does
not return free memory that lies between used buffers. In a process that runs for weeks, this amounts to tens
of megabytes.

Python also caches source lines: pymongo records where a client was created. For this record, Python loads the
source of each module in the call stack, 1.5 MB in total. Python also caches each unknown name of an encoding.
libxml2 keeps each name of a tag or attribute until the end of the thread that parsed it. The number of
different names in the pages of sites has no limit.
"""

from __future__ import annotations

import asyncio
import ctypes
import encodings
import gc
import linecache
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any


def keep_loaded() -> None:
    """Exclude all present objects from the searches for unreachable objects (:func:`gc.freeze`).

    Call this function when the modules are loaded. They have some 300,000 objects, and each full search would
    visit all of them, which blocks the event loop for a tenth of a second.
    """
    gc.collect()
    gc.freeze()


def trim() -> bool:
    """Clear Python's caches, and return free memory to the system (malloc_trim).

    The caches contain source lines and names of encodings. Returns False if no memory was free or if the C
    library is not glibc.
    """
    linecache.clearcache()
    encodings._cache.clear()  # noqa: SLF001  (no public function clears it)
    malloc_trim = libc_function("malloc_trim", ctypes.c_size_t)
    return malloc_trim is not None and malloc_trim(0) == 1


def renew_threads() -> None:
    """Replace the threads of :func:`asyncio.to_thread`, so that libxml2 frees the names that it keeps.

    The old threads finish their waiting work. Call this function in the event loop.
    """
    loop = asyncio.get_running_loop()
    before = getattr(loop, "_default_executor", None)  # asyncio has no public way to get it
    loop.set_default_executor(ThreadPoolExecutor(thread_name_prefix="asyncio"))
    if before is not None:
        before.shutdown(wait=False)


@cache
def libc_function(name: str, *types: type[Any]) -> Callable[..., int] | None:
    """Return a function of the C library with parameters of these types; None if the library does not have
    the function."""
    try:
        found = getattr(ctypes.CDLL(None), name)
    except (AttributeError, OSError):
        return None
    found.argtypes, found.restype = types, ctypes.c_int
    call: Callable[..., int] = found
    return call
