"""A simple search without an index: every article is checked for every condition."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta

from newsbot.apps.search.query import All, Any, Mark, Node, Not, Query, parse
from newsbot.items import Article
from newsbot.pages.text.words import query_stems, stems

WORDS = [f"w{number}" for number in range(40)]
_WEIGHTS = [1 / (rank + 1) for rank in range(len(WORDS))]
_BEGIN = datetime(1970, 1, 1, tzinfo=UTC)


def make_articles(seed: int, count: int) -> list[Article]:
    """Return articles whose words follow Zipf's law."""
    chance = random.Random(seed)

    def words(least: int, most: int) -> str:
        return " ".join(chance.choices(WORDS, _WEIGHTS, k=chance.randint(least, most)))

    articles = []
    for number in range(count):
        site = f"site{chance.randrange(4)}.org"
        moment = _BEGIN + timedelta(seconds=chance.randrange(10**6))
        articles.append(
            Article(
                url=f"https://{site}/{number}",
                canonical_url=f"https://{site}/{number}",
                source=site,
                title=words(0, 4),
                text=f"{words(0, 30)} n{number}",
                language=chance.choice(("ru", "en", None)),
                authors=[words(1, 2) for _ in range(chance.randrange(3))],
                published_at=moment,
                fetched_at=moment,
                content_hash=str(number),
            )
        )
    return articles


def make_queries(seed: int, count: int) -> list[str]:
    """Return queries of all kinds."""
    chance = random.Random(seed)

    def part() -> str:
        some = " ".join(chance.choices(WORDS, _WEIGHTS, k=chance.choice((1, 1, 1, 2, 2, 3))))
        term = f'"{some}"' if " " in some else some
        marks = (f"site:site{chance.randrange(5)}.org", f"lang:{chance.choice(('ru', 'en'))}")
        dates = (f"since:1970-01-{chance.randint(1, 12):02}", f"until:1970-01-{chance.randint(1, 12):02}")
        field = chance.choice(("", "", "", "", "title:", "author:"))
        minus = chance.choice(("", "", "", "-"))
        end = "*" if chance.random() < 0.1 and not term.endswith('"') else ""
        return (
            minus
            + chance.choice((field + term + end,) * 5 + (marks[chance.randrange(2)],))
            + (f" {chance.choice(dates)}" if chance.random() < 0.1 else "")
        )

    def group(depth: int) -> str:
        parts = [
            group(depth + 1) if depth < 2 and chance.random() < 0.15 else part()
            for _ in range(chance.choice((1, 1, 2, 2, 3)))
        ]
        text = chance.choice((" ", " ", " AND ", " OR ")).join(parts)
        return chance.choice(("", "-")) + f"({text})" if depth else text

    return [group(0) for _ in range(count)]


def found_by_reading(articles: Iterable[Article], text: str) -> set[str]:
    """Return the URLs of the articles that match a query."""
    query = parse(text)
    return set() if query.empty else {one.canonical_url for one in articles if _matches(one, query)}


def _matches(one: Article, query: Query) -> bool:
    assert one.published_at is not None
    return (
        (query.since is None or one.published_at >= query.since)
        and (query.until is None or one.published_at < query.until)
        and (query.node is None or _has(one, query.node))
    )


def _has(one: Article, node: Node) -> bool:
    if isinstance(node, All):
        return all(_has(one, part) for part in node.nodes)
    if isinstance(node, Any):
        return any(_has(one, part) for part in node.nodes)
    if isinstance(node, Not):
        return not _has(one, node.node)
    if isinstance(node, Mark):
        return node.value == (one.source if node.field == "site" else one.language)
    fields: dict[str, Sequence[str]] = {
        "": (one.title, one.text),
        "title": (one.title,),
        "author": one.authors,
    }
    end = "" if node.beginning else " "
    return any(
        f" {' '.join(run)}{end}" in f" {' '.join(stems(field))} "
        for field in fields[node.field]
        for run in query_stems(node.text)
    )
