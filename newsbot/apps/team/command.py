"""Runs ``newsbot team``."""

from __future__ import annotations

from contextlib import closing

from newsbot.apps.team.people import ROLES, Journal, people
from newsbot.apps.team.people import add as add_person
from newsbot.apps.team.people import revoke as revoke_person
from newsbot.backends import data_folder, open_storage
from newsbot.cli.command import Action, Argument, Call, one_of, positive
from newsbot.cli.terminal import columns
from newsbot.clock import iso, system_clock

_PEOPLE = columns("name | role | token | since")


def show(call: Call) -> None:
    """Print all people."""
    with closing(open_storage(call.settings)) as storage:
        found = sorted(people(storage.notes).values(), key=lambda one: one.name)
    if call.json:
        rows = [{"name": one.name, "role": one.role, "since": iso(one.since)} for one in found]
        call.document([row | {"token": bool(one.token)} for row, one in zip(rows, found, strict=True)])
        return
    call.table(_PEOPLE, [[one.name, one.role, "yes" if one.token else "no", iso(one.since)] for one in found])


def add(call: Call) -> None:
    """Add a person, and print the token."""
    options = call.options
    with closing(open_storage(call.settings)) as storage:
        token = add_person(
            storage.notes, options.name, options.role, system_clock(), with_token=not options.no_token
        )
    if call.json:
        call.document({"name": options.name, "role": options.role, "token": token})
        return
    call.note(f"{options.name}: {options.role}; the token is not shown again" if token else options.role)
    if token:
        call.text(token)


def revoke(call: Call) -> None:
    """Remove a person."""
    with closing(open_storage(call.settings)) as storage:
        revoke_person(storage.notes, call.options.name)
    call.note(f"{call.options.name} is revoked; servers notice it within seconds")


def log(call: Call) -> None:
    """Print what people did."""
    rows = Journal(data_folder(call.settings)).latest(call.options.limit, call.options.person)
    if call.json:
        call.document(rows)
        return
    for row in rows:
        known = " ".join(f"{name}={value}" for name, value in row.items() if name not in _COLUMNS)
        call.text(f"{row.get('at')}  {row.get('person')}  {row.get('action')}  {known}".rstrip())


_COLUMNS = ("at", "person", "action")


_NAME = Argument("name", metavar="NAME", help="a name or an e-mail address")

ACTIONS = (
    Action("", "List the people with their roles", show),
    Action(
        "add",
        "Add a person and print the token, which is not shown again; for a known person: a new token",
        add,
        _NAME,
        Argument(
            "--role",
            type=one_of(*ROLES),
            default="read",
            metavar="ROLE",
            help="read (the default), act (also queue, poll, pause, save) or admin (also rules and jobs)",
        ),
        Argument(
            "--no-token",
            action="store_true",
            help="the person logs in through the single sign-on only; NAME is the e-mail address there",
        ),
    ),
    Action(
        "revoke",
        "Remove a person: the token and all sessions end within seconds",
        revoke,
        _NAME,
    ),
    Action(
        "log",
        "Show what people did on this machine's dashboard, the latest last",
        log,
        Argument("--limit", type=positive, default=50, metavar="N", help="number of lines (50)"),
        Argument("--person", metavar="NAME", help="only what this person did"),
    ),
)
