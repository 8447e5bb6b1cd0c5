"""Makes the responses to errors: unknown paths, bodies that are too long, and errors inside newsbot."""

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
    404: ("Not found", "There is no such page."),
    405: ("Invalid request", "This address does not accept this method."),
    413: ("Invalid request", "The request is too long."),
}
MAX_TOLD = 500
"""Maximum number of logged characters, of a path and of an error message."""
_FAULT = "This is an error in newsbot; its log has the details. Please report it."


def in_our_words(board: Dashboard) -> Middleware:
    """Return a middleware that responds to errors with an HTML page, or with JSON for programs."""

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
            raise  # a middleware of newsbot.web.service makes the response
        except UserError as error:  # for example a rule file that is being edited
            logger.error("data away fault=%s", error)
            return board.refusal(request, 503, "Unavailable", "This is not possible now; the log says why.")
        except Exception as error:  # noqa: BLE001  (an error ends its request, not the process)
            _note(request, error)
            return board.refusal(request, 500, "Internal error", _FAULT)

    return middleware


def _refusal(board: Dashboard, request: web.Request, error: web.HTTPException) -> web.Response:
    if request.match_info.http_exception is not None and not board.access.may_read(request):
        return board.closed(request)  # do not reveal which paths exist
    title, text = _TITLES.get(error.status, ("Invalid request", error.text or error.reason))
    answer = board.refusal(request, error.status, title, text)
    if allowed := error.headers.get("Allow"):
        answer.headers["Allow"] = allowed
    return answer


def _note(request: web.Request, error: Exception) -> None:
    """Log an error in one line, with the file and line where it was raised."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f"{PurePath(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "-"
    told = " ".join(str(error).split())[:MAX_TOLD]
    kind = type(error).__name__
    path = request.rel_url.raw_path[:MAX_TOLD]
    logger.error("fault method=%s path=%s error=%s at=%s text=%r", request.method, path, kind, place, told)
    logger.debug("traceback of the fault", exc_info=error)
