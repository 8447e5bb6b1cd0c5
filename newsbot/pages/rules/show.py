"""Shows rules in readable form: the rule of a URL, its values, and the lines where they are written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from newsbot.pages.rules.expressions import Selector
from newsbot.pages.rules.keys import KEYS
from newsbot.pages.rules.load import Loaded, RuleFile
from newsbot.pages.rules.rule import Layout, Pattern, Rule, classify
from newsbot.urls import canonicalize

_UNITS = ((604800, "w"), (86400, "d"), (3600, "h"), (60, "m"))
_BUILT_IN = "(built in)"


@dataclass(frozen=True, slots=True)
class Value:
    """One effective value of a rule."""

    key: str
    value: Any
    """The value in a JSON-serializable form."""
    where: str
    """``file:line`` of each place where the value is written, or ``(built in)``."""


def verdict(loaded: Loaded, url: str) -> dict[str, Any]:
    """Return what the rules say about a URL, as a JSON-serializable mapping.

    Raises ``ValueError`` if ``url`` is not an absolute http(s) URL.
    """
    rule = loaded.rules.for_url(url)
    canonical = canonicalize(url, rule.drop_query)
    match = classify(rule, canonical)
    return {
        "url": url,
        "canonical": canonical,
        "domain": rule.domain,
        "file": rule.file,
        "kind": match.kind,
        "denied": match.denied,
        "pattern": None if match.pattern is None else plain(match.pattern),
    }


def effective(loaded: Loaded, rule: Rule) -> list[Value]:
    """Return all effective values of a rule, including defaults, with their origin."""
    own = next(
        (file for file in loaded.files if file.values.get("domain") == rule.domain), RuleFile(_BUILT_IN)
    )
    values: dict[str, Any] = {
        key: getattr(rule, key) for key in KEYS if key not in ("extract", "remove", "layouts")
    }
    values["layouts"] = rule.layouts
    return [Value(key, plain(value), _origin(key, own, loaded.defaults)) for key, value in values.items()]


def overview(loaded: Loaded) -> list[dict[str, Any]]:
    """Return one JSON-serializable row for each rule."""
    return [
        {
            "domain": rule.domain,
            "language": rule.language,
            "sources": {key: len(getattr(rule, key)) for key in ("seeds", "feeds", "sitemaps", "sections")},
            "patterns": {key: len(getattr(rule, key)) for key in ("article", "section", "deny")},
            "delay": rule.delay,
            "file": rule.file,
        }
        for rule in loaded.rules
    ]


def plain(value: Any) -> Any:
    """Return a value of a rule in a JSON-serializable form."""
    if isinstance(value, Pattern):
        return {"text": value.text, "file": value.file, "line": value.line}
    if isinstance(value, Selector):
        return value.text
    if isinstance(value, Layout):
        since = None if value.valid_from is None else value.valid_from.isoformat()
        return {"valid_from": since, "extract": plain(value.extract), "remove": plain(value.remove)}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, tuple) else value


def duration(seconds: float) -> str:
    """Return seconds in the form of rule files: ``10m``, ``6h``, ``90s``."""
    for size, unit in _UNITS:
        if seconds and seconds % size == 0:
            return f"{int(seconds // size)}{unit}"
    return f"{seconds:g}s"


def _origin(key: str, own: RuleFile, defaults: RuleFile) -> str:
    """Return the places where the value of a key is written (:attr:`Value.where`)."""
    keys = ("extract", "remove", "layouts") if key == "layouts" else (key,)
    found = [f"{own.file}:{own.lines[name]}" for name in keys if name in own.lines]
    # The defaults contribute if the rule does not have the key, or if the values of both are joined.
    adds = any(KEYS[name].adds for name in keys)
    if not found or adds:
        found += [f"{defaults.file}:{defaults.lines[name]}" for name in keys if name in defaults.lines]
    return ", ".join(found) or _BUILT_IN
