"""The generic text: the first reading of trafilatura, corrected by decision trees."""

from __future__ import annotations

import json

import numpy as np
import pytest

from newsbot.extraction import parse_html
from newsbot.extraction.blocks import Block
from newsbot.extraction.body import extractor as body
from newsbot.extraction.body.forest import from_json, shipped
from newsbot.extraction.body.group_features import surrounding_clues
from newsbot.extraction.body.learned import GAP, Judged, judge, without_weak_islands
from newsbot.extraction.body.pieces import MAX_PIECES, Box, Piece, cut
from newsbot.extraction.body.talk import NAMES, counts, talks, tally
from newsbot.extraction.body.word_features import Known, basic_clues, own_clues, said_in
from newsbot.extraction.strings import words
from tests.extraction_pages import PROSE, TEXT, page, read, saved

NOTHING = Known(frozenset(), "")
MENU = (
    "<ul class=menu>" + "".join(f"<li><a href=/{n}>Section number {n}</a></li>" for n in range(12)) + "</ul>"
)


def blocks(*texts: str) -> list[Block]:
    return [Block("paragraph", text) for text in texts]


def test_pieces_keep_order_links_and_boxes() -> None:
    tree = parse_html(
        b"<body><div class='storyBody main'><p>One <a href=/x>two</a></p>three<br>four</div>"
        b"<div hidden><b>five</b><script>no</script> six</div></body>"
    )
    pieces = cut(tree)
    assert [piece.text for piece in pieces] == ["One two", "three", "four", "five six"]
    assert pieces[0].linked == pytest.approx(3 / 7)
    assert pieces[0].box.parent is not None
    assert pieces[0].box.parent.words == ("story", "body", "main")
    assert [piece.after_break for piece in pieces] == [False, False, True, False]
    assert "hidden" in pieces[3].box.regions
    assert pieces[3].strong == pytest.approx(0.5)


def test_an_element_of_the_sites_own_breaks_no_sentence() -> None:
    tree = parse_html(
        b"<body><p>One study (<x-ref><a href=/s>1</a></x-ref>) says so</p><x-box><p>two</p></x-box> three"
    )
    assert [piece.text for piece in cut(tree)] == ["One study (1) says so", "two", "three"]


def test_pieces_are_bounded() -> None:
    assert len(cut(parse_html(b"<p>x</p>" * (MAX_PIECES + 500)))) == MAX_PIECES


def test_trees_add_up_along_the_branches() -> None:
    forest = from_json(
        json.dumps(
            {
                "names": ["a", "b"], "base": 0.5, "depth": 2, "roots": [0, 3],
                "feature": [0, -1, -1, 1, -1, -1], "threshold": [1, 0, 0, 10, 0, 0],
                "left": [1, 0, 0, 4, 0, 0], "right": [2, 0, 0, 5, 0, 0],
                "value": [0, -1, 2, 0, 0.25, 4],
            }
        )
    )  # fmt: skip
    columns = {"a": np.array([1, 2, 0], np.float32), "b": np.array([10, 11, 99], np.float32)}
    assert forest.scores(columns).tolist() == [-0.25, 6.5, 3.5]


def test_the_shipped_trees_know_all_their_numbers() -> None:
    forest = shipped()
    assert len(forest.roots) == 300
    assert forest.feature.max() < len(forest.names)
    assert forest.children.max() < len(forest.value)


def test_words_of_a_line_tell_what_it_talks_of() -> None:
    lines = [
        "Все права защищены, перепечатка без гиперссылки запрещена",
        "The mayor said on Monday that the bridge will be closed",
        "—",
    ]
    law, prose, nothing = talks(lines)
    assert law[NAMES.index("law")] == pytest.approx(3 / 7)
    assert prose[NAMES.index("small")] > 0.5
    assert prose[NAMES.index("law")] == 0
    assert set(nothing) == {0.0}
    assert talks(lines, [["law"], words(lines[1]), []])[1:].tolist() == [prose.tolist(), nothing.tolist()]


def test_counts_side_by_side_are_added_in_one_go() -> None:
    many = sum([tally([0, 2])] * 1000) + tally([1])
    assert counts([many, tally([]), tally({1, 2})], 3).tolist() == [[1000, 1, 1000], [0, 0, 0], [0, 1, 1]]
    assert counts([], 3).shape == (0, 3)


def test_pieces_know_the_text_that_the_data_state() -> None:
    pieces = cut(
        parse_html(b"<p>A line as stated.</p><p>A line as stated. And more.</p><p>Another line.</p>")
    )
    known = Known(frozenset(), "", "A line as stated.\nA line as stated. And more. And the rest of it.")
    assert own_clues(pieces, known, said_in(pieces))["stated"].tolist() == [2, 1, 0]
    assert own_clues(pieces, NOTHING, said_in(pieces))["stated"].tolist() == [-1, -1, -1]


def test_pieces_know_the_box_with_most_prose() -> None:
    tree = parse_html(f"<div><section>{TEXT}</section></div><footer><p>{PROSE[0][:60]}</p></footer>".encode())
    pieces = cut(tree)
    columns = surrounding_clues(
        pieces, basic_clues(pieces) | {"title": np.zeros(len(pieces), np.float32)}, ""
    )
    assert columns["densest_up"].tolist() == [*[1.0] * len(PROSE), 50.0]
    assert columns["densest_like"][0] == 1
    assert columns["densest_like"][-1] < 0.5


def test_what_the_other_extractor_missed_goes_where_it_stands() -> None:
    pieces = cut(
        parse_html(
            b"<p>The lead of it all.</p><p>First of two</p><p>Cut in two. Second.</p><p>Third one.</p>"
        )
    )
    judged = Judged(pieces, np.array([2, 3, 3, 2], np.float32))
    found = blocks("First of two", "Here: Cut in two. Second.")
    whole = [block.text for block in judged.with_missing(found, 0.5)]
    assert whole == ["The lead of it all.", "First of two", "Here: Cut in two. Second.", "Third one."]
    assert judged.with_missing(found, 2.5) is found


def test_a_link_that_the_extractor_left_out_stays_out() -> None:
    tree = parse_html(b"<p>More: <a href=/x>The last days of the ferry</a></p><p>A line of the story.</p>")
    judged = Judged(cut(tree), np.array([3, 3], np.float32))
    assert judged.with_missing(blocks("A line of the story."), 0.5) == blocks("A line of the story.")


def test_a_weak_island_far_from_the_article_is_none_of_it() -> None:
    scores = np.array([5, 6, *[-3] * GAP, 1, 1, -3, 1], np.float32)
    lengths = np.full(len(scores), 100, np.float32)
    nothing = np.zeros(len(scores), np.bool_)
    left = without_weak_islands(scores, lengths, nothing)
    assert np.flatnonzero(left > 0).tolist() == [0, 1]
    assert left[2:-4].tolist() == [-3] * GAP
    assert (
        without_weak_islands(scores, lengths, scores > 0).tolist() == scores.tolist()
    )  # another extractor has it too
    near = np.delete(scores, 2)
    assert without_weak_islands(near, lengths[1:], nothing[1:]).tolist() == near.tolist()
    strong = np.where(scores == 1, np.float32(4), scores)
    assert without_weak_islands(strong, lengths, nothing).tolist() == strong.tolist()


def test_a_lead_that_the_extractor_leaves_out_is_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """trafilatura finds all but the first paragraph; the trees know that it belongs to the others."""
    monkeypatch.setattr(body, "first_reading", lambda _: blocks(*PROSE[1:]))
    found, method = body.generic_body(parse_html(page(body=f"<article>{TEXT}</article>")), NOTHING)
    assert method == "trafilatura"
    assert [block.text for block in found] == PROSE


def test_paragraphs_are_judged_in_and_menus_out() -> None:
    judged = judge(parse_html(page(body=MENU + "<article>" + TEXT + "</article>")), NOTHING, "\n".join(PROSE))
    assert [block.text for block in judged.blocks()] == PROSE


def test_a_second_copy_of_the_text_is_left_out() -> None:
    twice = page(body=f"<article><div class=story>{TEXT}</div></article><div class=print>{TEXT}</div>")
    lines = read(twice).text.splitlines()
    assert sorted(lines) == sorted(PROSE)


def test_an_empty_page_has_no_pieces() -> None:
    assert judge(parse_html(b"<p><img src=x></p><title>t</title>"), NOTHING, "").blocks() == []


def test_the_trees_decide_where_trafilatura_takes_something_else(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = blocks(*(f"Teaser number {n} leads to another story of the day." for n in range(6)))
    monkeypatch.setattr(body, "first_reading", lambda _: wrong)
    found, method = body.generic_body(parse_html(saved("news_jsonld.html")), NOTHING)
    assert method == "learned"
    assert len(found) > 1
    assert not any("Teaser number" in block.text for block in found)


def test_an_address_alone_stays_between_lines_of_the_article() -> None:
    """The trees do not judge a short link; a line between accepted lines is not part of a menu."""
    box = Box("p", (), None, frozenset(), "p", 0)
    texts = [
        "A first paragraph.",
        "https://example.org/a",
        "A second one.",
        "https://example.org/b",
        "More",
        "x",
    ]
    pieces = [Piece(text, box, 0.0, 0.0, 0, False) for text in texts]
    judged = Judged(pieces, np.array([2, -9, 1, -9, -9, -3], np.float32))
    kept = judged.without_foreign(blocks(*texts), -1.0)
    assert [block.text for block in kept] == texts[:3]
