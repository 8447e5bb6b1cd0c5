"""Loads the words and phrases of each language from ``newsbot/pages/extraction/languages/<code>.yaml``.

A file has one key for each kind of words (:data:`KINDS`). docs/languages.md describes the files. Words are
looked up by kind and not by language, because many pages declare no language or a wrong language.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
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


_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # CSafeLoader is missing without libyaml
KINDS: Mapping[str, Kind] = {
    name: Kind(form, meaning)
    for name, (form, meaning) in yaml.load(
        (files("newsbot") / "pages" / "text" / "kinds.yaml").read_text("utf-8"),
        _LOADER,  # noqa: S506  (both loaders are safe)
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
        root = yaml.compose(data.decode(), Loader=_LOADER)
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
