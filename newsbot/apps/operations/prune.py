"""``scrapy prune``: deletes old data: WARC files, earlier versions of articles, and the history of pages.

Database records are deleted in batches, so that running crawls can write between two batches.
"""

from __future__ import annotations

import argparse
import time

from newsbot.backends import stored
from newsbot.cli.command import Action, Argument, Call
from newsbot.cli.terminal import columns
from newsbot.clock import parse_duration, utc
from newsbot.config.apps import active_apps, load
from newsbot.config.check import value_of
from newsbot.config.table import AGE

BATCH = 1000
WHAT = {
    "raw": "NEWSBOT_KEEP_RAW",
    "versions": "NEWSBOT_KEEP_VERSIONS",
    "pages": "NEWSBOT_KEEP_PAGES",
}
"""The kinds of data, and for each kind the setting with its maximum age."""


def prune(call: Call) -> None:
    """Show how many items of each kind are old, or delete these items (``--yes``)."""
    counts = _prune(call, _moments(call))
    if call.json:
        call.document({what: {"old": number, "pruned": call.options.yes} for what, number in counts.items()})
    elif counts:
        call.table(columns("what | old >"), list(counts.items()))
    note = "deleted" if call.options.yes else "no data were deleted; add --yes to delete them"
    call.note(note if counts else f"all data are kept; to delete old data, set {', '.join(WHAT.values())}")


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
    """Return the number of old items of each kind. With ``--yes`` these items are deleted."""
    delete: bool = call.options.yes
    counts = dict.fromkeys(moments, 0)
    for app in active_apps(call.settings.get("NEWSBOT_APPS")):
        for what, place in app.pruning.items():
            if what in moments:
                counts[what] = load(place)(call.settings, moments[what], delete=delete)
    if counts.keys() & {"versions", "pages"}:
        with stored(call.settings) as storage:
            removal = storage.removal
            if "versions" in moments:
                moment = utc(moments["versions"])
                counts["versions"] = removal.old_versions(moment)
                while delete and removal.drop_versions(moment, BATCH):
                    pass
            if "pages" in moments:
                # Only history and referrers of pages that are never due again are deleted. The records stay,
                # so that a crawl still knows the URLs.
                counts["pages"] = removal.old_pages(moments["pages"])
                while delete and removal.slim_pages(moments["pages"], BATCH):
                    pass
    return counts


def age(text: str) -> float:
    """Parse the maximum age of data; return seconds (``type`` of an argument)."""
    try:
        seconds = parse_duration(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    if seconds < AGE.least:
        raise argparse.ArgumentTypeError(f"{text!r} is less than an hour, the minimum")
    return seconds


ACTIONS = (
    Action(
        "",
        "Count the old data; with --yes delete them",
        prune,
        Argument("--yes", action="store_true", help="delete the data (default: only count them)"),
        Argument("--raw", metavar="AGE", type=age, help="maximum age of WARC files, e.g. 90d"),
        Argument("--versions", metavar="AGE", type=age, help="maximum age of earlier article versions"),
        Argument("--pages", metavar="AGE", type=age, help="maximum age of page history and referrers"),
        writes=True,
    ),
)
