"""Visits that ended and wait to be settled; what items and faults say of them on the way.

One fault of ours must never stop the others: what cannot be settled is handed back to the frontier and told.
"""

from __future__ import annotations

import logging
from collections import Counter, deque
from collections.abc import Callable
from typing import Any

from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.http import Response

from newsbot.crawlstate import CrawlState
from newsbot.errors import DataError
from newsbot.settlement import settle
from newsbot.visit import META_KEY, Visit

logger = logging.getLogger(__name__)

MAX_ATTEMPTS = 3
"""Attempts after which a visit that cannot be settled is set aside."""
REST = 60.0
"""Seconds before it is tried again."""


class Endings:
    """``data_failed`` is told each fault of the data; the visits then stay until :meth:`settle` succeeds."""

    def __init__(self, crawler: Crawler, state: CrawlState, data_failed: Callable[[DataError], None]) -> None:
        self._state = state
        self._data_failed = data_failed
        self._unsettled: deque[Visit] = deque()
        self._held: Counter[str] = Counter()
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
        return sum(number for host, number in self._held.items() if self._state.accepts(host))

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
                self._held[visit.lease.entry.host] += 1

    def _settle(self, visit: Visit) -> None:
        try:
            settle(self._state, visit)
        except DataError:
            raise
        except Exception:  # whatever it is: it must not keep the visits behind it from their end
            logger.exception("cannot settle url=%s", visit.lease.entry.url)
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
            visit.hand_back = visit.hand_back or getattr(exception, "hand_back", False)

    def _item_error(self, item: Any, response: Response, failure: Any) -> None:
        self._our_fault(response, failure)

    def _spider_error(self, failure: Any, response: Response) -> None:
        self._our_fault(response, failure)

    def _our_fault(self, response: Any, failure: Any) -> None:
        visit = self._visit_of(response)
        if visit is not None:
            visit.failed = f"{failure.type.__name__}: {failure.value}"[:300]
            visit.note(self._state.clock(), "fault", error=visit.failed)
        if isinstance(failure.value, DataError):
            self._data_failed(failure.value)
