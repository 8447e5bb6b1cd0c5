"""What a storage keeps beside pages and articles, to be copied: joined stories, notes, polls, hours.

A crawl goes on without them, but not as before: an article that comes later would begin a story that was
joined with another one, hubs would be subscribed to again, and what sites did could not be replayed
or shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class JoinedStory:
    """A story that was joined with another one (:meth:`newsbot.storage.base.Storage.join_stories`)."""

    story: str
    into: str
    """Where its articles are now."""


@dataclass(frozen=True, slots=True)
class KeptNote:
    """A note (:mod:`newsbot.storage.notes`)."""

    kind: str
    key: str
    body: str
    """JSON."""


@dataclass(frozen=True, slots=True)
class PollDay:
    """The polls of a source on a day (:mod:`newsbot.storage.polls`)."""

    url: str
    day: int
    polls: tuple[str, ...]
    """As they are packed, in order."""


@dataclass(frozen=True, slots=True)
class SiteHour:
    """What a site did in an hour (:mod:`newsbot.storage.activity`)."""

    source: str
    hour: int
    counts: tuple[int, ...]
    """In the order of :data:`newsbot.storage.activity.COUNTED`."""


Book = JoinedStory | KeptNote | PollDay | SiteHour


class Books(Protocol):
    """What a storage offers beside :class:`newsbot.storage.transfer.Transfer`; same faults."""

    def copy_books(self) -> Iterator[Book]:
        """All of them, streamed."""

    def take_books(self, books: Sequence[Book]) -> None:
        """Keep what is not there yet; taking twice is taking once."""


def poll_day(url: str, day: int, polls: str) -> PollDay:
    """Return a day's polls, which are written one behind the other, each with ``;`` at its end."""
    return PollDay(url, day, tuple(sorted(f"{one};" for one in polls.split(";") if one)))
