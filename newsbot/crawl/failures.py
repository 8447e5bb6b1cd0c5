"""Tokens for why a page was not read or an article not stored, and the exceptions that carry them."""

from __future__ import annotations

from scrapy import exceptions
from scrapy.exceptions import (
    CannotResolveHostError,
    DownloadCancelledError,
    DownloadConnectionRefusedError,
    DownloadFailedError,
    DownloadTimeoutError,
    IgnoreRequest,
    ResponseDataLossError,
    UnsupportedURLSchemeError,
)

from newsbot.errors import DataError
from newsbot.items import Reason


class Ignored(IgnoreRequest):
    """A request that newsbot itself decided not to make, or whose answer it does not want."""

    def __init__(self, cause: str, text: str = "") -> None:
        super().__init__(text or cause)
        self.cause = str(cause)


class DropItem(exceptions.DropItem):
    """Scrapy's exception with a ``reason``: a token, mostly a :class:`newsbot.items.Reason`.

    It has Scrapy's name because Scrapy counts dropped items by the name of the class.
    """

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(f"{reason} {detail}" if detail else str(reason))
        self.reason = str(reason)


_BY_TYPE: tuple[tuple[type[BaseException], str], ...] = (
    (CannotResolveHostError, Reason.DNS),
    (DownloadTimeoutError, Reason.TIMEOUT),
    (DownloadConnectionRefusedError, Reason.REFUSED),
    (ResponseDataLossError, "truncated"),
    (UnsupportedURLSchemeError, Reason.SCHEME),
    (DownloadCancelledError, Reason.TOO_LARGE),  # Scrapy cancels for DOWNLOAD_MAXSIZE only, without saying so
)

_BY_NAME = (
    ("TunnelError", Reason.PROXY),
    ("SSL", Reason.TLS),
    ("Certificate", Reason.TLS),
    ("DNS", Reason.DNS),
    ("Timeout", Reason.TIMEOUT),
    ("Connect", Reason.CONNECTION),
)


def cause_of(error: BaseException) -> str:
    """Return the token for an exception that a download ended with."""
    if isinstance(error, Ignored):
        return error.cause
    if isinstance(error, DataError):
        return Reason.OURS.value  # whatever it says: it is not a fault of the host
    for kind, cause in _BY_TYPE:
        if isinstance(error, kind):
            return str(cause)
    text = f"{type(error).__name__} {error}"
    if isinstance(error, IgnoreRequest):
        return (Reason.REDIRECTS if "redirection" in text else Reason.IGNORED).value
    for part, cause in _BY_NAME:
        if part in text:
            return str(cause)
    return Reason.CONNECTION.value if isinstance(error, DownloadFailedError | OSError) else "unknown"


def cause_of_status(status: int) -> str:
    """Return the token for an HTTP status from 400 on, e.g. ``http_404`` or ``http_5xx``."""
    return "http_5xx" if status >= 500 else f"http_{status}"


def is_no_source(cause: str) -> bool:
    """Return True if a feed or sitemap failed because it is gone or something else is there."""
    return cause in (Reason.HTTP_404, Reason.HTTP_410) or cause.startswith(("feed_", "sitemap_"))
