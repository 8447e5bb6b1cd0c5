"""Chooses responses and reports new or changed pages: the code that both kinds of middleware share.

Two responses for a page are compared by a hash of the main text. Counters, advertisements and dates in menus
can differ in each response, but the text of an article does not.
"""

from __future__ import annotations

import hashlib
import logging
import re
import threading
import zlib
from collections import OrderedDict
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from html.parser import HTMLParser

from newsbot.apps.push.sensor.notices import Notifier
from newsbot.pages.rules.shape import CLEARLY_NONE, log_odds

MAX_PAGE = 2 * 2**20
"""Maximum number of bytes of a page that are read."""
_SKIPPED = frozenset({"script", "style", "noscript", "template", "nav", "header", "footer", "aside", "form"})
_VOID = frozenset(
    {"br", "img", "input", "link", "meta", "hr", "wbr", "source", "track", "area", "base", "col", "embed"}
)
_BLOCKS = frozenset({"p", "h1", "h2", "h3", "li", "blockquote", "pre", "td", "figcaption", "title"})
_MIN_WORDS = 4
_WORD = re.compile(r"\w+")


class _Text(HTMLParser):
    """Collects the words of each block of text in ``lines``, without menus, headers, footers and forms."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.lines: list[str] = []
        self._skipped = 0
        self._pieces: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002  (HTMLParser)
        if tag in _SKIPPED:
            self._skipped += 1
        elif tag in _BLOCKS or tag == "div":
            self.end_line()

    def handle_endtag(self, tag: str) -> None:
        if tag in _SKIPPED and tag not in _VOID:
            self._skipped = max(0, self._skipped - 1)  # a page may close elements that it did not open
        elif tag in _BLOCKS or tag == "div":
            self.end_line()

    def handle_data(self, data: str) -> None:
        if not self._skipped:
            self._pieces.append(data)

    def end_line(self) -> None:
        words = _WORD.findall("".join(self._pieces).casefold())
        self._pieces = []
        if len(words) >= _MIN_WORDS:
            self.lines.append(" ".join(words))


def main_text_hash(page: bytes, charset: str = "utf-8") -> str | None:
    """Return the hash of a page's main text as hexadecimal digits, or None if the page has no main text.

    Lines with fewer than four words (menus, counters, buttons) are ignored. Differences of case and
    punctuation are ignored too.
    """
    parser = _Text()
    try:
        text = page[:MAX_PAGE].decode(charset, "replace")
    except LookupError:
        text = page[:MAX_PAGE].decode("utf-8", "replace")
    parser.feed(text)
    parser.close()
    parser.end_line()
    if not parser.lines:
        return None
    return hashlib.blake2b("\n".join(parser.lines).encode(), digest_size=12).hexdigest()


MAX_PAGES = 100_000
"""Maximum number of pages that are remembered.

If there are more, the page that was not requested for the longest time is forgotten. At its next request, it
is reported as a new page.
"""


class Changes:
    """Remembers the hash of the text of each page. Thread-safe.

    Visitors can request a page under several URLs, for example with an added query. So a new URL is not news
    if its text is already known from another URL.
    """

    def __init__(self) -> None:
        self._hashes: OrderedDict[str, str] = OrderedDict()
        self._texts: OrderedDict[str, None] = OrderedDict()
        self._lock = threading.Lock()

    def is_news(self, url: str, page: bytes, charset: str = "utf-8") -> bool:
        """Return True if the text of the page is news.

        The text of a new page is news if it is not known from another URL. The text of a known page is news
        if it has changed.
        """
        found = main_text_hash(page, charset)
        if found is None:
            return False
        with self._lock:
            # The item is removed and inserted again at the end. So the first item is always the page that was
            # not requested for the longest time.
            before, is_known = self._hashes.pop(url, None), found in self._texts
            self._hashes[url], self._texts[found] = found, None
            for memory in (self._hashes, self._texts):
                if len(memory) > MAX_PAGES:
                    memory.popitem(last=False)
        return not is_known if before is None else before != found


def is_page(method: str, status: int, content_type: str, *, private: bool) -> bool:
    """Return True if a sensor reads this response: a public HTML page with status 200."""
    return method == "GET" and status == 200 and content_type.lower().startswith("text/html") and not private


def charset_of(content_type: str) -> str:
    """Return the charset that a Content-Type names, or ``utf-8``."""
    for part in content_type.lower().split(";")[1:]:
        name, _, value = part.strip().partition("=")
        if name == "charset" and value:
            return value.strip("\"' ")
    return "utf-8"


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
        request with credentials. Pages that the site shows only to one person must not be read.
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
    """Return False for the paths of searches, lists, log-ins and files, otherwise True."""
    return _NO_PAGE.search(path) is None and log_odds(f"https://site.invalid{path}") > CLEARLY_NONE
