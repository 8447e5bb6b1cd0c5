"""``scrapy prune``: deletes data that are older than options or settings allow."""

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
"""The kinds of data, and for each kind the setting with its maximum age."""


def prune(call: Call) -> int:
    """Show how many old data there are, or delete them (``--yes``)."""
    counts = _prune(call, _moments(call))
    if call.json:
        call.document({what: {"old": number, "pruned": call.options.yes} for what, number in counts.items()})
    elif counts:
        call.table((Column("what"), Column("old", "right")), list(counts.items()))
    told = "deleted" if call.options.yes else "nothing was deleted; add --yes to delete these data"
    call.note(told if counts else f"all data are kept forever; to limit that, set {', '.join(WHAT.values())}")
    return 0


def _moments(call: Call) -> dict[str, float]:
    """Return the time (POSIX seconds) before which each kind of data is old.

    Kinds that are kept forever are left out.
    """
    now = time.time()
    found = {}
    for what, setting in WHAT.items():
        age = getattr(call.options, what) or value_of(call.settings, setting)
        if age is not None:
            found[what] = now - age
    return found


def _prune(call: Call, moments: dict[str, float]) -> dict[str, int]:
    """Return how many old data there are of each kind. With ``--yes`` they are deleted."""
    delete: bool = call.options.yes
    counts = dict.fromkeys(moments, 0)
    if "raw" in moments:
        folder = call.settings.get("NEWSBOT_WARC_DIR")
        if not folder:
            raise ArgumentError("raw: NEWSBOT_WARC_DIR is not set, so no raw pages are stored")
        counts["raw"] = prune_archive(Path(folder).expanduser(), moments["raw"], delete=delete)
    if counts.keys() & {"versions", "pages"}:
        with stored(call.settings) as opened:
            storage = opened.removal
            if "versions" in moments:
                counts["versions"] = prune_versions(storage, moments["versions"], delete=delete)
            if "pages" in moments:
                counts["pages"] = prune_pages(storage, moments["pages"], delete=delete)
    return counts
