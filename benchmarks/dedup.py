"""How well and how fast newsbot finds copies of articles.

Reads real articles with labelled pairs from a folder with ``articles.jsonl.gz`` and ``pairs.jsonl``. The
label 2 means "same article", 1 means "derived", and 0 means neither. The benchmark prints these figures:

* F1 for "same article". There is one row for each method of deciding: the exact Jaccard similarity, the
  estimate from packed signatures, the answers of the index, and newsbot's final decision. This decision also
  compares what was replaced in the texts.
* F1 for "same or derived", where the covered share is used too. This is the share of the shorter text's words
  that are in passages of the longer text. For both F1, pairs were sampled from each tenth of similarity (0 to
  0.1, 0.1 to 0.2, …). The weight of a labelled pair is the number of all pairs in its tenth, divided by the
  number of labelled pairs in this tenth.
* recall of the index for similar pairs and for derived pairs, and the number of texts that the index returns
  per article
* the adjusted Rand index of two groupings of the articles into stories: one grouping uses the answers of the
  index, the other one uses the exact similarity
* how many pairs of different news items from one host become one story. One row is for labelled pairs.
  Another row is for generated pairs (weather, markets and sports results), which have the same words with
  other numbers.
* CPU time of the decisions per article, without the index and the signature
* CPU time to compute the signature of a text of 480 words, for newsbot and for two ways of using datasketch.
  It is the time of the fastest of several runs of 20 texts, so that a busy machine does not look like slow
  code.
* insertions per CPU second into the embedded index (mean, and in the fastest tenth of the time), and bytes
  per text

    python -m benchmarks.dedup [--data FOLDER] [--sizes 10000,100000] [--json]
    python -m benchmarks.dedup --redis 1000000 [--part 250000] [--json]
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from itertools import combinations
from math import comb
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
from datasketch import MinHash
from redis import Redis

from benchmarks.dedup_corpus import Corpus, Pair, load
from benchmarks.templates import TEMPLATES
from newsbot.apps.redis import index as near_redis
from newsbot.dedup.decision import COVERED, SAME_STORY, Change, Text, compare
from newsbot.dedup.index import Near, Signature, signature, similarities
from newsbot.dedup.sqlite import SqliteIndex
from newsbot.dedup.story_merge import place, without_bridges
from newsbot.items import Article, ArticleFilter
from newsbot.pages.text.words import tokens
from newsbot.storage.base import Storage
from newsbot.urls import host_key
from testbed.temporary import own_redis, redis_seconds

DATA = Path(__file__).parent.parent.parent / "shared" / "dedup"
WORDS = 480
STRETCH = 20  # texts
REFERENCE = 0.52  # the best threshold for exact similarity, as published with the data

Row = dict[str, Any]
T = TypeVar("T")


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument(
        "--sizes", default="10000,100000", help="numbers of texts in the index, comma-separated"
    )
    parser.add_argument("--redis", type=int, help="only an index in Redis with this number of texts")
    parser.add_argument(
        "--part", type=int, default=near_redis.PART_SIZE, help="texts in a part of this index"
    )
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    if arguments.redis:
        show(redis_speed(arguments.redis, arguments.part), json_wanted=arguments.json)
        return
    if not (arguments.data / "articles.jsonl.gz").exists():
        sys.exit(f"{arguments.data}: no articles.jsonl.gz there; name the folder with --data")
    corpus = load(arguments.data)
    rows = [*quality(corpus), *speed(corpus), *index_speed(map(int, arguments.sizes.split(",")))]
    show(rows, json_wanted=arguments.json)


def show(rows: list[Row], *, json_wanted: bool) -> None:
    """Print the rows."""
    if json_wanted:
        print(json.dumps(rows))
        return
    for row in rows:
        print(f"{row['what']:58} {row['how']:46} {row['value']:>8}")


# --- quality


def quality(corpus: Corpus) -> list[Row]:
    """Return F1, recall of the index, agreement of stories, and decisions on template texts."""
    packed = [signature(article["text"]).packed() for article in corpus.articles]
    estimate = {
        (one, other): float(similarities(packed[one], [packed[other]])[0]) for one, other in corpus.exact
    }
    near, contained, decided, stored, millis = index_answers(corpus)
    covered = covered_shares(corpus)
    rows = [row_of("decision, CPU ms per article", f"mean of {len(packed)} articles", round(millis, 3))]
    for language in ("all", "ru", "en"):
        labels = {
            pair: label
            for pair, label in corpus.labels.items()
            if language in ("all", corpus.articles[pair[0]]["lang"])
        }
        for how, says in (
            (f"exact J >= {REFERENCE}", {p for p, v in corpus.exact.items() if v >= REFERENCE}),
            (f"exact J >= {SAME_STORY}", {p for p, v in corpus.exact.items() if v >= SAME_STORY}),
            (f"estimate >= {SAME_STORY}", {p for p, v in estimate.items() if v >= SAME_STORY}),
            ("index (candidates, then estimate)", near),
            ("newsbot's decision", decided),
        ):
            value = weighted_f1(corpus.exact, labels, says)
            rows.append({"what": f"same article, F1, {language}", "how": how, "value": round(value, 4)})
        cut = at_least(covered, COVERED)
        for how, says in (
            (f"covered >= {COVERED}", cut),
            (f"covered >= {COVERED} or J >= {REFERENCE}", cut | at_least(corpus.exact, REFERENCE)),
            ("index, then covered", near | (contained & cut)),
            ("stored: one story, or derived_from", stored),
        ):
            value = weighted_f1(corpus.exact, labels, says, least=1)
            rows.append({"what": f"same or derived, F1, {language}", "how": how, "value": round(value, 4)})
    for border in (0.5, 0.6, 0.7, 0.8, 0.9):
        pairs = [pair for pair, value in corpus.exact.items() if value >= border]
        found = sum(pair in near for pair in pairs) / len(pairs)
        what = f"pairs of exact J >= {border} that the index returns"
        rows.append({"what": what, "how": f"of {len(pairs)} pairs", "value": round(found, 3)})
    for language in ("ru", "en"):
        pairs = [
            pair
            for pair in at_least(covered, COVERED)
            if corpus.exact[pair] < SAME_STORY and corpus.articles[pair[0]]["lang"] == language
        ]
        found = sum(pair in contained or pair in near for pair in pairs) / len(pairs)
        what = f"pairs covered >= {COVERED}, J < .5 that it returns, {language}"
        rows.append({"what": what, "how": f"of {len(pairs)} pairs", "value": round(found, 3)})
    read = len(near) + len(contained)
    rows.append(
        row_of("texts that the index returns per article", "read to decide", round(read / len(packed), 2))
    )
    for border in (SAME_STORY, REFERENCE):
        truth = components(len(corpus.articles), at_least(corpus.exact, border))
        for how, says in (("index", near), ("newsbot's decision", decided)):
            agreement = round(rand_index(components(len(corpus.articles), says), truth), 4)
            rows.append(
                row_of("stories, adjusted Rand index", f"{how} against exact J >= {border}", agreement)
            )
    return [*rows, *guard(corpus)]


def at_least(values: dict[Pair, float], border: float) -> set[Pair]:
    """Return the pairs with at least this similarity."""
    return {pair for pair, value in values.items() if value >= border}


class Newsroom:
    """The part of a storage that stories are decided with."""

    def __init__(self, articles: dict[str, Article]) -> None:
        self.articles, self._kept = self, articles

    def get(self, url: str) -> Article | None:
        """Return a stored article."""
        return self._kept.get(url)

    def iter(self, where: ArticleFilter) -> Iterator[Article]:
        """Yield the articles of a story."""
        return (one for one in self._kept.values() if one.story == where.story)


def covered_shares(corpus: Corpus) -> dict[Pair, float]:
    """Return the covered share of each pair that has some text in common."""
    texts = [Text(article) for article in articles_of(corpus)]
    return {pair: compare(texts[pair[0]], texts[pair[1]]).covered for pair in corpus.exact}


def articles_of(corpus: Corpus) -> list[Article]:
    """Return the articles as the crawl stores them. The last part of a URL is the number of the article."""
    return [
        article_of(number, host, article["text"], article["title"])
        for number, (host, article) in enumerate(zip(hosts_of(corpus), corpus.articles, strict=True))
    ]


def article_of(number: int, source: str, text: str, title: str = "") -> Article:
    """Return an article."""
    url = f"https://{source}/{number}"
    return Article(url=url, canonical_url=url, title=title, text=text, source=source)


def index_answers(corpus: Corpus) -> tuple[set[Pair], set[Pair], set[Pair], set[Pair], float]:
    """Return four sets of pairs of texts: similar texts, other near texts, texts that newsbot decides to put
    into one story, and texts that are stored in one story. The index returns the first two sets. The last set
    also has the pairs that are stored as derived. The articles are inserted and decided one after the other,
    as in a crawl. The last value is the CPU time of a decision in milliseconds.
    """
    found: set[Pair] = set()
    contained: set[Pair] = set()
    decided: set[Pair] = set()
    stored: set[Pair] = set()
    stories: list[int] = []
    articles = articles_of(corpus)
    seconds = 0.0
    with tempfile.TemporaryDirectory() as folder:
        index = SqliteIndex(Path(folder) / "newsbot.db")
        for number, article in enumerate(articles):
            near = index.check_and_insert(article.url, article.source, signature(article.text), 0.0)
            for one in near:
                (found if one.similarity >= SAME_STORY else contained).add((place_in(one.doc_id), number))
            kept = {one.doc_id: articles[place_in(one.doc_id)] for one in near}
            for other, story in zip(articles, stories, strict=False):
                other.story = str(story)
            start = time.process_time()
            decision = place(article, near, kept)
            seconds += time.process_time() - start
            if decision.peers:
                newsroom = Newsroom({other.url: other for other in articles[:number]})
                decision = without_bridges(cast("Storage", newsroom), article, decision, kept)
            peers = {place_in(peer) for peer in decision.peers}
            decided |= {(peer, number) for peer in peers}
            join(stories, peers)
            stored |= {(place_in(basis), number) for basis in decision.derived_from}
        index.close()
    stored |= {pair for pair in corpus.labels if stories[pair[0]] == stories[pair[1]]}
    return found, contained, decided, stored, seconds / len(articles) * 1000


def join(stories: list[int], peers: set[int]) -> None:
    """Add an article, and merge the stories of its peers into one."""
    own = len(stories)
    joined = {stories[peer] for peer in peers}
    stories[:] = [own if story in joined else story for story in stories]
    stories.append(own)


def place_in(url: str) -> int:
    """Return the index of an article in the corpus. In this benchmark, it is the last part of the URL."""
    return int(url.rpartition("/")[2])


def hosts_of(corpus: Corpus) -> list[str]:
    """Return the site of each article."""
    return [host_key(article["url"]).removeprefix("www.") for article in corpus.articles]


def weighted_f1(exact: dict[Pair, float], labels: dict[Pair, int], says: set[Pair], least: int = 2) -> float:
    """Return F1 for labels not below ``least``, with the weights that the module describes."""
    tenth = {pair: int(value * 10 - 1e-9) for pair, value in exact.items()}
    all_pairs = Counter(tenth.values())
    labelled = Counter(tenth.get(pair, 0) for pair in labels)
    right = wrong = missed = 0.0
    for pair, label in labels.items():
        weight = all_pairs[tenth.get(pair, 0)] / labelled[tenth.get(pair, 0)]
        right += weight * (pair in says and label >= least)
        wrong += weight * (pair in says and label < least)
        missed += weight * (pair not in says and label >= least)
    return 2 * right / (2 * right + wrong + missed)


def components(count: int, pairs: Iterable[Pair]) -> list[int]:
    """Return the story of each article. The stories are the connected components of the pairs."""
    parent = list(range(count))

    def root(place: int) -> int:
        while parent[place] != place:
            parent[place] = place = parent[parent[place]]
        return place

    for one, other in pairs:
        parent[root(one)] = root(other)
    return [root(place) for place in range(count)]


def rand_index(one: list[int], other: list[int]) -> float:
    """Adjusted Rand index of two clusterings (L. Hubert and P. Arabie, 1985)."""

    def pairs(keys: Iterable[Any]) -> int:
        return sum(comb(size, 2) for size in Counter(keys).values())

    both, first, second = pairs(zip(one, other, strict=True)), pairs(one), pairs(other)
    chance = first * second / comb(len(one), 2)
    return (both - chance) / ((first + second) / 2 - chance)


def guard(corpus: Corpus) -> list[Row]:
    """Return how many similar pairs within a domain are different news, by newsbot and by the labels."""
    texts = [Text(article) for article in articles_of(corpus)]
    pairs = {
        (one, other): compare(texts[one], texts[other]).change >= Change.ISSUE
        for (one, other), value in corpus.exact.items()
        if value >= REFERENCE and texts[one].source == texts[other].source
    }
    other = [apart for pair, apart in pairs.items() if corpus.labels.get(pair) == 0]
    same = [apart for pair, apart in pairs.items() if corpus.labels.get(pair, 0) == 2]
    return [
        row_of("kept apart, same host", f"of {len(pairs)} pairs of J >= {REFERENCE}", sum(pairs.values())),
        row_of(
            "different news merged, same host, real", f"of {len(other)} labelled pairs", other.count(False)
        ),
        row_of("the same article parted, same host, real", f"of {len(same)} labelled pairs", sum(same)),
        *generated(),
    ]


def row_of(what: str, how: str, value: float) -> Row:
    """Return a row."""
    return {"what": what, "how": how, "value": value}


_ISSUES = 60  # per template


def generated() -> list[Row]:
    """Return the share of merged pairs of texts from the same template."""
    chance = random.Random(1)
    like = merged = 0
    for template in TEMPLATES:
        issues = [Text(article_of(0, "a.org", filled(template, chance))) for _ in range(_ISSUES)]
        for one, other in combinations(issues, 2):
            likeness = compare(one, other)
            like += likeness.alike >= REFERENCE
            merged += likeness.alike >= REFERENCE and likeness.change < Change.ISSUE
    pairs = len(TEMPLATES) * comb(_ISSUES, 2)
    how = f"of {pairs} pairs; by similarity alone {100 * like / pairs:.1f} %"
    return [
        row_of("different news merged, same host, generated, %", how, round(100 * merged / pairs, 2)),
        *elsewhere(chance),
    ]


def filled(template: str, chance: random.Random) -> str:
    """Return a template with random numbers."""
    while "{}" in template:
        template = template.replace("{}", f"{chance.randint(1, 60)},{chance.randint(0, 9)}", 1)
    return template


_SITES = 8
_CUT = 6  # words


def elsewhere(chance: random.Random) -> list[Row]:
    """Return the shares of wrong decisions on generated texts of which other sites print copies.

    Each issue of a template is published by the first site and copied by one other site. In half of the
    copies, the last words are missing. The texts arrive in random order.
    """
    merged = parted = 0
    for template in TEMPLATES:
        texts = []
        for issue in range(_ISSUES):
            text = filled(template, chance)
            copy = text.rsplit(maxsplit=_CUT)[0] if chance.random() < 0.5 else text
            texts += [(issue, 0, text), (issue, chance.randint(1, _SITES), copy)]
        chance.shuffle(texts)
        stories: list[int] = []
        articles = [article_of(nth, f"{site}.org", text) for nth, (_, site, text) in enumerate(texts)]
        for nth, article in enumerate(articles):
            kept = {earlier.url: earlier for earlier in articles[:nth]}
            for earlier, story in zip(kept.values(), stories, strict=True):
                earlier.story = str(story)
            near = [Near(earlier.url, earlier.source, 0.0) for earlier in kept.values()]
            decision = place(article, near, kept)
            join(stories, {place_in(peer) for peer in decision.peers})
        issues = [issue for issue, _, _ in texts]
        for (one, mine), (other, its) in combinations(zip(issues, stories, strict=True), 2):
            merged += one != other and mine == its
            parted += one == other and mine != its
    pairs = len(TEMPLATES) * comb(_ISSUES, 2) * 4
    copies = len(TEMPLATES) * _ISSUES
    return [
        row_of("different news merged, copies elsewhere", f"of {pairs} pairs", merged),
        row_of("copies elsewhere parted", f"of {copies} copies", parted),
    ]


# --- speed


def speed(corpus: Corpus) -> list[Row]:
    """Return the CPU time from text to signature."""
    rows = []
    for language in ("ru", "en"):
        words = " ".join(a["text"] for a in corpus.articles if a["lang"] == language).split()
        texts = [" ".join(words[start : start + WORDS]) for start in range(0, 300 * WORDS, WORDS)]
        ways: tuple[tuple[str, Callable[[str], object]], ...] = (
            ("datasketch, one shingle a time", one_by_one),
            ("datasketch, update_batch", in_a_batch),
            ("ours", signature),
        )
        for how, way in ways:
            micros = min(
                cpu_micros(way, texts[start : start + STRETCH])
                for _ in range(3)
                for start in range(0, len(texts), STRETCH)
            )
            what = f"signature of {WORDS} words, CPU µs, {language}"
            rows.append({"what": what, "how": how, "value": round(micros)})
    return rows


def cpu_micros(way: Callable[[T], object], values: Sequence[T]) -> float:
    """Return the mean CPU time of one call."""
    start = time.process_time()
    for one in values:
        way(one)
    return (time.process_time() - start) / len(values) * 1e6


def one_by_one(text: str) -> MinHash:
    """Compute a signature as datasketch's first example does."""
    sketch = MinHash(num_perm=128)
    for shingle in _shingles(text):
        sketch.update(shingle)
    return sketch


def in_a_batch(text: str) -> MinHash:
    """Compute a signature as datasketch's documentation advises."""
    sketch = MinHash(num_perm=128)
    sketch.update_batch(_shingles(text))
    return sketch


def _shingles(text: str) -> set[bytes]:
    words = tokens(text)
    return {" ".join(words[place : place + 3]).encode() for place in range(len(words) - 2)}


def index_speed(sizes: Iterable[int]) -> list[Row]:
    """For each size, return the insertions per CPU second while the last tenth of the texts is inserted, and
    the bytes per text."""
    rows = []
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "newsbot.db"
            index = SqliteIndex(path)

            def insert(text: tuple[str, Signature], index: SqliteIndex = index) -> None:
                index.check_and_insert(text[0], "example.org", text[1], 0.0)

            micros = [cpu_micros(insert, unlike_texts(start, STRETCH)) for start in range(0, size, STRETCH)]
            index.close()
            last = micros[-max(1, len(micros) // 10) :]
            what = f"embedded index at {size} texts"
            for how, value in (
                ("insertions per CPU second", 1e6 / np.mean(last)),
                ("the same in the fastest tenth of the time", 1e6 / np.quantile(last, 0.1)),
                ("bytes per text", path.stat().st_size / size),
            ):
                rows.append(row_of(what, how, round(float(value))))
    return rows


def redis_speed(size: int, part: int) -> list[Row]:
    """Return the costs of an index in Redis with parts of ``part`` texts."""
    near_redis.PART_SIZE = part
    with own_redis() as url, closing(near_redis.RedisIndex(url)) as index, Redis.from_url(url) as client:
        empty = client.info("memory")["used_memory"]
        began = before = redis_seconds(url)
        for start in range(0, size, STRETCH):
            before = redis_seconds(url)
            for name, one in unlike_texts(start, STRETCH):
                index.check_and_insert(name, "example.org", one, 0.0)
        now = redis_seconds(url)
        used = client.info("memory")["used_memory"] - empty
    what = f"index in Redis at {size} texts, parts of {part}"
    return [
        row_of(what, "bytes per text", round(used / size)),
        row_of(what, "CPU of Redis per text, µs", round((now - began) / size * 1e6)),
        row_of(what, "the same at the end", round((now - before) / STRETCH * 1e6)),
    ]


def unlike_texts(start: int, count: int) -> list[tuple[str, Signature]]:
    """Return addresses and signatures of texts that are not similar to each other."""
    values = np.random.default_rng(start).integers(0, 2**32, (count, 128), dtype=np.uint32)
    return [
        (
            f"https://example{number % 50}.org/news/2024/05/a-slug-of-usual-length-{number}",
            Signature(row, 400, row[:16].astype(np.uint64)),
        )
        for number, row in enumerate(values, start)
    ]


if __name__ == "__main__":
    main()
