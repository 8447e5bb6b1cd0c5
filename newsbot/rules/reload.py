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
"""Name, modification time in nanoseconds, and size in bytes of each file."""


class RulesWatch:
    """Checks on each call whether the files of a rules folder have changed.

    A folder inside a package (a ``Traversable`` that is not a ``Path``) is not checked, because it never
    changes.
    """

    def __init__(self, folder: Path | Traversable) -> None:
        self._folder = folder if isinstance(folder, Path) else None
        self._seen = self._look()

    def changed(self) -> RuleSet | None:
        """Return the new rules if files have changed since the last call and all are valid, else None.

        After each change, every problem is logged once, in one line. The caller keeps the old rules if the
        result is None.
        """
        now = self._look()
        if now == self._seen or self._folder is None or not now:
            return None
        # The state is stored before the files are loaded, so that their faults are reported only once.
        self._seen = now
        try:
            rules = load_rules(self._folder)
        except RulesError as error:
            for problem in error.problems:
                logger.error("rules wrong fault=%s", problem)
            logger.error("new rules not used faults=%d; the old rules stay", len(error.problems))
            return None
        logger.info("new rules in use rules=%d", len(rules))
        return rules

    def _look(self) -> Signature:
        """Return the state of the files.

        It is empty if the folder cannot be read, for example while a deployment replaces the folder.
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
    """Gives the current rules to several threads. The rules are loaded on first use."""

    def __init__(self, folder: Path | Traversable) -> None:
        self._folder = folder
        self._watch = RulesWatch(folder)
        self._rules: RuleSet | None = None
        self._lock = threading.Lock()

    def get(self) -> RuleSet:
        """Return the current rules, reloaded if files have changed.

        Raises :class:`newsbot.errors.RulesError` if the first load fails. Later faults are logged, and the
        last valid rules are returned.
        """
        with self._lock:
            changed = self._watch.changed() if self._rules is not None else load_rules(self._folder)
            self._rules = self._rules if changed is None else changed
            assert self._rules is not None
            return self._rules
