"""The near-duplicate index in the embedded data file."""

from newsbot.dedup.sqlite.index import SqliteIndex, empty

__all__ = ["SqliteIndex", "empty"]
