"""Sends the requests to WebSub hubs: subscribes, renews subscriptions before they expire, and ends them."""

from __future__ import annotations

import logging

from newsbot.clock import Clock
from newsbot.push.websub import Subscription, end_of_lease, request_of, was_asked
from newsbot.web.outgoing import Outgoing, OutgoingError
from newsbot.web.push_intake import Desk, OffThread, notifier_name
from newsbot.web.subscriptions import Subscriptions

logger = logging.getLogger(__name__)

AT_ONCE = 20
"""Maximum number of requests in one call of :meth:`Subscriber.round`."""
LAST_TRIES = 5
"""Maximum number of attempts to unsubscribe. After them, the subscription is deleted, and the hub's requests
are answered with 404 or 410."""


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
        """Create subscriptions for new hubs, and send the requests that are due, the oldest first.

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
        # A hub can send its verification before it responds. So the state is set before the request.
        self._subscriptions.put(was_asked(subscription, self._clock()))
        fault = await self._fault_of_asking(subscription)
        # The hub's verification during the request can have ended the subscription.
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
        """Store the state, and record that this hub is expected to announce changes of the page."""
        self._subscriptions.keep(subscription.token)
        notifier = notifier_name("websub", subscription.hub)
        self._desk.ledger.expect(notifier, subscription.page, *self._desk.seen(subscription.page))
