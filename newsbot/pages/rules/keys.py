"""The keys of rule files, and the readers of their values. docs/rules.md describes every key.

A reader is a function that converts a YAML node to a value. If the value is faulty, it raises ``ValueError``.
:meth:`Place.read` records the message of the error as a problem of the node. The readers of lists and
mappings leave out faulty items, so that the problems of all items are recorded.

YAML is read as nodes, so that the line of every fault is known. The size and depth of a file are limited.
Aliases are refused, because nine lines with aliases can expand to a billion values. Rules do not need them.
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
from newsbot.errors import Problem, did_you_mean
from newsbot.items import KINDS, Kind
from newsbot.pages.rules.rule import (
    FIELDS,
    FOLLOW,
    RECRAWL,
    TLS,
    Layout,
    Pattern,
    Recrawl,
    Secret,
    Selector,
    ascii_domain,
    compile_pattern,
    read_selector,
)
from newsbot.pages.text.languages import LOADER
from newsbot.pages.text.names import HOURS
from newsbot.urls import canonicalize, meant

# --- the YAML file
MAX_BYTES = 256 * 1024
"""Maximum size of a file."""
MAX_DEPTH = 8
"""Maximum depth of nested lists and mappings."""
_resolve: Any = yaml.resolver.Resolver().resolve
_TEXT = yaml.resolver.Resolver.DEFAULT_SCALAR_TAG
_QUOTED = re.compile(r"\s*(?:-\s+|[\w-]+:\s+)+\[?\s*(['\"])")
"""Matches a line whose value begins with a quote."""


class YamlFault(ValueError):
    """The file is not valid YAML, or uses a feature that is not allowed. ``line`` counts from 1."""

    def __init__(self, line: int, text: str) -> None:
        super().__init__(text)
        self.line = line


def read_tree(data: bytes) -> yaml.Node | None:
    """Return the root node of the document, or None if the file is empty. Raises :class:`YamlFault`."""
    if len(data) > MAX_BYTES:
        raise YamlFault(1, f"the file is too large; at most {MAX_BYTES // 1024} kB are allowed")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise YamlFault(line, "this is not UTF-8 text; save the file as UTF-8") from error
    try:
        return _compose(LOADER(text))
    except yaml.YAMLError:
        return _read_slowly(text)


def _read_slowly(text: str) -> yaml.Node | None:
    """Read a faulty document again with PyYAML's own parser, because its error messages are better."""
    try:
        return _compose(yaml.SafeLoader(text))
    except yaml.reader.ReaderError as error:
        line = text[: error.position].count("\n") + 1
        raise YamlFault(line, f"YAML does not allow the character with code {error.character}") from error
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        if error.context == "while scanning a simple key":  # the line where the key begins has no colon
            mark = error.context_mark
        line = mark.line + 1 if mark else 1
        # PyYAML reports an open quote or bracket at a line far below it, where parsing fails.
        if (quote := _open_quote(text, line)) is not None:
            raise YamlFault(quote, "bad YAML: the quote that begins here is not closed") from error
        if "flow" in (error.context or "") and error.context_mark is not None:
            opened = error.context_mark.line + 1
            raise YamlFault(opened, "bad YAML: the bracket that begins here is not closed") from error
        raise YamlFault(line, _readable(error)) from error


def _compose(parser: Any) -> yaml.Node | None:
    """Build the document from the events of a parser and return its root node. Raises :class:`YamlFault` or
    ``yaml.YAMLError``.

    PyYAML's composer is not used, because it is recursive and accepts aliases and any depth.
    """
    outer: list[Any] = []
    parts: list[list[yaml.Node]] = [[]]
    """The nodes of each open list or mapping. In a mapping, keys and values alternate."""
    for event in iter(parser.get_event, None):
        begin: Any = event.start_mark
        end: Any = event.end_mark
        if getattr(event, "anchor", None) is not None:
            text = "aliases and anchors (& and *) are not allowed; write the value out, in single quotes"
            raise YamlFault(begin.line + 1, f"bad YAML: {text}")
        if isinstance(event, yaml.ScalarEvent):
            # A value without tag and quotes gets the tag that its text suggests, as in PyYAML's composer.
            tag = event.tag
            if tag is None or tag == "!":
                plain = event.implicit[0]
                tag = _resolve(yaml.ScalarNode, event.value, event.implicit) if plain else _TEXT
            parts[-1].append(yaml.ScalarNode(tag, event.value, begin, end, event.style))
        elif isinstance(event, yaml.CollectionStartEvent):
            if len(outer) > MAX_DEPTH:
                raise YamlFault(begin.line + 1, "bad YAML: too deeply nested")
            is_list = isinstance(event, yaml.SequenceStartEvent)
            kind = yaml.SequenceNode if is_list else yaml.MappingNode
            outer.append(kind(event.tag or "", [], begin))
            parts[-1].append(outer[-1])
            parts.append([])
        elif isinstance(event, yaml.CollectionEndEvent):
            node, found = outer.pop(), parts.pop()
            is_list = isinstance(node, yaml.SequenceNode)
            node.value = found if is_list else list(zip(found[::2], found[1::2], strict=True))
        elif isinstance(event, yaml.DocumentStartEvent) and parts[0]:
            text = "a second document begins here; one file contains one rule"
            raise YamlFault(begin.line + 1, f"bad YAML: {text}")
    return parts[0][0] if parts[0] else None


def line_of(node: yaml.Node) -> int:
    """Return the line on which a node begins, from 1."""
    return int(node.start_mark.line) + 1


def _open_quote(text: str, line: int) -> int | None:
    """Return the first line up to ``line`` on which a quote at the start of a value is not closed."""
    for number, content in enumerate(text.splitlines()[:line], start=1):
        value = _QUOTED.match(content)
        if value is not None and content.count(value[1]) % 2:
            return number
    return None


def _readable(error: yaml.MarkedYAMLError) -> str:
    """Return the message of the parser with advice for frequent mistakes."""
    problem = error.problem or "cannot be read"
    if "could not find expected ':'" in problem:
        problem = "no colon after the first word; write name: value"
    elif "'\\t' that cannot start" in problem:
        problem = "a tab; indent with spaces"
    elif "cannot start any token" in problem:
        problem += "; put the value in single quotes"
    elif "mapping values are not allowed" in problem:
        problem += "; put a value that contains a colon and a space in single quotes"
    elif (error.context or "") in ("while scanning an alias", "while scanning an anchor"):
        problem = "put a value that begins with * or & in single quotes"
    elif "unknown escape character" in problem:
        problem += '; write patterns in single quotes, not in "…"'
    return f"bad YAML: {problem}"


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
# A value with such an ending is recognised as a file name and not a domain.
_FILES = (".txt", ".xml", ".gz", ".rss", ".rdf", ".atom", ".json", ".html", ".php")
# en, pt-BR
_LANGUAGE = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})*", re.ASCII)
_TAG = re.compile(r"[^\W_][\w-]{0,39}")
# A star may only be the last character: ref_*.
_QUERY_KEY = re.compile(r"[^\s=&#?*]*[^\s=&#?]")


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

    def read(self, reader: Reader[T], node: yaml.Node) -> T | None:
        """Return the value of ``node``. If it is faulty, record the problem and return None."""
        try:
            return reader(node, self)
        except ValueError as error:
            self.fault(node, str(error))
            return None


Reader = Callable[[yaml.Node, Place], T]
"""A function that returns the value of a node. Raises ``ValueError`` if it is faulty."""


GONE = {
    "head": "newsbot sends conditional requests; remove this key",
    "nutch": "use optimum, which adapts the pauses of a page within a budget",
}
"""Keys and words that no longer exist -> what to do instead."""


def _hint(word: str, allowed: Iterable[str]) -> str:
    """Return what to write instead: what replaces a former word, the nearest allowed word, or all of them."""
    words = list(allowed)
    if word in GONE:
        return f": it no longer exists; {GONE[word]}"
    return did_you_mean(word.lower(), words) or f"; allowed: {', '.join(words)}"


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
            here.fault(key_node, f"unknown {what}{_hint(name, words)}")
        elif name in seen:
            here.fault(key_node, f"given twice; the first is on line {seen[name]}")
        else:
            seen[name] = line_of(key_node)
            yield name, key_node, value_node


def many(reader: Reader[T]) -> Reader[tuple[T, ...]]:
    """Return a reader of a list of values. A single value counts as a list with one item."""

    def read(node: yaml.Node, place: Place) -> tuple[T, ...]:
        if isinstance(node, yaml.MappingNode):
            raise ValueError("must be a list (lines that begin with '- '), not names with values")
        nodes = node.value if isinstance(node, yaml.SequenceNode) else [node]
        values = [place.read(reader, item) for item in nodes]
        return tuple(value for value in values if value is not None)

    return read


def mapping(readers: Mapping[str, Reader[T]], what: str) -> Reader[dict[str, T]]:
    """Return a reader of a mapping. ``readers`` has a reader for each key. Messages call a key ``what``."""

    def read(node: yaml.Node, place: Place) -> dict[str, T]:
        values = {
            name: place.at(name).read(readers[name], value)
            for name, _, value in entries(node, place, readers, what)
        }
        return {name: value for name, value in values.items() if value is not None}

    return read


def text(node: yaml.Node, _place: Place) -> str:
    """Read a text. Values that YAML converts, such as ``no`` or ``1.20``, must be in quotes."""
    if not isinstance(node, yaml.ScalarNode):
        raise ValueError(f"must be a text, not {_kind_of(node)}")
    if node.tag != _STR:
        advice = (
            "give a value or delete the line" if node.value == "" else f"put it in quotes: '{node.value}'"
        )
        raise ValueError(f"must be a text, but {node.value or 'this'} is {_kind_of(node)}; {advice}")
    if len(node.value) > MAX_TEXT:
        raise ValueError(f"too long: {len(node.value)} characters; at most {MAX_TEXT} are allowed")
    return str(node.value)


def _checked(check: Callable[[str], T]) -> Reader[T]:
    """Return a reader of texts. ``check`` converts the text and may raise ``ValueError``."""
    return lambda node, place: check(text(node, place))


def pattern(node: yaml.Node, place: Place) -> Pattern:
    """Read a URL pattern (a regular expression for RE2)."""
    value = text(node, place)
    compile_pattern(value)
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
        if (hint := meant(value)).startswith(" ("):
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
            raise ValueError(f"{value!r} is not a bare domain (did you mean {host!r}?)") from error
        raise


def _form(form: re.Pattern[str], advice: str) -> Reader[str]:
    """Return a reader of texts that have this form. ``advice`` is the end of the message for other texts."""

    def check(value: str) -> str:
        if form.fullmatch(value) is None:
            raise ValueError(f"{value!r} {advice}")
        return value

    return _checked(check)


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
        # No similar name is suggested for an abbreviation: MSK (Moscow) is similar to MST (North America).
        near = [] if value.lower() in HOURS else near
        hint = f" (did you mean {cities.get(near[0], near[0])!r}?)" if near else ""
        raise ValueError(
            f"{value!r} is not a time zone; write for example Europe/Moscow or UTC{hint}"
        ) from error
    return value


@cache
def _timezones() -> tuple[str, ...]:
    return tuple(sorted(zoneinfo.available_timezones()))


def _tag(value: str) -> str:
    if _TAG.fullmatch(value) is None or value != value.lower():
        raise ValueError(
            f"{value!r} is not a tag; use up to 40 lower-case letters, digits, hyphens, for example: regional"
        )
    return value


url: Reader[str] = _checked(_url)
domain: Reader[str] = _checked(_domain)
language = _form(_LANGUAGE, "is not a language code; write for example en, ru or pt-BR (BCP 47)")
timezone: Reader[str] = _checked(_timezone)
query_key = _form(
    _QUERY_KEY, "is not a query key; write for example from, or ref_* for all keys with this prefix"
)
tag: Reader[str] = _checked(_tag)
selector: Reader[Selector] = _checked(read_selector)


def word(allowed: Iterable[str]) -> Reader[str]:
    """Return a reader of a text that must be one of the allowed words."""
    words = list(allowed)

    def check(value: str) -> str:
        if value not in words:
            raise ValueError(f"{value!r} is not allowed{_hint(value, words)}")
        return value

    return _checked(check)


def whole(low: int, high: int) -> Reader[int]:
    """Return a reader of a whole number from ``low`` to ``high``."""

    def read(node: yaml.Node, _place: Place) -> int:
        value = _plain(node)
        # The text of the node is used instead of its YAML value, because YAML 1.1 reads 010 as 8.
        if value is None or not re.fullmatch(r"[0-9]{1,9}", value) or not low <= int(value) <= high:
            raise ValueError(f"must be a whole number from {low} to {high}, not {_shown(node)}")
        return int(value)

    return read


def duration(high: float = MAX_DURATION) -> Reader[float]:
    """Return a reader of a duration such as ``30s``, ``5m`` or ``1d``. The value is in seconds.

    ``high`` is the maximum value in seconds.
    """

    def read(node: yaml.Node, _place: Place) -> float:
        try:
            seconds = parse_duration(_plain(node) or "")
        except ValueError as error:
            raise ValueError(
                f"{_shown(node)} is not a duration; write for example 30s, 5m, 6h or 1d"
            ) from error
        if seconds > high:
            most = f"{high / 86400:g} days" if high >= 86400 else f"{high:g} seconds"
            raise ValueError(f"{_shown(node)} is too long; at most {most} are allowed")
        return seconds

    return read


def boolean(node: yaml.Node, _place: Place) -> bool:
    """Read a boolean in one of the forms of YAML 1.1."""
    if node.tag != "tag:yaml.org,2002:bool":
        raise ValueError(f"must be true or false, not {_shown(node)}")
    return node.value.lower() in ("true", "yes", "on")


def day(node: yaml.Node, _place: Place) -> date:
    """Read a date such as ``2024-05-31``."""
    try:
        return date.fromisoformat(_plain(node) or "")
    except ValueError as error:
        raise ValueError(f"{_shown(node)} is not a day; write for example 2024-05-31") from error


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
    """If True, the rule's value is joined with the value in ``_defaults.yaml``. Otherwise the rule's value
    replaces the default."""


_KINDS = [kind.value for kind in KINDS]


def _by_kind(reader_of: Callable[[Kind], Reader[T]]) -> Reader[dict[Kind, T]]:
    """Return a reader of a mapping whose keys are kinds of pages. ``reader_of`` returns the reader for a
    kind."""
    by_name = mapping({kind.value: reader_of(kind) for kind in KINDS}, "kind of page")
    return lambda node, place: {Kind(name): value for name, value in by_name(node, place).items()}


def _recrawl(kind: Kind) -> Reader[Recrawl]:
    """Return a reader of a recrawl policy for pages of this kind."""
    allowed = RECRAWL[kind]

    def read(node: yaml.Node, place: Place) -> Recrawl:
        if isinstance(node, yaml.ScalarNode) and node.value == "off" and "off" in allowed:
            return "off"  # YAML reads an unquoted off as a boolean
        return cast("Recrawl", word(allowed)(node, place))

    return read


def _recheck(node: yaml.Node, place: Place) -> tuple[float, ...]:
    return tuple(sorted(set(many(duration())(node, place))))


def secret(node: yaml.Node, place: Place) -> Secret:
    """Read a secret. A number is a secret, too."""
    return Secret(text(node, place) if node.tag != "tag:yaml.org,2002:int" else str(node.value))


# Characters of a name of a header or cookie (RFC 9110, 5.6.2)
_TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
_OWN_KEYS = {
    "authorization": "auth", "cookie": "cookies", "proxy-authorization": "proxy", "user-agent": "user_agent",
    "accept-language": "accept_language",
}  # fmt: skip
_NEVER = ("host", "connection", "content-length", "transfer-encoding", "accept-encoding", "te", "upgrade")
"""Headers that the HTTP client sets."""


def _secrets(node: yaml.Node, place: Place) -> dict[str, Secret]:
    """Read a mapping of names to secrets."""
    if not isinstance(node, yaml.MappingNode):
        raise ValueError("must be lines of the form 'name: value'")
    found: dict[str, Secret] = {}
    for key, value in node.value:
        name = str(key.value)
        if not isinstance(key, yaml.ScalarNode) or _TOKEN.fullmatch(name) is None:
            place.fault(key, f"{name[:60]!r} is not a name of a header or cookie")
        elif (one := place.at(name).read(secret, value)) is not None:
            found[name] = one
    return found


def _headers(node: yaml.Node, place: Place) -> dict[str, Secret]:
    found = _secrets(node, place)
    for name in found:
        if name.lower() in _OWN_KEYS:
            raise ValueError(f"{name} has a key of its own: {_OWN_KEYS[name.lower()]}")
        if name.lower() in _NEVER:
            raise ValueError(f"{name} is set by newsbot itself; remove it")
    return found


def _cookies(node: yaml.Node, place: Place) -> dict[str, Secret] | Secret:
    return _secrets(node, place) if isinstance(node, yaml.MappingNode) else secret(node, place)


def _header_text(value: str) -> str:
    if not value.isascii() or not value.isprintable():
        raise ValueError("must be one line of ASCII characters")
    return value


_extract = mapping(dict.fromkeys(FIELDS, many(selector)), "field")

# The readers for the keys of a layout.
_LAYOUT: Mapping[str, Reader[Any]] = {
    "valid_from": day,
    "extract": _extract,
    "remove": many(selector),
}


def _layouts(node: yaml.Node, place: Place) -> tuple[Layout, ...]:
    if not isinstance(node, yaml.SequenceNode):
        raise ValueError("must be a list; each item has the keys valid_from, extract, remove")
    found: list[Layout] = []
    for item in node.value:
        values = {
            name: place.at(name).read(_LAYOUT[name], value)
            for name, _, value in entries(item, place, _LAYOUT)
        }
        if "valid_from" not in values:
            place.fault(
                item, "a layout needs valid_from: the day from which it applies, for example 2024-05-31"
            )
        elif values["valid_from"] is not None and values["valid_from"] in {
            layout.valid_from for layout in found
        }:
            place.fault(item, f"two layouts begin on {values['valid_from']}; keep one")
        else:
            found.append(
                Layout(values["valid_from"], values.get("extract") or {}, values.get("remove") or ())
            )
    # str() is needed, because the day is None if it is faulty.
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
    "interval": Key(_by_kind(lambda _kind: duration()), adds=True),
    "recrawl": Key(_by_kind(_recrawl), adds=True),
    "recheck": Key(_recheck),
    "delay": Key(duration(MAX_DELAY)),
    "concurrency": Key(whole(1, 64)),
    "tls": Key(word(get_args(TLS))),
    "headers": Key(_headers),
    "cookies": Key(_cookies),
    "auth": Key(secret),
    "user_agent": Key(_checked(_header_text)),
    "accept_language": Key(_checked(_header_text)),
    "proxy": Key(secret),
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
