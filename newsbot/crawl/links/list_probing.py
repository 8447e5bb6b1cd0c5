"""Lists that nobody vouches for (pages of a section, years of an archive) are tried before more are read.

One of a kind is visited; what it leads to tells whether the others are worth it
(:mod:`newsbot.discovery.list_probing` keeps
that). Another worker's visit tells as much, by the history of the page.
"""

from __future__ import annotations

from collections.abc import Iterable

from newsbot.crawl.context import CrawlState
from newsbot.crawl.entries import Batch, page_for
from newsbot.crawl.visit import Visit
from newsbot.discovery.list_probing import belongs_to, narrows
from newsbot.discovery.traps import is_archive, is_archive_front, is_pagination
from newsbot.frontier.base import Entry
from newsbot.items import Kind
from newsbot.urls import canonicalize, fingerprint

LIST_EVENT = "list"
"""In the history of a list under trial: what it led to."""


def weigh_lists(state: CrawlState, batch: Batch, visit: Visit | None) -> None:
    """Keep lists that nobody vouches for only while lists like them yield articles: a calendar has no end.

    Home pages and patterns of the rule are exempt.
    """
    fruitful = visit is None or visit.kind is not Kind.SECTION or visit.lease.entry.depth == 0
    if visit is not None and not fruitful:
        fruitful = _yields_articles(state, batch, visit)
        _tell_trial(state, batch, visit, fruitful=fruitful)
    lists = {key: entry for key, entry in batch.entries.items() if _needs_trial(entry)}
    known = state.frontier.known(list(lists)) if lists else {}
    # known lists cost nothing here, and are no trial: they may not be due for long
    new = {key: entry for key, entry in lists.items() if key not in known and not entry.data.get("force")}
    _hear_of_trials(state, new.values())
    for key, entry in new.items():
        strange = is_pagination(entry.url) and not belongs_to(entry.url, entry.data["referrer"] or "")
        wanted = not strange and (fruitful or (visit is not None and _leads_on(entry.url, _address(visit))))
        if wanted and state.list_trials.may_try(entry.data["source"], entry.url):
            continue
        if wanted and not state.list_trials.is_given_up(entry.data["source"], entry.url):
            state.list_trials.hold(entry.data["source"], entry.url, entry)
            if visit is not None:
                # a worker that dies forgets what it holds: the page must not be found unchanged then
                visit.page.update(content_hash=None, etag=None, last_modified=None)
        del batch.entries[key]
        batch.rejected["barren_list"] += 1
    batch.pages = [page for page in batch.pages if page.fingerprint in batch.entries]


def end_trial(state: CrawlState, visit: Visit) -> None:
    """Let another list be tried when the one under trial could not show what it holds."""
    if visit.tried or not _needs_trial(visit.lease.entry):
        return
    domain, url = visit.rule.domain, visit.lease.entry.url
    if visit.outcome.failed and visit.outcome.error not in ("too_young", "ours"):
        state.list_trials.tell(domain, url, fruitful=False)
    else:
        state.list_trials.release(domain, url)
    visit.tried = True


def _tell_trial(state: CrawlState, batch: Batch, visit: Visit, *, fruitful: bool) -> None:
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
        if not state.list_trials.is_given_up(domain, entry.url)
    )
    if below and not fruitful:
        state.list_trials.release(domain, url)
        return
    state.list_trials.tell(domain, url, fruitful=fruitful)
    visit.note(state.clock(), LIST_EVENT, fruitful=fruitful)
    for entry in state.list_trials.released(domain, url) if fruitful else ():
        if entry.fingerprint not in batch.entries:
            batch.entries[entry.fingerprint] = entry
            batch.pages.append(page_for(entry, state.clock()))


def _hear_of_trials(state: CrawlState, lists: Iterable[Entry]) -> None:
    """Learn what became of lists under trial that another worker has visited: its page record tells."""
    waiting: dict[bytes, tuple[str, str]] = {}
    for entry in lists:
        domain = entry.data["source"]
        url = state.list_trials.waiting(domain, entry.url, state.clock())
        if url is not None:
            rule = state.rules.get(domain) or state.rule_for(url)
            waiting[fingerprint(canonicalize(url, rule.drop_query))] = (domain, url)
    for key, page in (state.storage.pages.get(list(waiting)) if waiting else {}).items():
        told = [event for event in page.history if event.get("event") == LIST_EVENT]
        if told or page.state in ("gone", "failed"):
            domain, url = waiting[key]
            state.list_trials.tell(domain, url, fruitful=bool(told and told[-1].get("fruitful")))


def _yields_articles(state: CrawlState, batch: Batch, visit: Visit) -> bool:
    """Return True if the page leads to articles nobody knew; also if it did so in a visit that broke off.

    A worker that is killed after it has queued a page's links leaves them to the next visit as known.
    """
    articles = {key: entry for key, entry in batch.entries.items() if entry.kind is Kind.ARTICLE}
    known = state.frontier.known(list(articles))
    if any(key not in known for key in articles):
        return True
    last = None if visit.record is None else visit.record.last_fetched
    return any(
        page.referrers[:1] == [articles[key].data["referrer"]] and (last is None or page.first_seen > last)
        for key, page in state.storage.pages.get(list(articles)).items()
    )


def _needs_trial(entry: Entry) -> bool:
    return entry.kind is Kind.SECTION and entry.data["why"] == "list"


def _leads_on(url: str, page: str) -> bool:
    """Tell the months of a year, the days of a month, and the years that an archive's entrance names."""
    return narrows(url, page) or (is_archive_front(page) and is_archive(url))


def _address(visit: Visit) -> str:
    return visit.lease.entry.url
