"""Leads and key points that a page marks as such are a part of its text."""

from __future__ import annotations

import pytest

from tests.extraction_pages import PROSE, page, read

LEAD = "Why the lower town is under water for the third time, and what the mayor wants to do about it"
POINTS = [
    "The lower road is closed until Sunday at the earliest.",
    "Everybody left the houses in time, and nobody was hurt.",
    "The dam holds, but a second wave is expected with the snow.",
    "Volunteers have filled nine hundred sandbags since the morning.",
]
ITEMS = "".join(f"<li>{one}</li>" for one in POINTS)
DAYS = [f"{PROSE[day % 4]} That was said on day {day} of the flood." for day in range(12)]
TEXT = "".join(f"<p>{one}</p>" for one in DAYS)
HEAD = f'<meta name="description" content="{LEAD}">'


@pytest.mark.parametrize("markup", ["<h2>{}</h2>", "<p class=dek>{}</p>", "<div><span>{}</span></div>"])
def test_the_lead_stated_in_the_head_begins_the_text(markup: str) -> None:
    assert read(page(HEAD, f"{markup.format(LEAD)}{TEXT}")).text.splitlines() == [LEAD, *DAYS]


def test_a_related_link_is_not_used_as_lead() -> None:
    markup = f"<aside class=related><p><a href=/other>{LEAD}</a></p></aside>"
    assert read(page(HEAD, f"{markup}{TEXT}")).text.splitlines() == DAYS


@pytest.mark.parametrize(
    "markup",
    [
        "<div class='RenderKeyPoints-list'><ul>{}</ul></div>",
        "<section id=key-takeaways><ol>{}</ol></section>",
    ],
)
def test_key_points_begin_the_text(markup: str) -> None:
    assert read(page(HEAD, f"{markup.format(ITEMS)}{TEXT}")).text.splitlines() == [*POINTS, *DAYS]


@pytest.mark.parametrize("frame", ["<header class=entry-header>{}</header>", "<div>{}</div>", "{}"])
def test_prose_just_above_the_headline_is_the_lead(frame: str) -> None:
    lead = "Twelve villages below the wall had to wait for the morning until they knew that they were safe."
    head = frame.format(f"<p class=standfirst>{lead}</p><h1>The dam holds after the long rain</h1>")
    markup = f"<title>The dam holds after the long rain</title><body><div>{head}{TEXT}</div></body>"
    assert read(markup.encode()).text.split("\n") == [lead, *DAYS]
