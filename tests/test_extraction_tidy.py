"""Lines that are not part of an article, and pages with several articles."""

from __future__ import annotations

import pytest

from newsbot.pages.extraction.body.furniture import tidy
from newsbot.pages.extraction.visible import Block
from tests.extraction_pages import PROSE, TEXT, page, read


@pytest.mark.parametrize(
    "line",
    [
        "Copyright law is at the heart of the case, the judge said on Monday.",
        "Sigara zammı son dakika: JTI grubu fiyatlarını artırdı, yeni liste açıklandı.",
        "Sigarette elettroniche, arriva la stretta del governo sui minori.",
        "Photos by satellites showed smoke over the port on Sunday, hours after the first reports.",
        "Fotos von Kameras zeigen den Wagen, der am Abend in den Hafen fuhr.",
    ],
)
def test_sentences_that_begin_like_an_appeal_or_a_credit_are_kept(line: str) -> None:
    assert [block.text for block in tidy([Block("paragraph", line)])] == [line]


@pytest.mark.parametrize(
    "line",
    [
        "Copyright 2024 The Paper",
        "Copyright by the publisher. All rights reserved.",
        "Siganos en Facebook",
        "Photos by the author",
        "Photos by Jane Doe, who has worked for the paper since 2011, and by friends.",
    ],
)
def test_appeals_and_credits_are_removed(line: str) -> None:
    assert tidy([Block("paragraph", line)]) == []


SNOW = "".join(f"<p>In night {n} the snow was deep, and no plough of the county came.</p>" for n in range(9))


def test_entries_of_a_live_blog_are_not_separate_articles() -> None:
    entries = "".join(
        f"<article><h1>At {n} the water rises</h1><time datetime='2024-05-03T1{n}:00:00Z'></time>"
        f"<p>At {n} in the morning the water stood {n} metres high, the brigade said.</p></article>"
        for n in range(9)
    )
    html = page(body=f"{TEXT * 2}</article>{entries}<article>")
    assert "stood 7 metres" in read(html, "https://www.example.org/live/rain-closes-road").text
    assert "stood 7 metres" not in read(html).text


def test_a_second_article_below_the_first_is_left_out() -> None:
    second = f"</article><article><h1>Snow closes the upper road for two days</h1>{SNOW}"
    article = read(page(body=TEXT * 2 + second))
    assert PROSE[0] in article.text
    assert "the snow was deep" not in article.text


@pytest.mark.parametrize(
    "second",
    [
        f"<h1>Snow closes the upper road</h1>{SNOW}",
        f"<article><h1>Snow closes the upper road</h1>{SNOW}</article>",
        f"</article><article><h1>Rain closes the lower road</h1>{SNOW}",
        f"</article><article><h2>What else is known</h2>{SNOW}",
    ],
)
def test_parts_of_one_article_are_kept(second: str) -> None:
    assert "the snow was deep" in read(page(body=TEXT * 2 + second)).text
