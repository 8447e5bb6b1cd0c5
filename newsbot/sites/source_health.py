"""How a source does: a verdict in a few words from its record."""

from __future__ import annotations

from enum import StrEnum

from newsbot.recrawl.planning import DEAD_AFTER
from newsbot.storage.base import SourceRecord

QUIET_SECONDS = 7 * 86400.0
"""Without a new link for so long a source is quiet: it may be dead, or only slow."""


class Health(StrEnum):
    """The verdict."""

    OK = "ok"
    QUIET = "quiet"
    FAILING = "failing"
    DEAD = "dead"
    NEVER_POLLED = "never polled"


def health(record: SourceRecord, now: float) -> Health:
    """Return how the source does at ``now`` (POSIX seconds)."""
    if record.failures:
        return Health.DEAD if record.failures >= DEAD_AFTER else Health.FAILING
    if record.last_poll is None:
        return Health.NEVER_POLLED
    # A source without any new link yet is quiet only if it is older than that; its age is not known,
    # but one poll an interval is, so a second poll is asked for.
    if record.last_new is None:
        return Health.QUIET if record.polls > 1 else Health.OK
    return Health.QUIET if now - record.last_new > QUIET_SECONDS else Health.OK
