"""Sends notices in the background, so that visitors of the site never wait for them.

URLs are collected for a second and sent together in a signed notice (see
:mod:`newsbot.apps.push.signatures`). If newsbot is unreachable, the latest :data:`MAX_WAITING` URLs are kept
and sent later. The site never receives an exception.
"""

from __future__ import annotations

import hashlib
import json
import logging
import threading
import time
import urllib.error
import urllib.request
from collections import OrderedDict
from urllib.parse import urlsplit

from newsbot.apps.push.signatures import notice_header

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
        self._waiting: OrderedDict[str, None] = OrderedDict()
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._closed = False
        self._thread: threading.Thread | None = None

    def changed(self, url: str) -> None:
        """Queue ``url`` for the next notice, and return immediately.

        If the queue is full, the oldest URL is dropped.
        """
        with self._lock:
            self._waiting[url] = None
            self._waiting.move_to_end(url)
            while len(self._waiting) > MAX_WAITING:
                self._waiting.popitem(last=False)
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
