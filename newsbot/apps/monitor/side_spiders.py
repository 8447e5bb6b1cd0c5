"""The scheduler of the spiders ``search`` and ``monitor``, which may run at the same time as a news crawl.

These spiders do not lease entries and do not change due times. Their requests wait only in this process. Each
URL is requested once. A *turn* is a time that is reserved for one request to a host. The spiders share the
turns of each host with all workers (:meth:`newsbot.frontier.base.Frontier.take_turn`), so that the delay of a
host holds for all programs together. A host gets one request at a time. After each request, one turn is left
to the news crawl, so that neither program blocks the other.
"""

from __future__ import annotations

import logging
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any

from scrapy import Request
from scrapy.core.scheduler import BaseScheduler
from scrapy.crawler import Crawler
from scrapy.spiders import Spider
from scrapy.utils.asyncio import call_later
from scrapy.utils.defer import deferred_from_coro
from twisted.internet.defer import Deferred

from newsbot.crawl.assembly import Component, Crawl
from newsbot.crawl.components import COMPONENTS, NewsbotSpider
from newsbot.crawl.context import Context
from newsbot.crawl.scheduler import engine_slot, open_crawl
from newsbot.crawl.visit import ASIDE_KEY, TURN_KEY, Turn
from newsbot.errors import DataError
from newsbot.items import Bounded, Link
from newsbot.pages.rules.rule import Rule, classify
from newsbot.urls import canonicalize, fingerprint, host_key

logger = logging.getLogger(__name__)

MAX_WAITING = 200_000
"""Maximum number of requests that wait at the same time. Further requests are dropped and counted."""
MAX_SEEN = 500_000
"""Number of URLs that are remembered. If ``max_pages`` is larger, ``max_pages`` URLs are remembered. Older
URLs may be requested again."""
LOOK_AGAIN = 1.0
"""Maximum number of seconds until the scheduler looks for a request again."""


def fronts(rule: Rule) -> tuple[str, ...]:
    """Return the URLs of the pages at which a spider begins to follow the links of a site."""
    return (rule.seeds + rule.sections) or (f"https://{rule.domain}/",)


_SETTINGS: dict[str, Any] = {"NEWSBOT_PROGRESS": False, "CONCURRENT_REQUESTS": 16}


@dataclass(slots=True)
class _Host:
    rule: Rule
    waiting: deque[Request] = field(default_factory=deque)
    turn: float | None = None
    """The time of the turn that was taken (POSIX seconds); None if no turn is taken."""
    not_before: float = 0.0
    """The earliest time for taking the next turn (POSIX seconds).

    The turn before this time is left to the news crawl.
    """


class SideSpider(NewsbotSpider):
    """A spider that can call its scheduler, and that finishes its work while the backends are still open."""

    side: SideScheduler
    """The scheduler. It is set when the crawl opens."""
    custom_settings = _SETTINGS
    components = MappingProxyType(
        {
            **COMPONENTS,
            "SCHEDULER": "newsbot.apps.monitor.side_spiders.SideScheduler",
            "ITEM_PIPELINES": {},
        }
    )

    @cached_property
    def crawl(self) -> Crawl:
        """All parts of the crawl."""
        return Crawl.of(self.crawler)

    @property
    def context(self) -> Context:
        """Backends, rules, clock and counters of the crawl."""
        return self.crawl.context

    def going(self, request: Request) -> Request:
        """Return the request to send now: ``request``, or another request to the same host."""
        return request

    def on_site(self, links: Iterable[Link], rule: Rule) -> Iterator[tuple[Link, str]]:
        """Yield a pair (link, canonical URL) for each link to a page of the site, unless the rule denies the
        page."""
        for link in links:
            try:
                canonical = canonicalize(link.url, rule.drop_query)
            except ValueError:
                continue
            same_site = self.context.rule_for(link.url).domain == rule.domain
            if same_site and not classify(rule, canonical).denied:
                yield link, canonical

    def finish(self, reason: str) -> None:
        """Finish the spider's work. This method must handle :class:`newsbot.errors.DataError` itself."""


class SideScheduler(Component, BaseScheduler):
    """A scheduler for spiders that request pages without visits.

    A spider's ``max_pages`` limits the number of URLs.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self.crawl = crawl = Crawl.of(crawler)
        self.context, self._scope = crawl.context, crawl.scope
        self._politeness, self._removals = crawl.politeness, crawl.removals
        self.patience = crawler.settings.getfloat("NEWSBOT_PATIENCE")
        self._hosts: dict[str, _Host] = {}
        self._max_pages: int | None = getattr(crawler.spider, "max_pages", None)
        self._seen = Bounded[bytes, None](max(MAX_SEEN, self._max_pages or 0))
        """Fingerprints of the URLs that were queued."""
        self._waiting = 0
        self._next: Request | None = None
        """A request whose turn has come."""
        self._wake: Any = None

    def open(self, spider: Spider) -> Deferred[None]:
        """Open the backends. Raises ``CloseSpider`` if they cannot be opened."""
        self._slot = slot = engine_slot(self.crawler)
        self._spider = spider
        if isinstance(spider, SideSpider):
            spider.side = self
        self.context.outage.ending = lambda: slot.closing is not None
        return deferred_from_coro(open_crawl(self.crawl))

    def close(self, reason: str) -> Deferred[None]:
        """Let the spider finish, then close the backends."""
        if self._wake is not None:
            self._wake.cancel()
        return deferred_from_coro(self.context.calls.finish(self._close, reason))

    def _close(self, reason: str) -> None:
        if self.context.is_open:
            if isinstance(self._spider, SideSpider):
                self._spider.finish(reason)
            self.context.outage.close()
            self.crawl.close()

    def has_pending_requests(self) -> bool:
        """Return True while a request waits for its turn."""
        return self._waiting > 0 or self._next is not None

    def waiting(self) -> Counter[str]:
        """Return how many requests wait for the hosts of each site (a rule's domain)."""
        waiting: Counter[str] = Counter()
        for host in self._hosts.values():
            waiting[host.rule.domain] += len(host.waiting)
        return waiting

    def enqueue_request(self, request: Request) -> bool:
        """Keep a request until its host's turn. Return False if its URL is known or outside of the scope."""
        url = request.url
        rule = self.context.rule_for(url)
        key = fingerprint(canonicalize(url, rule.drop_query))
        hops = request.meta.get("redirect_urls") or ()
        # A retry and a redirect to another spelling of the same URL have a known key. They are accepted.
        again = request.meta.get(ASIDE_KEY, 0) > 0 or key in {
            fingerprint(canonicalize(hop, rule.drop_query)) for hop in hops[-1:]
        }
        if not self._scope.in_scope(rule.domain) or (key in self._seen and not again):
            return False
        if self._removals.covers(key, host_key(url)):
            return False
        full = self._max_pages is not None and len(self._seen) >= self._max_pages
        if not again and (full or self._waiting >= MAX_WAITING):
            self.context.count("beside/left_out")
            return False
        self._seen.add(key)
        host = self._hosts.setdefault(host_key(url), _Host(rule))
        request.meta.setdefault(ASIDE_KEY, 0)
        host.waiting.append(request)
        self._waiting += 1
        return True

    def next_request(self) -> Request | None:
        """Return a request whose host's turn has come, or None.

        If the result is None, Scrapy is woken when the next turn comes.
        """
        if self._next is None:
            self.context.calls.start(self._choose, then=self._slot.nextcall.schedule)
        request, self._next = self._next, None
        return request

    def _choose(self) -> None:
        """Choose the next request, or plan when to try again."""
        clock = self.context.clock
        busy = {host_key(request.url) for request in self._slot.inprogress}
        wait = LOOK_AGAIN
        for name, host in list(self._hosts.items()):
            if not host.waiting and host.not_before <= clock():
                del self._hosts[name]
            if not host.waiting or name in busy:
                continue
            at = self._turn(name, host)
            if at <= clock() and host.waiting:
                host.turn = None
                # The host rests for two delays, because the turn in between is left to the news crawl.
                host.not_before = clock() + 2 * self._politeness.delay_of(name)
                # The host moves to the end of the dict, so that the other hosts come first next time.
                self._hosts[name] = self._hosts.pop(name)
                self._waiting -= 1
                request = host.waiting.popleft()
                if isinstance(self._spider, SideSpider):
                    request = self._spider.going(request)
                request.meta[TURN_KEY] = Turn(at)
                self._next = request
                return
            wait = min(wait, at - clock())
        self._wake_in(max(wait, 0.002))

    def _turn(self, name: str, host: _Host) -> float:
        """Return the time (POSIX seconds) at which the host may get a request.

        Takes a turn if the host has no turn yet and a turn may be taken now. If the turn comes later than
        NEWSBOT_PATIENCE seconds from now, the host's requests are dropped.
        """
        if host.turn is not None:
            return host.turn
        if host.not_before > self.context.clock():
            return host.not_before
        try:
            self._politeness.introduce(name, host.rule)  # the pace is set again when robots.txt is read
            rest = self.context.frontier.take_turn(name)
        except DataError:  # the outage is logged already
            return self.context.clock() + max(self.context.outage.wait, 0.1)
        if rest > self.patience:
            logger.warning(
                "pages not requested pages=%d host=%s rests_seconds=%.0f; the host is paused for longer than"
                " NEWSBOT_PATIENCE",
                *(len(host.waiting), name, rest),
            )
            self.context.count("beside/left_out", len(host.waiting))
            self._waiting -= len(host.waiting)
            host.waiting.clear()
            return self.context.clock() + LOOK_AGAIN
        host.turn = self.context.clock() + rest
        return host.turn

    def _wake_in(self, seconds: float) -> None:
        if self._wake is None:
            self._wake = call_later(seconds, self._woken)

    def _woken(self) -> None:
        self._wake = None
        self._slot.nextcall.schedule()
