"""Features of text pieces that depend on other text: text found so far, headline, authors, copies."""

from __future__ import annotations

import numpy as np
import pytest

from newsbot.extraction import parse_html
from newsbot.extraction.body.context_features import company
from newsbot.extraction.body.learned import judge, without_copies
from newsbot.extraction.body.pieces import cut
from newsbot.extraction.body.text import known_of
from newsbot.extraction.body.word_features import Columns, Known, said_in
from newsbot.extraction.page.page import Page
from tests.extraction_pages import PROSE, TEXT, URL, page, read

NOTHING = Known(frozenset(), "")


def columns(markup: str, known: Known = NOTHING, extracted: str = "", found: tuple[int, ...] = ()) -> Columns:
    pieces = cut(parse_html(f"<body>{markup}</body>".encode()))
    marks = np.array(found or [0] * len(pieces), np.float32)
    return company(pieces, said_in(pieces), known, extracted, marks)


def test_a_piece_of_other_words_shares_little_with_the_text() -> None:
    lines = [
        "The river carried bridges away.",
        "Bridges across rivers opened.",
        "Actress marries singer abroad.",
    ]
    markup = "".join(f"<p>{line}</p>" for line in lines)
    shared = columns(markup, extracted="\n".join(lines[:2]), found=(2, 2, 0))["shared"].tolist()
    assert shared[0] == pytest.approx(2 / 3)  # "river" and "bridg" occur elsewhere, "carri" does not
    assert shared[2] == 0
    assert columns(markup)["shared"].tolist() == [-1, -1, -1]


def test_teasers_of_a_box_are_told_by_their_mean() -> None:
    inside, outside = "<p>The river rises.</p>", "<div><p>River actress</p><p>Singer abroad</p></div>"
    found = columns(inside + outside, extracted="The river rises.\nAnother river.", found=(2, 0, 0))
    assert found["shared"].tolist() == [0.5, 0.5, 0.0]
    assert found["shared_group1"].tolist()[1:] == [0.25, 0.25]


def test_labels_are_alike_captions_repeat_pictures_names_are_said() -> None:
    known = Known(
        frozenset(),
        "",
        authors=frozenset({"ann lee"}),
        site=frozenset({"dailyriver"}),
        captions=frozenset({"A dam in the morning sun"}),
    )
    found = columns(
        "<p>READ THIS TOO | one</p><p>READ THIS TOO | two</p><img src=a><p>A dam in the morning sun</p>"
        "<p>Ann Lee writes for the Daily River.</p>",
        known,
    )
    assert found["alike"].tolist() == [1, 1, 0, 0]
    assert found["pictures"].tolist() == [0, 0, 1, 0]
    assert found["pictures_next"].tolist() == [0, 1, 0, 0]
    assert found["caption"].tolist() == [0, 0, 1, 0]
    assert found["says_author"].tolist() == [0, 0, 0, 1]
    assert found["says_site"].tolist() == [0, 0, 0, 1]


def test_what_the_page_says_of_authors_site_and_pictures_is_known() -> None:
    head = '<meta name="author" content="Ann Lee"><meta property="og:site_name" content="The Daily River">'
    tree = parse_html(page(head, f'{TEXT}<img alt="A dam in the morning sun">'))
    known = known_of(Page.read(tree, URL))
    assert known.authors == {"ann lee"}
    assert known.site == {"example", "thedailyriver"}
    assert known.captions == {"A dam in the morning sun"}


def test_a_picture_breaks_the_line_and_holds_no_text() -> None:
    pieces = cut(parse_html(b"<body><p>one <img src=a alt=x> two</p><video>no</video><p>three</p></body>"))
    assert [(piece.text, piece.pictures) for piece in pieces] == [("one", 0), ("two", 1), ("three", 1)]


def test_the_whole_text_once_more_in_one_piece_is_left_out() -> None:
    lines = [f"{line} It is line {number} of them." for number, line in enumerate(PROSE * 4)]
    body = "".join(f"<p>{line}</p>" for line in lines)
    html = page(body=f'{body}<div class="copy">{" ".join(lines[1:])}</div>')
    pieces, copies = without_copies(cut(parse_html(html)))
    assert copies == {" ".join(lines[1:])}
    assert [piece.text for piece in pieces][1:] == lines
    assert judge(parse_html(html), NOTHING, "").copies == copies
    assert read(html).text.splitlines() == lines


def test_a_long_piece_that_others_quote_is_no_copy() -> None:
    long = " ".join(f"{line} It is line {number} of them." for number, line in enumerate(PROSE * 4))
    quotes = "".join(f"<blockquote>{line}</blockquote>" for line in PROSE[:3])
    pieces = cut(parse_html(f"<body><div>{long}</div>{quotes}</body>".encode()))
    assert without_copies(pieces) == (pieces, frozenset())
