"""Where worlds come from: a seed gives one, the same one each time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from newsbot.simulator.sitemaking import make_sites
from newsbot.simulator.sites import SiteWorld
from newsbot.simulator.sitesettings import SiteSettings


class Worlds(Protocol):
    """A world for each seed."""

    def of_seed(self, seed: int) -> SiteWorld:
        """Return the world of a seed."""

    def about(self) -> str:
        """Return what the worlds are, in one line."""


@dataclass(frozen=True, slots=True)
class Generated:
    """Worlds of the same settings."""

    settings: SiteSettings

    def of_seed(self, seed: int) -> SiteWorld:
        """See :class:`Worlds`."""
        return make_sites(self.settings, seed)

    def about(self) -> str:
        """See :class:`Worlds`."""
        one = self.settings
        kinds = ((one.feeds, "feeds"), (one.sections, "section pages"), (one.pages, "article pages"))
        what = ", ".join(f"{count:,} {name}" for count, name in kinds if count)
        return f"{what} on {one.hosts:,} hosts; {one.days} days, the first {one.learn} not counted"
