"""Failures of downloads: why a page failed, and whether this machine has no network.

Exceptions are mapped to tokens, and some carry a token. A token is the short, stable reason why a page was
not read or an article was not stored.

If this machine has no network, failures do not count as failures of the sites (:class:`Reachability`). Failed
visits are not completed before a host has answered. If no host of several sites has answered and there
is no other site to try, the crawl ends within seconds. The leases are returned, and no page is postponed.
"""

from __future__ import annotations

from collections import Counter
from typing import Final
from urllib.parse import urlsplit
from urllib.request import getproxies

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

from newsbot.cli.program import PROGRAM
from newsbot.crawl.address_guard import was_refused
from newsbot.errors import DataError
from newsbot.items import Reason


class Ignored(IgnoreRequest):
    """Raised for a request that newsbot does not make, or for a response that it does not use. ``cause`` is
    the token."""

    def __init__(self, cause: str, text: str = "") -> None:
        super().__init__(text or cause)
        self.cause = str(cause)


class HeadFault(Exception):
    """Raised for a response whose status line or headers cannot be parsed.

    ``status`` is the status of the response, or None if the status line is not valid.
    """

    def __init__(self, status: int | None, text: str) -> None:
        super().__init__(text)
        self.status = status


class DropItem(exceptions.DropItem):
    """Scrapy's exception with a ``reason``. This token is usually a :class:`newsbot.items.Reason`.

    The class has Scrapy's name because Scrapy counts dropped items by the name of the class.
    """

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(f"{reason} {detail}" if detail else str(reason))
        self.reason = str(reason)


_BY_TYPE: tuple[tuple[type[BaseException], str], ...] = (
    (HeadFault, "bad_head"),
    (CannotResolveHostError, Reason.DNS),
    (DownloadTimeoutError, Reason.TIMEOUT),
    (DownloadConnectionRefusedError, Reason.REFUSED),
    (ResponseDataLossError, "truncated"),
    (UnsupportedURLSchemeError, Reason.SCHEME),
    (DownloadCancelledError, Reason.TOO_LARGE),  # Scrapy cancels a download only for DOWNLOAD_MAXSIZE
)

_BY_NAME = (
    ("TunnelError", Reason.PROXY),
    ("certificate verify failed", Reason.TLS),
    ("VerificationError", Reason.TLS),
    ("Certificate", Reason.TLS),
    # The order matters: errors of certificates contain "SSL" too, for example "[SSL:
    # CERTIFICATE_VERIFY_FAILED] certificate verify failed".
    ("SSL", Reason.CONNECTION),
    ("DNS", Reason.DNS),
    ("Timeout", Reason.TIMEOUT),
    ("Connect", Reason.CONNECTION),
)


NO_TLS = (
    Reason.REFUSED,
    Reason.PROXY,
    Reason.CONNECTION,
    Reason.TIMEOUT,
    Reason.ROBOTS_UNREACHABLE,
)
"""Errors that an https request to a host without TLS may cause.

A refused certificate (``tls``) is not in the list. Otherwise, an attacker between the crawl and the host
could send a false certificate to make the crawl use http.
"""
REFUSED_CERTIFICATE = (
    "the TLS certificate is not valid (to read the site nevertheless: tls: ignore in its rule)"
)


def _head_fault(error: BaseException) -> HeadFault | None:
    # Twisted keeps the exceptions of its parser in ``ResponseFailed.reasons``; Scrapy wraps this exception.
    reasons = getattr(error.__cause__, "reasons", None) or ()
    faults = (getattr(reason, "value", None) for reason in reasons)
    return next((fault for fault in faults if isinstance(fault, HeadFault)), None)


def status_of(error: BaseException) -> int | None:
    """Return the status of a response whose headers are damaged; None for other failures."""
    fault = _head_fault(error)
    return None if fault is None else fault.status


def cause_of(error: BaseException) -> str:
    """Return the token for the exception of a failed download."""
    if isinstance(error, Ignored):
        return error.cause
    if isinstance(error, DataError):
        return Reason.OURS.value  # a fault of our backends, not of the host
    for kind, cause in _BY_TYPE:
        if isinstance(_head_fault(error) or error, kind):
            return str(cause)
    text = f"{type(error).__name__} {error}"
    if isinstance(error, IgnoreRequest):
        return (Reason.REDIRECTS if "redirection" in text else Reason.IGNORED).value
    # OpenSSL, Twisted and Scrapy wrap each other's exceptions, so only name and text identify the cause.
    for part, cause in _BY_NAME:
        if part in text:
            return str(cause)
    return Reason.CONNECTION.value if isinstance(error, DownloadFailedError | OSError) else "unknown"


def cause_for(url: str, error: BaseException) -> str:
    """Return the token for the exception of a failed download of ``url``."""
    cause = cause_of(error)
    # Twisted reports a refused private address as a name that does not exist.
    if cause == Reason.DNS and was_refused(url):
        return Reason.PRIVATE_ADDRESS.value
    return cause


def text_of(error: BaseException) -> str:
    """Return the message of a failed download as text for people.

    If a certificate was refused, the message says how to read the site nevertheless.
    """
    text = str(_head_fault(error) or error)
    if "certificate verify failed" in text or "VerificationError" in text:
        text = f"{REFUSED_CERTIFICATE}: {text}"
    return text[:200]


def cause_of_status(status: int) -> str:
    """Return the token for an HTTP status of 400 or more, such as ``http_404`` or ``http_5xx``."""
    return "http_5xx" if status >= 500 else f"http_{status}"


def is_no_source(cause: str) -> bool:
    """Return True if the URL of a feed or sitemap is gone or leads to something else.

    ``cause`` is a token.
    """
    return cause in (Reason.HTTP_404, Reason.HTTP_410) or cause.startswith(("feed_", "sitemap_"))


# --- no network
ENOUGH: Final = 3
"""If at least this number of sites failed and no other sites are left, the network counts as down.

The number is above 1, because a single site may be down itself.
"""
MANY: Final = 10
"""After this number of sites has failed, no other sites are tried."""
MAX_SITES: Final = 10_000
"""Maximum number of failed sites that are remembered."""
UNREACHABLE: Final = "newsbot/unreachable"
"""Name of the stat that holds :attr:`Reachability.fault` at the end of a crawl."""


class Reachability:
    """The results of one crawl's first requests."""

    def __init__(self) -> None:
        self._answered = self._believed = False
        self._failed: dict[str, str] = {}
        """The cause of the last failure, by site."""
        self.begun = False
        """True once all seeds of the crawl are queued."""

    def answered(self) -> None:
        """Record that a host has answered."""
        self._answered = True
        self._failed.clear()

    def failed(self, site: str, cause: str) -> None:
        """Record that a host could not be reached. ``cause`` is a token."""
        # Once a host has answered, the network works, and further failures are failures of the sites.
        if not self._answered and len(self._failed) < MAX_SITES:
            self._failed[site] = cause

    def believe(self) -> None:
        """Count the failures as failures of the sites. This is called when there is no other site to try."""
        self._believed = True

    @property
    def in_doubt(self) -> bool:
        """True while all sites have failed, so the network may be the reason."""
        return bool(self._failed) and not self._believed

    @property
    def enough_tried(self) -> bool:
        """True if :data:`MANY` sites have failed and none has answered. Other sites need not be tried."""
        return self.in_doubt and len(self._failed) >= MANY

    @property
    def is_ours(self) -> bool:
        """True if the sites did not cause the failures. The value is valid only when there is no other site
        to try."""
        # If the address guard has refused all sites, one failure is enough, because no site caused it.
        refused_by_us = set(self._failed.values()) == {Reason.PRIVATE_ADDRESS}
        return self.in_doubt and (refused_by_us or len(self._failed) >= ENOUGH)

    @property
    def fault(self) -> str | None:
        """The fault and the remedy in one line; None if a host has answered or no host was tried."""
        if not self._failed:
            return None
        causes = Counter(self._failed.values())
        names = sorted(self._failed)
        more = f" and {len(names) - ENOUGH} more" if len(names) > ENOUGH else ""
        sites = ", ".join(names[:ENOUGH]) + more
        if set(causes) == {Reason.PRIVATE_ADDRESS}:
            return (
                f"no host was contacted: the addresses of {sites} are private IP addresses, which newsbot "
                "does not contact; to allow them, set NEWSBOT_ALLOW_PRIVATE=1"
            )
        if set(causes) == {Reason.TLS}:
            return (
                f"no host was read: the certificates of {sites} are not valid; {PROGRAM} why URL shows more "
                "(rule key: tls)"
            )
        listed = ", ".join(f"{cause} {number}" for cause, number in causes.most_common())
        # The host name only: the URL of a proxy may have a password.
        proxies = ", ".join(sorted({urlsplit(url).hostname or url for url in getproxies().values()}))
        question = (
            f"check the proxy {proxies} (http_proxy, https_proxy)."
            if proxies
            else f"check {'the address and ' if len(names) < ENOUGH else ''}the network connection. "
            "Behind a proxy, set http_proxy and https_proxy."
        )
        spared = "" if self._believed else " No page was postponed."
        return (
            f"no host could be reached: {sites} ({listed}): {question}{spared} "
            f"To try newsbot without a network, run: {PROGRAM} demo"
        )
