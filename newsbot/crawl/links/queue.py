"""Queues links: each link is judged and, if it is new, recorded and put into the frontier.

The order of writes matters: first the page records, then the frontier entries, then the acknowledgement of
the page that has the links. After a crash in between, that page is read again and nothing is lost.

:class:`Room` limits what one site can put into the queue: pages of a site, and hosts that it names for the
first time. A sitemap or a feed can name any number of them. Without limits, the queue grows without end, and
the pages of other sites wait.

* **Pages.** At most NEWSBOT_QUEUE_PER_SITE pages of a site wait. The other links stay in their sitemap, and
  the sitemap is read again when half of the waiting pages are done. New sitemaps are not read before. Links
  of feeds, news sitemaps and pages may use twice this number, because they lead to new articles. Links that
  only other sites give may use a tenth.
* **Hosts.** At most :data:`NEW_HOSTS` hosts wait for their first request because one site has named them. The
  links to further hosts are held in memory and queued one by one, when these hosts had their turn.

:class:`FeedDetails` adds a feed's data to articles that were leased or stored before the feed was read. A
home page often links to an article before the feed is read. While the frontier's entry of the article is
pending, the feed's data are added to it (:meth:`newsbot.frontier.base.Frontier.add`). But a leased entry
never changes. The feed's data are kept until the article is stored. They then fill the fields that were not
found on the article's page.
"""

from __future__ import annotations

import logging
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import compress, islice

from newsbot.clock import from_iso
from newsbot.crawl.context import MAX_HOSTS, Context
from newsbot.crawl.entries import Batch
from newsbot.crawl.links.canonical import Canonical, Spellings
from newsbot.crawl.links.families import Families, Lists
from newsbot.crawl.links.judge import LINKS_AT_ONCE, LinkJudge
from newsbot.crawl.politeness import Politeness
from newsbot.crawl.scope import Scope
from newsbot.crawl.sources import SourceRegistry
from newsbot.crawl.visit import Found, Reading, Settling, Visit
from newsbot.frontier.base import Added, Entry, EntryData, HostCopy, Lease, known_of
from newsbot.items import Article, Bounded, GivenBy, Kind, Link, Where, batched
from newsbot.pages.discovery.sitemaps import is_news_file
from newsbot.pages.rules.rule import Rule
from newsbot.ranking.url_learning import SessionLearning
from newsbot.sites.health import FULL_QUEUE
from newsbot.urls import canonicalize, host_key

logger = logging.getLogger(__name__)

MAX_WAITING = 10_000
"""Maximum number of pages whose feed data wait for the article."""
MAX_SETTLED = 50_000
"""Maximum number of pages that are remembered because their articles already have the data."""
FEED = "feed"
"""Value in ``Article.extraction`` for a field that was taken from a feed after the page was read."""
_LISTINGS = (Where.FEED, Where.NEWS_SITEMAP)


class FeedDetails:
    """Fills time and authors of stored articles from feeds.

    All methods raise :class:`newsbot.errors.DataError`.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._waiting = Bounded[bytes, EntryData](MAX_WAITING)
        """The data of feeds that wait for the article, by fingerprint of the page."""
        self._settled = Bounded[bytes, None](MAX_SETTLED)
        """Fingerprints of pages whose articles already have the data of a feed."""

    def take(self, known: Iterable[Entry]) -> None:
        """Keep a feed's data about pages that are already known, and add the data to stored articles.

        ``known`` are the entries that were made from the feed's links to these pages.
        """
        found = {
            entry.fingerprint: entry.data
            for entry in known
            if entry.kind is Kind.ARTICLE
            and entry.data["where"] in _LISTINGS
            and ("published_at" in entry.data or "authors" in entry.data)
            and entry.fingerprint not in self._settled
        }
        self._waiting.update(found)
        # A long feed may have more items than _waiting keeps. Items that _waiting has already dropped are
        # left out.
        self._fill(found.keys() & self._waiting.keys())

    def end(self, visit: Visit) -> None:
        """After a visit, add the data of a feed to the page's article, if a feed has listed the article in
        the meantime."""
        key = visit.lease.entry.fingerprint
        if key in self._waiting and visit.reading.is_article:
            self._fill([key], visit.reading.canonical_url or "")

    def finish(self) -> None:
        """Add the remaining data to articles that other workers have stored.

        Called before the crawl closes.
        """
        self._fill(list(self._waiting))

    def _fill(self, keys: Iterable[bytes], canonical_url: str | None = None) -> None:
        articles = self._context.storage.articles
        # After a visit the article's canonical URL is known. If it differs from the page's URL, the page's
        # fingerprint does not find the article, so the canonical URL is used.
        found = articles.with_keys(list(keys)) if canonical_url is None else {}
        if canonical_url is not None and (article := articles.get(canonical_url)) is not None:
            found = dict.fromkeys(keys, article)
        for key, article in found.items():
            data = self._waiting.pop(key)
            if not GivenBy.of(data).counts_for(article.source):
                continue
            if filled(article, data):
                articles.save_origin(article)
                self._context.count("articles/dated_by_feed")
            self._settled.add(key)


def filled(article: Article, data: EntryData) -> bool:
    """Set publication time and authors if ``article`` lacks them. Return True if the article was changed.

    ``data`` has the data of a feed. If the article has only a date, and the feed has a time on that day, the
    time of the feed is used.
    """
    at = from_iso(data.get("published_at"))
    own, authors = article.published_at, data.get("authors")
    day_only = own is not None and article.published_precision == "day"
    lacks = at is not None and (own is None or (day_only and own.date() == at.date()))
    if lacks:
        article.published_at, article.published_precision, article.published_source = at, "second", FEED
        article.extraction["published_at"] = FEED
    if authors and not article.authors:
        article.authors = list(authors)
        article.extraction["authors"] = FEED
        return True
    return lacks


# --- room for the links of a site
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


# --- queue
@dataclass(eq=False, kw_only=True)
class Links:
    """Queues the seeds of a crawl and the links of its pages.

    All methods raise :class:`newsbot.errors.DataError`.
    """

    context: Context
    scope: Scope
    politeness: Politeness
    registry: SourceRegistry
    judge: LinkJudge
    lists: Lists
    families: Families
    canonical: Canonical
    spellings: Spellings
    feed_details: FeedDetails
    session_keys: SessionLearning
    room: Room

    def queue(self, found: Found, visit: Visit | None = None) -> int:
        """Judge and queue links. Return the number of links that were not known before."""
        return sum(new for some in parts(found, visit) for new in self.steps(some, visit))

    def queue_released(self, visit: Visit) -> None:
        """After a visit, queue the links that waited for its result."""
        for found, source in self.room.released(visit):
            self.queue(found, source)
        has_sitemap = self.registry.of(visit.rule.domain).sitemap
        batch = self.families.end(visit, has_sitemap=has_sitemap)
        self.queue_waiting(batch, visit)

    def queue_waiting(self, batch: Batch, visit: Visit | None) -> int:
        """Queue waiting links. Return the number of links that were not known before."""
        # ``force`` is needed for links that were leased while their family was closed. Families.leave has
        # marked them as done.
        fitting = self.room.fit(list(batch.entries.values()))  # the other links go on waiting
        batch.entries = {entry.fingerprint: entry for entry in fitting}
        new = self._queue(batch, visit, force=True)
        self.families.queued(batch)
        return new

    def steps(self, found: Found, visit: Visit | None) -> Iterator[int]:
        """Judge and queue links in steps that take less than 50 ms.

        Yields after each step the number of links that were not known before. ``visit`` is the visit of the
        page that has the links; None for seeds.
        """
        if visit is not None and visit.kind.is_listing and found.site is None:
            found = self._without_new_hosts(found, visit)
        batch, judging = Batch(), self.judge.judge(found, visit)
        while True:
            with self.context.timed("judge"):
                judged = next(judging, None)
            if judged is None:
                break
            batch = judged
            yield 0
        # These two calls compare all links of the page, so they are made after the last link is judged.
        with self.context.timed("judge"):
            self.families.weigh(batch, visit)
            self.lists.weigh(batch, visit)
        self._check_session_keys(found, visit)
        self.context.count("links/found", len(found.links))
        for reason, number in batch.rejected.items():
            self.context.count(f"links/rejected/{reason}", number)
        for some in (batch,) if visit is None else _pieces(batch):
            with self.context.timed("queue"):
                new = self._queue(some, visit, force=found.force)
            yield new

    def _without_new_hosts(self, found: Found, visit: Visit) -> Found:
        """Return the links of a feed or sitemap without the links that must wait (:meth:`Room.admit`)."""
        later = []
        for link in found.links:
            with suppress(ValueError):  # the URL is not valid; the judge rejects it
                host = host_key(link.url)
                if self.judge.may_go_to(link, self.context.rule_for(link.url), visit) and not self.room.admit(
                    visit.rule.domain, host
                ):
                    later.append(link)
        if not later:
            return found
        self.context.count("links/host_held", len(later))
        self.room.hold(later, found, visit)
        left = set(map(id, later))
        return replace(found, links=tuple(link for link in found.links if id(link) not in left))

    def _check_session_keys(self, found: Found, visit: Visit | None) -> None:
        """Compare the headlines of links whose URLs differ only in learned session keys."""
        for link in found.links:
            if not link.text or "?" not in link.url:
                continue
            with suppress(ValueError):  # the URL is not valid
                rule = self.context.rule_for(link.url)
                url = canonicalize(link.url)
                short = canonicalize(url, rule.drop_query)
                if short != url and self.judge.given_by(rule, found, visit).counts_for(rule.domain):
                    self.session_keys.listed(rule.domain, url, short, link.text)

    def _queue(self, batch: Batch, visit: Visit | None, *, force: bool) -> int:
        entries = list(batch.entries.values())
        if visit is not None and not force:
            every, entries = entries, self.room.fit(entries)
            visit.settling.left_out += len(every) - len(entries)
        if not entries:
            return 0
        fitting = {entry.fingerprint for entry in entries}
        self.context.storage.pages.discover([one for one in batch.pages if one.fingerprint in fitting])
        asked = visit is None or visit.data.get("where") == Where.ARGUMENT
        # The frontier must know a host's delay before the first entry is added, because another worker may
        # lease the entry at once.
        for host, entry in {entry.host: entry for entry in entries}.items():
            self._introduce(host, self.context.rule_for(entry.url), asked=asked)
        verdicts = self.context.frontier.add(entries, force=force)
        if not force:  # with force, the frontier has already replaced URL and data of known pages
            known = list(compress(entries, (one is not Added.NEW for one in verdicts)))
            self.spellings.offer(known)
            self.feed_details.take(known)
        if visit is None and not force and (changed := self._differently_stored(entries)):
            self.context.frontier.add(changed, force=True)
        self._read_claimed(entries, verdicts)
        new = sum(verdict is Added.NEW for verdict in verdicts)
        self.context.count("links/new", new)
        self.context.count("links/known", len(verdicts) - new)
        # A guessed feed may not exist, so it counts as a source only after its first visit (usual_places).
        self.registry.found(
            [one for one in entries if one.kind.is_listing and one.data["where"] != Where.GUESS]
        )
        return new

    def offer(self, entries: list[Entry]) -> None:
        """Use the URL spellings that the sites of known pages give; see :meth:`Spellings.offer`."""
        for entry in entries:
            self._introduce(entry.host, self.context.rule_for(entry.url), asked=False)
        self.spellings.offer(entries)

    def queue_spelling(self, entry: Entry, *, again: bool) -> None:
        """Queue another spelling of a URL that has a page record.

        With ``again``, done URLs are queued too.
        """
        self._introduce(entry.host, self.context.rule_for(entry.url), asked=False)
        self.context.frontier.add([entry], force=again)

    def _read_claimed(self, entries: list[Entry], verdicts: list[Added]) -> None:
        """Queue addresses that were marked as done by a claim, if the site also lists them as pages."""
        known = [
            entry
            for entry, verdict in zip(entries, verdicts, strict=True)
            if verdict is Added.KNOWN and entry.kind in (Kind.ARTICLE, Kind.SECTION)
        ]
        if offered := self.canonical.offered_by_themselves(known):
            self.context.frontier.add(offered, force=True)
            self.context.count("canonical/read_after_all", len(offered))

    def _introduce(self, host: str, rule: Rule, *, asked: bool) -> None:
        """Set the politeness of a host in the frontier, and add the host to the scope if it belongs there.

        If the host belongs to another site that has a rule and is not in the scope, it is not added: its
        pages wait for a crawl of that site. ``asked`` means that the URL is a seed, or is linked on a page
        that a person requested. Its host is then added in any case.
        """
        self.politeness.introduce(host, rule)
        if not self.scope.accepts(host) and (asked or self.context.rules.get(rule.domain) is None):
            self.scope.named_hosts.add(host)

    def _differently_stored(self, entries: list[Entry]) -> list[Entry]:
        """Return the sources that a rule names and that must replace their entries in the frontier.

        A stored entry is replaced if it has another kind, is never due, or has a spelling from another site.
        The frontier does not change entries that are done, so the caller queues the sources with ``force``.
        """
        named = {
            entry.fingerprint: entry
            for entry in entries
            if entry.data["where"] == Where.SEED and entry.kind.is_source
        }
        changed = []
        for key, known in known_of(self.context.frontier, named.values()).items():
            stored = self.context.frontier.entry(key) if known.state == "done" else None
            if stored is not None:
                otherwise = known.next_due is None or stored.kind is not named[key].kind
                otherwise |= not self.spellings.given_by_site(stored.data, stored.url)
                changed += [named[key]] * otherwise
        return changed


def _pieces(batch: Batch) -> Iterator[Batch]:
    """Split a batch into pieces of :data:`LINKS_AT_ONCE`, one for each transaction."""
    pages = {page.fingerprint: page for page in batch.pages}
    for some in batched(batch.entries.items(), LINKS_AT_ONCE):
        yield Batch(entries=dict(some), pages=[pages[key] for key, _ in some])


def parts(found: Found, visit: Visit | None) -> Iterator[Found]:
    """Split the links of a long feed or sitemap into parts of :data:`LINKS_AT_ONCE`.

    Queueing 50,000 links at once would take 100 MB, which Python does not return to the system. The links of
    an HTML page stay together, because each link is judged by comparison with the other links.
    :meth:`Links.steps` divides this work into steps.
    """
    links = found.links
    if visit is None or not visit.kind.is_listing or len(links) <= LINKS_AT_ONCE:
        yield found
        return
    for some in batched(links, LINKS_AT_ONCE):
        yield replace(found, links=tuple(some))
