"""Records the crawls as notes: when each worker began, until when it counts as alive, and how it ended.

A worker without due pages holds no lease. So the leases do not show whether a crawl is running.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from newsbot.storage.notes import Notes

KIND = "run"
"""The kind of the notes. The key is the name of the worker (:mod:`newsbot.frontier.owners`)."""
MAX_KEPT = 20
"""Maximum number of ended crawls whose notes are kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """The crawl of one worker. Times are POSIX seconds."""

    owner: str
    mode: str
    """``once`` or ``continuous``."""
    began: float
    until: float
    """Time at which the worker counts as dead, unless it has renewed the note or ended its crawl."""
    fetched: int = 0
    """Number of responses of sites so far."""
    ended: float | None = None
    reason: str = ""
    """The finish reason of Scrapy."""
    fault: str = ""
    """Why no host could be reached, in one line."""


def note_run(notes: Notes, run: Run) -> None:
    """Store the state of a crawl. Raises :class:`newsbot.errors.DataError`."""
    notes.save(KIND, run.owner, asdict(run))


def begin_run(notes: Notes, run: Run) -> None:
    """Store the start of a crawl, and delete the notes of the oldest crawls that are not running.

    Raises :class:`newsbot.errors.DataError`.
    """
    over = sorted((one for one in runs(notes) if one.until <= run.began), key=lambda one: -one.began)
    for one in over[MAX_KEPT - 1 :]:
        notes.forget(KIND, one.owner)
    note_run(notes, run)


def end_run(notes: Notes, run: Run, now: float, reason: str, fault: str) -> None:
    """Store the end of a crawl at ``now``. Raises :class:`newsbot.errors.DataError`."""
    note_run(notes, replace(run, ended=now, until=now, reason=reason, fault=fault))


def runs(notes: Notes) -> list[Run]:
    """Return the crawls that are known, the latest first. Raises :class:`newsbot.errors.DataError`."""
    found = [run for note in notes.all(KIND).values() if (run := _run_from(note)) is not None]
    return sorted(found, key=lambda one: (-one.began, one.owner))


def _run_from(note: Mapping[str, Any]) -> Run | None:
    try:
        run = Run(**note)
        return replace(run, began=float(run.began), until=float(run.until))
    except (TypeError, ValueError):  # damaged, or of another version
        return None
