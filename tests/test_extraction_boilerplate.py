"""Repeated lines of a site: lines around the text in most recent articles are not part of the text."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from newsbot.errors import NotAnArticle
from newsbot.pages.extraction import SiteMemories, SiteMemory, join_pages
from newsbot.pages.extraction.comparison import LEAST, RECENT
from tests.builders import make_article
from tests.extraction_pages import PROSE, TEXT, page, read

FOOTLINE = "The editors are happy about letters and reserve the right to shorten them where space is scarce."
BOX = ["A letter a day about the coast", "Ten minutes of reading, each morning at six."]


def news_lines(number: int) -> list[str]:
    return [f"What happened on day {number}, part {part}, nobody else told." for part in range(5)]


def memory_of(articles: int, before: list[str], within: list[str], after: list[str]) -> SiteMemory:
    memory = SiteMemory()
    for number in range(articles):
        lines = news_lines(number)
        memory.learn(
            f"a{number}", [*before, *lines[: 1 + number % 4], *within, *lines[1 + number % 4 :], *after]
        )
    return memory


def kept_of(memory: SiteMemory, *lines: str) -> list[str]:
    removed = memory.site_lines("new", lines)
    return [line for number, line in enumerate(lines) if number not in removed]


def test_repeated_lines_around_the_text_of_ten_articles_are_removed() -> None:
    for articles, cut in ((LEAST - 1, False), (LEAST, True)):
        memory = memory_of(articles, ["Good morning."], BOX, [FOOTLINE, "Follow the coast."])
        lines = ["Good morning.", *PROSE[:2], *BOX, *PROSE[2:], FOOTLINE, "Follow the coast."]
        assert kept_of(memory, *lines) == (PROSE if cut else lines)


def test_repeated_paragraphs_within_the_text_are_kept() -> None:
    memory = memory_of(RECENT, [], [FOOTLINE], [])
    assert kept_of(memory, PROSE[0], FOOTLINE, PROSE[1]) == [PROSE[0], FOOTLINE, PROSE[1]]


def test_lines_of_fewer_than_two_thirds_of_the_recent_articles_are_kept() -> None:
    memory = memory_of(20, [], [], [FOOTLINE])
    assert kept_of(memory, PROSE[0], FOOTLINE) == [PROSE[0]]
    for number in range(20, 31):
        memory.learn(f"a{number}", news_lines(number))
    assert kept_of(memory, PROSE[0], FOOTLINE) == [PROSE[0], FOOTLINE]


def test_removed_lines_are_recorded_and_reading_does_not_change_the_memory() -> None:
    html = page(body=f"<article>{TEXT}<p>{FOOTLINE}</p></article>")
    memory = memory_of(LEAST, [], [], [FOOTLINE])
    before = memory.plain()
    article = read(html, memory=memory)
    assert article.text.splitlines() == PROSE
    assert article.extraction["site_lines"] == f"{len(PROSE)}: {FOOTLINE}"
    assert article.shown.splitlines() == [*PROSE, FOOTLINE]
    assert memory.plain() == before
    assert "site_lines" not in read(html).extraction


def test_the_structure_matches_the_remaining_text() -> None:
    html = page(body=f"<article><p>{FOOTLINE}</p>{TEXT}<h2>What comes next</h2>{TEXT}</article>")
    article = read(html, memory=memory_of(LEAST, [FOOTLINE], [], []))
    assert FOOTLINE not in article.text
    assert [article.text.split("\n")[number] for number in article.structure["heading"]] == [
        "What comes next"
    ]


def test_a_page_with_only_repeated_lines_is_not_an_article() -> None:
    notice = f"{FOOTLINE} Whoever wants to answer writes to the desk, and names the day and the page."
    html = page(body=f"<article><p>{notice}</p><p>{FOOTLINE * 2}</p></article>")
    assert notice in read(html).text
    with pytest.raises(NotAnArticle, match="no_text"):
        read(html, memory=memory_of(LEAST, [notice], [], [FOOTLINE * 2]))


def test_copies_and_versions_of_one_article_count_once() -> None:
    memory = SiteMemory()
    for number in range(2 * RECENT):
        memory.learn(f"copy {number}", [*PROSE, *news_lines(1), f"Read {number} times"])
        memory.learn("a", [f"Version {number}", *PROSE])
    assert len(memory) == 2
    assert kept_of(memory, *PROSE) == PROSE


def test_an_article_does_not_count_for_itself() -> None:
    memory = memory_of(LEAST, [], [], [FOOTLINE])
    assert memory.site_lines("a3", [*news_lines(3), FOOTLINE]) == []


def test_the_memory_is_bounded_and_drops_the_oldest_articles() -> None:
    memory = SiteMemory()
    for number in range(300):
        memory.learn(f"a{number}", [f"Line {line} of page {number}" for line in range(500)])
    assert len(memory) == RECENT
    assert len(str(memory.plain())) < 50_000
    assert SiteMemory().site_lines("a", ["One line"]) == memory.site_lines("a", []) == []


def test_the_number_of_sites_with_a_memory_is_limited() -> None:
    memories = SiteMemories(most=2)
    memories.of("a.test").learn("a", PROSE)
    assert len(memories.of("b.test")) == 0
    assert len(memories.of("a.test")) == 1
    memories.of("c.test")
    memories.of("d.test")
    assert len(memories.of("a.test")) == 0


@given(st.integers(0, 2**32), st.integers(LEAST + 1, 2 * RECENT), st.integers(10, 30))
def test_articles_that_share_a_fifth_of_their_paragraphs_keep_all_paragraphs(
    seed: int, articles: int, length: int
) -> None:
    chance = Random(seed)
    shared = [
        f"Background {number} of the story that runs since spring." for number in range(length // 5 + 2)
    ]
    memory = SiteMemory()
    for number in range(articles):
        lines = [f"Paragraph {line} of article {number} alone" for line in range(length - length // 5)]
        lines += chance.sample(shared, length // 5)
        chance.shuffle(lines)
        assert memory.site_lines(f"a{number}", lines) == []
        memory.learn(f"a{number}", lines)


@given(
    st.lists(
        st.lists(st.sampled_from([f"Line number {number} of the site" for number in range(9)]), max_size=4),
        max_size=25,
    )
)
def test_a_memory_is_unchanged_after_writing_and_reading(articles: list[list[str]]) -> None:
    memory = SiteMemory()
    for number, lines in enumerate(articles):
        memory.learn(str(number), lines)
    copy = SiteMemory()
    copy.take(memory.plain())
    memory.take(memory.plain())
    assert copy.plain() == memory.plain()
    every = [f"Line number {number} of the site" for number in range(9)]
    for number in range(len(articles) + 1):
        assert copy.site_lines(str(number), every) == memory.site_lines(str(number), every)


LINES = st.lists(st.sampled_from(["Two of us", "12: a line", "0: 1", "a: b", ": "]), max_size=6)


@given(LINES, st.sets(st.integers(0, 5)))
def test_removed_lines_are_shown_at_their_place(lines: list[str], chosen: set[int]) -> None:
    removed = sorted(number for number in chosen if number < len(lines))
    kept = [line for number, line in enumerate(lines) if number not in removed]
    article = make_article(text="\n".join(kept))
    article.site_lines = [(number - before, lines[number]) for before, number in enumerate(removed)]
    assert article.shown == "\n".join(lines)


def test_joined_pages_show_removed_lines_at_their_place() -> None:
    pages = [make_article(1, text="a\nb"), make_article(1, text="c\nd")]
    pages[0].site_lines = [(0, "before"), (2, "after")]
    pages[1].site_lines = [(1, "within"), (2, "after")]
    assert join_pages(pages).shown.split("\n") == ["before", "a", "b", "after", "c", "within", "d", "after"]


@pytest.mark.parametrize("line", ["one\u2028two", "one\x85two", "one\x0ctwo", "1: 2"])
def test_a_removed_line_may_have_any_sign(line: str) -> None:
    article = make_article(text="first\nsecond")
    article.site_lines = [(0, line), (1, "plain")]
    assert article.site_lines == [(0, line), (1, "plain")]
    assert article.shown == f"{line}\nfirst\nplain\nsecond"
