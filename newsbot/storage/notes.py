"""Interface for notes: small JSON documents that other parts of newsbot store, such as subscriptions to hubs.

A note has a kind and a key. The kind names the part of newsbot that uses the note. A new note replaces the
note with the same kind and key.

:class:`SharedNotes` writes notes to which several workers add data at the same time. It reads a note, merges
the new data, and stores the note. If another worker has changed the note in the meantime, it tries again.
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Generic, Protocol, TypeVar

from newsbot.items import Bounded, batched
from newsbot.pages.text.words import clean

MAX_NOTE = 64 * 1024
"""Maximum length of a note in characters of JSON."""
MAX_KEY = 2048
"""Maximum length of a key in characters."""
_IDENTITY = ("storage", "identity")
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=str).encode


NoteName = tuple[str, str]
"""The kind and the key of a note."""
Swap = tuple[str, str, Mapping[str, Any] | None, Mapping[str, Any]]
"""The arguments of :meth:`Notes.swap`."""


class Notes(Protocol):
    """Notes by kind and key."""

    def save(self, kind: str, key: str, note: Mapping[str, Any]) -> None:
        """Store a note that consists of JSON values. It replaces the note with the same kind and key.

        Raises ``ValueError`` if the note is longer than MAX_NOTE or the key is longer than MAX_KEY.
        """

    def swap(self, kind: str, key: str, old: Mapping[str, Any] | None, new: Mapping[str, Any]) -> bool:
        """Replace the note ``old`` by ``new`` if the stored note is still ``old`` (compare and swap).

        ``old`` is the note as :meth:`all` returned it, or None if there was no note. Return False without
        changing anything if another worker has written the note in the meantime. Raises ``ValueError`` like
        :meth:`save`.
        """

    def swap_many(self, swaps: Sequence[Swap]) -> list[bool]:
        """Do the same as :meth:`swap` for each of the swaps."""
        return [self.swap(*one) for one in swaps]

    def get_many(self, names: Sequence[NoteName]) -> dict[NoteName, dict[str, Any]]:
        """Return the notes with these names. Unknown names are left out."""

    def all(self, kind: str) -> dict[str, dict[str, Any]]:
        """Return all notes of a kind by key."""

    def forget(self, kind: str, key: str) -> bool:
        """Delete a note. Return False if there was none."""


def identity_of(notes: Notes) -> str:
    """Return the identity of a storage: a random text that a frontier uses to recognise its own storage.

    The first call stores the identity as a note. ``scrapy move`` copies this note with all other notes.
    Raises subclasses of :class:`newsbot.errors.DataError`.
    """
    kind, key = _IDENTITY
    found = notes.all(kind).get(key)
    if found is None:
        made = {"id": secrets.token_hex(8)}
        if notes.swap(kind, key, None, made):
            return made["id"]
        found = notes.all(kind)[key]  # another worker created it first
    return str(found["id"])


def to_json(value: object) -> str:
    """Return ``value`` as compact JSON, with only those characters that every backend accepts.

    Letters are not escaped. Values of types that JSON does not have are converted with ``str``.
    """
    return clean(_encode(value))


def packed_note(key: str, note: Mapping[str, Any]) -> str:
    """Return the stored form of a note. Raises ``ValueError`` if the note or its key is too long.

    :meth:`Notes.swap` compares these texts, so the order of the keys in a note matters. Writing and reading
    JSON keeps this order.
    """
    text = to_json(dict(note))
    if len(text) > MAX_NOTE or len(key) > MAX_KEY:
        raise ValueError(f"{key[:100]}: a note of {len(text)} characters is too long (at most {MAX_NOTE})")
    return text


def unpacked_note(text: str) -> dict[str, Any]:
    """Return the note of a stored text (see :func:`packed_note`)."""
    note: dict[str, Any] = json.loads(text)
    return note


def key_of(kind: str, key: str) -> tuple[str, str]:
    """Return kind and key without characters that one of the backends does not accept."""
    return clean(kind), clean(key)


# --- notes that are read ahead

MAX_READ = 200
"""Maximum number of notes that are read ahead. This is enough for the sites of all leased pages."""
FRESH = 60.0
"""Seconds after which a note that was read ahead is read again."""


class NotesAhead:
    """The notes of a crawl. All notes that a new site needs are read with one query.

    It has the methods of :class:`Notes`. The first :meth:`get_many` for an expected note reads all expected
    notes. A note that was read ahead is returned only once, so the next call reads the stored note. Another
    worker may have changed the note since it was read. :meth:`Notes.swap` then refuses to replace it.
    """

    def __init__(self, notes: Notes) -> None:
        self._notes = notes
        self._expected = Bounded[NoteName, None](MAX_READ)
        self._read = Bounded[NoteName, tuple[float, dict[str, Any] | None]](MAX_READ)
        """When each note was read (time of ``time.monotonic``), and the note."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._notes, name)

    def expect(self, names: Iterable[NoteName]) -> None:
        """Remember these names. When one of them is needed, all expected notes are read together."""
        self._expected.add(*names)

    def get_many(self, names: Sequence[NoteName]) -> dict[NoteName, dict[str, Any]]:
        """Return the notes with these names, like :meth:`Notes.get_many`."""
        now = time.monotonic()
        known = {name: self._read.pop(name) for name in names if name in self._read}
        found = {name: note for name, (at, note) in known.items() if now - at <= FRESH}
        left = {name for name in names if name not in found}
        if left:
            ahead = self._expected.keys() - left if self._expected.keys() & left else set()
            try:
                read = self._notes.get_many([*left, *ahead])
            except ValueError:  # one of the notes is damaged; it must not affect other sites
                self._expected.clear()
                ahead, read = set(), self._notes.get_many([*left])
            for name in ahead:
                self._read[name] = now, read.get(name)
            for name in left | ahead:
                self._expected.pop(name, None)
            found |= {name: read.get(name) for name in left}
        return {name: note for name, note in found.items() if note is not None}


# --- notes that workers share

TRIES = 5
"""Maximum number of attempts to write a note that other workers change at the same time."""
AT_ONCE = 50
"""Maximum number of notes that are read and written together. A note may have about 10 kB."""

_New = TypeVar("_New")
_Known = TypeVar("_Known")
_Note = dict[str, Any]


class SharedNotes(Generic[_New]):
    """Writes the notes of one kind. If ``key`` is given, writes one note for each site instead.

    ``merge`` is called with the stored note (None if there is none) and the new data of a worker (the
    addition). It returns the note to store. If another worker writes first, ``merge`` is called again with
    the newer note and the same addition. If the note already contains the addition, ``merge`` must not add it
    a second time.

    If ``key`` is given, the kind of a site's note is the text ``kind`` plus the domain of the site, and all
    these notes have this key. The keys of the additions are then domains.
    """

    def __init__(
        self, kind: str, merge: Callable[[_Note | None, _New], _Note], *, key: str | None = None
    ) -> None:
        self._kind, self._merge, self._key = kind, merge, key

    def read(self, notes: Notes, keys: Iterable[str]) -> dict[str, _Note]:
        """Return the stored notes with these keys, by key. Raises :class:`newsbot.errors.DataError`."""
        names = {self.name(key): key for key in keys}
        return {names[name]: note for name, note in notes.get_many(list(names)).items()}

    def write(self, notes: Notes, additions: Mapping[str, _New]) -> dict[str, _Note]:
        """Add the data of ``additions`` to the notes of these keys. Return the stored notes by key.

        A key is missing from the result if its write failed TRIES times, because other workers were faster.
        The caller should then pass the addition again in its next call. Raises
        :class:`newsbot.errors.DataError`.
        """
        written: dict[str, _Note] = {}
        # sorted, so that two workers with the same keys write them in the same order
        for some in batched(sorted(additions), AT_ONCE):
            left = some
            for _ in range(TRIES):
                kept = self.read(notes, left)
                merged = {key: self._merge(kept.get(key), additions[key]) for key in left}
                # The addition may be in the note already, from a write whose answer was lost.
                changed = [key for key in left if merged[key] != kept.get(key)]
                swaps = [(*self.name(key), kept.get(key), merged[key]) for key in changed]
                done = dict(zip(changed, notes.swap_many(swaps), strict=True))
                # a key that did not change needs no write, so it counts as written
                written |= {key: merged[key] for key in left if done.get(key, True)}
                left = [key for key in left if key not in written]
                if not left:
                    break
        return written

    def name(self, key: str) -> NoteName:
        """Return the kind and key of a note."""
        return (self._kind, key) if self._key is None else (self._kind + key, self._key)


class SharedSites(Generic[_Known, _New]):
    """What all workers have learned about each site, with one note for each site.

    ``read`` converts the note of a site to knowledge about the site. If the site has no
    note, ``read`` is called with an empty note. ``add`` adds the result of one page to the knowledge.
    ``plain`` converts the knowledge to a note. This worker uses a result at once, and other workers use it
    after :meth:`write`. At most ``most`` sites are kept in memory; all other sites are read when they are
    needed. All methods raise :class:`newsbot.errors.DataError`.
    """

    def __init__(
        self,
        kind: str,
        read: Callable[[_Note], _Known],
        add: Callable[[_Known, _New], object],
        plain: Callable[[_Known], _Note],
        *,
        most: int,
    ) -> None:
        def merged(note: _Note | None, results: list[_New]) -> _Note:
            known = read(note or {})
            for one in results:
                add(known, one)
            return plain(known)

        self._read, self._add = read, add
        self._shared = SharedNotes(kind, merged)
        self._sites = Bounded[str, _Known](most)
        self._new: dict[str, list[_New]] = {}
        """Domain -> results since the last write."""

    def note_name(self, domain: str) -> NoteName:
        """Return the kind and key of a site's note."""
        return self._shared.name(domain)

    def of(self, notes: Notes, domain: str) -> _Known:
        """Return what workers share about a site."""
        if domain not in self._sites:
            known = self._read(self._shared.read(notes, [domain]).get(domain, {}))
            for one in self._new.get(domain, ()):
                self._add(known, one)
            self._sites[domain] = known
        return self._sites[domain]

    def add(self, notes: Notes, domain: str, result: _New) -> None:
        """Add the result of a page of a site."""
        self._add(self.of(notes, domain), result)
        self._new.setdefault(domain, []).append(result)

    def write(
        self, notes: Notes, is_out: Callable[[str], bool] = lambda _: False, *, only: str | None = None
    ) -> None:
        """Merge the new results into the notes, except for removed sites (``is_out``).

        If ``only`` is given, the results of this site are written, and what other workers have written about
        it is read. If the call raises an error, the next call writes the rest.
        """
        for domain in list(filter(is_out, self._new)):
            del self._new[domain]
        if only is not None and only not in self._new:
            self._sites.pop(only, None)  # it is read again when it is needed
            return
        new = self._new if only is None else {only: self._new[only]}
        for domain, note in self._shared.write(notes, new).items():
            self._sites[domain] = self._read(note)
            self._new.pop(domain, None)

    def known_sites(self) -> list[str]:
        """Return the domains of the sites in memory."""
        return list(self._sites)
