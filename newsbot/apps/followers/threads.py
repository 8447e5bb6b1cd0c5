"""Runs the followers of the active apps, each in a thread of its own with its own storage."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable
from contextlib import closing, suppress

from newsbot.apps.followers.following import LEASE, Follower, FollowerRun, Step
from newsbot.backends import open_storage
from newsbot.clock import system_clock
from newsbot.config.apps import active_apps, load
from newsbot.config.settings import SettingsLike
from newsbot.errors import DataError, UserError
from newsbot.frontier.base import owner_name

logger = logging.getLogger(__name__)

EVERY = 1.0
"""Seconds between two looks for changes."""
BUSY_PAUSE = 0.1
"""Seconds to wait at the end of a crawl while another process numbers the changes."""
FINISH = 60.0
"""Maximum number of seconds for which :meth:`FollowerThread.stop` waits."""
RENEWAL = LEASE / 4
"""Seconds between two renewals of the lease of a follower that takes changes for a long time."""


def renew(settings: SettingsLike, runs: Iterable[FollowerRun]) -> None:
    """Renew the leases of followers that are taking changes. An outage of the storage is ignored."""
    if taking := [run for run in runs if run.is_taking]:
        with suppress(DataError), closing(open_storage(settings)) as storage:
            for run in taking:
                run.renew(storage.notes)


def open_followers(settings: SettingsLike, *, machine: bool) -> dict[str, Follower]:
    """Return the followers of the active apps by name; with ``machine`` also those of this machine.

    A function of an app that fails is logged, and the followers of the other apps are returned. Raises
    :class:`newsbot.errors.ArgumentError` if NEWSBOT_APPS is not valid.
    """
    found: dict[str, Follower] = {}
    for app in active_apps(settings.get("NEWSBOT_APPS")):
        for place in (*app.followers, *(app.machine_followers if machine else ())):
            try:
                found |= load(place)(settings)
            except UserError as error:
                logger.error("the followers of the app %s do not run: %s", app.name, error)
            except Exception:
                logger.exception("the followers of the app %s do not run", app.name)
    return found


class FollowerThread:
    """Runs followers until :meth:`stop`. A storage that is unavailable is tried again.

    A follower that is slow, or that fails, does not delay the others.
    """

    def __init__(self, settings: SettingsLike, *, machine: bool = False) -> None:
        self._settings, self._machine = settings, machine
        self._owner = owner_name(system_clock())
        self._stopped = threading.Event()
        self._finish = False
        self._runs: dict[str, FollowerRun] = {}
        self._thread = threading.Thread(target=self._run, name="followers", daemon=True)

    def start(self) -> None:
        """Start the threads."""
        self._thread.start()

    def stop(self, *, finish: bool = False) -> None:
        """Stop the threads, and wait for them up to :data:`FINISH` seconds.

        With ``finish``, they first take all changes. A follower that is still at work then ends with the
        process, and gets its last changes again at the next start.
        """
        self._finish = finish
        self._stopped.set()
        self._thread.join(FINISH)
        if self._thread.is_alive():
            names = ", ".join(name for name, run in list(self._runs.items()) if run.is_taking)
            logger.error("followers=%s are still at work; they continue at the next start", names or "-")

    def _run(self) -> None:
        threads = [
            threading.Thread(target=self._follow, args=one, name=f"follower {one[0]}", daemon=True)
            for one in open_followers(self._settings, machine=self._machine).items()
        ]
        for thread in threads:
            thread.start()
        while alive := [thread for thread in threads if thread.is_alive()]:
            alive[0].join(RENEWAL)
            renew(self._settings, list(self._runs.values()))

    def _follow(self, name: str, follower: Follower) -> None:
        fault = ""
        try:
            while True:
                try:
                    with closing(open_storage(self._settings)) as storage:
                        self._runs[name] = FollowerRun(
                            name,
                            follower,
                            storage.articles,
                            storage.notes,
                            owner=self._owner,
                            clock=system_clock,
                        )
                        self._steps(self._runs[name])
                    return
                except DataError as error:
                    if str(error) != fault:
                        logger.error("follower=%s waits for the data fault=%s", name, error)
                    fault = str(error)
                    if self._stopped.wait(EVERY):
                        return
        except Exception:
            logger.exception("follower=%s has ended; start newsbot again to continue", name)
        finally:
            try:
                follower.close()
            except Exception:
                logger.exception("follower=%s cannot be closed", name)

    def _steps(self, run: FollowerRun) -> None:
        try:
            while not self._stopped.is_set():
                if run.step() is not Step.TAKEN:
                    self._stopped.wait(EVERY)
            give_up = time.monotonic() + FINISH
            while self._finish and time.monotonic() < give_up:
                step = run.step()
                if step is Step.BUSY:
                    time.sleep(BUSY_PAUSE)
                elif step is not Step.TAKEN:
                    return
        finally:
            with suppress(DataError):  # the lease then ends by itself
                run.release()
