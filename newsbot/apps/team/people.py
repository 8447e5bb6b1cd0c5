"""People with their roles. A person has a token, or logs in through the single sign-on.

Each person is a note in the storage. It has the hash of the token and not the token, so nobody can read
tokens from the storage. Tokens are random, so the hash needs no salt.
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
