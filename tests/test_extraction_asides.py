"""Parts of a line that do not belong to its words: comment counters, hints on how a link opens."""

from __future__ import annotations

import pytest

from newsbot.pages.extraction import parse_html
from newsbot.pages.extraction.parsing import MAX_ASIDE


def words_of(markup: str) -> str:
    """Return the words of a line, as all readers of a page get them."""
    return " ".join("".join(map(str, parse_html(f"<body>{markup}</body>".encode()).itertext())).split())


@pytest.mark.parametrize(
    "markup",
    [
        '<p><a id="comments_7_p_4" class="comments_count toggler">0</a>The mayor said so.</p>',
        '<p><span class="shareCount"> (12) </span>The mayor said so.</p>',
        '<p>The mayor said so<sup id="comment-4">3</sup>.</p>',
        '<p>The <a href="/m">mayor<span class="vh"> (öffnet im neuen Fenster)</span></a> said so.</p>',
        '<p>The <a href="/m">mayor<span>, opens new tab</span></a> said so.</p>',
        '<p>The <a href="/m">mayor<span> this link opens in a new tab</span></a> said so.</p>',
    ],
)
def test_markers_within_a_line_are_removed(markup: str) -> None:
    assert words_of(markup) == "The mayor said so."


@pytest.mark.parametrize(
    ("markup", "words"),
    [
        ("<p><span>12</span> people died.</p>", "12 people died."),
        ('<p><span class="discount">12</span> people came.</p>', "12 people came."),
        ('<p><a class="comments">12 comments</a></p>', "12 comments"),
        (
            "<p>A door <span>opens in a new tab of the mall</span>.</p>",
            "A door opens in a new tab of the mall.",
        ),
        (f'<p><a class="comments">{"7" * (MAX_ASIDE + 1)}</a></p>', "7" * (MAX_ASIDE + 1)),
    ],
)
def test_words_and_numbers_of_a_sentence_are_kept(markup: str, words: str) -> None:
    assert words_of(markup) == words
