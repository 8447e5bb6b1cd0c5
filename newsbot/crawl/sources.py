"""The sources of a crawl: the seeds, which sources sites have, their records, and when they are polled again.

A *source* is a feed, a sitemap or a section, and a *poll* is a visit of a source. *Seeds* are the sources
that the rules and the arguments name. The *rhythm* of a source is the state that its recrawl policy keeps
between two polls. :class:`Hubs` stores the WebSub hubs that feeds and sections name.

:class:`RecrawlPolicies` chooses the policy that decides when a page is fetched again. All sources share a
budget of polls. The other pages of a site share a budget of visits (policy ``optimum``), or are fetched again
at fixed ages.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from scrapy.http import Response

from newsbot.clock import DAY, Clock
from newsbot.crawl.context import MAX_HOSTS, Context
from newsbot.crawl.entries import entry_again
from newsbot.crawl.failures import Ignored, is_no_source
from newsbot.crawl.scope import Arguments, Scope
from newsbot.crawl.visit import Due, Found, Visit
from newsbot.frontier.base import Entry, Frontier
from newsbot.items import Bounded, Kind, Link, PageRecord, Reason, Where, batched
from newsbot.pages.discovery.autodiscovery import topic_and_hubs
from newsbot.pages.discovery.list_pages import is_archive, is_pagination
from newsbot.pages.discovery.reader import claiming
from newsbot.pages.rules import RuleSet
from newsbot.pages.rules.rule import RECRAWL, Rule, classify
from newsbot.pages.rules.shape import probability
from newsbot.ranking.judging import article_odds
from newsbot.recrawl.planning import DEAD_AFTER, HOUR, FixedIntervals, Never, Policy
from newsbot.recrawl.policies import (
    HIGHEST,
    LOWEST,
    POLLS_AN_HOUR,
    Controller,
    Ladder,
    OldList,
    Optimum,
    SourceIndex,
    begin_with_rates,
    first_threshold,
    number_for,
    rough_rate,
)
from newsbot.sites.health import is_silent
from newsbot.storage.base import Poll, SourceRecord, Storage
from newsbot.urls import canonicalize, fingerprint

logger = logging.getLogger(__name__)

TOGETHER = 200
"""Number of links from rules that are queued in one transaction. One transaction per rule would be slow."""
LIKELY = 0.5
"""Minimum probability that a URL from the arguments is an article, if its path ends with a slash."""
SHOWN = 5
"""Maximum number of sites that a log line names."""


def seeds(context: Context, scope: Scope) -> Iterator[Found]:
    """Yield the links that the crawl begins with: first the links of rules, then the links of arguments."""
    bare: dict[tuple[str, ...], list[str]] = {}
    # Seeds on the site's own hosts need no ``source``, so seeds of many rules can be queued together.
    at_home: list[Link] = []
    for rule in scope.selected_rules():
        links = tuple(_of_rule(context, rule, scope.arguments.follow))
        if all(_is_at_home(context, rule, link) for link in links):
            at_home += links
        else:
            yield Found(links=links, referrer=None, depth=0, site=rule.domain)
        if len(at_home) >= TOGETHER:
            yield Found(links=tuple(at_home), referrer=None, depth=0)
            at_home = []
        if not links:
            bare.setdefault(scope.arguments.follow or rule.follow or (), []).append(rule.domain)
    if at_home:
        yield Found(links=tuple(at_home), referrer=None, depth=0)
    # A rule without seeds is probably a mistake: its ``follow`` allows only kinds of sources that the rule
    # does not name.
    for follow, domains in bare.items():
        names, kinds = ", ".join(domains[:SHOWN]), ",".join(follow)
        text = "no seeds sites=%d (%s) follow=%s; the rules name no such sources"
        logger.warning(text, len(domains), names, kinds)
    asked = tuple(_of_arguments(context, scope.arguments))
    if asked:
        yield Found(links=asked, referrer=None, depth=0, force=True)


def _is_at_home(context: Context, rule: Rule, link: Link) -> bool:
    """Return True if this rule covers the host of the link."""
    try:
        return context.rule_for(link.url) is rule
    except ValueError:
        return False


def _of_rule(context: Context, rule: Rule, follow: tuple[str, ...] | None) -> Iterator[Link]:
    chosen = follow or rule.follow
    if chosen is None or "feeds" in chosen:
        yield from (Link(url=url, where=Where.SEED, kind=_kind_of_feed(context, url)) for url in rule.feeds)
    if chosen is None or "sitemaps" in chosen:
        yield from (Link(url=url, where=Where.SEED, kind=Kind.SITEMAP) for url in rule.sitemaps)
    yield from (Link(url=url, where=Where.SEED, kind=Kind.SECTION) for url in _fronts(rule, chosen))


def _fronts(rule: Rule, chosen: tuple[str, ...] | None) -> tuple[str, ...]:
    """Return the URLs of the pages to begin with: seeds and sections of the rule, else the home page.

    ``chosen`` is the list ``follow`` that applies. If a rule names only feeds or sitemaps, the home page is
    read only if ``chosen`` includes ``sections`` or ``links``.
    """
    of_pages = chosen is None or "sections" in chosen or "links" in chosen
    given = (*rule.seeds, *rule.sections) if of_pages else ()
    finds_its_sources = not (rule.seeds or rule.has_sources)
    if finds_its_sources or (chosen and of_pages and not given):
        return (f"https://{rule.domain}/",)
    return given


def _of_arguments(context: Context, arguments: Arguments) -> Iterator[Link]:
    for url in arguments.feeds:
        yield Link(url=url, where=Where.ARGUMENT, kind=_kind_of_feed(context, url))
    for url in arguments.urls:
        yield Link(url=url, where=Where.ARGUMENT, kind=_kind_of(url, context.rule_for(url)))


def _kind_of_feed(context: Context, url: str) -> Kind:
    """Return the kind of a source that is named as a feed."""
    reader = claiming(context.readers, url)
    return Kind.FEED if reader is None else reader.kind


def _kind_of(url: str, rule: Rule) -> Kind:
    """Return the kind of a URL from the arguments. If the rule does not decide, the form of the URL
    decides."""
    canonical = canonicalize(url, rule.drop_query)
    match = classify(rule, canonical)
    if match.kind is not None:
        return match.kind
    path = canonical.split("://", 1)[-1].partition("/")[2]
    if not path or is_pagination(canonical) or is_archive(canonical):
        return Kind.SECTION
    # No rule decides. A path with a slash at its end is a list, unless it looks like an article.
    odds = article_odds(Link(url=url, where=Where.ARGUMENT), canonical)
    return Kind.SECTION if path.endswith("/") and probability(odds) < LIKELY else Kind.ARTICLE


def refuse_unnamed(context: Context, scope: Scope, visit: Visit) -> None:
    """Raise :class:`Ignored` if the page came from a rule, and no rule names or covers it now.

    If a rule named a source itself, the source is due again only when a rule names it again. If the page was
    found on the site of a deleted rule, newsbot checks once a day, without a request, whether a rule covers
    it again.
    """
    if is_unnamed(context, scope, visit):
        if visit.data.get("where") == Where.SEED:
            visit.due = Due(None)
        raise Ignored(Reason.UNNAMED, "no rule names this page any more")


def is_unnamed(context: Context, scope: Scope, visit: Visit) -> bool:
    """Return True for a page that came from a rule, if the rule was deleted or no longer names the page."""
    domain = visit.data.get("source", "")
    if visit.forced:
        return False
    rule = context.rules.get(domain)
    if rule is None:
        asked = scope.limited_to is not None and domain in scope.limited_to
        covered = not visit.kind.is_source and context.rules.get(context.rule_for(visit.url).domain)
        return bool(visit.data.get("ruled")) and not asked and not covered
    if not visit.kind.is_source:
        return False
    if visit.data.get("where") != Where.SEED or not (rule.has_sources or rule.seeds):
        return False  # the source was found on a page, or its rule names no sources at all
    fronts = _fronts(rule, scope.arguments.follow or rule.follow)
    named = (*rule.feeds, *rule.sitemaps, *rule.sections, *rule.seeds, *fronts)
    key = visit.lease.entry.fingerprint
    return all(fingerprint(canonicalize(url, rule.drop_query)) != key for url in named)


# --- recrawl policies
ADJUST_EVERY = 600.0
"""Minimum number of seconds between two corrections of the threshold by any worker."""
GROWING = 60.0
"""Seconds until the next correction while sources are still being added. Workers read the note with the
threshold this often."""
NOTE, WEIGHTS = ("polling", "budget"), ("polling", "weights")
"""Kind and key of the note with the threshold, and of the note with the weights of sites.

An app writes the weights, by domain. The weight of a site says how useful its articles are; 1 on average.
"""
MAX_WEIGHT = 64.0
"""Largest weight that is used. Its inverse is the smallest one."""
SAMPLED = 500
"""Maximum number of sources whose rates are read to compute a threshold."""


class PollBudget:
    """Adjusts the threshold of the square-root index until all sources together use the poll budget.

    :mod:`newsbot.recrawl.policies` explains index and threshold. The threshold is in a note. The first worker
    that finds it outdated adjusts it for all workers, from the number of sources and from the hourly counters
    of polls. The cost does not depend on the number of sources.
    """

    def __init__(self, budget: float, clock: Clock, *, useful: bool = False) -> None:
        """``budget`` is in requests per hour. 0 means a budget of POLLS_AN_HOUR requests per hour for each
        source. If ``useful``, the weights of sites are used.

        Sources that failed at least DEAD_AFTER times in a row are not counted.
        """
        self._budget, self._clock = budget, clock
        self._threshold = 0.0
        self._names, self._weights = (NOTE, WEIGHTS) if useful else (NOTE,), dict[str, Any]()
        self._until = 0.0

    def threshold(self, storage: Storage, site: str = "") -> float:
        """Return the present threshold of the index for the sources of a site.

        Raises :class:`newsbot.errors.DataError`.
        """
        now = self._clock()
        # The lower bound matters if the clock was set back. Without it, the threshold would not change until
        # the clock reaches the old time.
        if not self._until - GROWING <= now < self._until:
            notes = storage.notes.get_many(self._names)
            kept, self._weights = notes.get(NOTE, {}), notes.get(WEIGHTS, {})
            if not self._is_valid(kept, now):
                adjusted = self._adjusted(storage, kept, now)
                # If another worker was faster, both thresholds are nearly the same.
                storage.notes.swap(*NOTE, kept or None, adjusted)
                kept = adjusted
            self._threshold, self._until = _number(kept, "value"), now + GROWING
        # An index that is multiplied by a weight reaches the threshold when the index itself reaches this.
        return self._threshold / min(MAX_WEIGHT, max(1 / MAX_WEIGHT, _number(self._weights, site, 1.0)))

    def _is_valid(self, kept: Mapping[str, Any], now: float) -> bool:
        """Return True if no worker needs to adjust the threshold of this note now."""
        sources, at = _number(kept, "sources"), _number(kept, "at")
        budget = self._budget or POLLS_AN_HOUR * sources
        known = _number(kept, "value") and sources and budget == _number(kept, "budget")
        # The time is before ``at`` if the clock was set back after the note was written.
        return bool(known) and at <= now < _number(kept, "next") and now < at + ADJUST_EVERY

    def _adjusted(self, storage: Storage, kept: dict[str, Any], now: float) -> dict[str, Any]:
        """Return the note with the threshold for the time ``now``. ``kept`` is the stored note."""
        sources = storage.sources.count(failures=DEAD_AFTER)
        alive = max(1, sources)
        budget = self._budget or POLLS_AN_HOUR * alive
        controller = Controller(budget, _number(kept, "value") or first_threshold(budget, alive), 0.5)
        controller.spent, controller.weight = _number(kept, "spent"), _number(kept, "weight")
        changed = _rescale(controller, kept, alive)
        before = _number(kept, "at", now)
        hours = (now - before) / HOUR
        # If the hours are negative, the clock was set back after the note was written.
        due = not kept or not 0 <= hours < ADJUST_EVERY / HOUR
        if due:
            polls = Counter({one.hour: one.counts.get("polls", 0) for one in storage.activity.hours(before)})
            if hours > 0 and "in_hour" in kept:
                # The polls of the first hour were counted before in part. They may have been removed since.
                controller.spend(max(0.0, polls.total() - _number(kept, "in_hour")) / hours, hours)
        if due or changed:
            rhythms = [one.rhythm for one in storage.sources.sample(SAMPLED, failures=DEAD_AFTER)]
            begin_with_rates(controller, rhythms, alive)
        return {
            "at": now if due else before,
            "next": now + (GROWING if changed or not sources else ADJUST_EVERY),
            "in_hour": polls[int(now // HOUR)] if due else _number(kept, "in_hour"),
            "value": controller.value,
            "spent": controller.spent,
            "weight": controller.weight,
            "sources": alive,
            "budget": budget,
        }


def _rescale(controller: Controller, kept: dict[str, Any], alive: int) -> bool:
    """Adapt the threshold at once if the budget or the number of sources has changed.

    ``kept`` is the stored note. ``alive`` is the present number of sources. Returns True if the budget or the
    number differs from the note. The controller is slow on purpose: without this function, it would need days
    to reach the new threshold.
    """
    before, budget = _number(kept, "sources"), _number(kept, "budget")
    if not (before and budget) or (before, budget) == (alive, controller.budget):
        return False
    # The mean pause between two polls of a source changes by this ratio. The pause grows with the square root
    # of the threshold, so the threshold changes by the ratio's square.
    rest = (alive / controller.budget) / (before / budget)
    controller.value = min(HIGHEST, max(LOWEST, controller.value * rest**2))
    # ``spent`` is compared with the budget, so it is scaled in the same way
    controller.spent *= controller.budget / budget
    return True


def _number(note: Mapping[str, Any], name: str, default: float = 0.0) -> float:
    value = note.get(name, default)
    return float(value) if isinstance(value, int | float) and value >= 0 else default


SAMPLE = 2000
"""Maximum number of a site's page records that are read. Reading them takes less than a second."""
ANEW_AFTER = 3600.0
"""The policy of a site's pages is computed again after this number of seconds."""


class PagePrices:
    """Computes the ``optimum`` policy of each site and kind of page.

    ``visits_a_day`` is the average number of visits per page and day. Each worker computes the policy itself.
    All workers read the same records, so their results hardly differ.
    """

    def __init__(self, visits_a_day: float, clock: Clock) -> None:
        self._visits_each, self._clock = visits_a_day / DAY, clock
        self._known = Bounded[tuple[str, Kind], tuple[float, Optimum]](MAX_HOSTS)

    def policy(self, storage: Storage, domain: str, kind: Kind) -> Optimum:
        """Return the policy for the pages of this site and kind. Raises :class:`newsbot.errors.DataError`."""
        now = self._clock()
        at, policy = self._known.get((domain, kind), (0.0, None))
        if policy is None or not at <= now < at + ANEW_AFTER:
            pages = islice(storage.pages.iter(site=domain, kind=kind), SAMPLE)
            rates = [rate for page in pages if (rate := rough_rate(page, self._visits_each)) is not None]
            number = number_for(rates, self._visits_each) if rates else 0.0
            policy = Optimum(number, self._visits_each)
            self._known[domain, kind] = now, policy
        return policy


PAGES: Mapping[str, Policy] = {
    "ladder": Ladder(),
    "fixed": FixedIntervals(),
    "off": Never(),
}
"""The policies that the rule key ``recrawl`` can name for articles and other pages, besides ``optimum``."""


class RecrawlPolicies:
    """Selects the policy of each visited page.

    ``budget`` is for sources: :class:`SourceState` uses it.
    """

    def __init__(self, context: Context, budget: PollBudget, prices: PagePrices) -> None:
        self._context, self.budget, self._prices = context, budget, prices

    def of(self, visit: Visit) -> Policy:
        """Return the policy for the visited page.

        A source whose polls are counted gets its policy from :class:`SourceState`.
        Raises :class:`newsbot.errors.DataError`.
        """
        if visit.kind.is_source:
            return FixedIntervals()
        kind = visit.outcome.seen_as
        word = visit.rule.recrawl.get(kind, RECRAWL[kind][0])
        if word == "optimum":
            return self._prices.policy(self._context.storage, visit.rule.domain, visit.kind)
        return PAGES[word]


# --- state of sources
_NO_POLL = (Reason.TOO_YOUNG, Reason.UNNAMED)
"""Errors of visits that sent no request to the site."""
MOST_READ = 20
"""Maximum number of a site's sources of one kind that are read to find one that exists."""
BATCH = 1000
"""Number of pages that :func:`make_due` reads and queues together."""


@dataclass(slots=True)
class SiteSources:
    """The known sources of one site, without sources that are known to be dead."""

    feed: bool = False
    """True if a feed is known."""
    sitemap: bool = False
    """True if a sitemap is known."""

    @property
    def any(self) -> bool:
        """True if a feed or sitemap is known."""
        return self.feed or self.sitemap

    def has(self, kind: Kind | None) -> bool:
        """Return True if a source of this kind, FEED or SITEMAP, is known."""
        return self.sitemap if kind is not None and kind.is_sitemap else self.feed

    def add(self, kind: Kind, *, known: bool = True) -> None:
        """Record whether a source of this kind, FEED or SITEMAP, is known."""
        if kind.is_sitemap:
            self.sitemap = known
        else:
            self.feed = known


class SourceRegistry:
    """Records which sites have feeds or sitemaps, and which feeds and sitemaps are dead.

    The sources of a site are read when they are needed. :data:`MAX_HOSTS` sites are kept in memory.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._sites = Bounded[str, SiteSources](MAX_HOSTS)
        self._dead = Bounded[str, bool](MAX_HOSTS)
        """URLs of feeds and sitemaps. True if no source exists there, although a page or robots.txt names
        it."""
        self.sitemap_files = Bounded[str, int](MAX_HOSTS)
        """The number of files of sitemap indexes that this crawl has queued, by domain."""

    def forget(self) -> None:
        """Read the sources of all sites again when they are needed, because the rules have changed."""
        self._sites.clear()

    def of(self, domain: str) -> SiteSources:
        """Return the sources of a site. Raises :class:`newsbot.errors.DataError`."""
        if domain not in self._sites:
            rule = self._context.rules.get(domain)
            named = SiteSources() if rule is None else SiteSources(bool(rule.feeds), bool(rule.sitemaps))
            for kind in (Kind.FEED, Kind.SITEMAP):
                if not named.has(kind):
                    some = self._context.storage.sources.best(domain, kind, MOST_READ)
                    named.add(kind, known=not all(map(_is_gone, some)))
            self._sites[domain] = named
        return self._sites[domain]

    def found(self, entries: Sequence[Entry]) -> None:
        """Add feeds and sitemaps that were queued. Raises :class:`newsbot.errors.DataError`."""
        for entry in entries:
            site = self.of(entry.data["source"])
            if not site.has(entry.kind) and not self._is_dead(entry.url):
                site.add(entry.kind)

    def judged(self, url: str, *, dead: bool) -> None:
        """Record whether a feed or sitemap is dead."""
        self._dead[url] = dead

    def _is_dead(self, url: str) -> bool:
        if url not in self._dead:
            known = self._context.storage.sources.get(url)
            self._dead[url] = known is not None and _is_gone(known)
        return self._dead[url]


def _is_gone(source: SourceRecord) -> bool:
    # A source counts as dead only if its URL is gone, or leads to something else. A source that timed out may
    # come back.
    return bool(source.failures) and is_no_source(source.last_error or "")


class SourceState:
    """Loads the record of the source that a visit polls, chooses its policy, and updates the record.

    ``url`` is the URL of the page record, which identifies the source.
    """

    def __init__(self, context: Context, budget: PollBudget, visit: Visit, url: str) -> None:
        self._context, self._visit, self.outcome = context, visit, visit.outcome
        known, domain = context.storage.sources.get(url), visit.rule.domain
        if known is None or known.source != domain:
            known = SourceRecord(url=url, source=domain, kind=visit.kind)
        self._source = known
        self._recall_hints()
        self.policy: Policy = FixedIntervals()
        self.as_written = visit.rule.recrawl.get(visit.kind.like) == "fixed"
        """True if the policy's interval is used even if the publisher's hints (such as ``ttl``) differ."""
        if self.as_written or self.outcome.error in _NO_POLL:
            return
        if _is_old_list(visit):
            self.policy, self.as_written = OldList(), True
        else:
            self.policy = SourceIndex(self._source.rhythm, budget.threshold(context.storage, domain))

    def _recall_hints(self) -> None:
        """Store the feed's ``ttl`` and ``skipHours`` in the rhythm, or restore them from it.

        They are restored if the response shows no items, for example because it is a 304 without a body.
        """
        outcome, rhythm = self.outcome, self._source.rhythm
        if outcome.shown:
            rhythm.update(ttl=outcome.ttl, skip_hours=sorted(outcome.skip_hours))
            return
        ttl, hours = rhythm.get("ttl"), rhythm.get("skip_hours")
        self.outcome = replace(
            outcome,
            ttl=float(ttl) if isinstance(ttl, int | float) else None,
            skip_hours=frozenset(hours) if isinstance(hours, list) else frozenset(),
        )

    def write(self, record: PageRecord) -> None:
        """Count the poll in the source's record.

        ``record`` is the page record with the next due time. A second call for the same visit changes
        nothing. This is needed because a visit is completed again after a fault. Raises
        :class:`newsbot.errors.DataError`.
        """
        visit, source, outcome = self._visit, self._source, self.outcome
        if visit.settling.booked:
            return
        now = self._context.clock()
        if outcome.error not in _NO_POLL:
            source.polls += 1
            source.last_poll = now
            self._context.count_site(source.source, "polls")
            source.unchanged += outcome.not_modified or outcome.changed is False
            self._log(now)
        source.new_links += outcome.new_items
        if outcome.new_items:
            source.last_new = now
        # A visit without a request (_NO_POLL) neither continues nor ends a series of failures.
        if outcome.error and outcome.error not in _NO_POLL:
            source.failures += 1
            source.failing_since = source.failing_since or now
            source.last_error = outcome.error
        elif not outcome.error:
            source.failures, source.failing_since, source.last_error = 0, None, None
        source.next_due = record.next_due
        if isinstance(self.policy, SourceIndex):
            source.rhythm = self.policy.rhythm
        source.silent = is_silent(source)
        self._context.storage.sources.save([source])
        visit.settling.booked = True

    def _log(self, now: float) -> None:
        outcome, answer = self.outcome, self._visit.answer
        if outcome.failed:
            return
        poll = Poll(
            at=int(now),
            new=outcome.new_items,
            shown=outcome.shown,
            size=0 if outcome.not_modified else int((answer and answer.fields.get("content_length")) or 0),
            unchanged=outcome.not_modified or outcome.changed is False,
        )
        self._context.storage.sources.log_poll(self._source.url, poll)


def _is_old_list(visit: Visit) -> bool:
    """Return True if the visited page is a list of old articles that neither a rule nor a person named."""
    named = visit.data.get("where") in (Where.SEED, Where.ARGUMENT)
    by_subject = visit.data.get("why") == Reason.SUBJECT_LIST
    return not named and (by_subject or is_old_list(visit.kind, visit.lease.entry.url))


def is_old_list(kind: Kind, url: str) -> bool:
    """Return True for every page of a list after the first one, and for the archive page of a date."""
    return kind is Kind.SECTION and (is_pagination(url) or is_archive(url))


def make_due(
    storage: Storage, frontier: Frontier, rules: RuleSet, domains: Collection[str] | None, now: float
) -> int:
    """Queue the known sources of the sites ``domains`` for an immediate visit. Return their number.

    None means all sites. Lists of old articles are left out. ``now`` is in POSIX seconds. Raises
    :class:`newsbot.errors.DataError`.
    """
    every = (
        one for domain in ([None] if domains is None else domains) for one in storage.sources.iter(domain)
    )
    number = 0
    for some in batched((one for one in every if not is_old_list(one.kind, one.url)), BATCH):
        # The key depends on the rule's drop_query, so it is made with the rule that queued the source.
        chosen = [(one.url, rules.get(one.source) or rules.for_url(one.url)) for one in some]
        keys = [fingerprint(canonicalize(url, rule.drop_query)) for url, rule in chosen]
        entries = [replace(entry_again(page), due=0.0) for page in storage.pages.get(keys).values()]
        # ``Visit.forced`` is True only until the page is fetched after its discovery. The time of discovery
        # is set to now, so that exactly one visit counts as forced.
        for entry in entries:
            entry.data["force"], entry.data["discovered_at"] = True, now
        frontier.add(entries, force=True)
        number += len(keys)
    return number


# --- hubs
# Each page has one note of the kind ``hub``: ``{"topic": …, "hubs": […]}``, so that ``scrapy serve`` can
# subscribe to the hubs. The note is deleted if the page no longer names a hub. WebSub is a W3C
# recommendation. A hub is a server that notifies its subscribers when a page changes.

HUB = "hub"
MAX_HUBS = 10


class Hubs:
    """Reads and writes the hub notes in one crawl."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._offers = Bounded[str, dict[str, Any] | None](MAX_HOSTS)
        """The hub note in the storage, by page URL; None if the page has no note."""

    def offer(self, response: Response, visit: Visit, hubs: Sequence[str], self_url: str | None) -> None:
        """Store the hubs of a page: first the hubs in its Link headers, then ``hubs`` from the document.

        ``self_url`` is the topic that the document names. The topic is the URL to which a subscriber
        subscribes. Raises :class:`newsbot.errors.DataError`.
        """
        headers = [value.decode("latin-1") for value in response.headers.getlist("Link")]
        found = topic_and_hubs(headers, response.url, hubs, self_url)
        notes = self._context.notes
        page, known = visit.lease.entry.url, self._offers
        if page not in known:
            known[page] = notes.get_many([(HUB, page)]).get((HUB, page))
        # ``scrapy serve`` must not renew a subscription to a hub that the page no longer names.
        if found is None:
            if known[page] is not None:
                notes.forget(HUB, page)
                known[page] = None
            return
        offer: dict[str, Any] = {
            "topic": found[0][:2000],
            "hubs": [hub[:2000] for hub in found[1][:MAX_HUBS]],
        }
        if known[page] != offer:
            notes.save(HUB, page, offer)
            known[page] = offer
