"""Writes files that appear only when they are complete."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from newsbot.errors import UserError


@contextmanager
def atomic_target(path: Path | None) -> Iterator[BinaryIO]:
    """Yield a binary stream to the file ``path``, or stdout if ``path`` is None.

    The file is written under a temporary name in the same folder and renamed at the end, so that a failed
    export leaves the old file unchanged. Pipes and devices are written directly. Raises
    ``BrokenPipeError`` if the reader of a pipe has ended, and :class:`UserError` for other errors of the file
    system.
    """
    if path is None:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    try:
        place = path.expanduser().resolve()
        if place.exists() and not place.is_file():  # /dev/stdout or a named pipe; opening a folder fails
            with place.open("wb") as stream:
                yield stream
        else:
            with replacing(place) as stream:
                yield stream
    except BrokenPipeError:  # the reader of a pipe has ended, as in `| head`
        raise
    except OSError as error:
        raise UserError(f"{path}: cannot be written ({error.strerror or error})") from error


@contextmanager
def replacing(place: Path) -> Iterator[BinaryIO]:
    """Yield a binary stream to the file ``place``, which appears when it is complete. Raises ``OSError``."""
    part = place.with_name(f".{place.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as stream:
            yield stream
            stream.flush()
            # The data must be on disk before the rename: after a power failure the new name could point to an
            # empty file.
            os.fsync(stream.fileno())
        part.replace(place)
    finally:
        part.unlink(missing_ok=True)
