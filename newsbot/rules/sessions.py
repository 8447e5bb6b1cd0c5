"""Finds query keys whose value is a session id. URLs that differ only in such a value are one page.

Keys with common names are removed from every URL (:mod:`newsbot.urls`). Other keys are detected by the texts
of fetched articles. A key is a session key if several articles each had the same text under two values of the
key, and no article had a different text under another value. Some sites write a new id into all of their
links. If the key were not detected, all articles of such a site would be fetched again at each visit.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

ENOUGH = 3
"""Minimum number of articles with different texts that show that a key is a session key.

Each of them must have had the same text under two values of the key.
"""
MAX_KEYS = 20
"""Maximum number of keys of a site that are checked."""
MAX_FORMS = 500
"""Maximum number of URLs (without the key) that are stored for each key."""
_MAX_PAIRS = 8
"""Maximum number of keys of one URL that are checked."""
_TOKEN = re.compile(r"(?=[\w.-]*\d)(?=[\w.-]*[A-Za-z])[\w.-]{6,128}|[\w.-]{20,128}", re.ASCII)
"""A value that looks like a session id: random characters, and not a word or a number."""


@dataclass(slots=True)
class SessionKeys:
    """What is known about one site's query keys."""

    idle: set[str] = field(default_factory=set)
    """Idle keys: their value has no influence on the page."""
    _telling: set[str] = field(default_factory=set)
    """Keys whose value has an influence on the page. They are not checked again."""
    _seen: dict[str, dict[str, tuple[str, str]]] = field(default_factory=dict)
    """Key -> URL without the key -> the value of the key and the hash of the text at the first fetch."""
    _same: dict[str, set[str]] = field(default_factory=dict)
    """Key -> hashes of texts that were found under two values."""

    def saw(self, url: str, text: str) -> str | None:
        """Record the URL of a fetched article and the hash of its text.

        Returns a key that is now known to be idle (see :attr:`idle`), or None.
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
        """Record one observation of a key, and return True if the key is now known to be idle.

        ``rest`` is the URL without the key.
        """
        known = len(self._seen) + len(self._telling) + len(self.idle)
        if key not in self._seen and known >= MAX_KEYS:
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
            self._same.pop(key, None)
            return False
        same = self._same.setdefault(key, set())
        same.add(text)
        if len(same) < ENOUGH:
            return False
        del self._seen[key], self._same[key]
        return True
