"""``scrapy sources``: shows the state of each site and of its feeds, sitemaps and sections."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from newsbot.backends import open_rules, queued, stored
from newsbot.cli.command import Call, did_you_mean
from newsbot.cli.terminal import Column, when
from newsbot.clock import iso, utc
from newsbot.errors import ArgumentError
from newsbot.frontier.base import ASIDE, Entry
from newsbot.operations.source_report import Site, health_text, known_sites, sites_of
from newsbot.push.trust import Notifier, notifiers
from newsbot.rules import RuleSet
from newsbot.sites.health import Health, alarms, health
from newsbot.sites.statistics import percent, share
from newsbot.storage.articles import RepeatedText
from newsbot.storage.base import Storage
from newsbot.storage.sources import SourceRecord

LISTED = 1000
"""URLs set aside that are looked at, the latest ones."""
SHOWN_ASIDE = 5
SHOWN_REPEATED = 5
"""Texts that came under many URLs."""
MOST_REPEATED = 100
OF_ALL_SITES = 100_000
"""So many are looked through for those of one site, whose own may be far down."""

SITE_COLUMNS = (
    Column("site"),
    Column("articles", "right"),
    Column("useful", "right"),
    Column("last article", "right"),
    Column("duplicates", "right"),
    Column("unchanged", "right"),
    Column("errors", "right"),
    Column("last error", wide=True),
    Column("sources", wide=True),
)
SOURCE_COLUMNS = (
    Column("kind"),
    Column("polls", "right"),
    Column("unchanged", "right"),
    Column("new links", "right"),
    Column("last new", "right"),
    Column("last poll", "right"),
    Column("next poll", "right"),
    Column("health", wide=True),
    Column("source", wide=True),
)

NOTIFIER_COLUMNS = (
    Column("notifier"),
    Column("notices", "right"),
    Column("precision", "right"),
    Column("recall", "right"),
    Column("believed", "right"),
    Column("last", "right"),
)


def sources(call: Call) -> int:
    """Print sites, sources and, of all sites, who tells of changes."""
    rules = open_rules(call.settings)
    now = time.time()
    with stored(call.settings) as storage, queued(call.settings) as frontier:
        sites = list(sites_of(storage, rules, _chosen(call.options.domain, storage, rules)))
        aside = frontier.aside(LISTED)
        number = frontier.counts()["aside"]
        repeated = storage.texts.repeated(limit=OF_ALL_SITES if call.options.domain else MOST_REPEATED)
        fallen = alarms(storage.notes)
        told_by = [] if call.options.domain else notifiers(storage.notes, now)
    if call.options.domain:
        fallen = {domain: text for domain, text in fallen.items() if domain == sites[0].domain}
    if call.options.domain:
        repeated = [one for one in repeated if one.source == sites[0].domain][:MOST_REPEATED]
        aside = [entry for entry in aside if entry.data.get("source") == sites[0].domain]
        number = len(aside)
    if call.json:
        call.document(
            {
                "sites": [{**_site_document(site, now), "alarm": fallen.get(site.domain)} for site in sites],
                "sources": [_source_document(one, now) for site in sites for one in site.sources],
                "aside": [
                    {"url": entry.url, "source": entry.data.get("source"), "reason": entry.data.get(ASIDE)}
                    for entry in aside
                ],
                "aside_count": number,
                "repeated_texts": [asdict(one) for one in repeated],
                "notifiers": [{**asdict(one), "last": iso(one.last)} for one in told_by],
            }
        )
        return 0
    call.table(SITE_COLUMNS, (_site_row(site, now) for site in sites))
    call.text()
    shown = [one for site in sites for one in site.sources if call.options.domain or one.url in site.named]
    call.table(SOURCE_COLUMNS, (_source_row(one, now) for one in shown))
    left_out = sum(len(site.sources) for site in sites) - len(shown)
    if left_out:
        call.note(
            f"{left_out} sections that were found on pages are not shown; scrapy sources DOMAIN shows them"
        )
    if told_by:
        call.text()
        call.table(NOTIFIER_COLUMNS, (_notifier_row(one, now) for one in told_by))
    alarmed = [f"{domain}: {text}" for domain, text in sorted(fallen.items())]
    for line in (*alarmed, *aside_lines(aside, number), *repeated_lines(repeated)):
        call.note(line)
    return 0


def aside_lines(aside: Sequence[Entry], number: int) -> Iterator[str]:
    """Yield what people should know of URLs that are not fetched any more; ``aside`` are the latest ones."""
    if not number:
        return
    urls = "1 URL is" if number == 1 else f"{number} URLs are"
    yield f"{urls} set aside; scrapy why URL tells the reason, scrapy add URL queues it again:"
    for entry in aside[:SHOWN_ASIDE]:
        yield f"  {entry.url} ({entry.data.get(ASIDE, 'unknown')})"
    if number > SHOWN_ASIDE:
        yield f"  and {number - SHOWN_ASIDE} older ones; --json lists up to {LISTED}"


def repeated_lines(repeated: Sequence[RepeatedText]) -> Iterator[str]:
    """Yield an alarm for each text that many URLs of a site gave, at most so many."""
    for one in repeated[:SHOWN_REPEATED]:
        yield (
            f"{one.source}: {one.urls} URLs gave one text, kept as {one.canonical_url}: a wall of cookies or"
            " log-in, or addresses that differ in nothing (drop_query)? scrapy articles show URL shows it"
        )
    if len(repeated) > SHOWN_REPEATED:
        yield f"  and {len(repeated) - SHOWN_REPEATED} further texts; --json lists up to {MOST_REPEATED}"


def _chosen(domain: str | None, storage: Storage, rules: RuleSet) -> str | None:
    if not domain:
        return None
    rule = rules.get(domain)
    chosen = rule.domain if rule else domain.lower()
    known = known_sites(storage, rules)
    if chosen not in known:
        hint = did_you_mean(chosen, known)
        raise ArgumentError(f"{domain!r} is no site of the rules or the data{hint}")
    return chosen


def _site_row(site: Site, now: float) -> tuple[object, ...]:
    states = Counter(health(one, now) for one in site.sources)
    return (
        site.domain,
        site.articles,
        percent(site.useful_share),
        when(site.record.last_article, now),
        site.counter("duplicates"),
        site.counter("unchanged"),
        site.counter("errors"),
        site.record.last_error,
        ", ".join(f"{states[state]} {state}" for state in Health if states[state]),
    )


def _source_row(one: SourceRecord, now: float) -> tuple[object, ...]:
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
        "useful_share": site.useful_share,
        "last_article": _iso(site.record.last_article),
        "last_error": site.record.last_error,
        "last_error_at": _iso(site.record.last_error_at),
        "counters": site.record.counters,
        "health": dict(Counter(health(one, now).value for one in site.sources)),
    }


def _source_document(one: SourceRecord, now: float) -> dict[str, Any]:
    return {
        "source": one.source,
        "url": one.url,
        "kind": one.kind.value,
        "health": health(one, now).value,
        "polls": one.polls,
        "unchanged_share": share(one.unchanged, one.polls),
        "new_links": one.new_links,
        "last_new": _iso(one.last_new),
        "last_poll": _iso(one.last_poll),
        "next_poll": _iso(one.next_due),
        "failures": one.failures,
        "failing_since": _iso(one.failing_since),
        "last_error": one.last_error,
    }


def _iso(seconds: float | None) -> str | None:
    return None if seconds is None else iso(utc(seconds))
