"""Sends notices in the background, so that the site's visitors never wait for them.

Addresses are gathered for a moment and sent together, signed (see :mod:`newsbot.push.signatures`). When
newsbot is away, the latest MAX_WAITING are kept and sent later; nothing is ever raised into the site.
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

from newsbot.push.signatures import notice_header

logger = logging.getLogger(__name__)

MAX_WAITING = 10_000
MAX_AT_ONCE = 1000
GATHER = 1.0
"""Seconds for which addresses are gathered."""
PATIENCE = 10.0
FIRST_PAUSE, LONGEST_PAUSE = 5.0, 300.0


class Notifier:
    """Tells the newsbot at ``url`` of changed addresses of ``site`` (``https://my.site``).

    Raises ``ValueError`` for addresses that are none.
    """

    def __init__(self, url: str, secret: str, site: str, *, gather: float = GATHER) -> None:
        for address in (url, site):
            parts = urlsplit(address)
            if parts.scheme not in ("http", "https") or not parts.hostname:
                raise ValueError(f"{address!r} is no address; write https://…")
        if not secret:
            raise ValueError("the secret is empty; it is NEWSBOT_SENSOR_SECRET of newsbot")
        self._url, self._secret, self._gather = url, secret, gather
        self.site = site.rstrip("/")
        self._host = urlsplit(site).netloc
        self._waiting: OrderedDict[str, None] = OrderedDict()
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._closed = False
        self._thread: threading.Thread | None = None

    def changed(self, url: str) -> None:
        """Tell of ``url`` soon. Returns at once; of too many the oldest are left out."""
        with self._lock:
            self._waiting[url] = None
            self._waiting.move_to_end(url)
            while len(self._waiting) > MAX_WAITING:
                self._waiting.popitem(last=False)
            if self._thread is None:  # here, not at the start: servers fork after they have loaded the site
                self._thread = threading.Thread(target=self._run, name="newsbot-sensor", daemon=True)
                self._thread.start()
        self._wake.set()

    def close(self, timeout: float = PATIENCE) -> None:
        """Send what waits, once, for at most ``timeout`` seconds."""
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
                self._wake.wait(pause)
                self._wake.set()
                pause = min(2 * pause, LONGEST_PAUSE)
            else:
                pause = FIRST_PAUSE

    def _send_all(self) -> bool:
        while True:
            with self._lock:
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
            with urllib.request.urlopen(request, timeout=PATIENCE) as answer:  # noqa: S310  (as above)
                answer.read(1000)
        except urllib.error.HTTPError as error:
            error.close()
            if error.code in (429, 500, 502, 503, 504):
                return False
            logger.warning(
                "newsbot refused a notice status=%d", error.code
            )  # sending it again would not help
        except (OSError, ValueError) as error:
            logger.warning("newsbot cannot be told of changes fault=%s", error)
            return False
        return True

    @property
    def _key(self) -> str:
        """IndexNow's form asks for a key; the signature is what proves, and the key tells no secret."""
        return hashlib.blake2b(self._host.encode(), digest_size=16).hexdigest()
