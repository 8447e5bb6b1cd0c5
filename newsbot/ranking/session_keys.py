"""Finds query keys that contain session ids, by comparing the texts of fetched articles.

URLs that differ only in a *session id* are one page. Query keys with common names are removed from every URL
(:mod:`newsbot.urls`). Other session keys are detected by comparing the texts of fetched articles. A key is a
session key if several articles each had the same text under two values of the key, and no article had a
different text under another value. Some sites write a new id into all of their links. Without this detection,
all articles of these sites would be fetched again at each visit.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from newsbot.items import Bounded
from newsbot.storage.notes import Notes, SharedNotes

logger = logging.getLogger(__name__)

SESSION_NOTE = "session_keys"
"""The kind of the notes with a domain's query keys that have no influence on the pages."""
MAX_SITES = 5000
"""Maximum number of sites whose keys are kept in memory."""
ENOUGH_TEXTS = 3
"""Minimum number of articles with different texts that show that a key is a session key.

Each article must have had the same text under two values of the key.
"""
MAX_KEYS = 20
"""Maximum number of keys of a site that are checked."""
MAX_FORMS = 500
"""Maximum number of URLs (without the key) that are stored for each key."""
_MAX_PAIRS = 8
"""Maximum number of keys of one URL that are checked."""
# At least six characters with a digit and a letter (the two look-aheads), such as "a8f3k2", or at least 20
# characters of any kind, such as "PHPSESSIDabcdefghijk".
_TOKEN = re.compile(r"(?=[\w.-]*\d)(?=[\w.-]*[A-Za-z])[\w.-]{6,128}|[\w.-]{20,128}", re.ASCII)
"""Matches a value that looks like a session id: random characters, and not a word or a number."""


@dataclass(slots=True)
class SessionKeys:
    """The evidence about the query keys of one site."""

    idle: set[str] = field(default_factory=set)
    """Idle keys: their value has no influence on the page."""
    _telling: set[str] = field(default_factory=set)
    """Keys whose value has an influence on the page. They are not checked again."""
    _seen: dict[str, dict[str, tuple[str, str]]] = field(default_factory=dict)
    """Key -> URL without the key -> (value of the key, hash of the text) at the first fetch."""
    _same: dict[str, set[str]] = field(default_factory=dict)
    """Key -> hashes of texts that were found under two values of the key."""

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
            return False  # the same URL was fetched again, and its page may have been edited
        # One page whose text depends on the value is enough: the key selects the content.
        if text_before != text:
            self._telling.add(key)
            del self._seen[key]
            self._same.pop(key, None)
            return False
        same = self._same.setdefault(key, set())
        # Different texts are counted, because one text under many values may be an error page.
        same.add(text)
        if len(same) < ENOUGH_TEXTS:
            return False
        del self._seen[key], self._same[key]
        return True


class SessionLearning:
    """Learns the session keys of all sites of one crawl."""

    def __init__(self) -> None:
        self._keys = Bounded[str, SessionKeys](MAX_SITES)
        self.storage: Notes | None = None

    def read_text(self, domain: str, url: str, text: str) -> bool:
        """Record an article's URL and text. Return True if they show that a query key contains session ids.

        Raises :class:`newsbot.errors.DataError`; the call may then be repeated.
        """
        if "?" not in url:
            return False
        keys = self._keys[domain] = self._keys.get(domain) or SessionKeys()
        found = keys.saw(url, text)
        if found is None:
            return False
        if self.storage is not None:
            _SESSION_KEYS.write(self.storage, {domain: keys.idle})
        logger.warning(
            "session key learned domain=%s key=%s; articles do not depend on it, so it is removed from URLs"
            " (in the rule: drop_query)",
            domain,
            found,
        )
        return True


def _with_keys(note: dict[str, Any] | None, keys: Iterable[str]) -> dict[str, Any]:
    return {"keys": sorted({*keys, *map(str, (note or {}).get("keys") or ())})}


_SESSION_KEYS = SharedNotes(SESSION_NOTE, _with_keys)


def session_keys(storage: Notes) -> dict[str, tuple[str, ...]]:
    """Return the query keys that contain session ids, by domain."""
    known = storage.all(SESSION_NOTE)
    return {domain: tuple(map(str, note.get("keys") or ())) for domain, note in known.items()}
