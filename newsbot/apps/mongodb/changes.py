"""Numbers the changes of articles in the order of their commits, and reads them by number.

Transactions of several writers run at the same time. If the writers chose the numbers, a lower number could
be committed after a higher number. A reader that has read the higher number would then miss the lower one.
Writers therefore leave the number of a changed article or of a removal empty. A reader first numbers all
committed changes, in a transaction that increments one counter. Two readers therefore cannot number the same
change.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from heapq import merge
from itertools import groupby, islice

from pymongo import ReturnDocument, UpdateOne
from pymongo.read_concern import ReadConcern

from newsbot.apps.mongodb.client import Collections, Document, Session
from newsbot.apps.mongodb.connection import Server
from newsbot.apps.mongodb.documents import from_document
from newsbot.errors import DataUnavailable
from newsbot.storage.articles import Change, Changes, Numbering

NUMBER = "change"
"""The field with the number of the last change. If it is missing or None, the change has no number yet."""
UNNUMBERED: Document = {NUMBER: ""}
"""The argument of ``$unset`` in an update of an article. It removes the number, so that the change gets a new
number."""
_COUNTER = "changes"
_AT_ONCE = 500
"""Maximum number of changes that one transaction numbers."""
_COLLECTIONS = ("removals", "articles")
"""The collections whose documents are numbered. Removals are numbered first: if an article was removed and
stored again, its removal must have the lower number."""


def note_removed(database: Collections, keys: Sequence[bytes], session: Session) -> None:
    """Record the removal of the articles with these keys. Must run in the transaction that removes them."""
    for key in keys:
        # An empty document replaces an earlier removal of the same article, which had a number.
        database["removals"].replace_one({"_id": key}, {}, upsert=True, session=session)


def since(server: Server, cursor: str, limit: int) -> Changes:
    """Return at most ``limit`` changes after a cursor.

    See :meth:`newsbot.storage.articles.Articles.changes_since`.
    """
    database = server.at.database
    present = all_numbered(server)
    after, restarted = present.read(cursor)
    # Another reader can number changes between the two queries. Without the upper bound, an article with a
    # higher number could be found, although a removal with a lower number was not.
    within = {NUMBER: {"$gt": after, "$lte": present.last}}
    kinds = [
        [
            (one[NUMBER], Change(one["_id"], from_document(one) if name == "articles" else None))
            for one in database[name].find(within).sort(NUMBER, 1).limit(limit)
        ]
        for name in _COLLECTIONS
    ]
    numbered = list(islice(merge(*kinds, key=lambda one: one[0]), limit))
    last = numbered[-1][0] if numbered else after
    return Changes([change for _, change in numbered], present.cursor(last), restarted)


def all_numbered(server: Server) -> Numbering:
    """Give numbers to all committed changes, and return the numbering.

    All changes up to the last number are committed.
    """
    database = server.at.database
    with suppress(DataUnavailable):  # a user without the right to write reads only the numbered changes
        while any(database[name].find_one({NUMBER: None}, {"_id": 1}) for name in _COLLECTIONS):
            server.transact(partial(number_some, database))
    return numbering(database)


def numbering(database: Collections) -> Numbering:
    """Return the numbering as a majority of the members has stored it, so that a failover cannot undo it."""
    counters = database["counters"].with_options(read_concern=ReadConcern("majority"))
    counter = counters.find_one({"_id": _COUNTER}) or {"id": "", "last": 0}
    return Numbering(counter["id"], counter["last"])


def number_some(database: Collections, session: Session) -> int:
    """Give numbers to at most _AT_ONCE changes that have no number. Return how many got a number.

    This must run in a transaction.
    """
    chosen: list[tuple[str, bytes]] = []
    for name in _COLLECTIONS:
        # None matches a missing field too: writers remove the field or never set it
        some = database[name].find({NUMBER: None}, {"_id": 1}, session=session)
        if room := _AT_ONCE - len(chosen):
            chosen += [(name, one["_id"]) for one in some.limit(room)]
    # Two readers that number at the same time conflict on this document, so one of the transactions is
    # repeated.
    counter = database["counters"].find_one_and_update(
        {"_id": _COUNTER},
        {"$inc": {"last": len(chosen)}, "$setOnInsert": {"id": secrets.token_hex(8)}},
        upsert=True,
        return_document=ReturnDocument.AFTER,
        session=session,
    )
    assert counter is not None
    # The counter was increased by the number of changes. The changes get the numbers up to its new value.
    first = int(counter["last"]) - len(chosen) + 1
    for name, numbered in groupby(enumerate(chosen, first), lambda one: one[1][0]):
        given = [UpdateOne({"_id": key}, {"$set": {NUMBER: number}}) for number, (_, key) in numbered]
        database[name].bulk_write(given, ordered=False, session=session)
    return len(chosen)
