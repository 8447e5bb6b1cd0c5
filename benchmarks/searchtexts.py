"""Articles for ``benchmarks.search``: new combinations of real or generated sentences.

Each article has one unique sentence with new words (names, numbers), so that the vocabulary grows with the
number of articles as in real data. Stems are computed once per sentence.
"""

from __future__ import annotations

import gzip
import json
import random
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path

from benchmarks.texts import vocabulary
from newsbot.dedup.minhash import text_key
from newsbot.items import Article
from newsbot.text.stems import stems

SITES = 1000
BEGIN = datetime(2025, 1, 1, tzinfo=UTC)
SENTENCES = 40_000
AN_ARTICLE = 14
_END = re.compile(r"(?<=[.!?])\s+|\n+")


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence and its stems."""

    text: str
    stems: str


class Texts:
    """Makes articles; an article depends only on its number."""

    def __init__(self, corpus: Path | None) -> None:
        texts = _made_up() if corpus is None else _real(corpus)
        self.sentences = [Sentence(text, " ".join(stems(text))) for text in islice(texts, SENTENCES)]
        counted = Counter(stem for one in self.sentences for stem in set(one.stems.split()))
        self.by_frequency = [stem for stem, _ in counted.most_common() if len(stem) > 1]

    def article(self, number: int) -> Article:
        """Return an article."""
        chance = random.Random(number)
        own = f"name{number % 300_007}x case{number} {chance.choice(('alpha', 'beta', 'gamma'))}"
        some = chance.choices(self.sentences, k=AN_ARTICLE)
        title = chance.choice(self.sentences)
        text = " ".join([own, *(one.text for one in some)])
        site = int(SITES * chance.random() ** 3)  # few sites have many articles
        # in order of time as in a crawl, but every tenth is from an archive
        back = chance.randrange(max(1, number)) if number % 10 == 0 else 0
        moment = BEGIN + timedelta(seconds=30 * (number - back))
        url = f"https://news{site}.example/2026/{number}-what-happened"
        return Article(
            url=url,
            canonical_url=url,
            source=f"news{site}.example",
            title=title.text[:120],
            text=text,
            language=("ru", "en")[number % 2],
            authors=[f"Author {number % 5000}"],
            published_at=moment,
            fetched_at=moment,
            content_hash=text_key(str(number)),
        )

    def articles(self, start: int, stop: int) -> Iterator[Article]:
        """Yield the articles with these numbers."""
        return map(self.article, range(start, stop))


def _real(corpus: Path) -> Iterator[str]:
    with gzip.open(corpus, "rt", encoding="utf-8") as file:
        for line in file:
            yield from (part for part in _END.split(json.loads(line)["text"]) if len(part) > 20)


def _made_up() -> Iterator[str]:
    words, weights = vocabulary()
    chance = random.Random("sentences")
    while True:
        yield " ".join(chance.choices(words, cum_weights=weights, k=chance.randint(8, 25))) + "."
