"""Loads the words and phrases of each language from ``newsbot/pages/extraction/languages/<code>.yaml``.

A file has one key for each kind of words (:data:`KINDS`). docs/languages.md describes the files. Words are
looked up by kind and not by language, because many pages declare no language or a wrong language.

:func:`detect` finds the language of a text, first by its script, then by its function words and letters.
Function words are frequent small words such as "the" and "of" (``stop_words`` in the files). The language
that the page states is only a hint.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from itertools import chain
from typing import Literal

import yaml

from newsbot.errors import did_you_mean

FOLDER: Traversable = files("newsbot") / "pages" / "extraction" / "languages"
ANY = "any"
"""Code of the file with words that do not belong to a language.

This file is loaded first. If a name has several meanings, the meaning in this file is used.
"""
MAX_BYTES = 100_000
"""Maximum size of a file."""
MAX_GAP = 60
"""Maximum number of characters that ``…`` matches."""

Form = Literal["value", "words", "phrases", "units", "months", "pairs"]
"""The form of a value in a file.

``value`` is a single word, ``words`` are words separated by spaces, and ``phrases`` is a list of phrases.
``units`` is a list of phrases that may follow a number without a space. ``months`` is a list of twelve
months, and ``pairs`` is a mapping.
"""


@dataclass(frozen=True, slots=True)
class Kind:
    """A key of the files: the form of its value, and a description of the words."""

    form: Form
    meaning: str


LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # CSafeLoader is missing without libyaml
KINDS: Mapping[str, Kind] = {
    name: Kind(form, meaning)
    for name, (form, meaning) in yaml.load(
        (files("newsbot") / "pages" / "text" / "kinds.yaml").read_text("utf-8"),
        LOADER,  # noqa: S506  (both loaders are safe)
    ).items()
}
"""The keys of the files in the order of ``kinds.yaml``, which defines them."""


@dataclass(frozen=True, slots=True)
class Language:
    """The content of one file."""

    code: str
    lists: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Words or phrases by kind. A single word is a tuple of one item. ``months`` has twelve items."""
    pairs: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Mappings by kind."""


@cache
def languages() -> Mapping[str, Language]:
    """Return all languages by code: :data:`ANY` first, then in alphabetical order.

    Raises ``ValueError`` with file and line if a file is not valid.
    """
    found = {
        file.name.removesuffix(".yaml"): file for file in FOLDER.iterdir() if file.name.endswith(".yaml")
    }
    codes = sorted(found, key=lambda code: (code != ANY, code))
    return {code: read(code, found[code].read_bytes(), found[code].name) for code in codes}


def read(code: str, data: bytes, name: str) -> Language:
    """Return the language in the bytes of a file. ``name`` is the file's name in messages.

    Raises ``ValueError`` with file and line if the file is not valid.
    """
    if len(data) > MAX_BYTES:
        raise ValueError(f"{name}:1: the file is longer than {MAX_BYTES} bytes")
    try:
        root = yaml.compose(data.decode(), Loader=LOADER)
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        mark = getattr(error, "problem_mark", None)
        raise ValueError(f"{name}:{mark.line + 1 if mark else 1}: {error}") from error
    lists: dict[str, tuple[str, ...]] = {}
    pairs: dict[str, Mapping[str, str]] = {}
    for kind, key, value in _entries(root, name):
        if kind not in KINDS:
            raise _fault(name, key, f"unknown key {kind!r}{did_you_mean(kind, KINDS)}")
        if KINDS[kind].form == "pairs":
            pairs[kind] = {one: _scalar(node, name) for one, _, node in _entries(value, name)}
        else:
            lists[kind] = _list(value, KINDS[kind].form, name)
    return Language(code, lists, pairs)


def _entries(node: yaml.Node | None, name: str) -> Iterator[tuple[str, yaml.Node, yaml.Node]]:
    """Yield each key of a mapping, with the node of the key and the node of the value."""
    if not isinstance(node, yaml.MappingNode):
        raise _fault(name, node, "a mapping is expected")
    seen: set[str] = set()
    for key, value in node.value:
        if _scalar(key, name) in seen:
            raise _fault(name, key, f"the key {key.value!r} occurs twice")
        seen.add(key.value)
        yield key.value, key, value


def _list(node: yaml.Node, form: Form, name: str) -> tuple[str, ...]:
    if form == "value":
        found = [_scalar(node, name)]
    elif form == "words":
        found = _scalar(node, name).split()
    elif isinstance(node, yaml.SequenceNode):
        found = [_scalar(item, name) for item in node.value]
    else:
        raise _fault(name, node, "a list is expected")
    if form == "months" and len(found) != 12:
        raise _fault(name, node, f"twelve months are expected, not {len(found)}")
    if form in ("phrases", "units"):
        for number, item in enumerate(node.value):
            if item.value in found[:number]:
                raise _fault(name, item, f"{item.value!r} occurs twice")
            if not _is_balanced(item.value):
                raise _fault(
                    name, item, f"{item.value!r}: parentheses must be balanced, and '|' must be inside"
                )
    return tuple(found)


def _is_balanced(phrase: str) -> bool:
    """True if the parentheses are balanced, and each ``|`` is inside parentheses."""
    depth = 0
    for sign in phrase.replace("\\(", "").replace("\\)", ""):
        depth += (sign == "(") - (sign == ")")
        if depth < 0 or (sign == "|" and not depth):
            return False
    return not depth


def _scalar(node: yaml.Node, name: str) -> str:
    if not isinstance(node, yaml.ScalarNode) or not node.value.strip():
        raise _fault(name, node, "text is expected")
    return str(node.value)


def _fault(name: str, node: yaml.Node | None, text: str) -> ValueError:
    line = node.start_mark.line + 1 if node is not None else 1
    return ValueError(f"{name}:{line}: {text}")


@cache
def phrases(kind: str) -> tuple[str, ...]:
    """Return the words or phrases of a kind in all languages, each once."""
    return tuple(dict.fromkeys(chain.from_iterable(by_language(kind).values())))


@cache
def words(kind: str) -> frozenset[str]:
    """Return :func:`phrases` as a set."""
    return frozenset(phrases(kind))


@cache
def by_language(kind: str) -> Mapping[str, tuple[str, ...]]:
    """Return the words or phrases of a kind by language code."""
    return {code: language.lists[kind] for code, language in languages().items() if kind in language.lists}


def pairs(kind: str) -> dict[str, Mapping[str, str]]:
    """Return the mappings of a kind by language code."""
    return {code: language.pairs[kind] for code, language in languages().items() if kind in language.pairs}


@cache
def compiled(template: str) -> re.Pattern[str]:
    """Return a regular expression with the words and phrases of all languages. Case is ignored.

    ``template`` is an expression in which ``%(KIND)s`` is replaced by the words of a kind. All repetitions in
    the phrases are bounded.
    """
    return re.compile(template % _Groups(), re.IGNORECASE)


class _Groups(dict[str, str]):
    """Maps a kind of words to a group of a regular expression that matches all its words or phrases."""

    def __missing__(self, kind: str) -> str:
        # Longer alternatives come first, because a regular expression takes the first alternative that fits.
        found = sorted(phrases(kind), key=len, reverse=True)
        form = KINDS[kind].form
        if form in ("phrases", "units"):
            # One boundary before many alternatives is faster than a boundary before each alternative.
            ways = [expression(one).removeprefix(_START[form]) for one in found]
            bounded = "|".join(one.removeprefix(r"\b") for one in ways if one.startswith(r"\b"))
            others = [one for one in ways if not one.startswith(r"\b")]
            return "(?:" + "|".join([rf"\b(?:{bounded})", *others] if bounded else others) + ")"
        return f"(?:{'|'.join(map(re.escape, found))})"


# --- phrases
_SIGNS = {"*": r"\w*", "#": r"\d{1,9}", "^": r"^\W{0,9}", "$": r"\W{0,9}$", "'": "['’]", "-": r"[-\s]?"}
_SIGNS |= {".": r"\.?\s?", ":": r"\s?[:：]"}
_START: Mapping[str, str] = {"phrases": "", "units": r"\b"}
"""Form -> the beginning that is removed from its expressions.

A unit may follow a number directly, so there must be no word boundary before it.
"""
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u9fff\uac00-\ud7af\uff00-\uffef]")
"""Matches letters that need no word boundary beside them.

These letters are from languages that do not separate words by spaces, and from Korean, which adds endings to
words.
"""


@cache
def expression(phrase: str) -> str:
    r"""Return the regular expression of a phrase.

    The signs of a phrase are:

    * ``(a|b)``: one of two parts
    * ``(a|)``: a part that may be missing
    * ``…``: up to 60 characters
    * ``*``: the rest of a word
    * ``#``: a number
    * ``^`` and ``$``: the start and the end of the text
    * ``-``: a hyphen, a space or nothing
    * ``.``: a full stop, which may be missing
    * a backslash: the next sign has no special meaning

    A phrase starts and ends at the boundaries of words. Raises ``ValueError`` if the parentheses are not
    balanced.

    >>> expression("log-in (here|) to read")
    '\\blog[-\\s]?in(?:\\s(?:here))?\\sto\\sread\\b'
    """
    body, end = _sequence(phrase, 0)
    if end < len(phrase):
        raise ValueError("a closing parenthesis without an opening one")
    if body.endswith(_SIGNS["."]):  # the word boundary is before the final full stop, which may be missing
        body = body.removesuffix(_SIGNS["."]) + r"\b\.?"
    first, last = phrase.lstrip("^("), phrase.rstrip("$|)")
    start = r"\b" if first[:1].isalnum() and not _UNSPACED.match(first) else ""
    stop = r"\b" if last[-1:].isalnum() and not _UNSPACED.match(last[-1]) else ""
    if body.startswith(_SIGNS["^"]):
        return f"{_SIGNS['^']}{start}{body[len(_SIGNS['^']) :]}{'' if phrase.endswith('$') else stop}"
    return f"{start}{body}{'' if phrase.endswith('$') else stop}"


def _sequence(phrase: str, at: int) -> tuple[str, int]:
    """Convert a phrase from the position ``at`` to the end of the group that contains this position.

    Return the expression and the end position.
    """
    branches = [""]
    open_ = True  # there is no word before this position
    while at < len(phrase) and phrase[at] != ")":
        sign = phrase[at]
        at += 1
        if sign == "(":
            inner, at = _sequence(phrase, at)
            if at >= len(phrase):
                raise ValueError("an opening parenthesis without a closing one")
            at += 1
            at, open_ = _add_group(branches, inner, phrase, at, open_)
            continue
        if sign == "|":
            branches.append("")
        elif sign == "…":
            spaced = branches[-1].endswith(r"\s")
            branches[-1] = branches[-1].removesuffix(r"\s") + (r"\b" if spaced else "") + f".{{0,{MAX_GAP}}}"
            if phrase[at : at + 1] == " ":
                branches[-1] += r"\b"
                at += 1
        elif sign == "\\":
            branches[-1] += re.escape(phrase[at : at + 1])
            at += 1
        else:
            branches[-1] += r"\s" if sign == " " else _SIGNS.get(sign) or re.escape(sign)
        open_ = sign == "|" or (open_ and sign == "^")
    return "|".join(branches), at


def _add_group(branches: list[str], inner: str, phrase: str, at: int, open_: bool) -> tuple[int, bool]:
    """Add the group with the expression ``inner`` to the last branch.

    If the group may be missing, the space beside it may be missing too. ``at`` is the position after the
    group. ``open_`` is True if there is no word before the group. Return the new position and the new value
    of ``open_``.
    """
    # A group with an empty alternative may be missing.
    if not (inner.endswith("|") or inner.startswith("|")):
        branches[-1] += f"(?:{inner})"
        return at, False
    inner = inner.strip("|")
    behind = phrase[at : at + 1]
    if branches[-1].endswith(r"\s") and behind in ("", " ", ")", "|", "$", ":"):
        branches[-1] = branches[-1].removesuffix(r"\s") + rf"(?:\s(?:{inner}))?"
        return at, False
    if open_ and behind == " ":
        branches[-1] += rf"(?:(?:{inner})\s)?"
        return at + 1, True
    branches[-1] += f"(?:{inner})?"
    return at, False


# --- the language of a text
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
