"""Searching many texts in one pass gives the same results as a naive search, in bounded time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from newsbot.apps.search.phrases import MAX_POSITIONS, MAX_TEXTS, WINDOW, Finder, Wanted
from newsbot.pages.extraction.parsing import parse_html
from newsbot.pages.extraction.visible import smooth, visible_text

LETTERS = st.text(alphabet="abAB .я", min_size=1, max_size=6).filter(lambda text: bool(text.strip()))


def places(finder: Finder, text: str, wanted: Wanted) -> list[int]:
    return [one.start for one in finder.find(text)[0][wanted].positions]


@given(st.lists(LETTERS, min_size=1, max_size=8), st.text(alphabet="abAB .я\n", max_size=80))
def test_one_pass_finds_the_same_as_separate_searches(texts: list[str], page: str) -> None:
    finder = Finder([Wanted(text) for text in texts])
    for text in texts:
        low, page_low = smooth(text).lower(), page.lower()
        expected = [at for at in range(len(page)) if page_low.startswith(low, at)]
        assert places(finder, page, Wanted(text)) == expected


def test_case_is_ignored_in_every_alphabet_and_positions_are_kept() -> None:
    finder = Finder([Wanted("МОСТ"), Wanted("straße"), Wanted("ſee"), Wanted("İ")])
    text = "İ Мост, STRAßE, see"
    assert [places(finder, text, one) for one in finder.wanted] == [[2], [8], [16], [0]]


def test_hits_are_counted_beyond_the_limit_of_positions() -> None:
    found, _ = Finder([Wanted("a")]).find("a" * (MAX_POSITIONS + 5))
    assert found[Wanted("a")].hits == MAX_POSITIONS + 5
    assert len(found[Wanted("a")].positions) == MAX_POSITIONS


def test_an_expression_finds_each_hit_in_a_long_line_once() -> None:
    line = "".join(f"n{number:05} " for number in range(2 * WINDOW))
    wanted = Wanted(r"n\d+", regex=True)
    found, whole = Finder([wanted]).find(f"first\n{line}")
    assert whole
    assert found[wanted].hits == 2 * WINDOW
    assert {one.line for one in found[wanted].positions} == {2}
    assert [one.start for one in found[wanted].positions[:3]] == [6, 13, 20]


def test_expressions_have_a_time_limit() -> None:
    now = iter(range(100))
    finder = Finder([Wanted("x+", regex=True)], clock=lambda: float(next(now)))
    found, whole = finder.find("x\nx\nx\nx")
    assert not whole
    assert found[Wanted("x+", regex=True)].hits < 4


@pytest.mark.parametrize(
    ("regex", "line"), [(r"(?:а|аа)+!", "А" * 1500 + "б!"), (r"(?:\d|\d\d)+!", "1" * 1500 + "-!")]
)
def test_exponential_expressions_have_a_time_limit(regex: str, line: str) -> None:
    found, whole = Finder([Wanted("end"), Wanted(regex, regex=True)]).find(f"{line}\nthe end")
    assert not whole
    assert found[Wanted("end")].hits == 1


@pytest.mark.parametrize(
    ("regex", "text"),
    [
        (r"[а-я]+\s\d+", "Погибли 12"),
        (r"\d+ (погибших|раненых)", "12 раненых"),
        (r"\bмост\w*", "Мостовая"),
        (r"[A-Z][a-z]+ [A-Z][a-z]+", "John Smith"),
    ],
)
def test_ordinary_expressions_are_accepted(regex: str, text: str) -> None:
    wanted = Wanted(regex, regex=True)
    assert [one.found for one in Finder([wanted]).find(f"- {text} -")[0][wanted].positions] == [text]


@pytest.mark.parametrize(
    "wanted",
    [
        [Wanted(" \u200b")],
        [Wanted("x" * 201)],
        [Wanted(str(number)) for number in range(MAX_TEXTS + 1)],
        [Wanted("(?<=a)?", regex=True)],
        [Wanted("(", regex=True)],
    ],
)
def test_invalid_texts_and_expressions_are_refused(wanted: list[Wanted]) -> None:
    with pytest.raises(ValueError, match=r"empty|characters|too many|pattern"):
        Finder(wanted)


def test_texts_that_are_prefixes_of_each_other_are_found_or_refused() -> None:
    texts = [Wanted("a" * length) for length in range(1, 101)]
    found, _ = Finder(texts).find("a" * 100)
    assert [found[one].hits for one in texts] == list(range(100, 0, -1))


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<p>a<b>b</b>c</p><p>d", "abc\nd"),
        ("<title>t</title><p>a<script>x</script><style>y</style><template>z</template>b", "ab"),
        ("<div hidden>x</div><p style='COLOR:red;display : none'>y</p>z", "z"),
        ("<div style='visibility:hidden'><p>x</p></div>a", "a"),
        ("a<!-- x -->b<br>c", "ab\nc"),
        ("<pre>a\n  b</pre>", "a b"),
        ("so&shy;ft a&nbsp;&nbsp;b", "soft a b"),
        ("<table><tr><td>a<td>b</table><ul><li>c<li>d</ul>", "a\nb\nc\nd"),
        ("<noscript>x</noscript><svg><text>y</text></svg><span style='display:inline'>a</span>", "a"),
    ],
)
def test_visible_text_is_the_text_shown_to_readers(html: str, text: str) -> None:
    assert visible_text(parse_html(f"<body>{html}".encode(), "utf-8")) == text
