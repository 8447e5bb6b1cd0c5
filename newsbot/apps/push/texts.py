"""Keeps the full texts in signed messages of hubs until the pages of their articles are visited
(:mod:`newsbot.sites.texts`)."""

from __future__ import annotations

from collections.abc import Mapping

from newsbot.items import Bounded
from newsbot.pages.rules import RuleSet
from newsbot.sites.texts import LASTS, PUSHED
from newsbot.storage.notes import Notes
from newsbot.urls import canonicalize

MAX_KEPT = 1_000
"""Maximum number of texts that one process keeps. If there are more, the oldest is deleted."""
MAX_OF_MESSAGE = 50
"""Maximum number of texts of one message that are kept. The first items of a feed are the newest."""


class PushedTexts:
    """Writes the texts of one process. All methods raise :class:`newsbot.errors.DataError`."""

    def __init__(self, notes: Notes) -> None:
        self._notes = notes
        kept = {url: float(note["at"]) for url, note in notes.all(PUSHED).items()}
        self._kept = Bounded[str, float](MAX_KEPT + 1)
        """The time of each text in POSIX seconds, oldest first, by canonical URL."""
        self._kept.update(sorted(kept.items(), key=lambda one: one[1]))

    def save(self, contents: Mapping[str, str], site: str, rules: RuleSet, now: float) -> None:
        """Keep the texts of a message. ``contents``: HTML by the URL of the item.

        ``site``: the site that names the feed of the message. Texts for pages of other sites, and texts that
        are too long for a note, are ignored.
        """
        saved = 0
        for url, html in contents.items():
            try:
                rule = rules.for_url(url)
                if rule.domain != site or saved == MAX_OF_MESSAGE:
                    continue
                key = canonicalize(url, rule.drop_query)
                self._notes.save(PUSHED, key, {"site": site, "html": html, "at": now})
            except ValueError:  # the URL is not valid, or the text is too long
                continue
            saved += 1
            self._kept[key] = now
            if len(self._kept) > MAX_KEPT:
                self._forget(next(iter(self._kept)))

    def forget_old(self, now: float) -> None:
        """Delete the texts that are older than :data:`LASTS`."""
        for key in [key for key, at in self._kept.items() if at < now - LASTS]:
            self._forget(key)

    def _forget(self, key: str) -> None:
        self._notes.forget(PUSHED, key)
        del self._kept[key]
