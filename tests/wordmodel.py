"""Search as one would write it without an index: every article is read for every condition."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

from newsbot.search.index.entry import Entry
from newsbot.search.index.searching import asked_of
from newsbot.search.query import Query, Term, parse

WORDS = [f"w{number}" for number in range(40)]
_WEIGHTS = [1 / (rank + 1) for rank in range(len(WORDS))]


def make_entries(seed: int, count: int) -> list[Entry]:
    """Articles whose words follow Zipf's law."""
    chance = random.Random(seed)

    def words(least: int, most: int) -> str:
        return " ".join(chance.choices(WORDS, _WEIGHTS, k=chance.randint(least, most)))

    return [
        Entry(
            key=number.to_bytes(16, "big"),
            version=1,
            moment=chance.randrange(10**6) * 10**6,
            source=f"site{chance.randrange(4)}.org",
            language=chance.choice(("ru", "en", "")),
            authors=" , ".join(words(1, 2) for _ in range(chance.randrange(3))),
            title=words(0, 4),
            text=words(0, 30),
        )
        for number in range(count)
    ]


def make_queries(seed: int, count: int) -> list[str]:
    """Queries of all kinds."""
    chance = random.Random(seed)

    def part() -> str:
        some = " ".join(chance.choices(WORDS, _WEIGHTS, k=chance.choice((1, 1, 1, 2, 2, 3))))
        term = f'"{some}"' if " " in some else some
        marks = (f"site:site{chance.randrange(5)}.org", f"lang:{chance.choice(('ru', 'en'))}")
        dates = (f"since:1970-01-{chance.randint(1, 12):02}", f"until:1970-01-{chance.randint(1, 12):02}")
        field = chance.choice(("", "", "", "", "title:", "author:"))
        minus = chance.choice(("", "", "", "-"))
        return (
            minus
            + chance.choice((field + term,) * 5 + (marks[chance.randrange(2)],))
            + (f" {chance.choice(dates)}" if chance.random() < 0.1 else "")
        )

    return [" ".join(part() for _ in range(chance.choice((1, 1, 2, 2, 3)))) for _ in range(count)]


def found_by_reading(entries: Sequence[Entry], text: str) -> set[bytes]:
    """The keys of the articles that a query finds."""
    query = parse(text)
    return set() if query.empty else {one.key for one in entries if _matches(one, query)}


def newer(entry: Entry) -> Entry:
    """The next version, with the words in another order."""
    return replace(entry, version=entry.version + 1, text=" ".join(reversed(entry.text.split())))


def _matches(entry: Entry, query: Query) -> bool:
    asked = asked_of(query, None)
    return (
        (asked.since is None or entry.moment >= asked.since)
        and (asked.until is None or entry.moment < asked.until)
        and (not query.sites or entry.source in query.sites)
        and (not query.languages or entry.language in query.languages)
        and entry.source not in query.not_sites
        and entry.language not in query.not_languages
        and all(_has(entry, term) for term in query.wanted)
        and not any(_has(entry, term) for term in query.unwanted)
    )


def _has(entry: Entry, term: Term) -> bool:
    fields = {
        "": (entry.title, entry.text),
        "title": (entry.title,),
        "author": tuple(entry.authors.split(",")),
    }
    return any(
        f" {' '.join(phrase)} " in f" {' '.join(field.split())} "
        for field in fields[term.field]
        for phrase in term.phrases()
    )
