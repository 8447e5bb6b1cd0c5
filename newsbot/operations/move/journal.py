"""The progress of a move, in a small file: if it is killed, the same command continues there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from newsbot.errors import DataError, DataUnavailable

NAME = "move.json"


class Journal:
    """``what`` says what is moved where; a file of another move is refused. Raises :class:`DataError`."""

    def __init__(self, folder: Path, what: dict[str, Any]) -> None:
        self.path = folder / NAME
        self._what = what
        self._kept: dict[str, Any] = {"what": what, "fixed": {}, **_new()}
        self.found = self.path.exists()
        """True when a move was begun before."""
        if self.found:
            self._read()

    def forget(self) -> None:
        """Begin anew."""
        self._kept |= _new()
        self.found = False

    def begin(self) -> None:
        """Write the file, if there is none: what reaches the other side from now on is this move's."""
        if not self.found:
            self._write()

    def fixed(self, name: str, value: str) -> str:
        """Return what had this name when the move began; if it begins now, that is ``value``."""
        return str(self._kept["fixed"].setdefault(name, value))

    @property
    def finished(self) -> str | None:
        """When the move ended (ISO 8601), None: it has not."""
        moment: str | None = self._kept["finished"]
        return moment

    def after(self, kind: str) -> str:
        """Return the key behind which to go on."""
        return str(self._kept["after"].get(kind, ""))

    def moved(self, kind: str) -> int:
        """Return how many of a kind have been moved."""
        return int(self._kept["done"].get(kind, 0))

    def note(self, kind: str, after: str, moved: int) -> None:
        """Keep that ``moved`` of a kind are safe on the other side, the last one with this key."""
        self._kept["after"][kind] = after
        self._kept["done"][kind] = self.moved(kind) + moved
        self._write()

    @property
    def filled_until(self) -> float | None:
        """Until when the queue on the other side has all that is due (POSIX seconds), once all is copied."""
        until: float | None = self._kept.get("filled_until")
        return until

    def note_filled_until(self, moment: float) -> None:
        """Keep that time."""
        self._kept["filled_until"] = moment
        self._write()

    def finish(self, moment: str) -> None:
        """Keep that all is done."""
        self._kept["finished"] = moment
        self._write()

    def _read(self) -> None:
        try:
            kept = json.loads(self.path.read_text(encoding="utf8"))
            known = kept["what"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise DataError(f"{self.path}: cannot be read ({error}); remove it to begin anew") from error
        if known != self._what and kept.get("finished"):
            self.found = False  # that one is history
            return
        if known != self._what:
            raise DataError(
                f"{self.path}: another move was begun here ({_told(known)}; now: {_told(self._what)}); "
                "finish that one, or remove the file to begin anew"
            )
        self._kept = kept

    def _write(self) -> None:
        """Replace the file in one step: a reader sees the old one or the new one."""
        new = self.path.with_suffix(".new")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            new.write_text(json.dumps(self._kept), encoding="utf8")
            new.replace(self.path)
        except OSError as error:
            raise DataUnavailable(f"{self.path}: cannot be written ({error.strerror})") from error


def _new() -> dict[str, Any]:
    return {"after": {}, "done": {}, "filled_until": None, "finished": None}


def _told(what: Any) -> str:
    items = what.items() if isinstance(what, dict) else ()
    return ", ".join(f"{name} {value}" for name, value in items if value is not None)
