"""``scrapy prune``: let go of what is older than the settings keep."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import cast

from newsbot.backends import stored
from newsbot.cli.command import Call
from newsbot.cli.terminal import Column
from newsbot.clock import utc
from newsbot.config.check import value_of
from newsbot.errors import ArgumentError, UserError
from newsbot.storage.retention import Retention
from newsbot.warc.folder import SUFFIX

BATCH = 1000
WHAT = {
    "raw": "NEWSBOT_KEEP_RAW",
    "versions": "NEWSBOT_KEEP_VERSIONS",
    "pages": "NEWSBOT_KEEP_PAGES",
}


def prune(call: Call) -> int:
    """Show what is old, or (with ``--yes``) delete it."""
    ages = {what: _age(call, what, setting) for what, setting in WHAT.items()}
    counts = {what: 0 for what, seconds in ages.items() if seconds is not None}
    now = time.time()
    if "raw" in counts:
        counts["raw"] = _prune_raw(call, now - cast("float", ages["raw"]))
    if counts.keys() & {"versions", "pages"}:
        with stored(call.settings) as storage:
            _prune_storage(call, cast("Retention", storage), counts, ages, now)
    if call.json:
        call.document({what: {"old": number, "pruned": call.options.yes} for what, number in counts.items()})
    elif counts:
        call.table((Column("what"), Column("old", "right")), list(counts.items()))
    told = "pruned" if call.options.yes else "nothing was changed; add --yes to let go of it"
    call.note(told if counts else f"everything is kept for ever: see {', '.join(WHAT.values())}")
    return 0


def _age(call: Call, what: str, setting: str) -> float | None:
    given: float | None = getattr(call.options, what)
    return value_of(call.settings, setting) if given is None else given


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
    call: Call, storage: Retention, counts: dict[str, int], ages: dict[str, float | None], now: float
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
