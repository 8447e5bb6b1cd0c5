"""What workers share about the texts of a site: lines that its articles have in common, and pushed texts.

**Common lines.** The :class:`newsbot.pages.extraction.SiteMemory` of a site is read from the storage when it
is first needed. At each heartbeat, it is merged with the lines that other workers have stored.

**Pushed texts** are the full texts in signed messages of a site's hub. They are kept until the pages of their
articles are visited. The text of an article is used if its page is refused or has only a part of it
(:mod:`newsbot.spiders.sources`). A text is kept only for a page of the site that names the feed of the
message, so that no site can state the text of another site's article.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from newsbot.clock import DAY
from newsbot.errors import DataError
from newsbot.pages.extraction import SiteMemories, SiteMemory
from newsbot.storage.notes import NoteName, Notes, SharedNotes

logger = logging.getLogger(__name__)

NOTE_KIND = "lines:"
"""The kind of a site's note consists of this prefix and the domain."""
KEY = "lines"


class SharedLines:
    """The memories of all sites of one crawl. If ``storage`` is None, they are not stored or shared."""

    def __init__(self) -> None:
        self._memories = SiteMemories()
        self.storage: Notes | None = None

    def of(self, domain: str) -> SiteMemory:
        """Return the memory of a site. While the storage is unavailable, it has only this worker's lines."""
        if domain in self._memories or self.storage is None:
            return self._memories.of(domain)
        try:
            note = _SHARED.read(self.storage, [domain]).get(domain)
        except DataError:
            # The visit continues, because its article has to wait for the storage anyway. The next heartbeat
            # merges both memories.
            return self._memories.of(domain)
        memory = self._memories.of(domain)
        _take(memory, domain, note)
        return memory

    def write(self, is_out: Callable[[str], bool] = lambda _: False) -> None:
        """Store the new lines, except lines of removed sites (``is_out``).

        Raises :class:`newsbot.errors.DataError`. The next call then writes the rest.
        """
        if self.storage is None:
            return
        changed = {
            domain: (domain, memory)
            for domain, memory in self._memories.items()
            if memory.changed and not is_out(domain)
        }
        for domain in _SHARED.write(self.storage, changed):
            changed[domain][1].written()


def note_name(domain: str) -> NoteName:
    """Return the kind and key of the note with a site's lines."""
    return _SHARED.name(domain)


def _merged(note: dict[str, Any] | None, added: tuple[str, SiteMemory]) -> dict[str, Any]:
    """Merge a site's memory with its note. The stored lines are also added to the memory."""
    domain, memory = added
    _take(memory, domain, note)
    return memory.plain()


_SHARED = SharedNotes(NOTE_KIND, _merged, key=KEY)


def _take(memory: SiteMemory, domain: str, note: dict[str, Any] | None) -> None:
    if note is None:
        return
    try:
        memory.take(note)
    except ValueError as error:
        logger.warning("stored lines are damaged domain=%s fault=%s; they are learned again", domain, error)


# --- pushed texts
PUSHED = "pushed_text"
"""Kind of the notes: ``{"site": …, "html": …, "at": …}`` by the canonical URL of the page."""
LASTS = 2 * DAY
"""Seconds for which a text is kept. The page is visited within minutes of the message."""


def pushed_text(notes: Notes, key: str, site: str, now: float) -> str | None:
    """Return the text that the hub of ``site`` has sent for a page, as HTML, or None.

    ``key``: the canonical URL of the page. Raises :class:`newsbot.errors.DataError`.
    """
    note = notes.get_many([(PUSHED, key)]).get((PUSHED, key))
    if note is None or note["site"] != site or note["at"] < now - LASTS:
        return None
    return str(note["html"])
