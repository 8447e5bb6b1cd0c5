"""From found links to queued URLs: each link is judged, then known or new, then in the frontier.

Order matters: page records first, then the frontier, and both before the page that gave the links is
acknowledged; a crash in between only means that the page is read again.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from itertools import compress

from newsbot.crawl.context import MAX_HOSTS, CrawlState
from newsbot.crawl.entries import Batch, entry_for, page_for
from newsbot.crawl.links.canonical import offered_by_themselves
from newsbot.crawl.links.list_probing import weigh_lists
from newsbot.crawl.visit import Found, Visit
from newsbot.frontier.base import Added, Entry
from newsbot.items import Kind, Link, Where
from newsbot.ranking import headlines
from newsbot.ranking.judging import PATIENT_PRIORITY, SOURCE_PRIORITY, Judgement, is_onsite, judge
from newsbot.ranking.url_learning import EXPLORED, EXPLORED_PRIORITY
from newsbot.rules.schema import Follow, Rule
from newsbot.sites.removals import REMOVED

ASKED_PRIORITY = 100.0
LINKS_AT_ONCE = 1000
"""Of a feed or sitemap that are judged and queued together."""
RANKED_OUT = frozenset(("unlikely_article", "unlikely_list", "not_in_rule", "front_page"))
"""Reasons that do not count with NEWSBOT_RANKING off."""
UNRANKED = 50.0
NAMED = (Where.SEED, Where.ARGUMENT, Where.PUSH)
"""A person or a rule gave these: they are not judged, only read."""


_KEPT_OUT = "left out url=%s; it was taken out and is kept out; see: scrapy remove --list and --allow"
logger = logging.getLogger(__name__)


def queue_found(state: CrawlState, found: Found, visit: Visit | None = None) -> int:
    """Judge and queue links; return how many were not known before."""
    return sum(_queue_some(state, some, visit) for some in _parts(found, visit))


def _parts(found: Found, visit: Visit | None) -> Iterator[Found]:
    """Give a long feed or sitemap part by part: 50,000 links at once take 100 MB while they are queued.

    Python keeps such a peak. Links of a page stay together, they are judged by what all of them are.
    """
    links = found.links
    if visit is None or visit.kind not in (Kind.FEED, Kind.SITEMAP) or len(links) <= LINKS_AT_ONCE:
        yield found
        return
    for start in range(0, len(links), LINKS_AT_ONCE):
        yield replace(found, links=links[start : start + LINKS_AT_ONCE])


def _queue_some(state: CrawlState, found: Found, visit: Visit | None) -> int:
    with state.timed("judge"):
        batch = judge_found(state, found, visit)
        weigh_lists(state, batch, visit)
    state.count("links/found", len(found.links))
    for reason, number in batch.rejected.items():
        state.count(f"links/rejected/{reason}", number)
    with state.timed("queue"):
        return _queue(state, batch, visit, force=found.force)


def judge_found(state: CrawlState, found: Found, visit: Visit | None) -> Batch:
    """Judge each link by its site's rule; ``visit`` is the one whose page gave them."""
    batch = Batch()
    now = state.clock()
    heard: dict[str, tuple[Rule, list[Link]]] = {}
    for link in found.links:
        try:
            rule = _rule_of(state, link, found, visit)
            heard.setdefault(rule.domain, (rule, []))[1].append(link)
            judgement = _judge(state, link, rule, found, visit)
            if not judgement.accepted:
                batch.rejected[judgement.reason.partition(":")[0]] += 1
                continue
            entry = entry_for(
                link, rule, judgement, depth=found.depth, referrer=found.referrer, now=now, force=found.force
            )
            if state.is_removed(entry.fingerprint, entry.host):
                batch.rejected[REMOVED] += 1
                if link.where is Where.ARGUMENT:
                    logger.warning(_KEPT_OUT, entry.url)
                continue
            entry = state.headlines.weigh(entry, link.lead)
            if entry.kind.is_source and state.rules.get(rule.domain) is not None:
                entry.data["ruled"] = True
        except ValueError:
            batch.rejected["bad_url"] += 1
            continue
        if _is_itself(entry, visit):
            continue
        if entry.fingerprint not in batch.entries:
            batch.entries[entry.fingerprint] = entry
    _name_headlines(state, batch)
    batch.pages = [page_for(entry, now) for entry in batch.entries.values()]
    for rule, links in heard.values():
        state.lessons.heard(rule, links)
    return batch


def _name_headlines(state: CrawlState, batch: Batch) -> None:
    """Tell under which address a site listed the headline of a link before."""
    wanted = headlines.unnamed(batch.entries.values())
    if wanted:
        here = {key: entry.url for key, entry in batch.entries.items() if key in wanted}
        kept = state.storage.pages.get(sorted(wanted - here.keys()))
        headlines.name(batch.entries.values(), here | {key: page.url for key, page in kept.items()})


def _queue(state: CrawlState, batch: Batch, visit: Visit | None, *, force: bool) -> int:
    entries = list(batch.entries.values())
    if not entries:
        return 0
    state.storage.pages.discover(batch.pages)
    asked = visit is None or visit.data.get("where") == Where.ARGUMENT
    for host, entry in {entry.host: entry for entry in entries}.items():
        _introduce(state, host, state.rule_for(entry.url), asked=asked)
    verdicts = state.frontier.add(entries, force=force)
    if visit is None and not force and (changed := _called_otherwise(state, entries)):
        state.frontier.add(changed, force=True)
    _read_what_was_only_named(state, entries, verdicts)
    new = sum(verdict is Added.NEW for verdict in verdicts)
    state.count("links/new", new)
    marked = [entry.data["why"].startswith(headlines.SAME_HEADLINE) for entry in entries]
    state.count("links/same_headline", sum(compress(marked, (one is Added.NEW for one in verdicts))))
    state.count("links/known", len(verdicts) - new)
    for entry in entries:
        listed = entry.kind in (Kind.FEED, Kind.SITEMAP) and entry.data["where"] != Where.GUESS
        if listed and entry.url not in state.dead_sources:
            state.with_sources.add(entry.data["source"])
    return new


def _read_what_was_only_named(state: CrawlState, entries: list[Entry], verdicts: list[Added]) -> None:
    """Queue what another page called its canonical address, where the site offers it as a page of its own."""
    known = [
        entry
        for entry, verdict in zip(entries, verdicts, strict=True)
        if verdict is Added.KNOWN and entry.kind in (Kind.ARTICLE, Kind.SECTION)
    ]
    if offered := offered_by_themselves(state, known):
        state.frontier.add(offered, force=True)
        state.count("canonical/read_after_all", len(offered))


def _introduce(state: CrawlState, host: str, rule: Rule, *, asked: bool) -> None:
    """Tell the frontier how to treat a host, once, and take it into the crawl if it belongs there.

    Another site with a rule of its own, outside of this crawl's scope, waits for its own crawl, unless
    a person asked for what is there.
    """
    if host not in state.known_hosts:
        if len(state.known_hosts) >= MAX_HOSTS:
            state.known_hosts.clear()
        # another worker may have read a Crawl-delay; ours reads robots.txt with its first page of the host
        obeys = state.settings.getbool("ROBOTSTXT_OBEY")
        state.frontier.set_politeness(host, delay=rule.delay, concurrency=rule.concurrency, at_least=obeys)
        state.known_hosts.add(host)
    if not state.accepts(host) and (asked or state.rules.get(rule.domain) is None):
        state.named_hosts.add(host)


def _called_otherwise(state: CrawlState, entries: list[Entry]) -> list[Entry]:
    """Return what a rule names as a source now, but what is known as something else, or as never due."""
    named = {
        entry.fingerprint: entry
        for entry in entries
        if entry.data["where"] == Where.SEED and entry.kind.is_source
    }
    changed = []
    for key, known in state.frontier.known(list(named)).items():
        stands = state.frontier.entry(key)
        if known.state == "done" and stands is not None:
            otherwise = known.next_due is None or stands.kind is not named[key].kind
            changed += [named[key]] * otherwise
    return changed


def _rule_of(state: CrawlState, link: Link, found: Found, visit: Visit | None) -> Rule:
    """Return the rule of the link's site; a source stays with the rule that names it, wherever it lives."""
    if found.source is not None and (named := state.rules.get(found.source)) is not None:
        return named
    if visit is not None and link.kind in (Kind.FEED, Kind.SITEMAP):
        return visit.rule
    return state.rule_for(link.url)


def _judge(state: CrawlState, link: Link, rule: Rule, found: Found, visit: Visit | None) -> Judgement:
    if link.where in NAMED:
        kind = link.kind or Kind.ARTICLE
        priority = ASKED_PRIORITY if found.force else SOURCE_PRIORITY.get(kind, ASKED_PRIORITY)
        return Judgement(kind=kind, priority=priority, accepted=True, reason=link.where.value)
    if visit is not None and not _may_go_to(state, link, rule, visit):
        return Judgement(kind=Kind.OTHER, priority=0.0, accepted=False, reason="offsite")
    if link.kind in (Kind.FEED, Kind.SITEMAP):
        priority = PATIENT_PRIORITY if found.patient else SOURCE_PRIORITY[link.kind]
        judgement = Judgement(kind=link.kind, priority=priority, accepted=True, reason=link.where.value)
    else:
        learned = state.lessons.rule(rule)
        judgement = judge(link, rule, depth=found.depth, now=state.now(), learned=learned)
        if not judgement.accepted and not state.ranked and judgement.reason in RANKED_OUT:
            judgement = Judgement(kind=Kind.ARTICLE, priority=UNRANKED, accepted=True, reason="unranked")
        elif not judgement.accepted and state.lessons.explores(judgement, rule, link.url):
            state.count("links/explored")
            judgement = Judgement(
                kind=Kind.ARTICLE, priority=EXPLORED_PRIORITY, accepted=True, reason=EXPLORED
            )
    return _limit(state, link, rule, judgement, visit)


def _may_go_to(state: CrawlState, link: Link, rule: Rule, visit: Visit) -> bool:
    if rule.domain == visit.rule.domain or is_onsite(link.url, visit.rule):
        return True
    listed = link.where in (Where.FEED, Where.NEWS_SITEMAP)
    if _is_where_it_moved(state, rule, visit) and (listed or visit.data.get("where") in NAMED):
        return True
    if not listed:
        return False
    # items of a feed may live elsewhere: on a site with a rule, or any if a person or a rule named the feed
    asked = visit.data.get("where") in (Where.ARGUMENT, Where.SEED)
    return asked or (state.limited_to is None and state.rules.get(rule.domain) is not None)


def _is_where_it_moved(state: CrawlState, rule: Rule, visit: Visit) -> bool:
    """Return True for the site that a source lies on by now: its own one may lead there as a whole."""
    return visit.kind.is_source and rule.domain == state.rule_for(visit.url).domain


def _limit(state: CrawlState, link: Link, rule: Rule, judgement: Judgement, visit: Visit | None) -> Judgement:
    """Apply the crawl's own limits: what to follow, and the dates asked for."""
    if not judgement.accepted or link.where is Where.REDIRECT:  # the page's own other address: no new page
        return judgement
    reason = None
    if visit is not None and not follows(state, judgement.kind, rule, visit):
        reason = "not_followed"
    elif _outside_dates(state, link):
        reason = "too_old"
    if reason is None:
        return judgement
    return Judgement(kind=judgement.kind, priority=0.0, accepted=False, reason=reason)


def follows(state: CrawlState, kind: Kind, rule: Rule, visit: Visit) -> bool:
    """Return True if links of ``kind`` on the visited page are followed in this crawl.

    The argument ``follow`` wins over the rule's; without both everything that the site offers is read:
    feeds, sitemaps and section fronts, and links on article pages where there is neither feed nor sitemap
    (an article that a feed of another site named has one).
    """
    chosen = state.arguments.follow or rule.follow
    if kind in (Kind.FEED, Kind.SITEMAP):
        needed: Follow = "feeds" if kind is Kind.FEED else "sitemaps"
    elif visit.kind in (Kind.FEED, Kind.SITEMAP):
        return True
    else:
        needed = "sections" if visit.kind is Kind.SECTION else "links"
    if chosen is not None:
        return needed in chosen
    listed = visit.data.get("where") in (Where.FEED, Where.NEWS_SITEMAP)
    return needed != "links" or not (listed or rule.domain in state.with_sources)


def _outside_dates(state: CrawlState, link: Link) -> bool:
    arguments = state.arguments
    if arguments.until and link.published_at and link.published_at >= arguments.until:
        return True
    since: datetime | None = arguments.since
    moment = link.published_at or link.modified_at
    if since is None and link.where in (Where.SITEMAP, Where.NEWS_SITEMAP):
        since = state.since_of_sitemaps()
    return since is not None and moment is not None and moment < since


def _is_itself(entry: Entry, visit: Visit | None) -> bool:
    """Return True for a page's link to itself."""
    return visit is not None and entry.fingerprint == visit.lease.entry.fingerprint
