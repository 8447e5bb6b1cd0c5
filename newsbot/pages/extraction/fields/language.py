"""Detects the language of a text, first by its script, then by its function words and letters.

Function words are frequent small words such as "the" and "of" (``stop_words`` in the files of
:mod:`newsbot.pages.text.languages`). The language that the page states is only a hint.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache

from newsbot.pages.text.languages import by_language

SAMPLE = 3000
"""Maximum number of characters of the text that are read."""

# The language of a tag: "pt" in pt-BR, "zh" in zh_Hans.
_CODE = re.compile(r"^([a-z]{2,3})(?:[-_].*)?$")
_SCRIPTS = {
    "hiragana": "kana", "katakana": "kana", "katakana-hiragana": "kana", "cjk": "han", "myanmar": "burmese",
}  # fmt: skip
"""First word of the Unicode names of a script's characters -> name of the script, if the two differ."""
# Python does not count the vowel signs of Arabic and Devanagari as parts of words.
_LETTERS = r"[\w\u064b-\u0655\u0900-\u0963]+"
_WORD = re.compile(f"{_LETTERS}(?:-{_LETTERS})?")
_PRIOR = 0.25
"""The score of the language that the page states is increased by this share."""
_ENOUGH = 0.06
"""Minimum score of a language that is detected by its words. If all scores are lower, the stated language is
returned."""

_STRONG = 0.2
"""Minimum score at which a language overrules a stated language whose function words are not known."""
_NEARLY = 0.8
"""Minimum score of a stated language relative to that of a bigger relative that would overrule it."""
_RELATIVES = {
    "bn": "as", "ca": "oc", "cs": "csb dsb hsb szl", "da": "fo", "de": "bar gsw ksh nds", "en": "sco",
    "es": "an ast ext gl lad oc sc", "fa": "ckb glk ps", "fr": "oc wa", "hi": "bho mai ne", "hr": "cnr sh",
    "id": "jv su", "is": "fo", "it": "co fur lij lmo nap oc pms rm sc scn vec", "mr": "kok ne", "nl": "fy li",
    "pl": "csb szl", "pt": "an ast gl mwl oc", "ru": "rue", "sr": "cnr sh", "tr": "crh gag tk", "uk": "rue",
    "ur": "sd",
}  # fmt: skip
"""Language -> smaller languages, whose texts have many function words of it."""


@cache
def _renamed() -> dict[str, str]:
    """Return the current language code for each old, three-letter or country code that sites may use."""
    return {other: code for code, others in by_language("codes").items() for other in others}


@cache
def _by_script() -> Mapping[str, tuple[str, ...]]:
    """Return the languages of each script."""
    found: dict[str, list[str]] = defaultdict(list)
    scripts = by_language("script")
    for code in sorted(scripts.keys() | by_language("stop_words").keys()):
        # A language without a stated script is written in Latin letters.
        found[scripts.get(code, ("latin",))[0]].append(code)
    return {script: tuple(codes) for script, codes in found.items()}


@cache
def _languages_of_word() -> Mapping[str, tuple[str, ...]]:
    """Return the languages of each function word."""
    found: dict[str, list[str]] = defaultdict(list)
    for code, stop_words in by_language("stop_words").items():
        for word in stop_words:
            found[word].append(code)
    return {word: tuple(codes) for word, codes in found.items()}


def normal_code(tag: str | None) -> str | None:
    """Return the language code of a tag such as ``ru_RU``, or None if ``tag`` is not a language tag.

    The code has two letters, or three if the language has no code of two letters.
    """
    match = _CODE.match(tag.strip().lower()) if tag else None
    return _renamed().get(match[1], match[1]) if match else None


def detect(text: str, prior: str | None = None) -> str | None:
    """Return the language of ``text`` as an ISO 639-1 code, or None if the language cannot be found.

    ``prior`` is the language tag that the page states. The score of this language is increased by a quarter.
    If its function words are not known, only a language with a high score overrules it. If the text is too
    short to be classified, the stated language is returned.
    """
    expected = normal_code(prior)
    sample = text[:SAMPLE]
    signs = Counter(sample)
    script = _script(signs)
    if script is None:
        return expected
    if script == "kana":
        return "ja"
    # A short Japanese or Cantonese text may look like Chinese. Then the stated language decides.
    if script == "han":
        return "zh" if expected not in ("ja", "yue") else expected
    possible = _by_script().get(script, ())
    if len(possible) == 1:
        return expected if expected in _RELATIVES.get(possible[0], "").split() else possible[0]
    scores = _scores(sample, signs, possible, expected)
    winner = max(scores, key=lambda code: scores[code], default=None)
    return winner if winner and not _is_believed(expected, script, winner, scores) else expected


def certainty(text: str, language: str | None) -> float:
    """Return how sure it is that ``text`` is in this language, from 0 to 1.

    It is 1 if no other known language is written in the script of the text, and one half if another language
    fits as well.
    """
    signs = Counter(text[:SAMPLE])
    script = _script(signs)
    if language is None or script is None:
        return 0.0
    possible = {"kana": ("ja",), "han": ("zh", "ja", "yue")}.get(script) or _by_script().get(script, ())
    if language not in possible:
        return 0.0
    if len(possible) == 1 or script == "han":
        return 1.0
    scores = _scores(text[:SAMPLE], signs, possible, None)
    own = scores.get(language, 0.0)
    other = max((score for code, score in scores.items() if code != language), default=0.0)
    return own / (own + other) if own else 0.0


def _is_believed(expected: str | None, script: str, winner: str, scores: Mapping[str, float]) -> bool:
    """True if the stated language is not overruled by the language ``winner``, which has the highest score.

    Many sites state a language of another script or the code of a country. Their texts have many function
    words of the winner.
    """
    if scores[winner] < _ENOUGH:
        return True
    if expected in (None, "mul", "und", "zxx"):
        return False
    if expected in _RELATIVES.get(winner, "").split():
        return scores.get(expected, 1) >= _NEARLY * scores[winner]
    if expected in by_language("stop_words"):
        return False
    return by_language("script").get(str(expected), (script,))[0] == script and scores[winner] < _STRONG


def _script(signs: Counter[str]) -> str | None:
    """Return the script that most letters belong to, or None if there are no letters.

    The result is "kana" for Japanese. ``signs`` has the number of occurrences of each character.
    """
    counts: Counter[str] = Counter()
    for sign, number in signs.items():
        if sign.isalpha() and (script := _script_of(sign)):
            counts[script] += number
    if not counts:
        return None
    # Japanese texts mix kana and Han. Chinese texts may have a few kana, for example in names.
    if counts["kana"] * 20 > counts["han"] + counts["kana"] > counts["latin"]:
        return "kana"
    counts["han"] *= 2  # one character is a word or half a word
    return counts.most_common(1)[0][0]


@lru_cache(maxsize=4096)
def _script_of(sign: str) -> str:
    """Return the script of one letter: the first word of its Unicode name (CYRILLIC SMALL LETTER A).

    The result is empty for a script of which no language is known.
    """
    word = unicodedata.name(sign, "").partition(" ")[0].lower()
    script = _SCRIPTS.get(word, word)
    return script if script in ("kana", "han") or script in _by_script() else ""


def _scores(
    sample: str, signs: Counter[str], languages: Iterable[str], expected: str | None
) -> dict[str, float]:
    """Return the score of each of these languages.

    The score is the share of words that are function words of the language, plus points for letters that are
    typical of the language.
    """
    found = Counter(_WORD.findall(sample.lower()))
    total = sum(found.values()) or 1
    known = _languages_of_word()
    shares: Counter[str] = Counter()
    for word in known.keys() & found.keys():
        for language in known[word]:
            shares[language] += found[word]
    scores: dict[str, float] = {}
    # Letters that are typical of a language are not in ASCII.
    letters = {} if sample.isascii() else by_language("letters")
    for language in languages:
        # A short text has few function words, so letters count too. Their points are limited, because foreign
        # names contain letters of other languages.
        own = sum(signs[letter] for letter in letters.get(language, ("",))[0])
        score = shares[language] / total + min(0.1, own / len(sample) * 4)
        scores[language] = score * (1 + _PRIOR if language == expected else 1)
    return scores
