"""Links that were judged together, on their way to the frontier."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from newsbot.frontier.base import Entry
from newsbot.items import PageRecord


@dataclass(slots=True)
class Batch:
    """What came of judging links."""

    entries: dict[bytes, Entry] = field(default_factory=dict)
    pages: list[PageRecord] = field(default_factory=list)
    rejected: Counter[str] = field(default_factory=Counter)
