from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from newsbot.pages.text import words
from newsbot.pages.text.words import MAX_TEXT, fold, letters, stems, token_bytes, tokens, word_pattern
from tests.extraction_pages import is_within_bounds

LETTERS = st.characters(
    whitelist_categories=("Ll", "Lu", "Nd", "Po", "Zs", "Pd"), max_codepoint=0x52F
) | st.sampled_from("ёйЁЙéüßñїў«»—№№½™ﬁ\u00ad\u200b\u0301")
TEXTS = st.text(LETTERS, max_size=60)


@given(TEXTS)
def test_folding_is_idempotent(text: str) -> None:
    assert fold(fold(text)) == fold(text)


@given(st.text(max_size=60))
def test_words_are_the_words_of_the_folded_text(text: str) -> None:
    """The fast code for common texts and the general code give the same result."""
    assert tokens(text) == tokens(fold(text)) == tokens(" ".join(tokens(text)))
    assert tokens(f"{text} \u0301") == tokens(text)  # a lone mark requires the general code


@pytest.mark.parametrize("character", ["é", "ł", "😀", "é中"])
def test_long_runs_outside_the_code_page_take_linear_time(character: str) -> None:
    text = character * (words._SHORT // len(character))
    assert is_within_bounds(lambda: [token_bytes(text) for _ in range(5)])


def long_way(text: str) -> list[bytes]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(words, "_short_way", lambda _: None)
        return token_bytes(text)


@given(st.text(max_size=60) | TEXTS)
def test_the_fast_code_and_the_general_code_give_the_same_bytes(text: str) -> None:
    assert token_bytes(text) == long_way(text)


def test_the_fast_code_and_the_general_code_agree_for_every_character() -> None:
    for first in range(0, 0x3100, 64):
        some = map(chr, range(first, first + 64))
        text = " ".join(f"a{one}и {one} {one}b" for one in some)
        assert token_bytes(text) == long_way(text)
        for part in text.split("и"):
            assert token_bytes(part) == long_way(part)


@pytest.mark.parametrize("text", ["Ёж — “No”", "café é №5 за\u0301мок 🙂 ™", "Київ, Мінск", "plain ASCII"])
def test_common_texts_use_the_fast_code(text: str) -> None:
    assert words._short_way(text) is not None


@given(TEXTS)
def test_words_are_the_same_in_every_normal_form(text: str) -> None:
    text = text.replace("\u0301", "")  # a second accent would replace й's own mark
    for form in ("NFC", "NFD", "NFKC", "NFKD"):
        assert tokens(unicodedata.normalize(form, text)) == tokens(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Ёлка, ЙОД", ["елка", "йод"]),
        ("и\u0306од ё", ["йод", "е"]),
        ("за\u0301мок ФИ\u00adО a\u200bb", ["замок", "фио", "ab"]),
        ("Straße ﬁn café ™ №5 ½", ["strasse", "fin", "cafe", "tm", "no5", "1", "2"]),
        ("snake_case it's 3,5", ["snake", "case", "it", "s", "3", "5"]),
        ("中国GDP增长", ["中", "国", "gdp", "增", "长"]),
        ("が か\u3099 か", ["が", "が", "か"]),
        ("한국어", ["한국어"]),
        ("ภาษา", ["ภ", "า", "ษ", "า"]),
        ("שָׁלוֹם עולם", ["שלום", "עולם"]),
        ("\u202bمُحَمَّد\u202c", ["محمد"]),
        ("\u0645\u0640\u0640\u062d\u0645\u062f محمد", ["محمد", "محمد"]),  # lengthened by tatweel
        ("हिन्दी की, हिन्दी का।", ["हिन्दी", "की", "हिन्दी", "का"]),
        ("क\u0951_ख जि़ला", ["क", "ख", "जिला"]),  # a stress mark; the dot below is often left out, too
        ("தமிழ் বাংলা ಕನ್ನಡ བོད་ཡིག", ["தமிழ்", "বাংলা", "ಕನ್ನಡ", "བོད", "ཡིག"]),
        ("🙂 ?!", []),
        ("", []),
        ("\ud83d", []),
    ],
)
def test_words_of_many_scripts(text: str, expected: list[str]) -> None:
    assert tokens(text) == expected


@pytest.mark.parametrize(
    "text",
    ["a" + "\u0316\u0301" * 500_000, "\ufdfa" * 500_000, "слово " * 10_000_000],
    ids=["marks", "ligature of 18", "60 MB"],
)
def test_hostile_text_is_bounded(text: str) -> None:
    assert sum(map(len, token_bytes(text))) <= 4 * MAX_TEXT


@pytest.mark.parametrize(
    "text",
    [
        "हिन्दी में समाचार",
        "\u202bمُحَمَّد\u202c رَسُول",
        "שָׁלוֹם עולם",
        "за\u0301мок a\u200bb x\ufe0f y",
        "ข่าว ไม่",
        "தமிழ் བོད་ཡིག",
        "か\u3099 が",
        "\u0645\u0640\u062d\u0645\u062f",
    ],
)
def test_written_words_match_the_tokens(text: str) -> None:
    """Search uses the same words for finding and for marking."""
    assert [letters(found) for found in word_pattern(text).findall(text)] == tokens(text)


def test_every_mark_belongs_to_the_word_before() -> None:
    for mark in map(chr, range(0xAD, 0x110000)):
        if unicodedata.category(mark) in ("Mn", "Mc", "Me", "Cf") and not words._UNSPACED.match(mark):
            assert word_pattern(f"a{mark}b").fullmatch(f"a{mark}b"), hex(ord(mark))


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("Mocквa и Пeтepбуpг", "москва и петербург"),
        ("СОVID-19 в Росcии", "covid 19 в россии"),  # С and О are Cyrillic
        ("MОСKBА", "москва"),
        ("cтaттi", "статті"),
        ("IT-компания, e-mail, cop, сор", "it компания e mail cop сор"),  # one script: not changed
        ("каналLife", "каналlife"),  # two words without a space
    ],
)
def test_look_alike_letters_are_replaced(written: str, meant: str) -> None:
    assert tokens(written) == meant.split()
    assert [one.decode() for one in long_way(written)] == meant.split()


def test_search_finds_a_word_with_look_alikes() -> None:
    assert stems("Правительcтво Poссии") == stems("Правительство России")
