"""Pages that show only the beginning of a text and have the rest as data of their scripts."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

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
DATA["objects by their id"] = {
    "Post:7": {"kind": "Post", "parts": [{"ref": f"Part:{number}"} for number in range(len(PROSE))]},
    **{f"Part:{number}": {"kind": "Part", "text": text} for number, text in enumerate(PROSE)},
    **{f"Teaser:{number}": {"kind": "Teaser", "lead": "Snow is on its way."} for number in range(4)},
}
DATA["React"] = [1, "5:" + json.dumps(["$", "div", None, {"post": {"body": TEXT}}])]
SCRIPTS = [
    '<script id="__NEXT_DATA__" type="application/json">{}</script>',
    "<script>window.__STATE__ = {};</script>",
    "<script>var c={debug:!0,at:undefined};window.layer=[{n:1}];window.a=[1,2];window.S={};</script>",
    "<script>load({user: undefined, page: {}, rest: [1]})</script>",
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


def in_one_quote(data: str) -> str:
    return "'" + data.replace("\\", "\\\\").replace("'", "\\'") + "'"


@pytest.mark.parametrize(
    ("script", "written"),
    [
        ("<script>window.S = JSON.parse({});</script>", json.dumps),
        ("<script>window.S = JSON.parse({});</script>", in_one_quote),
        ('<script>window.S = "{}";</script>', quote),
    ],
)
def test_data_in_a_string_are_read(script: str, written: Callable[[str], str]) -> None:
    prose = [*PROSE, 'It\'s "done", they said, and the rain that had come in the night went on for a week.']
    data = json.dumps({"post": {"blocks": prose}}).replace("</", "<\\/")
    assert read(shown(written(data), script)).text.split("\n") == prose


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


def test_short_texts_in_chinese_are_continued() -> None:
    prose = [f"市长第{n}次说，水坝在夜里没有决口，但是雨还会下三天，居民应该小心。" for n in range(5)]
    data = json.dumps({"post": {"blocks": [{"text": text} for text in prose]}})
    body = "".join(f"<p>{text}</p>" for text in prose[:2])
    markup = page(body=body).replace(b"</body>", SCRIPTS[0].replace("{}", data).encode() + b"</body>")
    assert read(markup).text.split("\n") == prose
