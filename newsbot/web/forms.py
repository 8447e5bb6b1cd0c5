"""Reading the forms that requests bring."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aiohttp import web


async def read_form(request: web.Request) -> Mapping[str, Any]:
    """Return the fields of a form, none where there is no body. Raises ``HTTPBadRequest`` for broken ones."""
    try:
        return await request.post()
    except (ValueError, LookupError, RuntimeError) as error:
        # aiohttp's: no boundary, a charset that is none, a content encoding that it does not know
        raise web.HTTPBadRequest(text="the form cannot be read") from error
