"""Stores the last monitor report of each site, so that it can be shown immediately.

The size of a note is limited (:data:`newsbot.storage.notes.MAX_NOTE`), so long lists are shortened. Counts
are always complete. :func:`newsbot.apps.monitor.report.site_report` computes the full report again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from newsbot.storage.notes import MAX_NOTE, Notes, to_json

SUMMARIES = "monitor"
"""Kind of the notes with the summaries of sites; the key is the domain."""
MAX_RUNS = 30
"""Maximum number of runs that are stored for a site. The latest runs are kept."""
PARTS: Mapping[str, tuple[str, ...]] = {
    "broken": ("broken", "refused"),
    "moved": ("moved",),
    "changes": ("changes",),
    "markup": ("faulty",),
    "structure": ("sections", "links", "depths", "tree", "orphans"),
    "extremes": ("slowest", "largest"),
}
"""The notes in which the lists of a report are stored, and the names of the lists in each."""
_LISTS = frozenset(name for names in PARTS.values() for name in names)


def keep_report(notes: Notes, report: Mapping[str, Any], run: Mapping[str, Any]) -> None:
    """Store the last report on a site, and add ``run`` to its runs.

    ``run`` has ``began``, ``ended`` (POSIX seconds), ``reason`` and counts. A run with the same ``began`` is
    replaced. Raises :class:`newsbot.errors.DataError`.
    """
    domain = str(report["site"])
    # The summary is saved last: kept_report() returns None for a site without a summary.
    for part, names in PARTS.items():
        notes.save(_kind(domain), part, _fitting({name: report[name] for name in names}))
    earlier = notes.all(SUMMARIES).get(domain, {}).get("runs", [])
    runs = [one for one in earlier if one.get("began") != run.get("began")]
    summary = {name: value for name, value in report.items() if name not in _LISTS}
    summary["runs"] = [*runs, dict(run)][-MAX_RUNS:]
    notes.save(SUMMARIES, domain, _fitting(summary))


def monitored(notes: Notes) -> dict[str, dict[str, Any]]:
    """Return the summary of each site, by domain.

    A summary is the last report without its lists, and ``runs``, a list of the last runs.

    Raises :class:`newsbot.errors.DataError`.
    """
    return notes.all(SUMMARIES)


def kept_report(notes: Notes, domain: str) -> dict[str, Any] | None:
    """Return the last report on a site with its stored lists and ``runs``; None if there is none.

    Raises :class:`newsbot.errors.DataError`.
    """
    summary = notes.all(SUMMARIES).get(domain)
    if summary is None:
        return None
    found: dict[str, Any] = {name: [] for name in _LISTS} | {"depths": {}, "tree": {}}
    for part in notes.all(_kind(domain)).values():
        found |= part
    return found | summary


def forget_lists(notes: Notes, domain: str) -> None:
    """Delete the stored lists with pages of a site. Counts stay; the next run stores new lists."""
    for part in PARTS:
        notes.forget(_kind(domain), part)


def forget_report(notes: Notes, domain: str) -> bool:
    """Delete the report of a site; return False if there is none."""
    forget_lists(notes, domain)
    return notes.forget(SUMMARIES, domain)


def _kind(domain: str) -> str:
    return f"{SUMMARIES} {domain}"


def _fitting(note: dict[str, Any]) -> dict[str, Any]:
    """Return the note, with its longest values shortened until the note is small enough to be stored."""
    # Each step halves only the longest value, so short lists stay complete.
    while len(to_json(note)) > MAX_NOTE:
        name = max(note, key=lambda one: len(to_json(note[one])))
        note = {**note, name: _half(note[name])}
    return note


def _half(value: Any) -> Any:
    """Return about half of a list or dict, or a tree of folders without its lowest level."""
    if isinstance(value, list):
        return value[: len(value) // 2]
    if isinstance(value, dict) and "below" in value:
        return _pruned(value, _height(value) - 1)
    if isinstance(value, dict):
        return dict(list(value.items())[: len(value) // 2])
    return None


def _height(node: Mapping[str, Any]) -> int:
    return 1 + max((_height(one) for one in node["below"]), default=0)


def _pruned(node: Mapping[str, Any], levels: int) -> dict[str, Any]:
    below = [_pruned(one, levels - 1) for one in node["below"]] if levels > 1 else []
    return {**node, "below": below}
