"""Parameters of requests. The same declarations read, check and describe them."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from newsbot.cli.command import moment

MAX_LENGTH = 2000
"""The most characters of a value."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter. ``read`` converts its text, or raises ``ValueError`` with the allowed values."""

    name: str
    text: str
    schema: Mapping[str, Any]
    read: Callable[[str], Any]
    default: Any = None
    required: bool = False
    place: str = "query"
    most: int = 1
    """How often it may be given. If this is more than 1, the value is a list."""


def words(name: str, text: str, *, required: bool = False, place: str = "query") -> Parameter:
    """Any text."""
    schema = {"type": "string", "minLength": int(required), "maxLength": MAX_LENGTH}
    return Parameter(name, text, schema, str, None, required, place)


def several(name: str, text: str, most: int) -> Parameter:
    """Any texts, each under the same name."""
    schema = {"type": "array", "items": {"type": "string", "maxLength": MAX_LENGTH}, "maxItems": most}
    return Parameter(name, text, schema, str, [], most=most)


def one_of(name: str, text: str, allowed: Sequence[str], default: str | None) -> Parameter:
    """One of some words."""

    def read(given: str) -> str:
        if given not in allowed:
            raise ValueError(f"is one of: {', '.join(allowed)}")
        return given

    schema: dict[str, Any] = {"type": "string", "enum": list(allowed)}
    return Parameter(name, text, schema | ({"default": default} if default else {}), read, default)


def number(name: str, text: str, default: int, largest: int) -> Parameter:
    """A whole number from 1 on."""

    def read(given: str) -> int:
        if not (given.isascii() and given.isdigit() and len(given) < 10 and 1 <= int(given) <= largest):
            raise ValueError(f"is a whole number from 1 to {largest}")
        return int(given)

    schema = {"type": "integer", "minimum": 1, "maximum": largest, "default": default}
    return Parameter(name, text, schema, read, default)


def date(name: str, text: str) -> Parameter:
    """A moment: a date, a time with a time zone, or an age."""

    def read(given: str) -> Any:
        try:
            return moment(given)
        except argparse.ArgumentTypeError as error:
            raise ValueError(str(error)) from error

    return Parameter(name, text, {"type": "string", "examples": ["2026-11-21", "7d"]}, read)


def flag(name: str, text: str) -> Parameter:
    """Yes or no."""
    allowed = {"1": True, "true": True, "0": False, "false": False}

    def read(given: str) -> bool:
        if given.lower() not in allowed:
            raise ValueError("is true or false")
        return allowed[given.lower()]

    return Parameter(name, text, {"type": "boolean", "default": False}, read, False)


def given(request: web.Request, parameters: Sequence[Parameter], form: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a request. Raises ``HTTPBadRequest`` with all errors in one line."""
    found: dict[str, Any] = {}
    wrong = []
    for one in parameters:
        source: Mapping[str, Any] = {"path": request.match_info, "query": request.query}.get(one.place, form)
        text = source.get(one.name)
        if one.most > 1:
            texts = [word.strip() for word in request.query.getall(one.name, ()) if word.strip()]
            found[one.name] = [one.read(word) for word in texts]
            if len(texts) > one.most or any(len(word) > MAX_LENGTH for word in texts):
                wrong.append(f"{one.name} may be given {one.most} times, {MAX_LENGTH} characters each")
        elif not isinstance(text, str) or not text.strip():
            found[one.name] = one.default
            if one.required:
                wrong.append(f"{one.name} is missing")
        elif len(text) > MAX_LENGTH:
            wrong.append(f"{one.name} is longer than {MAX_LENGTH} characters")
        else:
            try:
                found[one.name] = one.read(text.strip())
            except ValueError as error:
                wrong.append(f"{one.name} {error}")
    if wrong:
        raise web.HTTPBadRequest(text="; ".join(wrong))
    return found
