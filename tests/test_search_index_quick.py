"""The quick ways of the word index give what the long ways give."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from newsbot.connections.sqlite import open_database, transaction
from newsbot.search.index.indexer import Indexer
from newsbot.search.index.layout import Bucket, BucketWriter
from newsbot.search.index.postings import Postings, gathered, postings_of, repeated
from newsbot.search.index.searching import Found, WordIndex, asked_of
from newsbot.search.index.segments import Segment
from newsbot.search.query import parse
from newsbot.storage.sqlite.schema import MIGRATIONS
from newsbot.storage.sqlite.words import SqliteBlocks, add
from tests.wordmodel import WORDS, make_entries, make_queries

seeds = st.integers(min_value=0, max_value=2**32)


def _told(postings: Postings) -> dict[bytes, list[tuple[int, int, list[int]]]]:
    """Of each term the articles, its weight there, and where it stands."""
    found: dict[bytes, list[tuple[int, int, list[int]]]] = {}
    place = 0
    rows = zip(postings.term, postings.doc, postings.weight, postings.count, strict=True)
    for term, doc, weight, count in rows:
        positions = postings.position[place : place + int(count)].tolist()
        found.setdefault(postings.terms[term], []).append((int(doc), int(weight), positions))
        place += int(count)
    return found


_TERMS = [*WORDS[:5], WORDS[39], "w", "\x01ssite1.org", "\x01lru", "\x01l", "\x01aw0", "\x01aw2"]


@settings(deadline=None)
@given(seeds, st.frozensets(st.sampled_from(_TERMS)))
def test_postings_of_some_terms_are_those_among_all(seed: int, only: frozenset[str]) -> None:
    entries = make_entries(seed, 12)
    everything = _told(postings_of(entries))
    wanted = {name: all_ for name, all_ in everything.items() if name.decode() in only}
    assert _told(postings_of(entries, only)) == wanted


@given(st.lists(st.tuples(st.integers(0, 0xFFFF), st.integers(1, 5))), st.randoms())
def test_runs_are_repeated_and_put_in_order_as_numpy_does(
    runs: list[tuple[int, int]], chance: Random
) -> None:
    values = np.array(sorted(value for value, _ in runs), np.uint16)
    counts = np.array([count for _, count in runs], np.uint8)
    assert repeated(values, counts).tolist() == np.repeat(values, counts).tolist()
    every = np.arange(int(counts.sum()))
    order = np.array(chance.sample(range(len(runs)), chance.randint(0, len(runs))), np.int64)
    parts = np.split(every, np.cumsum(counts)[:-1])
    assert gathered(every, counts, order).tolist() == [
        one for place in order for one in parts[place].tolist()
    ]


@settings(deadline=None)
@given(seeds)
def test_a_term_is_found_in_its_bucket_whatever_stands_beside_it(seed: int) -> None:
    postings = postings_of(make_entries(seed, 5))
    segment = Segment(1, 5, 1, 0, 0, 0)
    body = BucketWriter(segment).blocks(postings, [0])[segment.block(segment.first_bucket)]
    bucket = Bucket(body)
    assert bucket.names() == postings.terms
    assert [bucket.find(name) for name in postings.terms] == [*range(len(postings.terms))]
    absent = {b"w", b"W0", b"0", b"\x01", b"", postings.terms[0] + b"x", b"\n".join(postings.terms[:2])}
    assert [bucket.find(name) for name in absent - {*postings.terms}] == [None] * len(absent)


@settings(max_examples=25, deadline=None)
@given(seeds, st.integers(1, 40), st.sampled_from([17, 40, 90]))
def test_a_page_is_the_beginning_of_what_is_found_without_any_bound(seed: int, limit: int, each: int) -> None:
    entries = make_entries(seed, 200)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "newsbot.db"
        with closing(open_database(path, component="storage", migrations=MIGRATIONS)) as database:
            store = SqliteBlocks(database, path)
            for start in range(0, 180, each):
                with transaction(database):
                    for entry in entries[start : start + each]:
                        add(database, entry)
                Indexer(store).run(all_of_it=True)
            for query in make_queries(seed, 8):
                for by_time in (False, True):
                    page, every = (_found(store, query, most, by_time=by_time) for most in (limit, 10_000))
                    assert page == every[: len(page)], query
                    assert len(page) >= min(limit, len(every))


def _found(store: SqliteBlocks, query: str, limit: int, *, by_time: bool) -> list[Found]:
    """The first part: articles that nobody changed are all there."""
    return next(WordIndex(store).find(asked_of(parse(query), None), limit=limit, by_time=by_time))
