"""Tries a few URLs of a shape before more URLs of that shape are fetched.

:class:`ListProbing` tries one list of a shape, such as an archive page of one day. :class:`ShapeTrials` tries
a few links that look like articles. The URLs under trial show whether their shape leads to articles. Until
then, all other URLs of the shape are held.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Mapping
from dataclasses import replace

from newsbot.clock import from_iso
from newsbot.crawl.context import MAX_HOSTS, Context
from newsbot.crawl.entries import Batch, page_for
from newsbot.crawl.scope import Scope
from newsbot.crawl.source_state import SourceRegistry
from newsbot.crawl.visit import Visit
from newsbot.discovery.list_pages import (
    ListTrials,
    ListWalks,
    belongs_to,
    is_archive,
    is_archive_front,
    is_index,
    is_pagination,
    narrows,
)
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
from newsbot.urls import canonicalize, fingerprint

# --- lists
# Lists are of one kind if their URLs have the same shape
# (:func:`newsbot.discovery.list_pages.shape_of`). The first list of a kind is *under trial*. The other lists
# are held until its visit shows whether the kind leads to articles. If it does, the kind is *fruitful*. The
# results are kept in :mod:`newsbot.discovery.list_pages`. The results of other workers are read from the
# history in the page record.
#
# Lists by subject (tag, category or author) have the lowest priority. They are read only if neither numbered
# pages nor an archive nor a sitemap leads to a site's older articles.


class ListProbing:
    """Decides which lists are read, by the results of the lists that were tried in this crawl.

    All methods raise :class:`newsbot.errors.DataError`.
    """

    def __init__(self, context: Context, scope: Scope, registry: SourceRegistry) -> None:
        self._context, self._scope, self._registry = context, scope, registry
        self._trials, self._walks = ListTrials(), ListWalks()
        self._with_lists = Bounded[str, None](MAX_HOSTS)
        """Domains whose lists have numbered pages or an archive, which lead to older articles."""
        self._heard = Bounded[bytes, None](MAX_HOSTS)
        """Fingerprints of the lists whose results this crawl has recorded."""

    def weigh(self, batch: Batch, visit: Visit | None) -> None:
        """Remove from the batch the lists that no rule names. Lists of a kind that leads to articles are
        kept.

        The crawl therefore does not read endless calendars. Home pages and lists that match a pattern of the
        rule are exempt. The link to the next page of the visited list is kept if the visited page shows that
        the next page is worth reading (:meth:`_worth`).
        """
        worth: bool | None = True
        # The reader passes links to next pages in a separate batch, after the other links. The result of the
        # first batch is then in visit.goes_on.
        if visit is not None and visit.kind is Kind.SECTION and not _of_next_pages(batch):
            worth = self._worth(batch, visit)
            if visit.lease.entry.depth == 0:
                worth = True
            else:
                self._tell(batch, visit, worth=worth)
        self._with_lists.add(*(one.data["source"] for one in batch.entries.values() if is_next_page(one)))
        for key in _of_one_name(batch.entries):
            _reject(batch, key)
        lists = {key: entry for key, entry in batch.entries.items() if _needs_trial(entry)}
        known = self._context.frontier.known(list(lists)) if lists else {}
        # Known lists are in the queue already. They cannot serve as trials, because they may not be due for
        # weeks.
        new = {key: entry for key, entry in lists.items() if key not in known and not entry.data.get("force")}
        self._hear(lists, known)
        for key, entry in new.items():
            # A numbered page of another list is not queued here, because the pages of a list are read one
            # after the other.
            of_another_list = is_pagination(entry.url) and not belongs_to(
                entry.url, entry.data["referrer"] or ""
            )
            leads_on = visit is not None and _leads_on(entry, _address(visit))
            wanted = not of_another_list and (worth is not False or leads_on)
            # Lists that _tell() has added pass this check: their shape is fruitful, or they are under trial.
            if wanted and self._trials.may_try(entry.data["source"], entry.url):
                continue
            if wanted and not self._trials.is_given_up(entry.data["source"], entry.url):
                self._trials.hold(entry.data["source"], entry.url, entry)
                if visit is not None:
                    # Held links are in memory only. If the worker dies, the next visit must read this page
                    # again. The validators are cleared, because an unchanged page would be skipped.
                    visit.page.update(content_hash=None, etag=None, last_modified=None)
            _reject(batch, key)
        if visit is not None and not visit.goes_on:
            for key in [key for key, entry in batch.entries.items() if is_next_page(entry)]:
                _reject(batch, key)
        batch.pages = [page for page in batch.pages if page.fingerprint in batch.entries]

    def end(self, visit: Visit) -> None:
        """If the visited list was under trial and could not be read, end its trial, so that another list is
        tried."""
        # Many lists have no dates. The date of an article shows how far back the list that links to it goes.
        published = from_iso(visit.page.get("published_at"))
        if published is not None and visit.data.get("referrer"):
            self._walks.dated(visit.data["referrer"] or "", published.timestamp())
        if visit.tried or not _needs_trial(visit.lease.entry):
            return
        domain, url = visit.rule.domain, visit.lease.entry.url
        if visit.outcome.failed and visit.outcome.error not in (Reason.TOO_YOUNG, Reason.OURS):
            self._trials.tell(domain, url, fruitful=False)
        else:
            self._trials.release(domain, url)
        visit.tried = True

    def left(self, lease: Lease) -> Reason | None:
        """Return the reason why a leased list is no longer needed, or None if it must be read."""
        entry, domain = lease.entry, lease.entry.data["source"]
        if not _is_by_subject(entry) or lease.last_fetched is not None or entry.data.get("force"):
            return None
        needless = domain in self._with_lists or self._registry.of(domain).sitemap
        return Reason.OTHER_LISTS if needless and not self._trials.is_fruitful(domain, entry.url) else None

    def _worth(self, batch: Batch, visit: Visit) -> bool | None:
        """Return True if a list led to new articles, None if it led only to known articles, and False
        otherwise.

        Sets ``visit.goes_on``, which says whether the next page of the list is worth reading. At the first
        visit of a page, or if the crawl has the argument ``since``, the page must show articles that are
        recent enough and were not on the preceding pages. At later visits, at least half of the page's
        articles must be new.
        """
        # Links that are held because of their URL shape count too, because the list has led to them.
        found = {**batch.entries, **batch.held}
        articles = {key: entry for key, entry in found.items() if _is_likely(entry)}
        known = self._context.frontier.known(list(articles)) if articles else {}
        new = len(articles) - len(known)
        url, entry = _address(visit), visit.lease.entry
        before = entry.data.get("referrer") if is_next_page(entry) else None
        unread = self._walks.read(visit.rule.domain, url, before, articles)
        for one in articles.values():
            if (listed := from_iso(one.data.get("published_at"))) is not None:
                self._walks.dated(url, listed.timestamp())
        first = visit.record is None or visit.record.last_full_fetch is None
        if first or self._scope.arguments.since is not None:
            since = self._scope.since_of_lists(self._walks.shown(visit.rule.domain))
            visit.goes_on = unread and (since is None or not self._walks.is_older(url, since.timestamp()))
        else:
            visit.goes_on = bool(new) and 2 * new >= len(articles)
        if new or (articles and self._broke_off(articles, visit)):
            return True
        return None if articles else False

    def _tell(self, batch: Batch, visit: Visit, *, worth: bool | None) -> None:
        """Record the result of a list under trial, and queue the lists that waited for it.

        An archive page of a year that leads only to months has no result yet. The page of a month will
        decide.
        """
        domain, url = visit.rule.domain, visit.lease.entry.url
        if not _needs_trial(visit.lease.entry):
            return
        visit.tried = True
        below = any(
            _needs_trial(entry) and _leads_on(entry, url)
            for entry in batch.entries.values()
            if not self._trials.is_given_up(domain, entry.url)
        )
        if below and not worth:
            self._trials.release(domain, url)
            return
        self._trials.tell(domain, url, fruitful=worth)
        self._heard.add(visit.lease.entry.fingerprint)
        if worth and not _is_by_subject(visit.lease.entry):
            self._with_lists.add(domain)
        # Other workers read this event from the page record (_hear).
        visit.note(self._context.clock(), EventKind.LIST, fruitful=bool(worth))
        for entry in self._trials.released(domain, url) if worth else self._trials.another(domain, url):
            if entry.fingerprint not in batch.entries:
                batch.entries[entry.fingerprint] = entry
                batch.pages.append(page_for(entry, self._context.clock()))

    def _hear(self, lists: Mapping[bytes, Entry], known: Container[bytes]) -> None:
        """Read from page records the results of lists that another worker or an earlier crawl has visited.

        The result of an earlier crawl counts only for a list by subject. An old result says nothing about the
        new months that an archive gets.
        """
        asked: dict[bytes, tuple[str, str]] = {}
        for key, entry in lists.items():
            domain, url = entry.data["source"], entry.url
            if key in known:
                unrecorded = key not in self._heard and not self._trials.is_fruitful(domain, url)
                if unrecorded and _is_by_subject(entry):
                    asked[key] = (domain, url)
            # An unknown list waits for the list under trial, which another worker may have visited.
            elif (tried := self._trials.waiting(domain, url, self._context.clock())) is not None:
                rule = self._context.rules.get(domain) or self._context.rule_for(tried)
                asked[fingerprint(canonicalize(tried, rule.drop_query))] = (domain, tried)
        for key, page in (self._context.storage.pages.get(list(asked)) if asked else {}).items():
            results = [bool(event["fruitful"]) for event in page.history if event["event"] == EventKind.LIST]
            # A list that could not be read counts like a list without articles.
            if results or page.state in ("gone", "failed"):
                self._heard.add(key)
                self._trials.tell(*asked[key], fruitful=any(results))

    def _broke_off(self, articles: Mapping[bytes, Entry], visit: Visit) -> bool:
        """Return True if some of these articles were first found by a visit of this page that was
        interrupted.

        If a worker is killed after it has queued the links of a page, these links are known at the next
        visit. The links must still count as new. Otherwise, the list would seem to lead only to known
        articles.
        """
        last = None if visit.record is None else visit.record.last_fetched
        return any(
            page.referrers[:1] == [articles[key].data["referrer"]]
            and (last is None or page.first_seen > last)
            for key, page in self._context.storage.pages.get(list(articles)).items()
        )


def is_next_page(entry: Entry) -> bool:
    """Return True for the second or a later page of a list."""
    return entry.data.get("where") == Where.NEXT_PAGE


def _is_likely(entry: Entry) -> bool:
    """Return True for a link to a probable article.

    Unlikely links that are fetched only to test the ranking (``EXPLORED``) do not count.
    """
    return entry.kind is Kind.ARTICLE and entry.data["why"] != Reason.EXPLORED


def _of_next_pages(batch: Batch) -> bool:
    return bool(batch.entries) and all(map(is_next_page, batch.entries.values()))


def _reject(batch: Batch, key: bytes) -> None:
    del batch.entries[key]
    batch.rejected[Reason.BARREN_LIST] += 1


def _needs_trial(entry: Entry) -> bool:
    """Return True for the first page of a list that no rule names."""
    only_ranked = entry.data["why"] in (Reason.LIST, Reason.SUBJECT_LIST)
    return entry.kind is Kind.SECTION and only_ranked and not is_next_page(entry)


def _is_by_subject(entry: Entry) -> bool:
    return entry.kind is Kind.SECTION and entry.data.get("why") == Reason.SUBJECT_LIST


def _of_one_name(lists: Mapping[bytes, Entry]) -> list[bytes]:
    """Return the fingerprints of lists by subject whose link has no text, or the same text as another link.

    If several links have the same text, such as "more", this text is not the name of a subject.
    """
    by_subject = {key: entry.data.get("title") for key, entry in lists.items() if _is_by_subject(entry)}
    texts = Counter(by_subject.values())
    return [key for key, text in by_subject.items() if text is None or texts[text] > 1]


def _leads_on(entry: Entry, page: str) -> bool:
    """Return True if the list of ``entry`` is one level below the list at the URL ``page``.

    Examples are the months of a year, the days of a month, the years on the front page of an archive, and the
    tags on the page that lists all tags.
    """
    url = entry.url
    of_front = is_archive_front(page) and is_archive(url)
    return narrows(url, page) or of_front or (is_index(page) and _is_by_subject(entry) and not is_index(url))


def _address(visit: Visit) -> str:
    return visit.lease.entry.url


# --- articles
# Some links look like articles, but no rule, feed or sitemap names them. They are held until their shape is
# *proven* (:mod:`newsbot.ranking.url_learning`): a feed or sitemap lists URLs of this shape, or pages of this
# shape were articles. A few links are fetched as *trials* to find this out. A held link costs no request.
#
# * If a feed or sitemap lists the site's articles, shapes that it never lists are tried last, one page at a
#   time. A fetched page that is not an article is wasted. For all these shapes together, one page may be
#   wasted. If the share NEWSBOT_EXPLORE of the fetched pages is more than one page, this share may be
#   wasted instead.
# * On other sites, two pages may be wasted on each shape.
#
# Queued links are checked again when they are leased, because more results are known then.

MAX_HELD = 400
"""Maximum number of held links per site and shape, and maximum number of awaited sources per site."""
MAX_OF_ALL = 50_000
"""Maximum number of held links of all sites."""
_FOUND_ON_PAGES = (Where.BODY, Where.NAVIGATION)


class ShapeTrials:
    """Decides which links of doubtful shape are fetched, and holds all other links of doubtful shape.

    All methods raise :class:`newsbot.errors.DataError`.
    """

    def __init__(self, context: Context, learning: UrlLearning) -> None:
        self._context, self._learning = context, learning
        self._held: dict[str, dict[str, dict[bytes, Entry]]] = {}
        """The held links, by domain, shape and fingerprint."""
        self._number = 0
        """Number of held links of all sites."""
        self._trying = Bounded[str, Bounded[bytes, str]](MAX_SITES)
        """The shapes of the entries that are queued as trials, by domain and fingerprint.

        If another worker leases the entry of a trial, the trial stays here until new trials replace it.
        """
        self._waiting = Bounded[str, Bounded[str, None]](MAX_SITES)
        """For each shape, the domains that wait until other sites have tried this shape."""
        self._sources = Bounded[str, list[bytes]](MAX_SITES)
        """For each domain, the feeds and sitemaps that a page named (fingerprints), until one of them is
        read."""
        self._with_read_sources = Bounded[str, None](MAX_HOSTS)
        """Domains with a feed or sitemap that has been read."""

    def weigh(self, batch: Batch, visit: Visit | None) -> None:
        """Remove links of doubtful shape from the batch, except links that are fetched as trials.

        The removed links are held. :meth:`end` returns them once their shape is proven.
        """
        if visit is not None and _is_first(visit):
            self._wait_for_sources(visit.rule.domain, batch)
        for entry in batch.entries.values():
            if entry.data["where"] == Where.SITEMAP and entry.kind is Kind.ARTICLE:
                self._learning.shapes(entry.data["source"]).name(self._name(entry))
        self._take_out(batch)
        now, recorded = self._context.clock(), {page.fingerprint for page in batch.pages}
        # Trials start after a site's feeds were read, because the feeds show most shapes of articles without
        # a further request.
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
        """Record the feeds and sitemaps that a page names, unless a feed or sitemap of the domain was read
        already."""
        named = [key for key, entry in batch.entries.items() if _is_listing(entry)]
        if named and domain not in self._with_read_sources:
            self._sources[domain] = [*self._sources.get(domain, ()), *named][:MAX_HELD]

    def _are_read(self, domain: str) -> bool:
        """Return True if any worker has read one of the domain's feeds or sitemaps."""
        known = self._context.frontier.known(self._sources[domain])
        return any(one.last_fetched is not None for one in known.values())

    def end(self, visit: Visit) -> Batch:
        """Return the links that can be queued after a visit, because the visit may have proven a shape."""
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
        """Return the reason why a leased entry is not fetched, or None if it must be fetched."""
        entry = lease.entry
        if not _is_unvouched(entry) or lease.last_fetched is not None:
            return None
        domain, shape = entry.data["source"], shape_of(self._name(entry))
        shapes = self._learning.shapes(domain)
        if shapes.is_proven(shape):
            return None
        if shapes.has_failed(shape):
            return Reason.FAILED_SHAPE
        self._in_trial(domain).pop(entry.fingerprint, None)  # the entry's own trial must not count
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
        self._context.frontier.return_turn(entry.host, lease.turn)
        self._context.count(f"left/{reason}")

    def _hold(self, domain: str, shape: str, entry: Entry) -> None:
        held = self._held.get(domain, {}).get(shape, {})
        if entry.fingerprint not in held and len(held) < MAX_HELD and self._number < MAX_OF_ALL:
            held[entry.fingerprint] = entry
            self._held.setdefault(domain, {})[shape] = held
            self._number += 1

    def _drop(self, domain: str, shape: str, keys: Iterable[bytes]) -> None:
        """Remove held links. Then remove shapes and sites without held links too."""
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
        """Yield the held links of a domain that are fetched as trials. They are then no longer held.

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
        # A shape that failed on many other sites is tried only if this site has no better shape.
        if self._learning.of_all_sites.is_hopeless(shape) and (shapes.named or shapes.good or trying):
            return False
        if not shapes.named:  # no feed or sitemap lists this site's articles
            return True
        if trying or shapes.lost + 1 > self._learning.may_lose(domain):
            return False
        # Thousands of sites use the same software. If some of these sites are trying this shape now, their
        # results may make a trial on this site unnecessary.
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
    """Return True if a link counts as an article only because of its rank.

    No rule, feed, sitemap or person has named the link.
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
