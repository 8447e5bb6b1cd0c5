"""For queries of an analyst, the first hits are the articles that a person would choose."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from newsbot.apps.search.articles import ArticleSearch
from newsbot.storage.base import Storage
from tests.contracts.newsroom import ARTICLES, REGIONAL, articles

QUERIES: tuple[tuple[str, set[str] | list[str], int | None], ...] = (
    # words: articles that have them in the headline come before those that name them once
    ("bridge", {"en-bridge", "en-toll"}, None),
    ("Brücke", {"de-bruecke", "de-maut"}, None),
    ("мост", {"ru-most", "ru-plata"}, None),
    ("bridge toll", ["en-toll"], 1),
    ("Brücke Maut", ["de-maut"], 1),
    ("мост плата", ["ru-plata"], 1),
    ("Donau", {"de-bruecke", "de-hochwasser"}, 2),
    ("Волга", {"ru-most", "ru-pavodok"}, 2),
    # stems, by the language of the article
    ("libraries", ["en-library"], 1),
    ("runner", ["en-marathon"], 1),
    ("strikes", {"en-rail", "en-oil"}, 2),
    ("Haus", {"de-wohnungen", "de-hochwasser"}, 2),
    ("Bibliothek", ["de-bibliothek"], 1),
    ("нефти", ["ru-neft"], 1),
    ("МАСКАМИ", ["ru-maski"], 1),
    ("елка", ["ru-elka"], 1),
    ("машинистом", ["ru-zabastovka"], 1),
    ("Brucke Maut", ["de-maut"], 1),
    # phrases
    ('"town hall"', ["en-library"], 1),
    ('"hall town"', [], 0),
    ('"проезд по мосту"', ["ru-plata"], 1),
    ("„neue Brücke“", ["de-bruecke"], 1),
    ("covid-19", {"en-vaccine", "ru-maski"}, 2),
    # operators
    ("toll OR tunnel", {"en-toll", "en-tunnel"}, 2),
    ("(toll OR tunnel) -protest", ["en-tunnel"], 1),
    ("strike NOT oil", ["en-rail"], 1),
    ("марафон OR marathon", {"ru-marafon", "en-marathon"}, 2),
    ("Häuser -Donau", ["de-wohnungen"], 1),
    # beginnings of words
    ("строит*", ["ru-stroiteli", "ru-most"], 2),
    ("build*", ["en-builders", "en-bridge"], 2),
    ("bibliothe*", ["de-bibliothek"], 1),
    # fields
    ("title:strike", {"en-rail", "en-oil"}, 2),
    ("title:дома", [], 0),
    ("author:smith", {"en-bridge", "en-tunnel", "en-library"}, 3),
    ('author:"пётр ким" волга', ["ru-pavodok"], 1),
    # sites, languages, tags
    ("site:volga.example мост", ["ru-plata"], None),
    ("lang:de streik OR lang:en strike", {"de-streik", "en-rail", "en-oil"}, 3),
    ("tag:regional (strike OR tunnel OR Maut OR паводок)", {"en-tunnel", "de-maut", "ru-pavodok"}, 3),
    # dates
    ("since:2024-05-07 until:2024-05-08 (strike OR streik)", {"en-rail", "de-streik"}, 2),
    ("забастовка until:2024-05-07", [], 0),
    ("since:7d", {"en-fresh", "de-fresh", "ru-fresh"}, 3),
    ("маяк OR lighthouse since:yesterday", {"ru-fresh", "en-fresh"}, 2),
    # a story
    ("new bridge Tame", ["en-bridge"], 1),  # without its copy
    ("story:opening", {"en-bridge", "en-bridge-copy"}, 2),
)  # fmt: skip
"""The query; the first hits, in this order (list) or in any order (set); the number of all hits, or None."""


def test_first_hits_are_those_that_a_person_would_choose(storage: Storage, tmp_path: Path) -> None:
    for one in articles():
        storage.articles.store(one)
    assert storage.articles.count() == ARTICLES
    assert len(QUERIES) >= 40

    def tagged(tag: str) -> list[str]:
        return list(REGIONAL) if tag == "regional" else []

    wrong = {}
    with closing(ArticleSearch(tmp_path / "search.db", storage.articles, tagged)) as search:
        for query, expected, number in QUERIES:
            hits = search.find(query, limit=ARTICLES, by_time=False, patience=60.0)
            names = [hit.article.canonical_url.rsplit("/", 1)[1] for hit in hits]
            first = names[: len(expected)]
            same = first == expected if isinstance(expected, list) else set(first) == expected
            if not same or (number is not None and len(names) != number):
                wrong[query] = (expected, number, names[: len(expected) + 3], len(names))
    assert wrong == {}


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("мост xyzzy", "xyzzy"),
        ("colour:bridge", "colour: is not a field"),
        ("bridge since:soon", "since:soon: is not a date"),
        ('"town hall', "a quote was not closed"),
    ],
)
def test_a_wrong_query_gets_a_note_with_the_reason(
    storage: Storage, tmp_path: Path, query: str, reason: str
) -> None:
    for one in articles():
        if not one.canonical_url.rsplit("/", 1)[1].startswith("noise"):
            storage.articles.store(one)
    with closing(ArticleSearch(tmp_path / "search.db", storage.articles)) as search:
        found = search.find(query, patience=60.0)
        notes = search.explain(query, found=bool(found))
    assert any(reason in note for note in notes), notes
