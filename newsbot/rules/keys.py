"""The keys of rule files and their readers. docs/rules.md describes every key."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast, get_args

import yaml

from newsbot.items import Kind
from newsbot.rules import values
from newsbot.rules.schema import FIELDS, FOLLOW, RECRAWL, TLS, Layout, Recrawl, Selector
from newsbot.rules.values import Place, Reader, entries, many

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
    read = values.duration()
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
            word: str | None = "off"  # YAML reads an unquoted off as a boolean
        else:
            word = values.word(allowed)(value_node, place.at(name))
        if word is not None:
            found[Kind(name)] = cast("Recrawl", word)
    return found


def _recheck(node: yaml.Node, place: Place) -> tuple[float, ...] | None:
    ages = many(values.duration())(node, place)
    return None if ages is None else tuple(sorted(set(ages)))


def _head(node: yaml.Node, place: Place) -> tuple[Kind, ...] | None:
    kinds = many(values.word([kind.value for kind in Kind]))(node, place)
    return None if kinds is None else tuple(Kind(kind) for kind in kinds)


def _extract(node: yaml.Node, place: Place) -> dict[str, tuple[Selector, ...]] | None:
    read = many(values.selector)
    fields: dict[str, tuple[Selector, ...]] = {}
    for name, _, value_node in entries(node, place, FIELDS, "field"):
        selectors = read(value_node, place.at(name))
        if selectors is not None:
            fields[name] = selectors
    return fields


# Readers of the keys of one layout.
_LAYOUT: Mapping[str, Reader[Any]] = {
    "valid_from": values.day,
    "extract": _extract,
    "remove": many(values.selector),
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
    "domain": Key(values.domain),
    "seeds": Key(many(values.url)),
    "feeds": Key(many(values.url)),
    "sitemaps": Key(many(values.url)),
    "sections": Key(many(values.url)),
    "article": Key(many(values.pattern)),
    "section": Key(many(values.pattern)),
    "deny": Key(many(values.pattern), adds=True),
    "drop_query": Key(many(values.query_key), adds=True),
    "max_depth": Key(values.whole(0, 100)),
    "interval": Key(_interval, adds=True),
    "recrawl": Key(_recrawl, adds=True),
    "recheck": Key(_recheck),
    "head": Key(_head),
    "delay": Key(values.duration(MAX_DELAY)),
    "concurrency": Key(values.whole(1, 64)),
    "tls": Key(values.word(get_args(TLS))),
    "render": Key(values.boolean),
    "language": Key(values.language),
    "timezone": Key(values.timezone),
    "extract": Key(_extract, adds=True),
    "remove": Key(many(values.selector), adds=True),
    "learn": Key(values.boolean),
    "follow": Key(many(values.word(FOLLOW))),
    "layouts": Key(_layouts),
    "tags": Key(many(values.tag)),
    "notes": Key(values.text),
}
