"""Which answers of a site tell something new: a page's text is compared with what was seen of it before."""

from __future__ import annotations

import threading
from collections import OrderedDict

from newsbot.sensor.fingerprints import main_text_hash

MAX_PAGES = 100_000
"""Pages that are remembered; of more, those unseen for longest are forgotten and told anew."""


class Changes:
    """Remembers the text of each page by its hash; safe for threads."""

    def __init__(self) -> None:
        self._hashes: OrderedDict[str, str] = OrderedDict()
        self._lock = threading.Lock()

    def is_news(self, url: str, page: bytes, charset: str = "utf-8") -> bool:
        """Return True if the page was not seen before, or its text differs."""
        found = main_text_hash(page, charset)
        if found is None:
            return False
        with self._lock:
            before = self._hashes.pop(url, None)
            self._hashes[url] = found
            if len(self._hashes) > MAX_PAGES:
                self._hashes.popitem(last=False)
        return before != found


def is_page(method: str, status: int, content_type: str, *, private: bool) -> bool:
    """Return True for what a sensor looks at: a public page that was sent whole."""
    return method == "GET" and status == 200 and content_type.lower().startswith("text/html") and not private


def charset_of(content_type: str) -> str:
    """Return the charset that a Content-Type names, else utf-8."""
    for part in content_type.lower().split(";")[1:]:
        name, _, value = part.strip().partition("=")
        if name == "charset" and value:
            return value.strip("\"' ")
    return "utf-8"
