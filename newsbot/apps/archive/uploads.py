"""Copies finished WARC files and their indexes to an object store (NEWSBOT_WARC_S3), in a thread.

After a file was copied, a small file beside it (``.copied``) names the folder in the store. Files without it
are copied at the next start, so a killed process, or a store that is away, loses no copy.
"""

from __future__ import annotations

import logging
import threading
from pathlib import Path
from queue import SimpleQueue

from newsbot.apps.archive.cdxj import INDEX
from newsbot.apps.archive.writer import SUFFIX
from newsbot.apps.outgoing import object_store

logger = logging.getLogger(__name__)

COPIED = ".copied"
UPLOAD_TIMEOUT = 60.0
"""Seconds to wait for a response of the store, and for the last copies at the end of a crawl."""
_PIECE = 8 * 2**20


class Uploads:
    """Copies files to ``address``. Raises :class:`newsbot.errors.UserError` if it is not valid."""

    def __init__(self, address: str) -> None:
        self._store, self._folder = object_store(address, "NEWSBOT_WARC_S3", patience=UPLOAD_TIMEOUT)
        self._waiting: SimpleQueue[Path | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="warc uploads", daemon=True)
        self._fault = ""

    def start(self, folder: Path) -> None:
        """Start the thread, with the finished files of a folder."""
        for path in sorted(folder.glob(f"*{SUFFIX}")):
            self.add(path)
        self._thread.start()

    def add(self, path: Path) -> None:
        """Let the thread copy a finished file and its index."""
        self._waiting.put(path)

    def close(self) -> None:
        """Wait for the copies. What is not copied in time is copied at the next start."""
        self._waiting.put(None)
        self._thread.join(UPLOAD_TIMEOUT)
        if self._thread.is_alive():
            logger.error("archive files are not copied yet bucket=%s; the next crawl goes on", self._folder)

    def has(self, path: Path) -> bool:
        """Return True if a file was copied to this folder of the store. Raises ``OSError``."""
        mark = path.with_name(path.name + COPIED)
        return mark.exists() and mark.read_text(encoding="utf-8") == self._folder

    def _run(self) -> None:
        while (path := self._waiting.get()) is not None:
            try:
                if not self.has(path):
                    self._copy(path)
                self._fault = ""
            except Exception as error:  # noqa: BLE001  (pyarrow raises errors of its own)
                fault = " ".join(str(error).split())[:300]
                if fault != self._fault:
                    logger.error(
                        "archive file not copied file=%s fault=%s; it is tried at the next start",
                        path.name,
                        fault,
                    )
                self._fault = fault

    def _copy(self, path: Path) -> None:
        for one in (path, path.with_name(path.name + INDEX)):
            if one.exists():
                place = f"{self._folder}/{one.name}"
                with one.open("rb") as file, self._store.open_output_stream(place) as target:
                    while piece := file.read(_PIECE):
                        target.write(piece)
        path.with_name(path.name + COPIED).write_text(self._folder, encoding="utf-8")
