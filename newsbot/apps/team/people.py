"""People with their roles. A person has a token, or logs in through the single sign-on.

Each person is a note in the storage. It has the hash of the token and not the token, so nobody can read
tokens from the storage. Tokens are random, so the hash needs no salt.

What a person has read and starred is another note. The log of what people did is in JSON lines, in the data
folder of the machine that runs ``newsbot serve``.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from newsbot.clock import utc
from newsbot.errors import ArgumentError

if TYPE_CHECKING:
    from newsbot.storage.notes import Notes  # the command declares its roles without it
import json
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import field
from enum import StrEnum
from pathlib import Path
from threading import Lock

from newsbot.cli.terminal import one_line
from newsbot.clock import iso_of
from newsbot.storage.notes import SharedNotes
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
