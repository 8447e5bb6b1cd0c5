"""Leads and key points that a page marks as such are part of its text."""

from __future__ import annotations

import numpy as np
import pytest

from newsbot.extraction import parse_html
from newsbot.extraction.body.openings import openings
from newsbot.extraction.body.pieces import cut
from tests.extraction_pages import PROSE, TEXT, page, read

LEAD = "Why the lower town is under water for the third time, and what the mayor wants to do about it"
CJK_LEAD = "下城区今年第三次被水淹没，市长说明他打算怎样应对这件事情"
OTHER = "How the hospital of the upper town came to its new roof, told by those who carried the tiles there"
POINTS = ["The lower road is closed until Sunday at the earliest.", "Everybody left the houses in time."]
ITEMS = "".join(f"<li>{one}</li>" for one in POINTS)


def found(body: str, *, taken: tuple[str, ...] = tuple(PROSE[:1])) -> list[str]:
    """Return the openings of a page with LEAD or CJK_LEAD in its head; ``taken`` is the text found so far."""
    pieces = cut(parse_html(page("", body, h1="")))
    texts = [piece.text for piece in pieces]
    marks = openings(
        pieces,
        np.array([2.0 if text in PROSE[1:] else -2.0 for text in texts], np.float32),
        np.array([text in (LEAD, CJK_LEAD) for text in texts]),
        np.zeros(len(pieces), np.bool_),
        np.array([text in taken for text in texts]),
    )
    return [text for text, marked in zip(texts, marks, strict=True) if marked]


@pytest.mark.parametrize("markup", ["<h2>{}</h2>", "<p class=dek>{}</p>", "<div><span>{}</span></div>"])
def test_the_lead_that_the_head_states_is_found(markup: str) -> None:
    body = f"<h1>Rain</h1>{markup.format(LEAD)}<p>By Ann Lee</p>{TEXT}"
    assert found(body) == [LEAD]
    assert found(body, taken=()) == [LEAD]
    assert found(body, taken=(LEAD,)) == [], "the lead is already in the text"
    assert found(body.replace(LEAD, CJK_LEAD)) == [CJK_LEAD]


@pytest.mark.parametrize(
    "body",
    [
        f"<h1>Rain</h1><p class=dek>{OTHER}</p>{TEXT}",
        f"<h1>Rain</h1><aside><p>{LEAD}</p></aside>{TEXT}",
        f"<h1>Rain</h1><p hidden>{LEAD}</p>{TEXT}",
        f"<h1>Rain</h1><figure><img src=rain.jpg><span>{LEAD}</span></figure>{TEXT}",
        f"<h1>Rain</h1><div class=photo><img src=rain.jpg><div class=caption>{LEAD}</div></div>{TEXT}",
        f"<h1>Rain</h1><div class=wp-caption><p>{LEAD}</p></div>{TEXT}",
        f"<h1>Rain</h1><p><a href=/other>{LEAD}</a></p>{TEXT}",
        f"<h1>Rain</h1>{TEXT}<div class=more><p>{LEAD}</p></div>",
        f"<p>{LEAD}</p><h1>Rain</h1>{TEXT}",
        f"<h1>The Rain Post</h1><p>{LEAD}</p><h1>Rain</h1>{TEXT}",
        f"<h1>{LEAD}</h1>{TEXT}",
        f"<p>{LEAD}</p>{TEXT}",
        f"<h1>Rain</h1><p>{LEAD}</p>",
    ],
    ids=[
        "other",
        "aside",
        "hidden",
        "figure",
        "caption",
        "caption of a box",
        "link",
        "below",
        "above",
        "slogan",
        "headline",
        "no-headline",
        "no-text",
    ],
)
def test_what_only_looks_like_a_lead_is_not(body: str) -> None:
    assert found(body) == []


@pytest.mark.parametrize(
    "markup",
    [
        "<div class='RenderKeyPoints-list'><div class=group><ul>{}</ul></div></div>",
        "<section id=key-takeaways><ol>{}</ol></section>",
        "<ul class='article_summary-list'>{}</ul>",
        "<div data-component=keypoints><ul>{}</ul></div>",
    ],
)
def test_points_in_a_box_that_names_them_are_found(markup: str) -> None:
    assert found(f"<h1>Rain</h1>{markup.format(ITEMS)}{TEXT}") == POINTS
    assert found(f"<h1>Rain</h1>{markup.format('<li>Rain')}{TEXT}") == [], "too short for a sentence"
    link = f"<li><a href=/live>{POINTS[0]}</a>"
    assert found(f"<h1>Rain</h1>{markup.format(link)}{TEXT}") == []
    assert found(f"<h1>Rain</h1><aside>{markup.format(ITEMS)}</aside>{TEXT}") == []


@pytest.mark.parametrize("name", ["keyboard points", "list", "summary", "pointers monkey-points"])
def test_points_of_other_boxes_are_not(name: str) -> None:
    assert found(f"<h1>Rain</h1><ul class='{name}'>{ITEMS}</ul>{TEXT}") == []


@pytest.mark.parametrize(
    "body",
    [
        "<div class=has-key-points><ul>{0}</ul><h1>Rain</h1>{1}</div>",
        "<main class=with-key-takeaways><div>{1}<ol>{0}</ol></div></main>",
    ],
)
def test_a_box_around_the_whole_article_names_no_list(body: str) -> None:
    assert found(body.format(ITEMS, TEXT)) == []


def test_they_open_the_text_of_an_article() -> None:
    """The trees alone omit them: headings are short, and boxes have class names like those of link lists."""
    head = f'<meta name="description" content="{LEAD}">'
    lead = f"<header class=promo><div class=tools><h2 class='social share-title'>{LEAD}</h2></div></header>"
    points = f"<div class='KeyPoints-list promo related'><h2>Key Points</h2><ul>{ITEMS}</ul></div>"
    days = [f"{PROSE[day % 4]} That was said on day {day} of the flood." for day in range(12)]
    text = "".join(f"<p>{one}</p>" for one in days)
    lines = read(page(head, lead + points + text)).text.splitlines()
    assert lines == [LEAD, *POINTS, *days]
    assert read(page("", lead + points.replace("KeyPoints", "Pointers") + text)).text.splitlines() == days
