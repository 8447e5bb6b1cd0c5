"""Computes scores of decoded texts: a high score means that the text was probably decoded correctly.

:mod:`charset` decodes the bytes of a page in several encodings and compares the scores of the results.

In a wrong encoding, bytes are decoded to letters too, but the letters are from several languages or in
unusual places. Typical faults are capitals inside words, final forms of letters inside words, and letters of
two scripts next to each other.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cache

# The rank of each small Cyrillic letter. Frequent letters have high ranks.
_COMMON = dict(zip("оеаинтсрвлкмдпуяызьбгчйхжюшціїєґщэфъё", range(40, 3, -1), strict=False))
# A capital after a small letter, as in "пРИВЕТ".
_UPPER = re.compile("[а-яёіїєґ][А-ЯЁІЇЄҐ]")
_INITIAL = re.compile("(?<![Ѐ-ӿ])[А-ЯЁІЇЄҐ](?=[а-яёіїєґў])")
MIXED = re.compile("[A-Za-z][а-яёА-ЯЁіїєґўђјљњћџ]|[а-яёА-ЯЁіїєґўђјљњћџ][A-Za-z]")
"""A Cyrillic letter next to a Latin letter."""

_MARKS = frozenset("\xa0\xad«»“”„‘’‚‹›–—…•·´©®™°§№€£¥¿¡")
"""Signs that occur in texts of any script."""
_SIDE_BY_SIDE = re.compile("[^\\x00-\\x7f](?=[^\\x00-\\x7f])")
_SCRIPTS = {
    "greek": (
        re.compile("[Ͱ-Ͽἀ-῿]"),
        re.compile("[ΰΐ]|ς(?=[α-ώ])|[α-ώ](?=[Α-Ω])|[A-Za-z](?=[Α-ώ])|[Α-ώ](?=[A-Za-z])"),
    ),
    "hebrew": (re.compile("[א-ת]"), re.compile("[ךםןףץ](?=[א-ת])|[A-Za-z](?=[א-ת])|[א-ת](?=[A-Za-z])")),
    "arabic": (
        re.compile("[ء-ْپچژگکیھہںے،؛؟]"),
        re.compile("[ةى](?=[ء-ي])|[A-Za-zÀ-ÿ](?=[ء-ي])|[ء-ي](?=[A-Za-zÀ-ÿ])"),
    ),
    "thai": (
        re.compile("[ก-๛]"),
        re.compile("(?<![ก-ฮั-ฺ็-๎])[ัิ-ฺ็-๎]|[เ-ไ](?![ก-ฮ])|[A-Za-z](?=[ก-๛])|[ก-๛](?=[A-Za-z])"),
    ),
}
"""Two patterns for each script: the first matches its letters, and the second matches faults.

Faults, such as a word-final form inside a word, very rarely occur in a correct text. The faults of Greek
include two letters (ΰ and ΐ), because Russian letters with the same bytes are a thousand times more frequent.
"""
_LATIN = (
    "äöüßéèáóçñ", "àâæçéèêëîïôœùûüÿ", "áéíñóúüª", "áâãàçéêíóôõúºª", "àèéìíòóùú", "åäöæøéèáüóíç", "àçèéíïòóúü",
    "ąćęłńóśźż", "áčďéěíňóřšťúůýžäĺľŕô", "áéíóöőúüű", "ăâîșțşţ", "čćđšž", "çğışöüâîû", "ąčęėįšųūž",
    "āčēģīķļņšūž", "äõöüšž", "ëç",
)  # fmt: skip
"""Letters beyond ASCII, by language."""
_ICELANDIC = frozenset("áðéíóúýþæöÁÐÉÍÓÚÝÞÆÖ")
_IN_ALL_ICELANDIC = frozenset("áíóú")
"""Letters that occur in every Icelandic text.

If a text has none of these letters, its letters eth (ð), thorn (þ) and ý are wrongly decoded Turkish letters.
"""
_ALPHABETS = tuple(frozenset(letters + letters.upper() + "İ" * ("ı" in letters)) for letters in _LATIN)
_HAN = frozenset(
    "的一是不了在人有我他这中大来上国到说们为子和你地出也时年得就那要下以生会自去之过家学对可后小多天而能好都然没日"
    "于起还发成事只作当看文开用主行方如前所本经面公同三已从动两长民样现分将外但些与高意进法此实回二理点月明其全工者"
    "情部正名定问力机等业最间新因重被第相次东政海使平世信北关内加化由代军产入先水万市体别报這來國個說們為時會過學對後"
)  # fmt: skip
"""Characters that make up nearly half of any Chinese text, in simplified and traditional form."""
_HANGUL = frozenset(
    bytes((row, cell)).decode("euc_kr") for row in range(0xB0, 0xC9) for cell in range(0xA1, 0xFF)
)
"""The 2,350 syllables of KS X 1001, a Korean standard.

Korean texts have hardly any other syllables. A Japanese text that is wrongly decoded as Korean has other
syllables.
"""
_EAST_ASIAN = {"ja": frozenset(map(chr, range(0x3041, 0x3094))), "ko": _HANGUL, "zh": _HAN}
_SHARES = {"ja": 4.0, "ko": 1.2, "zh": 2.5}
"""Language -> factor. For a typical text, the share of :data:`_EAST_ASIAN` multiplied by this factor is about
1."""


@cache
def _runs(script: str) -> re.Pattern[str]:
    return re.compile(f"(?:{_SCRIPTS[script][0].pattern})+")


def cyrillic(text: str) -> float:
    """Return how similar the non-ASCII letters are to Russian or Ukrainian prose, from 0 to about 1.

    The score is the average weight of the non-ASCII characters. A frequent letter has the weight 1 if it is
    in lower case or is the first letter of a word. Other Cyrillic letters have the weight .6, and other
    characters 0. Each fault (:func:`_faults`) reduces the sum of the weights by 2.

    Faults show a wrong encoding. In a wrong Cyrillic encoding, words have capitals inside, because KOI8-R has
    capitals where windows-1251 has small letters. If the bytes are in a western encoding, single Cyrillic
    letters are inside Latin words.
    """
    high = _high(text)
    if not high:
        return 0.0
    weight = sum(
        count * (1.0 if _COMMON.get(sign, 0) > 14 else 0.6 if sign.isalpha() and "Ѐ" <= sign <= "ӿ" else 0.0)
        for sign, count in high.items()
    )
    initials = Counter(_INITIAL.findall(text))
    weight += sum(0.4 * count for sign, count in initials.items() if _COMMON.get(sign.lower(), 0) > 14)
    return max(0.0, (weight - 2 * _faults(text)) / high.total())


def _high(text: str) -> Counter[str]:
    """Return the number of occurrences of each non-ASCII character."""
    return Counter({sign: count for sign, count in Counter(text).items() if sign > "\x7f"})


def is_orderly(text: str) -> bool:
    """True if Cyrillic words have hardly any capitals and Latin letters inside them."""
    return 100 * _faults(text) <= len(text)


def _faults(text: str) -> int:
    """Return the number of capitals inside Cyrillic words and of Latin letters next to Cyrillic letters."""
    return len(_UPPER.findall(text)) + len(MIXED.findall(text))


def of_script(text: str, script: str) -> float:
    """Return how similar the non-ASCII letters are to a text in ``script``, from 0 to 1.

    ``script`` is ``greek``, ``hebrew``, ``arabic`` or ``thai``. The score is 0 if few of the letters are next
    to each other. The text is then Latin, because accented Latin letters are usually between ASCII letters.
    """
    letters, faults = _SCRIPTS[script]
    signs = _high(text)
    high = sum(count for sign, count in signs.items() if sign not in _MARKS)
    found = sum(count for sign, count in signs.items() if letters.match(sign))
    # A run is a sequence of letters of the script. The number of letters minus the number of runs is the
    # number of letters that follow another letter. Counting the runs is slow, so it comes last.
    if not high or found < high / 2 or found - len(_runs(script).findall(text)) < high / 2:
        return 0.0
    return max(0.0, (found - 2 * len(faults.findall(text))) / high)


def latin(text: str) -> float:
    """Return the largest share of the non-ASCII letters that belong to one language in the Latin script.

    The share is computed for each language, without the signs in :data:`_MARKS`. The result is 1 if there are
    no such letters.
    """
    high = Counter({sign: count for sign, count in _high(text).items() if sign not in _MARKS})
    total = high.total()
    if not total:
        return 1.0
    alphabets = (*_ALPHABETS, _ICELANDIC) if _IN_ALL_ICELANDIC & high.keys() else _ALPHABETS
    return max(sum(high[sign] for sign in alphabet & high.keys()) for alphabet in alphabets) / total


def east_asian(text: str, language: str) -> float:
    """Return how typical the non-ASCII characters are for ``language`` (``ja``, ``ko``, ``zh``), from 0 to 1.

    At least a fifth of the characters of a Japanese text are Hiragana. The characters in :data:`_HAN` make up
    nearly half of a Chinese text.
    """
    high = _high(text)
    total = high.total()
    # Invalid bytes (U+FFFD) show a wrong encoding. If most characters are alone between ASCII letters, the
    # text is Latin.
    if not total or high["\ufffd"] * 50 > total or len(_SIDE_BY_SIDE.findall(text)) * 2 < total:
        return 0.0
    return min(
        1.0, sum(high[sign] for sign in _EAST_ASIAN[language] & high.keys()) * _SHARES[language] / total
    )
