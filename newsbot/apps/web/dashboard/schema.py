"""Declares the parameters of requests, and describes the results of the API.

A declaration is used to read, check and describe a parameter. The description of the API states the types of
results as JSON Schema.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import textwrap
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from datetime import datetime
from enum import StrEnum
from itertools import pairwise
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

from aiohttp import web

from newsbot.cli.command import moment, properties_of

MAX_LENGTH = 2000
"""Maximum length of a value in characters."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a request."""

    name: str
    text: str
    """The description in the documentation of the API."""
    schema: Mapping[str, Any]
    """The JSON schema of the value."""
    read: Callable[[str], Any]
    """Converts the text of a request to a value. Raises ``ValueError`` with the allowed values."""
    default: Any = None
    required: bool = False
    place: str = "query"
    """Where the parameter is: ``path``, ``query`` or ``form``."""
    most: int = 1
    """Maximum number of values for the parameter. If it is more than 1, the value is a list."""
    longest: int = MAX_LENGTH
    """Maximum length of a value in characters."""
    is_file: bool = False
    """True if the field of a form can be a file."""


def words(
    name: str, text: str, *, required: bool = False, place: str = "query", longest: int = MAX_LENGTH
) -> Parameter:
    """Return a parameter for any text."""
    schema = {"type": "string", "minLength": int(required), "maxLength": longest}
    return Parameter(name, text, schema, str, None, required, place, longest=longest)


def upload(name: str, text: str, longest: int) -> Parameter:
    """Return a required parameter for a file, or for its content. The value is bytes."""

    def read(given: str) -> bytes:
        return given.encode("utf-8", _BYTES)

    schema = {"type": "string", "minLength": 1, "maxLength": longest}
    return Parameter(name, text, schema, read, None, required=True, longest=longest, is_file=True)


_BYTES = "surrogateescape"
"""The error handler that keeps bytes that are not UTF-8."""


def several(name: str, text: str, most: int) -> Parameter:
    """Return a parameter that can be given up to ``most`` times, each time with any text."""
    schema = {"type": "array", "items": {"type": "string", "maxLength": MAX_LENGTH}, "maxItems": most}
    return Parameter(name, text, schema, str, [], most=most)


def one_of(name: str, text: str, allowed: Sequence[str], default: str | None) -> Parameter:
    """Return a parameter for one of the ``allowed`` words."""

    def read(given: str) -> str:
        if given not in allowed:
            raise ValueError(f"is one of: {', '.join(allowed)}")
        return given

    schema: dict[str, Any] = {"type": "string", "enum": list(allowed)}
    return Parameter(name, text, schema | ({"default": default} if default else {}), read, default)


def number(name: str, text: str, default: int, largest: int) -> Parameter:
    """Return a parameter for a whole number from 1 to ``largest``."""

    def read(given: str) -> int:
        # isdigit() alone is true for "²". The length is limited, because int() is slow for huge numbers.
        if not (given.isascii() and given.isdigit() and len(given) < 10 and 1 <= int(given) <= largest):
            raise ValueError(f"is a whole number from 1 to {largest}")
        return int(given)

    schema = {"type": "integer", "minimum": 1, "maximum": largest, "default": default}
    return Parameter(name, text, schema, read, default)


def date(name: str, text: str) -> Parameter:
    """Return a parameter for a point in time: a date, a time with a time zone, or an age such as 7d."""

    def read(given: str) -> Any:
        try:
            return moment(given)
        except argparse.ArgumentTypeError as error:
            raise ValueError(str(error)) from error

    return Parameter(name, text, {"type": "string", "examples": ["2026-11-21", "7d"]}, read)


def flag(name: str, text: str) -> Parameter:
    """Return a parameter for true (1, true) or false (0, false, the default)."""
    allowed = {"1": True, "true": True, "0": False, "false": False}

    def read(given: str) -> bool:
        if given.lower() not in allowed:
            raise ValueError("is true or false")
        return allowed[given.lower()]

    return Parameter(name, text, {"type": "boolean", "default": False}, read, False)


def given(request: web.Request, parameters: Sequence[Parameter], form: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of all ``parameters`` in a request by name. Empty values count as missing.

    Raises ``HTTPBadRequest`` with all errors in one line.
    """
    found: dict[str, Any] = {}
    wrong = []
    for one in parameters:
        source: Mapping[str, Any] = {"path": request.match_info, "query": request.query}.get(one.place, form)
        text = source.get(one.name)
        if one.is_file and isinstance(text, bytes):
            text = text.decode("utf-8", _BYTES)
        if one.most > 1:
            texts = [word.strip() for word in request.query.getall(one.name, ()) if word.strip()]
            found[one.name] = [one.read(word) for word in texts]
            if len(texts) > one.most or any(len(word) > MAX_LENGTH for word in texts):
                wrong.append(
                    f"{one.name}: at most {one.most} values with {MAX_LENGTH} characters each are allowed"
                )
        elif not isinstance(text, str) or not text.strip():  # the field of a form can also be a file
            found[one.name] = one.default
            if one.required:
                wrong.append(f"{one.name} is missing")
        elif len(text) > one.longest:
            wrong.append(f"{one.name} is longer than {one.longest} characters")
        else:
            try:
                found[one.name] = one.read(text if one.is_file else text.strip())
            except ValueError as error:
                wrong.append(f"{one.name} {error}")
    if wrong:
        raise web.HTTPBadRequest(text="; ".join(wrong))
    return found


Schema = dict[str, Any]
_PLAIN: Mapping[Any, Schema] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    datetime: {"type": "string", "format": "date-time"},
    Any: {},
    type(None): {"type": "null"},
}


def schema_of(kind: Any, components: dict[str, Schema]) -> Schema:
    """Return the JSON Schema of a type. Dataclasses are added to ``components`` and referenced.

    Raises ``TypeError`` for a type that the API does not use.
    """
    if kind in _PLAIN:
        return dict(_PLAIN[kind])
    if is_dataclass(kind) and isinstance(kind, type):
        return _record(kind, components)
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return {"anyOf": [schema_of(one, components) for one in arguments]}
    if origin is Literal or (isinstance(kind, type) and issubclass(kind, StrEnum)):
        return {"enum": [str(one) for one in arguments or kind]}
    if origin in (list, tuple):
        return {"type": "array", "items": schema_of(arguments[0], components)}
    if origin is dict or is_typeddict(kind):
        hints = get_type_hints(kind) if origin is None else {}
        known = {name: schema_of(hint, components) for name, hint in hints.items()}
        others = schema_of(arguments[1], components) if arguments else False
        return {
            "type": "object",
            **({"properties": known} if known else {}),
            "additionalProperties": others,
        }
    raise TypeError(f"{kind}: there is no JSON Schema for this type")


def _record(kind: type, components: dict[str, Schema]) -> Schema:
    if kind.__name__ not in components:
        schema: Schema = {"type": "object"}
        components[kind.__name__] = schema  # added before its fields, because a type can contain itself
        texts = _texts(kind)
        hints = get_type_hints(kind) | {
            name: get_type_hints(getattr(kind, name).fget)["return"] for name in properties_of(kind)
        }
        names = [*(field.name for field in fields(kind)), *properties_of(kind)]
        schema["description"] = " ".join((inspect.getdoc(kind) or "").split())
        schema["properties"] = {
            name: schema_of(hints[name], components)
            | ({"description": texts[name]} if texts.get(name) else {})
            for name in names
        }
        schema["required"] = names
        schema["additionalProperties"] = False
    return {"$ref": f"#/components/schemas/{kind.__name__}"}


def _texts(kind: type) -> dict[str, str]:
    """Return the description of each field (the string below it in the source) and of each property."""
    found = {name: " ".join((getattr(kind, name).__doc__ or "").split()) for name in properties_of(kind)}
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(kind)))
    except (OSError, TypeError):  # no source file, for example in an egg of compiled files
        return found
    body = tree.body[0].body if isinstance(tree.body[0], ast.ClassDef) else []
    for one, after in pairwise(body):
        match one, after:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                found[name] = " ".join(text.split())
    return found
