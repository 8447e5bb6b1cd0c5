"""Finds query keys that contain a session id. URLs that differ only in the value of such a key are one page.

Keys with common names are removed from every URL (:mod:`newsbot.urls`). Other keys are detected by the texts
of fetched articles: at several URLs of the site the text is the same under two values of the key, and at no
URL it differs. Without this, if a site writes a new id into all of its links, all of its articles would be
fetched again at each visit.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

ENOUGH = 3
"""Articles with different texts that are needed, each fetched under two values of the key."""
MAX_KEYS = 20
"""Keys of a site that are checked."""
MAX_FORMS = 500
"""URLs without the key that are stored for each key."""
_MAX_PAIRS = 8
"""Keys of a URL that are checked."""
_TOKEN = re.compile(r"(?=[\w.-]*\d)(?=[\w.-]*[A-Za-z])[\w.-]{6,128}|[\w.-]{20,128}", re.ASCII)
"""Random characters. Words and the numbers of pages and articles do not match."""


@dataclass(slots=True)
class SessionKeys:
    """What is known about one site's query keys."""

    idle: set[str] = field(default_factory=set)
    """Keys that have no influence on the page."""
    _telling: set[str] = field(default_factory=set)
    """Keys that have an influence. They are not checked again."""
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
