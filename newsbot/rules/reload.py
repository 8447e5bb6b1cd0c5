"""Reloads the rules when a file changes while a crawl runs."""

from __future__ import annotations

import logging
import threading
from importlib.resources.abc import Traversable
from pathlib import Path

from newsbot.errors import RulesError
from newsbot.rules import RuleSet, load_rules

logger = logging.getLogger(__name__)

Signature = tuple[tuple[str, int, int], ...]
"""Name, modification time and size of each file."""


class RulesWatch:
    """Checks the rules folder on each call; rules inside a package never change."""

    def __init__(self, folder: Path | Traversable) -> None:
        self._folder = folder if isinstance(folder, Path) else None
        self._seen = self._look()

    def changed(self) -> RuleSet | None:
        """Return the rules if files changed since the last call and all are valid; else None.

        Problems are logged once for each change, one line per problem, and the old rules stay in use.
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
        """Return the state of the folder. It is empty if the folder cannot be read, as during a
        deployment.
        """
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


class PresentRules:
    """The current rules, for all threads; they are read on first use."""

    def __init__(self, folder: Path | Traversable) -> None:
        self._folder = folder
        self._watch = RulesWatch(folder)
        self._rules: RuleSet | None = None
        self._lock = threading.Lock()

    def get(self) -> RuleSet:
        """Return the current rules. Raises :class:`newsbot.errors.RulesError` if the first ones have
        problems.
        """
        with self._lock:
            changed = self._watch.changed() if self._rules is not None else load_rules(self._folder)
            self._rules = changed or self._rules
            assert self._rules is not None
            return self._rules
