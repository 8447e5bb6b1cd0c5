"""Serves the HTTP API and its OpenAPI description.

Both are made from the list :data:`newsbot.apps.web.dashboard.endpoints.OPERATIONS`, so the description always
agrees with the API.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache, partial
from typing import Any

from aiohttp import web

from newsbot import __version__
from newsbot.apps.web.dashboard.endpoints import OPERATIONS, Operation
from newsbot.apps.web.dashboard.rendering import json_answer
from newsbot.apps.web.dashboard.schema import Parameter, Schema, given, schema_of
from newsbot.apps.web.dashboard.service import Dashboard
from newsbot.apps.web.incoming import read_form
from newsbot.cli.command import plain

_ERRORS: Mapping[str, str] = {
    "400": "A parameter is wrong; the error says which one.",
    "401": "The token is missing or wrong.",
    "403": "The server has no token, or the role of the person does not allow the request.",
    "404": "Not found; the error says what does not exist.",
    "503": "The data are unavailable, or the request takes too long; try again later.",
}


def add_api(board: Dashboard, app: web.Application) -> None:
    """Add the routes of all operations below ``/api``, and ``/openapi.json``."""
    for one in OPERATIONS:
        run = partial(_run, operation=one)
        handler = board.acting(run, one.role) if one.method == "POST" else board.reading(run)
        app.router.add_route(one.method, f"/api{one.path}", handler)
    app.router.add_get("/openapi.json", board.reading(_description))


async def _run(board: Dashboard, request: web.Request, *, operation: Operation) -> web.Response:
    form: Mapping[str, Any] = await read_form(request) if operation.method == "POST" else {}
    return json_answer(plain(await operation.run(board, given(request, operation.parameters, form))))


async def _description(_board: Dashboard, _request: web.Request) -> web.Response:
    return json_answer(description())


@lru_cache(1)
def description() -> Schema:
    """Return the OpenAPI 3.1 description of the API (https://spec.openapis.org/oas/v3.1.0)."""
    components: dict[str, Schema] = {}
    paths: dict[str, Schema] = {}
    for one in OPERATIONS:
        paths.setdefault(f"/api{one.path}", {})[one.method.lower()] = _operation(one, components)
    components["Error"] = {
        "type": "object",
        "properties": {"error": {"type": "string"}},
        "required": ["error"],
        "additionalProperties": False,
    }
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "newsbot",
            "version": __version__,
            "description": "The state of a news crawl and the stored articles. Times are UTC (RFC 3339).",
        },
        # {} means that requests without the token are possible: they may read if the server listens on a
        # loopback address. Operations that change something override this value.
        "security": [{}, {"token": []}],
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(one: Operation, components: dict[str, Schema]) -> Schema:
    found: Schema = {
        "operationId": one.name,
        "summary": one.text,
        "parameters": [_parameter(parameter) for parameter in one.parameters if parameter.place != "form"],
        "responses": {
            "200": {
                "description": one.text,
                "content": {"application/json": {"schema": schema_of(one.returns, components)}},
            }
        }
        | {status: _error(text) for status, text in _ERRORS.items()},
    }
    form = [parameter for parameter in one.parameters if parameter.place == "form"]
    if form:  # operations with a form change something and always need the token
        found["security"] = [{"token": []}]
        found["requestBody"] = {
            "required": True,
            "content": {
                "application/x-www-form-urlencoded": {
                    "schema": {
                        "type": "object",
                        "properties": {one.name: {**one.schema, "description": one.text} for one in form},
                        "required": [one.name for one in form if one.required],
                    }
                }
            },
        }
    return found


def _parameter(one: Parameter) -> Schema:
    return {
        "name": one.name,
        "in": one.place,
        "required": one.required,
        "description": one.text,
        "schema": dict(one.schema),
    }


def _error(text: str) -> Schema:
    return {
        "description": text,
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}},
    }
