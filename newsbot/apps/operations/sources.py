"""``scrapy sources``: reports the state of each site and of its feeds, sitemaps and sections.

A source is a page with links to articles: a feed, a sitemap or a section.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from heapq import merge
from itertools import groupby, islice
from typing import Any

from newsbot.apps.numbers import iso_of, percent, share, utc_of
from newsbot.apps.operations.notifier_trust import Notifier, notifiers
from newsbot.apps.operations.verdict import alarms, in_words, line_of, verdict
from newsbot.backends import open_rules, queued, stored
from newsbot.cli.command import Action, Argument, Call, plain, positive
from newsbot.cli.program import PROGRAM
from newsbot.cli.terminal import columns, counted, when
from newsbot.errors import ArgumentError, did_you_mean
from newsbot.frontier.base import ASIDE, Entry
from newsbot.items import ArticleFilter, Kind, batched
from newsbot.pages.rules import RuleSet
from newsbot.pages.rules.rule import Rule, classify
from newsbot.ranking.families import NOTE_KIND, FamilyRow, SiteFamilies, rows_of, sentences
from newsbot.sites.health import Health, health, next_due
from newsbot.storage.articles import RepeatedText
from newsbot.storage.base import PAGE, SiteRecord, SourceRecord, Storage, site_names
from newsbot.storage.notes import Notes
from newsbot.urls import ascii_host, canonicalize


@dataclass(frozen=True, slots=True)
class Site:
    """One site with its sources."""

    domain: str
    articles: int
    """The number of articles, without posts."""
    posts: int
    record: SiteRecord
    sources: Sequence[SourceRecord]
    named: frozenset[str]
    """URLs of all feeds and sitemaps, and of the sections that the rule lists with their URLs."""

    def counter(self, name: str) -> int:
        """Return a counter, summed over all crawls; 0 if it does not exist."""
        return int(self.record.counters.get(name, 0))

    @property
    def useful_share(self) -> float | None:
        """Share (0 to 1) of the fetched pages that contained an article; None if no page was fetched.

        Feeds, sitemaps and sections do not count.
        """
        return share(self.counter("article_pages"), self.counter("pages"))


@dataclass(frozen=True, slots=True)
class SourceRow:
    """One feed, sitemap or section front."""

    url: str
    kind: str
    health: str
    why: str
    """The health, with the reason if the source fails."""
    polls: int
    unchanged_share: float | None
    new_links: int
    last_new: datetime | None
    last_poll: datetime | None
    next_poll: datetime | None
    failures: int
    failing_since: datetime | None
    last_error: str | None


def sites_of(storage: Storage, rules: RuleSet, chosen: Iterable[str] | None = None) -> Iterator[Site]:
    """Yield the sites of the domains ``chosen``, or all sites in the rules or the data, sorted by domain.

    A chosen site may be unknown. Only the records of :data:`PAGE` sites are in memory at a time.
    """
    for some in batched(known_sites(storage, rules) if chosen is None else chosen, PAGE):
        yield from _some_sites(storage, rules, some)


def _some_sites(storage: Storage, rules: RuleSet, names: Sequence[str]) -> Iterator[Site]:
    records = storage.sites.all(names)
    for one in names:
        rule = rules.get(one)
        polled = storage.sources.all(one)
        never = never_polled(rule, polled) if rule else []
        sources = [*sorted(polled, key=lambda record: (record.kind, record.url)), *never]
        yield Site(
            domain=one,
            articles=storage.articles.count(ArticleFilter(source=one, posts=False)),
            posts=storage.articles.count(ArticleFilter(source=one, posts=True)),
            record=records.get(one) or SiteRecord(source=one),
            sources=sources,
            named=frozenset(record.url for record in sources if _is_named(record, rule)),
        )


def known_sites(storage: Storage, rules: RuleSet, after: str = "") -> Iterator[str]:
    """Yield the domains of all sites in the rules or the data that follow ``after``, sorted."""
    own = sorted(rule.domain for rule in rules if rule.domain > after)
    yield from (name for name, _ in groupby(merge(own, site_names(storage.sites, after))))


def is_stored(domain: str, storage: Storage) -> bool:
    """Return True if a site is in the data."""
    return bool(storage.sites.all([domain]) or storage.sources.all(domain))


def chosen_site(domain: str, storage: Storage, rules: RuleSet) -> str:
    """Return the domain of a site in the form that rules and data use.

    If a rule covers the site, this is the domain of the rule, otherwise the ASCII form of ``domain``.

    Raises :class:`newsbot.errors.ArgumentError` if the site is neither in the rules nor in the data.
    """
    rule = rules.get(domain)
    chosen = rule.domain if rule else ascii_host(domain)
    if rule is None and not is_stored(chosen, storage):
        hint = did_you_mean(chosen, known_sites(storage, rules))
        raise ArgumentError(f"{domain!r} is not a site in the rules or the data{hint}")
    return chosen


def _is_named(record: SourceRecord, rule: Rule | None) -> bool:
    if record.kind is not Kind.SECTION:
        return True
    if rule is None:
        return False
    match = classify(rule, canonicalize(record.url, rule.drop_query))
    return match.kind is Kind.SECTION and match.pattern is None


def never_polled(rule: Rule, polled: Iterable[SourceRecord]) -> list[SourceRecord]:
    """Return empty records for the sources in a rule that were never fetched."""
    seen = {canonicalize(record.url, rule.drop_query) for record in polled}
    named = (
        (Kind.FEED, rule.feeds),
        (Kind.SITEMAP, rule.sitemaps),
        (Kind.SECTION, (*rule.sections, *rule.seeds)),
    )
    return [
        SourceRecord(url=url, source=rule.domain, kind=kind)
        for kind, urls in named
        for url in dict.fromkeys(urls)
        if canonicalize(url, rule.drop_query) not in seen
    ]


def health_text(one: SourceRecord, now: float) -> str:
    """Return the health of a source as text.

    The text of a failing source has the time, the error and the number of failures.
    """
    state = health(one, now)
    if state not in (Health.FAILING, Health.DEAD):
        return state.value
    since = "" if one.failing_since is None else f" since {when(one.failing_since, now)}"
    return f"{state}{since}: {in_words(one.last_error or '')}, {counted(one.failures, 'failure')}"


def source_row(one: SourceRecord, now: float) -> SourceRow:
    """Return the state of a source."""
    return SourceRow(
        url=one.url,
        kind=one.kind.value,
        health=health(one, now).value,
        why=health_text(one, now),
        polls=one.polls,
        unchanged_share=share(one.unchanged, one.polls),
        new_links=one.new_links,
        last_new=utc_of(one.last_new),
        last_poll=utc_of(one.last_poll),
        next_poll=utc_of(one.next_due),
        failures=one.failures,
        failing_since=utc_of(one.failing_since),
        last_error=one.last_error,
    )


LISTED = 1000
"""Maximum number of set-aside URLs that are read. If there are more, the latest ones are read.

A URL is set aside if its fetch failed too often, or if its lease was lost too often
(:mod:`newsbot.frontier.base`).
"""
SHOWN_ASIDE = 5
SHOWN_UNREAD = 5
SHOWN_REPEATED = 5
"""Maximum number of shown items of each list: set-aside URLs, sites that were never read, repeated texts."""
MOST_REPEATED = 100
"""Maximum number of repeated texts in the JSON document."""
OF_ALL_SITES = 100_000
"""Maximum number of repeated texts of all sites that are read to find the repeated texts of one site."""

SITE_COLUMNS = columns(
    "site | articles > | useful > 2 | last article > 1 | duplicates > 3 | unchanged > 4 | errors > "
    "| last error * | sources *"
)
SOURCE_COLUMNS = columns(
    "kind | polls > 3 | unchanged > 5 | new links > 4 | last new > 1 | last poll > 2 | next poll > "
    "| health * | source *"
)
SHOWN_WAITING = 5
"""Maximum number of families with waiting links that are named."""
NOTIFIER_COLUMNS = columns("notifier | notices > | precision > 2 | recall > 3 | believed > 1 | last >")


def sources(call: Call) -> None:
    """Print sites and sources. Without DOMAIN, also print the senders of notices."""
    rules = open_rules(call.settings)
    now = time.time()
    with stored(call.settings) as storage, queued(call.settings) as frontier:
        chosen = chosen_site(call.options.domain, storage, rules) if call.options.domain else None
        fallen = alarms(storage.notes)
        sites, after = _page(call, storage, rules, chosen, fallen)
        known = 1 if chosen else storage.sites.count({rule.domain for rule in rules})
        ahead = next_due(storage.sources, [chosen] if chosen else None, now)
        aside = frontier.aside(LISTED)
        number = frontier.counts()["aside"]
        waiting = waiting_rows(storage.notes, {site.domain for site in sites})
        repeated = storage.texts.repeated(limit=OF_ALL_SITES if chosen else MOST_REPEATED)
        found = verdict(call.settings, storage, frontier, rules, now)
        senders = [] if chosen or call.options.failing else notifiers(storage.notes, now)
    said = [] if chosen else [line_of(found, now)]
    if chosen:
        fallen = {domain: text for domain, text in fallen.items() if domain == chosen}
        repeated = [one for one in repeated if one.source == chosen][:MOST_REPEATED]
        aside = [entry for entry in aside if entry.data.get("source") == chosen]
        # The frontier can count set-aside entries only for all sites together. For one site, the list is
        # counted.
        number = len(aside)
    if call.json:
        call.document(
            {
                "verdict": found,
                "sites": [{**_site_document(site, now), "alarm": fallen.get(site.domain)} for site in sites],
                "sources": [
                    {"source": one.source, **plain(source_row(one, now))}
                    for site in sites
                    for one in site.sources
                    if _fails(one) or not call.options.failing
                ],
                "aside": [
                    {"url": entry.url, "source": entry.data.get("source"), "reason": entry.data.get(ASIDE)}
                    for entry in aside
                ],
                "aside_count": number,
                "waiting": [asdict(row) for row in waiting],
                "repeated_texts": repeated,
                "notifiers": senders,
                "after": after,
            }
        )
        return
    if call.options.failing and not sites:
        where = f" after {call.options.after}" if call.options.after else ""
        for line in (*said, f"no source is failing{where}; {counted(known, 'site')} checked"):
            call.note(line)
        return
    sites, unread = _parted(sites)
    # Sites with an alarm come first, then the sites with the most failing sources.
    sites.sort(key=lambda site: (site.domain not in fallen, -sum(map(_fails, site.sources)), site.domain))
    call.table(SITE_COLUMNS, (_site_row(site, now) for site in sites))
    call.text()
    all_sources = [one for site in sites for one in site.sources]
    if call.options.failing:
        shown = [one for one in all_sources if _fails(one)]
    else:
        # A crawl finds hundreds of sections. Without DOMAIN, sections are shown only if a rule names them.
        named = {url for site in sites for url in site.named}
        shown = [one for one in all_sources if chosen or one.url in named]
        shown.sort(key=lambda one: not _fails(one))
    call.table(SOURCE_COLUMNS, (_source_cells(one, now) for one in shown))
    left_out = len(all_sources) - len(shown)
    if left_out and not call.options.failing:
        call.note(f"{counted(left_out, 'section')} not shown; to see all, run: {PROGRAM} sources DOMAIN")
    if senders:
        call.text()
        call.table(NOTIFIER_COLUMNS, (_notifier_row(one, now) for one in senders))
    alarmed = [f"{domain}: {text}" for domain, text in sorted(fallen.items())]
    due = [f"{ahead}; to poll a site now, run: {PROGRAM} add --due SITE"]
    due = due if ahead and not call.options.failing else []
    for line in (
        *said,
        *([f"{counted(known, 'site')} in all; for the next ones: --after {after}"] if after else ()),
        *(*unread, *due, *alarmed, *aside_lines(aside, number)),
        *(*sentences(waiting, SHOWN_WAITING), *repeated_lines(repeated)),
    ):
        call.note(line)


def _page(
    call: Call, storage: Storage, rules: RuleSet, chosen: str | None, fallen: Iterable[str]
) -> tuple[list[Site], str | None]:
    """Return the sites to show, and the domain of the last one if others follow."""
    limit, after = call.options.limit, call.options.after
    if chosen:
        names = [chosen]
    elif call.options.failing:
        failing = [one.source for one in storage.sources.failing(limit + 1, after)]
        # The sites with an alarm that follow the last of these are on a later page.
        last = failing[-1] if len(failing) > limit else chr(0x10FFFF)
        names = sorted({*failing, *(name for name in fallen if after < name <= last)})[: limit + 1]
    else:
        names = list(islice(known_sites(storage, rules, after), limit + 1))
    sites = list(sites_of(storage, rules, names[:limit]))
    if call.options.failing:
        sites = [site for site in sites if site.domain in fallen or any(map(_fails, site.sources))]
    return sites, names[limit - 1] if len(names) > limit else None


def aside_lines(aside: Sequence[Entry], number: int) -> Iterator[str]:
    """Yield lines about the URLs that were set aside.

    ``aside`` has the latest of these URLs. ``number`` is the number of all URLs that were set aside.
    """
    if not number:
        return
    urls = counted(number, "URL")
    yield f"{urls} given up (for the reason: {PROGRAM} why URL; to queue a URL again: {PROGRAM} add URL):"
    for entry in aside[:SHOWN_ASIDE]:
        yield f"  {entry.url} ({in_words(str(entry.data.get(ASIDE, '')))})"
    if number > SHOWN_ASIDE:
        yield f"  and {counted(number - SHOWN_ASIDE, 'older one')}; --json lists up to {LISTED}"


def repeated_lines(repeated: Sequence[RepeatedText]) -> Iterator[str]:
    """Yield a line for each text that many URLs of a site returned, up to :data:`SHOWN_REPEATED`."""
    for one in repeated[:SHOWN_REPEATED]:
        yield (
            f"{one.source}: {counted(one.urls, 'URL')} returned one text, stored as {one.canonical_url}. "
            "It may be a cookie or log-in wall, or the URLs differ only in query parameters (drop_query). "
            f"To see the text, run: {PROGRAM} articles show URL"
        )
    if len(repeated) > SHOWN_REPEATED:
        more = counted(len(repeated) - SHOWN_REPEATED, "further text")
        yield f"  and {more}; --json lists up to {MOST_REPEATED}"


def _parted(sites: list[Site]) -> tuple[list[Site], list[str]]:
    """Return the sites to show, and a list with at most one note about sites that were never read.

    If no site was read yet, all sites are shown, and the list is empty.
    """
    read = [site for site in sites if _is_read(site)]
    unread = [site.domain for site in sites if not _is_read(site)]
    if not read or not unread:
        return sites, []
    names = ", ".join([*unread[:SHOWN_UNREAD], *(["…"] if len(unread) > SHOWN_UNREAD else [])])
    return read, [f"{counted(len(unread), 'site')} not read yet and not shown: {names}; --json lists all"]


def _is_read(site: Site) -> bool:
    """Return True if a page of the site was fetched, or if a fetch was tried."""
    return bool(
        site.articles
        or site.posts
        or site.record.counters
        or any(one.polls or one.failures for one in site.sources)
    )


def _fails(one: SourceRecord) -> bool:
    """Return True if the last poll of the source failed."""
    return one.failures > 0


def _site_row(site: Site, now: float) -> tuple[object, ...]:
    states = Counter(health(one, now) for one in site.sources)
    return (
        site.domain,
        f"{site.articles} + {counted(site.posts, 'post')}" if site.posts else site.articles,
        percent(site.useful_share),
        when(site.record.last_article, now),
        site.counter("duplicates"),
        site.counter("unchanged"),
        site.counter("errors"),
        site.record.last_error and in_words(site.record.last_error),
        ", ".join(f"{states[state]} {state}" for state in Health if states[state]),
    )


def _source_cells(one: SourceRecord, now: float) -> tuple[object, ...]:
    return (
        one.kind,
        one.polls,
        percent(share(one.unchanged, one.polls)),
        one.new_links,
        when(one.last_new, now),
        when(one.last_poll, now),
        when(one.next_due, now),
        health_text(one, now),
        one.url,
    )


def _notifier_row(one: Notifier, now: float) -> tuple[object, ...]:
    return (
        f"{one.protocol} {one.host}",
        round(one.notices, 1),
        percent(one.precision),
        percent(one.recall),
        percent(one.believed),
        when(one.last.timestamp(), now),
    )


def _site_document(site: Site, now: float) -> dict[str, Any]:
    return {
        "site": site.domain,
        "articles": site.articles,
        "posts": site.posts,
        "useful_share": site.useful_share,
        "last_article": iso_of(site.record.last_article),
        "last_error": site.record.last_error,
        "last_error_at": iso_of(site.record.last_error_at),
        "counters": site.record.counters,
        "health": dict(Counter(health(one, now).value for one in site.sources)),
    }


ACTIONS = (
    Action(
        "",
        "Show articles, useful share, polls, errors and health of each site and each source",
        sources,
        Argument("domain", nargs="?", metavar="DOMAIN", help="only this site"),
        Argument("--failing", action="store_true", help="only failing sites and sources"),
        Argument("--limit", type=positive, default=1000, metavar="N", help="number of sites (1000)"),
        Argument("--after", default="", metavar="DOMAIN", help="sites that follow this one"),
    ),
)


def waiting_rows(notes: Notes, domains: Container[str]) -> list[FamilyRow]:
    """Return the families with waiting links of these sites: those with most links first."""
    rows = [
        row
        for domain, note in notes.all(NOTE_KIND).items()
        if domain in domains
        for row in rows_of(domain, SiteFamilies.read(note))
        if row.waiting
    ]
    return sorted(rows, key=lambda row: (-row.waiting, row.site, row.family))
