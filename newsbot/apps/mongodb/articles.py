"""Stores each article in one document. Earlier versions, texts and other URLs have their own collections.

An article is stored in one transaction, alone or with other new articles. Two workers that store the same
text write the same ``_id`` in ``texts``. One of the transactions then fails. It is tried again, and then sees
the result of the other transaction.

The changes of articles are numbered in the order of their commits, and read by number. Transactions of
several writers run at the same time. If the writers chose the numbers, a lower number could be committed
after a higher number. A reader that has read the higher number would then miss the lower one. Writers
therefore leave the number of a changed article or of a removal empty. A reader first numbers all committed
changes, in a transaction that increments one counter. Two readers therefore cannot number the same change.

Stories are in the field ``story`` of articles and in the collection ``joined``. A document of ``joined`` is a
story that was joined with other stories. Its field ``into`` is the current story, which is the story itself
if it kept its id. Each join writes the documents of all its stories. Two joins that share a story and run at
the same time therefore conflict. MongoDB then aborts one of the joins, and this join is tried again.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from functools import partial
from heapq import merge
from itertools import chain, groupby, islice
from typing import Any

from pymongo import ReturnDocument, UpdateMany, UpdateOne
from pymongo.errors import BulkWriteError
from pymongo.read_concern import ReadConcern

from newsbot.apps.mongodb.client import (
    KEY,
    Collections,
    Document,
    Repository,
    Server,
    Session,
    all_duplicates,
    all_versions,
    articles_by_key,
    conditions,
    current,
    from_document,
    harmless,
    micros,
    strings,
    text_key,
    texts_of_site,
    to_document,
    version_key,
)
from newsbot.errors import DataError, DataFull, DataUnavailable
from newsbot.items import FETCHED, Article, ArticleFilter, batched
from newsbot.pages.text.words import clean
from newsbot.storage.articles import (
    KEPT,
    MAX_VERSIONS,
    Articles,
    Change,
    Changes,
    Joined,
    Numbering,
    RepeatedText,
    SiteText,
    Stored,
    Stories,
    Story,
    Texts,
    Verdict,
    decide,
    fetched_address,
    may_be_plain,
    names_another_page,
    overlapping,
    readdressed_story,
    roots_of,
    split_ids,
    story_id,
)
from newsbot.urls import fingerprint

# --- stories
_STORIES_AT_ONCE = 200
"""Number of stories whose members are counted in one query."""
_LATE = (1 << 63) - 1
"""A value that sorts after all times, for articles without a fetch time."""


class MongoStories(Repository, Stories):
    """:class:`newsbot.storage.articles.Stories` in MongoDB."""

    def join(self, canonical_urls: Sequence[str]) -> Joined:
        return self.server.transact(partial(join_all, self.database, [canonical_urls]))[0]

    def current(self, stories: Collection[str]) -> dict[str, str]:
        return _current(self.database, None, {clean(story) for story in stories})

    def assign(self, canonical_url: str, story: str, duplicate_of: str | None) -> None:
        self.database["articles"].update_one(
            {"_id": fingerprint(clean(canonical_url))},
            {"$set": {"story": clean(story), "duplicate_of": duplicate_of and clean(duplicate_of)}},
        )

    def split(self, groups: Sequence[Sequence[str]]) -> list[str]:
        return self.server.transact(partial(_split, self.database, groups))

    def recent(
        self,
        *,
        since: datetime | None = None,
        min_members: int = 2,
        min_sources: int = 1,
        limit: int = 50,
    ) -> list[Story]:
        if limit <= 0:
            return []
        newest = _newest(self.shown, since, self.server.patience)
        chosen = list(islice(_large(self.shown, newest, min_members, min_sources), limit))
        found = {name: Story(story=name, members=[]) for name in chosen}
        wanted = {"text": 0}  # not read, because a story can have thousands of articles
        members = self.shown["articles"].find({"story": strings(*chosen)}, wanted)
        for member in members.sort({"moment": 1, "_id": 1}):
            found[member["story"]].members.append(from_document(member | {"text": ""}))
        return list(found.values())


def _split(database: Collections, groups: Sequence[Sequence[str]], session: Session) -> list[str]:
    (first,) = _kept(database, session, groups[0][:1])
    story = (first or {}).get("story") or story_id(clean(groups[0][0]))
    ids = split_ids(story, [[clean(url) for url in group] for group in groups])
    redirects: list[UpdateOne] = []
    changes: list[UpdateMany] = []
    for name, group in zip(ids, groups, strict=True):
        # As in _unite(), each story gets a document, so that a join at the same time conflicts.
        redirects += [
            UpdateOne({"_id": own}, {"$set": {"into": name}, "$inc": {"times": 1}}, upsert=True)
            for own in {name, *(story_id(clean(url)) for url in group)}
        ]
        keys = [fingerprint(clean(url)) for url in group]
        changes.append(UpdateMany({"_id": {"$in": keys}}, {"$set": {"story": name}}))
    database["joined"].bulk_write(redirects, session=session)
    database["articles"].bulk_write(changes, session=session)
    return ids


def _newest(database: Collections, since: datetime | None, patience: int) -> Iterator[list[str]]:
    """Yield the ids of stories in batches, the story with the newest member first."""
    recent: Document = {} if since is None else {"moment": {"$gte": micros(since)}}
    steps: list[Document] = [
        {"$match": {"story": {"$type": "string"}, **recent}},
        {"$group": {"_id": "$story", "last": {"$max": "$moment"}}},
        {"$sort": {"last": -1, "_id": 1}},
    ]
    with database["articles"].aggregate(steps, allowDiskUse=True, maxTimeMS=patience) as rows:
        while some := [str(row["_id"]) for row in islice(rows, _STORIES_AT_ONCE)]:
            yield some


def _large(
    database: Collections, batches: Iterator[list[str]], min_members: int, min_sources: int
) -> Iterator[str]:
    """Yield the stories of ``batches`` that have enough members from enough sites, in the same order."""
    for some in batches:
        steps: list[Document] = [
            {"$match": {"story": strings(*some)}},
            {"$group": {"_id": "$story", "members": {"$sum": 1}, "sources": {"$addToSet": "$source"}}},
        ]
        large = {
            row["_id"]
            for row in database["articles"].aggregate(steps)
            if row["members"] >= min_members and len(row["sources"]) >= min_sources
        }
        yield from (story for story in some if story in large)


def join_all(database: Collections, groups: Sequence[Sequence[str]], session: Session) -> list[Joined]:
    """Merge the stories of the articles of each group. Must run in the transaction of ``session``.

    The groups are lists of canonical URLs. The result is the same as if the groups were joined one by one.
    """
    urls = list(dict.fromkeys(chain.from_iterable(groups)))
    kept = dict(zip(urls, _kept(database, session, urls), strict=True))
    own = {url: story_id(clean(url)) for url in urls}
    stories = {url: (own[url], (one["story"] or own[url]) if one else None) for url, one in kept.items()}
    merged = _current(database, session, {story for pair in stories.values() for story in pair if story})
    roots = [roots_of([stories[url] for url in group], merged) for group in groups]
    winner, changes = _unite(database, session, overlapping(roots))
    found = [
        Joined(
            winner[min(mine)],
            missing=any(kept[url] is None for url in group),
            awaited=own[group[0]] in merged,
        )
        for group, mine in zip(groups, roots, strict=True)
    ]
    changes += [
        # "$ne": an operation above may have moved the article already
        UpdateMany({"_id": {"$in": moved}, "story": {"$ne": one.story}}, {"$set": {"story": one.story}})
        for group, one in zip(groups, found, strict=True)
        if (moved := [has["_id"] for url in group if (has := kept[url]) and has["story"] != one.story])
    ]
    if changes:
        database["articles"].bulk_write(changes, session=session)
    return found


def _kept(database: Collections, session: Session | None, urls: Sequence[str]) -> list[Document | None]:
    """Return the key and the story of the article that has each URL as canonical URL or as alias.

    The value is None for a URL that has no article.
    """
    keys = [fingerprint(clean(url)) for url in urls]

    def stories(asked: list[bytes]) -> dict[bytes, Document]:
        found = database["articles"].find({"_id": {"$in": asked}}, {"story": 1}, session=session)
        return {one["_id"]: one for one in found}

    found = stories(keys)
    if missing := [key for key in keys if key not in found]:
        aliases = list(database["aliases"].find({"_id": {"$in": missing}}, session=session))
        named = stories([one["article"] for one in aliases]) if aliases else {}
        found |= {one["_id"]: named[one["article"]] for one in aliases if one["article"] in named}
    return [found.get(key) for key in keys]


def _current(database: Collections, session: Session | None, stories: set[str]) -> dict[str, str]:
    """Do the same as :meth:`newsbot.storage.articles.Stories.current`, in the transaction of ``session``."""
    found = database["joined"].find({"_id": {"$in": list(stories)}}, session=session)
    return {one["_id"]: one["into"] for one in found}


def _unite(
    database: Collections, session: Session, groups: list[set[str]]
) -> tuple[dict[str, str], list[UpdateMany]]:
    """Merge the stories of each group into the story whose first article was fetched earliest.

    Return the remaining story for each story, and the changes of articles that the caller has to write.
    """
    several = [root for roots in groups if len(roots) > 1 for root in roots]
    steps: list[Document] = [
        {"$match": {"story": strings(*several)}},
        {"$group": {"_id": "$story", "first": {"$min": {"$ifNull": ["$fetched", _LATE]}}}},
    ]
    rows = database["articles"].aggregate(steps, session=session) if several else ()
    first = {row["_id"]: row["first"] for row in rows}
    redirects: list[UpdateOne | UpdateMany] = []
    changes: list[UpdateMany] = []
    found: dict[str, str] = {}
    for roots in groups:
        winner = min(roots, key=lambda root: (first.get(root, _LATE + 1), root))
        found |= dict.fromkeys(roots, winner)
        into = {"$set": {"into": winner}}
        # ``times`` changes the document in every join, so that joins at the same time conflict.
        redirects += [UpdateOne({"_id": root}, into | {"$inc": {"times": 1}}, upsert=True) for root in roots]
        if rest := sorted(roots - {winner}):
            redirects.append(UpdateMany({"into": {"$in": rest}}, into))
            changes.append(UpdateMany({"story": strings(*rest)}, {"$set": {"story": winner}}))
    database["joined"].bulk_write(redirects, session=session)
    return found, changes


# --- changes and articles
NUMBER = "change"
"""The field with the number of the last change. If it is missing or None, the change has no number yet."""
UNNUMBERED: Document = {NUMBER: ""}
"""The argument of ``$unset`` in an update of an article. It removes the number, so that the change gets a new
number."""
_COUNTER = "changes"
_NUMBERED_AT_ONCE = 500
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
    # A user without the right to write reads only the numbered changes.
    with suppress(DataUnavailable), server.readable():
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
        if room := _NUMBERED_AT_ONCE - len(chosen):
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


_AT_ONCE = 100
_RETRY_GROUP_SECONDS = 0.1
"""Number of seconds for which a transaction with several new articles is tried again if it conflicts."""
_ORIGIN = (
    *("published_at", "published_source", "published_precision", "moment", "finer"),
    *("authors", "extraction"),
)
_ANSWER = {"canonical_url": 1, "version": 1}


class _Taken(Exception):
    """Raised to roll back the transaction, which has already recorded the text as the article's own.

    ``stored`` is the result for the caller.
    """

    def __init__(self, stored: Stored) -> None:
        super().__init__(stored.canonical_url)
        self.stored = stored


class MongoArticles(Repository, Articles):
    """:class:`newsbot.storage.articles.Articles` in MongoDB."""

    def store(self, article: Article, over: str | None = None, peers: Sequence[str] = ()) -> Stored:
        try:
            return self.server.transact(partial(_store, self.database, article, over, peers))
        except _Taken as taken:
            return taken.stored

    def store_new(
        self, articles: Sequence[Article], peers: Sequence[Sequence[str]] = ()
    ) -> list[Stored | None]:
        given: dict[int, Document] = {}
        for number, article in enumerate(articles):
            with suppress(Exception):  # the caller then calls :meth:`store`, which raises the error
                given[number] = to_document(article) | {"version": 1}
        plain = may_be_plain(list(given.values()))
        chosen = {
            number: one for (number, one), is_plain in zip(given.items(), plain, strict=True) if is_plain
        }
        resembling = {one["_id"]: peers[number] for number, one in chosen.items()} if peers else {}
        stored: dict[bytes, Joined | None] = {}
        try:
            with self.server.readable() as database:
                stored = self._insert(database, list(chosen.values()), resembling)
        except (DataUnavailable, DataFull):
            raise
        except DataError:
            pass  # each article is stored alone
        results: list[Stored | None] = [None] * len(articles)
        for number, one in chosen.items():
            if one["_id"] in stored:
                results[number] = Stored(Verdict.NEW, one["canonical_url"], 1, stored[one["_id"]])
        return results

    def _insert(
        self, database: Collections, documents: list[Document], peers: Mapping[bytes, Sequence[str]]
    ) -> dict[bytes, Joined | None]:
        """Insert the articles that are new. Return their keys with the results of joining.

        Nearly always, all articles are new, so known articles are looked up only after an insertion failed.
        """
        for again in (False, True):
            if not documents:
                break
            try:
                work = partial(_insert_new, database, documents, peers)
                return self.server.transact(work, _RETRY_GROUP_SECONDS)
            except BulkWriteError as error:
                if again or not all_duplicates(error):
                    raise
            # If there is only one article, it is the known article, and nothing is left to insert.
            documents = _unknown(database, documents) if len(documents) > 1 else []
        return {}

    def readdress(self, canonical_url: str, content_hash: str, to: str, fetched: str | None = None) -> bool:
        old, new = clean(canonical_url), clean(to)
        work = partial(
            _readdress, self.database, old, clean(content_hash), new, fetched=fetched and clean(fetched)
        )
        return self.server.transact(work)

    def get_many(self, canonical_urls: Sequence[str]) -> dict[str, Article]:
        keys = {url: fingerprint(clean(url)) for url in canonical_urls}
        found = articles_by_key(self.shown, list(keys.values()))
        missing = [key for key in keys.values() if key not in found]
        aliases = list(self.shown["aliases"].find({"_id": {"$in": missing}})) if missing else []
        named = articles_by_key(self.shown, [one["article"] for one in aliases]) if aliases else {}
        # An alias whose article was removed in the meantime is left out.
        found |= {one["_id"]: named[one["article"]] for one in aliases if one["article"] in named}
        return {url: found[key] for url, key in keys.items() if key in found}

    def known(self, keys: Sequence[bytes]) -> set[bytes]:
        return {key for name in ("articles", "aliases") for key in _keys_in(self.database, name, keys)}

    def with_keys(self, keys: Sequence[bytes]) -> dict[bytes, Article]:
        return articles_by_key(self.database, keys)

    def save_rights(self, canonical_url: str, rights: Mapping[str, str]) -> None:
        self.database["articles"].update_one(
            {"_id": fingerprint(clean(canonical_url))},
            {"$set": {"rights": harmless(dict(rights))}, "$unset": UNNUMBERED},
        )

    def save_origin(self, article: Article) -> None:
        document = to_document(article)
        origin = {name: document[name] for name in _ORIGIN if name in document}
        self.database["articles"].update_one(
            {"_id": document["_id"], "content_hash": document["content_hash"]},
            {"$set": origin, "$unset": UNNUMBERED},
        )

    def versions(self, canonical_url: str) -> list[Article]:
        key = fingerprint(clean(canonical_url))
        present = self.shown["articles"].find_one({"_id": key})
        if present is None:
            return []
        # versions() reads without a transaction. The upper bound leaves out a version that another worker
        # has archived since ``present`` was read.
        bounds = {"$gte": version_key(key, 0), "$lt": version_key(key, present["version"])}
        earlier = self.shown["versions"].find({"_id": bounds}).sort("_id", 1)
        return [*map(from_document, earlier), from_document(present)]

    def iter(self, where: ArticleFilter | None = None) -> Iterator[Article]:
        return self.server.streamed(self._batches(where))

    def newest(self, where: ArticleFilter | None = None, *, limit: int) -> list[Article]:
        if limit <= 0:
            return []
        found = self.shown["articles"].find(conditions(current(self.shown, where)))
        newest = found.sort({"moment": -1, "_id": -1}).limit(limit).max_time_ms(self.server.patience)
        return [from_document(one) for one in newest]

    def count(self, where: ArticleFilter | None = None) -> int:
        if where is not None and where.posts is False:  # posts have an index
            return self.count(replace(where, posts=None)) - self.count(replace(where, posts=True))
        query = conditions(current(self.shown, where))
        if not query:  # counting entries of the index is faster than reading documents
            return self.shown["articles"].count_documents({}, hint="_id_")
        return self.shown["articles"].count_documents(query)

    def changes_since(self, cursor: str = "", limit: int = 500) -> Changes:
        return since(self.server, cursor, limit)

    def end_of_changes(self) -> str:
        numbering = all_numbered(self.server)
        return numbering.cursor(numbering.last)

    def changes_after(self, cursor: str) -> int:
        return all_numbered(self.server).after(cursor)

    def _batches(self, where: ArticleFilter | None) -> Iterator[list[Article]]:
        """Yield the matching articles in batches.

        All keys are read at the start (16 bytes for each article), so that writes during the stream do not
        change its order. Articles that are deleted during the stream are left out.
        """
        database = self.shown
        asked = conditions(current(database, where))
        chosen = bytearray()
        for found in database["articles"].find(asked, {"_id": 1}).sort({"fetched": 1, "_id": 1}):
            chosen += found["_id"]
        every = (bytes(chosen[place : place + KEY]) for place in range(0, len(chosen), KEY))
        for keys in batched(every, _AT_ONCE):
            batch = articles_by_key(database, keys)
            yield [batch[key] for key in keys if key in batch]


class MongoTexts(Repository, Texts):
    """:class:`newsbot.storage.articles.Texts` in MongoDB."""

    def owners(self, texts: Sequence[SiteText]) -> dict[SiteText, str]:
        keys = {text: text_key(*text) for text in texts}
        asked = {"_id": {"$in": list(keys.values())}}
        owned = {one["_id"]: one["article"] for one in self.database["texts"].find(asked)}
        asked, wanted = {"_id": {"$in": list(owned.values())}}, {"canonical_url": 1}
        owners = self.database["articles"].find(asked, wanted) if owned else ()
        urls = {one["_id"]: str(one["canonical_url"]) for one in owners}
        # The article of a text may have been deleted in the meantime.
        return {text: urls[owned[key]] for text, key in keys.items() if owned.get(key) in urls}

    def repeated(self, *, least: int = 10, limit: int = 100) -> list[RepeatedText]:
        if limit <= 0:
            return []
        counted: list[Document] = [
            {"$group": {"_id": "$article", "others": {"$sum": 1}}},
            # ``least`` counts the canonical URL too
            {"$match": {"others": {"$gte": least - 1}}},
            {"$sort": {"others": -1, "_id": 1}},
            {"$limit": limit},
        ]
        options: Document = {"allowDiskUse": True, "maxTimeMS": self.server.patience}
        aliases, articles = self.shown["aliases"], self.shown["articles"]
        others = {row["_id"]: int(row["others"]) for row in aliases.aggregate(counted, **options)}
        # The limit was applied before this step, so fewer than ``limit`` texts can remain.
        for row in aliases.aggregate(_outgrown(list(others)), **options):
            others[row["_id"]] -= int(row["gone"])
        others = {key: number for key, number in others.items() if number >= least - 1}
        kept = articles.find({"_id": {"$in": list(others)}}, {"source": 1, "canonical_url": 1})
        found = [RepeatedText(one["source"], one["canonical_url"], others[one["_id"]] + 1) for one in kept]
        return sorted(found, key=lambda one: (-one.urls, one.canonical_url))


def _store(
    database: Collections, article: Article, over: str | None, peers: Sequence[str], session: Session
) -> Stored:
    """Store an article in a transaction. Raises :class:`_Taken` if the verdict is that the URL is taken.

    The article is inserted before the decision, so that a new article takes only three round trips: its text
    is recorded, the article is inserted unless its URL exists, and the transaction is committed.
    :class:`_Taken` undoes the insertion.
    """
    given = to_document(article) | {"version": 1}
    key, articles = given["_id"], database["articles"]
    # The text comes first, so that two workers with the same text conflict before one of them inserts its
    # article.
    owner, led_to = _claim_text(database, session, given), None
    if owner is not None:
        # No article is inserted, because the text is known. ``own`` is needed for the decision.
        own = articles.find_one({"_id": key}, session=session)
    else:
        # The result is the document before the update. It is None if this call has inserted the article.
        own = articles.find_one_and_update(
            {"_id": key}, {"$setOnInsert": given}, upsert=True, session=session
        )
        if own is None and names_another_page(given):
            led_to = _led_to(database, session, key)
    decision = decide(given, own, owner, led_to, over)
    if decision.verdict is Verdict.TAKEN:
        raise _Taken(decision.stored)
    if decision.verdict is Verdict.UPDATED and own is not None:
        _update(database, session, given | {"version": decision.version}, own)
    if aliases := [_leading(address, decision.of["_id"]) for address in decision.addresses]:
        database["aliases"].bulk_write(aliases, session=session)
    if not peers:
        return decision.stored
    group = [given["canonical_url"], decision.stored.canonical_url, *peers]
    return replace(decision.stored, joined=join_all(database, [group], session)[0])


def _insert_new(
    database: Collections, documents: list[Document], peers: Mapping[bytes, Sequence[str]], session: Session
) -> dict[bytes, Joined | None]:
    """Insert articles with their texts and aliases, and join their stories with the stories of their peers.

    Return their keys with the results of joining. Must run in a transaction. Raises ``BulkWriteError`` if a
    URL or a text is known. An article is left out if its URL is an alias that :func:`decide` would consider.
    """
    if elsewhere := [one["_id"] for one in documents if names_another_page(one)]:
        led_to = _keys_in(database, "aliases", elsewhere, session)
        documents = [one for one in documents if one["_id"] not in led_to]
    claims = [{"_id": _text_of(one), "article": one["_id"]} for one in documents if one["content_hash"]]
    if claims:
        # a duplicate key here means that a text is known
        database["texts"].insert_many(claims, session=session)
    if documents:
        database["articles"].insert_many(documents, session=session)
    if aliases := [_leading(url, one["_id"]) for one in documents for url in fetched_address(one)]:
        database["aliases"].bulk_write(aliases, session=session)
    groups = {
        one["_id"]: [one["canonical_url"], *peers[one["_id"]]] for one in documents if peers.get(one["_id"])
    }
    joined = join_all(database, list(groups.values()), session) if groups else []
    return dict.fromkeys(one["_id"] for one in documents) | dict(zip(groups, joined, strict=True))


def _leading(address: str, article: bytes) -> UpdateOne:
    """Return the operation that makes a URL an alias of the article with this key."""
    leads = {"$set": {"article": article, "url": address}}
    return UpdateOne({"_id": fingerprint(address)}, leads, upsert=True)


def _unknown(database: Collections, documents: list[Document]) -> list[Document]:
    """Return the articles whose URL and text are both unknown."""
    known: set[Any] = _keys_in(database, "articles", [one["_id"] for one in documents])
    known |= _keys_in(database, "texts", [_text_of(one) for one in documents])
    return [one for one in documents if known.isdisjoint((one["_id"], _text_of(one)))]


def _text_of(document: Document) -> str:
    return text_key(document["source"], document["content_hash"])


def _keys_in(
    database: Collections, name: str, keys: Sequence[Any], session: Session | None = None
) -> set[Any]:
    """Return the keys that exist in the collection ``name``."""
    found = database[name].find({"_id": {"$in": list(keys)}}, {"_id": 1}, session=session)
    return {one["_id"] for one in found}


def _claim_text(database: Collections, session: Session, given: Document) -> Document | None:
    """Record the text as the article's own, unless another article of the site has, or once had, this text.

    Returns the other article, or None if there is no such article.
    """
    if not given["content_hash"]:
        return None
    text = database["texts"].find_one_and_update(
        {"_id": text_key(given["source"], given["content_hash"])},
        {"$setOnInsert": {"article": given["_id"]}},
        upsert=True,
        session=session,
    )
    # The result is the document before the upsert. None means that the text was unknown and is recorded now.
    if text is None or text["article"] == given["_id"]:
        return None
    return database["articles"].find_one({"_id": text["article"]}, _ANSWER, session=session)


def _led_to(database: Collections, session: Session, key: bytes) -> Document | None:
    alias = database["aliases"].find_one({"_id": key}, session=session)
    return alias and database["articles"].find_one({"_id": alias["article"]}, _ANSWER, session=session)


def _update(database: Collections, session: Session, given: Document, own: Document) -> None:
    key, version = own["_id"], given["version"]
    database["versions"].insert_one(own | {"_id": version_key(key, own["version"])}, session=session)
    if version > MAX_VERSIONS + 1:  # keep version 1 and the latest versions: some pages change often
        oldest = {"$gt": version_key(key, 1), "$lte": version_key(key, version - MAX_VERSIONS)}
        database["versions"].delete_many({"_id": oldest}, session=session)
    given |= {name: own[name] for name in KEPT}
    if own["discovered_at"] is not None:  # keep the time of the first discovery
        given["discovered_at"] = own["discovered_at"]
        # The microseconds of "discovered_at" are taken from the stored article, like the time itself.
        finer = {name: more for name, more in given.pop("finer", {}).items() if name != "discovered_at"}
        if "discovered_at" in own.get("finer", {}):
            finer["discovered_at"] = own["finer"]["discovered_at"]
        if finer:
            given["finer"] = finer
    database["articles"].replace_one({"_id": key}, given, session=session)


def _readdress(
    database: Collections, old: str, content_hash: str, new: str, session: Session, *, fetched: str | None
) -> bool:
    """Change the URL of an article. Its ``_id`` depends on the URL, so it is deleted and inserted again."""
    before, after = fingerprint(old), fingerprint(new)
    articles, aliases = database["articles"], database["aliases"]
    own = articles.find_one({"_id": before, "content_hash": content_hash}, session=session)
    if own is None:
        return False
    if after != before and articles.find_one({"_id": after}, {"_id": 1}, session=session) is not None:
        return False
    articles.delete_one({"_id": before}, session=session)
    # The change number is cleared, so that the article under its new URL counts as a change.
    moved = own | {"_id": after, "canonical_url": new, NUMBER: None, "url": fetched or own["url"]}
    if fetched is not None:
        moved["extraction"] = {key: how for key, how in own.get("extraction", {}).items() if key != FETCHED}
    articles.insert_one(moved, session=session)
    if after != before:
        note_removed(database, [before], session)
    texts = _move_versions(database, session, own, after, new)
    database["texts"].update_many(
        {"_id": {"$in": texts}, "article": before}, {"$set": {"article": after}}, session=session
    )
    # The new URL now has an article, so it cannot be an alias. The old URL is free for another article.
    aliases.delete_many({"_id": {"$in": [before, after]}}, session=session)
    aliases.update_many({"article": before}, {"$set": {"article": after}}, session=session)
    articles.update_many({"duplicate_of": strings(old)}, {"$set": {"duplicate_of": new}}, session=session)
    # "$[one]" are the elements of the list that are equal to the old URL.
    of_old, to_new = {"derived_from": strings(old)}, {"$set": {"derived_from.$[one]": new}}
    articles.update_many(of_old, to_new, array_filters=[{"one": old}], session=session)
    if after != before:
        _move_story(database, session, story_id(old), story_id(new))
    return True


def _move_versions(
    database: Collections, session: Session, own: Document, after: bytes, url: str
) -> list[str]:
    """Move the earlier versions to the new key. Return the keys of all texts that the article has or had."""
    asked = all_versions(own["_id"])
    kept = list(database["versions"].find(asked, session=session))
    if kept:
        database["versions"].delete_many(asked, session=session)
        # The key of a version is the key of its article and the number of the version.
        moved = [one | {"_id": after + one["_id"][KEY:], "canonical_url": url} for one in kept]
        database["versions"].insert_many(moved, session=session)
    return texts_had(database, session, own, kept)


def texts_had(database: Collections, session: Session, own: Document, kept: list[Document]) -> list[str]:
    """Return the keys of all texts that an article has or had.

    ``own`` is the article. ``kept`` has its earlier versions that are still stored.
    """
    texts = [text_key(own["source"], one["content_hash"]) for one in (own, *kept)]
    if len(kept) < own["version"] - 1:  # only ``texts`` still has the keys of deleted versions
        asked = {"_id": texts_of_site(own["source"]), "article": own["_id"]}
        texts += [str(text["_id"]) for text in database["texts"].find(asked, {"_id": 1}, session=session)]
    return texts


def _move_story(database: Collections, session: Session, old: str, new: str) -> None:
    """Rename the story whose id was made from the old URL.

    Another article may get the old URL later, and would begin a story with the same id.
    """
    joined = database["joined"]
    redirect = joined.find_one({"_id": new}, session=session)
    target = readdressed_story(old, new, redirect["into"] if redirect else None)
    joined.delete_many({"_id": {"$in": [old, target]}}, session=session)
    joined.update_many({"into": old}, {"$set": {"into": target}}, session=session)
    database["articles"].update_many({"story": strings(old)}, {"$set": {"story": target}}, session=session)


def _outgrown(articles: list[bytes]) -> list[Document]:
    """Return a pipeline that counts, for each article, the aliases that have become articles themselves.

    Storing an article does not delete its old alias, because that would take one more round trip for each new
    article.
    """
    itself = {"from": "articles", "localField": "_id", "foreignField": "_id", "as": "own"}
    return [
        {"$match": {"article": {"$in": articles}}},
        {"$lookup": {**itself, "pipeline": [{"$project": {"_id": 1}}]}},
        {"$match": {"own": {"$ne": []}}},
        {"$group": {"_id": "$article", "gone": {"$sum": 1}}},
    ]
