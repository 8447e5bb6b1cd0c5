"""Tries one list of a shape, such as an archive page of one day, before more lists of that shape are read.

The list under trial shows whether its shape leads to articles that nothing else names. Until then, all other
lists of the shape are held.
"""

from __future__ import annotations

from collections.abc import Container, Mapping

from newsbot.clock import from_iso
from newsbot.crawl.context import MAX_HOSTS, Context
from newsbot.crawl.entries import Batch, page_for
from newsbot.crawl.links.families import Families
from newsbot.crawl.scope import Scope
from newsbot.crawl.source_state import SourceRegistry
from newsbot.crawl.visit import Visit
from newsbot.frontier.base import Entry, Lease, known_of
from newsbot.items import Bounded, EventKind, Kind, Reason, Where
from newsbot.pages.discovery.list_pages import (
    ListTrials,
    ListWalks,
    belongs_to,
    is_archive,
    is_archive_front,
    is_index,
    is_pagination,
    narrows,
)
from newsbot.urls import canonicalize, fingerprint

_FOUND = (Reason.LIST, Reason.SUBJECT_LIST)
"""Reasons of lists that no rule names."""

# --- lists Lists are of one kind if their URLs have the same shape
# (:func:`newsbot.pages.discovery.list_pages.shape_of`). The first list of a kind is *under trial*. The other
# lists are held until its visit shows whether the kind leads to articles. If it does, the kind is *fruitful*.
# The results are kept in :mod:`newsbot.pages.discovery.list_pages`. The results of other workers are read
# from the history in the page record.
#
# Lists by subject (tag, category or author) have the lowest priority. They are read only if neither numbered
# pages nor an archive nor a sitemap leads to a site's older articles.


class ListProbing:
    """Decides which lists are read, by the results of the lists that were tried in this crawl.

    All methods raise :class:`newsbot.errors.DataError`.
    """

    def __init__(self, context: Context, scope: Scope, registry: SourceRegistry, families: Families) -> None:
        self._context, self._scope, self._registry, self._families = context, scope, registry, families
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
        # first batch is then in visit.settling.goes_on.
        if visit is not None and visit.kind is Kind.SECTION and not _of_next_pages(batch):
            worth = self._worth(batch, visit)
            if visit.lease.entry.depth == 0:
                worth = True
            else:
                self._tell(batch, visit, worth=worth)
        self._with_lists.add(*(one.data["source"] for one in batch.entries.values() if is_next_page(one)))
        lists = {key: entry for key, entry in batch.entries.items() if _needs_trial(entry)}
        known = known_of(self._context.frontier, lists.values())
        # Known lists are in the queue already. They cannot serve as trials, because they may not be due for
        # weeks.
        new = {key: entry for key, entry in lists.items() if key not in known and not entry.data.get("force")}
        self._hear(lists, known)
        self._hold_waiting(new, batch, visit)
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
                    visit.reads_again = True
            _reject(batch, key)
        if visit is not None and not visit.settling.goes_on:
            for key in [key for key, entry in batch.entries.items() if is_next_page(entry)]:
                _reject(batch, key)
        batch.pages = [page for page in batch.pages if page.fingerprint in batch.entries]

    def _hold_waiting(self, new: dict[bytes, Entry], batch: Batch, visit: Visit | None) -> None:
        """Store lists that are not needed as waiting links. Remove them from ``new`` and from the batch."""
        waiting = [key for key, entry in new.items() if self._waits(entry)]
        self._families.hold_lists([new.pop(key) for key in waiting], visit)
        for key in waiting:
            _reject(batch, key)

    def weigh_waiting(self, batch: Batch) -> None:
        """Remove from the batch the waiting lists that are not tried now."""
        for key, entry in list(batch.entries.items()):
            if _needs_trial(entry) and not self._trials.may_try(entry.data["source"], entry.url):
                del batch.entries[key]
        batch.pages = [page for page in batch.pages if page.fingerprint in batch.entries]

    def _names_all(self, domain: str) -> bool:
        """Return True if the sources of a site seem to name all its articles, so that lists are not
        needed."""
        has_sitemap = self._registry.of(domain).sitemap
        return not self._families.needs_lists(domain, has_sitemap=has_sitemap)

    def _waits(self, entry: Entry) -> bool:
        domain = entry.data["source"]
        if not self._names_all(domain) or self._trials.is_fruitful(domain, entry.url):
            return False
        return not self._families.may_read(entry)

    def end(self, visit: Visit) -> None:
        """If the visited list was under trial and could not be read, end its trial, so that another list is
        tried."""
        # Many lists have no dates. The date of an article shows how far back the list that links to it goes.
        published = from_iso(visit.reading.published_at)
        if published is not None and visit.data.get("referrer"):
            self._walks.dated(visit.data["referrer"] or "", published.timestamp())
        if visit.settling.tried or not _needs_trial(visit.lease.entry):
            return
        domain, url = visit.rule.domain, visit.lease.entry.url
        if visit.outcome.failed and visit.outcome.error not in (Reason.TOO_YOUNG, Reason.OURS):
            self._trials.tell(domain, url, fruitful=False)
        else:
            self._trials.release(domain, url)
        visit.settling.tried = True

    def left(self, lease: Lease) -> Reason | None:
        """Return the reason why a leased list is no longer needed, or None if it must be read."""
        entry, domain = lease.entry, lease.entry.data["source"]
        if (
            entry.kind is not Kind.SECTION
            or lease.last_fetched is not None
            or entry.data["why"] not in _FOUND
        ):
            return None
        if self._names_all(domain) and not (
            self._trials.is_fruitful(domain, entry.url) or self._families.is_list_open(entry)
        ):
            return Reason.WAITS
        if not _is_by_subject(entry) or entry.data.get("force"):
            return None
        needless = domain in self._with_lists or self._registry.of(domain).sitemap
        return Reason.OTHER_LISTS if needless and not self._trials.is_fruitful(domain, entry.url) else None

    def _worth(self, batch: Batch, visit: Visit) -> bool | None:
        """Return True if a list led to new articles, None if it led only to known articles, and False
        otherwise.

        Sets ``visit.settling.goes_on``, which says whether the next page of the list is worth reading. At the
        first visit of a page, or if the crawl has the argument ``since``, the page must show articles that
        are recent enough and were not on the preceding pages. At later visits, at least half of the page's
        articles must be new.
        """
        # Links that are held because of their URL shape count too, because the list has led to them.
        found = {**batch.entries, **batch.held}
        articles = {key: entry for key, entry in found.items() if _is_likely(entry)}
        known = known_of(self._context.frontier, articles.values())
        new = len(articles) - len(known)
        url, entry = _address(visit), visit.lease.entry
        before = entry.data.get("referrer") if is_next_page(entry) else None
        unread = self._walks.read(visit.rule.domain, url, before, articles)
        for one in articles.values():
            if (listed := from_iso(one.data.get("published_at"))) is not None:
                self._walks.dated(url, listed.timestamp())
        first = visit.record is None or visit.record.last_full_fetch is None
        if self._names_all(visit.rule.domain) and not new:
            visit.settling.goes_on = False
        elif first or self._scope.arguments.since is not None:
            since = self._scope.since_of_lists(self._walks.shown(visit.rule.domain))
            is_old = since is not None and self._walks.is_older(url, since.timestamp())
            visit.settling.goes_on = unread and not is_old
        else:
            visit.settling.goes_on = bool(new) and 2 * new >= len(articles)
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
        visit.settling.tried = True
        below = any(
            _needs_trial(entry) and _leads_on(entry, url)
            for entry in batch.entries.values()
            if not self._trials.is_given_up(domain, entry.url)
        )
        if below and not worth:
            self._trials.release(domain, url)
            return
        self._trials.tell(domain, url, fruitful=worth)
        if self._names_all(domain):
            self._families.tell_list(visit.lease.entry, fruitful=worth is True)
        self._heard.add(visit.lease.entry.fingerprint)
        if worth and not _is_by_subject(visit.lease.entry):
            self._with_lists.add(domain)
        # Other workers read this event from the page record (_hear). Later crawls read those of lists by
        # subject. If such a list led only to unknown families, nobody knows yet whether it has articles.
        if not (batch.held and _is_by_subject(visit.lease.entry)):
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
    """Return True for a link to a probable article. Samples of families do not count."""
    return entry.kind is Kind.ARTICLE and entry.data["why"] != Reason.SAMPLE


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
