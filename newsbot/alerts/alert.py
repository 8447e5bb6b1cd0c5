"""What an alert says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from newsbot.clock import iso, utc

Event = Literal["began", "over", "test"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """One thing that is wrong, in words for people. Times are POSIX seconds."""

    rule: str
    subject: str
    """What it is about: a site, or ``crawl``, ``disk``."""
    what: str
    cause: str
    """The likely one."""
    todo: str
    since: float | None = None
    """Since when, as far as it is known."""

    @property
    def key(self) -> str:
        """The identity: the same rule about the same subject is the same alert."""
        return f"{self.rule}/{self.subject}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """An alert that began, or is over."""

    event: Event
    alert: Alert
    at: float

    def plain(self) -> dict[str, Any]:
        """Return it as JSON can hold it, times as ISO 8601."""
        found: dict[str, Any] = asdict(self.alert)
        since = self.alert.since
        return found | {
            "event": self.event,
            "at": iso(utc(self.at)),
            "since": None if since is None else iso(utc(since)),
        }

    @property
    def title(self) -> str:
        """The first line."""
        word = {"began": "ALERT", "over": "over", "test": "test"}[self.event]
        return f"{word}: {self.alert.subject}: {self.alert.rule}"

    @property
    def text(self) -> str:
        """All of it in a few lines."""
        alert = self.alert
        since = "" if alert.since is None else f"\nsince: {iso(utc(alert.since))}"
        if self.event == "over":
            return f"{self.title}\nit was: {alert.what}{since}\nover: {iso(utc(self.at))}"
        return f"{self.title}\n{alert.what}{since}\nlikely cause: {alert.cause}\nwhat to do: {alert.todo}"


def alert_from(plain: Mapping[str, Any]) -> Alert | None:
    """Return the alert of a note; None if it is none."""
    words = {name: plain.get(name) for name in ("rule", "subject", "what", "cause", "todo")}
    if not all(isinstance(word, str) for word in words.values()):
        return None
    since = plain.get("since")
    return Alert(
        **{k: str(v) for k, v in words.items()}, since=since if isinstance(since, int | float) else None
    )
