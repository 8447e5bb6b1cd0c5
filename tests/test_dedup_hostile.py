"""Extreme texts in the pipelines for exact and near duplicates."""

from __future__ import annotations

import pytest
from scrapy.exceptions import DropItem

from newsbot.dedup.decision import Change, Text, compare
from newsbot.dedup.index import PERMUTATIONS, signature, text_key
from newsbot.pages.text.words import MAX_TEXT
from tests.builders import Desk, make_article, prose
from tests.test_stories import take

TEXTS = {
    "signs only": "… — !? 🙂 «»",
    "one word": "слово",
    "one word a million times": "слово " * 1_000_000,
    "digits": " ".join(str(number * 7919) for number in range(3000)),
    "digits without spaces": "0123456789" * 100_000,
    "Chinese": "中国经济增长" + "".join(chr(0x4E00 + number) for number in range(400)),
    "right to left": " ".join(f"שלום{chr(0x5D0 + number % 22)}عالم{number}" for number in range(200)),
    "mixed scripts": " ".join(f"mixed смесь{number} 中文{number} עברית" for number in range(150)),
    "controls and halves of signs": "\x00\x01\x02 word \ud800 \udfff " * 50 + prose(7, 60),
    "marks on marks": "a" + "\u0301\u0316" * 100_000 + " " + prose(8, 60),
    "invisible": "\u200b\ufeff\u2060" * 1000 + prose(9, 60),
}


@pytest.mark.parametrize("name", TEXTS)
def test_any_text_is_stored_once_and_does_not_affect_others(desk: Desk, name: str) -> None:
    take(desk, make_article(1, text=prose(1, 200)))
    kept = take(desk, make_article(2, text=TEXTS[name]))
    assert kept.story not in (None, "")
    with pytest.raises(DropItem, match=r"same_text as https://news\.test/story/2"):
        take(desk, make_article(3, text=f"{TEXTS[name]} …"))
    found = desk.context.storage.articles.get(make_article(3).canonical_url)
    assert found is not None
    assert found.canonical_url == kept.canonical_url
    assert desk.stat("duplicates/near") == 0


def test_texts_without_words_are_one_text_per_site_and_not_a_story_of_several_sites(desk: Desk) -> None:
    take(desk, make_article(1, text="…"))
    with pytest.raises(DropItem, match="same_text"):
        take(desk, make_article(2, text="🙂"))
    elsewhere = make_article(3, text="—", source="other.test", canonical_url="https://other.test/3")
    assert take(desk, elsewhere).relation == "new"


def test_short_texts_are_only_compared_word_for_word(desk: Desk) -> None:
    words = prose(3, 24).split()
    assert len(words) == 24
    first = take(desk, make_article(1, text=" ".join(words)))
    second = take(desk, make_article(2, text=" ".join([*words[:-1], "otherwise"])))
    assert (first.relation, second.relation) == ("new", "new")
    assert first.story != second.story


@pytest.mark.parametrize(
    ("text", "titles", "one_story"),
    [
        (
            "Read more about it on our site now.",
            ("Bridge closed until Monday", "Ministers meet"),
            False,
        ),
        ("Read more about it on our site now.", ("Bridge closed until Monday",) * 2, True),
        (
            "Police closed the bridge until Monday.",
            ("Bridge closed until Monday", "Police: bridge shut"),
            True,
        ),
        ("Police closed the bridge until Monday.", ("Bridge closed until Monday", "Video"), False),
        ("Read more.", ("Bridge closed until Monday",) * 2, False),
    ],
)
def test_a_short_text_of_two_sites_is_one_story_unless_it_may_be_a_formula(
    desk: Desk, text: str, titles: tuple[str, str], one_story: bool
) -> None:
    stories = set()
    for title, site in zip(titles, ("one.test", "two.test"), strict=True):
        url = f"https://{site}/1"
        article = make_article(1, text=text, title=title, source=site, url=url, canonical_url=url)
        stories.add(take(desk, article).story)
    assert (len(stories) == 1) is one_story


def test_fifty_megabytes_are_cut_before_they_are_compared() -> None:
    text = "страница за страницей " * 2_400_000
    assert len(text.encode()) > 50_000_000
    assert text_key(text) == text_key(text[:MAX_TEXT])
    assert signature(text).shingles <= 4
    varied = " ".join(map(str, range(MAX_TEXT)))
    found = signature(varied)
    assert len(found.values) == PERMUTATIONS
    assert found.shingles <= MAX_TEXT / 6
    numbers, others = (
        Text(make_article(1, text=" ".join(map(str, range(start, 60_000))))) for start in (0, 9000)
    )
    assert 0.8 < compare(numbers, others).alike < 0.9


def test_texts_with_many_words_of_one_beginning_are_compared() -> None:
    both = " ".join(f"both{number}" for number in range(14_000))
    one, other = (
        Text(make_article(n, text=f"{both} 99999{n} " + " ".join(f"word{m}of{n}" for m in range(8000))))
        for n in (1, 2)
    )
    found = compare(one, other)
    assert (found.is_link, found.change) == (True, Change.FIGURES)
