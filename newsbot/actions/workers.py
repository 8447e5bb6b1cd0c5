"""``scrapy workers``: runs several crawl workers on this machine."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from scrapy.settings import SETTINGS_PRIORITIES, Settings

from newsbot.actions.crawl import check
from newsbot.backends import data_folder
from newsbot.cli.command import Call
from newsbot.cli.terminal import make_console, print_table
from newsbot.extensions.progress import LiveDisplay, line, picture, wants_live_display
from newsbot.extensions.summary import COLUMNS, closing_lines, site_rows
from newsbot.operations.supervisor import Supervisor, worker_command
from newsbot.sites.statistics import Rates, figures

FOLDER = "newsbot-workers-"
"""Prefix of the folder with the stats of the workers. The health check of the container reads it."""
LIVE, LINES = 1.0, 10.0
"""Seconds between two updates of the live display, and between two lines of text if there is no terminal."""


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
    data = data_folder(call.settings).absolute()
    for text in closing_lines(stats, "finished", time.monotonic() - began, data):
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
