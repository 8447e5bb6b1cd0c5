"""Every poll of a source, kept in a few bytes, so that a simulation can replay what a site really did.

One text for each source and day (UTC) holds the polls of that day, ``second,new,shown,bytes,unchanged;``
each; the last :data:`KEEP_DAYS` days of a source are kept. Both storages implement :class:`PollLog` beside
:class:`newsbot.storage.base.Storage`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Protocol, runtime_checkable

KEEP_DAYS: Final = 60
MAX_POLLS: Final = 5000
"""Of a source in a day; more are not kept."""
DAY: Final = 86400


@dataclass(frozen=True, slots=True, kw_only=True)
class Poll:
    """One poll of one source."""

    at: int
    """POSIX seconds."""
    new: int
    """Links that were not known before."""
    shown: int
    """Links that the source showed; 0: not known."""
    size: int
    """Bytes of the body."""
    unchanged: bool
    """Answered by 304, or by the same content."""


@runtime_checkable
class PollLog(Protocol):
    """See the module's text."""

    def log_poll(self, url: str, poll: Poll) -> None:
        """Keep a poll; doing it twice is doing it once."""

    def polls(self, url: str | None = None) -> Iterator[tuple[str, Poll]]:
        """All kept polls, or those of one source, by URL and time."""


def packed(poll: Poll) -> tuple[int, str]:
    """Return the day of a poll, and the poll within it as text."""
    day, second = divmod(poll.at, DAY)
    return day, f"{second},{poll.new},{poll.shown},{poll.size},{int(poll.unchanged)};"


def unpacked(day: int, text: str) -> Iterator[Poll]:
    """Yield the polls of a day in the order of time; what is damaged is left out."""
    found = []
    for one in text.split(";"):
        fields = one.split(",")
        if len(fields) == 5 and all(field.isdecimal() for field in fields):
            second, new, shown, size, unchanged = map(int, fields)
            at = day * DAY + second
            found.append(Poll(at=at, new=new, shown=shown, size=size, unchanged=bool(unchanged)))
    yield from sorted(found, key=lambda poll: poll.at)
