"""How well newsbot distinguishes articles from other pages before it fetches them.

Reads links with weak labels (one JSON object per line: domain, url, text, where = self | nav | body; the file
may be compressed with gzip) and prints the precision and recall of three methods that choose which links are
fetched:

* ``everything``: chooses each link, like a crawler without ranking;
* ``address``: uses only the prior over the shape of the URL;
* ``address+text``: also uses the link text. The labels are derived from the link texts, so this row is too
  optimistic. The row ``address`` does not use the texts.

A link is positive if it leads to a saved article, or if it is in the body and has five words or more (14
letters in Chinese, Japanese and Korean). A link is negative if it is only in navigation and has at most three
words. A domain is counted if it has at least 10 positive and 10 negative pages. ``macro`` is the mean over
domains.

The row ``rules`` shows how long it takes to match the patterns of a rule, averaged over the shipped rules. A
page has 105 links on average.

    python -m training.labels [--links FILE] [--threshold 0.5] [--domains] [--json]
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from newsbot.pages.rules import classify, load_rules
from newsbot.pages.rules.shape import log_odds, probability
from newsbot.ranking.judging import odds_of_text
from newsbot.urls import canonicalize, is_asset

LINKS = Path(__file__).parent.parent.parent / "shared" / "urls" / "links-dev.jsonl.gz"
RULES = Path(__file__).parent.parent / "rules"
LINKS_OF_A_PAGE = 105
THRESHOLD = 0.5
MIN_OF_EACH = 10
_DENSE = re.compile("[\u3040-\u9fff\uac00-\ud7af]")


@dataclass(frozen=True, slots=True)
class Labelled:
    """A page with its weak label and the longest text of links to it."""

    domain: str
    url: str
    text: str
    positive: bool


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--links", type=Path, default=LINKS)
    parser.add_argument("--threshold", type=float, default=THRESHOLD)
    parser.add_argument("--domains", action="store_true", help="also a row for each domain")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    if not arguments.links.exists():
        parser.error(f"{arguments.links} does not exist; name a file with --links")
    pages = labelled(arguments.links)
    table = [row for name, score in WAYS.items() for row in measure(name, score, pages, arguments)]
    table.append(judging([page.url for page in pages]))
    if arguments.json:
        print(json.dumps(table, ensure_ascii=False))
        return
    print(f"{len(pages)} pages of {len({page.domain for page in pages})} domains")
    for row in table:
        print("  ".join(f"{key}={value}" for key, value in row.items()))


def _everything(_page: Labelled) -> float:
    return 1.0


def _address(page: Labelled) -> float:
    return probability(log_odds(page.url))


def _address_and_text(page: Labelled) -> float:
    return probability(log_odds(page.url) + odds_of_text(page.text))


WAYS: dict[str, Callable[[Labelled], float]] = {
    "everything": _everything,
    "address": _address,
    "address+text": _address_and_text,
}


def measure(
    name: str, score: Callable[[Labelled], float], pages: list[Labelled], arguments: argparse.Namespace
) -> Iterator[dict[str, Any]]:
    """Yield the row of all domains together and, if requested, one row per domain."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    start = time.process_time()
    chosen = [score(page) >= arguments.threshold for page in pages]
    seconds = time.process_time() - start
    for page, taken in zip(pages, chosen, strict=True):
        counts[page.domain][
            ("tp" if page.positive else "fp") if taken else ("fn" if page.positive else "tn")
        ] += 1
    whole = sum(counts.values(), Counter[str]())
    each = [rates(count) for count in counts.values()]
    yield {
        "way": name,
        "domain": "all",
        "precision": rates(whole)[0],
        "recall": rates(whole)[1],
        "macro_precision": round(sum(rate[0] for rate in each) / len(each), 3),
        "macro_recall": round(sum(rate[1] for rate in each) / len(each), 3),
        "microseconds": round(seconds / len(pages) * 1e6, 1),
    }
    if arguments.domains:
        for domain, count in sorted(counts.items()):
            precision, recall = rates(count)
            yield {"way": name, "domain": domain, "precision": precision, "recall": recall}


def judging(urls: list[str]) -> dict[str, Any]:
    """Return the row with the time that the shipped rules take to judge URLs."""
    rules = list(load_rules(RULES))
    for rule in rules:  # RE2 builds an automaton while it searches
        for url in urls[: LINKS_OF_A_PAGE * 5]:
            classify(rule, url)
    start = time.process_time()
    for number, url in enumerate(urls):
        classify(rules[number % len(rules)], url)
    each = (time.process_time() - start) / len(urls) * 1e6
    page = round(each * LINKS_OF_A_PAGE / 1000, 2)
    return {"way": "rules", "microseconds": round(each, 1), "milliseconds_a_page": page}


def rates(count: Counter[str]) -> tuple[float, float]:
    """Return precision and recall; 0 if nothing was chosen."""
    chosen, wanted = count["tp"] + count["fp"], count["tp"] + count["fn"]
    return round(count["tp"] / chosen, 3) if chosen else 0.0, round(
        count["tp"] / wanted, 3
    ) if wanted else 0.0


def labelled(path: Path, at_least: int = MIN_OF_EACH) -> list[Labelled]:
    """Return the labelled pages of domains with enough pages of both kinds."""
    seen: dict[tuple[str, str], list[tuple[str, str]]] = defaultdict(list)
    for row in _read(path):
        try:
            url = canonicalize(row["url"])
        except ValueError:
            continue
        if not is_asset(url):
            seen[row["domain"], url].append((row["where"], row["text"] or ""))
    pages = []
    for (domain, url), found in seen.items():
        label = _label(found)
        if label is not None:
            text = max((text for where, text in found if where != "self"), key=len, default="")
            pages.append(Labelled(domain, url, text, label))
    number = Counter((page.domain, page.positive) for page in pages)
    enough = {
        page.domain for page in pages if min(number[page.domain, kind] for kind in (True, False)) >= at_least
    }
    return [page for page in pages if page.domain in enough]


def rows(path: Path) -> Iterator[tuple[str, str, str]]:
    """Yield domain, URL and text of each link, in the order of the pages."""
    for row in _read(path):
        yield row["domain"], row["url"], row["text"] or ""


def _read(path: Path) -> Iterator[dict[str, Any]]:
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def _label(found: list[tuple[str, str]]) -> bool | None:
    if any(where == "self" or (where == "body" and _is_headline(text)) for where, text in found):
        return True
    if all(where == "nav" and len(text.split()) <= 3 for where, text in found):
        return False
    return None


def _is_headline(text: str) -> bool:
    return len(text.split()) >= 5 or (len(text) >= 14 and _DENSE.search(text) is not None)


if __name__ == "__main__":
    main()
