"""Joined stories, notes, polls and hours to be copied; see :mod:`newsbot.storage.books`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any

from pymongo import UpdateOne

from newsbot.connections.mongo import Collections, Document
from newsbot.storage.activity import COUNTED
from newsbot.storage.books import AT_ONCE, Book, JoinedStory, KeptNote, SiteHour, poll_day
from newsbot.storage.mongo import notes, polls


def copy_books(database: Collections) -> Iterator[list[Book]]:
    """Yield all, some at a time."""
    yield from _some(database, "joined", lambda one: JoinedStory(one["_id"], one["into"]))
    yield from _some(database, "notes", lambda one: KeptNote(one["kind"], one["key"], one["body"]))
    yield from _some(database, "polls", lambda one: poll_day(one["url"], one["day"], "".join(one["polls"])))
    yield from _some(database, "site_hours", _hour)


def take_books(database: Collections, books: Sequence[Book]) -> None:
    """Keep what is not there."""
    of: dict[str, list[UpdateOne]] = {}
    for book in books:
        name, identity, document = _document(book)
        of.setdefault(name, []).append(UpdateOne({"_id": identity}, {"$setOnInsert": document}, upsert=True))
    for name, operations in of.items():
        database[name].bulk_write(operations, ordered=False)


def _some(database: Collections, name: str, make: Callable[[Document], Book]) -> Iterator[list[Book]]:
    with database[name].find({}).sort("_id", 1) as found:
        # a story that kept its id leads to itself, which says nothing
        told = (make(one) for one in found if one["_id"] != one.get("into"))
        while some := list(islice(told, AT_ONCE)):
            yield some


def _hour(one: Document) -> SiteHour:
    return SiteHour(one["source"], one["hour"], tuple(one.get(name, 0) for name in COUNTED))


def _document(book: Book) -> tuple[str, Any, Document]:
    """Return where a book is kept: collection, ``_id`` and the rest."""
    if isinstance(book, JoinedStory):
        return "joined", book.story, {"into": book.into, "times": 1}
    if isinstance(book, KeptNote):
        note = {"kind": book.kind, "key": book.key, "body": book.body}
        return "notes", notes.identity(book.kind, book.key), note
    if isinstance(book, SiteHour):
        counts = {name: count for name, count in zip(COUNTED, book.counts, strict=True) if count}
        return "site_hours", f"{book.source} {book.hour}", {"source": book.source, "hour": book.hour} | counts
    polled = {"url": book.url, "day": book.day, "polls": list(book.polls)}
    return "polls", polls.identity(book.url, book.day), polled
