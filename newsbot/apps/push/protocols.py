"""The protocols of notices: WebSub, IndexNow, rssCloud and pings, as pure functions without network.

Source of WebSub: W3C Recommendation WebSub, 23 January 2018 (https://www.w3.org/TR/websub/). A subscription
has one of these states: ``wanted`` (no request was sent yet), ``pending`` (requested, but not verified by the
hub yet), ``verified``, ``denied``, ``leaving`` (the end is requested). Each subscription has its own random
callback URL, which cannot be guessed from the URLs of other subscriptions.

With IndexNow (https://www.indexnow.org/documentation), a site reports which of its URLs have changed. ``GET
/indexnow?url=…&key=…`` reports one URL. A POST of ``{"host", "key", "keyLocation"?, "urlList"}`` reports up
to 10,000 URLs. A key proves who the sender is only if the key file is on the host of the reported URLs.

A hub signs the content with HMAC (WebSub, section 8: ``X-Hub-Signature: method=hex``). A sensor of newsbot
signs time and body: ``X-Newsbot-Signature: t=<POSIX seconds>,sha256=<hex>`` over ``<t>.<body>``. The signed
time limits the replay of a recorded notice to a few minutes. Signatures are compared in constant time.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal
from urllib.parse import urlsplit
from xml.etree.ElementTree import ParseError

from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import fromstring

from newsbot.clock import Clock
from newsbot.items import Bounded
from newsbot.urls import canonicalize, host_key

STRENGTHS = ("sha1", "sha256", "sha384", "sha512")
"""The signature methods of WebSub, the weakest first."""
TOLERANCE = 300.0
"""Seconds by which the clocks of a sensor and of this machine may differ."""

_HUB = re.compile(r"(sha1|sha256|sha384|sha512)=([0-9a-fA-F]{40,128})")
_NOTICE = re.compile(r"t=([0-9]{1,12}),sha256=([0-9a-fA-F]{64})")


def sign(method: str, secret: bytes, body: bytes) -> str:
    """Return the HMAC (RFC 2104) of ``body`` in hexadecimal; ``method`` is one of :data:`STRENGTHS`."""
    return hmac.new(secret, body, getattr(hashlib, method)).hexdigest()


def hub_method(header: str, secret: str, body: bytes, *, at_least: str = STRENGTHS[0]) -> str | None:
    """Return the signature method if the header of a hub contains a valid signature of ``body``, or None.

    A method weaker than ``at_least`` is not accepted. After a hub has used a strong method, an attacker must
    not be able to use a weaker one.
    """
    found = _HUB.fullmatch(header.strip())
    if found is None or STRENGTHS.index(found[1]) < STRENGTHS.index(at_least):
        return None
    # The duration of compare_digest() does not depend on the position of the first difference, so it does not
    # reveal the right signature.
    right = hmac.compare_digest(sign(found[1], secret.encode(), body), found[2].lower())
    return found[1] if right else None


def notice_header(secret: str, body: bytes, now: float) -> str:
    """Return the header ``X-Newsbot-Signature`` for a notice that is sent at ``now`` (POSIX seconds)."""
    moment = str(int(now))
    return f"t={moment},sha256={sign('sha256', secret.encode(), _dated(moment, body))}"


def genuine_notice(header: str, secret: str, body: bytes, now: float) -> str | None:
    """Return an identifier of a sensor's notice if its signature and its time are valid, or None.

    The time must be within :data:`TOLERANCE` of ``now`` (POSIX seconds). The identifier does not depend on
    the spelling of the header, so that :class:`SeenOnce` recognises every repetition.
    """
    found = _NOTICE.fullmatch(header.strip())
    if found is None or abs(now - int(found[1])) > TOLERANCE:
        return None
    digest = sign("sha256", secret.encode(), _dated(found[1], body))
    return f"{int(found[1])} {digest}" if hmac.compare_digest(digest, found[2].lower()) else None


def _dated(moment: str, body: bytes) -> bytes:
    return moment.encode() + b"." + body


MAX_SEEN = 100_000
"""Maximum number of keys that are remembered."""


class SeenOnce:
    """Remembers at most :data:`MAX_SEEN` keys, each for ``seconds``.

    The oldest keys are dropped first.
    """

    def __init__(self, seconds: float, clock: Clock) -> None:
        self._seconds = seconds
        self._clock = clock
        self._seen = Bounded[bytes, float](MAX_SEEN)

    def is_new(self, key: bytes) -> bool:
        """Remember ``key``. Return True if it was not remembered before."""
        self._forget()
        if key in self._seen:
            return False
        self._seen[key] = self._clock() + self._seconds
        return True

    def knows(self, key: bytes) -> bool:
        """Return True if ``key`` is remembered."""
        self._forget()
        return key in self._seen

    def _forget(self) -> None:
        now = self._clock()
        # A key that would be kept longer than a new key was stored while the clock was ahead, and is dropped.
        while self._seen and not now < next(iter(self._seen.values())) <= now + self._seconds:
            self._seen.popitem(last=False)


LEASE = 10 * 86400
"""Length in seconds of the requested lease. The hub may grant a lease of a different length."""
SHORTEST, LONGEST = 60.0, 30 * 86400.0
"""Shortest and longest lease in seconds. The length of a lease is limited to this range."""
VERIFY_WITHIN = 3600.0
"""Seconds within which a hub must verify a request."""
AFTER_DENIAL = 7 * 86400.0
"""Seconds between a denial and the next request."""
MAX_PAUSE = 86400.0
"""Maximum number of seconds between two attempts."""

State = Literal["wanted", "pending", "verified", "denied", "leaving"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Subscription:
    """The subscription of one topic at one hub. Times are POSIX seconds."""

    token: str
    """The random part of the callback URL."""
    topic: str
    hub: str
    secret: str
    page: str
    """URL of the feed in the rules. This source is fetched when the hub reports a change."""
    state: State = "wanted"
    asked: float = 0.0
    """Time of the last request to the hub."""
    tries: int = 0
    """Number of attempts since the hub last verified the subscription."""
    until: float = 0.0
    """Time at which the lease ends; 0 without a lease."""
    renew_at: float = 0.0
    """Time at which the next request to the hub is due."""
    method: str = STRENGTHS[0]
    """The strongest signature method that the hub has used. Weaker methods are no longer accepted."""
    reason: str = ""
    """The reason that the hub gave for a denial, or the reason why a request failed."""

    @property
    def is_live(self) -> bool:
        """True if the hub may send content. This includes the time in which a renewal is pending."""
        return self.state == "verified" or (self.state == "pending" and self.until > 0)

    @property
    def is_exposed(self) -> bool:
        """True if the secret is sent unencrypted, although the feed is encrypted.

        Then a signature proves less about the content than a fetch of the feed.
        """
        return self.hub.startswith("http:") and self.page.startswith("https:")


def subscribe(topic: str, hub: str, page: str) -> Subscription:
    """Return a new subscription with a random token and a random secret, 32 bytes each."""
    return Subscription(
        token=secrets.token_urlsafe(32), topic=topic, hub=hub, secret=secrets.token_urlsafe(32), page=page
    )


def request_of(subscription: Subscription, callback: str) -> dict[str, str]:
    """Return the form that is sent to the hub by POST, to subscribe or to unsubscribe (section 5.1)."""
    leaving = subscription.state == "leaving"
    form = {
        "hub.callback": callback,
        "hub.mode": "unsubscribe" if leaving else "subscribe",
        "hub.topic": subscription.topic,
    }
    if not leaving:
        form |= {"hub.lease_seconds": str(LEASE), "hub.secret": subscription.secret}
    return form


def was_asked(subscription: Subscription, now: float, fault: str = "") -> Subscription:
    """Return the subscription after a request to the hub.

    ``fault`` is the reason why the hub did not accept the request; it is empty if the hub accepted it. A
    failed request is repeated after 1, 2, 4 … minutes, with a maximum of one day. An accepted request is
    repeated if the hub does not verify it within :data:`VERIFY_WITHIN`.
    """
    tries = subscription.tries + 1
    pause = min(60.0 * 2.0 ** min(tries - 1, 20), MAX_PAUSE) if fault else VERIFY_WITHIN
    # A subscription that is being ended stays "leaving". With the state "pending", the hub could confirm it
    # again.
    state: State = "pending" if subscription.state != "leaving" and not fault else subscription.state
    return replace(
        subscription, state=state, asked=now, tries=tries, renew_at=now + pause, reason=fault[:300]
    )


def verify_intent(
    subscription: Subscription, query: Mapping[str, str], now: float, spread: float
) -> tuple[Subscription, str | None]:
    """Handle the verification request of a hub (section 5.3).

    Return the new state of the subscription, and the challenge to send back. If the challenge is None, the
    response must be 404. Only our own requests are confirmed, so the topic must match, and a request must be
    pending. ``spread`` (0 to 1) is a random number that spreads renewals over time.
    """
    mode, challenge = query.get("hub.mode"), query.get("hub.challenge")
    if query.get("hub.topic") != subscription.topic or not challenge:
        return subscription, None
    if mode == "unsubscribe":
        # The end is confirmed only if we requested it. Otherwise an attacker who learns the callback URL
        # could end the subscription.
        if subscription.state != "leaving":
            return subscription, None
        return replace(subscription, until=0.0, renew_at=0.0), challenge
    lease = _lease_of(query.get("hub.lease_seconds", ""))
    if mode != "subscribe" or subscription.state != "pending" or lease is None:
        return subscription, None
    confirmed = replace(
        subscription,
        state="verified",
        tries=0,
        until=now + lease,
        renew_at=now + lease * (0.8 + 0.1 * spread),  # this leaves time for several attempts
        reason="",
    )
    return confirmed, challenge


def _lease_of(text: str) -> float | None:
    if not text.isascii() or not text.isdigit() or len(text) > 12 or int(text) <= 0:
        return None
    return min(max(float(text), SHORTEST), LONGEST)


def deny(subscription: Subscription, query: Mapping[str, str], now: float) -> Subscription:
    """Return the subscription after the hub has denied or ended it (section 5.2).

    If the request names another topic, it is ignored, and the subscription is returned unchanged.
    """
    if query.get("hub.topic") != subscription.topic:
        return subscription
    reason = query.get("hub.reason", "")[:300]
    return replace(subscription, state="denied", until=0.0, renew_at=now + AFTER_DENIAL, reason=reason)


def is_genuine(
    subscription: Subscription, header: str | None, body: bytes, now: float
) -> tuple[Subscription, bool]:
    """Check the signature of content from a hub (section 8).

    Return the subscription with the strongest signature method so far, and whether the content is genuine. If
    the subscription is not live, the content is not genuine.
    """
    if not subscription.is_live or subscription.until < now or header is None:
        return subscription, False
    method = hub_method(header, subscription.secret, body, at_least=subscription.method)
    if method is None:
        return subscription, False
    return replace(subscription, method=method), True


def end_of_lease(subscription: Subscription, now: float) -> Subscription:
    """Return the subscription.

    If its lease has ended, the state becomes ``wanted``, and a request is due now.
    """
    if 0 < subscription.until < now:
        return replace(subscription, state="wanted", until=0.0, renew_at=now)
    return subscription


MAX_URLS = 10_000
MAX_KEY_FILE = 4096
"""Maximum number of bytes of a key file that are read."""
_KEY = re.compile(r"[A-Za-z0-9-]{8,128}")


class BadNotice(ValueError):
    """The request is not a valid IndexNow notice. The text tells the sender the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """A valid notice. Its key file has not been read yet."""

    host: str
    key: str
    key_location: str
    """The URL of the key file.

    It is on the host of the reported URLs. All these URLs are in the folder of the key file or below it.
    """
    urls: tuple[str, ...]


def of_query(query: Mapping[str, str]) -> Notice:
    """Return the notice in the query of a GET request. Raises :class:`BadNotice`."""
    url = query.get("url", "")
    return _notice(_host_of(url), query.get("key", ""), query.get("keyLocation"), [url])


def of_json(body: bytes) -> Notice:
    """Return the notice in the body of a POST request. Raises :class:`BadNotice`."""
    try:
        document: Any = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise BadNotice("the body is not JSON") from error
    if not isinstance(document, dict):
        raise BadNotice("the body is not a JSON object")
    urls = document.get("urlList")
    if not isinstance(urls, list) or not urls or not all(isinstance(url, str) for url in urls):
        raise BadNotice("urlList is not a list of URLs")
    if len(urls) > MAX_URLS:
        raise BadNotice(f"urlList has {len(urls)} URLs, but at most {MAX_URLS} are allowed")
    host, key, location = (document.get(name) for name in ("host", "key", "keyLocation"))
    if not isinstance(host, str) or not isinstance(key, str) or not isinstance(location, str | None):
        raise BadNotice("host, key and keyLocation must be strings")
    return _notice(_host_of(f"http://{host}/"), key, location, urls)


def is_key_file(body: bytes, key: str) -> bool:
    """Return True if a key file contains only the key, in UTF-8. White space around the key is ignored."""
    return body[:MAX_KEY_FILE].decode("utf-8-sig", "replace").strip() == key


def _notice(host: str, key: str, location: str | None, urls: list[str]) -> Notice:
    if not _KEY.fullmatch(key):
        raise BadNotice("the key must have 8 to 128 characters: letters, digits, dashes")
    # Without keyLocation, the protocol expects the key file at the root of the host.
    place = location or f"{_scheme(urls[0])}://{host}/{key}.txt"
    if _host_of(place) != host:
        raise BadNotice(f"keyLocation is not on {host}")
    # A host can be shared, for example by blogs. The owner of one folder may report only the pages in this
    # folder.
    folder = urlsplit(canonicalize(place)).path.rpartition("/")[0] + "/"
    for url in urls:
        if _host_of(url) != host:
            raise BadNotice(f"{url[:200]} is not on {host}")
        if not (urlsplit(canonicalize(url)).path or "/").startswith(folder):
            raise BadNotice(f"{url[:200]} is not below the folder of the key file")
    return Notice(host=host, key=key, key_location=place, urls=tuple(urls))


def _scheme(url: str) -> str:
    return "http" if url.startswith("http:") else "https"


def _host_of(url: str) -> str:
    try:
        canonicalize(url)
        return host_key(url)
    except ValueError as error:
        raise BadNotice(f"{url[:200]!r} is not the URL of a page") from error


MAX_BODY = 64 * 1024
METHODS = ("weblogUpdates.ping", "weblogUpdates.extendedPing")
"""Names of the XML-RPC methods of pings."""


def challenge_of(query: Mapping[str, str]) -> tuple[str, str] | None:
    """Return the feed and the challenge in the verification request of an rssCloud server, or None.

    The server sends notices only after it has received its challenge as the response
    (https://www.rssboard.org/rsscloud-interface).
    """
    url, challenge = query.get("url"), query.get("challenge")
    return (url, challenge[:500]) if url and challenge else None


def pinged(body: bytes) -> list[str]:
    """Return the URLs in an XML-RPC ping: the site, then the changed page and the feed if they are given.

    Raises ``ValueError`` if ``body`` is not such a call.
    """
    try:
        # This is fromstring() of defusedxml, because the sender is unknown and XML entities could expand to
        # gigabytes.
        call = fromstring(body[:MAX_BODY], forbid_dtd=True)
    except (ParseError, DefusedXmlException, ValueError) as error:
        raise ValueError("the body is not an XML-RPC call") from error
    if call.tag != "methodCall" or (call.findtext("methodName") or "").strip() not in METHODS:
        raise ValueError("the method is not weblogUpdates.ping")
    # The first parameter is the name of the site.
    values = ["".join(value.itertext()).strip() for value in call.findall("params/param/value")]
    urls = [value for value in values[1:5] if value.startswith(("http://", "https://"))]
    if not urls:
        raise ValueError("weblogUpdates.ping has no URL")
    return urls


def ping_answer(fault: str = "") -> str:
    """Return the XML-RPC response to a ping. ``fault`` is the reason for a refusal; empty means success."""
    message = fault or "Thanks for the ping."
    return (
        '<?xml version="1.0"?><methodResponse><params><param><value><struct>'
        f"<member><name>flerror</name><value><boolean>{int(bool(fault))}</boolean></value></member>"
        f"<member><name>message</name><value>{message}</value></member>"
        "</struct></value></param></params></methodResponse>"
    )
