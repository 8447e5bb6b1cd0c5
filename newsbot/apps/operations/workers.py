"""``scrapy workers``: runs crawl workers as child processes and restarts those that fail.

Exit code 0 means that the worker has finished its work. Exit code 2 means a wrong argument; all workers are
then stopped, because a restart would not help. After any other exit code the worker is restarted. The first
wait before a restart is one second. Each further wait is twice as long, up to one minute. Once a worker has
run for a minute, the wait is one second again.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from scrapy.settings import SETTINGS_PRIORITIES, Settings

from newsbot.apps.progress.display import (
    COLUMNS,
    LiveDisplay,
    Rates,
    closing_lines,
    figures,
    line,
    picture,
    site_rows,
    wants_live_display,
)
from newsbot.backends import place_of_data
from newsbot.cli.command import Action, Argument, Call, positive
from newsbot.cli.program import PROGRAM
from newsbot.cli.terminal import counted, make_console, print_table
from newsbot.crawl.components import check

USAGE = 2
"""Exit code for wrong arguments."""
SHORTEST, LONGEST = 1.0, 60.0
"""Bounds of the wait before a restart, in seconds."""
KILL_AFTER = 90.0
"""Seconds that workers have to finish their requests before they are killed.

deploy/newsbot@.service has the same limit.
"""
MAX_LINE = 2**16
"""Maximum length in bytes of a line on the stderr of a worker. Longer lines are passed on in parts."""
GAUGES = ("newsbot/queue/",)
"""Prefixes of stats that are current values. All other stats are counts, which can be summed."""


class Supervisor:
    """Keeps ``count`` workers running until they finish or :meth:`stop` is called.

    ``command`` starts one worker; the arguments of :meth:`_options` are appended to it. Each worker writes
    its stats to a file in ``folder``. ``say`` is called with messages about the workers and with the lines
    that they write to stderr.
    """

    def __init__(self, command: Sequence[str], count: int, folder: Path, say: Callable[[str], None]) -> None:
        self._command = tuple(command)
        self._count = count
        self._folder = folder
        self._say = say
        self._running: dict[int, asyncio.subprocess.Process] = {}
        self._ended: Counter[str] = Counter()
        """The sum of the stats of workers that have ended."""
        self._stopping = asyncio.Event()
        self._codes: list[int] = []
        self._killer: asyncio.TimerHandle | None = None

    @property
    def running(self) -> int:
        """Number of running workers."""
        return len(self._running)

    def stats(self) -> dict[str, Any]:
        """Return the combined stats of all workers, including those that have ended."""
        found = [_read(self._file(number)) for number in self._running]
        counts = Counter(self._ended)
        for stats in found:
            counts.update(_counts(stats))
        # All workers report the size of the same queue, so the values are not added. One of them is used.
        now = {key: value for stats in found for key, value in stats.items() if key.startswith(GAUGES)}
        return {**counts, **now}

    async def run(self) -> int:
        """Run the workers until all have ended; return the first exit code that is not 0, or 0."""
        await asyncio.gather(*(self._keep(number) for number in range(1, self._count + 1)))
        if self._killer is not None:
            self._killer.cancel()
        return next((code for code in self._codes if code), 0)

    def stop(self) -> None:
        """Ask the workers to finish their running requests and to stop. A second call stops them at once."""
        if not self._stopping.is_set():
            workers = counted(self.running, "worker")
            self._say(f"stopping: {workers} finishing the pages in progress; Ctrl-C again stops at once")
            self._killer = asyncio.get_running_loop().call_later(KILL_AFTER, self._signal, signal.SIGKILL)
        self._stopping.set()
        # Scrapy stops gracefully at the first signal, and at once at the second. SIGTERM also ends a process
        # in which Python has just begun; a KeyboardInterrupt may be lost there.
        self._signal(signal.SIGTERM)

    def _signal(self, which: signal.Signals) -> None:
        for process in self._running.values():
            if process.returncode is None:
                process.send_signal(which)

    async def _keep(self, number: int) -> None:
        wait = SHORTEST
        while not self._stopping.is_set():
            began = time.monotonic()
            code = await self._work(number)
            if code in (0, USAGE) or self._stopping.is_set():
                # A worker that had just been started is ended by the signal itself.
                self._codes.append(0 if self._stopping.is_set() and code == -signal.SIGTERM else code)
                if code == USAGE:
                    self._stopping.set()
                    self._signal(signal.SIGTERM)
                return
            wait = SHORTEST if time.monotonic() - began > LONGEST else wait
            self._say(f"worker {number}: {_end(code)}; restarting it in {wait:.0f} s")
            # The wait ends early if a stop is requested. Otherwise the stop could take a minute.
            with_stop = asyncio.create_task(self._stopping.wait())
            await asyncio.wait([with_stop], timeout=wait)
            with_stop.cancel()
            wait = min(wait * 2, LONGEST)

    async def _work(self, number: int) -> int:
        """Run one worker until it ends, and return its exit code.

        A negative code is the number of the signal that killed the worker.
        """
        process = await asyncio.create_subprocess_exec(
            *self._command,
            *self._options(number),
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,  # otherwise Ctrl-C would send a second signal to the worker
            limit=MAX_LINE,
        )
        self._running[number] = process
        if self._stopping.is_set():  # the stop was requested while the process was started
            process.send_signal(signal.SIGTERM)
        assert process.stderr is not None
        while line := await _line(process.stderr):
            self._say(f"worker {number}: {line.decode(errors='replace').rstrip()}")
        code = await process.wait()
        # The file is removed immediately. Otherwise stats() would count the worker twice, or read an old file
        # after a restart.
        self._ended.update(_counts(_read(self._file(number))))
        self._file(number).unlink(missing_ok=True)
        del self._running[number]
        return code

    def _options(self, number: int) -> list[str]:
        """Return the options of one worker.

        They turn its display off, and let it write its stats to a file every 2 seconds.
        """
        settings = {
            "NEWSBOT_PROGRESS": 0,
            "NEWSBOT_PROGRESS_INTERVAL": 2,
            "NEWSBOT_STATS_FILE": self._file(number),
        }
        return [word for name, value in settings.items() for word in ("-s", f"{name}={value}")]

    def _file(self, number: int) -> Path:
        return self._folder / f"{number}.json"


def worker_command(arguments: Sequence[str], settings: Mapping[str, str]) -> list[str]:
    """Return the command line of one worker.

    ``arguments`` are spider arguments (``NAME=VALUE``). If they name no mode, ``mode=continuous`` is added.
    ``settings`` has the settings of the command line.
    """
    given = list(arguments)
    if not any(one.startswith("mode=") for one in given):
        given.append("mode=continuous")
    command = [sys.executable, "-m", PROGRAM, "crawl", "news"]
    command += [word for one in given for word in ("-a", one)]
    return command + [word for name, value in settings.items() for word in ("-s", f"{name}={value}")]


async def _line(stream: asyncio.StreamReader) -> bytes:
    """Return the next line, or a part of a line that is too long.

    The result is empty at the end of the stream.
    """
    try:
        return await stream.readuntil()
    except asyncio.IncompleteReadError as error:
        return error.partial
    except asyncio.LimitOverrunError as error:
        # This is the part of the line that is in the buffer. The next call returns the rest.
        return await stream.read(error.consumed)


def _read(file: Path) -> dict[str, Any]:
    """Return the stats in a file, or an empty dict if the file is missing or only partly written."""
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _counts(stats: Mapping[str, Any]) -> dict[str, int]:
    return {
        key: value for key, value in stats.items() if isinstance(value, int) and not key.startswith(GAUGES)
    }


def _end(code: int) -> str:
    return f"was killed ({signal.Signals(-code).name})" if code < 0 else f"ended with code {code}"


FOLDER = "newsbot-workers-"
"""Prefix of the folder with the stats of the workers. The health check of the container reads this folder."""
LIVE, LINES = 1.0, 10.0
"""Seconds between two updates of the live display. Without a terminal: seconds between two lines of text."""


def workers(call: Call) -> int:
    """Run the workers until they finish or are stopped; return the first exit code that is not 0, or 0."""
    # The arguments are checked here once. Otherwise each worker would fail with the same message.
    given = [one for one in call.options.spider_arguments if "=" in one]
    check(call.settings, ["news"], dict(one.split("=", 1) for one in given))
    return asyncio.run(_run(call))


async def _run(call: Call) -> int:
    console = make_console(sys.stderr)
    began = time.monotonic()
    command = worker_command(call.options.spider_arguments, _given(call.settings))
    with TemporaryDirectory(prefix=FOLDER) as folder:
        supervisor = Supervisor(
            command, call.options.count or os.cpu_count() or 1, Path(folder), console.print
        )
        loop = asyncio.get_running_loop()
        for which in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(which, supervisor.stop)
        display = LiveDisplay(console) if wants_live_display(call.settings) else None
        showing = asyncio.create_task(_show(supervisor, display, began))
        try:
            code = await supervisor.run()
        finally:
            showing.cancel()
            if display is not None:
                display.stop()
        stats = supervisor.stats()  # read before the folder with the stats is deleted
    if rows := site_rows(stats):
        print_table(console, COLUMNS, rows)
    place = place_of_data(call.settings)
    for text in closing_lines(stats, "finished", time.monotonic() - began, place):
        call.note(text)
    return code


async def _show(supervisor: Supervisor, display: LiveDisplay | None, began: float) -> None:
    rates = Rates()
    if display is not None:
        display.start()
    while True:
        now = figures(supervisor.stats())
        per_minute = rates.per_minute(time.monotonic(), now)
        if display is not None:
            display.show(picture(now, per_minute, time.monotonic() - began))
        else:
            sys.stderr.write(f"workers={supervisor.running} {line(now, per_minute)}\n")
        await asyncio.sleep(LIVE if display else LINES)


def _given(settings: Settings) -> dict[str, str]:
    """Return the settings of the command line (``-s NAME=VALUE``). Each worker gets them too."""
    lowest = SETTINGS_PRIORITIES["cmdline"]  # the workers read settings.py and the environment themselves
    names = [name for name in settings if (settings.getpriority(name) or 0) >= lowest]
    return {name: str(settings[name]) for name in names}


ACTIONS = (
    Action(
        "",
        "Run several crawl workers on this machine, and restart those that fail",
        workers,
        Argument("count", type=positive, nargs="?", metavar="N", help="number (default: one per core)"),
        Argument(
            "-a",
            action="append",
            default=[],
            dest="spider_arguments",
            metavar="NAME=VALUE",
            help=f"an argument of {PROGRAM} crawl news (the default mode=continuous never ends)",
        ),
    ),
)
