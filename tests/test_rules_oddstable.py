"""The cache of log-odds returns rounded values, never the value of another URL, and needs limited memory."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from newsbot.pages.rules import learn, shape
from newsbot.pages.rules.learn import learn as learned_of
from newsbot.pages.rules.shape import PLACES, OddsTable

URLS = [f"https://site{n % 50}.example/news/2026/11/{n % 28 + 1}/a-headline-{n}.html" for n in range(20_000)]
ODDS = st.floats(-60, 60)


@given(st.lists(st.tuples(st.text(max_size=8), ODDS), max_size=60))
def test_the_last_value_is_found(entries: list[tuple[str, float]]) -> None:
    """If there are more URLs than places, some are evicted; none gets the odds of another URL."""
    table = OddsTable(16)
    put: dict[str, float] = {}
    for text, odds in entries:
        put[text] = table.put(hash(text), odds)
        assert put[text] == pytest.approx(odds, abs=0.0005)
        assert table.get(hash(text)) == put[text]
    for text, odds in put.items():
        assert table.get(hash(text)) in (None, odds)


@given(ODDS, st.integers(-(2**63), 2**63 - 1))
def test_every_hash_can_be_stored(odds: float, mark: int) -> None:
    """Hashes may be negative."""
    table = OddsTable(1 << 8)
    assert table.get(mark) is None
    assert table.get(mark) != table.put(mark, odds) == table.get(mark)
    table.clear()
    assert table.get(mark) is None


@pytest.mark.parametrize("odds", [1e300, -1e300, float("inf"), float("-inf")])
def test_odds_above_the_limit_are_practically_certain(odds: float) -> None:
    """The probability is already 0 or 1 for smaller values."""
    table = OddsTable(4)
    assert shape.probability(table.put(7, odds)) == pytest.approx(float(odds > 0), abs=1e-12)
    assert table.get(7) == table.put(7, odds)


def test_rules_of_sites_share_one_table_but_not_its_values() -> None:
    """The same URL has different odds under the rules of two sites, and without a rule."""
    good = [(f"https://a.example/news/{n}-words-of-a-headline-here", True) for n in range(40)]
    bad = [(f"https://a.example/shop/{n}-words-of-a-headline-here", False) for n in range(40)]
    one = learned_of(good + bad)
    other = learned_of([(url, not label) for url, label in good + bad])
    url = "https://a.example/shop/99-words-of-a-headline-here"
    for _ in range(2):
        assert one.log_odds(url) < 0 < other.log_odds(url)
        assert shape.log_odds(url) > one.log_odds(url)


GROWTH = """
import tracemalloc
from newsbot.pages.rules.learn import learn
from newsbot.pages.rules.shape import log_odds
from tests.test_rules_oddstable import URLS
articles = [(url, True) for url in URLS[:40]]
others = [(f"https://a.example/shop/{n}", False) for n in range(40)]
rules = [learn(articles + others) for site in range(20)]
assert all(rule.trees for rule in rules)
def ask(end):
    for n, url in enumerate(URLS[:5_000]):
        rules[n % 20].log_odds(url + end)
    return tracemalloc.get_traced_memory()[0]
tracemalloc.start()
print(-ask("x") + ask("y"))
"""


def test_memory_does_not_grow_with_the_number_of_urls() -> None:
    """In an earlier version 5,000 URLs took 1.2 MB, and the limit was 16,384 URLs per site."""
    grown = int(subprocess.check_output([sys.executable, "-c", GROWTH], text=True))
    assert grown < 200_000
    assert PLACES == len(learn.lately) == len(shape.lately)
