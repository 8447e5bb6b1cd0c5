"""Reads YAML as nodes, so that every fault has its line; bounded, and without aliases.

Aliases are refused: nine lines of them make a billion values, and rules do not need them.
"""

from __future__ import annotations

import yaml

MAX_BYTES = 256 * 1024
MAX_DEPTH = 8


class YamlFault(ValueError):
    """The file is no YAML that newsbot reads; ``line`` counts from 1."""

    def __init__(self, line: int, text: str) -> None:
        super().__init__(text)
        self.line = line


def read_tree(data: bytes) -> yaml.Node | None:
    """Return the root node of the only document, None if there is none. Raises :class:`YamlFault`."""
    if len(data) > MAX_BYTES:
        raise YamlFault(1, f"the file is too large; at most {MAX_BYTES // 1024} kB are allowed")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise YamlFault(line, "this is no UTF-8 text; save the file as UTF-8") from error
    try:
        loader = _Loader(text)
    except yaml.reader.ReaderError as error:
        line = text[: error.position].count("\n") + 1
        raise YamlFault(line, f"a character that YAML does not allow (code {error.character})") from error
    try:
        return loader.get_single_node()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise YamlFault(mark.line + 1 if mark else 1, _readable(error)) from error
    finally:
        loader.dispose()


def line_of(node: yaml.Node) -> int:
    """Return the line on which a node begins, from 1."""
    return int(node.start_mark.line) + 1


def _readable(error: yaml.MarkedYAMLError) -> str:
    problem = error.problem or "cannot be read"
    if "cannot start any token" in problem:
        problem += "; put the value in single quotes"
    elif "mapping values are not allowed" in problem:
        problem += "; put a value that has a colon and a blank in single quotes"
    elif "expected a single document" in (error.context or ""):
        problem = "a second document begins here; one file holds one rule"
    elif "unknown escape character" in problem:
        problem += '; write patterns in single quotes, not in "…"'
    return f"bad YAML: {problem}"


class _Loader(yaml.SafeLoader):
    """Composes nodes only; refuses aliases, anchors and deep nesting."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._depth = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        event = self.peek_event()  # type: ignore[no-untyped-call]
        if getattr(event, "anchor", None) is not None:
            raise yaml.composer.ComposerError(
                None,
                None,
                "aliases and anchors (& and *) are not allowed; write the value out",
                event.start_mark,
            )
        if self._depth > MAX_DEPTH:
            raise yaml.composer.ComposerError(None, None, "too deeply nested", event.start_mark)
        self._depth += 1
        try:
            return super().compose_node(parent, index)
        finally:
            self._depth -= 1
