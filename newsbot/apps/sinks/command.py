"""``scrapy sinks``: shows, checks, runs and rewinds sinks."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from itertools import islice
from typing import Any

from newsbot.apps.followers.following import RENEWAL, FollowerRun, FollowerState, Step, renew, rewind, states
from newsbot.apps.numbers import iso_of
from newsbot.apps.sinks.follower import FILE, PREFIX, Sink, followers, read_sinks, refused_file
from newsbot.backends import open_storage, stored
from newsbot.cli.command import Action, Argument, Call, moment
from newsbot.cli.program import PROGRAM
from newsbot.cli.terminal import columns, lines
from newsbot.clock import system_clock
from newsbot.config.settings import SettingsLike
from newsbot.errors import ArgumentError, UserError, did_you_mean
from newsbot.frontier.base import owner_name

BUSY_TIMEOUT, BUSY_PAUSE = 30.0, 0.1
"""Seconds to wait for a process that is numbering the changes, and between two attempts."""
SHOWN = 100
"""Maximum number of refused rows that are shown."""


def list_sinks(call: Call) -> None:
    """List the sinks with the number of changes that they lack, and their last fault."""
    rows = []
    with stored(call.settings) as storage:
        known = states(storage.notes)
        for sink in read_sinks(call.settings):
            state = known.get(f"{PREFIX}{sink.name}", FollowerState())
            rows.append(
                {
                    "name": sink.name,
                    "to": sink.shown,
                    "taken": state.taken,
                    "lacks": storage.articles.changes_after(state.cursor),
                    "last": iso_of(state.at) if state.at else None,
                    "fault": state.fault or None,
                }
            )
    call.listing(
        rows,
        columns("name | to * | taken > | lacks > | last | fault *"),
        (["-" if value is None else value for value in row.values()] for row in rows),
        empty=f"there are no sinks; write {FILE} beside scrapy.cfg (docs/sinks.md)",
    )


def check(call: Call) -> int:
    """Connect to the targets of the sinks, and create tables and topics that are missing."""
    faults: dict[str, str | None] = {}
    for sink in _chosen(call, call.options.name):
        try:
            with closing(sink.open()) as target:
                target.check()
            faults[sink.name] = None
        except UserError as error:
            faults[sink.name] = str(error)
    if call.json:
        call.document([{"name": name, "fault": fault} for name, fault in faults.items()])
    else:
        for name, fault in faults.items():
            call.text(f"{name}: {fault or 'works'}")
    return 1 if any(faults.values()) else 0


def run(call: Call) -> int:
    """Send all changes to the sinks now. The exit code is 1 if a sink failed."""
    chosen = {f"{PREFIX}{sink.name}" for sink in _chosen(call, call.options.name)}
    found = {name: one for name, one in followers(call.settings).items() if name in chosen}
    failed = False
    with stored(call.settings) as storage:
        owner = owner_name(system_clock())
        for name, follower in found.items():
            one = FollowerRun(
                name, follower, storage.articles, storage.notes, owner=owner, clock=system_clock
            )
            tell = lines(call.note, {name: one.lag()})
            with closing(follower), _renewed(call.settings, one):
                give_up = time.monotonic() + BUSY_TIMEOUT
                while (step := one.step()) is Step.TAKEN or (
                    step is Step.BUSY and time.monotonic() < give_up
                ):
                    if step is Step.BUSY:
                        time.sleep(BUSY_PAUSE)
                        continue
                    give_up = time.monotonic() + BUSY_TIMEOUT
                    tell(name, states(storage.notes)[name].taken)
                one.release()
            if step is Step.ELSEWHERE:
                call.note(f"{name}: another process sends its changes")
            elif step is Step.BUSY:
                failed = True
                call.note(f"{name}: another process is numbering the changes; try again")
            elif step is Step.WAITING:
                failed = True
                call.note(f"{name}: {states(storage.notes)[name].fault}")
    return 1 if failed else 0


@contextmanager
def _renewed(settings: SettingsLike, run: FollowerRun) -> Iterator[None]:
    """Renew the lease of a follower in a thread: a slow sink may take one batch for longer than a lease."""
    ended = threading.Event()

    def work() -> None:
        while not ended.wait(RENEWAL):
            renew(settings, [run])

    thread = threading.Thread(target=work, name="lease", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def go_back(call: Call) -> None:
    """Send all articles to a sink again, or those that were fetched since a date."""
    (sink,) = _chosen(call, [call.options.name])
    since = call.options.to.timestamp() if call.options.to else 0.0
    with closing(open_storage(call.settings)) as storage:
        if not rewind(storage, f"{PREFIX}{sink.name}", since):
            raise UserError(f"{sink.name}: is sending changes at this moment; try again")
    call.note(
        f"{sink.name}: begins again; a crawl, {PROGRAM} serve or {PROGRAM} sinks run sends the articles"
    )


def refused(call: Call) -> None:
    """Show the rows that the target of a sink has refused."""
    (sink,) = _chosen(call, [call.options.name])
    path = refused_file(call.settings, sink.name)
    rows = []
    if path.exists():
        with path.open(encoding="utf-8", errors="replace") as file:
            rows = list(islice(_rows(file), SHOWN))
    call.listing(
        rows,
        columns("at | url * | version > | fault *"),
        ((row["at"], row.get("url", row["key"]), row.get("version", "-"), row["fault"]) for row in rows),
        empty=f"{sink.name}: nothing was refused",
    )


def _rows(lines: Iterable[str]) -> Iterator[dict[str, Any]]:
    for line in lines:
        with suppress(ValueError):  # a killed process may have written a part of a line
            yield json.loads(line)


def _chosen(call: Call, names: list[str]) -> list[Sink]:
    """Return the sinks with these names; all sinks if there are none. Raises :class:`ArgumentError`."""
    known = {sink.name: sink for sink in read_sinks(call.settings)}
    for name in names:
        if name not in known:
            raise ArgumentError(
                f"{name}: no sink has this name{did_you_mean(name, known)}; see: {PROGRAM} sinks list"
            )
    return [known[name] for name in names or known]


_NAMES = Argument("name", nargs="*", help="names of sinks (default: all)")
_NAME = Argument("name", help="name of a sink")

ACTIONS = (
    Action(
        "list",
        "List the sinks, how many changes they lack, and faults",
        list_sinks,
    ),
    Action(
        "check",
        "Connect to the targets, and create missing tables",
        check,
        _NAMES,
    ),
    Action("run", "Send all changes now", run, _NAMES, writes=True),
    Action(
        "rewind",
        "Send the articles to a sink again",
        go_back,
        _NAME,
        Argument("--to", metavar="DATE", type=moment, help="only articles that were fetched since DATE"),
        writes=True,
    ),
    Action("refused", "Show what a target has refused", refused, _NAME),
)
