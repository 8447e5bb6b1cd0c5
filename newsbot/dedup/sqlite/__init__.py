"""The near-duplicate index in the embedded data file.

Files in reading order:

* ``index``: the index itself
* ``postings``: the encoding of postings of many texts in one row, and the recent postings in memory
* ``buckets``: moves recent postings into their buckets
"""

from newsbot.dedup.sqlite.index import SqliteIndex, empty

__all__ = ["SqliteIndex", "empty"]
