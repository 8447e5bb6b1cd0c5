"""Whether two pages have the same article if one of them claims to be the other."""

from __future__ import annotations

import pytest

from newsbot.dedup.decision import headlines_agree, is_one_article
from newsbot.dedup.index import text_key
from tests.builders import make_article, prose


def article(text, title="A bridge over the river was opened"):
    return make_article(title=title, text=text, content_hash=text_key(text))


LONG = prose(1, 200)
WORDS = LONG.split()


@pytest.mark.parametrize(
    ("text", "title", "same"),
    [
        (LONG, "Quite another headline of four words", True),
        (" ".join(WORDS[:90]), "Quite another headline of four words", True),
        (" ".join(WORDS[:195]) + " edited since then", "Quite another headline of four words", True),
        (" ".join(WORDS[:100]) + " " + prose(2, 100), "A bridge over the river was opened", True),
        (" ".join(WORDS[:100]) + " " + prose(2, 100), "Quite another headline of four words", False),
        (prose(2, 200), "A bridge over the river was opened", False),
        ("Too short to say much.", "A bridge over the river was opened", True),
        ("Too short to say much.", "Quite another headline of four words", False),
        ("Too short to say much.", "Weather", False),
    ],
)
def test_texts_decide_and_headlines_decide_in_doubt(text, title, same):
    assert is_one_article(article(LONG), article(text, title)) is same
    assert is_one_article(article(text, title), article(LONG)) is same


def test_similar_texts_with_different_numbers_are_different_news():
    frame = " ".join(f"{word} {{0}}{place}" for place, word in enumerate("abcdefghijklmnopqrstuvwxyz" * 2))
    one, other = (article(frame.replace("{0}", str(number))) for number in (17, 28))
    assert not is_one_article(one, other)


@pytest.mark.parametrize(
    ("one", "other", "agree"),
    [
        ("A bridge over the river was opened", "A bridge over the river was opened", True),
        ("A bridge over the river was opened", "Bridge over the river: it was opened, a joy", True),
        ("Council story number 1 about it", "Council story number 2 about it", False),
        ("A bridge over the river was opened", "Ferry sinks near the coast at night", False),
        ("A bridge over the river was opened", "Bridge and river: was this all?", None),
        ("A bridge over the river was opened", "A bridge over the rivers was opened", True),
        ("Weather for the weekend in York", "Weather for the weekend in Leeds", False),
        ("Погода на выходные в городе Калуге", "Погода на выходные в городе Обнинске", False),
        ("Storm over the coast: live updates", "Storm over the coast: live updates, harbour closed", True),
        ("Read more", "A bridge over the river was opened", None),
        ("", "A bridge over the river was opened", None),
    ],
)
def test_headlines_agree_or_differ_or_are_inconclusive(one, other, agree):
    assert headlines_agree(one, other) is agree
    assert headlines_agree(other, one) is agree
