"""Decides whether the pages of a site are rendered. The decision depends on the results of all workers.

Rendering runs the scripts of a page in a browser. If the page then has more text than before, rendering
*helped*, or had a *gain*.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from newsbot.clock import DAY
from newsbot.storage.notes import Notes
from newsbot.storage.shared_notes import SharedNotes

NOTE_KIND = "rendering"
TRIES = 3
"""Number of pages in a row without a gain after which a site's pages are not rendered any more."""
REST = 30 * DAY
"""Seconds after which another page of such a site is rendered, as a test."""
MAX_SITES = 20_000
"""Maximum number of sites that are remembered."""


@dataclass(slots=True)
class _Tries:
    helped: int = 0
    """Number of rendered pages with a gain."""
    vain: int = 0
    """Number of rendered pages without a gain since the last page with a gain."""
    at: float = 0.0
    """Time of the last result, POSIX seconds."""

    def saw(self, *, helped: bool, at: float) -> None:
        self.helped += helped
        self.vain = 0 if helped else self.vain + 1
        self.at = max(self.at, at)

    def plain(self) -> dict[str, Any]:
        return {"helped": self.helped, "vain": self.vain, "at": round(self.at)}


class RenderTrials:
    """The results of rendering for all sites of one crawl."""

    def __init__(self) -> None:
        self._sites: dict[str, _Tries] | None = None
        self._new: dict[str, list[tuple[bool, float]]] = {}
        """Domain -> results since the last write, as pairs (True if rendering helped, POSIX seconds)."""

    def helped(self, storage: Notes, domain: str) -> bool:
        """Return True if rendering has helped on a site, and at least one of its last pages had a gain.

        Raises :class:`newsbot.errors.DataError`.
        """
        known = self._known(storage).get(domain)
        return known is not None and known.helped > 0 and known.vain < TRIES

    def may_try(self, storage: Notes, domain: str, now: float) -> bool:
        """Return True if another page of a site may be rendered.

        The result is False for :data:`REST` seconds after :data:`TRIES` pages in a row without a gain.

        Raises :class:`newsbot.errors.DataError`.
        """
        known = self._known(storage).get(domain)
        return known is None or known.vain < TRIES or now - known.at > REST

    def saw(self, storage: Notes, domain: str, now: float, *, helped: bool) -> None:
        """Add the result of a rendered page. Raises :class:`newsbot.errors.DataError`."""
        sites = self._known(storage)
        if domain in sites or len(sites) < MAX_SITES:
            sites.setdefault(domain, _Tries()).saw(helped=helped, at=now)
            self._new.setdefault(domain, []).append((helped, now))

    def write(self, storage: Notes, is_out: Callable[[str], bool] = lambda _: False) -> None:
        """Merge the new results into the notes, except for removed sites (``is_out``).

        Raises :class:`newsbot.errors.DataError`. The next call then writes the rest.
        """
        for domain in [one for one in self._new if is_out(one)]:
            del self._new[domain]
        for domain, note in _SHARED.write(storage, self._new).items():
            self._known(storage)[domain] = _tries(note)
            del self._new[domain]

    def _known(self, storage: Notes) -> dict[str, _Tries]:
        if self._sites is None:
            self._sites = {domain: _tries(note) for domain, note in storage.all(NOTE_KIND).items()}
        return self._sites


def _tries(note: dict[str, Any] | None) -> _Tries:
    """Return the results in a note; no results if the note is invalid."""
    try:
        return _Tries() if note is None else _Tries(int(note["helped"]), int(note["vain"]), float(note["at"]))
    except (KeyError, TypeError, ValueError):
        return _Tries()


def _with_tries(note: dict[str, Any] | None, new: list[tuple[bool, float]]) -> dict[str, Any]:
    tries = _tries(note)
    for helped, at in new:
        tries.saw(helped=helped, at=at)
    return tries.plain()


_SHARED = SharedNotes(NOTE_KIND, _with_tries)
