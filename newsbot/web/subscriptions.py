"""Keeps the subscriptions to WebSub hubs, stored as notes.

The crawl writes a note of kind :data:`newsbot.crawl.hubs.HUB` for each feed that names hubs. Each such feed
gets one subscription, with the first of its hubs that accepts it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from newsbot.crawl.hubs import HUB
from newsbot.push.websub import Subscription, subscribe
from newsbot.storage.notes import Notes

SUBSCRIPTION = "subscription"
OTHER_HUB_AFTER = 3
"""Number of failed attempts at a hub after which the next hub of the feed is tried."""


class Subscriptions:
    """The stored subscriptions, with a copy in memory. Requests of hubs are checked against the copy.

    :meth:`keep`, :meth:`drop` and :meth:`follow_hubs` write to the storage and block.
    """

    def __init__(self, notes: Notes) -> None:
        self._notes = notes
        kept = notes.all(SUBSCRIPTION).values()
        self._by_token = {one.token: one for one in map(Subscription.of_note, kept)}

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
            self._notes.save(SUBSCRIPTION, token, subscription.as_note())

    def drop(self, token: str) -> None:
        """Delete a subscription. Raises :class:`newsbot.errors.DataError`."""
        self._by_token.pop(token, None)
        self._notes.forget(SUBSCRIPTION, token)

    def follow_hubs(self) -> None:
        """Create a subscription for each feed that names a hub, and end those of feeds that no longer name
        one.

        Raises :class:`newsbot.errors.DataError`.
        """
        offered = self._notes.all(HUB)
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
        """Mark a subscription as one to end. :class:`newsbot.web.subscriber.Subscriber` sends the request."""
        if not subscription.is_live:  # the hub sends nothing for it, so no request is needed
            self.drop(subscription.token)
            return
        self.put(replace(subscription, state="leaving", renew_at=0.0, tries=0))
        self.keep(subscription.token)
