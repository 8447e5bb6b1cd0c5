"""Subscribes to hubs, and renews each subscription before its lease ends."""

from __future__ import annotations

import logging

from newsbot.clock import Clock
from newsbot.push.websub import Subscription, end_of_lease, request_of, was_asked
from newsbot.web.outgoing import Outgoing, OutgoingError
from newsbot.web.push_intake import Desk, OffThread, notifier_name
from newsbot.web.subscriptions import Subscriptions

logger = logging.getLogger(__name__)

AT_ONCE = 20
"""The most hubs that are asked in one round."""
LAST_TRIES = 5
"""Attempts to unsubscribe. After them the subscription is dropped, and messages of the hub are refused."""


class Subscriber:
    """Subscribes to hubs. ``public_url`` is the URL of this server, for example ``https://news.example.org``."""

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
        """Return the callback URL of a subscription."""
        return f"{self._public_url}/push/websub/{subscription.token}"

    async def round(self) -> None:
        """Add subscriptions for new hubs and send due requests. Raises :class:`newsbot.errors.DataError`."""
        await self._data.call(self._subscriptions.follow_hubs)
        now = self._clock()
        due = [one for one in self._subscriptions if one.renew_at <= now]
        for subscription in sorted(due, key=lambda one: one.renew_at)[:AT_ONCE]:
            await self._ask(end_of_lease(subscription, now))

    async def _ask(self, subscription: Subscription) -> None:
        if subscription.state == "leaving" and subscription.tries >= LAST_TRIES:
            await self._data.call(self._subscriptions.drop, subscription.token)
            return
        # a hub may verify before it answers, so the subscription must be pending before the request
        self._subscriptions.put(was_asked(subscription, self._clock()))
        fault = await self._fault_of_asking(subscription)
        current = self._subscriptions.by_token(subscription.token)
        if fault and current is not None:
            self._subscriptions.put(was_asked(subscription, self._clock(), fault))
            logger.warning("hub does not take a subscription hub=%s fault=%s", subscription.hub, fault)
        await self._data.call(self._keep, subscription)

    async def _fault_of_asking(self, subscription: Subscription) -> str:
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
        self._subscriptions.keep(subscription.token)
        notifier = notifier_name("websub", subscription.hub)
        self._desk.ledger.expect(notifier, subscription.page, *self._desk.seen(subscription.page))
