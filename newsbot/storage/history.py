"""The history of a page: events by time, each once, the last few."""

from __future__ import annotations

from typing import Any

from newsbot.storage.base import MAX_HISTORY

Event = dict[str, Any]


def merged(kept: list[Event], given: list[Event], most: int = MAX_HISTORY) -> list[Event]:
    """The kept events and those given that are new, the last ``most`` by time; adding twice adds nothing."""
    events = list(kept)
    for event in given:
        if event not in events:
            events.append(event)
    events.sort(key=when)
    return events[-most:]


def when(event: Event) -> float:
    """Return the time of an event, in POSIX seconds; 0 where it has none."""
    return event.get("at") or 0.0
