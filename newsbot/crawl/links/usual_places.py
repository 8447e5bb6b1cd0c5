"""Requests feeds and sitemaps at the usual addresses if a site names none that exists.

If a site names feeds but no sitemap, /sitemap.xml is requested once, because a feed shows only the newest
articles. If neither the home page nor robots.txt names a feed or sitemap, or if those are dead, the usual
places (:func:`newsbot.discovery.autodiscovery.usual_places`) are requested one after the other. Delay,
robots.txt and ``deny`` apply as for every page. The search ends with the first place that holds links, or
when a section names a feed. The result is stored in a note, so that all workers together try a site without
sources again only after :data:`ASK_AGAIN`.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from newsbot.crawl.context import Context
from newsbot.crawl.failures import is_no_source
from newsbot.crawl.links.judge import LinkJudge
from newsbot.crawl.links.queue import Links
from newsbot.crawl.source_state import SourceRegistry
from newsbot.crawl.visit import Found, Visit
from newsbot.discovery.autodiscovery import usual_places
from newsbot.items import EventKind, Kind, Link, Reason, Where
from newsbot.rules.match import classify
from newsbot.rules.shape import is_front_page
from newsbot.urls import canonicalize

logger = logging.getLogger(__name__)

NOTE_KIND = "usual_places:"
"""With a domain: the kind of the note that says what came of it."""
ASK_AGAIN = 30 * 86400.0
"""Seconds until a site without feed and sitemap is asked again."""
SITEMAP = "/sitemap.xml"
"""Where most sites have their sitemap."""
AFTER_TROUBLE = 86400.0
"""Seconds until a site is asked again that did not answer, or refused."""
_ABSENT = (
    Reason.ROBOTS,
    Reason.DENIED,
    Reason.REDIRECT_KNOWN,
    Reason.REDIRECTS,
    Reason.BAD_URL,
    Reason.NOTHING_THERE,
)
MAX_DEAD = 100_000
"""Dead sources that are remembered."""
_SAYS_NOTHING = (Reason.TOO_YOUNG, Reason.OURS, Reason.UNNAMED)


class UsualPlaces:
    """Requests the usual places of sites that name no source."""

    def __init__(self, context: Context, judge: LinkJudge, links: Links, registry: SourceRegistry) -> None:
        self._context, self._judge, self._links, self._registry = context, judge, links, registry

    def guess(self, visit: Visit) -> None:
        """After the visit of a home page: ask for the first usual place if the site names no source.

        Where it names feeds and no sitemap, /sitemap.xml alone is asked for.
        """
        domain = visit.rule.domain
        if domain in self._registry.with_sitemaps or not _is_home(visit) or visit.outcome.failed:
            return
        self._begin(visit, visit.url)

    def judge_source(self, visit: Visit) -> None:
        """After the visit of a feed or sitemap: treat a site whose sources are all dead as one without
        sources.

        Many robots.txt files name a sitemap that never existed. For such a site, links on article pages are
        followed and the usual places are requested.
        """
        domain, url = visit.rule.domain, visit.lease.entry.url
        if (
            visit.kind not in (Kind.FEED, Kind.SITEMAP)
            or visit.guessed
            or visit.outcome.error in _SAYS_NOTHING
        ):
            return
        if not _is_dead(visit):
            self._registry.dead.discard(url)
            if not visit.outcome.failed:
                self._registry.with_sources.add(domain)
            return
        if len(self._registry.dead) < MAX_DEAD:
            self._registry.dead.add(url)
        others = [
            one
            for one in self._context.storage.sources.all(domain)
            if one.kind != Kind.SECTION and one.url != url and not one.failures
        ]
        if not any(one.kind == Kind.SITEMAP for one in others) and not visit.rule.sitemaps:
            self._registry.with_sitemaps.discard(domain)
        if visit.rule.has_sources or visit.of_index or visit.data.get("where") != Where.AUTODISCOVERY:
            return
        if not others:
            if visit.outcome.failed:  # one that is empty may have its first items tomorrow
                self._registry.with_sources.discard(domain)
            self._begin(visit, visit.data.get("referrer") or url)

    def _begin(self, visit: Visit, url: str) -> None:
        """Ask for the first usual place on the host of ``url``, unless that was done lately."""
        domain = visit.rule.domain
        told = self._context.notes.all(NOTE_KIND + domain).get("asked", {})
        until = told.get("until")
        if isinstance(until, int | float) and self._context.clock() < until:
            return
        places = self._places(visit, url)
        if domain in self._registry.with_sources:
            places = [place for place in places if place.url.endswith(SITEMAP)]
        if places:
            self._remember(domain, ASK_AGAIN)
            self._ask(visit, places[0])

    def end(self, visit: Visit) -> bool:
        """After the visit of a usual place: True if nothing is there; it is then never due again."""
        domain, outcome = visit.rule.domain, visit.outcome
        if not outcome.failed and not outcome.shown:
            outcome.error = Reason.NOTHING_THERE.value
        if not outcome.failed:
            self._registry.with_sources.add(domain)
            if visit.kind is Kind.SITEMAP:
                self._registry.with_sitemaps.add(domain)
            self._context.count("guessed/found")
            self._remember(domain, ASK_AGAIN, found=visit.lease.entry.url)
            logger.info("guessed domain=%s %s=%s", domain, visit.kind, visit.lease.entry.url)
            return False
        self._context.count("guessed/absent")
        visit.note(self._context.clock(), EventKind.GUESSED, absent=outcome.cause)
        if outcome.cause not in _ABSENT and not is_no_source(outcome.cause):
            self._remember(domain, AFTER_TROUBLE, cause=outcome.cause)
            return True
        place = None if domain in self._registry.with_sources else self._place_after(visit)
        if place is not None:
            self._ask(visit, place)
        return True

    def _places(self, visit: Visit, url: str) -> Sequence[Link]:
        return [
            place
            for place in usual_places(url)
            if self._judge.follows(place.kind or Kind.FEED, visit.rule, visit)
            and not classify(visit.rule, canonicalize(place.url)).denied
        ]

    def _place_after(self, visit: Visit) -> Link | None:
        """Return the place after the one that was visited."""
        url = visit.lease.entry.url
        places = iter(self._places(visit, url))
        for place in places:
            if place.url == url:
                return next(places, None)
        return None

    def _ask(self, visit: Visit, place: Link) -> None:
        self._context.count("guessed/asked")
        found = Found(links=(place,), referrer=None, depth=1, force=True, source=visit.rule.domain)
        self._links.queue(found, visit)

    def _remember(self, domain: str, rest: float, **more: str) -> None:
        self._context.notes.save(
            NOTE_KIND + domain, "asked", {"until": round(self._context.clock() + rest), **more}
        )


def _is_dead(visit: Visit) -> bool:
    outcome = visit.outcome
    if outcome.failed:
        return is_no_source(outcome.cause)
    read = not outcome.not_modified and outcome.changed is not False
    return read and not visit.page.get("links_count")


def _is_home(visit: Visit) -> bool:
    entry = visit.lease.entry
    named = visit.data.get("where") in (Where.SEED, Where.ARGUMENT)
    home = visit.kind is Kind.SECTION and entry.depth == 0 and is_front_page(canonicalize(entry.url))
    return named and home and not visit.rule.has_sources
