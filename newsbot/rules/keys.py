"""The keys of rule files, and the readers of their values. docs/rules.md describes every key.

A reader is a function that converts a YAML node to a value. If the value is faulty, it records a problem.
"""

from __future__ import annotations

import re
import zoneinfo
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from difflib import get_close_matches
from functools import cache
from typing import Any, TypeVar, cast, get_args

import yaml

from newsbot.clock import parse_duration
from newsbot.errors import Problem
from newsbot.items import Kind
from newsbot.rules.regexes import compile_pattern
from newsbot.rules.rule import FIELDS, FOLLOW, RECRAWL, TLS, Layout, Pattern, Recrawl, Selector, ascii_domain
from newsbot.rules.selectors import read_selector
from newsbot.rules.yamlfile import line_of
from newsbot.text.names import HOURS
from newsbot.urls import canonicalize, meant

T = TypeVar("T")

MAX_TEXT = 10_000
"""Maximum length of a text, in characters."""
MAX_DURATION = 3660 * 86400.0
"""Maximum value of a duration, in seconds."""
_TAGS = {
    "tag:yaml.org,2002:bool": "a truth value (true, false)",
    "tag:yaml.org,2002:int": "a number",
    "tag:yaml.org,2002:float": "a number",
    "tag:yaml.org,2002:null": "nothing",
    "tag:yaml.org,2002:timestamp": "a date",
    "tag:yaml.org,2002:merge": "a merge key (<<)",
    "tag:yaml.org,2002:value": "a default key (=)",
}
"""Names of kinds of values in messages, by the YAML tag of the value."""
_STR = "tag:yaml.org,2002:str"
# Endings by which a value is recognised as a file name and not a domain.
_FILES = (".txt", ".xml", ".gz", ".rss", ".rdf", ".atom", ".json", ".html", ".php")
_LANGUAGE = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})*", re.ASCII)
_TAG = re.compile(r"[^\W_][\w-]{0,39}")
_QUERY_KEY = re.compile(r"[^\s=&#?]+")


@dataclass(slots=True)
class Place:
    """The file and the key of a value, and the list to which its problems are added."""

    file: str
    key: str
    problems: list[Problem]

    def fault(self, node: yaml.Node, text: str) -> None:
        """Record a problem with the line of ``node``."""
        self.problems.append(Problem(self.file, line_of(node), self.key, text))

    def at(self, key: str) -> Place:
        """Return the place of a key inside the key of this place, for example ``interval.feed``."""
        return Place(self.file, f"{self.key}.{key}" if self.key else key, self.problems)


Reader = Callable[[yaml.Node, Place], T | None]
"""A function that returns the value of a node, or records a problem and returns None."""


def did_you_mean(word: str, allowed: Iterable[str]) -> str:
    """Return `` — did you mean 'x'?`` for the nearest allowed word, else the list of allowed words."""
    words = list(allowed)
    near = get_close_matches(word.lower(), words, n=1)
    return f" — did you mean {near[0]!r}?" if near else f"; allowed: {', '.join(words)}"


def entries(
    node: yaml.Node, place: Place, allowed: Iterable[str], what: str = "key"
) -> Iterator[tuple[str, yaml.Node, yaml.Node]]:
    """Yield the name, key node and value node of each entry of a mapping.

    Unknown and repeated keys are skipped and recorded as problems. ``what`` is the word that messages use for
    a key.
    """
    words = list(allowed)
    if not isinstance(node, yaml.MappingNode):
        place.fault(
            node,
            f"must be lines of the form 'name: value', not {_kind_of(node)}; allowed: {', '.join(words)}",
        )
        return
    seen: dict[str, int] = {}
    for key_node, value_node in node.value:
        name = key_node.value if isinstance(key_node, yaml.ScalarNode) else ""
        here = place.at(name)
        if name not in words:
            here.fault(key_node, f"unknown {what}{did_you_mean(name, words)}")
        elif name in seen:
            here.fault(key_node, f"given twice; the first is on line {seen[name]}")
        else:
            seen[name] = line_of(key_node)
            yield name, key_node, value_node


def many(read: Reader[T]) -> Reader[tuple[T, ...]]:
    """Return a reader of a list of values. A single value counts as a list with one item.

    Faulty items are left out, and their problems are recorded.
    """

    def reader(node: yaml.Node, place: Place) -> tuple[T, ...] | None:
        if isinstance(node, yaml.MappingNode):
            place.fault(node, "must be a list (lines that begin with '- '), not names with values")
            return None
        nodes = node.value if isinstance(node, yaml.SequenceNode) else [node]
        values = [read(item, place) for item in nodes]
        return tuple(value for value in values if value is not None)

    return reader


def text(node: yaml.Node, place: Place) -> str | None:
    """Read a text. Values that YAML converts, such as ``no`` or ``1.20``, must be in quotes."""
    if not isinstance(node, yaml.ScalarNode):
        place.fault(node, f"must be a text, not {_kind_of(node)}")
        return None
    if node.tag != _STR:
        advice = (
            "give a value or delete the line" if node.value == "" else f"put it in quotes: '{node.value}'"
        )
        place.fault(node, f"must be a text, but {node.value or 'this'} is {_kind_of(node)}; {advice}")
        return None
    if len(node.value) > MAX_TEXT:
        place.fault(node, f"too long: {len(node.value)} characters; at most {MAX_TEXT} are allowed")
        return None
    return str(node.value)


def _checked(check: Callable[[str], T]) -> Reader[T]:
    """Return a reader of a text that ``check`` converts.

    ``check`` raises ``ValueError`` if the text is not valid. The message of the error is the problem.
    """

    def reader(node: yaml.Node, place: Place) -> T | None:
        value = text(node, place)
        if value is None:
            return None
        try:
            return check(value)
        except ValueError as error:
            place.fault(node, str(error))
            return None

    return reader


def pattern(node: yaml.Node, place: Place) -> Pattern | None:
    """Read a URL pattern (a regular expression for RE2)."""
    value = text(node, place)
    if value is None:
        return None
    try:
        compile_pattern(value)
    except ValueError as error:
        place.fault(node, str(error))
        return None
    return Pattern(value, place.file, line_of(node))


def _url(value: str) -> str:
    try:
        canonicalize(value)
    except ValueError as error:
        if "/" not in value and value.lower().endswith(_FILES):
            hint = (
                " (sitemaps that robots.txt names are found without a rule)" if value == "robots.txt" else ""
            )
            raise ValueError(
                f"{value!r} is not an address; write it in full: https://example.org/{value}{hint}"
            ) from error
        if (hint := meant(value)).startswith(" —"):
            raise ValueError(f"{value!r} is not an address{hint}") from error
        raise ValueError(f"{error}; write for example https://example.org/rss.xml") from error
    if value.count("://") > 1 and re.search(r"[\s,]+https?://", value):
        raise ValueError(f"{value!r} is more than one address; write each on a line of its own, after '- '")
    if value != value.strip() or " " in value:
        raise ValueError(f"{value!r} contains a space; write %20 or remove it")
    return value


def _domain(value: str) -> str:
    try:
        return ascii_domain(value)
    except ValueError as error:
        host = value.partition("://")[2].partition("/")[0] or value.partition("/")[0].partition(":")[0]
        if host and host != value and " " not in host:
            raise ValueError(f"{value!r} is not a bare domain — did you mean {host!r}?") from error
        raise


def _language(value: str) -> str:
    if _LANGUAGE.fullmatch(value) is None:
        raise ValueError(f"{value!r} is not a language code; write for example en, ru or pt-BR (BCP 47)")
    return value


def _timezone(value: str) -> str:
    try:
        zoneinfo.ZoneInfo(value)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError) as error:
        zones = _timezones()
        if not zones:
            raise ValueError("this machine has no time zone data; pip install tzdata") from error
        cities = {zone.rpartition("/")[2].lower(): zone for zone in zones}
        like = get_close_matches(value.lower(), cities, n=9)
        near = get_close_matches(value, zones, n=1) or [
            city for city in like if city[:1] == value[:1].lower()
        ]
        # For abbreviations, similar names do not help: MSK (Moscow) is similar to MST, which is in North
        # America.
        near = [] if value.lower() in HOURS else near
        hint = f" — did you mean {cities.get(near[0], near[0])!r}?" if near else ""
        raise ValueError(
            f"{value!r} is not a time zone, write for example Europe/Moscow or UTC{hint}"
        ) from error
    return value


@cache
def _timezones() -> tuple[str, ...]:
    return tuple(sorted(zoneinfo.available_timezones()))


def _query_key(value: str) -> str:
    if _QUERY_KEY.fullmatch(value) is None or "*" in value[:-1]:
        raise ValueError(
            f"{value!r} is not a query key; write for example from, or ref_* for all keys with this prefix"
        )
    return value


def _tag(value: str) -> str:
    if _TAG.fullmatch(value) is None or value != value.lower():
        raise ValueError(
            f"{value!r} is not a tag; use at most 40 lower-case letters, digits and hyphens: regional"
        )
    return value


def _selector(value: str) -> Selector:
    return read_selector(value)


url: Reader[str] = _checked(_url)
domain: Reader[str] = _checked(_domain)
language: Reader[str] = _checked(_language)
timezone: Reader[str] = _checked(_timezone)
query_key: Reader[str] = _checked(_query_key)
tag: Reader[str] = _checked(_tag)
selector: Reader[Selector] = _checked(_selector)


def word(allowed: Iterable[str]) -> Reader[str]:
    """Return a reader of a text that must be one of the allowed words."""
    words = list(allowed)

    def check(value: str) -> str:
        if value not in words:
            raise ValueError(f"{value!r} is not allowed{did_you_mean(value, words)}")
        return value

    return _checked(check)


def whole(low: int, high: int) -> Reader[int]:
    """Return a reader of a whole number from ``low`` to ``high``."""

    def reader(node: yaml.Node, place: Place) -> int | None:
        value = _plain(node)
        if value is not None and re.fullmatch(r"[0-9]{1,9}", value) and low <= int(value) <= high:
            return int(value)
        place.fault(node, f"must be a whole number from {low} to {high}, not {_shown(node)}")
        return None

    return reader


def duration(high: float = MAX_DURATION) -> Reader[float]:
    """Return a reader of a duration such as ``30s``, ``5m`` or ``1d``. The value is in seconds.

    ``high`` is the maximum in seconds.
    """

    def reader(node: yaml.Node, place: Place) -> float | None:
        value = _plain(node)
        try:
            seconds = parse_duration(value) if value is not None else None
        except ValueError:
            seconds = None
        if seconds is None:
            place.fault(node, f"{_shown(node)} is not a duration; write for example 30s, 5m, 6h or 1d")
        elif seconds > high:
            place.fault(
                node,
                f"{_shown(node)} is too long; at most {high / 86400 if high >= 86400 else high:g} "
                f"{'days' if high >= 86400 else 'seconds'} are allowed",
            )
            return None
        return seconds

    return reader


def boolean(node: yaml.Node, place: Place) -> bool | None:
    """Read a boolean in one of the forms of YAML 1.1."""
    if node.tag == "tag:yaml.org,2002:bool":
        return node.value.lower() in ("true", "yes", "on")
    place.fault(node, f"must be true or false, not {_shown(node)}")
    return None


def day(node: yaml.Node, place: Place) -> date | None:
    """Read a date such as ``2024-05-31``."""
    try:
        return date.fromisoformat(_plain(node) or "")
    except ValueError:
        place.fault(node, f"{_shown(node)} is not a day; write for example 2024-05-31")
        return None


def _plain(node: yaml.Node) -> str | None:
    return str(node.value) if isinstance(node, yaml.ScalarNode) else None


def _kind_of(node: yaml.Node) -> str:
    if isinstance(node, yaml.SequenceNode):
        return "a list"
    if isinstance(node, yaml.MappingNode):
        return "names with values"
    return "a text" if node.tag == _STR else _TAGS.get(node.tag, "a value with a tag (!)")


def _shown(node: yaml.Node) -> str:
    plain = _plain(node)
    if plain is None:
        return _kind_of(node)
    return repr(plain if len(plain) <= 60 else plain[:60] + "…") if plain else "nothing"


MAX_DELAY = 3600.0
"""Maximum value of ``delay``, in seconds."""


@dataclass(frozen=True, slots=True)
class Key:
    """One key of a rule file."""

    read: Reader[Any]
    """Converts the YAML node of the value."""
    adds: bool = False
    """If True, the rule's value is joined with the value in ``_defaults.yaml``. Otherwise it replaces it."""


def _interval(node: yaml.Node, place: Place) -> dict[Kind, float] | None:
    read = duration()
    intervals: dict[Kind, float] = {}
    for name, _, value_node in entries(node, place, [kind.value for kind in Kind], "kind of page"):
        seconds = read(value_node, place.at(name))
        if seconds is not None:
            intervals[Kind(name)] = seconds
    return intervals


def _recrawl(node: yaml.Node, place: Place) -> dict[Kind, Recrawl] | None:
    found: dict[Kind, Recrawl] = {}
    for name, _, value_node in entries(node, place, [kind.value for kind in Kind], "kind of page"):
        allowed = RECRAWL[Kind(name)]
        if isinstance(value_node, yaml.ScalarNode) and value_node.value == "off" and "off" in allowed:
            policy: str | None = "off"  # YAML reads an unquoted off as a boolean
        else:
            policy = word(allowed)(value_node, place.at(name))
        if policy is not None:
            found[Kind(name)] = cast("Recrawl", policy)
    return found


def _recheck(node: yaml.Node, place: Place) -> tuple[float, ...] | None:
    ages = many(duration())(node, place)
    return None if ages is None else tuple(sorted(set(ages)))


def _head(node: yaml.Node, place: Place) -> tuple[Kind, ...] | None:
    kinds = many(word([kind.value for kind in Kind]))(node, place)
    return None if kinds is None else tuple(Kind(kind) for kind in kinds)


def _extract(node: yaml.Node, place: Place) -> dict[str, tuple[Selector, ...]] | None:
    read = many(selector)
    fields: dict[str, tuple[Selector, ...]] = {}
    for name, _, value_node in entries(node, place, FIELDS, "field"):
        selectors = read(value_node, place.at(name))
        if selectors is not None:
            fields[name] = selectors
    return fields


# Readers of the keys of one layout.
_LAYOUT: Mapping[str, Reader[Any]] = {
    "valid_from": day,
    "extract": _extract,
    "remove": many(selector),
}


def _layouts(node: yaml.Node, place: Place) -> tuple[Layout, ...] | None:
    if not isinstance(node, yaml.SequenceNode):
        place.fault(node, "must be a list; each item has the keys valid_from, extract, remove")
        return None
    found: list[Layout] = []
    for item in node.value:
        given = {
            name: _LAYOUT[name](value, place.at(name)) for name, _, value in entries(item, place, _LAYOUT)
        }
        if "valid_from" not in given:
            place.fault(
                item, "a layout needs valid_from: the day from which it applies, for example 2024-05-31"
            )
        elif given["valid_from"] is not None and given["valid_from"] in {
            layout.valid_from for layout in found
        }:
            place.fault(item, f"two layouts begin on {given['valid_from']}; keep one")
        else:
            found.append(Layout(given["valid_from"], given.get("extract") or {}, given.get("remove") or ()))
    return tuple(sorted(found, key=lambda layout: str(layout.valid_from), reverse=True))


KEYS: Mapping[str, Key] = {
    "domain": Key(domain),
    "seeds": Key(many(url)),
    "feeds": Key(many(url)),
    "sitemaps": Key(many(url)),
    "sections": Key(many(url)),
    "article": Key(many(pattern)),
    "section": Key(many(pattern)),
    "deny": Key(many(pattern), adds=True),
    "drop_query": Key(many(query_key), adds=True),
    "max_depth": Key(whole(0, 100)),
    "interval": Key(_interval, adds=True),
    "recrawl": Key(_recrawl, adds=True),
    "recheck": Key(_recheck),
    "head": Key(_head),
    "delay": Key(duration(MAX_DELAY)),
    "concurrency": Key(whole(1, 64)),
    "tls": Key(word(get_args(TLS))),
    "render": Key(boolean),
    "language": Key(language),
    "timezone": Key(timezone),
    "extract": Key(_extract, adds=True),
    "remove": Key(many(selector), adds=True),
    "learn": Key(boolean),
    "follow": Key(many(word(FOLLOW))),
    "layouts": Key(_layouts),
    "tags": Key(many(tag)),
    "notes": Key(text),
}
