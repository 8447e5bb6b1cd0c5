"""Full text in MongoDB; see :mod:`newsbot.search.index`."""

from __future__ import annotations

from collections.abc import Sequence

from newsbot.connections.mongo import Collections
from newsbot.items import Article
from newsbot.search.index.answering import answer
from newsbot.search.index.entry import Entry, entry_of
from newsbot.search.index.searching import WordIndex
from newsbot.search.query import ArticleFilter, Hit
from newsbot.search.snippets import snippet
from newsbot.storage.mongo.articles import by_key
from newsbot.storage.mongo.documents import conditions, from_document
from newsbot.storage.mongo.stories import current
from newsbot.text.words import clean


def search(
    database: Collections,
    index: WordIndex,
    text: str,
    where: ArticleFilter | None,
    *,
    limit: int,
    by_time: bool,
    patience: int,
) -> list[Hit]:
    """Return what :meth:`newsbot.storage.base.Storage.search` promises; ``patience`` in milliseconds."""

    def load(keys: Sequence[bytes]) -> dict[bytes, Article]:
        return by_key(database, keys)

    def members(story: str) -> list[Entry]:
        found = database["articles"].find({"story": clean(story)}).max_time_ms(patience)
        return [entry_of(from_document(one), one["_id"], one["version"]) for one in found]

    where = current(database, where)
    hits = answer(index, text, where, limit=limit, by_time=by_time, load=load, members=members)
    return _newest(database, where, limit, patience) if hits is None else hits


def _newest(database: Collections, where: ArticleFilter | None, limit: int, patience: int) -> list[Hit]:
    found = database["articles"].find(conditions(where)).sort({"moment": -1, "_id": -1})
    articles = map(from_document, found.limit(limit).max_time_ms(patience))
    return [Hit(article, snippet(article.title, article.text, frozenset()), 0.0) for article in articles]
