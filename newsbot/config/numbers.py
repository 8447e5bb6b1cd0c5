"""Settings that are numbers: what is none, or makes no sense, is said before anything begins."""

from __future__ import annotations

import math
from typing import Any, Protocol

from newsbot.clock import DAY
from newsbot.errors import ArgumentError


class SettingsLike(Protocol):
    """What is asked of settings."""

    def get(self, name: str, default: Any = None) -> Any:
        """Return the value of a setting."""


MOST_NEAR_DAYS = 3650
"""The greatest NEWSBOT_NEAR_DAYS."""

BOUNDS: dict[str, tuple[float, float]] = {
    "NEWSBOT_LEASE_SECONDS": (1, DAY),
    "NEWSBOT_PATIENCE": (0, math.inf),
    "NEWSBOT_RETRY_SCALE": (0, 1000),
    "NEWSBOT_MAX_AGE_DAYS": (0, 100_000),
    "NEWSBOT_NEAR_DAYS": (1, MOST_NEAR_DAYS),
    "NEWSBOT_EXPLORE": (0, 1),
    "NEWSBOT_RULES_RELOAD": (0, DAY),
    "NEWSBOT_CRAWL_DELAY_CAP": (0, DAY),
    "NEWSBOT_SOURCE_MAXSIZE": (1024, 2**31),
    "NEWSBOT_PROGRESS_INTERVAL": (0.1, DAY),
    "NEWSBOT_PUSH_PER_HOST": (0, 10**9),
    "NEWSBOT_PUSH_PER_SENDER": (0, 10**9),
    "NEWSBOT_ALERT_EVERY": (0, DAY),
    "NEWSBOT_ALERT_LAG": (60, math.inf),
    "NEWSBOT_ALERT_DISK": (0, 10**9),
    "CONCURRENT_REQUESTS": (1, 10_000),
}
"""The least and the greatest value of each."""


def check_numbers(settings: SettingsLike) -> None:
    """Raise :class:`ArgumentError` for the first setting that is no number within its bounds."""
    for name, (least, greatest) in BOUNDS.items():
        given = settings.get(name)
        if given in (None, ""):
            continue
        try:
            value = float(given)
        except (TypeError, ValueError):
            value = math.nan
        if not least <= value <= greatest:
            upper = "" if math.isinf(greatest) else f" to {greatest:g}"
            raise ArgumentError(f"{name}={given}: must be a number, {least:g}{upper or ' or more'}")
