"""Finds and reads the reports in the folder that NEWSBOT_REPORTS names, for the dashboard.

Reports are served unchanged, but in a sandbox: browsers neither run scripts of a report nor load further
files.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from newsbot.clock import utc

MAX_REPORTS = 200
MAX_BYTES = 8 * 2**20
"""Maximum size of a report in bytes. Larger files are not listed."""
DEPTH = 2
"""Number of subfolder levels that are searched."""
CSP = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'"
"""The content security policy of reports."""


@dataclass(frozen=True, slots=True)
class ReportRow:
    """One report."""

    name: str
    """The path within the folder."""
    at: datetime
    """The time at which the file was written."""
    size: int
    """Bytes."""


def reports(folder: Path) -> list[ReportRow]:
    """Return at most MAX_REPORTS reports, newest first. The list is empty if the folder does not exist."""
    found = []
    for path in _files(folder, DEPTH):
        try:
            status = path.stat()
        except OSError:  # deleted since the folder was read
            continue
        if status.st_size <= MAX_BYTES:
            found.append(ReportRow(path.relative_to(folder).as_posix(), utc(status.st_mtime), status.st_size))
    return sorted(found, key=lambda one: (one.at, one.name), reverse=True)[:MAX_REPORTS]


def report(folder: Path, name: str) -> bytes | None:
    """Return the content of a report, or None if :func:`reports` does not list it.

    The name comes from a URL. It must be in the list, so that no other file can be read.
    """
    if name not in {one.name for one in reports(folder)}:
        return None
    try:
        return (folder / name).read_bytes()[:MAX_BYTES]
    except OSError:
        return None


def _files(folder: Path, depth: int) -> Iterator[Path]:
    try:
        places = sorted(folder.iterdir())[: 10 * MAX_REPORTS]
    except OSError:
        return
    for place in places:
        if place.name.startswith(".") or place.is_symlink():  # a link could lead out of the folder
            continue
        if place.is_dir() and depth:
            yield from _files(place, depth - 1)
        elif place.suffix == ".html" and place.is_file():
            yield place
