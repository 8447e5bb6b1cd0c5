"""Incremental exports: each export continues where the last export of the same name ended.

No version of an article is exported twice. The state is a note in the storage, with the cursor after the last
exported change. An export has four steps:

1. Write the file under a temporary name.
2. Record in the note that the file will be renamed.
3. Rename the file.
4. Record in the note that the export is complete.

If the export crashes after step 2, the next export looks for the temporary file. If this file is missing, it
was renamed, so the crashed export is complete. Otherwise the changes are exported again.
"""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from newsbot.errors import ArgumentError, UserError
from newsbot.items import Article
from newsbot.storage.articles import Articles
from newsbot.storage.notes import Notes

KIND = "export"
_AT_ONCE = 100
"""Maximum number of articles that are in memory at the same time."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")

Write = Callable[[BinaryIO, Path, str], tuple[int, str]]
"""A function that writes all changes after a cursor to a stream.

It takes the stream, the path that the file will have, and the cursor. The cursor is explained at
:meth:`newsbot.storage.articles.Articles.changes_since`. The function returns the number of articles and the
cursor after the last change.
"""


class Following:
    """The changed articles after a cursor, up to the current end of the changes."""

    def __init__(self, articles: Articles, cursor: str) -> None:
        self._articles = articles
        self.cursor = cursor
        """The position after the last article that was yielded."""

    def articles(self) -> Iterator[Article]:
        """Yield the articles in the order of the changes. Removed articles are left out."""
        while True:
            changes = self._articles.changes_since(self.cursor, _AT_ONCE)
            yield from (one.article for one in changes.found if one.article is not None)
            # The cursor is moved only after all articles of the batch were yielded, so it never skips an
            # article.
            self.cursor = changes.cursor
            if len(changes.found) < _AT_ONCE:
                return


@dataclass(frozen=True, slots=True)
class Written:
    """The result of an export. ``file`` is None if there were no new articles."""

    file: Path | None
    articles: int
    finished: Path | None = None
    """The file of an earlier export that was complete, but not yet recorded when that export crashed."""


def export_new(notes: Notes, name: str, path: Path, options: dict[str, Any], write: Write) -> Written:
    """Write the changes since the last export called ``name`` to a numbered file in the folder of ``path``.

    ``options`` has the options of the export (JSON-serializable). They must be the same for all exports of a
    name. Raises :class:`ArgumentError` for a bad name, or if the options differ from those of the last
    export, :class:`UserError` if the file cannot be written or another export of this name is running, and
    subclasses of :class:`newsbot.errors.DataError`.
    """
    if not _NAME.fullmatch(name):
        raise ArgumentError(f"--new {name}: use at most 64 letters, digits, dots, hyphens and underscores")
    path = path.expanduser().absolute()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _alone(path.parent, name):
            return _Export(notes, name, path).run(options, write)
    except BlockingIOError as error:
        raise UserError(f"{name}: another export with this name is running; try again later") from error
    except OSError as error:
        raise UserError(f"{path}: cannot be written ({error.strerror or error})") from error


class _Export:
    def __init__(self, notes: Notes, name: str, path: Path) -> None:
        self._notes, self._name, self._path = notes, name, path
        self._part = path.with_name(f".{name}.export.part")
        self._state: dict[str, Any] = notes.all(KIND).get(name, {})

    def run(self, options: dict[str, Any], write: Write) -> Written:
        if self._state.get("options", options) != options:
            raise ArgumentError(f"{self._name}: the last export had other options; repeat them or rename it")
        finished = self._finish_last()
        number = int(self._state.get("number", 0)) + 1
        file = _numbered(self._path, number)
        count, cursor = self._write(write, file, str(self._state.get("cursor", "")))
        # If there are no new articles, no file is written, and the next export can use the number.
        state = {"cursor": cursor, "number": number - (not count), "options": options}
        if count:
            if file.exists():
                raise UserError(f"{file}: exists and is not an export of {self._name}; move or rename it")
            self._save(self._state | {"options": options, "pending": {**state, "file": str(file)}})
            self._part.replace(file)
            _sync(file.parent)  # the rename must be on disk before the note says that it is complete
        else:
            self._part.unlink()
        self._save(state)
        return Written(file if count else None, count, finished)

    def _finish_last(self) -> Path | None:
        """Complete the state of an interrupted export, or undo it. Return the file if it was complete."""
        pending = self._state.pop("pending", None)
        if pending is None or self._part.exists():
            return None  # the file was not renamed, so the changes are exported again
        file = Path(pending.pop("file"))
        self._save(pending)
        return file

    def _write(self, write: Write, file: Path, cursor: str) -> tuple[int, str]:
        with self._part.open("wb") as stream:
            written = write(stream, file, cursor)
            stream.flush()
            # The content must be on disk before step 2. Otherwise the renamed file may be empty after a power
            # failure.
            os.fsync(stream.fileno())
        return written

    def _save(self, state: dict[str, Any]) -> None:
        self._state = state
        self._notes.save(KIND, self._name, state)


@contextmanager
def _alone(folder: Path, name: str) -> Iterator[None]:
    """Hold a lock for exports of this name in the folder. Raises ``BlockingIOError`` if it is taken."""
    with (folder / f".{name}.export.lock").open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield


def _numbered(path: Path, number: int) -> Path:
    # The name is split at the first dot, so that an ending such as .warc.gz stays whole.
    stem, dot, suffix = path.name.partition(".")
    return path.with_name(f"{stem}-{number:06}{dot}{suffix}")


def _sync(folder: Path) -> None:
    """Write the entries of a folder to disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
