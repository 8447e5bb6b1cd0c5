"""Keeps the subscriptions to WebSub hubs, and sends the requests to the hubs.

The crawl writes a note of kind :data:`newsbot.crawl.sources.HUB` for each feed that names hubs. Each of
these feeds gets one subscription, at its first hub that accepts the request. Subscriptions are stored as
notes. They are renewed before they expire.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import Any

from newsbot.apps.push.websub import Subscription, end_of_lease, request_of, subscribe, was_asked
from newsbot.apps.web.outgoing import Outgoing, OutgoingError
from newsbot.apps.web.push_intake import Desk, OffThread, notifier_name
from newsbot.clock import Clock
from newsbot.crawl.sources import HUB
from newsbot.storage.notes import Notes

SUBSCRIPTION = "subscription"
OTHER_HUB_AFTER = 3
"""After this number of failed attempts at a hub, the next hub of the feed is tried."""


class Subscriptions:
    """The stored subscriptions and their copy in memory. Requests of hubs are checked against the copy.

    :meth:`keep`, :meth:`drop` and :meth:`follow_hubs` write to the storage and block.
    """

    def __init__(self, notes: Notes) -> None:
        self._notes = notes
        self._by_token = {key: Subscription(**note) for key, note in notes.all(SUBSCRIPTION).items()}

    def __iter__(self) -> Iterator[Subscription]:
        return iter(list(self._by_token.values()))

    def by_token(self, token: str) -> Subscription | None:
        """Return the subscription whose callback URL ends in ``token``."""
        return self._by_token.get(token)

    def put(self, subscription: Subscription) -> None:
        """Add a subscription to the copy in memory, or replace it there. :meth:`keep` stores it."""
        self._by_token[subscription.token] = subscription

    def keep(self, token: str) -> None:
        """Store the subscription as it is in memory. Raises :class:`newsbot.errors.DataError`."""
        subscription = self._by_token.get(token)
        if subscription is not None:
            self._notes.save(SUBSCRIPTION, token, asdict(subscription))

    def drop(self, token: str) -> None:
        """Delete a subscription. Raises :class:`newsbot.errors.DataError`."""
        self._by_token.pop(token, None)
        self._notes.forget(SUBSCRIPTION, token)

    def follow_hubs(self) -> None:
        """Create a subscription for each feed that names a hub. End the subscriptions of all other feeds.

        Raises :class:`newsbot.errors.DataError`.
        """
        offered = self._notes.all(HUB)
        # The loop below removes feeds that still name a hub. The subscriptions that remain are ended.
        by_page = {one.page: one for one in self if one.state != "leaving"}
        for page, offer in offered.items():
            known = by_page.pop(page, None)
            if known is None:
                self._begin(page, offer, offer["hubs"][0])
            elif known.topic != offer["topic"] or known.hub not in offer["hubs"]:  # the feed has changed
                self._leave(known)
                self._begin(page, offer, offer["hubs"][0])
            elif known.state != "verified" and known.tries >= OTHER_HUB_AFTER and len(offer["hubs"]) > 1:
                after = (offer["hubs"].index(known.hub) + 1) % len(offer["hubs"])
                self.drop(known.token)
                self._begin(page, offer, offer["hubs"][after])
        for gone in by_page.values():
            self._leave(gone)

    def _begin(self, page: str, offer: dict[str, Any], hub: str) -> None:
        subscription = subscribe(offer["topic"], hub, page)
        self.put(subscription)
        self.keep(subscription.token)

    def _leave(self, subscription: Subscription) -> None:
        """Mark a subscription for its end. :class:`Subscriber` sends the request to the hub."""
        if not subscription.is_live:  # the hub sends nothing for it, so no request is needed
            self.drop(subscription.token)
            return
        self.put(replace(subscription, state="leaving", renew_at=0.0, tries=0))
        self.keep(subscription.token)


logger = logging.getLogger(__name__)

AT_ONCE = 20
"""Maximum number of requests in one call of :meth:`Subscriber.round`."""
LAST_TRIES = 5
"""Maximum number of attempts to unsubscribe.

After the last attempt, the subscription is deleted. Later requests of the hub get the response 404 or 410.
"""


class Subscriber:
    """Sends due requests to hubs. ``public_url`` is the URL at which hubs reach this server."""

    def __init__(
        self,
        subscriptions: Subscriptions,
        outgoing: Outgoing,
        desk: Desk,
        data: OffThread,
        *,
        public_url: str,
        clock: Clock,
    ) -> None:
        self._subscriptions = subscriptions
        self._outgoing = outgoing
        self._desk = desk
        self._data = data
        self._public_url = public_url.rstrip("/")
        self._clock = clock

    def callback(self, subscription: Subscription) -> str:
        """Return the callback URL of a subscription. Its token is secret, and only the hub gets it."""
        return f"{self._public_url}/push/websub/{subscription.token}"

    async def round(self) -> None:
        """Create subscriptions for new hubs, and send the due requests, oldest first.

        Raises :class:`newsbot.errors.DataError`.
        """
        await self._data.call(self._subscriptions.follow_hubs)
        now = self._clock()
        due = [one for one in self._subscriptions if one.renew_at <= now]
        for subscription in sorted(due, key=lambda one: one.renew_at)[:AT_ONCE]:
            await self._ask(end_of_lease(subscription, now))

    async def _ask(self, subscription: Subscription) -> None:
        if subscription.state == "leaving" and subscription.tries >= LAST_TRIES:
            await self._data.call(self._subscriptions.drop, subscription.token)
            return
        # A hub may send its verification before its response, so the state is set before the request is sent.
        self._subscriptions.put(was_asked(subscription, self._clock()))
        fault = await self._fault_of_asking(subscription)
        # If the hub has verified the end during the request, the subscription no longer exists.
        current = self._subscriptions.by_token(subscription.token)
        if fault and current is not None:
            self._subscriptions.put(was_asked(subscription, self._clock(), fault))
            logger.warning("subscription request failed hub=%s fault=%s", subscription.hub, fault)
        await self._data.call(self._keep, subscription)

    async def _fault_of_asking(self, subscription: Subscription) -> str:
        """Send the request to the hub. Return the reason if it failed, otherwise an empty string."""
        form = request_of(subscription, self.callback(subscription))
        try:
            answer = await self._outgoing.post(subscription.hub, form)
        except OutgoingError as error:
            return str(error)
        if 200 <= answer.status < 300:
            return ""
        text = " ".join(answer.body[:200].decode("utf-8", "replace").split())
        return f"HTTP {answer.status} {text}"

    def _keep(self, subscription: Subscription) -> None:
        """Store the state, and record that the hub is expected to send notices of the page."""
        self._subscriptions.keep(subscription.token)
        notifier = notifier_name("websub", subscription.hub)
        self._desk.ledger.expect(notifier, subscription.page, *self._desk.seen(subscription.page))
