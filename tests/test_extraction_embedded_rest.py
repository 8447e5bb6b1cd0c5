"""Pages that show only the beginning of a text and have the rest as data of their scripts."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.extraction_pages import PROSE, TEXT, page, read

PLAIN = "\n\n".join(PROSE)
OTHERS = [
    {"title": "Snow", "lead": "Snow closes the upper road for two days, and nobody knows what comes next."}
]
DATA: dict[str, Any] = {
    "markup": {"props": {"post": {"title": "Rain", "html": TEXT}, "related": OTHERS}},
    "plain text": {"post": {"body": PLAIN}, "related": OTHERS},
    "paragraphs": {"related": OTHERS, "post": {"blocks": [{"type": "p", "text": text} for text in PROSE]}},
    "strings": {"post": {"id": 7, "text": PROSE}, "related": OTHERS},
    "JSON in a string": {"cache": json.dumps({"post": {"html": TEXT}})},
}
DATA["parts of paragraphs"] = {
    "rows": [
        {"type": "p", "kids": [{"text": text[:20]}, {"bold": True, "text": text[20:]}]} for text in PROSE
    ]
}
DATA["React"] = [1, "5:" + json.dumps(["$", "div", None, {"post": {"body": TEXT}}])]
SCRIPTS = [
    '<script id="__NEXT_DATA__" type="application/json">{}</script>',
    "<script>window.__STATE__ = {};</script>",
]


def shown(data: str, script: str = SCRIPTS[0]) -> bytes:
    body = "".join(f"<p>{text}</p>" for text in PROSE[:2])
    return page(body=body).replace(b"</body>", script.replace("{}", data).encode() + b"</body>")


@pytest.mark.parametrize("script", SCRIPTS)
@pytest.mark.parametrize("form", DATA)
def test_the_rest_of_the_text_is_read_from_the_data(form: str, script: str) -> None:
    article = read(shown(json.dumps(DATA[form]).replace("</", "<\\/"), script))
    assert article.text.split("\n") == PROSE
    assert article.extraction["text"] == "embedded"


def test_the_state_of_angular_is_read() -> None:
    data = json.dumps({"G.json.post": {"body": {"html": TEXT}}})
    for escape, sign in (("&a;", "&"), ("&q;", '"'), ("&s;", "'"), ("&l;", "<"), ("&g;", ">")):
        data = data.replace(sign, escape)
    script = "<script id='serverApp-state' type='application/json'>{}</script>"
    assert read(shown(data, script)).text.split("\n") == PROSE


def test_data_without_more_text_change_nothing() -> None:
    data = json.dumps({"post": {"blocks": PROSE[:2]}, "related": OTHERS})
    article = read(shown(data))
    assert article.text.split("\n") == PROSE[:2]
    assert article.extraction["text"] == "learned"


def test_letters_that_the_data_escape_are_found() -> None:
    prose = [f"Évacuée à l’aube, la vallée « revit » : {text}" for text in PROSE]
    data = json.dumps({"post": {"paragraphs": prose}})
    html = page(body="".join(f"<p>{text}</p>" for text in prose[:2]))
    article = read(html.replace(b"</body>", SCRIPTS[0].replace("{}", data).encode() + b"</body>"))
    assert article.text.split("\n") == prose
