"""Stores the WebSub hubs that feeds and sections name, so that ``scrapy serve`` can subscribe to them.

Each page has one note of the kind ``hub``: ``{"topic": …, "hubs": […]}``. The note is deleted if the page
names no hub any more. WebSub is a W3C recommendation. A hub is a server that notifies its subscribers when a
page changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from scrapy.http import Response

from newsbot.crawl.context import MAX_HOSTS, Context
from newsbot.crawl.visit import Visit
from newsbot.items import Bounded
from newsbot.push.websub import topic_and_hubs

HUB = "hub"
MAX_HUBS = 10


class Hubs:
    """Reads and writes the hub notes in one crawl."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._offers = Bounded[str, dict[str, Any] | None](MAX_HOSTS)
        """By page URL, the hub note in the storage, or None if the page has none."""

    def offer(self, response: Response, visit: Visit, hubs: Sequence[str], self_url: str | None) -> None:
        """Store the hubs of a page: first those of its Link headers, then ``hubs`` from the document.

        ``self_url`` is the topic that the document names, that is the URL to which people subscribe. Raises
        :class:`newsbot.errors.DataError`.
        """
        headers = [value.decode("latin-1") for value in response.headers.getlist("Link")]
        found = topic_and_hubs(headers, response.url, hubs, self_url)
        notes = self._context.notes
        page, known = visit.lease.entry.url, self._offers
        if page not in known:
            known[page] = notes.get_many([(HUB, page)]).get((HUB, page))
        # ``scrapy serve`` must not renew a subscription to a hub that the page does not name any more.
        if found is None:
            if known[page] is not None:
                notes.forget(HUB, page)
                known[page] = None
            return
        offer: dict[str, Any] = {
            "topic": found[0][:2000],
            "hubs": [hub[:2000] for hub in found[1][:MAX_HUBS]],
        }
        if known[page] != offer:
            notes.save(HUB, page, offer)
            known[page] = offer
