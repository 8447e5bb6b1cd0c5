"""Limits what one site can put into the queue: pages of a site, and hosts that it names for the first time.

A sitemap or a feed can name any number of pages and hosts. Without limits, the queue grows without end, and
the pages of other sites wait.

* **Pages.** At most NEWSBOT_QUEUE_PER_SITE pages of a site wait. The other links stay in their sitemap, and
  the sitemap is read again when half of the waiting pages are done. New sitemaps are not read before. Links
  of feeds, news sitemaps and pages may use twice this number, because they lead to new articles. Links that
  only other sites give may use a tenth.
* **Hosts.** At most :data:`NEW_HOSTS` hosts wait for their first request because one site has named them. The
  links to further hosts are held in memory and queued one by one, when these hosts had their turn.
"""

from __future__ import annotations

import logging
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice

from newsbot.crawl.context import MAX_HOSTS, Context
from newsbot.crawl.visit import Found, Reading, Settling, Visit
from newsbot.frontier.base import Entry, HostCopy, Lease, known_of
from newsbot.items import Bounded, GivenBy, Kind, Link, Where
from newsbot.pages.discovery.sitemaps import is_news_file
from newsbot.sites.health import FULL_QUEUE
from newsbot.urls import host_key

NEW_HOSTS = 20
"""Maximum number of hosts that one site has named and that had no request yet."""
MAX_HELD = 2_000
"""Maximum number of links to new hosts that are held for one site. Further links stay in the source."""
MAX_OF_SITE = 100
"""Maximum number of hosts of a site whose waiting pages are counted."""
FRESH = 5.0
"""Seconds after which the numbers are read from the frontier again."""
RECENT = 0.2
"""The same number of seconds if the queue of a site may be full."""
WAIT = 60.0
"""Seconds after which a sitemap that waits for room is looked at again."""
NOTE_EVERY = 600.0
"""Minimum seconds between two notes that the queue of a site is full."""
STRANGERS = 10
"""Links that only other sites give may use this fraction of the limit: one tenth."""

logger = logging.getLogger(__name__)


class Room:
    """Decides which links are queued now. ``limit`` is the number of pages per site; 0 means no limit.

    All methods raise :class:`newsbot.errors.DataError`.
    """

    def __init__(self, context: Context, limit: int) -> None:
        self._context, self._limit = context, limit
        self._hosts = Bounded[str, Bounded[str, None]](MAX_HOSTS)
        """The known hosts of each site."""
        self._added = Bounded[str, int](MAX_HOSTS)
        """Number of links to a site that this crawl has queued."""
        self._counted = Bounded[str, tuple[float, int]](MAX_HOSTS)
        """When the waiting pages of a site were last counted, and their number."""
        self._noted = Bounded[str, float](MAX_HOSTS)
        self._met = Bounded[str, None](MAX_HOSTS)
        """Hosts that had a request."""
        self._new = Bounded[str, Bounded[str, None]](MAX_HOSTS)
        """For each site, the hosts that it has named and that had no request yet."""
        self._held = Bounded[str, deque[tuple[Found, Visit]]](MAX_HOSTS)
        """For each site, the links to further hosts, each with the visit of its source."""
        self._looked = 0.0

    # --- pages
    def fit(self, entries: Sequence[Entry]) -> list[Entry]:
        """Return the entries that are queued now. The others stay where they are."""
        left: set[bytes] = set()
        of_sites = Counter(entry.data["source"] for entry in entries)
        for domain, number in of_sites.items() if self._limit else ():
            self._added[domain] = self._added.get(domain, 0) + number
            # Small sites are not counted, because this would take a query for each of them.
            if self._added[domain] > self._limit // STRANGERS // 2:
                left |= self._without_room(domain, [one for one in entries if _counts(one, domain)])
        return [entry for entry in entries if entry.fingerprint not in left]

    def _without_room(self, domain: str, entries: list[Entry]) -> set[bytes]:
        hosts = self._hosts[domain] = self._hosts.get(domain) or Bounded(MAX_OF_SITE)
        hosts.add(*(entry.host for entry in entries))
        waiting = self._waiting(domain)
        left: set[bytes] = set()
        if waiting + len(entries) > self._limit // STRANGERS:
            waiting = self._waiting(domain, within=RECENT)  # some of the pages may be done by now
            known = known_of(self._context.frontier, entries)
            new = sorted(
                (one for one in entries if one.fingerprint not in known), key=lambda one: -one.priority
            )
            left = {one.fingerprint for place, one in enumerate(new) if waiting + place >= self._most(one)}
            entries = new
        at, _ = self._counted[domain]
        self._counted[domain] = at, waiting + len(entries) - len(left)
        if left:
            self._note(domain, waiting)
        return left

    def _most(self, entry: Entry) -> int:
        if not GivenBy.of(entry.data).counts_for(entry.data["source"]):
            return self._limit // STRANGERS
        return self._limit if entry.data["where"] == Where.SITEMAP else 2 * self._limit

    def _waiting(self, domain: str, within: float = FRESH) -> int:
        """Return the number of waiting pages of a site, as counted within the last ``within`` seconds."""
        now = self._context.clock()
        at, number = self._counted.get(domain, (0.0, 0))
        if not 0 <= now - at < within:
            found = map(self._context.frontier.host, self._hosts.get(domain, ()))
            at, number = now, sum(host.ready for host in found if host is not None)
            self._counted[domain] = at, number
        return number

    def _note(self, domain: str, waiting: int) -> None:
        now = self._context.clock()
        self._context.count("queue/full")
        if now - self._noted.get(domain, 0.0) >= NOTE_EVERY:
            self._noted[domain] = now
            self._context.notes.save(FULL_QUEUE, domain, {"at": round(now), "waiting": waiting})
            logger.warning(
                "queue full domain=%s pages=%d; the other links stay in its sitemaps and are read later"
                " (NEWSBOT_QUEUE_PER_SITE)",
                domain,
                waiting,
            )

    def must_wait(self, lease: Lease) -> bool:
        """Return True if a leased sitemap must not be read yet, because the queue of its site is full.

        A sitemap whose links did not fit is read again when half of the waiting pages are done.
        """
        entry = lease.entry
        if not self._limit or not entry.kind.is_sitemap or entry.data.get("force"):
            return False
        domain = entry.data["source"]
        hosts = self._hosts[domain] = self._hosts.get(domain) or Bounded(MAX_OF_SITE)
        hosts.add(entry.host)
        if lease.attempts:
            return self._waiting(domain) > self._limit // 2
        first = lease.last_fetched is None and not is_news_file(entry.url)
        return first and self._waiting(domain) >= self._limit

    # --- hosts
    def admit(self, site: str, host: str) -> bool:
        """Return True if a link to ``host``, which a feed or sitemap of ``site`` lists, may be queued now."""
        new = self._new.get(site) or Bounded(NEW_HOSTS)
        if host in self._met or host in new:
            return True
        if len(new) >= NEW_HOSTS:
            return False
        found: HostCopy | None = self._context.frontier.host(host)
        if found is not None and found.visited:
            self._met.add(host)
        else:
            new.add(host)
            self._new[site] = new
        return True

    def hold(self, links: Iterable[Link], found: Found, visit: Visit) -> None:
        """Keep links to new hosts until other hosts that the site has named had a request.

        They are in memory only, so the source must not count as unchanged at its next visit.
        """
        site = visit.rule.domain
        held = self._held[site] = self._held.get(site) or deque()
        # Only what the judge of links needs is kept.
        bare = replace(visit, reading=Reading(), settling=Settling(), found=[], events=[])
        for link in islice(links, MAX_HELD - len(held)):
            held.append((replace(found, links=(link,)), bare))
        visit.reads_again = True

    def released(self, visit: Visit) -> list[tuple[Found, Visit]]:
        """Return the held links that can be queued after a visit, each with the visit of its source."""
        host, now = visit.lease.entry.host, self._context.clock()
        self._met.add(host)
        if not self._held or (
            now - self._looked < FRESH and not any(host in new for new in self._new.values())
        ):
            return []
        if not 0 <= now - self._looked < FRESH:
            self._looked = now
            self._look()
        return [one for site in list(self._held) for one in self._next_of(site)]

    def _look(self) -> None:
        """Find out which hosts had a request by another worker, or were not queued after all."""
        for site in self._held:
            for host in self._new.get(site, ()):
                found = self._context.frontier.host(host)
                if found is None or found.visited:
                    self._met.add(host)

    def _next_of(self, site: str) -> Iterator[tuple[Found, Visit]]:
        new, held = self._new[site], self._held[site]
        for host in [host for host in new if host in self._met]:
            del new[host]
        while held and self.admit(site, host_key(held[0][0].links[0].url)):
            yield held.popleft()
        if not held:
            del self._held[site]


def _counts(entry: Entry, domain: str) -> bool:
    """Return True if the limit applies to an entry."""
    return (
        entry.data["source"] == domain
        and entry.kind in (Kind.ARTICLE, Kind.OTHER)
        and not entry.data.get("force")
    )
