"""Headlines of pages that have only a ``<title>``: the name of the site is not part of the headline."""

from __future__ import annotations

import pytest

from newsbot.pages.extraction.fields.titles import clean_title
from tests.extraction_pages import TEXT, read

URL = "https://www.hb-online.example/2026/mill-race"
TITLE = "Mill race to be dug out again"
NAME = "Der Wiesenbote"
NAMED = {
    "copyright": f"<footer>© 2019–2026 {NAME}. Alle Rechte vorbehalten</footer>",
    "copyright and town": f"<footer><p>(c) 2026 {NAME}, Hamburg</p></footer>",
    "link to the home page": f"<a href=/>{NAME}</a>",
    "logo": f"<a href=https://www.hb-online.example/index.html><img src=l.svg alt='{NAME}'></a>",
    "feed": f"<link rel=alternate type=application/rss+xml href=/feed/ title='{NAME} » Feed'>",
    "metadata": f"<meta name=copyright content='{NAME}'>",
}


def titled(title: str, more: str = "") -> str:
    body = f"<body>{more}<article>{TEXT}</article></body>"
    return read(f"<html lang=en><head><title>{title}</title></head>{body}</html>".encode(), URL).title


@pytest.mark.parametrize("where", NAMED)
@pytest.mark.parametrize(
    "title", [f"{TITLE} - {NAME}", f"{TITLE}: {NAME}", f"{NAME} — {TITLE}", f"{NAME}: {TITLE}"]
)
def test_the_page_shows_the_name_of_its_site(where: str, title: str) -> None:
    assert titled(title, NAMED[where]) == TITLE


@pytest.mark.parametrize(
    ("title", "more"),
    [
        ("Rome - Berlin by train: a night on the rails", "<a href=/>Home</a>"),
        ("Mill race: council says no", "<a href=/council/>Council says no</a>"),
        (
            "Mill race dug out – the diggers have come",
            "<link rel=alternate href=/2026/mill-race/feed/ title='Mill race dug out » Comments'>",
        ),
        ("Rain - more rain", "<footer>© Rain Example Company</footer>"),
    ],
)
def test_a_part_that_is_no_name_stays(title: str, more: str) -> None:
    assert titled(title, more) == title


def test_the_last_part_of_a_headline_with_dashes_is_the_name() -> None:
    title = "Rome - Berlin by train: a night on the rails"
    assert titled(f"{title} - {NAME}", NAMED["copyright"]) == title


def test_a_quotation_at_the_end_keeps_its_mark() -> None:
    assert clean_title("Mayor: «The mill must go»", []) == "Mayor: «The mill must go»"
    assert clean_title("Mill race dug out »", []) == "Mill race dug out"
