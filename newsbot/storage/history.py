"""The history of a page: events by time, each once, the last few."""

from __future__ import annotations

from newsbot.items import Event, EventKind
from newsbot.storage.base import MAX_HISTORY

BEGINNING = EventKind.DISCOVERED.value
"""The event that says where a page was found: it decides how the page is read as long as it is known."""


def merged(kept: list[Event], given: list[Event], most: int = MAX_HISTORY) -> list[Event]:
    """The kept events and those given that are new, by time; adding twice adds nothing.

    The last ``most`` stay, and among them always the first one if it is :data:`BEGINNING`.
    """
    events = list(kept)
    for event in given:
        if event not in events:
            events.append(event)
    events.sort(key=when)
    if len(events) > most and events[0].get("event") == BEGINNING:
        return [events[0], *events[len(events) - most + 1 :]]
    return events[-most:]


def when(event: Event) -> float:
    """Return the time of an event, in POSIX seconds; 0 where it has none."""
    return event.get("at") or 0.0
