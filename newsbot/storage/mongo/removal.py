"""Deleting documents; see :mod:`newsbot.storage.removal`.

Articles go in transactions: what a worker stores of one at the same moment comes before the removal, and
goes too, or after it, as a new article. Nothing is left half.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from newsbot.connections.mongo import Collections, Document, Place, Session
from newsbot.storage.mongo import words
from newsbot.storage.mongo.articles import text_key, version_key
from newsbot.storage.mongo.transaction import transact
from newsbot.text.words import clean
from newsbot.urls import fingerprint

_AT_ONCE = 50
"""Articles of one transaction: others that write the same wait, and it must not last."""
_OF_AN_ARTICLE = {"canonical_url": 1, "source": 1, "content_hash": 1, "version": 1}


def addresses(database: Collections, canonical_urls: Sequence[str]) -> list[str]:
    """Return the other URLs that lead to these articles."""
    keys = [fingerprint(clean(url)) for url in canonical_urls]
    urls = {one["_id"]: str(one["url"]) for one in database["aliases"].find({"article": {"$in": keys}})}
    for one in database["articles"].find({"_id": {"$in": list(urls)}}, {"_id": 1}):
        del urls[one["_id"]]  # it led there once, and is an article itself by now
    return list(urls.values())


def remove_articles(place: Place, canonical_urls: Sequence[str]) -> int:
    """Delete articles with all that belongs to them."""
    urls = [clean(url) for url in dict.fromkeys(canonical_urls)]
    keys = [fingerprint(url) for url in urls]
    for naming in ("duplicate_of", "derived_from"):
        place.database["articles"].update_many({naming: {"$in": urls}}, {"$set": {naming: None}})
    return sum(
        transact(place, partial(_remove_articles, place.database, keys[start : start + _AT_ONCE]))
        for start in range(0, len(keys), _AT_ONCE)
    )


def _remove_articles(database: Collections, given: Sequence[bytes], session: Session) -> int:
    found = list(database["articles"].find({"_id": {"$in": list(given)}}, _OF_AN_ARTICLE, session=session))
    keys = [one["_id"] for one in found]
    leading = {"$or": [{"_id": {"$in": list(given)}}, {"article": {"$in": keys}}]}
    database["aliases"].delete_many(leading, session=session)
    if not found:
        return 0
    texts = [text_key(one["source"], one["content_hash"]) for one in found]
    for one in found:
        versions: Document = {
            "_id": {"$gte": version_key(one["_id"], 0), "$lte": version_key(one["_id"], 0xFFFFFFFF)}
        }
        kept = list(database["versions"].find(versions, {"content_hash": 1}, session=session))
        texts += [text_key(one["source"], earlier["content_hash"]) for earlier in kept]
        if len(kept) < one["version"] - 1:  # some were let go of, and only the texts know which
            of_site = {"$gte": f"{one['source']} ", "$lt": f"{one['source']}!"}
            owned = database["texts"].find({"_id": of_site, "article": one["_id"]}, session=session)
            texts += [text["_id"] for text in owned]
        database["versions"].delete_many(versions, session=session)
    database["texts"].delete_many({"_id": {"$in": texts}, "article": {"$in": keys}}, session=session)
    words.forget(database, keys, session)
    return database["articles"].delete_many({"_id": {"$in": keys}}, session=session).deleted_count


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
