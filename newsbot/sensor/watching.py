"""The code that both kinds of middleware share: decides which responses are read, and reports their news."""

from __future__ import annotations

import logging
import re
import zlib
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

from newsbot.rules.shape import CLEARLY_NONE, log_odds
from newsbot.sensor.fingerprints import MAX_PAGE, Changes, charset_of, is_page
from newsbot.sensor.notices import Notifier

logger = logging.getLogger(__name__)

MAX_BEHIND = 100
"""Maximum number of responses in the queue. While the queue is full, further responses are not read."""
_TRACKING = re.compile(r"(?:^|&)(?:utm_\w+|fbclid|gclid|yclid|_openstat|from|ref)=[^&]*", re.IGNORECASE)
_NO_PAGE = re.compile(
    r"\.(?:css|js|mjs|map|png|jpe?g|gif|svg|webp|avif|ico|woff2?|ttf|mp[34]|webm|pdf|zip|xml|json|txt)(?:\?|$)",
    re.IGNORECASE,
)
_GZIP = 31
"""The ``wbits`` of zlib for the gzip format."""


class Watch:
    """Reads responses in a separate thread, and reports pages that are new or have changed."""

    def __init__(self, notifier: Notifier) -> None:
        self._notifier = notifier
        self._changes = Changes()
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="newsbot-sensor")
        self._behind = 0

    def wants(self, method: str, status: int, headers: Mapping[str, str], *, signed_in: bool) -> bool:
        """Return True if the body of a response must be copied.

        ``headers`` are the headers of the response, with names in lower case. ``signed_in`` is True for a
        request with credentials. Pages that the site shows to one person only must not be read.
        """
        cache = headers.get("cache-control", "").lower()
        private = signed_in or "private" in cache or "no-store" in cache
        known_coding = headers.get("content-encoding", "identity").lower() in ("identity", "gzip", "")
        page = is_page(method, status, headers.get("content-type", ""), private=private)
        return page and known_coding and self._behind < MAX_BEHIND

    def look(self, path: str, headers: Mapping[str, str], body: bytes) -> None:
        """Queue a complete response. ``path`` includes the query. The method never raises."""
        self._behind += 1
        try:
            self._executor.submit(self._look, path, dict(headers), body)
        except RuntimeError:  # the server is shutting down
            self._behind -= 1

    def _look(self, path: str, headers: Mapping[str, str], body: bytes) -> None:
        try:
            if headers.get("content-encoding", "").lower() == "gzip":
                # The size is limited, because a small compressed body could expand to gigabytes.
                body = zlib.decompressobj(_GZIP).decompress(body, MAX_PAGE)
            url = self._notifier.site + without_tracking(path)
            charset = charset_of(headers.get("content-type", ""))
            if is_article(path) and self._changes.is_news(url, body, charset):
                self._notifier.changed(url)
        except Exception:  # catches every error, because the site must not be affected
            logger.exception("the sensor could not read the response path=%s", path[:200])
        finally:
            self._behind -= 1

    def close(self) -> None:
        """Read the responses in the queue, and send the last notices."""
        self._executor.shutdown(wait=True)
        self._notifier.close()


def without_tracking(path: str) -> str:
    """Return a path without the query parameters that only record where a visitor came from."""
    path, mark, query = path.partition("?")
    if not mark:
        return path
    # The pattern includes the `&` before a parameter, so an `&` can remain only at the start.
    query = _TRACKING.sub("", query).lstrip("&")
    return f"{path}?{query}" if query else path


def is_article(path: str) -> bool:
    """Return False for paths that are not articles on any site, otherwise True.

    Such paths are searches, lists, log-ins and files.
    """
    return _NO_PAGE.search(path) is None and log_odds(f"https://site.invalid{path}") > CLEARLY_NONE
