"""Reads ``/.well-known/tdmrep.json``: the parts of a site that are reserved against text and data mining.

The format is https://www.w3.org/community/reports/tdmrep/CG-FINAL-tdmrep-20240510/: a list of objects with
``location`` (a path with ``*`` and ``$`` as in robots.txt), ``tdm-reservation`` (0 or 1) and ``tdm-policy``
(a URL). If several locations match, the longest decides, as in robots.txt. Among locations of equal length,
the one that reserves decides.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from newsbot.rights.directives import TDM_POLICY, TDM_RESERVATION

PATH = "/.well-known/tdmrep.json"
MAX_BYTES = 256 * 1024
"""Maximum number of bytes of the file that are read."""
MAX_RULES = 500
"""Maximum number of entries of the file that are read."""
MAX_LOCATION = 500
"""Maximum length of a location, in characters. Entries with a longer one are ignored."""
MAX_STARS = 10
"""Maximum number of parts between the stars of a location.

Entries with more are ignored, so that the time of a match is bounded.
"""
_MAX_POLICY = 2000
"""Maximum length of the URL of a policy, in characters."""


@dataclass(frozen=True, slots=True)
class _Rule:
    """One entry of the file: a location, and whether it is reserved."""

    parts: tuple[str, ...]
    """The location's parts between the stars."""
    to_end: bool
    """True if the location ends with ``$``. Then its last part must be at the end of the path."""
    weight: tuple[int, bool]
    """If several rules match, the one with the highest weight decides."""
    reserved: bool
    policy: str | None

    def matches(self, path: str) -> bool:
        """Return True if the location matches ``path``, in time linear in its length and without a regex."""
        if not path.startswith(self.parts[0]):
            return False
        at = len(self.parts[0])
        for part in self.parts[1:]:
            found = path.find(part, at)
            if found < 0:
                return False
            at = found + len(part)
        # The last part may occur earlier in the path too: "*.html$" matches /a.html/b.html.
        return not self.to_end or (path.endswith(self.parts[-1]) and (len(self.parts) > 1 or at == len(path)))


@dataclass(frozen=True, slots=True)
class Reservations:
    """The reservations in one site's file."""

    rules: tuple[_Rule, ...] = ()

    def signals(self, url: str) -> dict[str, str]:
        """Return the signals for a URL of the site. The result is empty if the URL is not reserved."""
        parts = urlsplit(url)
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        matching = [rule for rule in self.rules if rule.matches(path)]
        if not matching:
            return {}
        best = max(matching, key=lambda rule: rule.weight)
        if not best.reserved:
            return {}
        policy = {TDM_POLICY: best.policy} if best.policy else {}
        return {TDM_RESERVATION: PATH, **policy}


def read_tdmrep(body: bytes) -> Reservations:
    """Return the reservations in the bytes of a file. There are none if it is invalid. Never raises."""
    try:
        told = json.loads(body[:MAX_BYTES])
    except (ValueError, RecursionError):
        return Reservations()
    listed = told if isinstance(told, list) else [told]  # some sites write one object instead of a list
    return Reservations(tuple(rule for one in listed[:MAX_RULES] if (rule := _rule(one)) is not None))


def _rule(told: Any) -> _Rule | None:
    if not isinstance(told, dict) or not isinstance(told.get("location"), str):
        return None
    reserved = str(told.get(TDM_RESERVATION)).strip()  # some sites write the number as a string
    location = told["location"].strip()
    if reserved not in ("0", "1") or not location or len(location) > MAX_LOCATION:
        return None
    to_end = location.endswith("$")
    parts = tuple(re.split(r"\*+", location.rstrip("$")))
    if len(parts) > MAX_STARS:
        return None
    policy = told.get(TDM_POLICY)
    # Paths begin with a slash, but some sites omit it.
    return _Rule(
        parts=parts if parts[0].startswith("/") or not parts[0] else (f"/{parts[0]}", *parts[1:]),
        to_end=to_end,
        weight=(len(location), reserved == "1"),
        reserved=reserved == "1",
        policy=policy[:_MAX_POLICY] if isinstance(policy, str) and policy else None,
    )
