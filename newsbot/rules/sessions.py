"""Finds query keys that carry a session id: URLs that differ only in their values are one page.

Common names of such keys are removed from every URL (:mod:`newsbot.urls`). Other keys are detected: fetched
articles have the same text under two values of the key, at several URLs of the site, and no article differs.
Without this, a site that writes a new id into all of its links would have all of its articles fetched again
on each visit.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

ENOUGH = 3
"""URLs with different texts, each of which must have been fetched under two values of the key."""
MAX_KEYS = 20
"""Keys of a site that are checked."""
MAX_FORMS = 500
"""URLs without the key that are stored for each key."""
_MAX_PAIRS = 8
_TOKEN = re.compile(r"(?=[\w.-]*\d)(?=[\w.-]*[A-Za-z])[\w.-]{6,128}|[\w.-]{20,128}", re.ASCII)
"""Random characters. Words and numbers of pages and articles are never taken for a session id."""


@dataclass(slots=True)
class SessionKeys:
    """What is known about one site's query keys."""

    idle: set[str] = field(default_factory=set)
    """Keys that no page depends on."""
    _telling: set[str] = field(default_factory=set)
    """Keys that pages do depend on."""
    _seen: dict[str, dict[str, tuple[str, str]]] = field(default_factory=dict)
    """Key -> URL without it -> the value it had, and the text of the page."""
    _same: dict[str, set[str]] = field(default_factory=dict)
    """Key -> texts that were found under two values."""

    def saw(self, url: str, text: str) -> str | None:
        """Record an article's URL and the hash of its text; return a key that is now known to be idle, or
        None.
        """
        page, _, query = url.partition("?")
        pairs = query.split("&") if query else []
        for place, pair in enumerate(pairs[:_MAX_PAIRS]):
            key, _, value = pair.partition("=")
            key = key.lower()
            if key in self.idle or key in self._telling or _TOKEN.fullmatch(value) is None:
                continue
            rest = f"{page}?{'&'.join(pairs[:place] + pairs[place + 1 :])}"
            if self._is_idle(key, rest, value, text):
                self.idle.add(key)
                return key
        return None

    def _is_idle(self, key: str, rest: str, value: str, text: str) -> bool:
        if key not in self._seen and len(self._seen) >= MAX_KEYS:
            return False
        seen = self._seen.setdefault(key, {})
        if rest not in seen:
            if len(seen) < MAX_FORMS:
                seen[rest] = value, text
            return False
        value_before, text_before = seen[rest]
        if value_before == value:
            return False  # the same URL again: the page may have been edited
        if text_before != text:
            self._telling.add(key)
            del self._seen[key]
            return False
        same = self._same.setdefault(key, set())
        same.add(text)
        return len(same) >= ENOUGH
