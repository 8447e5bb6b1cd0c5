"""Runs the followers of the active apps in a thread of its own, with its own storage."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable, Mapping
from contextlib import closing, suppress

from newsbot.backends import open_storage
from newsbot.clock import system_clock
from newsbot.config.apps import active_apps, load
from newsbot.config.check import SettingsLike
from newsbot.errors import DataError
from newsbot.frontier.owners import owner_name
from newsbot.storage.base import Storage
from newsbot.storage.following import Follower, FollowerRun, Step

logger = logging.getLogger(__name__)

EVERY = 1.0
"""Seconds between two looks for changes."""
FINISH = 60.0
"""Maximum number of seconds for which the end of a crawl waits until all changes are taken."""


def open_followers(settings: SettingsLike, *, machine: bool) -> dict[str, Follower]:
    """Return the followers of the active apps by name; with ``machine`` also those of this machine.

    Raises :class:`newsbot.errors.UserError`.
    """
    found: dict[str, Follower] = {}
    for app in active_apps(settings.get("NEWSBOT_APPS")):
        for place in (*app.followers, *(app.machine_followers if machine else ())):
            found |= load(place)(settings)
    return found


class FollowerThread:
    """Runs followers until :meth:`stop`. A storage that is unavailable is tried again."""

    def __init__(self, settings: SettingsLike, *, machine: bool = False) -> None:
        self._settings, self._machine = settings, machine
        self._stopped = threading.Event()
        self._finish = False
        self._thread = threading.Thread(target=self._run, name="followers", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self, *, finish: bool = False) -> None:
        """Stop the thread, and wait for it. With ``finish``, it first takes all changes, up to
        :data:`FINISH` seconds."""
        self._finish = finish
        self._stopped.set()
        self._thread.join()

    def _run(self) -> None:
        followers: dict[str, Follower] = {}
        fault = ""
        try:
            followers = open_followers(self._settings, machine=self._machine)
            while followers:
                try:
                    with closing(open_storage(self._settings)) as storage:
                        self._follow(storage, followers)
                    return
                except DataError as error:
                    if str(error) != fault:
                        logger.error("followers wait for the data fault=%s", error)
                    fault = str(error)
                    if self._stopped.wait(EVERY):
                        return
        except Exception:
            logger.exception("the followers have ended; start newsbot again to continue")
        finally:
            for one in followers.values():
                one.close()

    def _follow(self, storage: Storage, followers: Mapping[str, Follower]) -> None:
        owner = owner_name(system_clock())
        runs = [
            FollowerRun(name, one, storage.articles, storage.notes, owner=owner, clock=system_clock)
            for name, one in followers.items()
        ]
        try:
            while not self._stopped.is_set():
                if not _round(runs):
                    self._stopped.wait(EVERY)
            give_up = time.monotonic() + FINISH
            while self._finish and time.monotonic() < give_up and _round(runs):
                pass
        finally:
            for run in runs:
                with suppress(DataError):  # the lease then ends by itself
                    run.release()


def _round(runs: Iterable[FollowerRun]) -> bool:
    """Let each follower take one batch. Return True if any has taken changes."""
    return Step.TAKEN in [run.step() for run in runs]
