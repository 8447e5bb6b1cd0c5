"""Decides which links are followed, by the site's rule, what was learned of the site, and the scope."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime

from newsbot.crawl.context import Context
from newsbot.crawl.entries import Batch, entry_for, page_for
from newsbot.crawl.removals import Removals
from newsbot.crawl.scope import Scope
from newsbot.crawl.source_state import SourceRegistry
from newsbot.crawl.visit import Found, Visit
from newsbot.frontier.base import Entry
from newsbot.items import Kind, Link, Reason, Where
from newsbot.ranking import headlines
from newsbot.ranking.judging import (
    PATIENT_PRIORITY,
    SOURCE_PRIORITY,
    Judgement,
    folders_of_headlines,
    is_onsite,
    judge,
)
from newsbot.ranking.url_learning import EXPLORED_PRIORITY, UrlLearning
from newsbot.rules.schema import Rule

LINKS_AT_ONCE = 100
"""Links that are judged and queued together: that takes less than 50 ms."""
ASKED_PRIORITY = 100.0
RANKED_OUT = frozenset((Reason.UNLIKELY_ARTICLE, Reason.UNLIKELY_LIST, Reason.NOT_IN_RULE, Reason.FRONT_PAGE))
"""Reasons that do not count with NEWSBOT_RANKING off."""
UNRANKED = 50.0
_OF_STRANGERS = 0.4
"""Priority factor for links to a site with a rule that another site lists.

The site's own links come first.
"""
NAMED = (Where.SEED, Where.ARGUMENT, Where.PUSH)
"""Links that a person or a rule gave. They are read without a judgement."""


_KEPT_OUT = "left out url=%s; it was taken out and is kept out; see: scrapy remove --list and --allow"
logger = logging.getLogger(__name__)


class LinkJudge:
    """Judges links by the rules of their sites, by what is learned of their addresses, and by the scope.

    ``ranked`` False: links are followed however unlikely they are to be articles, for comparison.
    """

    def __init__(
        self,
        context: Context,
        scope: Scope,
        registry: SourceRegistry,
        learning: UrlLearning,
        removals: Removals,
        *,
        ranked: bool = True,
    ) -> None:
        self._context, self._scope, self._registry = context, scope, registry
        self._learning, self._removals, self._ranked = learning, removals, ranked
        self._headlines = headlines.Headlines()

    def judge(self, found: Found, visit: Visit | None) -> Iterator[Batch]:
        """Judge each link by its site's rule; ``visit`` is the one whose page gave them.

        Yields the batch after each :data:`LINKS_AT_ONCE` links. It is complete after the last step.
        """
        batch = Batch()
        now = self._context.clock()
        heard: dict[str, tuple[Rule, list[Link]]] = {}
        folders = folders_of_headlines(found.links)
        for place, link in enumerate(found.links):
            if place and place % LINKS_AT_ONCE == 0:
                yield batch
            try:
                rule = self._rule_of(link, found, visit)
                heard.setdefault(rule.domain, (rule, []))[1].append(link)
                judgement = self._judge(link, rule, found, visit, folders)
                if not judgement.accepted:
                    batch.rejected[judgement.token] += 1
                    continue
                entry = entry_for(
                    link,
                    rule,
                    judgement,
                    depth=found.depth,
                    referrer=found.referrer,
                    now=now,
                    force=found.force,
                )
                if self._is_kept_out(entry, link):
                    batch.rejected[Reason.REMOVED] += 1
                    continue
                entry = self._headlines.weigh(entry, link.lead)
                if entry.kind.is_source and self._context.rules.get(rule.domain) is not None:
                    entry.data["ruled"] = True
            except ValueError:
                batch.rejected[Reason.BAD_URL] += 1
                continue
            if _is_itself(entry, visit):
                continue
            if entry.fingerprint not in batch.entries:
                batch.entries[entry.fingerprint] = entry
        self._name_headlines(batch)
        batch.pages = [page_for(entry, now) for entry in batch.entries.values()]
        # A site is learned from its own links, since another site may choose those that mislead.
        own = heard.values() if visit is None else filter(None, [heard.get(visit.rule.domain)])
        for rule, links in own:
            self._learning.heard(rule, links)
        yield batch

    def _is_kept_out(self, entry: Entry, link: Link) -> bool:
        out = self._removals.covers(entry.fingerprint, entry.host)
        if out and link.where is Where.ARGUMENT:
            logger.warning(_KEPT_OUT, entry.url)
        return out

    def _name_headlines(self, batch: Batch) -> None:
        """Add to each entry the address under which the site listed its headline before."""
        wanted = headlines.unnamed(batch.entries.values())
        if wanted:
            here = {key: entry.url for key, entry in batch.entries.items() if key in wanted}
            kept = self._context.storage.pages.get(sorted(wanted - here.keys()))
            headlines.name(batch.entries.values(), here | {key: page.url for key, page in kept.items()})

    def _rule_of(self, link: Link, found: Found, visit: Visit | None) -> Rule:
        """Return the rule of the link's site; a source belongs to the rule that names it, on any host."""
        if found.source is not None and (named := self._context.rules.get(found.source)) is not None:
            return named
        if visit is not None and link.kind in (Kind.FEED, Kind.SITEMAP):
            return visit.rule
        return self._context.rule_for(link.url)

    def _judge(
        self, link: Link, rule: Rule, found: Found, visit: Visit | None, folders: frozenset[str]
    ) -> Judgement:
        if link.where in NAMED:
            kind = link.kind or Kind.ARTICLE
            priority = ASKED_PRIORITY if found.force else SOURCE_PRIORITY.get(kind, ASKED_PRIORITY)
            return Judgement(kind=kind, priority=priority, accepted=True, reason=link.where.value)
        if visit is not None and found.source is None and not self._may_go_to(link, rule, visit):
            return Judgement(kind=Kind.OTHER, priority=0.0, accepted=False, reason=Reason.OFFSITE)
        if link.kind in (Kind.FEED, Kind.SITEMAP):
            priority = PATIENT_PRIORITY if found.patient else SOURCE_PRIORITY[link.kind]
            judgement = Judgement(kind=link.kind, priority=priority, accepted=True, reason=link.where.value)
        else:
            learned = self._learning.rule(rule)
            now = self._context.now()
            judgement = judge(link, rule, depth=found.depth, now=now, learned=learned, folders=folders)
            if not judgement.accepted and not self._ranked and judgement.reason in RANKED_OUT:
                judgement = Judgement(
                    kind=Kind.ARTICLE, priority=UNRANKED, accepted=True, reason=Reason.UNRANKED
                )
            elif not judgement.accepted and self._learning.explores(judgement, rule, link.url):
                self._context.count("links/explored")
                judgement = Judgement(
                    kind=Kind.ARTICLE, priority=EXPLORED_PRIORITY, accepted=True, reason=Reason.EXPLORED
                )
        if visit is not None and rule.domain != visit.rule.domain and self._is_crawled(rule):
            judgement = replace(judgement, priority=judgement.priority * _OF_STRANGERS)
        return self._limit(link, rule, judgement, visit)

    def _is_crawled(self, rule: Rule) -> bool:
        return self._context.rules.get(rule.domain) is not None

    def _may_go_to(self, link: Link, rule: Rule, visit: Visit) -> bool:
        if rule.domain == visit.rule.domain or is_onsite(link.url, visit.rule):
            return True
        listed = link.where in (Where.FEED, Where.NEWS_SITEMAP)
        if self._is_where_it_moved(rule, visit) and (listed or visit.data.get("where") in NAMED):
            return True
        if not listed:
            return False
        # items of a feed may be on another site: one with a rule, or any if a person or a rule named the feed
        asked = visit.data.get("where") in (Where.ARGUMENT, Where.SEED)
        return asked or (self._scope.limited_to is None and self._is_crawled(rule))

    def _is_where_it_moved(self, rule: Rule, visit: Visit) -> bool:
        """Return True for the site to which a source was redirected, since the whole site may have moved."""
        return visit.kind.is_source and rule.domain == self._context.rule_for(visit.url).domain

    def _limit(self, link: Link, rule: Rule, judgement: Judgement, visit: Visit | None) -> Judgement:
        """Apply the crawl's own limits: what to follow, and the dates asked for."""
        if (
            not judgement.accepted or link.where is Where.REDIRECT
        ):  # the page's own other address: no new page
            return judgement
        reason = None
        if visit is not None and not self.follows(judgement.kind, rule, visit):
            reason = Reason.NOT_FOLLOWED
        elif self._outside_dates(link):
            reason = Reason.TOO_OLD
        if reason is None:
            return judgement
        return Judgement(kind=judgement.kind, priority=0.0, accepted=False, reason=reason)

    def follows(self, kind: Kind, rule: Rule, visit: Visit) -> bool:
        """Return True if links of ``kind`` on the visited page are followed in this crawl.

        The argument ``follow`` wins over the rule's; without both everything that the site offers is read:
        feeds, sitemaps and section fronts, and links on article pages where there is neither feed nor sitemap
        (an article that a feed of another site named has one).
        """
        chosen = self._scope.arguments.follow or rule.follow
        if kind in (Kind.FEED, Kind.SITEMAP):
            return chosen is None or ("feeds" if kind is Kind.FEED else "sitemaps") in chosen
        if visit.kind in (Kind.FEED, Kind.SITEMAP):
            return True
        if chosen is not None:
            return "links" in chosen or (visit.kind is Kind.SECTION and "sections" in chosen)
        listed = visit.data.get("where") in (Where.FEED, Where.NEWS_SITEMAP)
        return visit.kind is Kind.SECTION or not (listed or rule.domain in self._registry.with_sources)

    def _outside_dates(self, link: Link) -> bool:
        arguments = self._scope.arguments
        if arguments.until and link.published_at and link.published_at >= arguments.until:
            return True
        since: datetime | None = arguments.since
        moment = link.published_at or link.modified_at
        if since is None and link.where in (Where.SITEMAP, Where.NEWS_SITEMAP):
            since = self._scope.since_of_sitemaps()
        return since is not None and moment is not None and moment < since


def _is_itself(entry: Entry, visit: Visit | None) -> bool:
    """Return True for a page's link to itself, unless it says that the page is another site's source."""
    if visit is None or entry.fingerprint != visit.lease.entry.fingerprint:
        return False
    return not entry.kind.is_source or entry.data["source"] == visit.data.get("source")
