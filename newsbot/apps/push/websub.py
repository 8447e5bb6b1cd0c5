"""The subscriber's side of a WebSub subscription, as pure functions without network.

Source: W3C Recommendation WebSub, 23 January 2018 (https://www.w3.org/TR/websub/). A subscription has one of
these states: ``wanted`` (no request was sent yet), ``pending`` (requested, but not verified by the hub yet),
``verified``, ``denied``, ``leaving`` (the end is requested). Each subscription has its own random callback
URL, which cannot be guessed from the URLs of other subscriptions.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from newsbot.apps.push.signatures import STRENGTHS, hub_method

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
