"""One rule file: from bytes to checked values, and from those and the defaults to a rule."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import yaml

from newsbot.errors import Problem
from newsbot.items import Kind
from newsbot.rules.keys import KEYS
from newsbot.rules.schema import Layout, Rule
from newsbot.rules.values import Place, entries
from newsbot.rules.yamlfile import YamlFault, line_of, read_tree

INTERVALS: dict[Kind, float] = {
    Kind.FEED: 600.0,
    Kind.SITEMAP: 900.0,
    Kind.SECTION: 1800.0,
    Kind.ARTICLE: 3600.0,
    Kind.OTHER: 604800.0,
}
"""Seconds; hold where neither the rule nor ``_defaults.yaml`` says otherwise."""


@dataclass(slots=True)
class RuleFile:
    """What one file says, as far as it could be read. ``lines`` gives the line of each key."""

    file: str
    values: dict[str, Any] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)


def read_rule_file(file: str, data: bytes, *, is_defaults: bool = False) -> RuleFile:
    """Read one file; its problems are noted in the result. ``file`` is the name to be shown."""
    result = RuleFile(file)
    place = Place(file, "", result.problems)
    try:
        root = read_tree(data)
    except YamlFault as fault:
        result.problems.append(Problem(file, fault.line, "", str(fault)))
        return result
    if root is None or (isinstance(root, yaml.ScalarNode) and root.value == ""):
        if not is_defaults:
            text = "the file is empty; the shortest rule is one line: 'domain: example.org'"
            result.problems.append(Problem(file, 1, "", text))
        return result
    for name, key_node, value_node in entries(root, place, KEYS):
        if is_defaults and name == "domain":
            place.at(name).fault(key_node, "the defaults hold for every site; delete this line")
            continue
        result.lines[name] = line_of(key_node)
        value = KEYS[name].read(value_node, place.at(name))
        if value is not None:
            result.values[name] = value
    if not is_defaults and isinstance(root, yaml.MappingNode) and "domain" not in result.lines:
        place.at("domain").fault(root, "is missing; write for example 'domain: example.org'")
    return result


def build_rule(own: RuleFile, defaults: RuleFile) -> Rule:
    """Return the rule of a file without problems, with the defaults below it."""
    values = {name: _inherit(name, own.values, defaults.values) for name in {**defaults.values, **own.values}}
    values.setdefault("domain", "")
    values["interval"] = MappingProxyType(INTERVALS | values.get("interval", {}))
    values["recrawl"] = MappingProxyType(values.get("recrawl", {}))
    values["layouts"] = _layouts(own, defaults)
    plain = {name: value for name, value in values.items() if name not in ("extract", "remove")}
    return Rule(file=own.file, **plain)


def _inherit(name: str, own: dict[str, Any], defaults: dict[str, Any]) -> Any:
    if name not in own:
        return defaults[name]
    if name not in defaults or not KEYS[name].adds:
        return own[name]
    return _add(own[name], defaults[name])


def _add(own: Any, below: Any) -> Any:
    if isinstance(own, dict):
        return {**below, **own}
    return own + tuple(item for item in below if item not in own)


def _layouts(own: RuleFile, defaults: RuleFile) -> tuple[Layout, ...]:
    """The layouts newest first, then the top of the file; what the defaults say holds for each."""
    below_extract = defaults.values.get("extract", {})
    below_remove = defaults.values.get("remove", ())
    found = [*own.values.get("layouts", defaults.values.get("layouts", ()))]
    top = Layout(None, own.values.get("extract", {}), own.values.get("remove", ()))
    if top.extract or top.remove or below_extract or below_remove:
        found.append(top)
    return tuple(
        Layout(
            layout.valid_from,
            MappingProxyType(_add(dict(layout.extract), below_extract)),
            _add(layout.remove, below_remove),
        )
        for layout in found
    )
