"""Stores the progress of a move in a small file. If a move is interrupted, the same command continues it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from newsbot.errors import DataError, DataUnavailable

NAME = "move.json"


class Journal:
    """The journal of a move, stored as ``move.json`` in ``folder``.

    ``what`` describes the move (JSON-able). Raises :class:`DataError` if the file cannot be read, or belongs
    to another move that is not finished.
    """

    def __init__(self, folder: Path, what: dict[str, Any]) -> None:
        self.path = folder / NAME
        self._what = what
        self._kept: dict[str, Any] = {"what": what, "fixed": {}, **_new()}
        self.found = self.path.exists()
        """True if an earlier command started this move."""
        if self.found:
            self._read()

    def forget(self) -> None:
        """Start again from the beginning."""
        self._kept |= _new()
        self.found = False

    def begin(self) -> None:
        """Write the file if the move starts now. From now on, data on the target belong to this move."""
        if not self.found:
            self._write()

    def fixed(self, name: str, value: str) -> str:
        """Return the value that ``name`` had at the start of the move.

        If the move starts now, store ``value``.
        """
        return str(self._kept["fixed"].setdefault(name, value))

    @property
    def finished(self) -> str | None:
        """When the move was completed (ISO 8601); None if it is not complete."""
        moment: str | None = self._kept["finished"]
        return moment

    def after(self, kind: str) -> str:
        """Return the key after which the copying of a kind continues; empty at the start."""
        return str(self._kept["after"].get(kind, ""))

    def moved(self, kind: str) -> int:
        """Return how many items of a kind were moved, including those of earlier commands."""
        return int(self._kept["done"].get(kind, 0))

    def note(self, kind: str, after: str, moved: int) -> None:
        """Record that the target has stored ``moved`` more items; ``after`` is the key of the last one."""
        self._kept["after"][kind] = after
        self._kept["done"][kind] = self.moved(kind) + moved
        self._write()

    @property
    def filled_until(self) -> float | None:
        """The time (POSIX seconds) until which the target queue is complete after the copying.

        None if it is not set.
        """
        until: float | None = self._kept.get("filled_until")
        return until

    def note_filled_until(self, moment: float) -> None:
        """Store the time that :attr:`filled_until` returns."""
        self._kept["filled_until"] = moment
        self._write()

    def finish(self, moment: str) -> None:
        """Record that the move is complete."""
        self._kept["finished"] = moment
        self._write()

    def _read(self) -> None:
        try:
            kept = json.loads(self.path.read_text(encoding="utf8"))
            known = kept["what"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise DataError(f"{self.path}: cannot be read ({error}); delete it to start again") from error
        if known != self._what and kept.get("finished"):
            self.found = False  # the other move is complete, so its journal is overwritten
            return
        if known != self._what:
            raise DataError(
                f"{self.path}: another move was started here ({_told(known)}; now: {_told(self._what)}); "
                "finish that move, or delete the file to start a new one"
            )
        self._kept = kept

    def _write(self) -> None:
        """Replace the file atomically. Raises :class:`DataUnavailable`."""
        new = self.path.with_suffix(".new")
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            new.write_text(json.dumps(self._kept), encoding="utf8")
            new.replace(self.path)
        except OSError as error:
            raise DataUnavailable(f"{self.path}: cannot be written ({error.strerror})") from error


def _new() -> dict[str, Any]:
    return {"after": {}, "done": {}, "filled_until": None, "finished": None}


def _told(what: Any) -> str:
    items = what.items() if isinstance(what, dict) else ()
    return ", ".join(f"{name} {value}" for name, value in items if value is not None)
