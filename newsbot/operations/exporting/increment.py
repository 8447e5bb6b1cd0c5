"""Incremental exports: each begins where the last one of the same name ended, and has each version of an
article once.

The state is a note in the storage. A file is written under a temporary name; then the note says that it is
about to get its own; then it gets it; then the note says that it is done. Whoever comes after a crash sees by
the temporary file whether the third step was done: it is gone if it was.
"""

from __future__ import annotations

import fcntl
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from newsbot.clock import Clock, system_clock
from newsbot.errors import ArgumentError, UserError
from newsbot.storage.notes import Notes


@contextmanager
def atomic_target(path: Path | None) -> Iterator[BinaryIO]:
    """Give a stream to write to: stdout for None, else ``path``.

    The file is written beside its place under another name and moved there at the end, so that an
    export that fails leaves the old file as it was. Raises :class:`UserError` for what the file
    system refuses.
    """
    if path is None:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    try:
        place = path.expanduser().resolve()
        if place.exists() and not place.is_file():  # /dev/stdout, a named pipe; a folder is an error
            with place.open("wb") as stream:
                yield stream
        else:
            yield from _replacing(place)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise UserError(f"{path}: cannot be written ({error.strerror or error})") from error


def _replacing(place: Path) -> Iterator[BinaryIO]:
    part = place.with_name(f".{place.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        part.replace(place)
    finally:
        part.unlink(missing_ok=True)


KIND = "export"
SETTLE = 60.0
"""Seconds. What is younger waits for the next export: a worker whose clock is behind, or whose transaction
takes a while, may store something that looks older than what was exported."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")

Write = Callable[[BinaryIO, Path, float, float], int]
"""Writes all that was stored after the first moment, up to the second, for a file of this name; how many."""


@dataclass(frozen=True, slots=True)
class Written:
    """What an export gave: ``file`` is None if there was nothing new."""

    file: Path | None
    articles: int
    finished: Path | None = None
    """A file of an earlier run that was whole and not yet noted."""


def export_new(
    notes: Notes, name: str, path: Path, options: dict[str, Any], write: Write, *, clock: Clock = system_clock
) -> Written:
    """Write what is new since the last export called ``name`` to a numbered file beside ``path``.

    ``options`` are those of the export: it is refused if they differ from the last time's. Raises
    :class:`newsbot.errors.UserError` kinds.
    """
    if not _NAME.fullmatch(name):
        raise ArgumentError(f"--new {name}: letters, digits, dots and hyphens only, at most 64")
    path = path.expanduser().absolute()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _alone(path.parent, name):
            return _Export(notes, name, path, clock).run(options, write)
    except BlockingIOError as error:
        raise UserError(f"{name}: another export of this name is running") from error
    except OSError as error:
        raise UserError(f"{path}: cannot be written ({error.strerror or error})") from error


class _Export:
    def __init__(self, notes: Notes, name: str, path: Path, clock: Clock) -> None:
        self._notes, self._name, self._path = notes, name, path
        self._now = clock()
        self._part = path.with_name(f".{name}.export.part")
        self._state: dict[str, Any] = notes.all(KIND).get(name, {})

    def run(self, options: dict[str, Any], write: Write) -> Written:
        if self._state.get("options", options) != options:
            raise ArgumentError(f"the export {self._name} was begun with other options; choose another name")
        finished = self._finish_last()
        after, until = float(self._state.get("until", -1.0)), self._now - SETTLE
        if until <= after:
            return Written(None, 0, finished)
        number = int(self._state.get("number", 0)) + 1
        file = _numbered(self._path, number)
        count = self._write(write, file, after, until)
        state = {"until": until, "number": number - (not count), "options": options}
        if count:
            if file.exists():
                raise UserError(f"{file}: exists and is no export of {self._name}; move it away")
            self._save(self._state | {"options": options, "pending": {**state, "file": str(file)}})
            self._part.replace(file)
            _sync(file.parent)
        else:
            self._part.unlink()
        self._save(state)
        return Written(file if count else None, count, finished)

    def _finish_last(self) -> Path | None:
        """Bring the state of an export that was broken off to its end, or take it back."""
        pending = self._state.pop("pending", None)
        if pending is None or self._part.exists():
            return None  # it is written anew
        file = Path(pending.pop("file"))
        self._save(pending)
        return file

    def _write(self, write: Write, file: Path, after: float, until: float) -> int:
        with self._part.open("wb") as stream:
            count = write(stream, file, after, until)
            stream.flush()
            os.fsync(stream.fileno())
        return count

    def _save(self, state: dict[str, Any]) -> None:
        self._state = state
        self._notes.save(KIND, self._name, state)


@contextmanager
def _alone(folder: Path, name: str) -> Iterator[None]:
    with (folder / f".{name}.export.lock").open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield


def _numbered(path: Path, number: int) -> Path:
    stem, dot, suffix = path.name.partition(".")
    return path.with_name(f"{stem}-{number:06}{dot}{suffix}")


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
