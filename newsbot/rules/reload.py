"""Reads the rules again when a file has changed while a crawl runs."""

from __future__ import annotations

import logging
from importlib.resources.abc import Traversable
from pathlib import Path

from newsbot.errors import RulesError
from newsbot.rules import RuleSet, load_rules

logger = logging.getLogger(__name__)

Signature = tuple[tuple[str, int, int], ...]
"""Name, time of the last change and size of each file."""


class RulesWatch:
    """Looks at the rules folder when it is asked; rules inside a package never change."""

    def __init__(self, folder: Path | Traversable) -> None:
        self._folder = folder if isinstance(folder, Path) else None
        self._seen = self._look()

    def changed(self) -> RuleSet | None:
        """Return the rules if files changed since the last call and all are right; else None.

        What is wrong is logged, once for each change, one line a problem; the old rules then stay.
        """
        now = self._look()
        if now == self._seen or self._folder is None or not now:
            return None
        self._seen = now
        try:
            rules = load_rules(self._folder)
        except RulesError as error:
            for problem in error.problems:
                logger.error("rules wrong fault=%s", problem)
            logger.error("rules not taken over faults=%d; the old rules stay", len(error.problems))
            return None
        logger.info("rules taken over rules=%d", len(rules))
        return rules

    def _look(self) -> Signature:
        """Return the state of the folder; empty if it cannot be read: a deployment may be under way."""
        if self._folder is None:
            return ()
        found = []
        try:
            for path in self._folder.iterdir():
                if path.suffix == ".yaml" and not path.name.startswith("."):
                    told = path.stat()
                    found.append((path.name, told.st_mtime_ns, told.st_size))
        except OSError:
            return ()
        return tuple(sorted(found))
