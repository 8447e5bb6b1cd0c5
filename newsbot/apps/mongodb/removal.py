"""Deletes documents on request, deletes old versions of articles, and clears old data in page records.

Articles are deleted in transactions. If another worker writes an article at the same time, either the data
that it writes are deleted too, or it stores a new article after the removal. An article is never deleted only
in part.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import partial

from newsbot.apps.mongodb import changes
from newsbot.apps.mongodb.articles import texts_had
from newsbot.apps.mongodb.client import Collections, Document, Session
from newsbot.apps.mongodb.connection import Repository
from newsbot.apps.mongodb.documents import all_versions, micros, strings
from newsbot.items import batched
from newsbot.pages.text.words import clean
from newsbot.storage.base import Removal
from newsbot.urls import fingerprint

_AT_ONCE = 50
"""Maximum number of articles that one transaction deletes. The transaction must be short, because other
writers of these articles wait for it."""
_OF_AN_ARTICLE = {"canonical_url": 1, "source": 1, "content_hash": 1, "version": 1}


class MongoRemoval(Repository, Removal):
    """:class:`newsbot.storage.base.Removal` in MongoDB."""

    def addresses(self, canonical_urls: Sequence[str]) -> list[str]:
        leading = {"article": {"$in": [fingerprint(clean(url)) for url in canonical_urls]}}
        with self.server.readable() as database:
            urls = {one["_id"]: str(one["url"]) for one in database["aliases"].find(leading)}
            for one in database["articles"].find({"_id": {"$in": list(urls)}}, {"_id": 1}):
                del urls[one["_id"]]  # the alias has become an article, so it is no longer an alias
        return list(urls.values())

    def articles(self, canonical_urls: Sequence[str]) -> int:
        urls = [clean(url) for url in dict.fromkeys(canonical_urls)]
        keys = [fingerprint(url) for url in urls]
        with self.server.readable() as database:
            # This is done before the removal. If the removal fails, the call can be repeated.
            these = strings(*urls)
            database["articles"].update_many({"duplicate_of": these}, {"$set": {"duplicate_of": None}})
            database["articles"].update_many({"derived_from": these}, {"$pull": {"derived_from": these}})
            return sum(
                self.server.transact(partial(_remove_articles, database, some))
                for some in batched(keys, _AT_ONCE)
            )

    def pages(self, fingerprints: Sequence[bytes]) -> int:
        keys = {"$in": list(dict.fromkeys(fingerprints))}
        with self.server.readable() as database:
            return database["pages"].delete_many({"_id": keys}).deleted_count

    def sources(self, urls: Sequence[str]) -> int:
        given = {"$in": [clean(url) for url in urls]}
        with self.server.readable() as database:
            database["polls"].delete_many({"url": given})
            return database["sources"].delete_many({"_id": given}).deleted_count

    def site(self, site: str) -> None:
        with self.server.readable() as database:
            database["sites"].delete_one({"_id": clean(site)})
            database["site_hours"].delete_many({"source": clean(site)})

    def old_versions(self, before: datetime) -> int:
        with self.server.readable() as database:
            return database["versions"].count_documents(_fetched_before(before))

    def drop_versions(self, before: datetime, limit: int) -> int:
        with self.server.readable() as database:
            found = database["versions"].find(_fetched_before(before), {"_id": 1}).limit(limit)
            keys = [one["_id"] for one in found]
            return database["versions"].delete_many({"_id": {"$in": keys}}).deleted_count

    def old_pages(self, before: float) -> int:
        with self.server.readable() as database:
            return database["pages"].count_documents(_slimmable(before))

    def slim_pages(self, before: float, limit: int) -> int:
        less = {"$set": {"history": [], "referrers": []}, "$unset": {"referrer_bits": ""}}
        with self.server.readable() as database:
            pages = database["pages"]
            # The update checks the condition again: the page may have been fetched in the meantime.
            keys = [one["_id"] for one in pages.find(_slimmable(before), {"_id": 1}).limit(limit)]
            return pages.update_many({"_id": {"$in": keys}, **_slimmable(before)}, less).modified_count


def _remove_articles(database: Collections, given: Sequence[bytes], session: Session) -> int:
    """Delete the articles with these keys in a transaction. Return the number of deleted articles."""
    asked = {"_id": {"$in": list(given)}}
    found = list(database["articles"].find(asked, _OF_AN_ARTICLE, session=session))
    keys = [one["_id"] for one in found]
    # If a URL is an alias of another article, which stays, only the alias is deleted.
    leading = {"$or": [asked, {"article": {"$in": keys}}]}
    database["aliases"].delete_many(leading, session=session)
    if not found:
        return 0
    texts: list[str] = []
    for one in found:
        versions = all_versions(one["_id"])
        kept = list(database["versions"].find(versions, {"content_hash": 1}, session=session))
        texts += texts_had(database, session, one, kept)
        database["versions"].delete_many(versions, session=session)
    database["texts"].delete_many({"_id": {"$in": texts}, "article": {"$in": keys}}, session=session)
    changes.note_removed(database, keys, session)
    return database["articles"].delete_many({"_id": {"$in": keys}}, session=session).deleted_count


def _fetched_before(before: datetime) -> Document:
    return {"fetched": {"$lt": micros(before)}}


def _slimmable(before: float) -> Document:
    """Return the query for old page records that still have history or referrers."""
    old = {"$lt": [{"$ifNull": ["$last_fetched", "$first_seen"]}, before]}
    # "history.0" exists if the list is not empty
    large = [{"history.0": {"$exists": True}}, {"referrers.0": {"$exists": True}}]
    return {"next_due": None, "$expr": old, "$or": large}
