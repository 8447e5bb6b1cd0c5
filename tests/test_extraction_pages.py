"""Articles with several pages, and the conditions for a new version."""

from __future__ import annotations

import pytest

from newsbot.pages.extraction import parse_html
from newsbot.pages.extraction.addresses import is_continuation, join_pages, next_page
from newsbot.pages.extraction.comparison import is_substantial
from tests.extraction_pages import NOW, PROSE, TEXT, layout, page, read, rule

STORY = "https://www.example.org/news/rain-closes-road"


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (STORY, f"{STORY}?page=2", True),
        (f"{STORY}?page=2", f"{STORY}?page=3", True),
        (f"{STORY}?page=2", STORY, False),
        (STORY, f"{STORY}/2", True),
        (f"{STORY}/page/2/", f"{STORY}/page/3/", True),
        (f"{STORY}.html", f"{STORY}-2.html", True),
        (f"{STORY}.html", f"{STORY},2.html", True),
        (STORY, "https://www.example.org/news/another-story", False),
        (STORY, "https://elsewhere.example/news/rain-closes-road?page=2", False),
        (f"{STORY}?id=7", f"{STORY}?id=8", False),
        (f"{STORY}.html", f"{STORY}/seite-2.html", True),
        (f"{STORY}.html", f"{STORY},seite-2.html", True),
        (STORY, f"{STORY}?paged=2", True),
        ("https://www.example.org/p/7", "https://www.example.org/p/8", False),
        ("https://www.example.org/?p=7", "https://www.example.org/?p=8", False),
        ("https://www.example.org/index.php?p=7", "https://www.example.org/index.php?p=8", False),
        ("https://www.example.org/flood", "https://www.example.org/flood?page=2", True),
        ("https://www.example.org/news/7", "https://www.example.org/news/8", False),
        ("https://www.example.org/rain-closes-road/7", "https://www.example.org/rain-closes-road/8", True),
        ("https://www.example.org/index.php?id=5", "https://www.example.org/index.php?id=5&page=2", True),
    ],
)
def test_continuations(one: str, other: str, expected: bool) -> None:
    assert is_continuation(one, other) is expected


def test_rel_next_is_followed_for_the_same_story_only() -> None:
    def stated(href: str) -> str | None:
        return next_page(parse_html(page(f'<link rel="next" href="{href}">')), STORY)

    assert stated("?page=2") == f"{STORY}?page=2"
    assert stated("/news/another-story") is None
    assert stated("javascript:void(0)") is None
    assert stated("http://[") is None
    anchor = parse_html(page(body=f'{TEXT}<a rel="nofollow next" href="{STORY}/2">2</a>'))
    assert next_page(anchor, STORY) == f"{STORY}/2"


def test_the_next_page_of_a_rule_may_have_any_url_of_the_same_site() -> None:
    html = page(body=f'{TEXT}<a class=more href="/continued/8812">More</a>')
    chosen = rule(layout(next_page="a.more"))
    assert next_page(parse_html(html), STORY, chosen, NOW) == "https://www.example.org/continued/8812"
    away = html.replace(b"/continued/8812", b"https://elsewhere.example/2")
    assert next_page(parse_html(away), STORY, chosen, NOW) is None
    assert next_page(parse_html(page()), STORY, chosen, NOW) is None


def test_joined_pages_contain_shared_paragraphs_once() -> None:
    second = "The dam is to be raised by a metre until autumn, and the council votes on it in June."
    pages = [
        read(page()),
        read(page(body=f"<article><p>{PROSE[0]}</p><p>{second}</p>{TEXT[104:]}</article>")),
    ]
    joined = join_pages(pages)
    assert joined.text.splitlines() == [*PROSE, second]
    assert joined.extraction["pages"] == "2"
    assert joined.url == pages[0].url
    assert join_pages(pages[:1]).text == pages[0].text


def test_the_structure_of_joined_pages_matches_their_text() -> None:
    pages = [
        read(page(body=f"{TEXT}<h2>Part {part}</h2><p>{PROSE[part]} It was the {part}th day of this.</p>"))
        for part in (1, 2)
    ]
    joined = join_pages(pages)
    assert [joined.text.split("\n")[number] for number in joined.structure["heading"]] == ["Part 1", "Part 2"]


def test_a_number_in_chinese_makes_a_new_version() -> None:
    sentence = "大雨封闭了下面的道路，市长说有{}人受伤，水位仍在上升。"
    assert is_substantial(("雨", sentence.format("三")), ("雨", sentence.format("五")))
    assert not is_substantial(
        ("雨", sentence.format("三")), ("雨", sentence.format("三").replace("，", "、"))
    )


def test_joining_no_pages_is_an_error() -> None:
    with pytest.raises(ValueError, match="no pages"):
        join_pages([])


BODY = " ".join(PROSE)


@pytest.mark.parametrize(
    ("title", "text", "expected"),
    [
        ("Rain closes the road", BODY, False),
        ("Rain closes the road!", BODY.replace(",", " ,").upper(), False),
        ("Rain closes the road", BODY.replace("river", "rivers"), False),
        ("Rain closes two roads", BODY, True),
        ("Rain closes the road", BODY + " In the evening the road was opened again.", True),
        ("Rain closes the road", " ".join(PROSE[:3]), True),
        ("Rain closes the road", BODY.replace("nine hundred", "six hundred"), True),
        (
            "Rain closes the road",
            BODY + "\nRead also: Snow closes the upper road for two days and a night",
            False,
        ),
        ("Rain closes the road", BODY + "\nADVERTISEMENT", False),
        (
            "Rain closes the road",
            "Published Friday, 3 May 2024, 14:05, updated at 15:10 by the desk\n" + BODY,
            False,
        ),
        (
            "Rain closes the road",
            BODY + "\nUpdate: at 15:10 the river rose over the dam, 3 houses are gone.",
            True,
        ),
    ],
)
def test_conditions_for_a_new_version(title: str, text: str, expected: bool) -> None:
    assert is_substantial(("Rain closes the road", BODY), (title, text)) is expected


@pytest.mark.parametrize(
    ("line", "edited", "expected"),
    [
        ("A vote is planned", "No vote is planned", True),
        ("Он придёт на заседание", "Он не придёт на заседание", True),
        ("A vote is planned", "A vote was planned", False),
        ("The bridge will cost 12 million, and nobody knows yet who is to pay for it.",
         "The bridge will cost 17 million, and nobody knows yet who is to pay for it.", True),
        ("The mayor, Ann Miller, had warned of it", "The mayor, Ann Novak, had warned of it", True),
        ("Об этом сказал Иван Петров", "Об этом сказал Иван Сидоров", True),
        ("The road to Upper Town is closed", "The road to Lower Town is closed", True),
        ("The mayor, Ann Miler, had warned of it", "The mayor, Ann Miller, had warned of it", False),
        ("Дом семьи Петрова закрыт", "Дом семьи Петровых закрыт", False),
        ("A spokesman of the U.S. army came", "A spokesman of the US army came", False),
        ("Yesterday the vote was planned", "Today the vote was planned", False),
        ("812 views", "977 views", False),
    ],
)  # fmt: skip
def test_one_word_may_change_the_meaning(line: str, edited: str, expected: bool) -> None:
    assert is_substantial(("x", f"{BODY}\n{line}"), ("x", f"{BODY}\n{edited}")) is expected


def test_a_long_text_needs_more_than_a_typo() -> None:
    long = "wordy " + " ".join(f"word{number}" for number in range(2000))
    assert not is_substantial(("x", long), ("x", long.replace("wordy ", "wordly ")))
    assert is_substantial(("x", long), ("x", long + " and now some more words stand at the end"))
