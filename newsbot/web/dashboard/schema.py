"""Converts results of the API to JSON, and their types to JSON Schema for the description of the API."""

from __future__ import annotations

import ast
import inspect
import textwrap
import types
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime
from enum import Enum
from functools import lru_cache
from itertools import pairwise
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from newsbot.clock import iso

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


def plain(value: Any) -> Any:
    """Return a result as JSON values. Dataclasses become objects with their fields and properties.

    Times become text (RFC 3339). Members of an enum become their values.
    """
    if is_dataclass(value) and not isinstance(value, type):
        names = [*(field.name for field in fields(value)), *_properties(type(value))]
        return {name: plain(getattr(value, name)) for name in names}
    if isinstance(value, datetime):
        return iso(value)
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value


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
    if origin is Literal:
        return {"enum": list(arguments)}
    if origin in (list, tuple):
        return {"type": "array", "items": schema_of(arguments[0], components)}
    if origin is dict:
        return {"type": "object", "additionalProperties": schema_of(arguments[1], components)}
    raise TypeError(f"{kind}: there is no JSON Schema for this type")


def _record(kind: type, components: dict[str, Schema]) -> Schema:
    if kind.__name__ not in components:
        schema: Schema = {"type": "object"}
        components[kind.__name__] = schema  # first, because a type can contain itself
        texts = _texts(kind)
        hints = get_type_hints(kind) | {
            name: get_type_hints(getattr(kind, name).fget)["return"] for name in _properties(kind)
        }
        names = [*(field.name for field in fields(kind)), *_properties(kind)]
        schema["description"] = " ".join((inspect.getdoc(kind) or "").split())
        schema["properties"] = {
            name: schema_of(hints[name], components)
            | ({"description": texts[name]} if texts.get(name) else {})
            for name in names
        }
        schema["required"] = names
        schema["additionalProperties"] = False
    return {"$ref": f"#/components/schemas/{kind.__name__}"}


@lru_cache(256)
def _properties(kind: type) -> tuple[str, ...]:
    return tuple(name for name, member in vars(kind).items() if isinstance(member, property))


def _texts(kind: type) -> dict[str, str]:
    """Return the description of each field (the string below it in the source) and of each property."""
    found = {name: " ".join((getattr(kind, name).__doc__ or "").split()) for name in _properties(kind)}
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
