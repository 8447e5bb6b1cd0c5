"""Encodings, declared rightly, wrongly and not at all."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from newsbot.extraction.charset import decode
from tests.extraction_pages import read, saved

RUSSIAN = saved("news_ru_plain.html").decode().replace("©", "")
GERMAN = "<p>Größe der Straße, für Müller: die Bäckerei öffnet früh, süße Brötchen über der Theke.</p>"
JAPANESE = (
    "<p>日本の首相は今日、国会で演説を行いました。東京都の天気は晴れです。新しい政策について説明した。</p>"
)


@pytest.mark.parametrize(
    "real",
    ["cp1251", "koi8-r", "cp866", "iso8859-5", "utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"],
)
@pytest.mark.parametrize(
    "declared", [None, "utf-8", "windows-1251", "koi8-r", "iso-8859-1", "x-unknown", "idna", "\u0394"]
)
def test_russian_is_read_whatever_is_declared(real: str, declared: str | None) -> None:
    assert decode(RUSSIAN.encode(real), declared) == RUSSIAN


@pytest.mark.parametrize("inside", ["utf-8", "windows-1251", "win-1251", "koi8-r", ""])
def test_what_the_page_declares_may_be_wrong_too(inside: str) -> None:
    html = RUSSIAN.replace("<head>", f'<head><meta charset="{inside}">')
    assert decode(html.encode("cp1251")) == html
    assert decode(html.encode("utf-8")) == html


@pytest.mark.parametrize("real", ["cp1252", "utf-8"])
@pytest.mark.parametrize("declared", [None, "utf-8", "iso-8859-1", "windows-1251"])
def test_western_letters(real: str, declared: str | None) -> None:
    assert decode(GERMAN.encode(real), declared) == GERMAN


@pytest.mark.parametrize("real", ["shift_jis", "euc_jp", "iso2022_jp"])
def test_japanese_as_declared(real: str) -> None:
    assert decode(JAPANESE.encode(real), real) == JAPANESE


def test_a_central_european_page_is_read_as_declared() -> None:
    polish = "<p>Zażółć gęślą jaźń, powiedział burmistrz w środę.</p>"
    assert decode(polish.encode("iso8859-2"), "iso-8859-2") == polish


def test_a_few_broken_bytes_do_not_change_the_encoding() -> None:
    broken = RUSSIAN.encode().replace("трамвай".encode(), "трамва".encode() + b"\xd0", 1)
    assert "первый низкопольный" in decode(broken, "windows-1251")


def test_the_whole_way_with_a_wrong_header() -> None:
    for real, declared in (("utf-8", "windows-1251"), ("cp1251", "utf-8"), ("koi8-r", "windows-1251")):
        assert read(RUSSIAN.encode(real), charset=declared).title == "Новый трамвай вышел на линию в Заречье"


def test_entities_encoded_twice() -> None:
    html = (
        b"<title>Salt &amp;amp; Pepper &amp;mdash; a history of both</title><p>"
        + b"Salt &amp;amp; pepper went up in price, said the grocer. " * 10
    )
    article = read(html)
    assert article.title == "Salt & Pepper — a history of both"
    assert article.text.startswith("Salt & pepper")


@given(st.binary(max_size=500), st.sampled_from([None, "utf-8", "cp1251", "utf-16", "gb18030", "nonsense"]))
def test_any_bytes_give_text(raw: bytes, declared: str | None) -> None:
    assert isinstance(decode(raw, declared), str)
