"""Saved searches: named queries that report new articles at once, hourly or daily.

A search is stored as one note: the query, the cursor in the changes of the storage, the articles that wait
for the next notice, and the notices that some output has not taken. One atomic swap writes the whole note. A
process that is killed repeats work; a notice that was sent but not recorded is sent again with the same
``id``. Only one article of each story is reported. Each round matches new articles in a temporary index of
its own, so that no process needs the search index.
"""

from __future__ import annotations

import logging
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

from newsbot.clock import DAY, iso, utc
from newsbot.errors import ArgumentError
from newsbot.items import Article
from newsbot.search.articles import ArticleSearch
from newsbot.search.query import MAX_QUERY, ArticleFilter, Tagged, parse
from newsbot.storage.articles import Change, Changes
from newsbot.storage.base import Storage
from newsbot.storage.notes import Notes
from newsbot.urls import fingerprint

logger = logging.getLogger(__name__)

KIND = "saved_searches"
RHYTHMS: Mapping[str, float] = {"off": 0.0, "at_once": 0.0, "hourly": DAY / 24, "daily": DAY}
"""The fewest seconds between two notices of a search. ``off``: no notices."""
MAX_SAVED = 100
MAX_NAME = 80
MAX_LISTED = 50
"""The most articles that a notice names. Further ones are only counted."""
MAX_NOTICES = 10
"""The most unsent notices of a search. With this many, new articles wait for a later notice."""
GIVE_UP = DAY
"""Seconds after which an unsent notice is dropped."""
REMEMBERED = 1000
"""Found stories that a search remembers."""
AT_ONCE = 100
"""Changes that are read and matched in one batch."""
PATIENCE = 1.0
"""Seconds of a round for reading changes. The rest is read in the next round."""
TRIES = 5


@dataclass(frozen=True, slots=True)
class Notice:
    """Articles that are reported together."""

    number: int
    at: float
    keys: list[str]
    """Fingerprints of the articles, in hexadecimal digits."""
    more: int
    """Number of further articles found."""
    told: dict[str, float] = field(default_factory=dict)
    """When each output took the notice."""


@dataclass(frozen=True, slots=True)
class SavedSearch:
    """A search and its unsent notices. Times are POSIX seconds."""

    name: str
    query: str
    tell: str
    """One of RHYTHMS."""
    created: float
    cursor: str
    """The position up to which the changes of the storage were read."""
    last: float
    """When the last notice was made."""
    number: int = 0
    """Number of notices so far."""
    known: list[str] = field(default_factory=list)
    """Stories and articles found last, so that copies and new versions are not reported."""
    waiting: list[str] = field(default_factory=list)
    more: int = 0
    notices: list[Notice] = field(default_factory=list)

    def plain(self) -> dict[str, Any]:
        """Return a dict for JSON with the fields for people."""
        waiting = len(self.waiting) + self.more
        row = {"name": self.name, "query": self.query, "tell": self.tell, "notices": self.number}
        return row | {"created": iso(utc(self.created)), "waiting": waiting}


@dataclass(frozen=True, slots=True)
class Found:
    """A notice in the form that outputs send."""

    search: SavedSearch
    notice: Notice
    articles: list[Article]
    event: str = "found"

    @property
    def id(self) -> str:
        """An identifier that is the same each time the notice is sent."""
        return _id(self.search, self.notice)

    @property
    def title(self) -> str:
        """The first line."""
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

    def plain(self) -> dict[str, Any]:
        """Return a dict for JSON."""
        kept = ("url", "title", "source", "language", "published_at", "story")
        rows = [one.to_dict() for one in self.articles]
        return {
            "event": self.event,
            "id": self.id,
            "search": self.search.name,
            "query": self.search.query,
            "at": iso(utc(self.notice.at)),
            "articles": [{name: row.get(name) for name in kept} for row in rows],
            "more": self.notice.more,
        }


def _id(search: SavedSearch, notice: Notice) -> str:
    return f"{search.name}/{search.created:.0f}/{notice.number}"


def saved_searches(notes: Notes) -> list[SavedSearch]:
    """Return all saved searches, sorted by name. Raises :class:`newsbot.errors.DataError`."""
    return [search for _, search in sorted(_read(notes).items())]


def save(storage: Storage, name: str, query: str, tell: str, now: float) -> SavedSearch:
    """Save a search, or change query and rhythm of the one with this name.

    It reports articles that are stored from now on. Raises :class:`ArgumentError` and
    :class:`newsbot.errors.DataError`.
    """
    if not name or name != name.strip() or len(name) > MAX_NAME or not name.isprintable():
        raise ArgumentError(f"a saved search has a name of at most {MAX_NAME} characters in one line")
    if tell not in RHYTHMS:
        raise ArgumentError(f"{tell}: a saved search tells {', '.join(RHYTHMS)}")
    if len(query) > MAX_QUERY or parse(query).empty:
        raise ArgumentError(f"{name}: the query needs a word or a field, and {MAX_QUERY} characters at most")
    for _ in range(TRIES):
        kept = storage.notes.all(KIND)
        before = _search_from(kept[name]) if name in kept else None
        if name not in kept and len(kept) >= MAX_SAVED:
            raise ArgumentError(f"{MAX_SAVED} searches are saved already; forget one first")
        if before is None or (before.tell == "off") != (tell == "off"):
            after = SavedSearch(name, query, tell, now, storage.articles.end_of_changes(), now)
        else:
            after = replace(before, query=query, tell=tell)
        if storage.notes.swap(KIND, name, kept.get(name), asdict(after)):
            return after
    raise ArgumentError(f"{name}: others change this search at the same time; try again")


def forget(notes: Notes, name: str) -> bool:
    """Delete a search; return False if no search has this name. Raises :class:`newsbot.errors.DataError`."""
    return notes.forget(KIND, name)


def look(storage: Storage, tagged: Tagged, now: float) -> None:
    """Read what was stored since the last call, and create the notices that are due.

    Raises :class:`newsbot.errors.DataError`; then the next call does the rest.
    """
    give_up = time.monotonic() + PATIENCE
    while True:
        behind = False
        groups: dict[str, list[SavedSearch]] = {}
        for search in _read(storage.notes).values():
            if search.tell != "off":
                groups.setdefault(search.cursor, []).append(search)
        for cursor, searches in groups.items():
            changes = storage.articles.changes_since(cursor, AT_ONCE)
            if changes.restarted and cursor:  # another storage or a restored backup: its articles are not new
                changes = Changes([], storage.articles.end_of_changes(), restarted=True)
            matches = _matches(changes.found, searches, tagged)
            for search in searches:
                found = _found(replace(search, cursor=changes.cursor), matches.get(search.name, ()))
                _write(storage.notes, search, _due(found, now))
            behind |= len(changes.found) == AT_ONCE
        if not behind or time.monotonic() > give_up:
            return


def messages_for(output: str, storage: Storage) -> list[Found]:
    """Return the notices that an output has not taken, oldest first."""
    due = [(search, one) for search in _read(storage.notes).values() for one in search.notices]
    found = []
    for search, notice in sorted(due, key=lambda pair: pair[1].at):
        if output not in notice.told:
            keys = list(map(bytes.fromhex, notice.keys))
            articles = storage.articles.with_keys(keys)
            found.append(Found(search, notice, [articles[key] for key in keys if key in articles]))
    return found


def note_told(notes: Notes, told: Iterable[tuple[str, Found]], outputs: Sequence[str], now: float) -> None:
    """Record which outputs took which notices; drop notices that are old or that all ``outputs`` took.

    Raises :class:`newsbot.errors.DataError`; then the notices are sent once more.
    """
    taken = {(one.id, output) for output, one in told}
    for key in _read(notes):
        for _ in range(TRIES):
            search = _read(notes).get(key)
            if search is None:
                break
            marked = [
                replace(
                    one, told=one.told | {output: now for id_, output in taken if id_ == _id(search, one)}
                )
                for one in search.notices
            ]
            left = [one for one in marked if set(outputs) - set(one.told)]
            for one in left:
                if now - one.at > GIVE_UP:
                    logger.error("saved search=%r notice=%d was not taken by all in a day", key, one.number)
            left = [one for one in left if now - one.at <= GIVE_UP]
            if left == search.notices or _write(notes, search, replace(search, notices=left)):
                break


def _found(search: SavedSearch, articles: Iterable[Article]) -> SavedSearch:
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
    if not search.waiting or len(search.notices) >= MAX_NOTICES or now - search.last < RHYTHMS[search.tell]:
        return search
    notice = Notice(search.number + 1, now, search.waiting, search.more)
    notices = [*search.notices, notice]
    return replace(search, number=notice.number, last=now, notices=notices, waiting=[], more=0)


def _matches(
    changes: Sequence[Change], searches: Sequence[SavedSearch], tagged: Tagged
) -> dict[str, list[Article]]:
    """Return the matches of each search among changed articles, one for each story."""
    articles = {one.fingerprint: one.article for one in changes if one.article is not None}
    if not articles:
        return {}
    with (
        tempfile.TemporaryDirectory(prefix="newsbot-") as folder,
        closing(ArticleSearch(Path(folder) / "search.db", _Changed(articles), tagged)) as index,
    ):
        index.follow()
        found = {one.name: index.find(one.query, limit=len(articles), by_time=True) for one in searches}
        return {name: [hit.article for hit in hits] for name, hits in found.items()}


class _Changed:
    """A batch of articles with the interface of :class:`newsbot.search.articles.Library`."""

    def __init__(self, articles: Mapping[bytes, Article]) -> None:
        self._articles = articles

    def changes_since(self, cursor: str = "", limit: int = AT_ONCE) -> Changes:
        """Return all articles at the first call."""
        found = [] if cursor else [Change(key, one) for key, one in self._articles.items()]
        return Changes(found[:limit], "all", restarted=not cursor)

    def with_keys(self, keys: Sequence[bytes]) -> dict[bytes, Article]:
        """Return the articles with these keys."""
        return {key: self._articles[key] for key in keys if key in self._articles}

    def iter(self, where: ArticleFilter | None = None) -> Iterator[Article]:
        """Return the articles of a story. A search uses no other filter here."""
        story = where.story if where else None
        return (one for one in self._articles.values() if story is None or one.story == story)

    def newest(self, where: ArticleFilter | None = None, *, limit: int) -> list[Article]:
        """Return the newest articles of a story."""
        return list(self.iter(where))[:limit]

    def count(self, where: ArticleFilter | None = None) -> int:
        """Return the number of articles of a story."""
        return sum(1 for _ in self.iter(where))


def _read(notes: Notes) -> dict[str, SavedSearch]:
    read = {name: _search_from(note) for name, note in notes.all(KIND).items()}
    return {name: search for name, search in read.items() if search is not None}


def _search_from(note: Mapping[str, Any]) -> SavedSearch | None:
    """Return the search in a note; None if the note is invalid or of another version."""
    try:
        search = SavedSearch(**{**note, "notices": [Notice(**one) for one in note["notices"]]})
    except (KeyError, TypeError):
        return None
    return search if search.tell in RHYTHMS else None


def _write(notes: Notes, before: SavedSearch, after: SavedSearch) -> bool:
    """Write a search; return False if it was changed meanwhile: the next call reads the new note."""
    return before == after or notes.swap(KIND, before.name, asdict(before), asdict(after))
