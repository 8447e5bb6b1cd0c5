"""Saved searches: named queries that report new articles at once, hourly or daily.

A search is stored as one note. The note contains the query, the cursor in the changes of the storage, the
articles for the next notice, and the notices that at least one output has not received yet. The whole note is
written by one atomic swap. If the process is killed after it has sent a notice but before it has recorded the
sending, the notice is sent again with the same ``id``.

Only one article of each story is reported. Each round builds its own temporary index of the new articles, so
no process needs the search index.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from hashlib import blake2b
from typing import Any

from newsbot.apps.search.articles import matches
from newsbot.apps.search.query import MAX_QUERY, NO_LABELS, Labels, Tagged, any_label, parse
from newsbot.clock import DAY, iso, utc
from newsbot.errors import ArgumentError, did_you_mean
from newsbot.items import Article
from newsbot.storage.articles import Change, Changes
from newsbot.storage.base import Storage
from newsbot.storage.notes import Notes
from newsbot.urls import fingerprint

logger = logging.getLogger(__name__)

KIND = "saved_searches"
"""Kind of the notes; the key is the name of the search."""
RHYTHMS: Mapping[str, float] = {"off": 0.0, "at_once": 0.0, "hourly": DAY / 24, "daily": DAY}
"""Minimum number of seconds between two notices of a search. A search with ``off`` sends no notices."""
MAX_SAVED = 100
MAX_NAME = 80
MAX_LISTED = 50
"""Maximum number of articles that a notice lists. Further articles are only counted."""
MAX_NOTICES = 10
"""Maximum number of unsent notices of a search. Further articles wait until one of them is sent."""
GIVE_UP = DAY
"""Seconds after which an unsent notice is dropped, for example if an output fails permanently."""
REMEMBERED = 1000
"""Number of reported stories that a search remembers."""
AT_ONCE = 100
"""Number of changes that are read and matched in one batch."""
FIELDS = ("url", "title", "source", "language", "published_at", "story")
"""The fields of an article in a notice, unless the search names others."""
MAX_TEXT = 100_000
"""Maximum number of characters of a text in a notice. The rest is left out."""
TRY_SECONDS = 1.0
"""Maximum number of seconds that a round spends on reading changes. The next round reads the rest."""
_KNOWN_FIELDS = frozenset(Article.__dataclass_fields__)
TRIES = 5
"""Number of attempts to write a note that other processes change at the same time."""


@dataclass(frozen=True, slots=True)
class Notice:
    """Articles that are reported together. ``at`` is the time of creation in POSIX seconds."""

    number: int
    at: float
    keys: list[str]
    """Fingerprints of the articles, in hexadecimal digits."""
    more: int
    """Number of further articles, which are not listed."""
    told: dict[str, float] = field(default_factory=dict)
    """Time (POSIX seconds) at which each output received the notice, by name of the output."""


@dataclass(frozen=True, slots=True)
class SavedSearch:
    """A search and its unsent notices. Times are POSIX seconds."""

    name: str
    query: str
    tell: str
    """How often the search reports new articles: a key of :data:`RHYTHMS`."""
    created: float
    cursor: str
    """The position up to which the changes of the storage were read."""
    last: float
    """Time at which the last notice was created."""
    number: int = 0
    """Number of notices so far."""
    known: list[str] = field(default_factory=list)
    """Hashes of the stories and articles that were found most recently. They are not reported again."""
    waiting: list[str] = field(default_factory=list)
    """Fingerprints of the articles for the next notice, in hexadecimal digits."""
    more: int = 0
    """Number of further articles for the next notice."""
    fields: list[str] = field(default_factory=list)
    """Names of the fields of articles in notices; empty for :data:`FIELDS`."""
    notices: list[Notice] = field(default_factory=list)
    note: Mapping[str, Any] | None = field(default=None, compare=False, repr=False)
    """The note as it was read; None for a new search.

    The note may have been written by another version with other fields.
    """

    def to_note(self) -> dict[str, Any]:
        """Return the note of this search, with the unknown fields of the note that was read."""
        row = asdict(replace(self, note=None))
        del row["note"]
        return {**(self.note or {}), **row}

    def plain(self) -> dict[str, Any]:
        """Return the fields that users see, as a dict for JSON."""
        waiting = len(self.waiting) + self.more
        row = {"name": self.name, "query": self.query, "tell": self.tell, "notices": self.number}
        row["fields"] = self.fields or list(FIELDS)
        return row | {"created": iso(utc(self.created)), "waiting": waiting}


@dataclass(frozen=True, slots=True)
class Found:
    """A notice with its search and its articles, as outputs send it."""

    search: SavedSearch
    notice: Notice
    articles: list[Article]
    event: str = "found"

    @property
    def id(self) -> str:
        """The identifier of the notice.

        A repeated notice has the same identifier, so receivers can ignore it.
        """
        return _id(self.search, self.notice)

    @property
    def title(self) -> str:
        """The first line: name of the search and number of articles."""
        number = len(self.notice.keys) + self.notice.more
        return f"{self.search.name}: {number} new article{'s' if number != 1 else ''}"

    @property
    def line(self) -> str:
        """The text for the log, in one line."""
        number = len(self.notice.keys) + self.notice.more
        return f"event=found search={self.search.name!r} id={self.id!r} articles={number}"

    @property
    def text(self) -> str:
        """The whole notice in a few lines."""
        lines = [f"{one.title}\n{one.source}: {one.url}" for one in self.articles]
        more = [f"and {self.notice.more} more"] if self.notice.more else []
        return "\n\n".join([self.title, *lines, *more, f"found by: {self.search.query}"])

    @property
    def letter(self) -> str:
        """The text of an e-mail: the notice with the fields that the search names."""
        if not self.search.fields:
            return self.text
        lines = [self.title]
        for row in self._rows():
            lines.append(f"{row.pop('title', '')}\n{row.pop('url', '')}".strip())
            text = str(row.pop("text", ""))
            details = (f"{name}: {_in_line(value)}" for name, value in row.items() if value)
            lines += filter(None, ["\n".join(details), text])
        more = [f"and {self.notice.more} more"] if self.notice.more else []
        return "\n\n".join([*lines, *more, f"found by: {self.search.query}"])

    def _rows(self) -> list[dict[str, Any]]:
        kept = self.search.fields or FIELDS
        rows = [one.to_dict() for one in self.articles]
        return [
            {name: row["text"][:MAX_TEXT] if name == "text" else row.get(name) for name in kept}
            for row in rows
        ]

    def plain(self) -> dict[str, Any]:
        """Return a dict for JSON."""
        return {
            "event": self.event,
            "id": self.id,
            "search": self.search.name,
            "query": self.search.query,
            "at": iso(utc(self.notice.at)),
            "articles": self._rows(),
            "more": self.notice.more,
        }


def _id(search: SavedSearch, notice: Notice) -> str:
    return f"{search.name}/{search.created:.0f}/{notice.number}"


def saved_searches(notes: Notes) -> list[SavedSearch]:
    """Return all saved searches, sorted by name. Raises :class:`newsbot.errors.DataError`."""
    return [search for _, search in sorted(_read(notes).items())]


def save(
    storage: Storage, name: str, query: str, tell: str, now: float, *, fields: str | None = None
) -> SavedSearch:
    """Save a search, or change the query, the rhythm and the fields of the search with this name.

    Return the stored search. A new search reports articles that are stored from now on. ``tell`` is a key of
    :data:`RHYTHMS`; ``now`` is in POSIX seconds. ``fields`` are names of fields, separated by commas; None
    for :data:`FIELDS`. Raises :class:`newsbot.errors.DataError`, and :class:`ArgumentError` for an invalid
    name, query, rhythm or field and for too many searches.
    """
    names = _names(fields or "")
    if not name or name != name.strip() or len(name) > MAX_NAME or not name.isprintable():
        raise ArgumentError(f"the name of a saved search must be one line of 1 to {MAX_NAME} characters")
    if tell not in RHYTHMS:
        raise ArgumentError(f"{tell}: unknown frequency of notices; use {', '.join(RHYTHMS)}")
    parsed = parse(query, lambda tag: (tag,), any_label())  # a tag or a label may be added later
    if len(query) > MAX_QUERY or parsed.empty:
        raise ArgumentError(
            f"{name}: the query must contain a word or a field, and must not be longer than "
            f"{MAX_QUERY} characters"
        )
    if parsed.notes:
        raise ArgumentError(f"{name}: correct the query: {parsed.notes[0]}")
    for _ in range(TRIES):
        kept = storage.notes.all(KIND)
        before = _search_from(kept[name]) if name in kept else None
        if name not in kept and len(kept) >= MAX_SAVED:
            raise ArgumentError(f"{MAX_SAVED} searches are saved already; delete one first")
        # A search that was off has an old cursor. With this cursor, it would report all articles that were
        # stored in the meantime. So it is replaced by a new search with the current cursor.
        if before is None or (before.tell == "off") != (tell == "off"):
            after = SavedSearch(name, query, tell, now, storage.articles.end_of_changes(), now, fields=names)
        else:
            after = replace(before, query=query, tell=tell, fields=names)
        if storage.notes.swap(KIND, name, kept.get(name), after.to_note()):
            return after
    raise ArgumentError(f"{name}: another process is changing this search; try again")


def _names(fields: str) -> list[str]:
    names = [word.strip() for word in fields.split(",") if word.strip()]
    for name in names:
        if name not in _KNOWN_FIELDS:
            raise ArgumentError(f"{name}: articles have no such field{did_you_mean(name, _KNOWN_FIELDS)}")
    return names


def forget(notes: Notes, name: str) -> bool:
    """Delete a search; return False if no search has this name. Raises :class:`newsbot.errors.DataError`."""
    return notes.forget(KIND, name)


def look(storage: Storage, tagged: Tagged, now: float, labels: Labels = NO_LABELS) -> None:
    """Match all searches against the articles that were stored since the last call, and create notices.

    ``tagged`` returns the sites of a tag; ``now`` is in POSIX seconds; ``labels`` finds labels of articles.
    Raises :class:`newsbot.errors.DataError`; the next call then continues.
    """
    give_up = time.monotonic() + TRY_SECONDS
    while True:
        behind = False
        groups: dict[str, list[SavedSearch]] = {}
        for search in _read(storage.notes).values():
            if search.tell != "off":
                groups.setdefault(search.cursor, []).append(search)
        # Most searches have the same cursor, so changes are read and indexed once for all of them.
        for cursor, searches in groups.items():
            changes = storage.articles.changes_since(cursor, AT_ONCE)
            # If the storage was replaced or a backup was restored, the changes start from the beginning. All
            # articles would be reported as new. So the search continues at the current end of the changes.
            if changes.restarted and cursor:
                changes = Changes([], storage.articles.end_of_changes(), restarted=True)
            matches = _matches(changes.found, searches, tagged, labels)
            for search in searches:
                found = _found(replace(search, cursor=changes.cursor), matches.get(search.name, ()))
                # The cursor and the notice are written together. If another process was faster, nothing is
                # written, and the next round continues from the note of that process.
                _write(storage.notes, search, _due(found, now))
            behind |= len(changes.found) == AT_ONCE
        if not behind or time.monotonic() > give_up:
            return


def messages_for(output: str, storage: Storage) -> list[Found]:
    """Return the notices that an output has not received, oldest first.

    Articles that were removed in the meantime are left out. Raises :class:`newsbot.errors.DataError`.
    """
    due = [(search, one) for search in _read(storage.notes).values() for one in search.notices]
    found = []
    for search, notice in sorted(due, key=lambda pair: pair[1].at):
        if output not in notice.told:
            keys = list(map(bytes.fromhex, notice.keys))
            articles = storage.articles.with_keys(keys)
            found.append(Found(search, notice, [articles[key] for key in keys if key in articles]))
    return found


def note_told(notes: Notes, told: Iterable[tuple[str, Found]], outputs: Sequence[str], now: float) -> None:
    """Record which outputs received which notices. Drop old notices, and notices that all outputs received.

    ``told`` contains pairs of an output's name and a notice. ``outputs`` contains the names of all outputs.
    Raises :class:`newsbot.errors.DataError`; the notices are then sent again.
    """
    taken = {(one.id, output) for output, one in told}
    for key in _read(notes):
        for _ in range(TRIES):
            # The note is read again at each attempt, because another process may have changed it.
            search = _read(notes).get(key)
            if search is None:
                break
            marked = [
                replace(
                    one, told=one.told | {output: now for id_, output in taken if id_ == _id(search, one)}
                )
                for one in search.notices
            ]
            # A notice stays until all outputs have received it. Outputs that were removed from the settings
            # are ignored.
            left = [one for one in marked if set(outputs) - set(one.told)]
            for one in left:
                if now - one.at > GIVE_UP:
                    logger.error(
                        "saved search=%r notice=%d dropped: an output failed for a day",
                        key,
                        one.number,
                    )
            left = [one for one in left if now - one.at <= GIVE_UP]
            if left == search.notices or _write(notes, search, replace(search, notices=left)):
                break


def _in_line(value: Any) -> str:
    """Return a value in one line: a text, the items of a list, or JSON."""
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _found(search: SavedSearch, articles: Iterable[Article]) -> SavedSearch:
    """Return the search with these articles added to its next notice.

    Only one article of each story is added.
    """
    known, waiting, more = list(search.known), list(search.waiting), search.more
    for article in articles:
        key = blake2b((article.story or article.canonical_url).encode(), digest_size=8).hexdigest()
        if key in known:
            continue
        known.append(key)
        if len(waiting) < MAX_LISTED:
            waiting.append(fingerprint(article.canonical_url).hex())
        else:
            more += 1
    return replace(search, known=known[-REMEMBERED:], waiting=waiting, more=more)


def _due(search: SavedSearch, now: float) -> SavedSearch:
    """Return the search with a new notice if a notice is due; otherwise return the search unchanged."""
    if not search.waiting or len(search.notices) >= MAX_NOTICES or now - search.last < RHYTHMS[search.tell]:
        return search
    notice = Notice(search.number + 1, now, search.waiting, search.more)
    notices = [*search.notices, notice]
    return replace(search, number=notice.number, last=now, notices=notices, waiting=[], more=0)


def _matches(
    changes: Sequence[Change], searches: Sequence[SavedSearch], tagged: Tagged, labels: Labels
) -> dict[str, list[Article]]:
    """Return the changed articles that match each search, by name of the search."""
    articles = {one.fingerprint: one.article for one in changes if one.article is not None}
    found = matches(articles, {one.name: one.query for one in searches}, tagged, labels)
    return {name: [articles[key] for key in articles if key in keys] for name, keys in found.items()}


def _read(notes: Notes) -> dict[str, SavedSearch]:
    read = {name: _search_from(note) for name, note in notes.all(KIND).items()}
    return {name: search for name, search in read.items() if search is not None}


def _search_from(note: Mapping[str, Any]) -> SavedSearch | None:
    """Return the search in a note, or None if the note is invalid or of another version."""
    try:
        known = {one.name: note[one.name] for one in fields(SavedSearch) if one.name in note}
        names = {one.name for one in fields(Notice)}
        notices = [
            Notice(**{name: one[name] for name in names if name in one}) for one in note.get("notices", ())
        ]
        search = SavedSearch(**{**known, "notices": notices, "note": note})
    except (AttributeError, KeyError, TypeError):
        return None
    return search if search.tell in RHYTHMS else None


def _write(notes: Notes, before: SavedSearch, after: SavedSearch) -> bool:
    """Write a search. Return False if another process changed it in the meantime.

    In this case the next round reads the changed note and repeats the work, so nothing is lost.
    """
    return before == after or notes.swap(KIND, before.name, before.note, after.to_note())
