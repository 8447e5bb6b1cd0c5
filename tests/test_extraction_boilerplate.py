"""The memory of a site: lines that two articles share are no body."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from newsbot.extraction import SiteMemories, SiteMemory
from newsbot.extraction.blocks import Block
from tests.extraction_pages import PROSE, TEXT, URL, page, read

FOOTLINE = "The editors are happy about letters and reserve the right to shorten them where space is scarce."


def blocks(*texts: str) -> list[Block]:
    return [Block("paragraph", text) for text in texts]


def test_a_line_of_another_article_is_left_out() -> None:
    html = page(body=f"<article>{TEXT}<p>{FOOTLINE}</p></article>")
    assert FOOTLINE in read(html).text
    memory = SiteMemory()
    memory.learn("https://www.example.org/other", ["Something else happened on the upper road.", FOOTLINE])
    assert read(html, memory=memory).text.splitlines() == PROSE


def test_reading_changes_nothing_and_an_article_knows_its_own_lines() -> None:
    html = page(body=f"<article>{TEXT}<p>{FOOTLINE}</p></article>")
    memory = SiteMemory()
    memory.learn(URL, read(html).text.splitlines())
    size = len(memory)
    assert FOOTLINE in read(html, memory=memory).text
    assert len(memory) == size


def test_a_line_of_several_articles_belongs_to_none_of_them() -> None:
    memory = SiteMemory()
    memory.learn("a", ["First of all lines", FOOTLINE])
    memory.learn("b", ["Another one of the lines", FOOTLINE])
    assert memory.own("a", blocks("First of all lines", FOOTLINE)) == blocks("First of all lines")


def test_the_same_article_under_another_address_is_kept_whole() -> None:
    memory = SiteMemory()
    memory.learn("a", PROSE)
    assert memory.own("b", blocks(*PROSE)) == blocks(*PROSE)
    memory.learn("b", PROSE)
    assert memory.own("a", blocks(*PROSE)) == blocks(*PROSE)


def test_short_lines_may_come_again() -> None:
    memory = SiteMemory()
    memory.learn("a", ["He agreed."])
    assert memory.own("b", blocks("He agreed.")) == blocks("He agreed.")


def test_the_memory_is_bounded_and_forgets_what_was_not_met_for_longest() -> None:
    memory = SiteMemory(most=100)
    for number in range(300):
        memory.learn(f"page {number}", [f"The line that only page {number} has", FOOTLINE])
    assert len(memory) == 100
    assert memory.own("new", blocks(FOOTLINE)) == []
    assert memory.own("new", blocks("The line that only page 1 has"))


def test_a_paragraph_of_background_may_stand_in_two_articles_but_not_in_three() -> None:
    told = (
        "The bridge was built in 1931, burnt down in the last year of the war, and had no roof for ten years."
        * 2
    )
    memory = SiteMemory()
    memory.learn("a", ["The first of the three articles", told])
    assert memory.own("b", blocks(told)) == blocks(told)
    memory.learn("b", ["The second of the three articles", told])
    memory.learn("a", ["The first of the three articles, read again", told])
    assert memory.own("a", blocks(told)) == memory.own("b", blocks(told)) == blocks(told)
    third = "The third of the three articles"
    assert memory.own("c", blocks(third, told)) == blocks(third)
    memory.learn("c", [third, told])
    assert memory.own("a", blocks(told)) == []


def test_each_site_has_a_memory_and_so_many_sites_have_one() -> None:
    memories = SiteMemories(most=2)
    memories.of("a.test").learn("a", [FOOTLINE])
    assert memories.of("b.test").own("b", blocks(PROSE[0], FOOTLINE)) == blocks(PROSE[0], FOOTLINE)
    assert memories.of("a.test").own("b", blocks(PROSE[0], FOOTLINE)) == blocks(PROSE[0])
    memories.of("c.test")
    assert len(memories.of("a.test")) == 1
    assert len(memories.of("b.test")) == 0


def test_a_short_article_under_another_address_is_kept_whole_too() -> None:
    memory = SiteMemory()
    memory.learn("a", PROSE[:2])
    assert memory.own("b", blocks(*PROSE[:2])) == blocks(*PROSE[:2])


@given(
    st.lists(
        st.lists(st.sampled_from([f"Line number {number} of the site" for number in range(9)]), max_size=4),
        max_size=6,
    )
)
def test_a_memory_that_was_written_and_read_knows_the_same(articles: list[list[str]]) -> None:
    memory = SiteMemory()
    for number, lines in enumerate(articles):
        memory.learn(str(number), lines)
    copy = SiteMemory()
    copy.take(memory.plain())
    copy.take(memory.plain())
    every = blocks("A line of its own", *(f"Line number {number} of the site" for number in range(9)))
    assert copy.plain() == memory.plain()
    for number in range(len(articles) + 1):
        assert copy.own(str(number), every) == memory.own(str(number), every)
