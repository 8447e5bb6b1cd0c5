"""Loads the words and phrases of each language from ``newsbot/extraction/languages/<code>.yaml``.

A file has one key for each kind of words (:data:`KINDS`). docs/languages.md describes the files. The code
asks for a kind and not for a language, because many pages declare no language or a wrong one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from itertools import chain
from typing import Literal

import yaml

FOLDER: Traversable = files("newsbot") / "extraction" / "languages"
ANY = "any"
"""Code of the file with words that belong to no language.

This file is loaded first. If a name has several meanings, the meaning in this file is used.
"""
MAX_BYTES = 100_000
"""Maximum size of a file."""
MAX_GAP = 60
"""Maximum number of characters that ``…`` stands for."""

Form = Literal["value", "words", "phrases", "units", "months", "pairs"]
"""The form of a value in a file.

``value`` is a single word, ``words`` are words separated by spaces, and ``phrases`` is a list of phrases.
``units`` is a list of phrases that may follow a number without a space. ``months`` is a list of twelve
months, and ``pairs`` is a mapping.
"""


@dataclass(frozen=True, slots=True)
class Kind:
    """A key of the files: the form of its value, and what the words are."""

    form: Form
    meaning: str


KINDS: Mapping[str, Kind] = {
    "codes": Kind("words", "other codes that pages use for the language"),
    "script": Kind("value", "script of the language; without it, the Latin one"),
    "letters": Kind("value", "letters that are rare in other languages of the same script"),
    "country": Kind("value", "country whose time zone nearly all readers of the language have"),
    "stop_words": Kind("words", "the most frequent small words, which show the language of a text"),
    "months": Kind("months", "names of each month, separated by slashes; _ is a space in a name"),
    "solar_months": Kind("words", "months of the Solar Hijri calendar"),
    "weekdays": Kind("phrases", "days of the week between a date and a time, or after a name"),
    "ordinals": Kind("words", "endings of the number of a day"),
    "of": Kind("phrases", "words between day, month and year"),
    "year": Kind("units", "words after the year, where the year comes first"),
    "at": Kind("phrases", "words between a date and a time"),
    "am": Kind("units", '"before noon", after a time'),
    "pm": Kind("units", '"after noon", after a time'),
    "am_before": Kind("phrases", '"before noon", in front of a time'),
    "pm_before": Kind("phrases", '"after noon", in front of a time'),
    "zones": Kind("pairs", "names of time zones, with the hours that they are ahead of UTC"),
    "today": Kind("phrases", '"today", as the date of an article'),
    "yesterday": Kind("phrases", '"yesterday", as the date of an article'),
    "minutes": Kind("units", '"minutes" in "5 minutes ago"'),
    "hours": Kind("units", '"hours" in "5 hours ago"'),
    "days": Kind("units", '"days" in "5 days ago"'),
    "one": Kind("phrases", '"a" in "an hour ago"'),
    "ago": Kind("units", '"ago" after the number'),
    "ago_before": Kind("phrases", '"ago" in front of the number'),
    "published": Kind("phrases", "words before the time of publication"),
    "updated": Kind("phrases", "words before the time of a change"),
    "dated": Kind("phrases", "small words before a date, which is then more probably that of the article"),
    "other_dates": Kind("phrases", "words beside a date that is not that of the article"),
    "by": Kind("phrases", 'the word before a name in "by Jane Doe"'),
    "bylines": Kind("phrases", "words before the names in a byline"),
    "byline_labels": Kind("phrases", "the same, only before a colon or a dash"),
    "author_labels": Kind("phrases", "labels of authors; after them, a single word may be a name"),
    "other_makers": Kind("words", 'beginnings of words for the work of others: "photo by", "designed by"'),
    "and": Kind("phrases", "words between two names"),
    "and_in_lower_case": Kind(
        "words", "the same, for words that are initials or names with a capital letter"
    ),
    "text_labels": Kind("phrases", '"text", in bylines that name author and photographer'),
    "photo_labels": Kind("phrases", '"photo", in bylines that name author and photographer'),
    "edited": Kind("phrases", "words before the names of editors, who are not authors"),
    "in_places": Kind("phrases", '"in" between a name and the place of a reporter'),
    "roles": Kind("words", "last words of job titles"),
    "role_kinds": Kind("words", "words before them"),
    "roles_behind": Kind("words", "job titles directly after a name"),
    "degrees": Kind("words", "academic degrees and additions to names"),
    "after_names": Kind("phrases", "the rest of a byline begins here, without further names"),
    "on": Kind("words", '"on" before the date after a name'),
    "not_names": Kind("phrases", "words that are never part of a name"),
    "no_authors": Kind("words", "words that sites write in place of an author"),
    "agencies": Kind("pairs", "name of a news agency, with its spellings separated by commas"),
    "agency_words": Kind("words", "words around the name of an agency"),
    "site_words": Kind("words", "words beside the short name of a site in titles"),
    "site_ends": Kind("words", "endings of the names of sites, in languages without spaces"),
    "articles": Kind("words", 'articles and "and", which abbreviations of names leave out'),
    "no_titles": Kind("phrases", "titles that are not headlines"),
    "page": Kind("words", '"page" before the number of a page in a title'),
    "url_pages": Kind("words", '"page" in URLs'),
    "live": Kind("phrases", "words that start the title of a live blog"),
    "live_anywhere": Kind("phrases", "words of live blogs anywhere in a title"),
    "live_paths": Kind("phrases", "words of live blogs in URLs"),
    "galleries": Kind("phrases", "words that start the title of a gallery"),
    "gallery_ends": Kind("phrases", "words that end the title of a gallery"),
    "gallery_paths": Kind("phrases", "words of galleries in URLs"),
    "paywalls": Kind("phrases", "offers of a subscription in place of the rest of a text"),
    "errors": Kind("phrases", "messages that a page does not exist or does not work"),
    "error": Kind("phrases", '"error", before or after its number'),
    "challenges": Kind("phrases", "pages that check whether the visitor is a robot"),
    "logins": Kind("phrases", "headings that ask the reader to sign in"),
    "consent": Kind("phrases", "words of texts that ask for consent to cookies"),
    "negations": Kind("words", "words that negate a sentence; an edit of one is a new version"),
    "number_words": Kind("words", 'numbers in words, without "one"; an edit of one is a new version'),
    "read_also": Kind("phrases", 'words before a link to another article: "read also"'),
    "labels": Kind("phrases", "whole lines such as the heading of an advertisement"),
    "appeals": Kind("phrases", "words that start a request to the reader or a notice of the publisher"),
    "credits": Kind("phrases", 'words before the maker of a picture: "photo: Jane Doe"'),
}
"""The keys of the files, in the order in which they are written."""


@dataclass(frozen=True, slots=True)
class Language:
    """The content of one file."""

    code: str
    lists: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Words or phrases by kind. A single word is a tuple of one item. Months have twelve items."""
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
        # CSafeLoader is missing if PyYAML was built without libyaml.
        root = yaml.compose(data.decode(), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        mark = getattr(error, "problem_mark", None)
        raise ValueError(f"{name}:{mark.line + 1 if mark else 1}: {error}") from error
    lists: dict[str, tuple[str, ...]] = {}
    pairs: dict[str, Mapping[str, str]] = {}
    for kind, key, value in _entries(root, name):
        if kind not in KINDS:
            near = get_close_matches(kind, KINDS, n=1)
            hint = f" (did you mean {near[0]!r}?)" if near else ""
            raise _fault(name, key, f"unknown key {kind!r}{hint}")
        if KINDS[kind].form == "pairs":
            pairs[kind] = {one: _scalar(node, name) for one, _, node in _entries(value, name)}
        else:
            lists[kind] = _list(value, KINDS[kind].form, name)
    return Language(code, lists, pairs)


def _entries(node: yaml.Node | None, name: str) -> Iterator[tuple[str, yaml.Node, yaml.Node]]:
    """Yield each key of a mapping, its node and the node of its value."""
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

    ``template`` is an expression in which ``%(KIND)s`` stands for the words of a kind. All repetitions in the
    phrases are bounded.
    """
    return re.compile(template % _Groups(), re.IGNORECASE)


class _Groups(dict[str, str]):
    """Maps a kind of words to a group of a regular expression that matches all its words or phrases."""

    def __missing__(self, kind: str) -> str:
        # Longer alternatives come first, because a regular expression takes the first alternative that fits.
        found = sorted(phrases(kind), key=len, reverse=True)
        form = KINDS[kind].form
        if form in ("phrases", "units"):
            # One boundary before many alternatives is faster than a boundary before each of them.
            ways = [expression(one).removeprefix(_START[form]) for one in found]
            bounded = "|".join(one.removeprefix(r"\b") for one in ways if one.startswith(r"\b"))
            others = [one for one in ways if not one.startswith(r"\b")]
            return "(?:" + "|".join([rf"\b(?:{bounded})", *others] if bounded else others) + ")"
        return f"(?:{'|'.join(map(re.escape, found))})"


# --- phrases
_SIGNS = {"*": r"\w*", "#": r"\d{1,9}", "^": r"^\W{0,9}", "$": r"\W{0,9}$", "'": "['’]", "-": r"[-\s]?"} | {
    ".": r"\.?\s?",
    ":": r"\s?[:：]",
}
_START: Mapping[str, str] = {"phrases": "", "units": r"\b"}
"""The start that is removed from the expressions of a form.

A unit may follow a number directly, so no word boundary may be required before it.
"""
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u9fff\uac00-\ud7af\uff00-\uffef]")
"""Letters that need no word boundary beside them.

They belong to languages that do not separate words by spaces, and to Korean, which adds endings to words.
"""


def expression(phrase: str) -> str:
    r"""Return the regular expression of a phrase.

    The signs of a phrase are:

    * ``(a|b)``: one of the two
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
    if body.endswith(_SIGNS["."]):  # the word boundary is before the last full stop, which may be missing
        body = body.removesuffix(_SIGNS["."]) + r"\b\.?"
    first, last = phrase.lstrip("^("), phrase.rstrip("$|)")
    start = r"\b" if first[:1].isalnum() and not _UNSPACED.match(first) else ""
    stop = r"\b" if last[-1:].isalnum() and not _UNSPACED.match(last[-1]) else ""
    if body.startswith(_SIGNS["^"]):
        return f"{_SIGNS['^']}{start}{body[len(_SIGNS['^']) :]}{'' if phrase.endswith('$') else stop}"
    return f"{start}{body}{'' if phrase.endswith('$') else stop}"


def _sequence(phrase: str, at: int) -> tuple[str, int]:
    """Convert a phrase from the position ``at`` to the end of the group that contains this position.

    Return the expression, and the position of the end.
    """
    branches = [""]
    open_ = True  # no word stands before this position
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
    group. ``open_`` is True if no word stands before the group. Return the new position and the new value of
    ``open_``.
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
