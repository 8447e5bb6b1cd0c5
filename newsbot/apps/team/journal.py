"""The log of what people did: JSON lines in the data folder of the machine that runs ``newsbot serve``."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Any

from newsbot.cli.terminal import one_line
from newsbot.clock import iso_of

FILE = "actions.log"
"""Name of the file in the data folder."""
MAX_BYTES = 5 * 2**20
"""Size at which the file is renamed to ``actions.log.1``, which replaces an older one."""
MAX_VALUE = 200
"""Maximum number of characters of a value in the log."""


class Journal:
    """The log in a folder. Several threads may write."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE
        self._lock = Lock()

    def write(self, at: float, person: str, action: str, values: Mapping[str, object]) -> None:
        """Append a line. Raises ``OSError``."""
        told = {
            name: one_line(value)[:MAX_VALUE] for name, value in values.items() if value not in (None, "")
        }
        line = json.dumps({"at": iso_of(at), "person": person, "action": action, **told}, ensure_ascii=False)
        with self._lock:
            with suppress(FileNotFoundError):
                if self._path.stat().st_size >= MAX_BYTES:
                    self._path.replace(self._path.with_suffix(".log.1"))
            self._path.touch(mode=0o600)
            with self._path.open("a", encoding="utf-8") as file:
                file.write(line + "\n")

    def latest(self, limit: int, person: str | None = None) -> list[dict[str, Any]]:
        """Return the latest lines, the latest last; only those of a person if ``person`` is given."""
        found = (one for one in self._lines() if person is None or one.get("person") == person)
        return list(deque(found, maxlen=limit))

    def _lines(self) -> Iterator[dict[str, Any]]:
        for path in (self._path.with_suffix(".log.1"), self._path):
            with suppress(FileNotFoundError), path.open(encoding="utf-8") as file:
                for line in file:
                    with suppress(ValueError):  # a line that was cut by a full disk
                        yield json.loads(line)
