"""Runs a command of newsbot with a simulated clock.

    python -m testbed.otherclock FILE END SPEED crawl news …

FILE contains the time (:class:`SharedTime`), so that a site can use the same clock. SPEED 0: the clock stands
still while the crawl has work and jumps to the next moment at which something is due. Days pass in seconds,
with the same result on every machine, and work takes no simulated time. Any other SPEED: the clock is that
many times as fast as real time; at 240, a page that takes 50 ms takes 12 simulated seconds. At END (POSIX
seconds) the crawl is stopped as by Ctrl-C.

Only newsbot's clock and the sleep of its scheduler are changed. If the clock stands still, requests do not
wait on their connections for another turn, because no turn would ever come.
"""

from __future__ import annotations

import mmap
import os
import signal
import struct
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from newsbot import clock

LOOK_AGAIN: Final = 30.0
"""Simulated seconds between two checks. Only a live site changes between them."""
WORKING: Final = 0.005
LEAST_SLEEP: Final = 0.02
_DOUBLE: Final = struct.Struct("d")


class SharedTime:
    """A moment in a file that several processes map; calling it returns the moment in POSIX seconds."""

    def __init__(self, path: Path, begin: float | None = None) -> None:
        if begin is not None:
            path.write_bytes(_DOUBLE.pack(begin))
        with path.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), _DOUBLE.size)

    def __call__(self) -> float:
        """Return the time."""
        moment: float = _DOUBLE.unpack(self._map[:])[0]
        return moment

    def set(self, moment: float) -> None:
        """Set the time."""
        self._map[:] = _DOUBLE.pack(moment)


class Running:
    """A clock that begins at the shared time and is ``speed`` times as fast as the real one."""

    def __init__(self, begin: float, speed: float) -> None:
        self._begin, self._speed, self._real = begin, speed, time.time()

    def __call__(self) -> float:
        """Return the time."""
        return self._begin + (time.time() - self._real) * self._speed


def main() -> None:
    """Change the clock before any other module of newsbot is imported, then run Scrapy."""
    file, end, speed, *words = sys.argv[1:]
    shared = SharedTime(Path(file))
    clock.system_clock = shared if float(speed) == 0 else Running(shared(), float(speed))
    from scrapy.cmdline import execute  # noqa: PLC0415

    from newsbot.crawl import scheduler  # noqa: PLC0415

    names = vars(scheduler)
    names["call_later"] = sleeping(names["call_later"], shared, float(end), float(speed))
    names["LOOK_AGAIN"] = LOOK_AGAIN
    if float(speed) == 0:
        from newsbot.crawl.politeness import Politeness  # noqa: PLC0415

        setattr(Politeness, "may_send", lambda _self, _host: True)  # noqa: B010
    execute(["scrapy", *words])


def sleeping(real: Callable[..., Any], shared: SharedTime, end: float, speed: float) -> Callable[..., Any]:
    """Return a replacement for the scheduler's sleep ``real`` that moves the clock in ``shared``."""

    def call_later(delay: float, wake: Callable[..., Any]) -> Any:
        now = clock.system_clock()
        if now >= end:
            os.kill(os.getpid(), signal.SIGINT)
            return real(60.0, wake)
        if speed:
            shared.set(now)
            return real(max(LEAST_SLEEP, delay / speed), wake)
        if getattr(wake, "__self__").slot.inprogress:  # noqa: B009  (a method of the scheduler)
            return real(WORKING, wake)
        shared.set(min(end, now + delay))
        return real(0.0, wake)

    return call_later


if __name__ == "__main__":
    main()
