"""Decides which links are followed, by the rule of their site, learned forms of URLs, and the scope."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from functools import partial

from newsbot.cli.program import PROGRAM
from newsbot.crawl.context import Context
from newsbot.crawl.entries import Batch, entry_for, page_for
from newsbot.crawl.links.families import OF_FAMILIES, Families
from newsbot.crawl.scope import Removals, Scope
from newsbot.crawl.sources import SourceRegistry
from newsbot.crawl.visit import Found, Visit
from newsbot.frontier.base import Entry
from newsbot.items import GivenBy, Kind, Link, Reason, Where
from newsbot.pages.rules.rule import Rule
from newsbot.ranking.judging import (
    PATIENT_PRIORITY,
    SOURCE_PRIORITY,
    Judgement,
    is_onsite,
    judge,
)
from newsbot.ranking.url_learning import UrlLearning
from newsbot.urls import canonicalize

logger = logging.getLogger(__name__)

LINKS_AT_ONCE = 100
"""Number of links that are judged and queued in one step. A step takes less than 50 ms."""
ASKED_PRIORITY = 100.0
"""Priority of URLs that a person requested."""
RANKED_OUT = frozenset((Reason.UNLIKELY_LIST, Reason.FRONT_PAGE))
"""Reasons for a rejection that are ignored if NEWSBOT_RANKING is off."""
UNRANKED = 50.0
"""Priority of links that are followed only because NEWSBOT_RANKING is off."""
_OF_STRANGERS = 0.1
"""Factor for the priority of links from one site to another site that has a rule.

All links that the other site itself gives come first, also its lists.
"""
NAMED = (Where.SEED, Where.ARGUMENT, Where.PUSH)
"""Origins of links that a person, a rule or a push notice named. These links are read without a judgement."""


_KEPT_OUT = f"left out url=%s; the URL was removed. To unblock it, run: {PROGRAM} remove URL --allow"


class LinkJudge:
    """Judges links by the rules of their sites, by the learned forms of URLs, and by the scope.

    If ``ranked`` is False, unlikely links are followed too. This option is for comparisons of strategies.
    """

    def __init__(
        self,
        context: Context,
        scope: Scope,
        registry: SourceRegistry,
        removals: Removals,
        *,
        learning: UrlLearning,
        families: Families,
        ranked: bool = True,
    ) -> None:
        self._context, self._scope, self._registry = context, scope, registry
        self._learning, self._families = learning, families
        self._removals, self._ranked = removals, ranked

    def judge(self, found: Found, visit: Visit | None) -> Iterator[Batch]:
        """Judge each link of ``found``. ``visit`` is the visit of the page that has these links.

        Yields the same batch after each :data:`LINKS_AT_ONCE` links, so that the event loop can run other
        work in between. The batch is complete at the last yield.
        """
        batch = Batch()
        now = self._context.clock()
        seen: dict[tuple[str, GivenBy], tuple[Rule, list[Link]]] = {}
        for place, link in enumerate(found.links):
            if place and place % LINKS_AT_ONCE == 0:
                yield batch
            try:
                rule = self._rule_of(link, found, visit)
                given_by = self.given_by(rule, found, visit)
                # this comes before the judgement, because rejected links show the forms of URLs too
                seen.setdefault((rule.domain, given_by), (rule, []))[1].append(link)
                judgement = self._judge(link, rule, found, visit)
                if not judgement.accepted:
                    batch.rejected[judgement.token] += 1
                    continue
                entry = self._entry(link, rule, judgement, found, given_by)
                if self._is_kept_out(entry, link):
                    batch.rejected[Reason.REMOVED] += 1
                    continue
                # If the rule is deleted later, its pages are recognised by this mark and are not fetched.
                if self._context.rules.get(rule.domain) is not None:
                    entry.data["ruled"] = True
            except ValueError:  # raised by canonicalize(): the URL is not valid
                batch.rejected[Reason.BAD_URL] += 1
                continue
            if _is_itself(entry, visit):
                continue
            if entry.fingerprint not in batch.entries:
                batch.entries[entry.fingerprint] = entry
        batch.pages = [page_for(entry, now) for entry in batch.entries.values()]
        # The forms of a site's URLs are learned from the site's own links only. Another site may link to only
        # a few pages, which are not typical.
        own = [some for (domain, given_by), some in seen.items() if given_by.counts_for(domain)]
        for rule, links in own:
            self._learning.heard(rule, links)
            self._families.heard(rule, links)
        yield batch

    def given_by(self, rule: Rule, found: Found, visit: Visit | None) -> GivenBy:
        """Return the site that states what is known about a link to the site with ``rule``.

        A feed or sitemap belongs to the site that names it, on any host. Other pages belong to the site of
        their host. If a person requested the page, it speaks for all sites that have no rule.
        """
        if visit is None or found.site is not None:
            return GivenBy(found.site or rule.domain)
        here = self._context.rule_for(visit.url).domain
        asked = visit.data.get("where") == Where.ARGUMENT and not self._is_crawled(rule)
        listing = visit.kind.is_listing
        # If a feed has moved to another site, it is a feed of that site too.
        if asked or (here == rule.domain and (visit.hops or not listing)):
            return GivenBy(rule.domain)
        return GivenBy(visit.rule.domain if listing else here)

    def may_go_to(self, link: Link, rule: Rule, visit: Visit) -> bool:
        """Return True if a link of the visited page may lead to the site of ``rule``."""
        if rule.domain == visit.rule.domain or is_onsite(link.url, visit.rule):
            return True
        listed = link.where in (Where.FEED, Where.NEWS_SITEMAP)
        if self._is_where_it_moved(rule, visit) and (listed or visit.data.get("where") in NAMED):
            return True
        if not listed:
            return False
        # A feed may list articles of other sites. These links are followed if the other site has a rule. If a
        # person or a rule named the feed, articles of any site are followed.
        asked = visit.data.get("where") in (Where.ARGUMENT, Where.SEED)
        return asked or (self._scope.limited_to is None and self._is_crawled(rule))

    def _entry(self, link: Link, rule: Rule, judgement: Judgement, found: Found, given_by: GivenBy) -> Entry:
        # The host of a site without a rule may be a service that redirects to the site that has the link.
        counts = given_by.counts_for(rule.domain) or not self._is_crawled(rule)
        if not counts:
            # The address may be fetched, but not with tracking keys or a spelling that the stranger chose.
            link = replace(link.bare, url=canonicalize(link.url, rule.drop_query))
        return entry_for(
            link,
            rule,
            judgement,
            depth=found.depth,
            referrer=found.referrer,
            now=self._context.clock(),
            force=found.force,
            given_by=given_by,
        )

    def _is_kept_out(self, entry: Entry, link: Link) -> bool:
        out = self._removals.covers(entry.fingerprint, entry.host)
        if out and link.where is Where.ARGUMENT:
            logger.warning(_KEPT_OUT, entry.url)
        return out

    def _rule_of(self, link: Link, found: Found, visit: Visit | None) -> Rule:
        """Return the rule of the site that a link belongs to.

        This is normally the site of the link's host. A feed or sitemap belongs to the site that names it,
        because many sites have their feeds at a feed service.
        """
        if found.site is not None and (named := self._context.rules.get(found.site)) is not None:
            return named
        if visit is not None and link.kind is not None and link.kind.is_listing:
            return visit.rule
        return self._context.rule_for(link.url)

    def _judge(self, link: Link, rule: Rule, found: Found, visit: Visit | None) -> Judgement:
        """Return the judgement on a link of the site with ``rule``.

        Links that a person or a rule named are accepted. Feeds and sitemaps need no ranking. All other links
        are ranked.
        """
        if link.where in NAMED:
            kind = link.kind or Kind.ARTICLE
            priority = ASKED_PRIORITY if found.force else SOURCE_PRIORITY.get(kind.like, ASKED_PRIORITY)
            return Judgement(kind=kind, priority=priority, accepted=True, reason=link.where.value)
        if visit is not None and found.site is None and not self.may_go_to(link, rule, visit):
            return Judgement(kind=Kind.OTHER, priority=0.0, accepted=False, reason=Reason.OFFSITE)
        if link.kind is not None and link.kind.is_listing:
            priority = PATIENT_PRIORITY if found.patient else SOURCE_PRIORITY[link.kind.like]
            judgement = Judgement(kind=link.kind, priority=priority, accepted=True, reason=link.where.value)
        else:
            learned = self._learning.rule(rule)
            now = self._context.now()
            judgement = judge(
                link,
                rule,
                depth=found.depth,
                now=now,
                learned=learned,
                is_open=partial(self._families.is_open, rule.domain),
            )
            ranked_out = not judgement.accepted and judgement.reason in RANKED_OUT
            if not self._ranked and (ranked_out or judgement.reason in OF_FAMILIES):
                judgement = Judgement(
                    kind=Kind.ARTICLE, priority=UNRANKED, accepted=True, reason=Reason.UNRANKED
                )
        if visit is not None and rule.domain != visit.rule.domain and self._is_crawled(rule):
            judgement = replace(judgement, priority=judgement.priority * _OF_STRANGERS)
        return self._limit(link, rule, judgement, visit)

    def _is_crawled(self, rule: Rule) -> bool:
        return self._context.rules.get(rule.domain) is not None

    def _is_where_it_moved(self, rule: Rule, visit: Visit) -> bool:
        """Return True if the visited source was redirected to the site of ``rule``.

        The links of a source that has moved to another domain belong to that domain.
        """
        return visit.kind.is_source and rule.domain == self._context.rule_for(visit.url).domain

    def _limit(self, link: Link, rule: Rule, judgement: Judgement, visit: Visit | None) -> Judgement:
        """Reject a link that ``follow``, ``since`` or ``until`` excludes."""
        # A redirect leads to another address of the same page, so it is not limited.
        if not judgement.accepted or link.where is Where.REDIRECT:
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

        The argument ``follow`` overrides the rule's key ``follow``. If neither is set, all feeds, sitemaps
        and section fronts are read. Links on an article page are then followed only if the site has no feed
        and no sitemap, and if the article was not found in a feed or news sitemap.
        """
        chosen = self._scope.arguments.follow or rule.follow
        if kind.is_listing:
            return chosen is None or ("feeds" if kind.is_feed else "sitemaps") in chosen
        if visit.kind.is_listing:
            return True
        if chosen is not None:
            return "links" in chosen or (visit.kind is Kind.SECTION and "sections" in chosen)
        listed = visit.data.get("where") in (Where.FEED, Where.NEWS_SITEMAP)
        return visit.kind is Kind.SECTION or not (listed or self._registry.of(rule.domain).any)

    def _outside_dates(self, link: Link) -> bool:
        arguments = self._scope.arguments
        if arguments.until and link.published_at and link.published_at >= arguments.until:
            return True
        since: datetime | None = arguments.since
        # A sitemap's lastmod is never earlier than the publication. It can prove that an article is too old.
        # It cannot prove that an article is too new, so it is not compared with ``until``.
        moment = link.published_at or link.modified_at
        if since is None and link.where in (Where.SITEMAP, Where.NEWS_SITEMAP):
            since = self._scope.since_of_sitemaps()
        return since is not None and moment is not None and moment < since


def _is_itself(entry: Entry, visit: Visit | None) -> bool:
    """Return True for a link of a page to itself.

    If the link makes the page a source of another site, the result is False. Such a link must be queued,
    because it changes the page's entry.
    """
    if visit is None or entry.fingerprint != visit.lease.entry.fingerprint:
        return False
    return not entry.kind.is_source or entry.data["source"] == visit.data.get("source")
