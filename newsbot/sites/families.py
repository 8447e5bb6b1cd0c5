"""Shares the families of each site between workers (:mod:`newsbot.ranking.families`)."""

from __future__ import annotations

from newsbot.ranking.families import Result, SiteFamilies
from newsbot.storage.notes import SharedSites

NOTE_KIND = "families"
"""The kind of the notes. Their keys are the domains of the sites."""
MAX_SITES = 5000
"""Maximum number of sites whose families are kept in memory."""


class FamilyNotes(SharedSites[SiteFamilies, Result]):
    """The families of all sites of one crawl, with one note for each site."""

    def __init__(self) -> None:
        super().__init__(NOTE_KIND, SiteFamilies.read, SiteFamilies.add, SiteFamilies.plain, most=MAX_SITES)
