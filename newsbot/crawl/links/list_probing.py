"""Tries one list of a kind (pages of a section, years of an archive) before more of that kind are read.

One of a kind is visited; what it leads to tells whether the others are worth it
(:mod:`newsbot.discovery.list_probing`
keeps that). A visit of another worker counts as well, by the history of the page.
"""

from __future__ import annotations

from collections.abc import Iterable

from newsbot.crawl.context import Context
from newsbot.crawl.entries import Batch, page_for
from newsbot.crawl.visit import Visit
from newsbot.discovery.list_probing import ListTrials, belongs_to, narrows
from newsbot.discovery.traps import is_archive, is_archive_front, is_pagination
from newsbot.frontier.base import Entry
from newsbot.items import EventKind, Kind, Reason
from newsbot.urls import canonicalize, fingerprint


class ListProbing:
    """Which lists are tried, and what became of them in this crawl."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._trials = ListTrials()

    def weigh(self, batch: Batch, visit: Visit | None) -> None:
        """Keep lists that nobody vouches for only while such lists yield articles: calendars are endless.

        Home pages and patterns of the rule are exempt.
        """
        fruitful = visit is None or visit.kind is not Kind.SECTION or visit.lease.entry.depth == 0
        if visit is not None and not fruitful:
            fruitful = self._yields_articles(batch, visit)
            self._tell(batch, visit, fruitful=fruitful)
        lists = {key: entry for key, entry in batch.entries.items() if _needs_trial(entry)}
        known = self._context.frontier.known(list(lists)) if lists else {}
        # known lists cost nothing here, and are no trial: they may not be due for long
        new = {key: entry for key, entry in lists.items() if key not in known and not entry.data.get("force")}
        self._hear(new.values())
        for key, entry in new.items():
            strange = is_pagination(entry.url) and not belongs_to(entry.url, entry.data["referrer"] or "")
            wanted = not strange and (
                fruitful or (visit is not None and _leads_on(entry.url, _address(visit)))
            )
            if wanted and self._trials.may_try(entry.data["source"], entry.url):
                continue
            if wanted and not self._trials.is_given_up(entry.data["source"], entry.url):
                self._trials.hold(entry.data["source"], entry.url, entry)
                if visit is not None:
                    # a worker that dies forgets what it holds: the page must not be found unchanged then
                    visit.page.update(content_hash=None, etag=None, last_modified=None)
            del batch.entries[key]
            batch.rejected[Reason.BARREN_LIST] += 1
        batch.pages = [page for page in batch.pages if page.fingerprint in batch.entries]

    def end(self, visit: Visit) -> None:
        """Let another list be tried when the one under trial could not show what it holds."""
        if visit.tried or not _needs_trial(visit.lease.entry):
            return
        domain, url = visit.rule.domain, visit.lease.entry.url
        if visit.outcome.failed and visit.outcome.error not in (Reason.TOO_YOUNG, Reason.OURS):
            self._trials.tell(domain, url, fruitful=False)
        else:
            self._trials.release(domain, url)
        visit.tried = True

    def _tell(self, batch: Batch, visit: Visit, *, fruitful: bool) -> None:
        """Record what the list under trial holds, and queue what waited for it.

        A year that leads to months is neither fruitful nor barren before one of its days is.
        """
        domain, url = visit.rule.domain, visit.lease.entry.url
        if not _needs_trial(visit.lease.entry):
            return
        visit.tried = True
        below = any(
            _needs_trial(entry) and _leads_on(entry.url, url)
            for entry in batch.entries.values()
            if not self._trials.is_given_up(domain, entry.url)
        )
        if below and not fruitful:
            self._trials.release(domain, url)
            return
        self._trials.tell(domain, url, fruitful=fruitful)
        visit.note(self._context.clock(), EventKind.LIST, fruitful=fruitful)
        for entry in self._trials.released(domain, url) if fruitful else ():
            if entry.fingerprint not in batch.entries:
                batch.entries[entry.fingerprint] = entry
                batch.pages.append(page_for(entry, self._context.clock()))

    def _hear(self, lists: Iterable[Entry]) -> None:
        """Learn what became of lists under trial that another worker has visited: its page record tells."""
        waiting: dict[bytes, tuple[str, str]] = {}
        for entry in lists:
            domain = entry.data["source"]
            url = self._trials.waiting(domain, entry.url, self._context.clock())
            if url is not None:
                rule = self._context.rules.get(domain) or self._context.rule_for(url)
                waiting[fingerprint(canonicalize(url, rule.drop_query))] = (domain, url)
        for key, page in (self._context.storage.pages.get(list(waiting)) if waiting else {}).items():
            told = page.last(EventKind.LIST)
            if told is not None or page.state in ("gone", "failed"):
                domain, url = waiting[key]
                self._trials.tell(domain, url, fruitful=told is not None and bool(told.get("fruitful")))

    def _yields_articles(self, batch: Batch, visit: Visit) -> bool:
        """Return True if the page leads to articles nobody knew; also if it did so in a visit that broke off.

        A worker that is killed after it has queued a page's links leaves them to the next visit as known.
        """
        articles = {key: entry for key, entry in batch.entries.items() if entry.kind is Kind.ARTICLE}
        known = self._context.frontier.known(list(articles))
        if any(key not in known for key in articles):
            return True
        last = None if visit.record is None else visit.record.last_fetched
        return any(
            page.referrers[:1] == [articles[key].data["referrer"]]
            and (last is None or page.first_seen > last)
            for key, page in self._context.storage.pages.get(list(articles)).items()
        )


def _needs_trial(entry: Entry) -> bool:
    return entry.kind is Kind.SECTION and entry.data["why"] == Reason.LIST


def _leads_on(url: str, page: str) -> bool:
    """Tell the months of a year, the days of a month, and the years that an archive's entrance names."""
    return narrows(url, page) or (is_archive_front(page) and is_archive(url))


def _address(visit: Visit) -> str:
    return visit.lease.entry.url
