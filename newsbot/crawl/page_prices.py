"""The number that shares visits among the pages of a site, worked out each hour from a sample of them."""

from __future__ import annotations

from itertools import islice

from newsbot.clock import DAY, Clock
from newsbot.items import Kind
from newsbot.recrawl.estimators import rough_rate
from newsbot.recrawl.optimum import Optimum, number_for
from newsbot.storage.base import Storage

SAMPLE = 2000
"""Pages of a site that are looked at: some tenths of a second."""
ANEW_AFTER = 3600.0


class PagePrices:
    """One worker's; all come to about the same, since they look at the same records.

    ``visits_a_day``: of a page, on average.
    """

    def __init__(self, visits_a_day: float, clock: Clock) -> None:
        self._visits_each, self._clock = visits_a_day / DAY, clock
        self._known: dict[tuple[str, Kind], tuple[float, Optimum]] = {}

    def policy(self, storage: Storage, domain: str, kind: Kind) -> Optimum:
        """Return the policy for a site's pages of a kind. Raises :class:`newsbot.errors.DataError`."""
        now = self._clock()
        at, policy = self._known.get((domain, kind), (0.0, None))
        if policy is None or not at <= now < at + ANEW_AFTER:
            pages = islice(storage.pages.iter(source=domain, kind=kind), SAMPLE)
            rates = [rate for page in pages if (rate := rough_rate(page, self._visits_each)) is not None]
            number = number_for(rates, self._visits_each) if rates else 0.0
            policy = Optimum(number, self._visits_each)
            self._known[domain, kind] = now, policy
        return policy
