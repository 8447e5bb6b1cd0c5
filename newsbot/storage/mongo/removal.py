"""Deleting documents; see :mod:`newsbot.storage.removal`.

The article goes last: a call that is broken off finds it again and deletes the rest.
"""

from __future__ import annotations

from collections.abc import Sequence

from newsbot.storage.mongo import words
from newsbot.storage.mongo.articles import text_key, version_key
from newsbot.storage.mongo.connection import Collections, Document
from newsbot.storage.records import clean
from newsbot.urls import fingerprint

_OF_AN_ARTICLE = {"canonical_url": 1, "source": 1, "content_hash": 1}


def addresses(database: Collections, canonical_urls: Sequence[str]) -> list[str]:
    """Return the other URLs that lead to these articles."""
    keys = [fingerprint(clean(url)) for url in canonical_urls]
    return [str(one["url"]) for one in database["aliases"].find({"article": {"$in": keys}}, {"url": 1})]


def remove_articles(database: Collections, canonical_urls: Sequence[str]) -> int:
    """Delete articles with all that belongs to them."""
    keys = [fingerprint(clean(url)) for url in dict.fromkeys(canonical_urls)]
    found = list(database["articles"].find({"_id": {"$in": keys}}, _OF_AN_ARTICLE))
    if not found:
        return 0
    keys = [one["_id"] for one in found]
    texts = [text_key(one["source"], one["content_hash"]) for one in found]
    for one in found:
        versions: Document = {
            "_id": {"$gte": version_key(one["_id"], 0), "$lte": version_key(one["_id"], 0xFFFFFFFF)}
        }
        texts += [
            text_key(one["source"], earlier["content_hash"])
            for earlier in database["versions"].find(versions, {"content_hash": 1})
        ]
        database["versions"].delete_many(versions)
    database["texts"].delete_many({"_id": {"$in": texts}, "article": {"$in": keys}})
    database["aliases"].delete_many({"article": {"$in": keys}})
    words.forget(database, keys)
    database["articles"].update_many(
        {
            "source": {"$in": sorted({one["source"] for one in found})},
            "duplicate_of": {"$in": [one["canonical_url"] for one in found]},
        },
        {"$set": {"duplicate_of": None}},
    )
    return database["articles"].delete_many({"_id": {"$in": keys}}).deleted_count


def remove_pages(database: Collections, fingerprints: Sequence[bytes]) -> int:
    """Delete page records, and what searches and checks found there."""
    keys = list(dict.fromkeys(fingerprints))
    database["page_checks"].delete_many({"_id": {"$in": keys}})
    database["search_results"].delete_many({"page": {"$in": keys}})  # a record's URL is as the site wrote it
    return database["pages"].delete_many({"_id": {"$in": keys}}).deleted_count


def remove_sources(database: Collections, urls: Sequence[str]) -> int:
    """Delete the records of sources, with their polls."""
    given = [clean(url) for url in urls]
    database["polls"].delete_many({"url": {"$in": given}})
    return database["sources"].delete_many({"_id": {"$in": given}}).deleted_count


def forget_site(database: Collections, source: str) -> None:
    """Delete the counters of a site."""
    database["sites"].delete_one({"_id": clean(source)})
    database["site_hours"].delete_many({"source": clean(source)})
