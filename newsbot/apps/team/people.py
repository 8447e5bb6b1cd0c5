"""``newsbot team``: people with their roles. A person has a token, or logs in through the single sign-on.

Each person is a note in the storage. It has the hash of the token and not the token, so nobody can read
tokens from the storage. Tokens are random, so the hash needs no salt.

What a person has read and starred is another note. The log of what people did is in JSON lines, in the data
folder of the machine that runs ``newsbot serve``.
"""

from __future__ import annotations

import hashlib
import json
import re
import secrets
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from threading import Lock
from typing import Any

from newsbot.apps.numbers import iso_of
from newsbot.backends import data_folder, open_storage
from newsbot.cli.command import Action, Argument, Call, one_of, positive
from newsbot.cli.terminal import columns, one_line
from newsbot.clock import iso, system_clock, utc
from newsbot.errors import ArgumentError
from newsbot.storage.notes import Notes, SharedNotes
from newsbot.urls import fingerprint

KIND = "team"
"""The kind of the notes. The key is the name of the person."""
ROLES = ("read", "act", "admin")
"""The roles. Each may do what those before it may do."""
OWNER = "owner"
"""The name of whoever has the token of the server, NEWSBOT_WEB_TOKEN."""
MAX_PEOPLE = 1000
_NAME = re.compile(r"[\w.@+-]{1,80}")


@dataclass(frozen=True, slots=True)
class Person:
    """A person who may use the dashboard."""

    name: str
    role: str
    since: datetime | None = None
    token: str = ""
    """The hash of the token in hexadecimal; empty if the person has no token."""

    def may(self, role: str) -> bool:
        """Return True if the person may do what needs ``role``."""
        return ROLES.index(self.role) >= ROLES.index(role)


def people(notes: Notes) -> dict[str, Person]:
    """Return all people by name. Notes of another version are left out."""
    found = (_person(name, note) for name, note in notes.all(KIND).items())
    return {one.name: one for one in found if one is not None}


def _person(name: str, note: Mapping[str, Any]) -> Person | None:
    role, at = note.get("role"), note.get("at")
    if role not in ROLES or not isinstance(at, int | float):
        return None
    return Person(name, str(role), utc(at), str(note.get("token") or ""))


def add(notes: Notes, name: str, role: str, now: float, *, with_token: bool = True) -> str:
    """Add a person, or give a known person a new role and a new token. Return the token.

    Raises :class:`ArgumentError` for a name that cannot be used.
    """
    if not _NAME.fullmatch(name) or name == OWNER:
        raise ArgumentError(
            f"{name!r}: a name has 1 to 80 letters, digits, or one of . @ + - _, and is not {OWNER}"
        )
    known = notes.all(KIND)
    if name not in known and len(known) >= MAX_PEOPLE:
        raise ArgumentError(f"there are {MAX_PEOPLE} people already; revoke one first")
    token = f"nb_{secrets.token_urlsafe(32)}" if with_token else ""
    notes.save(KIND, name, {"role": role, "at": now, "token": hashed(token) if token else ""})
    return token


def revoke(notes: Notes, name: str) -> None:
    """Remove a person. Raises :class:`ArgumentError` if there is none with this name."""
    if not notes.forget(KIND, name):
        raise ArgumentError(f"nobody has the name {name!r}")


def hashed(token: str) -> str:
    """Return the hash of a token in hexadecimal."""
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()


READING = "reading"
"""The kind of the notes. The key is the name of a person."""
MAX_READ = 2000
"""Maximum number of articles that are known as read. The articles that were read last are known."""
MAX_STARRED = 500
_SHORT = 8
"""Number of bytes of the key of an article that is read. Such a mark may be wrong; a star may not."""


class State(StrEnum):
    """A mark of an article."""

    READ = "read"
    UNREAD = "not read"
    STARRED = "starred"
    UNSTARRED = "not starred"


@dataclass(slots=True)
class Reading:
    """What one person has read and starred."""

    read: dict[str, None] = field(default_factory=dict)
    """Keys in hexadecimal, in the order in which the articles were read."""
    starred: dict[str, None] = field(default_factory=dict)

    def is_read(self, url: str) -> bool:
        """Return True if the article with this canonical URL is read."""
        return self.has_read(fingerprint(url))

    def has_read(self, key: bytes) -> bool:
        """Return True if the article with this key is read."""
        return key[:_SHORT].hex() in self.read

    def is_starred(self, url: str) -> bool:
        """Return True if the article with this canonical URL is starred."""
        return fingerprint(url).hex() in self.starred

    def check_room(self, keys: Sequence[bytes], state: State) -> None:
        """Raise :class:`ArgumentError` if too many articles would be starred."""
        starred = self.starred.keys() | {key.hex() for key in keys if state is State.STARRED}
        if len(starred) > max(MAX_STARRED, len(self.starred)):
            raise ArgumentError(f"{MAX_STARRED} articles are starred; remove a star first")

    def put(self, key: bytes, state: State) -> None:
        """Mark the article with a key."""
        if state in (State.STARRED, State.UNSTARRED):
            self.starred.pop(key.hex(), None)
            if state is State.STARRED:
                self.starred[key.hex()] = None
            return
        self.read.pop(key[:_SHORT].hex(), None)
        if state is State.READ:
            self.read[key[:_SHORT].hex()] = None
            for oldest in list(self.read)[: -MAX_READ or None]:
                del self.read[oldest]


def reading_of(note: Mapping[str, Any] | None) -> Reading:
    """Return what a note says."""
    note = note or {}
    return Reading(dict.fromkeys(note.get("read", ())), dict.fromkeys(note.get("starred", ())))


Change = tuple[bytes, State]
"""The key of an article, and its new mark."""


def _merged(note: dict[str, Any] | None, changes: Sequence[Change]) -> dict[str, Any]:
    known = reading_of(note)
    for key, state in changes:
        known.put(key, state)
    return {"read": list(known.read), "starred": list(known.starred)}


def shared_readings() -> SharedNotes[Sequence[Change]]:
    """Return the reader and writer of the notes."""
    return SharedNotes[Sequence[Change]](READING, _merged)


FILE = "actions.log"
"""Name of the file in the data folder."""
MAX_BYTES = 5 * 2**20
"""Size at which the file is renamed to ``actions.log.1``, which replaces an older one."""
MAX_VALUE = 200
"""Maximum number of characters of a value in the log."""


class Journal:
    """The log in a folder. Several threads may write."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE
        self._lock = Lock()

    def write(self, at: float, person: str, action: str, values: Mapping[str, object]) -> None:
        """Append a line. Raises ``OSError``."""
        told = {
            name: one_line(value)[:MAX_VALUE] for name, value in values.items() if value not in (None, "")
        }
        line = json.dumps({"at": iso_of(at), "person": person, "action": action, **told}, ensure_ascii=False)
        with self._lock:
            with suppress(FileNotFoundError):
                if self._path.stat().st_size >= MAX_BYTES:
                    self._path.replace(self._path.with_suffix(".log.1"))
            self._path.touch(mode=0o600)
            with self._path.open("a", encoding="utf-8") as file:
                file.write(line + "\n")

    def latest(self, limit: int, person: str | None = None) -> list[dict[str, Any]]:
        """Return the latest lines, the latest last; only those of a person if ``person`` is given."""
        found = (one for one in self._lines() if person is None or one.get("person") == person)
        return list(deque(found, maxlen=limit))

    def _lines(self) -> Iterator[dict[str, Any]]:
        for path in (self._path.with_suffix(".log.1"), self._path):
            with suppress(FileNotFoundError), path.open(encoding="utf-8") as file:
                for line in file:
                    with suppress(ValueError):  # a line that was cut by a full disk
                        yield json.loads(line)


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


def add_to_team(call: Call) -> None:
    """Add a person, and print the token."""
    options = call.options
    with closing(open_storage(call.settings)) as storage:
        token = add(
            storage.notes, options.name, options.role, system_clock(), with_token=not options.no_token
        )
    if call.json:
        call.document({"name": options.name, "role": options.role, "token": token})
        return
    call.note(f"{options.name}: {options.role}; the token is not shown again" if token else options.role)
    if token:
        call.text(token)


def remove_from_team(call: Call) -> None:
    """Remove a person."""
    with closing(open_storage(call.settings)) as storage:
        revoke(storage.notes, call.options.name)
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


_PERSON = Argument("name", metavar="NAME", help="a name or an e-mail address")

ACTIONS = (
    Action("", "List the people with their roles", show),
    Action(
        "add",
        "Add a person and print the token, which is not shown again; for a known person: a new token",
        add_to_team,
        _PERSON,
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
        remove_from_team,
        _PERSON,
    ),
    Action(
        "log",
        "Show what people did on this machine's dashboard, the latest last",
        log,
        Argument("--limit", type=positive, default=50, metavar="N", help="number of lines (50)"),
        Argument("--person", metavar="NAME", help="only what this person did"),
    ),
)
