"""Which differences between two URLs show that they are variants of the same page."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from newsbot.pages.extraction.addresses import is_variant
from newsbot.urls import canonicalize

SITE = "https://news.test"


def full(address: str) -> str:
    return canonicalize(address if address.startswith("http") else SITE + address)


@pytest.mark.parametrize(
    ("url", "named"),
    [
        ("/2026/11/bridge-opens-today?from=rss", "/2026/11/bridge-opens-today"),
        ("/story/17?x=1&y=2", "/story/17?y=2"),
        ("/story/17/amp", "/story/17"),
        ("/amp/story/17", "/story/17"),
        ("/story/17.amp.html", "/story/17.html"),
        ("/story/17?amp", "/story/17"),
        ("/news.php?id=7&print=1", "/news.php?id=7"),
        ("/story/17?outputType=amp", "/story/17"),
        ("/story/17/print", "/story/17"),
        ("/story/17.html", "/story/17"),
        ("/story/17/", "/story/17"),
        ("https://m.news.test/story/17", "/story/17"),
        ("https://amp.news.test/story/17?from=amp", "/story/17"),
        ("https://www.news.test/story/17", "https://mobile.news.test/story/17"),
        ("/news/84512937", "/world/84512937-bridge-opens"),
        ("/world/old-headline-84512937", "/politics/2026/11/new-headline-84512937.html"),
        ("/a84512937", "/news/a84512937-bridge"),
        ("https://news-test.cdn.ampproject.org/c/s/news.test/story/17/amp", "/story/17"),
    ],
)
def test_urls_that_are_variants(url: str, named: str) -> None:
    assert is_variant(full(url), full(named))


@pytest.mark.parametrize(
    ("url", "named"),
    [
        ("/story/17", "/story/18"),
        ("/news.php?id=7", "/news.php"),
        ("/news/?id=7", "/news/"),
        ("/?p=17", "/"),
        ("/story/17", "/story/17?page=2"),
        ("/story/17?id=1", "/story/17?id=2"),
        ("/story/17", "/"),
        ("/news/20261120", "/world/20261120-bridge"),
        ("/news/bridge-cost-100000", "/world/100000-people"),
        ("/12345678/first-story", "/12345678/second-story"),
        ("/news/84512937?page=2", "/world/84512937-bridge"),
        ("https://blogs.news.test/story/17", "/story/17"),
        ("https://m.test/story/17", "https://test/story/17"),
        ("https://other-test.cdn.ampproject.org/c/s/other.test/story/17", "/story/17"),
    ],
)
def test_urls_that_are_not_variants(url: str, named: str) -> None:
    assert not is_variant(full(url), full(named))


_STEP = st.text("abc-019_.", min_size=1, max_size=9).filter(lambda text: text.strip("."))


@given(st.lists(_STEP, max_size=4), st.lists(_STEP, max_size=2))
def test_a_url_is_a_variant_of_itself(steps: list[str], query: list[str]) -> None:
    url = full(f"/{'/'.join(steps)}?{'&'.join(query)}")
    assert is_variant(url, url)
