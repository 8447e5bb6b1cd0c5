"""Receives notices of changed pages, and queues the pages and sources that they name.

The notices are those of WebSub, IndexNow, sensors, rssCloud and pings (docs/push.md). Responses do not reveal
which URLs are known. The length of bodies is limited, a repeated notice is used only once, and each sender
has a budget of requests. Sensors are ``scrapy sensor`` and the middleware in :mod:`newsbot.apps.push.sensor`.

The sender of a notice is called the notifier. Its name consists of the protocol and a host. A notifier gets
more trust if the fetches after its notices find changes (:mod:`newsbot.apps.operations.notifier_trust`). Each
host has a budget of fetches that notices can cause. Only one thread uses the storage and the frontier
(:class:`OffThread`).

Subscriptions to WebSub hubs are kept here, too. The crawl writes a note of kind
:data:`newsbot.crawl.sources.HUB` for each feed that names hubs. Each of these feeds gets one
subscription, at its first hub that accepts the request. Subscriptions are stored as notes. They are renewed
before they expire. The full texts in signed messages of hubs are kept until the pages of their articles are
visited (:mod:`newsbot.sites.texts`).
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import random
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from functools import partial
from typing import Any, ParamSpec, TypeVar
from urllib.parse import urlsplit

from aiohttp import web

from newsbot.apps.operations.notifier_trust import TRUST, Budget, Ledger, Trust
from newsbot.apps.push import protocols
from newsbot.apps.push.protocols import (
    TOLERANCE,
    SeenOnce,
    Subscription,
    end_of_lease,
    genuine_notice,
    request_of,
    subscribe,
    was_asked,
)
from newsbot.apps.web.http import MAX_BODY, Outgoing, OutgoingError, read_form, sender_of
from newsbot.clock import Clock, system_clock
from newsbot.crawl.entries import entry_for, page_for
from newsbot.crawl.sources import HUB
from newsbot.frontier.base import Added, Entry, Frontier, known_of
from newsbot.items import Bounded, GivenBy, Kind, Link, PageRecord, Where
from newsbot.pages.discovery.feeds import MAX_BODY as MAX_FEED
from newsbot.pages.discovery.feeds import FeedError, item_contents
from newsbot.pages.rules import RuleSet
from newsbot.pages.rules.rule import Rule, classify
from newsbot.pages.rules.shape import CLEARLY_NONE, log_odds
from newsbot.ranking.families import State, family_of, read_site
from newsbot.ranking.judging import Judgement
from newsbot.sites.texts import LASTS, PUSHED
from newsbot.storage.base import Storage
from newsbot.storage.notes import Notes
from newsbot.urls import canonicalize, fingerprint, host_key

logger = logging.getLogger(__name__)

# --- pushed texts
MAX_KEPT = 1_000
"""Maximum number of texts that one process keeps. If there are more, the oldest is deleted."""
MAX_OF_MESSAGE = 50
"""Maximum number of texts of one message that are kept. The first items of a feed are the newest."""


class PushedTexts:
    """Writes the texts of one process. All methods raise :class:`newsbot.errors.DataError`."""

    def __init__(self, notes: Notes) -> None:
        self._notes = notes
        kept = {url: float(note["at"]) for url, note in notes.all(PUSHED).items()}
        self._kept = Bounded[str, float](MAX_KEPT + 1)
        """The time of each text in POSIX seconds, oldest first, by canonical URL."""
        self._kept.update(sorted(kept.items(), key=lambda one: one[1]))

    def save(self, contents: Mapping[str, str], site: str, rules: RuleSet, now: float) -> None:
        """Keep the texts of a message. ``contents``: HTML by the URL of the item.

        ``site``: the site that names the feed of the message. Texts for pages of other sites, and texts that
        are too long for a note, are ignored.
        """
        saved = 0
        for url, html in contents.items():
            try:
                rule = rules.for_url(url)
                if rule.domain != site or saved == MAX_OF_MESSAGE:
                    continue
                key = canonicalize(url, rule.drop_query)
                self._notes.save(PUSHED, key, {"site": site, "html": html, "at": now})
            except ValueError:  # the URL is not valid, or the text is too long
                continue
            saved += 1
            self._kept[key] = now
            if len(self._kept) > MAX_KEPT:
                self._forget(next(iter(self._kept)))

    def forget_old(self, now: float) -> None:
        """Delete the texts that are older than :data:`LASTS`."""
        for key in [key for key, at in self._kept.items() if at < now - LASTS]:
            self._forget(key)

    def _forget(self, key: str) -> None:
        self._notes.forget(PUSHED, key)
        del self._kept[key]


# --- the fetches that notices cause
PRIORITY = 90.0
"""Priority of queued pages in the frontier.

It is higher than the priority of entries that the crawl found, and lower than the priority of entries that a
user added.
"""
MAX_AGAIN = 1000
"""Maximum number of pages that wait to be queued again. If there are more, the oldest pages are dropped."""
TAKEN = "taken_notice"
"""Kind of the notes that record signed notices. A notice that is sent a second time is refused."""
UNPROVED = 0.5
"""The part of a host's budget that notices without proof can use (0 to 1).

The rest is reserved for notices with proof, even during a flood of notices without proof.
"""


class Fate(StrEnum):
    """The outcome of one URL of a notice."""

    QUEUED = "queued"
    UNKNOWN = "unknown"
    """Neither the page nor its site is known, or the notifier did not prove that it may name the page."""
    UNLIKELY = "unlikely"
    """The page is not known, and its URL does not look like an article or a list."""
    BUDGET = "budget"
    """The budget of the host or of the notifier is used up."""
    BAD = "bad"
    """The URL is not valid."""


class Desk:
    """Queues the pages that notices name. A process has one object of this class.

    The methods block, because they use storage and frontier. Only one thread may call them. ``per_hour`` is
    the number of fetches that notices may cause on one host in an hour. Methods raise subclasses of
    :class:`newsbot.errors.DataError`.
    """

    def __init__(
        self,
        storage: Storage,
        frontier: Frontier,
        rules: RuleSet,
        *,
        per_hour: float,
        clock: Clock = system_clock,
    ) -> None:
        self.storage = storage
        self.notes = storage.notes
        self.frontier = frontier
        self._rules = rules
        self._clock = clock
        burst = max(10.0, per_hour / 6)
        self._budget = Budget(per_hour, burst, clock)
        self._of_notifiers = Budget(per_hour, burst, clock)
        """Budgets by notifier and host, so that a notifier with little trust cannot use the whole budget of a
        host."""
        self._again: deque[Entry] = deque(maxlen=MAX_AGAIN)
        self.fates: Counter[tuple[str, Fate]] = Counter()
        """Number of URLs by protocol and outcome."""
        self._texts = PushedTexts(self.notes)
        self.ledger = Ledger(clock)
        self.ledger.trust |= {key: Trust(**note) for key, note in self.notes.all(TRUST).items()}

    def take(self, notifier: str, urls: Iterable[str], *, proved: bool) -> list[Fate]:
        """Queue the URLs of a notice. Return the outcome of each URL, in the same order.

        ``proved`` is true if the notifier has proved that it may send notices for the host, for example by a
        signature. Without proof, only known sources are queued. With proof, two more kinds of pages are
        queued: known pages, and new pages of sites that have a rule or a known source.
        """
        spent: set[str] = set()
        fates = []
        for url in urls:
            try:
                host = host_key(url)
                fate = Fate.BUDGET if host in spent else self._take(notifier, url, host, proved=proved)
            except ValueError:
                fate = Fate.BAD
            if fate is Fate.BUDGET:
                spent.add(host)  # further URLs of this host need no look-ups
            fates.append(fate)
        return fates

    def _take(self, notifier: str, url: str, host: str, *, proved: bool) -> Fate:
        rule = self._rules.for_url(url)
        page = self._page(url)
        if not self._may_be_taken(page, rule.domain, proved=proved):
            return Fate.UNKNOWN
        if page is None and not self._is_article(url, rule):
            return Fate.UNLIKELY
        # The budget is checked last, so only queued URLs use a part of it.
        if not self._may_cost(notifier, host, proved=proved):
            return Fate.BUDGET
        kind = page.kind if page else classify(rule, canonicalize(url, rule.drop_query)).kind or Kind.ARTICLE
        judgement = Judgement(kind=kind, priority=PRIORITY, accepted=True, reason=f"told by {notifier}")
        link = Link(url=page.url if page else url, where=Where.PUSH, kind=kind)
        now = self._clock()
        depth = page.depth if page else 1
        entry = entry_for(
            link, rule, judgement, depth=depth, referrer=None, now=now, force=True, given_by=GivenBy()
        )
        if page is None:
            self.storage.pages.discover([page_for(entry, now)])
            self.frontier.set_politeness(host, delay=rule.delay, concurrency=rule.concurrency, at_least=True)
        self._queue(entry)
        self.ledger.noticed(notifier, entry.url, *self.seen(entry.url, page))
        return Fate.QUEUED

    def _is_article(self, url: str, rule: Rule) -> bool:
        """Return True if the URL of an unknown page can be the URL of an article."""
        canonical = canonicalize(url, rule.drop_query)
        match = classify(rule, canonical)
        if match.kind is not None or match.denied or rule.article:
            return match.kind is Kind.ARTICLE and not match.denied
        site = read_site(self.notes, rule.domain)
        if not site.articles:  # no articles of the site are known: refuse only clear cases
            return log_odds(url) > CLEARLY_NONE
        return site.state(family_of(canonical)) is State.OPEN

    def _may_cost(self, notifier: str, host: str, *, proved: bool) -> bool:
        """Take one fetch from the budgets of the notifier and of the host.

        Return False if one of the budgets is used up.
        """
        share = self.ledger.share(notifier)
        if not self._of_notifiers.take(f"{host} {notifier}", share):
            return False
        # Each notifier must leave a reserve in the host's budget for other notifiers. The less trust a
        # notifier has, the larger the reserve is.
        return self._budget.take(host, reserve=1.0 - min(share, 1.0 if proved else UNPROVED))

    def knows_site(self, url: str) -> bool:
        """Return True if the site of ``url`` has a rule or a known source."""
        try:
            domain = self._rules.for_url(url).domain
        except ValueError:
            return False
        return self._has_site(domain)

    def _has_site(self, domain: str) -> bool:
        return self._rules.get(domain) is not None or self.storage.sources.count(sites=[domain]) > 0

    def _page(self, url: str) -> PageRecord | None:
        """Return the record of a page. Raises ``ValueError`` for an invalid URL."""
        key = fingerprint(canonicalize(url, self._rules.for_url(url).drop_query))
        return self.storage.pages.get([key]).get(key)

    def is_source(self, url: str) -> bool:
        """Return True if ``url`` is a known feed, sitemap or section."""
        try:
            page = self._page(url)
        except ValueError:
            return False
        return page is not None and page.kind.is_source

    def keep_texts(self, feed: str, contents: Mapping[str, str]) -> None:
        """Keep the texts of a signed message about ``feed``. ``contents``: HTML by the URL of the item.

        A feed speaks for the site that names it. So only texts of pages of this site are kept.
        """
        page = self._page(feed)
        if page is not None and page.kind.is_feed:
            self._texts.save(contents, page.source, self._rules, self._clock())

    def count(self, notifier: str, fates: Iterable[Fate]) -> None:
        """Count the outcomes of a notice by protocol."""
        self.fates.update((notifier.partition(":")[0], fate) for fate in fates)

    def _may_be_taken(self, page: PageRecord | None, domain: str, *, proved: bool) -> bool:
        if page is not None:
            return proved or page.kind.is_source
        return proved and self._has_site(domain)

    def _queue(self, entry: Entry) -> None:
        (verdict,) = self.frontier.add([entry], force=True)
        if verdict is Added.KNOWN:  # a fetch may have begun before the change: queue the page again later
            self._again.append(entry)

    def queue_again(self) -> None:
        """Queue the pages again that were being fetched when their notice arrived.

        Call this method every second.
        """
        for _ in range(len(self._again)):
            self._queue_later(self._again.popleft())

    def _queue_later(self, entry: Entry) -> None:
        page = self.storage.pages.get([entry.fingerprint]).get(entry.fingerprint)
        noticed_at = float(entry.data["discovered_at"])
        # A fetch after the notice has found the change. One minute is added, because the clocks can differ a
        # little.
        if page is not None and page.last_fetched is not None and page.last_fetched > noticed_at + 60:
            return
        known = known_of(self.frontier, [entry]).get(entry.fingerprint)
        if known is not None and known.state == "leased":  # still being fetched
            self._again.append(entry)
        elif known is not None and known.state != "pending":
            self.frontier.add([entry], force=True)

    def close(self) -> None:
        """Release storage and frontier."""
        self.frontier.close()
        self.storage.close()

    def is_first(self, key: str) -> bool:
        """Record a signed notice by its key. Return False if it was received before, by any process."""
        return self.notes.swap(TAKEN, key, None, {"at": self._clock()})

    # --- trust
    def seen(self, url: str, page: PageRecord | None = None) -> tuple[int, int]:
        """Return how often a URL was fetched, and how many changes these fetches found.

        For a source, changes are new links. For an article, they are versions. Both numbers are 0 for an
        unknown URL. ``page`` is the record of the page, if the caller has it.
        """
        rule = self._rules.for_url(url)
        page = page or self._page(url)
        if page is None:
            return 0, 0
        if not page.kind.is_source:
            article = self.storage.articles.get(canonicalize(page.url, rule.drop_query))
            # If the article was stored from another page with the same canonical URL, its versions are not
            # changes of this page.
            urls = () if article is None else (article.url, article.fetched_url)
            own = any(fingerprint(canonicalize(one, rule.drop_query)) == page.fingerprint for one in urls)
            return page.checks, article.version if article and own else 0
        record = self.storage.sources.get(page.url)
        if record is None or record.source != page.source:
            return 0, 0
        return record.polls, record.new_links

    def review(self) -> None:
        """Check which notices led to changes, and store the trust in notifiers.

        Delete old records and old texts.
        """
        for url in self.ledger.watched:
            self.ledger.observe(url, *self.seen(url))
        for key, note in self.notes.all(TAKEN).items():
            # After this time the signature is too old, so that the notice is refused even without the note.
            if abs(self._clock() - note["at"]) > 2 * TOLERANCE:
                self.notes.forget(TAKEN, key)
        self._texts.forget_old(self._clock())
        while self.ledger.changed:
            notifier = self.ledger.changed.pop()
            self.notes.save(TRUST, notifier, asdict(self.ledger.trust[notifier]))


def notifier_name(protocol: str, url: str) -> str:
    """Return the key of a notifier's statistics: the protocol and the host of ``url``."""
    return f"{protocol}:{urlsplit(url).hostname or url[:100]}"


_Given = ParamSpec("_Given")
_Answer = TypeVar("_Answer")


class OffThread:
    """One thread that runs blocking functions, so that the event loop does not wait for them."""

    def __init__(self) -> None:
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="data")

    async def call(
        self, work: Callable[_Given, _Answer], *given: _Given.args, **more: _Given.kwargs
    ) -> _Answer:
        """Run ``work`` in the thread. Return its result or raise its exception."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._executor, partial(work, *given, **more))

    def close(self) -> None:
        """Wait for running work and stop the thread."""
        self._executor.shutdown(wait=True)


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


AT_ONCE = 20
"""Maximum number of requests in one call of :meth:`Subscriber.round`."""
LAST_TRIES = 5
"""Maximum number of attempts to unsubscribe.

After the last attempt, the subscription is deleted. Later requests of the hub get the response 404 or 410.
"""


@dataclass(frozen=True, slots=True)
class Subscriber:
    """Sends due requests to hubs. ``public_url`` is the URL at which hubs reach this server."""

    subscriptions: Subscriptions
    outgoing: Outgoing
    desk: Desk
    data: OffThread
    public_url: str
    clock: Clock

    def callback(self, subscription: Subscription) -> str:
        """Return the callback URL of a subscription. Its token is secret, and only the hub gets it."""
        return f"{self.public_url.rstrip('/')}/push/websub/{subscription.token}"

    async def round(self) -> None:
        """Create subscriptions for new hubs, and send the due requests, oldest first.

        Raises :class:`newsbot.errors.DataError`.
        """
        await self.data.call(self.subscriptions.follow_hubs)
        now = self.clock()
        due = [one for one in self.subscriptions if one.renew_at <= now]
        for subscription in sorted(due, key=lambda one: one.renew_at)[:AT_ONCE]:
            await self._ask(end_of_lease(subscription, now))

    async def _ask(self, subscription: Subscription) -> None:
        if subscription.state == "leaving" and subscription.tries >= LAST_TRIES:
            await self.data.call(self.subscriptions.drop, subscription.token)
            return
        # A hub may send its verification before its response, so the state is set before the request is sent.
        self.subscriptions.put(was_asked(subscription, self.clock()))
        fault = await self._fault_of_asking(subscription)
        # If the hub has verified the end during the request, the subscription no longer exists.
        current = self.subscriptions.by_token(subscription.token)
        if fault and current is not None:
            self.subscriptions.put(was_asked(subscription, self.clock(), fault))
            logger.warning("subscription request failed hub=%s fault=%s", subscription.hub, fault)
        await self.data.call(self._keep, subscription)

    async def _fault_of_asking(self, subscription: Subscription) -> str:
        """Send the request to the hub. Return the reason if it failed, otherwise an empty string."""
        form = request_of(subscription, self.callback(subscription))
        try:
            answer = await self.outgoing.post(subscription.hub, form)
        except OutgoingError as error:
            return str(error)
        if 200 <= answer.status < 300:
            return ""
        text = " ".join(answer.body[:200].decode("utf-8", "replace").split())
        return f"HTTP {answer.status} {text}"

    def _keep(self, subscription: Subscription) -> None:
        """Store the state, and record that the hub is expected to send notices of the page."""
        self.subscriptions.keep(subscription.token)
        notifier = notifier_name("websub", subscription.hub)
        self.desk.ledger.expect(notifier, subscription.page, *self.desk.seen(subscription.page))


# --- receivers
KEY_LASTS = 86400.0
"""Seconds for which a correct key file is trusted without another request."""
WRONG_LASTS = 300.0
"""Seconds for which a wrong or missing key file is not requested again."""
KEYS_AN_HOUR, KEYS_AT_ONCE = 60.0, 10.0
"""Maximum number of requests for key files of one host, per hour and at once.

Without this limit, forged notices could cause a flood of requests to a host.
"""
PLAIN = {"X-Content-Type-Options": "nosniff"}
"""Headers of all responses. Browsers must use the declared content type and not guess one."""
_SPREAD = random.Random()  # noqa: S311  (varies the times of renewals, keeps no secret)


@dataclass
class Receiver:
    """The handlers of the push routes and their state.

    ``data`` is the thread that calls the blocking methods of ``desk`` and ``subscriptions``.
    ``sensor_secret`` is the key of sensors. If it is empty, notices of sensors are refused. ``per_sender`` is
    the number of requests that one address may send in an hour.
    """

    desk: Desk
    subscriptions: Subscriptions
    outgoing: Outgoing
    data: OffThread
    clock: Clock
    sensor_secret: str
    per_sender: float

    def __post_init__(self) -> None:
        self.senders = Budget(self.per_sender, max(20.0, self.per_sender / 6), self.clock)
        """Budget of requests by sender."""
        self.bodies = SeenOnce(2 * TOLERANCE, self.clock)
        """Digests of the bodies that hubs sent, so that a repeated body is used only once."""
        self.keys, self.wrong_keys = SeenOnce(KEY_LASTS, self.clock), SeenOnce(WRONG_LASTS, self.clock)
        """Digests of IndexNow keys that were found on their host, and of keys that were not found."""
        self.key_files = Budget(KEYS_AN_HOUR, KEYS_AT_ONCE, self.clock)
        """Budget of requests for key files by host."""

    def add_to(self, app: web.Application) -> None:
        """Add the routes of the receiver."""
        app.router.add_get("/push/websub/{token}", self.verify)
        app.router.add_post("/push/websub/{token}", self.receive)
        app.router.add_get("/indexnow", self.index_now)
        app.router.add_post("/indexnow", self.index_now)
        app.router.add_post("/push/notice", self.notice)
        app.router.add_get("/push/rsscloud", self.cloud_challenge)
        app.router.add_post("/push/rsscloud", self.cloud)
        app.router.add_post("/push/ping", self.ping)

    def limit_of(self, request: web.Request) -> int:
        """Return the maximum length of a request's body in bytes.

        It is larger for hubs, because they send feeds.
        """
        from_hub = self.subscriptions.by_token(request.match_info.get("token", "")) is not None
        return MAX_FEED if from_hub else MAX_BODY

    # --- WebSub
    async def verify(self, request: web.Request) -> web.Response:
        """Respond to a hub's verification of intent (WebSub, section 5.3), or record its denial (5.2).

        The response to a valid verification is the hub's challenge. Other requests get 404.
        """
        subscription = self.subscriptions.by_token(request.match_info["token"])
        if subscription is None:
            return _not_found()
        now = self.clock()
        # A hub may deny a subscription at any time. A denial has no challenge (WebSub, section 5.2).
        if request.query.get("hub.mode") == "denied":
            self.subscriptions.put(protocols.deny(subscription, request.query, now))
            await self.data.call(self.subscriptions.keep, subscription.token)
            return web.Response(headers=PLAIN)
        confirmed, echo = protocols.verify_intent(subscription, request.query, now, _SPREAD.random())
        if echo is None:
            return _not_found()
        if request.query.get("hub.mode") == "unsubscribe":
            await self.data.call(self.subscriptions.drop, subscription.token)
        else:
            self.subscriptions.put(confirmed)
            await self.data.call(self.subscriptions.keep, subscription.token)
        return web.Response(text=echo, headers=PLAIN)

    async def receive(self, request: web.Request) -> web.Response:
        """Receive content from a hub. Content without a valid signature is acknowledged, but ignored.

        So the response does not reveal to a forger whether a signature is valid (allowed by WebSub, section
        8). Genuine content causes a fetch of the feed. Its texts are kept for pages that are refused.
        """
        subscription = self.subscriptions.by_token(request.match_info["token"])
        if subscription is None:
            return web.Response(status=410, headers=PLAIN)  # section 7: the hub may then end the subscription
        body = await request.read()
        signature = request.headers.get("X-Hub-Signature")
        seen, genuine = protocols.is_genuine(subscription, signature, body, self.clock())
        # The digest includes the token, because two feeds may have the same body.
        digest = hashlib.blake2b(subscription.token.encode() + body, digest_size=16).digest()
        # is_new() records the digest, so it is called only for genuine content. Otherwise a forger could make
        # the body of a hub count as a repetition.
        if genuine and self.bodies.is_new(digest):
            if seen.method != subscription.method:
                self.subscriptions.put(seen)
                await self.data.call(self.subscriptions.keep, seen.token)
            notifier = notifier_name("websub", subscription.hub)
            (fate,) = await self._take(notifier, [subscription.page], proved=True)
            # The budget for fetches also limits how much is read and kept.
            if fate is Fate.QUEUED and not subscription.is_exposed:
                await self._keep_texts(subscription, body, request.headers.get("Content-Type"))
        return web.Response(status=202, headers=PLAIN)

    async def _keep_texts(self, subscription: protocols.Subscription, body: bytes, kind: str | None) -> None:
        try:
            contents = await asyncio.to_thread(item_contents, body, subscription.topic, kind)
        except FeedError:  # a hub may also send pages, and messages without content
            return
        await self.data.call(self.desk.keep_texts, subscription.page, contents)

    # --- IndexNow and sensors
    async def index_now(self, request: web.Request) -> web.Response:
        """Receive an IndexNow notice, and use it if the host of its URLs has a key file with its key.

        The response is 202 for an accepted notice, 422 for an invalid notice, 403 for a wrong key, and 429
        for too many requests.
        """
        if not self._may_send(request):
            return _too_many()
        try:
            if request.method == "GET":
                notice = protocols.of_query(request.query)
            else:
                notice = protocols.of_json(await request.read())
        except protocols.BadNotice as error:
            return web.Response(status=422, text=str(error), headers=PLAIN)
        believed = await self._is_key(notice)
        if believed is None:
            return _too_many()
        if not believed:
            return web.Response(status=403, text="the key file was not found or differs", headers=PLAIN)
        await self._take(f"indexnow:{notice.host}", notice.urls, proved=True)
        return web.Response(status=202, headers=PLAIN)

    async def _is_key(self, notice: protocols.Notice) -> bool | None:
        """Return True if the host has the key file with the key of the notice.

        Return None if the host's budget of requests for key files is used up.
        """
        key = hashlib.blake2b(f"{notice.key_location}\0{notice.key}".encode(), digest_size=16).digest()
        if self.keys.knows(key):
            return True
        if self.wrong_keys.knows(key) or not await self.data.call(self.desk.knows_site, notice.urls[0]):
            return False  # a notice can name any host, so only known sites get a request
        if not self.key_files.take(notice.host):
            return None
        try:
            answer = await self.outgoing.get(notice.key_location)
        except OutgoingError:
            return False
        right = answer.status == 200 and protocols.is_key_file(answer.body, notice.key)
        (self.keys if right else self.wrong_keys).is_new(key)  # this call also records the key
        return right

    async def notice(self, request: web.Request) -> web.Response:
        """Receive a notice of a sensor: the JSON of IndexNow, signed with the shared secret.

        The response is 202 for an accepted notice, 403 for a wrong signature, 409 for a notice that was
        received before, 422 for an invalid notice, and 429 for too many requests.
        """
        if not self._may_send(request):
            return _too_many()
        body = await request.read()
        header = request.headers.get("X-Newsbot-Signature", "")
        key = self.sensor_secret and genuine_notice(header, self.sensor_secret, body, self.clock())
        if not key:
            return web.Response(status=403, text="the signature is missing or wrong", headers=PLAIN)
        # The notice is recorded in the storage, so that a copy of it is also refused after a restart.
        if not await self.data.call(self.desk.is_first, key):
            return web.Response(status=409, text="this notice was received before", headers=PLAIN)
        try:
            notice = protocols.of_json(body)
        except protocols.BadNotice as error:
            return web.Response(status=422, text=str(error), headers=PLAIN)
        await self._take(f"sensor:{notice.host}", notice.urls, proved=True)
        return web.Response(status=202, headers=PLAIN)

    # --- hints
    async def cloud_challenge(self, request: web.Request) -> web.Response:
        """Return the challenge of an rssCloud server if it is for a known feed, otherwise 404."""
        challenge = protocols.challenge_of(request.query)
        if challenge is None or not self._may_send(request):
            return _not_found()
        if not await self.data.call(self.desk.is_source, challenge[0]):
            return _not_found()
        return web.Response(text=challenge[1], headers=PLAIN)

    async def cloud(self, request: web.Request) -> web.Response:
        """Receive an rssCloud notice: a form with the ``url`` of a feed."""
        if not self._may_send(request):
            return _too_many()
        form = await read_form(request)
        url = form.get("url")
        if isinstance(url, str):
            await self._take(_sender("rsscloud", request), [url], proved=False)
        return web.Response(headers=PLAIN)

    async def ping(self, request: web.Request) -> web.Response:
        """Receive a ping: an XML-RPC call of ``weblogUpdates.ping``. Errors are part of the XML response."""
        if not self._may_send(request):
            return _too_many()
        try:
            urls = protocols.pinged(await request.read())
        except ValueError as error:
            answer = protocols.ping_answer(str(error))
        else:
            await self._take(_sender("ping", request), urls, proved=False)
            answer = protocols.ping_answer()
        return web.Response(text=answer, content_type="text/xml", headers=PLAIN)

    # --- shared
    def _may_send(self, request: web.Request) -> bool:
        return self.senders.take(sender_of(request))

    async def _take(self, notifier: str, urls: Iterable[str], *, proved: bool) -> list[Fate]:
        fates = await self.data.call(self.desk.take, notifier, urls, proved=proved)
        self.desk.count(notifier, fates)
        return fates


def _sender(protocol: str, request: web.Request) -> str:
    return f"{protocol}:{sender_of(request)}"


def _too_many() -> web.Response:
    return web.Response(status=429, text="too many requests", headers=PLAIN)


def _not_found() -> web.Response:
    return web.Response(status=404, headers=PLAIN)
