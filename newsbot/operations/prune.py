"""Deletes old data: WARC files, earlier versions of articles, and the history of pages.

Each function counts the old data. With ``delete`` it also deletes them. Database records are deleted in
batches, so that running crawls can write between two batches.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from newsbot.clock import utc
from newsbot.errors import UserError
from newsbot.storage.upkeep import Removal
from newsbot.warc.folder import SUFFIX

BATCH = 1000


def prune_archive(folder: Path, before: float, *, delete: bool) -> int:
    """Return how many WARC files were last written before ``before`` (POSIX seconds).

    Raises :class:`UserError` if the folder cannot be read or a file cannot be deleted.
    """
    count = 0
    try:
        for path in sorted(folder.glob(f"*{SUFFIX}")):
            with suppress(FileNotFoundError):  # another process pruned it in the meantime
                if path.stat().st_mtime < before:
                    count += 1
                    if delete:
                        path.unlink()
    except OSError as error:
        raise UserError(f"{folder}: {error.strerror or error}") from error
    return count


def prune_versions(storage: Removal, before: float, *, delete: bool) -> int:
    """Return how many earlier versions of articles are older than ``before`` (POSIX seconds).

    Raises subclasses of :class:`newsbot.errors.DataError`.
    """
    moment = utc(before)
    count = storage.old_versions(moment)
    if delete:
        _repeat(lambda: storage.drop_versions(moment, BATCH))
    return count


def prune_pages(storage: Removal, before: float, *, delete: bool) -> int:
    """Return how many pages were last fetched before ``before`` (POSIX seconds) and are never due again.

    Only their history and referrers are deleted. The records stay, so that a crawl still knows the URLs.
    Raises subclasses of :class:`newsbot.errors.DataError`.
    """
    count = storage.old_pages(before)
    if delete:
        _repeat(lambda: storage.slim_pages(before, BATCH))
    return count


def _repeat(step: Callable[[], int]) -> None:
    """Call ``step`` until it returns 0."""
    while step():
        pass
