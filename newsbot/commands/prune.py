"""``scrapy prune``: let go of what is older than the settings keep."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import cast

from newsbot.cli.command import Action, Argument, Call, NewsbotCommand
from newsbot.cli.terminal import Column
from newsbot.clock import parse_duration, utc
from newsbot.errors import ArgumentError, UserError
from newsbot.operations.reading import stored
from newsbot.storage.upkeep import Removal
from newsbot.warc.folder import SUFFIX

BATCH = 1000
LEAST_AGE = 3600.0
"""Seconds. A slip of the pen (``1s``) must not take all there is."""
WHAT = {
    "raw": "NEWSBOT_KEEP_RAW",
    "versions": "NEWSBOT_KEEP_VERSIONS",
    "pages": "NEWSBOT_KEEP_PAGES",
}


def age(text: str) -> float:
    """Read how long something is kept, in seconds (an argument's ``type``)."""
    try:
        seconds = parse_duration(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    if seconds < LEAST_AGE:
        raise argparse.ArgumentTypeError(f"{text!r} is less than an hour")
    return seconds


def prune(call: Call) -> int:
    """Show what is old, or (with ``--yes``) delete it."""
    ages = {what: _age(call, what, setting) for what, setting in WHAT.items()}
    counts = {what: 0 for what, seconds in ages.items() if seconds is not None}
    now = time.time()
    if "raw" in counts:
        counts["raw"] = _prune_raw(call, now - cast("float", ages["raw"]))
    if counts.keys() & {"versions", "pages"}:
        with stored(call.settings) as storage:
            _prune_storage(call, storage.removal, counts, ages, now)
    if call.json:
        call.document({what: {"old": number, "pruned": call.options.yes} for what, number in counts.items()})
    elif counts:
        call.table((Column("what"), Column("old", "right")), list(counts.items()))
    told = "pruned" if call.options.yes else "nothing was changed; add --yes to let go of it"
    call.note(told if counts else f"everything is kept for ever: see {', '.join(WHAT.values())}")
    return 0


class Command(NewsbotCommand):
    """See the module's text."""

    summary = "Let go of what is older than the settings keep"
    actions = (
        Action(
            "",
            "Show what is older than it is to be kept; with --yes let go of it",
            prune,
            (
                Argument("--yes", action="store_true", help="delete; without it nothing is changed"),
                Argument("--raw", metavar="AGE", type=age, help="WARC files, e.g. 90d"),
                Argument("--versions", metavar="AGE", type=age, help="earlier versions of articles"),
                Argument("--pages", metavar="AGE", type=age, help="history and referrers of pages"),
            ),
        ),
    )


def _age(call: Call, what: str, setting: str) -> float | None:
    given: float | None = getattr(call.options, what)
    text = call.settings.get(setting)
    if given is not None or not text:
        return given
    try:
        return age(str(text))
    except argparse.ArgumentTypeError as error:
        raise ArgumentError(f"{setting}: {error}") from error


def _prune_raw(call: Call, before: float) -> int:
    name = call.settings.get("NEWSBOT_WARC_DIR")
    if not name:
        raise ArgumentError("raw: NEWSBOT_WARC_DIR names no folder")
    folder, count = Path(name).expanduser(), 0
    try:
        for path in sorted(folder.glob(f"*{SUFFIX}")):
            with suppress(FileNotFoundError):  # another one prunes too
                if path.stat().st_mtime < before:
                    count += 1
                    if call.options.yes:
                        path.unlink()
    except OSError as error:
        raise UserError(f"{folder}: {error.strerror or error}") from error
    return count


def _prune_storage(
    call: Call, storage: Removal, counts: dict[str, int], ages: dict[str, float | None], now: float
) -> None:
    if "versions" in counts:
        moment = utc(now - cast("float", ages["versions"]))
        counts["versions"] = storage.old_versions(moment)
        _until_none_is_left(call, lambda: storage.drop_versions(moment, BATCH))
    if "pages" in counts:
        before = now - cast("float", ages["pages"])
        counts["pages"] = storage.old_pages(before)
        _until_none_is_left(call, lambda: storage.slim_pages(before, BATCH))


def _until_none_is_left(call: Call, some: Callable[[], int]) -> None:
    while call.options.yes and some():
        pass
