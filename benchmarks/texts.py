"""Generated articles with the statistics of real ones, for measuring storages.

Words come from a vocabulary of 100,000 by a law like Zipf's (the r-th most frequent word has weight
1 / (r + 2) ** 1.1), so that an article of 700 words has some 400 distinct words. All texts differ.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import accumulate

from newsbot.dedup.minhash import text_key
from newsbot.items import Article, Kind, PageRecord
from newsbot.urls import fingerprint

VOCABULARY = 100_000
WORDS = 700
SITES = 1000
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
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


def articles(start: int, stop: int) -> Iterator[Article]:
    """Yield the articles with these numbers; an article depends only on its number."""
    words, weights = vocabulary()
    for number in range(start, stop):
        chance = random.Random(number)
        text = " ".join(chance.choices(words, cum_weights=weights, k=WORDS))
        moment = BEGIN + timedelta(seconds=20 * number)
        url = f"https://news{number % SITES}.example/politics/2026/{number}-what-happened"
        yield Article(
            url=url,
            canonical_url=url,
            source=f"news{number % SITES}.example",
            title=text[:60],
            text=text,
            language="en",
            published_at=moment,
            discovered_at=moment,
            fetched_at=moment,
            content_hash=text_key(text),
            story=f"{number:032x}",
        )


def page(number: int) -> PageRecord:
    """Return the record of a newly discovered page."""
    url = f"https://news{number % SITES}.example/politics/2026/{number}-what-happened"
    return PageRecord(
        url=url,
        fingerprint=fingerprint(url),
        host=f"news{number % SITES}.example",
        source=f"news{number % SITES}.example",
        kind=Kind.ARTICLE,
        referrers=[f"https://news{number % SITES}.example/feed.xml"],
        referrer_count=1,
        depth=1,
        first_seen=1.79e9,
        history=[{"at": 1.79e9, "event": "discovered", "where": "feed", "referrer": None, "why": "feed"}],
    )
