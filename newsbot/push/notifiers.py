"""What is known of each notifier (hub, sensor, IndexNow sender, …): how often it was right, what it missed.

``scrapy sources`` shows it; anybody else who wants it calls :func:`notifiers`.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from newsbot.clock import utc
from newsbot.push.trust import TRUST, Trust
from newsbot.storage.notes import Notes


@dataclass(frozen=True, slots=True, kw_only=True)
class Notifier:
    """One notifier. Counts are weights that halve in a week (:data:`newsbot.push.trust.HALF_LIFE`)."""

    protocol: str
    """``websub``, ``indexnow``, ``sensor``, ``rsscloud``, ``ping``, …"""
    host: str
    notices: float
    """Notices that were followed."""
    changes: float
    """Changes found at what it tells of, by its notices or without them."""
    precision: float | None
    """The share of its notices that led to something new; None while there was none."""
    recall: float | None
    """The share of changes that it told of; None while there was none."""
    believed: float
    """What part of a host's budget of notices it may use, 0 to 1: it falls with the precision."""
    last: datetime
    """When a notice was last judged."""


def notifiers(notes: Notes, now: float) -> list[Notifier]:
    """Return all notifiers, those with most notices first; ``now`` in POSIX seconds.

    Raises :class:`newsbot.errors.DataError`.
    """
    found = []
    for name, note in notes.all(TRUST).items():
        then = Trust.of_note(note)
        trust = then.faded(now)
        protocol, _, host = name.partition(":")
        notices = trust.hits + trust.misses
        found.append(
            Notifier(
                protocol=protocol,
                host=host,
                notices=notices,
                changes=trust.told + trust.untold,
                precision=trust.hits / notices if notices else None,
                recall=trust.recall(),
                believed=trust.share(),
                last=utc(then.at),
            )
        )
    return sorted(found, key=lambda one: (-one.notices, one.protocol, one.host))
