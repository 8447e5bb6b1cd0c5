"""Full text over stems, by an ordinary index on an array.

MongoDB's own text index stems by the language of each document, knows no phrases of stems and took
more time and room (docs/scaling.md has the figures); this one finds the same as the embedded file.
Ranking is BM25 (Robertson and Zaragoza, The Probabilistic Relevance Framework, 2009) with the usual
constants and one fixed typical length, computed in the server for the newest
:data:`MAX_RANKED` articles that match: of a word that more articles have, older ones are not ranked.
"""

from __future__ import annotations

import math
import re
from typing import Any

from newsbot.storage.base import ArticleFilter, Hit
from newsbot.storage.mongo.articles import by_key
from newsbot.storage.mongo.connection import Collections, Document
from newsbot.storage.mongo.documents import conditions
from newsbot.storage.mongo.words import phrase
from newsbot.storage.query import Query, Term, parse
from newsbot.storage.records import clean
from newsbot.storage.snippet import snippet

MAX_RANKED = 10_000
_MAX_COUNTED = 20_000  # articles with a word are counted so far: rarer words weigh more
_TITLE_WEIGHT = 4.0
_K1, _B = 1.2, 0.75
_TYPICAL = 300.0  # words
_FILTERED = ("source", "language")
_BY_STEM = {"stems": 1, "moment": -1}
_BY_MOMENT = {"moment": -1, "_id": -1}


def search(
    database: Collections,
    text: str,
    where: ArticleFilter | None,
    *,
    limit: int,
    by_time: bool,
    patience: int,
) -> list[Hit]:
    """Return what :meth:`newsbot.storage.base.Storage.search` promises; ``patience`` in milliseconds."""
    query = parse(text)
    if limit <= 0:
        return []
    if query.wanted:
        rows = _matching(database, query, where, limit, by_time=by_time, patience=patience)
    elif query.unwanted:
        chosen = database["words"].find(_of_words(database, query, where), {"_id": 1}, hint=_BY_MOMENT)
        rows = list(chosen.sort(_BY_MOMENT).limit(limit).max_time_ms(patience))
    elif query.blank:
        newest = database["articles"].find(conditions(where), {"_id": 1}).sort(_BY_MOMENT)
        rows = list(newest.limit(limit).max_time_ms(patience))
    else:
        return []
    scores = {row["_id"]: float(row.get("score", 0.0)) for row in rows}
    found = by_key(database, list(scores))
    return [
        Hit(found[key], snippet(found[key].title, found[key].text, query.stems), score)
        for key, score in scores.items()
        if key in found
    ]


def _matching(
    database: Collections,
    query: Query,
    where: ArticleFilter | None,
    limit: int,
    *,
    by_time: bool,
    patience: int,
) -> list[Document]:
    match: Document = {"$match": _of_words(database, query, where)}
    newest: list[Document] = [match, {"$sort": {"moment": -1}}, {"$limit": limit if by_time else MAX_RANKED}]
    rank: list[Document] = [{"$project": {"moment": 1, "score": _score(database, query)}}]
    best: list[Document] = [] if by_time else [{"$sort": {"score": -1, "moment": -1}}, {"$limit": limit}]
    return list(database["words"].aggregate([*newest, *rank, *best], hint=_BY_STEM, maxTimeMS=patience))


def _of_words(database: Collections, query: Query, where: ArticleFilter | None) -> Document:
    """The query of documents of ``words``."""
    found = conditions(where, _FILTERED)
    if where is not None and where.story is not None:  # stories change without the words
        members = database["articles"].find({"story": clean(where.story)}, {"_id": 1})
        found["_id"] = {"$in": [member["_id"] for member in members]}
    wanted = [test for term in query.wanted for test in _tests(term)]
    if wanted:
        found["$and"] = wanted
    if query.unwanted:
        found["$nor"] = [{"$and": _tests(term)} for term in query.unwanted]
    return found


def _tests(term: Term) -> list[Document]:
    """The conditions of one term: its words by the index, then their order or place by comparison."""
    tests: list[Document] = [{"stems": {"$in": list(options)}} for options in term.words]
    if term.in_title or len(term.words) > 1:
        patterns = [re.escape(phrase(words)) for words in term.phrases()]
        fields = ("title",) if term.in_title else ("title", "text")
        tests.append({"$or": [{field: {"$regex": one}} for field in fields for one in patterns]})
    return tests


def _score(database: Collections, query: Query) -> Any:
    """The expression of BM25; each way to write a term counts for itself, as in the embedded file."""
    total = database["words"].estimated_document_count()
    length = {"$add": [_K1 * (1 - _B), {"$multiply": [_K1 * _B / _TYPICAL, "$length"]}]}
    known: dict[str, int] = {}
    parts = []
    for term in query.wanted:
        for words in term.phrases():
            having = min(_having_all(database, words, known), total)
            rareness = math.log(1 + (total - having + 0.5) / (having + 0.5))
            often = [_times(words, "title", _TITLE_WEIGHT)]
            if not term.in_title:
                often.append(_times(words, "text", 1.0))
            part = {"$divide": ["$$often", {"$add": ["$$often", length]}]}
            weighed = {"$multiply": [rareness * (_K1 + 1), part]}
            parts.append({"$let": {"vars": {"often": {"$add": often}}, "in": weighed}})
    return {"$add": parts}


def _times(words: tuple[str, ...], field: str, weight: float) -> Any:
    """How often a run of stems stands in a field, times ``weight``."""
    pieces = {"$size": {"$split": [f"${field}", phrase(words)]}}
    return {"$multiply": [weight, {"$subtract": [pieces, 1]}]}


def _having_all(database: Collections, words: tuple[str, ...], known: dict[str, int]) -> int:
    """How many articles have the rarest of these stems; ``known`` are those counted before."""
    for word in words:
        if word not in known:
            asked = {"stems": word}
            known[word] = database["words"].count_documents(asked, limit=_MAX_COUNTED, hint=_BY_STEM)
    return min(known[word] for word in words)
