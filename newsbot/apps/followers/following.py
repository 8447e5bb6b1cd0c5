"""Followers take all changes of articles, in order: sinks, the search index, programs of other people.

A follower gets each change at least once. After a crash it gets the last batch again, so it must be able to
take a change twice; the fingerprint and the version of the article identify the change. A follower that fails
gets the same batch again after a pause. Other followers do not wait for it.

The position of a follower is stored in a note, unless the follower stores it itself. While a process runs a
follower, it holds a lease in this note, so that only one process at a time runs it.

The followers of the active apps run each in a thread of its own, with its own storage.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable, Mapping
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, fields, replace
from enum import Enum, auto
from typing import Any

from newsbot.backends import open_storage
from newsbot.clock import Clock, system_clock
from newsbot.config.apps import active_apps, load
from newsbot.config.settings import SettingsLike
from newsbot.errors import DataError, RecordBusy, UserError
from newsbot.frontier.base import owner_name
from newsbot.storage.articles import Articles, Change, Changes
from newsbot.storage.base import Storage
from newsbot.storage.notes import Notes

logger = logging.getLogger(__name__)

KIND = "followers"
"""Kind of the notes; the key is the name of the follower."""
BATCH = 500
"""Maximum number of changes that a follower takes at once."""
LEASE = 60.0
"""Seconds for which a process may run a follower without renewing its lease."""
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 300.0
"""Seconds between two attempts after a fault. The pause is doubled after each attempt."""


class Follower:
    """The base of followers. It takes changes of articles.

    All methods are called in one thread. It is not the thread in which the follower was made.
    """

    def position(self) -> str | None:
        """Return the cursor after the last change that was taken; None if newsbot stores it.

        An empty cursor is before the first change. A follower with a position of its own keeps other
        processes out itself.
        """
        return None

    def is_idle(self) -> bool:
        """Return True if the follower needs no changes at this moment. They are then not read for it."""
        return False

    def take(self, changes: Changes) -> None:
        """Take the next changes: up to :data:`BATCH`; fewer if there are no more. There may be none.

        If ``changes.restarted``, the changes begin with the first change, for example because the storage was
        replaced. What was taken before may be out of date then. Any error means that no change was taken; a
        :class:`newsbot.errors.UserError` is shown as it is.
        """
        raise NotImplementedError

    def close(self) -> None:
        """Release all resources."""


class Step(Enum):
    """The result of one step of a follower."""

    TAKEN = auto()
    """Changes were taken, and there may be more."""
    CURRENT = auto()
    """There are no more changes."""
    WAITING = auto()
    """The follower failed, and its next attempt is not due."""
    BUSY = auto()
    """Another process is numbering the changes, which takes a moment."""
    ELSEWHERE = auto()
    """Another process runs the follower."""


@dataclass(frozen=True, slots=True)
class FollowerState:
    """What is stored about a follower. Times are POSIX seconds."""

    cursor: str = ""
    taken: int = 0
    """Number of changes that were taken so far."""
    at: float = 0.0
    """Time at which changes were last taken."""
    fault: str = ""
    """The error of the last attempt; empty if it succeeded."""
    tries: int = 0
    """Number of attempts that failed since the last success."""
    next_try: float = 0.0
    owner: str = ""
    until: float = 0.0
    """Time at which the lease of the process ``owner`` ends."""
    since: float = 0.0
    """Articles that were fetched before this time are left out; 0 if none are."""
    since_until: str = ""
    """The cursor up to which ``since`` applies: later changes are of any age."""
    rewound: float = 0.0
    """Time of the last :func:`rewind`; 0 if there was none."""


def states(notes: Notes) -> dict[str, FollowerState]:
    """Return the states of all followers that have run, by name. Raises DataError."""
    return {name: _state(note) for name, note in notes.all(KIND).items()}


def rewind(storage: Storage, name: str, since: float = 0.0) -> bool:
    """Let a follower begin again, with the articles that were fetched since ``since`` (POSIX seconds).

    Return False if the follower has taken changes in the meantime. Raises DataError.
    """
    note = storage.notes.all(KIND).get(name)
    # Changes have no times. So the follower reads all of them again, and old articles are left out.
    end = storage.articles.end_of_changes()
    state = FollowerState(since=since, since_until=end, rewound=system_clock())
    return storage.notes.swap(KIND, name, note, asdict(state))


class FollowerRun:
    """Runs one follower in one process. ``owner`` is the name of the process."""

    def __init__(
        self, name: str, follower: Follower, articles: Articles, notes: Notes, *, owner: str, clock: Clock
    ) -> None:
        self.name, self.follower = name, follower
        self._articles, self._notes = articles, notes
        self._owner, self._clock = owner, clock
        self._at_end = False
        self.is_taking = False
        """True while the follower takes changes."""

    def step(self) -> Step:
        """Let the follower take the next batch. Raises :class:`newsbot.errors.DataError` of the storage."""
        note = self._notes.all(KIND).get(self.name)
        state, now = _state(note or {}), self._clock()
        try:
            if self.follower.is_idle():
                return Step.CURRENT
            own = self.follower.position()
        except Exception as error:  # noqa: BLE001  (a follower of other people may raise anything)
            return self._failed(note, state, error) if state.next_try <= now else Step.WAITING
        if (held_up := self._held_up(state, now, shared=own is None)) is not None:
            return held_up
        cursor = state.cursor if own is None else own
        try:
            changes = self._articles.changes_since(cursor, BATCH)
        except RecordBusy:
            return Step.BUSY
        at_end = not changes.found and changes.cursor == cursor
        if at_end and (own is None or self._at_end):
            return Step.CURRENT
        self._at_end = at_end  # a follower with a position of its own is told once that it has everything
        return self._give(changes, note, state, shared=own is None)

    def _held_up(self, state: FollowerState, now: float, *, shared: bool) -> Step | None:
        """Return why the follower takes nothing now; None if it may take changes."""
        if shared and state.owner not in ("", self._owner) and state.until > now:
            return Step.ELSEWHERE
        return Step.WAITING if state.next_try > now else None

    def _give(
        self, changes: Changes, note: Mapping[str, Any] | None, state: FollowerState, *, shared: bool
    ) -> Step:
        """Give changes to the follower, and record the result."""
        if shared:
            # The lease is written before the follower takes the changes, so that no other process takes them.
            held = asdict(replace(state, owner=self._owner, until=self._clock() + LEASE))
            if not self._notes.swap(KIND, self.name, note, held):
                return Step.ELSEWHERE
            note = held
        wanted = replace(changes, rewound=state.rewound)
        count = self._articles.changes_after
        if state.since and count(state.cursor) > count(state.since_until):
            kept = [one for one in changes.found if _is_since(one, state.since)]
            wanted = replace(wanted, found=kept)
        self.is_taking = shared
        try:
            self.follower.take(wanted)
        except Exception as error:  # noqa: BLE001  (a follower of other people may raise anything)
            return self._failed(note, state, error)
        finally:
            self.is_taking = False
        now = self._clock()
        taken = replace(
            state,
            cursor=changes.cursor if shared else "",
            taken=state.taken + len(changes.found),
            at=now,
            fault="",
            tries=0,
            next_try=0.0,
            owner=self._owner,
            until=now + LEASE,
        )
        if state.fault:
            logger.warning("follower=%s works again", self.name)
        self._record(note, taken)
        return Step.TAKEN

    def renew(self, notes: Notes) -> None:
        """Renew the lease while the follower takes changes for a long time.

        May be called in another thread, with the notes of this thread. Raises DataError.
        """
        note = notes.all(KIND).get(self.name)
        if self.is_taking and note is not None and note.get("owner") == self._owner:
            notes.swap(KIND, self.name, note, {**note, "until": self._clock() + LEASE})

    def lag(self) -> int:
        """Return approximately how many changes the follower has not taken. Raises DataError."""
        own = self.follower.position()
        state = _state(self._notes.all(KIND).get(self.name, {}))
        return self._articles.changes_after(state.cursor if own is None else own)

    def release(self) -> None:
        """End the lease, so that another process can go on at once. Raises DataError."""
        note = self._notes.all(KIND).get(self.name)
        if note is not None and note.get("owner") == self._owner:
            self._notes.swap(KIND, self.name, note, asdict(replace(_state(note), owner="", until=0.0)))

    def _failed(self, note: Mapping[str, Any] | None, state: FollowerState, error: Exception) -> Step:
        text = str(error) if isinstance(error, UserError) else f"{type(error).__name__}: {error}"
        pause = min(FIRST_PAUSE * 2.0 ** min(state.tries, 20), LONGEST_PAUSE)
        failed = replace(
            state,
            fault=" ".join(text.split())[:500],
            tries=state.tries + 1,
            next_try=self._clock() + pause,
            owner="",
            until=0.0,
        )
        if failed.fault != state.fault:  # the same fault is logged once
            bug = None if isinstance(error, UserError) else error  # its traceback shows the line to correct
            logger.error("follower=%s fault=%s; it is tried again", self.name, failed.fault, exc_info=bug)
        self._record(note, failed)
        return Step.WAITING

    def _record(self, note: Mapping[str, Any] | None, after: FollowerState) -> None:
        """Replace the note, unless another process has got the lease, or has rewound the follower.

        The changes are then taken once more.
        """
        while not self._notes.swap(KIND, self.name, note, asdict(after)):
            present = self._notes.all(KIND).get(self.name)
            # If only the lease was renewed, the rest of the note is the same.
            if note is None or present is None or {**present, "until": 0} != {**note, "until": 0}:
                return
            note = present


def _is_since(change: Change, since: float) -> bool:
    fetched = None if change.article is None else change.article.fetched_at
    return fetched is None or fetched.timestamp() >= since


def _state(note: Mapping[str, Any]) -> FollowerState:
    return FollowerState(**{one.name: note[one.name] for one in fields(FollowerState) if one.name in note})


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

    A function of an app that fails is logged, and the followers of the other apps are returned. If two
    followers have the same name, the second one is logged and left out. Raises
    :class:`newsbot.errors.ArgumentError` if NEWSBOT_APPS is not valid.
    """
    found: dict[str, Follower] = {}
    owners: dict[str, str] = {}
    for app in active_apps(settings.get("NEWSBOT_APPS")):
        for place in (*app.followers, *(app.machine_followers if machine else ())):
            try:
                for name, follower in load(place)(settings).items():
                    if name in owners:
                        logger.error(
                            "a follower of the app %s does not run: the app %s has a follower with the same "
                            "name %s; rename one of them",
                            *(app.name, owners[name], name),
                        )
                        continue
                    found[name], owners[name] = follower, app.name
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
