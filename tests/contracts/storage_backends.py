"""The storages that the contract holds for. A new backend is one more line in ``BACKENDS``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from newsbot.storage.base import Storage
from newsbot.storage.sqlite import SqliteStorage


@dataclass(frozen=True)
class Place:
    """Where one test keeps its data: any number of storages, also of other processes, may open it."""

    backend: str
    folder: Path

    def open(self) -> Storage:
        return BACKENDS[self.backend](self.folder)


def open_sqlite(folder: Path) -> Storage:
    return SqliteStorage(folder / "newsbot.db")


BACKENDS: dict[str, Callable[[Path], Storage]] = {"sqlite": open_sqlite}
