"""Letting go of what is old: a Protocol of its own, which both storages have beside their others.

Present versions of articles stay, and so does what is known of a URL: without it a crawl would take an old
page for a new one.
"""

from __future__ import annotations

from datetime import datetime
from typing import Protocol, runtime_checkable


@runtime_checkable
class Retention(Protocol):
    """Faults are :class:`newsbot.errors.DataError` kinds."""

    def old_versions(self, before: datetime) -> int:
        """How many earlier versions of articles were fetched before this moment."""

    def drop_versions(self, before: datetime, limit: int) -> int:
        """Delete so many of them; how many were deleted, 0 when none is left."""

    def old_pages(self, before: float) -> int:
        """How many page records, never due again and last fetched (or else first seen) before this moment
        (POSIX seconds), still have their history or their referrers."""

    def slim_pages(self, before: float, limit: int) -> int:
        """Take history and referrers from so many of them; how many that were, 0 when none is left.

        Address, state, counts, validators and times stay.
        """
