"""Why a download failed, as short stable tokens: stats, page records and ``scrapy why`` speak of these."""

from __future__ import annotations

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


class Ignored(IgnoreRequest):
    """A request that newsbot itself decided not to make, or whose answer it does not want."""

    def __init__(self, cause: str, text: str = "") -> None:
        super().__init__(text or cause)
        self.cause = cause


_BY_TYPE: tuple[tuple[type[BaseException], str], ...] = (
    (CannotResolveHostError, "dns"),
    (DownloadTimeoutError, "timeout"),
    (DownloadConnectionRefusedError, "refused"),
    (ResponseDataLossError, "truncated"),
    (UnsupportedURLSchemeError, "scheme"),
    (DownloadCancelledError, "too_large"),  # Scrapy cancels for DOWNLOAD_MAXSIZE only, without saying so
)

_BY_NAME = (
    ("TunnelError", "proxy"),
    ("SSL", "tls"),
    ("Certificate", "tls"),
    ("DNS", "dns"),
    ("Timeout", "timeout"),
    ("Connect", "connection"),
)


def cause_of(error: BaseException) -> str:
    """Return the token for an exception that a download ended with."""
    if isinstance(error, Ignored):
        return error.cause
    if isinstance(error, DataError):
        return "ours"  # whatever its words: no fault of the host
    for kind, cause in _BY_TYPE:
        if isinstance(error, kind):
            return cause
    text = f"{type(error).__name__} {error}"
    if isinstance(error, IgnoreRequest):
        return "redirects" if "redirection" in text else "ignored"
    for part, cause in _BY_NAME:
        if part in text:
            return cause
    return "connection" if isinstance(error, DownloadFailedError | OSError) else "unknown"


def cause_of_status(status: int) -> str:
    """Return the token for an HTTP status from 400 on, e.g. ``http_404`` or ``http_5xx``."""
    return "http_5xx" if status >= 500 else f"http_{status}"


def is_no_source(cause: str) -> bool:
    """Return True if a feed or sitemap failed because there is none: gone, or something else is there."""
    return cause in ("http_404", "http_410") or cause.startswith(("feed_", "sitemap_"))
