"""What is wrong now: the alerts that are not over, and sites that stopped giving articles."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from newsbot.alerts.book import current
from newsbot.clock import utc
from newsbot.sites.health import alarms
from newsbot.web.readers import Data


@dataclass(frozen=True, slots=True)
class Trouble:
    """One thing that is wrong."""

    subject: str
    """A site, or ``crawl``, ``disk``."""
    what: str
    cause: str
    """The likely one."""
    todo: str
    since: datetime | None


def troubles(data: Data) -> list[Trouble]:
    """Return what is wrong, the latest first."""
    alerts = [entry.alert for entry in current(data.notes)]
    found = [Trouble(one.subject, one.what, one.cause, one.todo, _utc(one.since)) for one in alerts]
    told = {one.subject for one in found}
    fallen = sorted(alarms(data.notes).items())
    return found + [Trouble(site, text, "", "", None) for site, text in fallen if site not in told]


def _utc(seconds: float | None) -> datetime | None:
    return None if seconds is None else utc(seconds)
