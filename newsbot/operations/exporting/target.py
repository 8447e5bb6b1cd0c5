"""Where an export goes: stdout, or a file that is there whole or not at all."""

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
