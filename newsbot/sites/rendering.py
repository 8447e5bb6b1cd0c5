"""Decides whether the pages of a site are rendered. The decision depends on the results of all workers.

Rendering runs the scripts of a page in a browser. If the page has more text after that, rendering *helped*,
or had a *gain*.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from newsbot.clock import DAY
from newsbot.storage.notes import Notes, SharedSites

NOTE_KIND = "rendering"
TRIES = 3
"""Number of consecutive pages without a gain after which a site's pages are no longer rendered."""
REST = 30 * DAY
"""Seconds after which another page of such a site is rendered as a test."""
MAX_SITES = 20_000
"""Maximum number of sites that are kept in memory."""


@dataclass(slots=True)
class _Tries:
    helped: int = 0
    """Number of rendered pages with a gain."""
    vain: int = 0
    """Number of rendered pages without a gain since the last page with a gain."""
    at: float = 0.0
    """Time of the last result, POSIX seconds."""

    def saw(self, result: tuple[bool, float]) -> None:
        """Add a result: a pair of True if rendering helped, and the time in POSIX seconds."""
        helped, at = result
        self.helped += helped
        self.vain = 0 if helped else self.vain + 1
        self.at = max(self.at, at)

    def plain(self) -> dict[str, Any]:
        return {"helped": self.helped, "vain": self.vain, "at": round(self.at)}


def _tries(note: dict[str, Any]) -> _Tries:
    """Return the results in a note. The result is empty if the note is invalid."""
    try:
        return _Tries(int(note["helped"]), int(note["vain"]), float(note["at"]))
    except (KeyError, TypeError, ValueError):
        return _Tries()


class RenderTrials(SharedSites[_Tries, tuple[bool, float]]):
    """The results of rendering for all sites of one crawl."""

    def __init__(self) -> None:
        super().__init__(NOTE_KIND, _tries, _Tries.saw, _Tries.plain, most=MAX_SITES)

    def helped(self, storage: Notes, domain: str) -> bool:
        """Return True if rendering has helped on a site, and at least one of its last pages had a gain.

        Raises :class:`newsbot.errors.DataError`.
        """
        known = self.of(storage, domain)
        return known.helped > 0 and known.vain < TRIES

    def may_try(self, storage: Notes, domain: str, now: float) -> bool:
        """Return True if another page of a site may be rendered.

        The result is False for :data:`REST` seconds after :data:`TRIES` consecutive pages without a gain.

        Raises :class:`newsbot.errors.DataError`.
        """
        known = self.of(storage, domain)
        return known.vain < TRIES or now - known.at > REST

    def saw(self, storage: Notes, domain: str, now: float, *, helped: bool) -> None:
        """Add the result of a rendered page. Raises :class:`newsbot.errors.DataError`."""
        self.add(storage, domain, (helped, now))
