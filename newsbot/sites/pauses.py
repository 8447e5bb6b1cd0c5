"""Pauses sites: their URLs are not leased until a person resumes them.

A pause is a note in the storage, so that it applies to all workers and after restarts. Requests in flight are
completed. Queued URLs stay in the queue.
"""

from __future__ import annotations

from typing import Final

from newsbot.storage.notes import Notes

NOTE_KIND: Final = "paused"
"""The kind of the notes. The key is the domain."""


def paused(storage: Notes) -> dict[str, float]:
    """Return the paused domains, each with the time of its pause (POSIX seconds)."""
    return {domain: _since(note.get("at")) for domain, note in storage.all(NOTE_KIND).items()}


def pause(storage: Notes, domain: str, now: float) -> None:
    """Pause a site at ``now`` (POSIX seconds). If it is paused already, nothing changes."""
    if domain not in storage.all(NOTE_KIND):
        storage.save(NOTE_KIND, domain, {"at": now})


def go_on(storage: Notes, domain: str) -> bool:
    """Resume a site. Return False if it was not paused."""
    return storage.forget(NOTE_KIND, domain)


def _since(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0
