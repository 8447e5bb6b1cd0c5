"""Decides how far a list is read, and whether it led to articles.

A site may link to hundreds of calendar days, tags and months of an archive. Such lists are families, as
articles are (:mod:`newsbot.crawl.links.families`): one list of a family is read first, and the others wait
until it has led to new articles. The pages of one list are read one after the other.
"""

from __future__ import annotations

from newsbot.clock import from_iso
from newsbot.crawl.context import Context
from newsbot.crawl.entries import Batch
from newsbot.crawl.links.families import Families, is_found_list
from newsbot.crawl.scope import Scope
from newsbot.crawl.source_state import SourceRegistry
from newsbot.crawl.visit import Visit
from newsbot.frontier.base import Entry, known_of
from newsbot.items import Kind, Reason, Where
from newsbot.pages.discovery.list_pages import ListWalks, is_archive, is_archive_front, is_index, narrows


class Lists:
    """Records the results of lists. All methods raise :class:`newsbot.errors.DataError`."""

    def __init__(self, context: Context, scope: Scope, registry: SourceRegistry, families: Families) -> None:
        self._context, self._scope, self._registry, self._families = context, scope, registry, families
        self._walks = ListWalks()

    def weigh(self, batch: Batch, visit: Visit | None) -> None:
        """Record the result of the visited list. Remove the link to its next page if it is not worth
        reading."""
        if visit is None:
            return
        # The reader passes links to next pages in a separate batch, after the other links. The result of the
        # first batch is then in visit.settling.goes_on.
        of_next_pages = bool(batch.entries) and all(map(_is_next_page, batch.entries.values()))
        if visit.kind is Kind.SECTION and not of_next_pages:
            self._tell(batch, visit, fruitful=self._is_fruitful(batch, visit))
        if not visit.settling.goes_on:
            for key in [key for key, entry in batch.entries.items() if _is_next_page(entry)]:
                del batch.entries[key]
                batch.rejected[Reason.BARREN_LIST] += 1
            batch.pages = [page for page in batch.pages if page.fingerprint in batch.entries]

    def end(self, visit: Visit) -> None:
        """Record that a list could not be read, and the date of an article."""
        # Many lists have no dates. The date of an article shows how far back the list that links to it goes.
        published = from_iso(visit.reading.published_at)
        if published is not None and visit.data.get("referrer"):
            self._walks.dated(visit.data["referrer"] or "", published.timestamp())
        if visit.outcome.failed and visit.outcome.error not in (Reason.TOO_YOUNG, Reason.OURS):
            self._tell(Batch(), visit, fruitful=False)

    def _is_fruitful(self, batch: Batch, visit: Visit) -> bool | None:
        """Return True if a list led to new articles, and None if it led only to links of unknown families.

        Sets ``visit.settling.goes_on``, which says whether the next page of the list is worth reading. At the
        first visit of a page, or if the crawl has the argument ``since``, the page must show articles that
        are recent enough and were not on the preceding pages. At later visits, at least half of the page's
        articles must be new.
        """
        found = {**batch.entries, **batch.held}
        articles = {key: entry for key, entry in found.items() if _is_likely(entry)}
        new_ones = articles.keys() - known_of(self._context.frontier, articles.values())
        new = len(new_ones)
        domain, url, entry = visit.rule.domain, visit.lease.entry.url, visit.lease.entry
        before = entry.data.get("referrer") if _is_next_page(entry) else None
        unread = self._walks.read(domain, url, before, articles)
        for one in articles.values():
            if (listed := from_iso(one.data.get("published_at"))) is not None:
                self._walks.dated(url, listed.timestamp())
        has_sitemap = self._registry.of(domain).sitemap
        if not new and not self._families.needs_lists(domain, has_sitemap=has_sitemap):
            visit.settling.goes_on = False
        elif _is_first(visit) or self._scope.arguments.since is not None:
            since = self._scope.since_of_lists(self._walks.shown(domain))
            is_old = since is not None and self._walks.is_older(url, since.timestamp())
            visit.settling.goes_on = unread and not is_old
        else:
            visit.settling.goes_on = bool(new) and 2 * new >= len(articles)
        return None if new and new_ones <= batch.held.keys() else bool(new)

    def _tell(self, batch: Batch, visit: Visit, *, fruitful: bool | None) -> None:
        """Record the result of the first visit of a list.

        An archive page of a year that leads only to months has no result yet. The page of a month will
        decide.
        """
        entry = visit.lease.entry
        is_next = _is_next_page(entry) and fruitful is not False
        if visit.settling.told or not _is_first(visit) or not (is_next or is_found_list(entry)):
            return
        below = any(is_found_list(one) and _leads_on(one, entry.url) for one in batch.held.values())
        if fruitful is False and below:
            self._families.leads_on(entry)
        else:
            self._families.tell_list(entry, fruitful=is_next or fruitful)
        visit.settling.told = True


def _is_first(visit: Visit) -> bool:
    return visit.record is None or visit.record.last_full_fetch is None


def _is_next_page(entry: Entry) -> bool:
    """Return True for the second or a later page of a list."""
    return entry.data.get("where") == Where.NEXT_PAGE


def _is_likely(entry: Entry) -> bool:
    """Return True for a link to a probable article. Samples of families do not count."""
    return entry.kind is Kind.ARTICLE and entry.data["why"] != Reason.SAMPLE


def _leads_on(entry: Entry, page: str) -> bool:
    """Return True if the list of ``entry`` is one level below the list at the URL ``page``.

    Examples are the months of a year, the days of a month, the years on the front page of an archive, and the
    tags on the page that lists all tags.
    """
    url = entry.url
    of_index = is_index(page) and entry.data["why"] == Reason.SUBJECT_LIST and not is_index(url)
    return narrows(url, page) or (is_archive_front(page) and is_archive(url)) or of_index
