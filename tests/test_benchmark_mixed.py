"""The pages of ``python -m benchmarks.mixed`` that need no generator contain the texts that it expects."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import mixed
from newsbot.pages.extraction import extract, parse_html

POSTS = mixed.make_posts(12)


@pytest.mark.parametrize("theme", [one for one in mixed.themes() if one.name in mixed.TEMPLATES])
def test_newsbot_reads_the_long_posts_of_old_pages(theme: mixed.Theme, tmp_path: Path) -> None:
    for post, url, html in theme.pages(POSTS, tmp_path):
        shown = " ".join(parse_html(html.encode()).text_content().split())
        known = [" ".join(text.split(" | ")[0].split()) for text in mixed.gold_of(post)["text"].split("\n")]
        assert all(line in shown for line in known)
        if len(known) > 3:
            article = extract(html, url)
            assert article is not None, url
            found = " ".join(article.text.split())
            assert sum(len(line) for line in known if line in found) > 0.7 * sum(map(len, known)), url
