"""Chooses responses and reports new or changed pages: the code that both kinds of middleware share.

Notices are sent in the background, so that visitors of the site never wait for them. URLs are collected for a
second and sent together in a signed notice (see :mod:`newsbot.apps.push.protocols`). If newsbot is
unreachable, the latest :data:`MAX_WAITING` URLs are kept and sent later. The site never receives an
exception.

Two responses for a page are compared by a hash of the main text. Counters, advertisements and dates in menus
can differ in each response, but the text of an article does not.
"""

from __future__ import annotations

import hashlib
import json
import logging
import re
import threading
import time
import urllib.error
import urllib.request
import zlib
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from html.parser import HTMLParser
from urllib.parse import urlsplit

from newsbot.apps.push.protocols import notice_header
from newsbot.items import Bounded
from newsbot.pages.rules.shape import CLEARLY_NONE, log_odds

logger = logging.getLogger(__name__)

MAX_WAITING = 10_000
"""Maximum number of URLs in the queue."""
MAX_AT_ONCE = 1000
"""Maximum number of URLs in a notice."""
GATHER = 1.0
"""Seconds for which URLs are collected before they are sent."""
RESPONSE_TIMEOUT = 10.0
"""Maximum number of seconds to wait for a response of newsbot."""
FIRST_PAUSE, LONGEST_PAUSE = 5.0, 300.0
"""Bounds in seconds of the pause after a failure. Each pause is twice as long as the one before."""


class Notifier:
    """Reports changed URLs of ``site`` (``https://my.site``) to the newsbot server at ``url``.

    ``secret`` is the NEWSBOT_SENSOR_SECRET of this server; ``gather`` is in seconds. Raises ``ValueError``
    for an invalid URL or an empty secret.
    """

    def __init__(self, url: str, secret: str, site: str, *, gather: float = GATHER) -> None:
        for address in (url, site):
            parts = urlsplit(address)
            if parts.scheme not in ("http", "https") or not parts.hostname:
                raise ValueError(f"{address!r} is not a URL; write https://…")
        if not secret:
            raise ValueError("the secret is empty; set the same NEWSBOT_SENSOR_SECRET as on the server")
        self._url, self._secret, self._gather = url, secret, gather
        self.site = site.rstrip("/")
        self._host = urlsplit(site).netloc
        self._waiting = Bounded[str, None](MAX_WAITING)
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._closed = False
        self._thread: threading.Thread | None = None

    def changed(self, url: str) -> None:
        """Queue ``url`` for the next notice, and return immediately.

        If the queue is full, the oldest URL is dropped.
        """
        with self._lock:
            self._waiting.add(url)
            # The thread is started here and not in __init__. Servers such as gunicorn load the site and then
            # fork, and threads do not survive a fork.
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="newsbot-sensor", daemon=True)
                self._thread.start()
        self._wake.set()

    def close(self, timeout: float = RESPONSE_TIMEOUT) -> None:
        """Try once to send the URLs in the queue, and end the thread. Wait at most ``timeout`` seconds."""
        self._closed = True
        self._wake.set()
        if self._thread is not None:
            self._thread.join(timeout)

    def _run(self) -> None:
        pause = FIRST_PAUSE
        while True:
            self._wake.wait()
            self._wake.clear()
            if not self._closed:
                time.sleep(self._gather)
            sent = self._send_all()
            if self._closed:
                return
            if not sent:
                # A new URL or close() ends the pause early. The event is set after the pause, because the
                # queue is not empty and the loop must not wait for another URL.
                self._wake.wait(pause)
                self._wake.set()
                pause = min(2 * pause, LONGEST_PAUSE)
            else:
                pause = FIRST_PAUSE

    def _send_all(self) -> bool:
        while True:
            with self._lock:
                # URLs stay in the queue until they are sent. The lock is not held during the request.
                # Otherwise the threads of the site would wait for the lock in changed().
                some = list(self._waiting)[:MAX_AT_ONCE]
            if not some:
                return True
            if not self._send(some):
                return False
            with self._lock:
                for url in some:
                    self._waiting.pop(url, None)

    def _send(self, urls: list[str]) -> bool:
        body = json.dumps({"host": self._host, "key": self._key, "urlList": urls}).encode()
        headers = {
            "Content-Type": "application/json; charset=utf-8",
            "X-Newsbot-Signature": notice_header(self._secret, body, time.time()),
            "User-Agent": "newsbot-sensor",
        }
        request = urllib.request.Request(self._url, body, headers)  # noqa: S310  (its scheme was checked)
        try:
            with urllib.request.urlopen(request, timeout=RESPONSE_TIMEOUT) as answer:  # noqa: S310  (as above)
                answer.read(1000)
        except urllib.error.HTTPError as error:
            error.close()
            if error.code in (429, 500, 502, 503, 504):
                return False
            # The notice is dropped, because newsbot would refuse it again.
            logger.warning("newsbot refused a notice status=%d", error.code)
        except (OSError, ValueError) as error:
            logger.warning("cannot send notices to newsbot fault=%s", error)
            return False
        return True

    @property
    def _key(self) -> str:
        """The key that the format of IndexNow requires.

        The key need not be secret, because the signature proves the sender.
        """
        return hashlib.blake2b(self._host.encode(), digest_size=16).hexdigest()


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
        self._hashes = Bounded[str, str](MAX_PAGES)
        self._texts = Bounded[str, None](MAX_PAGES)
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
            before, is_known = self._hashes.get(url), found in self._texts
            self._hashes[url], self._texts[found] = found, None
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
