"""What both kinds of sensors share: which responses count, and what is done with them afterwards."""

from __future__ import annotations

import logging
import re
import zlib
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

from newsbot.sensor.fingerprints import MAX_PAGE, Changes, charset_of, is_page
from newsbot.sensor.notices import Notifier

logger = logging.getLogger(__name__)

MAX_BEHIND = 100
"""Answers that wait to be looked at; of more, some are not looked at."""
_TRACKING = re.compile(r"(?:^|&)(?:utm_\w+|fbclid|gclid|yclid|_openstat|from|ref)=[^&]*", re.IGNORECASE)
_GZIP = 31


class Watch:
    """Looks at answers in a thread of its own and tells of those that are news."""

    def __init__(self, notifier: Notifier) -> None:
        self._notifier = notifier
        self._changes = Changes()
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="newsbot-sensor")
        self._behind = 0

    def wants(self, method: str, status: int, headers: Mapping[str, str], *, signed_in: bool) -> bool:
        """Return True if the body is to be kept; ``headers`` of the answer, names in lower case."""
        cache = headers.get("cache-control", "").lower()
        private = signed_in or "private" in cache or "no-store" in cache
        known_coding = headers.get("content-encoding", "identity").lower() in ("identity", "gzip", "")
        page = is_page(method, status, headers.get("content-type", ""), private=private)
        return page and known_coding and self._behind < MAX_BEHIND

    def look(self, path: str, headers: Mapping[str, str], body: bytes) -> None:
        """Look at a whole answer, later; ``path`` with its query. Never raises."""
        self._behind += 1
        try:
            self._executor.submit(self._look, path, dict(headers), body)
        except RuntimeError:  # the server is shutting down
            self._behind -= 1

    def _look(self, path: str, headers: Mapping[str, str], body: bytes) -> None:
        try:
            if headers.get("content-encoding", "").lower() == "gzip":
                body = zlib.decompressobj(_GZIP).decompress(body, MAX_PAGE)
            url = self._notifier.site + without_tracking(path)
            if self._changes.is_news(url, body, charset_of(headers.get("content-type", ""))):
                self._notifier.changed(url)
        except Exception:  # whatever it is: the site must not notice
            logger.exception("the sensor could not look at path=%s", path[:200])
        finally:
            self._behind -= 1

    def close(self) -> None:
        """Look at what waits, send what is to be told."""
        self._executor.shutdown(wait=True)
        self._notifier.close()


def without_tracking(path: str) -> str:
    """Return a path without the parameters that only tell where a reader came from."""
    path, mark, query = path.partition("?")
    if not mark:
        return path
    query = _TRACKING.sub("", query).lstrip("&")
    return f"{path}?{query}" if query else path
