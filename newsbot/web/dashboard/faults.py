"""Error responses: unknown paths, bodies that are too long, errors inside newsbot."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Awaitable, Callable
from pathlib import PurePath
from typing import Final

from aiohttp import web
from aiohttp.typedefs import Middleware

from newsbot.errors import DataError, UserError
from newsbot.web.dashboard.service import Dashboard

logger = logging.getLogger(__name__)

_TITLES: Final = {
    404: ("Nothing here", "There is no such page."),
    405: ("That cannot be", "This address does not take such requests."),
    413: ("That cannot be", "The request is too long."),
}
MAX_TOLD = 500
"""Characters of a path and of an error message that are logged."""
_FAULT = "This is a fault of newsbot; its log says which. Please report it."


def in_our_words(board: Dashboard) -> Middleware:
    """Return a middleware that answers errors with an HTML page, or with JSON for programs."""

    @web.middleware
    async def middleware(
        request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        try:
            return await handler(request)
        except web.HTTPException as error:
            if error.status < 400:
                raise
            return _refusal(board, request, error)
        except DataError:
            raise  # an outer middleware answers when the data are unavailable
        except UserError as error:  # for example a rule file that is being edited
            logger.error("data away fault=%s", error)
            return board.refusal(request, 503, "Not now", "This cannot be answered now; the log says why.")
        except Exception as error:  # noqa: BLE001  (the last door: it ends one request, not the process)
            _note(request, error)
            return board.refusal(request, 500, "A fault", _FAULT)

    return middleware


def _refusal(board: Dashboard, request: web.Request, error: web.HTTPException) -> web.Response:
    if request.match_info.http_exception is not None and not board.access.may_read(request):
        return board.closed(request)  # do not reveal which paths exist
    title, text = _TITLES.get(error.status, ("That cannot be", error.text or error.reason))
    answer = board.refusal(request, error.status, title, text)
    if allowed := error.headers.get("Allow"):
        answer.headers["Allow"] = allowed
    return answer


def _note(request: web.Request, error: Exception) -> None:
    """Log an error in one line with the place in the code where it was raised."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f"{PurePath(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "-"
    told = " ".join(str(error).split())[:MAX_TOLD]
    kind = type(error).__name__
    path = request.rel_url.raw_path[:MAX_TOLD]
    logger.error("fault method=%s path=%s error=%s at=%s text=%r", request.method, path, kind, place, told)
    logger.debug("traceback of the fault", exc_info=error)
