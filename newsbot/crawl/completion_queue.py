"""Visits that ended and wait to be settled; what items and faults say of them on the way.

One fault of ours must never stop the others: what cannot be settled is handed back to the frontier and told.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterator
from typing import Any

from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.http import Response

from newsbot.crawl.completion import settle
from newsbot.crawl.context import CrawlState
from newsbot.crawl.visit import META_KEY, Visit
from newsbot.errors import DataError, RecordRefused
from newsbot.frontier.base import Lease

logger = logging.getLogger(__name__)

MAX_ATTEMPTS = 3
"""Attempts after which a visit that cannot be settled is set aside."""
REST = 60.0
"""Seconds before it is tried again."""


class Endings:
    """While the data are away visits stay here, until :meth:`settle` succeeds."""

    def __init__(self, crawler: Crawler, state: CrawlState) -> None:
        self._state = state
        self._unsettled: deque[Visit] = deque()
        self._held: list[Lease] = []
        crawler.signals.connect(self._item_scraped, signals.item_scraped)
        crawler.signals.connect(self._item_dropped, signals.item_dropped)
        crawler.signals.connect(self._item_error, signals.item_error)
        crawler.signals.connect(self._spider_error, signals.spider_error)

    def __bool__(self) -> bool:
        """True while a visit is not settled."""
        return bool(self._unsettled)

    @property
    def held(self) -> int:
        """Leases of visits that stopped at a limit, on hosts of this crawl: ours until the crawl closes."""
        return sum(self._state.accepts(lease.entry.host) for lease in self._held)

    def leases(self) -> Iterator[Lease]:
        """Yield the leases of visits that are not settled, or that stopped at a limit."""
        yield from (visit.lease for visit in self._unsettled)
        yield from self._held

    def add(self, visit: Visit) -> None:
        """Take a visit whose request is finished."""
        self._unsettled.append(visit)

    def settle(self) -> None:
        """Settle all. Raises :class:`newsbot.errors.DataError`; the rest is kept for the next call."""
        while self._unsettled:
            visit = self._unsettled[0]
            with self._state.timed("settle"):
                self._settle(visit)
            self._unsettled.popleft()
            if visit.hand_back:
                self._held.append(visit.lease)

    def _settle(self, visit: Visit) -> None:
        try:
            settle(self._state, visit)
        except RecordRefused as error:
            logger.error("cannot settle url=%s fault=%s", visit.lease.entry.url, error)
            self._give_up(visit)
        except DataError:
            raise
        except Exception:  # whatever it is: it must not keep the visits behind it from their end
            logger.exception("cannot settle url=%s", visit.lease.entry.url)
            self._give_up(visit)

    def _give_up(self, visit: Visit) -> None:
        self._state.count("errors/settlement")
        aside = visit.lease.attempts + 1 >= MAX_ATTEMPTS
        self._state.frontier.nack(visit.lease, delay=REST, aside=aside)

    # --- what is said of a visit on its way
    @staticmethod
    def _visit_of(response: Any) -> Visit | None:
        request = getattr(response, "request", None)
        return None if request is None else request.meta.get(META_KEY)

    def _item_scraped(self, item: Any, response: Response) -> None:
        visit = self._visit_of(response)
        if visit is not None:
            visit.stored = True
            visit.note(self._state.clock(), "stored", version=getattr(item, "version", None))

    def _item_dropped(self, item: Any, response: Response, exception: Exception) -> None:
        visit = self._visit_of(response)
        if visit is not None:
            visit.note(self._state.clock(), "dropped", reason=str(exception))
            if str(exception) == "unchanged":  # the page may differ by its advertisements
                visit.outcome.changed = False
            visit.hand_back = visit.hand_back or getattr(exception, "hand_back", False)

    def _item_error(self, item: Any, response: Response, failure: Any) -> None:
        self._our_fault(response, failure)

    def _spider_error(self, failure: Any, response: Response) -> None:
        self._our_fault(response, failure)

    def _our_fault(self, response: Any, failure: Any) -> None:
        visit = self._visit_of(response)
        if visit is None:
            return
        if isinstance(failure.value, DataError) and not isinstance(failure.value, RecordRefused):
            visit.given_back = True
            return
        visit.failed = f"{failure.type.__name__}: {failure.value}"[:300]
        visit.note(self._state.clock(), "fault", error=visit.failed)
