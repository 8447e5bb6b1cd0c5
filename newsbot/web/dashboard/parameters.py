"""The parameters of requests: read, checked, and described by the same declarations."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from newsbot.cli.command import moment

MAX_LENGTH = 2000
"""Characters of a value."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter. ``read`` turns its text into a value, or raises ``ValueError``: what is right."""

    name: str
    text: str
    schema: Mapping[str, Any]
    read: Callable[[str], Any]
    default: Any = None
    required: bool = False
    place: str = "query"


def words(name: str, text: str, *, required: bool = False, place: str = "query") -> Parameter:
    """Any text."""
    return Parameter(name, text, {"type": "string", "maxLength": MAX_LENGTH}, str, None, required, place)


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
    """A moment: a date, a time with a zone, or an age."""

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
    """Return the values of a request. Raises ``HTTPBadRequest`` with one line for all that is wrong."""
    found: dict[str, Any] = {}
    wrong = []
    for one in parameters:
        source: Mapping[str, Any] = {"path": request.match_info, "query": request.query}.get(one.place, form)
        text = source.get(one.name)
        if not isinstance(text, str) or not text.strip():
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
