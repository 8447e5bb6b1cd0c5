"""Reads YAML as nodes, so that the line of every fault is known. The size and depth of a file are limited.

Aliases are refused, because nine lines with aliases can expand to a billion values. Rules do not need them.

Secret values (names and passwords, cookies and headers) never stand in outputs.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import yaml

MAX_BYTES = 256 * 1024
"""Maximum size of a file."""
MAX_DEPTH = 8
"""Maximum depth of nested lists and mappings."""
QUICK = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The parser of libyaml if it is installed. It is ten times as fast as PyYAML's own parser."""
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
        return _compose(QUICK(text))
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


MAX_SECRET = 64 * 1024
"""Maximum length of a secret, in bytes."""
_VARIABLE = re.compile(r"\$([A-Za-z_][A-Za-z0-9_]*)")
_FILE = "file:"


class Secret(str):
    """A secret as it is shown: the variable or file that contains it, or ``***``.

    So a rule can be printed, exported and logged. :meth:`read` returns the secret itself.
    """

    __slots__ = ("_written",)
    _written: str

    def __new__(cls, written: str) -> Secret:
        """``written`` is ``$NAME`` (environment variable), ``file:PATH``, or the secret itself."""
        is_reference = _VARIABLE.fullmatch(written) is not None or written.startswith(_FILE)
        secret = super().__new__(cls, written if is_reference else "***")
        secret._written = written
        return secret

    def read(self) -> str:
        """Return the secret. Raises ``ValueError`` if the variable or the file is missing."""
        text = self._written
        if variable := _VARIABLE.fullmatch(text):
            text = os.environ.get(variable[1], "")
            if not text:
                raise ValueError(f"the environment variable {variable[1]} is not set")
        elif text.startswith(_FILE):
            text = _content(Path(text.removeprefix(_FILE)).expanduser())
        return text.strip()

    def __reduce__(self) -> tuple[type[Secret], tuple[str]]:
        """Copy the secret, and not only what is shown."""
        return Secret, (self._written,)


def _content(path: Path) -> str:
    if not path.is_absolute():
        raise ValueError(f"{path} is not an absolute path; write for example file:/etc/newsbot/cookies.txt")
    try:
        with path.open("rb") as file:
            return file.read(MAX_SECRET).decode("utf-8", "replace")
    except OSError as error:
        raise ValueError(f"{path} cannot be read ({error.strerror})") from error
