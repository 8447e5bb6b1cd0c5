"""How the text of a page is chosen: pieces, their features, the trees, the text."""

from __future__ import annotations

import json

import numpy as np
import pytest

from newsbot.pages.extraction import parse_html
from newsbot.pages.extraction.body import text as body_text
from newsbot.pages.extraction.body.features import Known, View, columns_of
from newsbot.pages.extraction.body.pieces import MAX_PIECES, REGIONS, SUBJECTS, Pieces, cut
from tests.extraction_pages import PROSE, TEXT, json_ld, page, read

MENU = (
    "<ul class=menu>" + "".join(f"<li><a href=/{n}>Section number {n}</a></li>" for n in range(12)) + "</ul>"
)


def pieces_of(body: str) -> Pieces:
    return cut(parse_html(f"<body>{body}</body>".encode()))


def view_of(body: str, known: Known | None = None) -> View:
    return View(pieces_of(body), known or Known())


def subjects(tally: int) -> set[str]:
    counts = tally.to_bytes(len(SUBJECTS), "little")
    return {name for name, count in zip(SUBJECTS, counts, strict=True) if count}


def test_pieces_keep_order_links_and_boxes() -> None:
    pieces = pieces_of(
        "<div class='storyBody main'><p>One <a href=/x>two</a></p>three<br>four</div>"
        "<div hidden><b>five</b><script>no</script> six</div>"
    )
    tree = pieces.tree
    assert pieces.texts == ["One two", "three", "four", "five six"]
    assert pieces.linked == [3, 0, 0, 0]
    assert pieces.strong == [0, 0, 0, 4]
    assert pieces.broken == [False, False, True, False]
    assert [tree.tags[box] for box in pieces.boxes] == ["p", "div", "div", "div"]
    assert tree.parents[pieces.boxes[0]] == pieces.boxes[1]
    assert subjects(tree.around[pieces.boxes[0]]) == {"article", "body", "main_text"}
    assert tree.regions[pieces.boxes[3]] == 1 << REGIONS.index("hidden")


def test_boxes_have_the_names_of_their_elements() -> None:
    """An element without text gets no box, and a box ends where its element ends."""
    pieces = pieces_of("<nav><ul><li></ul></nav><aside><p>one</p></aside><main><div><p>two</p></div></main>")
    regions = [pieces.tree.regions[box] for box in pieces.boxes]
    assert regions == [1 << REGIONS.index("aside"), 1 << REGIONS.index("main")]
    assert pieces.tree.tags == ["body", "aside", "p", "main", "div", "p"]


def test_a_custom_element_does_not_split_a_sentence() -> None:
    pieces = pieces_of(
        "<p>One study (<x-ref><a href=/s>1</a></x-ref>) says so</p><x-box><p>two</p></x-box> three"
    )
    assert pieces.texts == ["One study (1) says so", "two", "three"]


def test_an_image_splits_the_line_and_has_no_text() -> None:
    pieces = pieces_of(
        "<p>One<img src=a.jpg alt='The dam at night, from the road'>two</p><iframe></iframe>three"
    )
    assert pieces.texts == ["One", "two", "three"]
    assert pieces.pictures == [0, 1, 1]
    assert pieces.alts == ["The dam at night, from the road"]


def test_pieces_are_bounded() -> None:
    assert len(cut(parse_html(b"<p>x</p>" * (MAX_PIECES + 500))).texts) == MAX_PIECES


def test_removed_elements_are_not_pieces() -> None:
    tree = parse_html(b"<body><p>one</p><div id=x><p>two</p></div> three</body>")
    assert cut(tree, [tree.get_element_by_id("x")]).texts == ["one", "three"]


def test_the_score_is_the_sum_of_the_leaves_of_all_trees() -> None:
    """Tree 1: a > 1, then 2,000, else -1,000. Tree 2: b > 10, then (a > 1, then 7, else 4,000), else 250."""
    keep = [0xFF] * (body_text.LEAVES - 1)
    forest = body_text.from_json(
        json.dumps(
            {
                "names": ["a", "b"],
                "feature": [0] * 7 + [1, 0, 0, 0, 0, 0, 0],
                "threshold": [1] * 7 + [10, 1, 0, 0, 0, 0, 0],
                "mask": [0xFE, *keep[1:], 0xFE, 0xFD, *keep[2:]],
                "value": [-1000, 2000, 0, 0, 0, 0, 0, 0, 250, 4000, 7, 0, 0, 0, 0, 0],
            }
        )
    )
    columns = {"a": np.array([1, 2, 0, 2], np.float32), "b": np.array([10, 10, 99, 99], np.float32)}
    assert forest.scores(columns).tolist() == [-750, 2250, 3000, 2007]


def test_all_features_of_the_shipped_trees_are_computed() -> None:
    forest = body_text.shipped()
    assert forest.feature.max() < len(forest.names)
    assert len(forest.feature) // (body_text.LEAVES - 1) == len(forest.value) // body_text.LEAVES
    assert set(forest.names) <= columns_of(view_of(TEXT)).keys()


def test_features_of_the_box_with_most_prose() -> None:
    view = view_of(f"<div><section>{TEXT}</section></div><footer><p>{PROSE[0][:60]}</p></footer>")
    columns = columns_of(view)
    assert view.in_densest.tolist() == [*[True] * len(PROSE), False]
    assert columns["densest_up"].tolist() == [*[1.0] * len(PROSE), 50.0]
    assert columns["densest_like"][0] == 1
    assert columns["densest_like"][-1] < 0.5


def test_features_of_a_text_stated_in_data() -> None:
    known = Known(stated="A line as stated.\nA line as stated. And more. And the rest of it.")
    body = "<p>A line as stated.</p><p>A line as stated. And more.</p><p>Another line.</p>"
    assert columns_of(view_of(body, known))["stated"].tolist() == [2, 1, 0]
    assert columns_of(view_of(body))["stated"].tolist() == [-1, -1, -1]


def test_features_of_words_shared_with_the_headline() -> None:
    known = Known(headline="Volunteers filled sandbags when the river rose", site=frozenset({"example.org"}))
    columns = columns_of(
        view_of(f"{TEXT}<div><p>Rules of example.org for comments: be polite.</p></div>", known)
    )
    assert columns["titled"].tolist() == [1, 0, 0, 3, 0]
    assert columns["above1_titled"].tolist() == [1, 1, 1, 1, 0]
    assert columns["box_titled"].tolist() == [0.25, 0, 0, 0.75, 0]
    assert columns["says_site"].tolist() == [0, 0, 0, 0, 1]


def test_the_same_beginnings_are_searched_in_each_process() -> None:
    lines = [
        f"Line number {number:03d} of a list that is longer than the model compares." for number in range(600)
    ]
    copy = " ".join(lines[:500])
    view = view_of("".join(f"<p>{line}</p>" for line in [*lines, copy]))
    assert view.held_starts[-1] == 499


def test_features_are_the_same_on_each_machine() -> None:
    """Sums are integers, and a share is the quotient of two integers."""
    view = view_of(f"<div>{TEXT}</div>{MENU}")
    for values in (view.length, view.linked, view.prose, view.box_scores):
        assert values.dtype.kind == "i"
    assert body_text.judge(view).dtype.kind == "i"


def test_paragraphs_are_taken_and_menus_are_left_out() -> None:
    assert read(page(body=f"{MENU}<div class=story>{TEXT}</div>{MENU}")).text.splitlines() == PROSE


def scored(body: str, scores: list[int]) -> list[str]:
    """Return the pieces that are taken as text if they have these scores."""
    view = view_of(body)
    view.scores = np.array(scores, np.int64)
    taken = body_text.taken(view)
    return [text for text, is_taken in zip(view.pieces.texts, taken, strict=True) if is_taken]


SURE, DOUBTED, FOREIGN = 3000, body_text.UNLIKELY + 500, body_text.UNLIKELY - 500


def test_a_piece_with_an_uncertain_score_is_taken() -> None:
    assert scored(TEXT, [SURE, SURE, SURE, body_text.UNSURE + 1]) == PROSE
    assert scored(TEXT, [SURE, SURE, SURE, body_text.UNSURE]) == PROSE[:3]


@pytest.mark.parametrize(("score", "count"), [(DOUBTED, 5), (FOREIGN, 4)])
def test_a_paragraph_with_a_low_score_within_a_block_of_prose_is_taken(score: int, count: int) -> None:
    body = f"<div class=story>{TEXT}<p>{PROSE[0]}</p></div>"
    assert len(scored(body, [SURE, score, SURE, SURE, SURE])) == count


def test_prose_with_a_low_score_outside_the_block_is_left_out() -> None:
    note = f"<p>{PROSE[0]}</p>"
    assert scored(f"{note}{TEXT}{note}", [DOUBTED, *[SURE] * 4, DOUBTED]) == PROSE
    notes = f"<div class=note>{note}{note}</div>"
    assert scored(f"{TEXT}{notes}{TEXT}", [*[SURE] * 4, DOUBTED, DOUBTED, *[SURE] * 4]) == PROSE * 2


@pytest.mark.parametrize(("score", "is_taken"), [(DOUBTED, True), (FOREIGN, False)])
def test_a_heading_with_a_low_score_between_paragraphs_is_taken(score: int, is_taken: bool) -> None:
    heading = "<h2>What happens next</h2>"
    body = f"{heading}{TEXT}{heading}{TEXT}{heading}"
    found = scored(body, [score, *[SURE] * 4, score, *[SURE] * 4, score])
    assert found == [*PROSE, *["What happens next"] * is_taken, *PROSE]


def test_a_second_copy_of_the_text_is_left_out() -> None:
    twice = page(body=f"<article><div class=story>{TEXT}</div></article><div class=print>{TEXT}</div>")
    assert read(twice).text.splitlines() == PROSE


def test_an_empty_page_has_no_pieces() -> None:
    view = view_of("<p><img src=x></p>")
    assert view.count == 0
    assert body_text.judge(view).tolist() == []


def test_quotes_are_marked_in_the_structure() -> None:
    article = read(page(body=f"{TEXT}<blockquote><p>{PROSE[0]} And so on.</p></blockquote>{TEXT}"))
    quoted = article.text.splitlines().index(f"{PROSE[0]} And so on.")
    assert article.structure == {"quote": [quoted]}


@pytest.mark.parametrize("shown", [1, 2])
def test_a_stated_text_is_used_if_less_than_half_of_it_is_visible(shown: int) -> None:
    whole = [*PROSE, *(f"{line} The council heard that again." for line in PROSE)]
    stated = json_ld(json.dumps({"@type": "NewsArticle", "articleBody": "\n".join(whole)}))
    article = read(page(stated, "".join(f"<p>{line}</p>" for line in PROSE[:shown])))
    assert article.text.splitlines() == whole
