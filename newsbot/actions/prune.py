"""``scrapy prune``: deletes data that are older than the settings allow."""

from __future__ import annotations

import time
from pathlib import Path

from newsbot.backends import stored
from newsbot.cli.command import Call
from newsbot.cli.terminal import Column
from newsbot.config.check import value_of
from newsbot.errors import ArgumentError
from newsbot.operations.prune import prune_archive, prune_pages, prune_versions

WHAT = {
    "raw": "NEWSBOT_KEEP_RAW",
    "versions": "NEWSBOT_KEEP_VERSIONS",
    "pages": "NEWSBOT_KEEP_PAGES",
}


def prune(call: Call) -> int:
    """Show the number of old data, or delete them (``--yes``)."""
    counts = _prune(call, _moments(call))
    if call.json:
        call.document({what: {"old": number, "pruned": call.options.yes} for what, number in counts.items()})
    elif counts:
        call.table((Column("what"), Column("old", "right")), list(counts.items()))
    told = "pruned" if call.options.yes else "nothing was changed; add --yes to let go of it"
    call.note(told if counts else f"everything is kept for ever: see {', '.join(WHAT.values())}")
    return 0


def _moments(call: Call) -> dict[str, float]:
    """Return the time (POSIX seconds) before which each kind is old. Kinds that are kept for ever are left
    out."""
    now = time.time()
    found = {}
    for what, setting in WHAT.items():
        age = getattr(call.options, what) or value_of(call.settings, setting)
        if age is not None:
            found[what] = now - age
    return found


def _prune(call: Call, moments: dict[str, float]) -> dict[str, int]:
    """Return the number of old data of each kind. With ``--yes`` they are deleted."""
    delete: bool = call.options.yes
    counts = dict.fromkeys(moments, 0)
    if "raw" in moments:
        folder = call.settings.get("NEWSBOT_WARC_DIR")
        if not folder:
            raise ArgumentError("raw: NEWSBOT_WARC_DIR names no folder")
        counts["raw"] = prune_archive(Path(folder).expanduser(), moments["raw"], delete=delete)
    if counts.keys() & {"versions", "pages"}:
        with stored(call.settings) as opened:
            storage = opened.removal
            if "versions" in moments:
                counts["versions"] = prune_versions(storage, moments["versions"], delete=delete)
            if "pages" in moments:
                counts["pages"] = prune_pages(storage, moments["pages"], delete=delete)
    return counts
