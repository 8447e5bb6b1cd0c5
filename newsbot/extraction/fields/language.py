"""Detects the language of a text, first by its script, then by its function words and letters.

Function words are frequent small words such as "the" and "of" (:mod:`newsbot.extraction.stopwords`). The
language that the page states is only a hint.
"""

from __future__ import annotations

import re
from collections import Counter

from newsbot.extraction.stopwords import PROFILES

SAMPLE = 6000
"""Maximum number of characters of the text that are read."""

_CODE = re.compile(r"^([a-z]{2,3})(?:[-_].*)?$")
_RENAMED = {
    "iw": "he", "in": "id", "nb": "no", "nn": "no", "ua": "uk", "cz": "cs", "jp": "ja", "kr": "ko",
    "gr": "el", "cn": "zh", "se": "sv", "eng": "en", "rus": "ru", "ukr": "uk", "deu": "de", "ger": "de",
    "bs": "hr", "fil": "tl",
}  # fmt: skip
"""Current code for old and three-letter codes, and for country codes that sites use as language codes."""
# Each entry is the name of a script, its first character and its last character.
_SCRIPTS = (
    ("latin", "A", "ɏ"),
    ("greek", "Ͱ", "Ͽ"),
    ("cyrillic", "Ѐ", "ӿ"),
    ("armenian", "԰", "֏"),
    ("hebrew", "֐", "׿"),
    ("arabic", "؀", "ۿ"),
    ("devanagari", "ऀ", "ॿ"),
    ("bengali", "ঀ", "৿"),
    ("gurmukhi", "਀", "੿"),
    ("gujarati", "઀", "૿"),
    ("tamil", "஀", "௿"),
    ("telugu", "ఀ", "౿"),
    ("kannada", "ಀ", "೿"),
    ("malayalam", "ഀ", "ൿ"),
    ("sinhala", "඀", "෿"),
    ("thai", "฀", "๿"),
    ("lao", "຀", "໿"),
    ("burmese", "က", "႟"),
    ("georgian", "Ⴀ", "ჿ"),
    ("khmer", "ក", "៿"),
    ("latin", "Ḁ", "ỿ"),
    ("greek", "ἀ", "῿"),
    ("kana", "぀", "ヿ"),
    ("han", "㐀", "鿿"),
    ("hangul", "가", "힯"),
)
# Language by script, for scripts that only one of the supported languages uses.
_SURE = {
    "greek": "el", "armenian": "hy", "hebrew": "he", "bengali": "bn", "gurmukhi": "pa", "gujarati": "gu",
    "tamil": "ta", "telugu": "te", "kannada": "kn", "malayalam": "ml", "sinhala": "si", "thai": "th",
    "azerbaijani": "az", "lao": "lo", "burmese": "my", "georgian": "ka", "khmer": "km", "hangul": "ko",
}  # fmt: skip
# Scripts that several of the supported languages use, with their languages.
_BY_SCRIPT = {
    "cyrillic": ("ru", "uk", "be", "bg", "sr", "mk", "kk"),
    "arabic": ("ar", "fa", "ur"),
    "devanagari": ("hi", "mr"),
}
_OWN_LETTERS = {
    "be": "ў",
    "uk": "їєґ",
    "kk": "қңғұә",
    "mk": "ѓќѕјљњџ",
    "sr": "ђћјљњџ",
    "bg": "ъ",
    "ru": "ыэё",
    "fa": "پچگژ",
    "ur": "ٹڈڑے",
    "cs": "ěřůťď",
    "sk": "ľĺŕôťď",
    "pl": "łęąśź",
    "tr": "ğı",
    "ro": "țșţă",
    "hu": "őű",
    "lv": "āēīņļķģ",
    "lt": "ėįų",
    "de": "ß",
    "es": "ñ¿",
    "pt": "ã",
}
"""Letters by language that are rare in the other languages of the same script. They help with short texts."""
_AZERBAIJANI = "ə"
_LATIN = tuple(
    language
    for language in PROFILES
    if language not in {code for codes in _BY_SCRIPT.values() for code in codes}
)
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)?")
_PRIOR = 0.25
"""Share by which the score of the language that the page states is increased."""
_ENOUGH = 0.06
"""Minimum score of a language detected by its words. With lower scores the stated language is returned."""


def normal_code(tag: str | None) -> str | None:
    """Return the language code of a tag such as ``ru_RU``, or None if ``tag`` is not a language tag.

    The code has two letters, or three if the language has no code of two letters.
    """
    match = _CODE.match(tag.strip().lower()) if tag else None
    return _RENAMED.get(match[1], match[1]) if match else None


def detect(text: str, prior: str | None = None) -> str | None:
    """Return the language of ``text`` as ISO 639-1 code, or None if the language cannot be found.

    ``prior`` is the language tag that the page states. The score of this language is increased by a quarter.
    If the text is too short to decide, this language is returned.
    """
    expected = normal_code(prior)
    sample = text[:SAMPLE]
    script = _script(sample)
    if script is None:
        return expected
    # There is no list of function words for Azerbaijani. It is recognised by the letter ə, which is frequent
    # in it and occurs in no other language here.
    if script == "latin" and sample.count(_AZERBAIJANI) * 50 > len(sample):
        script = "azerbaijani"
    if script in _SURE:
        return _SURE[script]
    if script == "kana":
        return "ja"
    # A short Japanese or Cantonese text may look like Chinese. Then the stated language decides.
    if script == "han":
        return "zh" if expected not in ("ja", "yue") else expected
    scores = _scores(sample, _BY_SCRIPT.get(script, _LATIN), expected)
    winner = max(scores, key=lambda code: scores[code])
    if scores[winner] >= _ENOUGH:
        return winner
    return expected


def _script(sample: str) -> str | None:
    """Return the script to which most letters belong, or None if there are no letters.

    The result is "kana" for Japanese.
    """
    counts: Counter[str] = Counter()
    for sign, number in Counter(sample).items():
        if sign.isalpha():
            counts[_script_of(sign)] += number
    counts.pop("", None)
    if not counts:
        return None
    # Japanese texts mix kana and Han. Chinese texts may have a few kana, for example in names.
    if counts["kana"] * 20 > counts["han"] + counts["kana"] > counts["latin"]:
        return "kana"
    counts["han"] *= 2  # one character is a word or half a word
    return counts.most_common(1)[0][0]


def _script_of(sign: str) -> str:
    """Return the script of one letter, or an empty string if it is not in the table."""
    return next((name for name, first, last in _SCRIPTS if first <= sign <= last), "")


def _scores(sample: str, languages: tuple[str, ...], expected: str | None) -> dict[str, float]:
    """Return the score of each language: the share of its function words, plus points for its own letters."""
    found = Counter(_WORD.findall(sample.lower()))
    total = sum(found.values()) or 1
    scores: dict[str, float] = {}
    for language in languages:
        share = sum(found[word] for word in PROFILES[language] & found.keys()) / total
        # A short text has few function words, so letters count too. Their points are limited, because foreign
        # names contain letters of other languages.
        own = sum(sample.count(letter) for letter in _OWN_LETTERS.get(language, ""))
        share += min(0.1, own / len(sample) * 4)
        scores[language] = share * (1 + _PRIOR if language == expected else 1)
    return scores
