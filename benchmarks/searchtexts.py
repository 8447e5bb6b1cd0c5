"""Articles for ``benchmarks.search`` and ``benchmarks.dashboard``: new combinations of sentences.

The sentences are real or generated. Each article has one unique sentence with new words (names, numbers), so
that the vocabulary grows with the number of articles as in real data. There are 100,000 articles per day, and
the last one is published now. One article of ten is in a story of two articles.
"""

from __future__ import annotations

import gzip
import json
import random
import re
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import cache, cached_property
from itertools import accumulate, islice
from pathlib import Path

from newsbot.dedup.index import text_key
from newsbot.items import Article
from newsbot.pages.text.words import stems

SITES = 1000
SENTENCES = 40_000
VOCABULARY = 100_000
"""Words of generated sentences, by a law like Zipf's."""
AN_ARTICLE = 14
"""Number of sentences in an article (about 250 words)."""
_BETWEEN = timedelta(days=1) / 100_000
_END = re.compile(r"(?<=[.!?])\s+|\n+")

_SYLLABLES = [
    first + vowel + last for first in "bdfgklmnprstv" for vowel in "aeiou" for last in ("", "n", "r")
]


@cache
def vocabulary() -> tuple[list[str], list[float]]:
    """Return the words, and their cumulative weights."""
    chance = random.Random("vocabulary")
    words: dict[str, None] = {}
    while len(words) < VOCABULARY:
        words["".join(chance.choices(_SYLLABLES, k=chance.choice((2, 3, 3, 4))))] = None
    return list(words), list(accumulate(1 / (rank + 2) ** 1.1 for rank in range(VOCABULARY)))


class Texts:
    """Makes the article of a given number. The number of the last article, published now, is ``last``."""

    def __init__(self, corpus: Path | None, last: int, sentences: int = AN_ARTICLE) -> None:
        self._begin = datetime.now(UTC) - last * _BETWEEN
        self._an_article = sentences
        texts = _made_up() if corpus is None else _real(corpus)
        self.sentences = list(islice(texts, SENTENCES))

    @cached_property
    def stemmed(self) -> list[list[str]]:
        """The stems of each sentence."""
        return [list(stems(one)) for one in self.sentences]

    @cached_property
    def by_frequency(self) -> list[str]:
        """The stems of two or more letters. Stems that are in more sentences come first."""
        counted = Counter(stem for one in self.stemmed for stem in set(one))
        return [stem for stem, _ in counted.most_common() if len(stem) > 1]

    def article(self, number: int) -> Article:
        """Return an article."""
        chance = random.Random(number)
        own = f"name{number % 300_007}x case{number} {chance.choice(('alpha', 'beta', 'gamma'))}"
        some = chance.choices(self.sentences, k=self._an_article)
        title = chance.choice(self.sentences)
        text = " ".join([own, *some])
        site = int(SITES * chance.random() ** 3)  # a few sites have most of the articles
        url = f"https://{site_name(site)}/2026/{number}-what-happened"
        # chronological as in a crawl, but every tenth article is from an archive
        back = chance.randrange(max(1, number)) if number % 10 == 0 else 0
        moment = self._begin + (number - back) * _BETWEEN
        return Article(
            url=url,
            canonical_url=url,
            source=site_name(site),
            title=title[:120],
            text=text,
            language=("ru", "en")[number % 2],
            authors=[f"Author {number % 5000}"],
            published_at=moment,
            fetched_at=moment,
            content_hash=text_key(str(number)),
            story=f"{number // 20:032x}" if number % 20 < 2 else None,
            extraction={"text": "trafilatura", "title": "json-ld"},
        )

    def articles(self, start: int, stop: int) -> Iterator[Article]:
        """Yield the articles with these numbers."""
        return map(self.article, range(start, stop))


def site_name(site: int) -> str:
    """Return the domain of a site. Sites with low numbers have more articles."""
    return f"news{site}.example"


def _real(corpus: Path) -> Iterator[str]:
    with gzip.open(corpus, "rt", encoding="utf-8") as file:
        for line in file:
            yield from (part for part in _END.split(json.loads(line)["text"]) if len(part) > 20)


def _made_up() -> Iterator[str]:
    words, weights = vocabulary()
    chance = random.Random("sentences")
    while True:
        yield " ".join(chance.choices(words, cum_weights=weights, k=chance.randint(8, 25))) + "."
