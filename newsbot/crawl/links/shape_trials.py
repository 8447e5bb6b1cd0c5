"""Tries a few links of each doubtful URL shape before more links of that shape are fetched.

Some links look like articles, but no rule, feed or sitemap names them. They are held until their shape is
*proven* (:mod:`newsbot.ranking.url_learning`): a feed or sitemap lists URLs of this shape, or pages of this
shape were articles. A few links are fetched as *trials* to find this out. A held link costs no request.

* If a feed or sitemap lists the site's articles, shapes that it never lists are tried last, one page at a
  time. Over all these shapes, at most one fetched page may be wasted (not an article), or the share
  NEWSBOT_EXPLORE of the fetched pages if this is more.
* On other sites, two fetched pages may be wasted on each shape.

Queued links are checked again when they are leased, because more results are known then.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from newsbot.crawl.context import MAX_HOSTS, Context
from newsbot.crawl.entries import Batch, page_for
from newsbot.crawl.visit import Visit
from newsbot.frontier.base import Entry, Known, Lease
from newsbot.items import Bounded, EventKind, Kind, Reason, Where
from newsbot.ranking.url_learning import (
    ENOUGH,
    EXPLORED_PRIORITY,
    MANY_SITES,
    MAX_SITES,
    UrlLearning,
    shape_of,
)
from newsbot.urls import canonicalize

MAX_HELD = 400
"""Maximum number of links of one site and shape that are held, and of sources of a site that are awaited."""
MAX_OF_ALL = 50_000
"""Maximum number of links of all sites that are held."""
_FOUND_ON_PAGES = (Where.BODY, Where.NAVIGATION)


class ShapeTrials:
    """Decides which links of doubtful shape are fetched, and holds the others.

    All methods raise :class:`newsbot.errors.DataError`.
    """

    def __init__(self, context: Context, learning: UrlLearning) -> None:
        self._context, self._learning = context, learning
        self._held: dict[str, dict[str, dict[bytes, Entry]]] = {}
        """The held links, by domain, shape and fingerprint."""
        self._number = 0
        """Number of held links of all sites."""
        self._trying = Bounded[str, Bounded[bytes, str]](MAX_SITES)
        """By domain, the fingerprints and shapes of the entries that are queued as trials.

        A trial whose entry another worker leases stays here until it makes room for others.
        """
        self._waiting = Bounded[str, Bounded[str, None]](MAX_SITES)
        """By shape, the domains that wait until other sites have tried this shape."""
        self._sources = Bounded[str, list[bytes]](MAX_SITES)
        """By domain, the fingerprints of feeds and sitemaps that a page named, until one of them is read."""
        self._with_read_sources = Bounded[str, None](MAX_HOSTS)
        """Domains of which a feed or sitemap has been read."""

    def weigh(self, batch: Batch, visit: Visit | None) -> None:
        """Take links of doubtful shape out of the batch, except for trials.

        :meth:`end` returns the held links once their shape is proven.
        """
        if visit is not None and _is_first(visit):
            self._wait_for_sources(visit.rule.domain, batch)
        for entry in batch.entries.values():
            if entry.data["where"] == Where.SITEMAP and entry.kind is Kind.ARTICLE:
                self._learning.shapes(entry.data["source"]).name(self._name(entry))
        self._take_out(batch)
        now, recorded = self._context.clock(), {page.fingerprint for page in batch.pages}
        # There are no trials before a site's feeds are read. The feeds will prove most shapes without a
        # request.
        for domain in sorted({entry.data["source"] for entry in batch.held.values()} - self._sources.keys()):
            for entry in self._trials(domain):
                batch.held.pop(entry.fingerprint, None)
                batch.entries[entry.fingerprint] = entry
                if entry.fingerprint not in recorded:
                    batch.pages.append(page_for(entry, now))
        batch.pages = [page for page in batch.pages if page.fingerprint in batch.entries]
        if batch.held:
            batch.rejected[Reason.DOUBTFUL_SHAPE] += len(batch.held)
            if visit is not None:
                # Held links are in memory only. If the worker dies, the next visit must read this page again.
                # The validators are cleared, because an unchanged page would be skipped.
                visit.page.update(content_hash=None, etag=None, last_modified=None)

    def _take_out(self, batch: Batch) -> None:
        """Hold the links of doubtful shape, and reject those whose shape has failed."""
        asked = {key: entry for key, entry in batch.entries.items() if _is_unvouched(entry)}
        known = self._context.frontier.known(list(asked)) if asked else {}
        for key, entry in asked.items():
            domain, shape = entry.data["source"], shape_of(self._name(entry))
            shapes = self._learning.shapes(domain)
            if key in known or shapes.is_proven(shape):
                continue
            del batch.entries[key]
            if shapes.has_failed(shape):
                batch.rejected[Reason.FAILED_SHAPE] += 1
            else:
                batch.held[key] = entry
                self._hold(domain, shape, entry)

    def _wait_for_sources(self, domain: str, batch: Batch) -> None:
        """Note the feeds and sitemaps that a page names, unless one of the domain was read before."""
        named = [key for key, entry in batch.entries.items() if _is_listing(entry)]
        if named and domain not in self._with_read_sources:
            self._sources[domain] = [*self._sources.get(domain, ()), *named][:MAX_HELD]

    def _are_read(self, domain: str) -> bool:
        """Return True if any worker has read one of the domain's feeds or sitemaps."""
        known = self._context.frontier.known(self._sources[domain])
        return any(one.last_fetched is not None for one in known.values())

    def end(self, visit: Visit) -> Batch:
        """After a visit, which may have proven a shape, return the links that are to be queued now."""
        domain = visit.rule.domain
        tried = self._in_trial(domain).pop(visit.lease.entry.fingerprint, None)
        if visit.kind in (Kind.FEED, Kind.SITEMAP) or (domain in self._sources and self._are_read(domain)):
            self._with_read_sources.add(domain)
            self._sources.pop(domain, None)
        # The result counts for all sites, so the sites that waited for a result on this shape are checked
        # too.
        domains = {domain, *(self._waiting.pop(tried, ()) if tried is not None else ())}
        ready = [entry for one in sorted(domains & self._held.keys()) for entry in self._ready(one)]
        entries = {entry.fingerprint: entry for entry in ready}
        now = self._context.clock()
        return Batch(entries=entries, pages=[page_for(entry, now) for entry in entries.values()])

    def left(self, lease: Lease) -> Reason | None:
        """Return the reason why a leased entry is not fetched after all, or None if it must be fetched."""
        entry = lease.entry
        if not _is_unvouched(entry) or lease.last_fetched is not None:
            return None
        domain, shape = entry.data["source"], shape_of(self._name(entry))
        shapes = self._learning.shapes(domain)
        if shapes.is_proven(shape):
            return None
        if shapes.has_failed(shape):
            return Reason.FAILED_SHAPE
        self._in_trial(domain).pop(entry.fingerprint, None)  # its own trial must not count against the entry
        if self._may_try(domain, shape):
            self._try(entry, shape)
            return None
        self._hold(domain, shape, entry)
        return Reason.DOUBTFUL_SHAPE

    def leave(self, lease: Lease, reason: Reason) -> None:
        """End a lease whose entry is not fetched because of ``reason``.

        The host's turn (the time reserved for the request) is returned, so that another entry can use it.
        """
        entry, pages = lease.entry, self._context.storage.pages
        now = self._context.clock()
        record = pages.get([entry.fingerprint]).get(entry.fingerprint) or page_for(entry, now)
        record.state, record.next_due = "done", None
        record.history = [{"at": round(now, 3), "event": EventKind.LEFT.value, "reason": reason.value}]
        pages.save([record])
        # The link is not fetched now. It is queued again if its shape is proven later.
        self._context.frontier.ack(lease, next_due=None, fetched=False)
        self._context.frontier.return_turn(entry.host)
        self._context.count(f"left/{reason}")

    def _hold(self, domain: str, shape: str, entry: Entry) -> None:
        held = self._held.get(domain, {}).get(shape, {})
        if entry.fingerprint not in held and len(held) < MAX_HELD and self._number < MAX_OF_ALL:
            held[entry.fingerprint] = entry
            self._held.setdefault(domain, {})[shape] = held
            self._number += 1

    def _drop(self, domain: str, shape: str, keys: Iterable[bytes]) -> None:
        """Hold links no longer. Nothing is kept of a shape or site without held links."""
        for key in list(keys):
            del self._held[domain][shape][key]
            self._number -= 1
        if not self._held[domain][shape]:
            del self._held[domain][shape]
        if not self._held[domain]:
            del self._held[domain]

    def _in_trial(self, domain: str) -> dict[bytes, str]:
        return self._trying.get(domain) or {}

    def _try(self, entry: Entry, shape: str) -> None:
        domain = entry.data["source"]
        trying = self._trying[domain] = self._trying.get(domain) or Bounded(MAX_HELD)
        trying[entry.fingerprint] = shape

    def _ready(self, domain: str) -> list[Entry]:
        """Return the held links of a domain that may be fetched now: links of proven shapes, and trials.

        Held links whose shape has failed are dropped.
        """
        shapes, held = self._learning.shapes(domain), self._held.get(domain, {})
        ready: list[Entry] = []
        for shape in [one for one in held if shapes.is_proven(one) or shapes.has_failed(one)]:
            ready += held[shape].values() if shapes.is_proven(shape) else ()
            self._drop(domain, shape, held[shape])
        if domain not in self._sources:
            ready += self._trials(domain)
        # Another worker may have fetched some of these links while they were held here.
        known = self._context.frontier.known([entry.fingerprint for entry in ready]) if ready else {}
        return [entry for entry in ready if _is_unread(known.get(entry.fingerprint))]

    def _trials(self, domain: str) -> Iterable[Entry]:
        """Yield the held links of a domain that are fetched as trials. They are no longer held.

        Shapes that failed on many other sites come last.
        """
        held, hopeless = self._held.get(domain, {}), self._learning.of_all_sites.is_hopeless
        best = sorted(
            (
                (hopeless(shape), -entry.priority, shape, entry)
                for shape, some in held.items()
                for entry in some.values()
            ),
            # entries cannot be compared with each other
            key=lambda one: one[:3],
        )
        for _, _, shape, entry in best:
            if self._may_try(domain, shape):
                self._try(entry, shape)
                self._drop(domain, shape, [entry.fingerprint])
                last = self._learning.shapes(domain).named
                yield replace(entry, priority=EXPLORED_PRIORITY) if last else entry

    def _may_try(self, domain: str, shape: str) -> bool:
        """Return True if one more page of a doubtful shape may be fetched now."""
        shapes, trying = self._learning.shapes(domain), self._in_trial(domain)
        # Trials in flight count as failures, so that all trials together cannot exceed the limit.
        if shapes.bad[shape] + sum(one == shape for one in trying.values()) >= ENOUGH:
            return False
        # A shape that failed on many other sites is tried only if this site has shown no better shape yet.
        if self._learning.of_all_sites.is_hopeless(shape) and (shapes.named or shapes.good or trying):
            return False
        if not shapes.named:  # no feed or sitemap lists this site's articles
            return True
        if trying or shapes.lost + 1 > self._learning.may_lose(domain):
            return False
        # Thousands of sites use the same software. If some of them are trying this shape now, their results
        # may make a trial here needless.
        elsewhere = sum(shape in some.values() for some in self._trying.values())
        if elsewhere >= MANY_SITES and shape not in self._learning.of_all_sites.good:
            self._waiting[shape] = waiting = self._waiting.get(shape) or Bounded(MAX_SITES)
            waiting.add(domain)
            return False
        return True

    def _name(self, entry: Entry) -> str:
        rule = self._context.rules.get(entry.data["source"]) or self._context.rule_for(entry.url)
        return canonicalize(entry.url, rule.drop_query)


def _is_unvouched(entry: Entry) -> bool:
    """Return True if only ranking takes a link for an article.

    No rule, feed, sitemap or person has named such a link.
    """
    data = entry.data
    found = data.get("where") in _FOUND_ON_PAGES and data.get("why") == Reason.LIKELY_ARTICLE
    return entry.kind is Kind.ARTICLE and found and not data.get("force")


def _is_unread(known: Known | None) -> bool:
    """Return True if the frontier does not know a URL, or has marked it as done without a fetch."""
    return known is None or (known.state == "done" and known.last_fetched is None)


def _is_listing(entry: Entry) -> bool:
    return entry.kind in (Kind.FEED, Kind.SITEMAP) and entry.data["where"] != Where.GUESS


def _is_first(visit: Visit) -> bool:
    return visit.record is None or visit.record.last_full_fetch is None
