"""What servers say about time: Retry-After and Cache-Control."""

from __future__ import annotations

import re
from datetime import UTC
from email.utils import parsedate_to_datetime

_SECONDS = re.compile(r"[0-9]{1,10}(?:\.[0-9]{1,9})?")  # fractions are not in the RFC, but seen
_MAX_HEADER = 1000


def parse_retry_after(value: str | None, now: float) -> float | None:
    """Return the seconds from ``now`` that a Retry-After field asks for (RFC 9110, 10.2.3), at least 0.

    None for a missing or unreadable field. The caller sets its own upper bound.
    """
    text = (value or "").strip()
    if _SECONDS.fullmatch(text):
        return float(text)
    if not 0 < len(text) <= _MAX_HEADER:
        return None
    try:
        moment = parsedate_to_datetime(text)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)  # HTTP dates are in GMT, whatever they forget to say
        return max(0.0, moment.timestamp() - now)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def parse_max_age(value: str | None) -> float | None:
    """Return the seconds that a Cache-Control field calls the answer fresh (RFC 9111, 5.2.2).

    0 for ``no-cache`` and ``no-store``; None if it says nothing readable of it.
    """
    age = None
    for directive in (value or "")[:_MAX_HEADER].split(","):
        name, _, argument = directive.strip().partition("=")
        argument = argument.strip().strip('"')
        if name.lower() in ("no-cache", "no-store") and not argument:
            return 0.0
        if name.strip().lower() == "max-age" and _SECONDS.fullmatch(argument) and age is None:
            age = float(argument)
    return age
