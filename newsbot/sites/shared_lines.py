"""Lines that the articles of a site have in common, kept for the next crawl and shared by all workers.

What is remembered is :class:`newsbot.extraction.SiteMemory`; here it is read from the storage when a site is
met, and written at each beat, joined with what other workers have written. What no note has room for stays
in this worker's memory.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from newsbot.errors import DataError
from newsbot.extraction import SiteMemories, SiteMemory
from newsbot.storage.notes import Notes
from newsbot.storage.shared_notes import SharedNotes

logger = logging.getLogger(__name__)

NOTE_KIND = "lines:"
"""With a domain: the kind of its note."""
KEY = "lines"


class SharedLines:
    """The memories of one crawl. ``storage`` keeps them; None: for this crawl alone."""

    def __init__(self) -> None:
        self._memories = SiteMemories()
        self.storage: Notes | None = None

    def of(self, domain: str) -> SiteMemory:
        """Return the memory of a site: what is kept of it; while that is away, what this worker saw."""
        if domain in self._memories or self.storage is None:
            return self._memories.of(domain)
        try:
            told = self.storage.all(NOTE_KIND + domain).get(KEY)
        except DataError:
            # A page that came is not fetched again for this: it waits with its article, and the next beat
            # joins both memories.
            return self._memories.of(domain)
        memory = self._memories.of(domain)
        _take(memory, domain, told)
        return memory

    def write(self, is_out: Callable[[str], bool] = lambda _: False) -> None:
        """Keep what has come, but of sites that ``is_out`` names: they were taken out.

        Raises :class:`newsbot.errors.DataError`; the rest is written next time.
        """
        if self.storage is None:
            return
        for domain, memory in self._memories.items():
            if memory.changed and not is_out(domain) and _write(self.storage, domain, memory):
                memory.changed = False


def _write(storage: Notes, domain: str, memory: SiteMemory) -> bool:
    """Merge a memory with what other workers have written; False if they were faster too often."""

    def merged(note: dict[str, Any] | None, memory: SiteMemory) -> dict[str, Any]:
        _take(memory, domain, note)
        return memory.plain()

    return bool(SharedNotes(NOTE_KIND + domain, merged).write(storage, {KEY: memory}))


def _take(memory: SiteMemory, domain: str, told: dict[str, Any] | None) -> None:
    if told is None:
        return
    try:
        memory.take(told)
    except ValueError as error:
        logger.warning("lines damaged domain=%s fault=%s; they are learned anew", domain, error)
