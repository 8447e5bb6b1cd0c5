"""Encodings that are declared correctly, wrongly or not at all."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from newsbot.pages.extraction import parse_html
from newsbot.pages.text.codings import decode
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
def test_russian_is_decoded_with_any_declared_encoding(real: str, declared: str | None) -> None:
    assert decode(RUSSIAN.encode(real), declared) == RUSSIAN


@pytest.mark.parametrize("inside", ["utf-8", "windows-1251", "win-1251", "koi8-r", ""])
def test_the_encoding_declared_in_the_page_may_be_wrong(inside: str) -> None:
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


LEGACY = {
    "el": ("Η βροχή έκλεισε τον κάτω δρόμο. Κανείς δεν τραυματίστηκε, είπε ο δήμαρχος.", "cp1253 iso8859-7"),
    "he": ("הגשם סגר את הכביש התחתון. איש לא נפגע, אמר ראש העיר, שהלך לאורך הסכר.", "cp1255 iso8859-8"),
    "ar": ("أغلق المطر الطريق السفلي. لم يصب أحد بأذى، قال رئيس البلدية صباحا.", "cp1256 iso8859-6"),
    "th": ("ฝนปิดถนนด้านล่าง ไม่มีใครบาดเจ็บ นายกเทศมนตรีกล่าว ซึ่งเดินไปตามเขื่อน", "cp874"),
    "tr": ("Yağmur aşağı yolu kapattı. Kimse yaralanmadı, dedi şehrin belediye başkanı.", "cp1254"),
    "pl": (
        "Deszcz zamknął dolną drogę. Nikt nie został ranny, powiedział burmistrz łodzi.",
        "cp1250 iso8859-2",
    ),
    "cs": (
        "Déšť uzavřel dolní silnici. Nikdo nebyl zraněn, řekl starosta, který šel pěšky.",
        "cp1250 iso8859-2",
    ),
    "fr": ("La pluie a fermé la route. Personne n’a été blessé, déclare le maire à l’œuvre.", "cp1252"),
    "ko": ("비로 아래 도로가 폐쇄되었다. 다친 사람은 없다고 시장이 말했다.", "cp949"),
    "zh": ("大雨封闭了下面的道路。市长说没有人受伤，他在五点沿着大坝走，看看水有多高。", "gb18030"),
    "tw": ("大雨封閉了下面的道路。市長說沒有人受傷，他在五點沿著大壩走，看看水有多高。", "big5"),
    "ja": (JAPANESE, "cp932 euc_jp"),
    "sr": ("Киша је затворила доњи пут. Нико није повређен, рекао је градоначелник.", "cp1251"),
}


@pytest.mark.parametrize("language", LEGACY)
@pytest.mark.parametrize("header", [None, "right", "utf-8", "iso-8859-1", "windows-1251"])
@pytest.mark.parametrize("inside", ["", "right", "utf-8"])
def test_letters_determine_the_encoding_if_declarations_differ(
    language: str, header: str | None, inside: str
) -> None:
    text, encodings = LEGACY[language]
    for real in encodings.split():
        meta = f"<meta charset={real if inside == 'right' else inside}>" if inside else ""
        html = f"<html><head>{meta}</head><body>{f'<p>{text}</p>' * 4}</body></html>"
        assert decode(html.encode(real), real if header == "right" else header) == html


QUOTED = (
    "<p>Совет города проголосовал за закрытие моста, после того как инженеры нашли трещины. «У нас не было "
    "выбора», — сказала мэр.</p>"
)


@pytest.mark.parametrize("declared", [None, "utf-8", "iso-8859-1", "windows-1251"])
def test_a_short_russian_text_is_not_decoded_as_mac_cyrillic(declared: str | None) -> None:
    """All lower-case letters except one have the same bytes in MacCyrillic, but dashes are capitals there."""
    assert decode(QUOTED.encode("cp1251"), declared) == QUOTED


@pytest.mark.parametrize("upper", [3, 6, 12, 30])
def test_russian_capitals_are_not_decoded_as_greek_or_arabic(upper: int) -> None:
    words = QUOTED[3:-4].split()
    text = " ".join(word.upper() if number < upper else word for number, word in enumerate(words))
    assert decode(text.encode("cp1251"), "windows-1251") == text
    names = (
        "Минфин Киев Совет Газпром Госдума МВД США ООН Россия пишет после инженеры нашли она как года было"
    )
    assert decode(names.encode("cp1251")) == names


@pytest.mark.parametrize("real", ["cp1253", "iso8859-7"])
@pytest.mark.parametrize("declared", [None, "windows-1251", "iso-8859-7"])
def test_greek_is_not_decoded_as_russian(real: str, declared: str | None) -> None:
    text = "Το συμβούλιο ψήφισε για το κλείσιμο της γέφυρας, αφού βρήκαν ρωγμές. Ο ΔΗΜΑΡΧΟΣ ΕΙΠΕ ΟΧΙ."
    assert decode(text.encode(real), declared) == text


@pytest.mark.parametrize("declared", [None, "utf-8", "iso-8859-1", "windows-1252"])
def test_japanese_is_not_decoded_as_korean(declared: str | None) -> None:
    text = "<p>市議会は月曜日の夜、古い橋を閉鎖することを決めた。市長は「選択肢はなかった」と話した。</p>"
    assert decode(text.encode("shift_jis"), declared) == text


def test_english_quotation_marks_do_not_change_the_encoding() -> None:
    english = "<p>It’s the mayor’s house, she said. “We don’t know” – it’s closed.</p>" * 20
    for declared in (None, "windows-1252", "iso-8859-1", "utf-8"):
        assert decode(english.encode("cp1252"), declared) == english


def test_a_few_broken_bytes_do_not_change_the_encoding() -> None:
    broken = RUSSIAN.encode().replace("трамвай".encode(), "трамва".encode() + b"\xd0", 1)
    assert "первый низкопольный" in decode(broken, "windows-1251")


def test_a_page_with_a_wrong_header_is_extracted() -> None:
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


CYRILLIC = "<p>Городской совет обсудил ремонт моста через реку и решил начать работы весной.</p>"
KOREAN = "<p>국회는 오늘 한강을 가로지르는 새 다리를 짓는 데 필요한 예산을 통과시켰습니다.</p>"
CHINESE = "<p>市议会今天讨论了跨河大桥的维修工程,预计明年春天开工,费用由市政府承担。居民对此表示欢迎。</p>"


@pytest.mark.parametrize(
    ("encoding", "text", "word", "sent"),
    [
        ("windows-1251", CYRILLIC, "река", "%F0%E5%EA%E0"),
        ("koi8-r", CYRILLIC, "река", "%D2%C5%CB%C1"),
        ("gbk", CHINESE, "桥", "%C7%C5"),
        ("shift_jis", JAPANESE, "ソ橋", "%83%5C%8B%B4"),
        ("euc-kr", KOREAN, "다리", "%B4%D9%B8%AE"),
        ("iso-8859-1", GERMAN, "Brücke €", "Br%FCcke %80"),
        ("windows-1252", GERMAN, "Ж", "%26%231046%3B"),
        ("utf-8", CYRILLIC, "река", "река"),
    ],
)
def test_queries_of_links_are_sent_in_the_encoding_of_the_page(encoding, text, word, sent):
    """The path and the fragment are always in UTF-8 (https://url.spec.whatwg.org/#query-state)."""
    link = f"/Ü?a={word}&amp;b=1#{word}"
    shell = f"<html><head><meta charset={encoding}></head><body>{text}<a href='{link}'>more</a></body></html>"
    page = shell.encode({"iso-8859-1": "cp1252"}.get(encoding, encoding), "xmlcharrefreplace")
    [href] = parse_html(page).xpath("//a/@href")
    before, query = href.split("#")[0].split("?")
    assert query == f"a={sent}&b=1"
    assert (before, href.split("#")[1]) == ("/Ü", word)


def test_the_declared_encoding_counts_for_character_references():
    page = b"<html><head><meta charset=windows-1251></head><body><a href='/?a=&#1084;&#1086;'>more</a></body>"
    assert parse_html(page).xpath("//a/@href") == ["/?a=%EC%EE"]
    assert parse_html(page, "koi8-r").xpath("//a/@href") == ["/?a=%CD%CF"]


def test_a_page_that_forwards_is_followed_in_its_encoding():
    page = "<meta http-equiv=refresh content='0; url=/новости?город=Уфа'><p>Новости</p>".encode("cp1251")
    [content] = parse_html(page, "windows-1251").xpath("//meta/@content")
    assert content == "0; url=/новости?%E3%EE%F0%EE%E4=%D3%F4%E0"
