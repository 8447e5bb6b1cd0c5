"""Requests feeds and sitemaps at usual addresses, such as ``/feed``, if a site does not name both kinds.

A feed shows the newest articles soon, and a sitemap lists older ones. So newsbot looks for one source of each
kind: first where the site names them (home page, robots.txt, sections), then at the usual places
(:func:`newsbot.pages.discovery.autodiscovery.usual_places`), one after the other, until a source of each kind
has links or all places were requested. A named source that does not exist does not count.

Delays, robots.txt and the rule's ``deny`` apply as for every page. The result is stored in a note for all
workers. The places of a site are therefore requested again only after :data:`ASK_AGAIN`.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from urllib.parse import urlsplit

from newsbot.crawl.context import Context
from newsbot.crawl.failures import is_no_source
from newsbot.crawl.links.judge import LinkJudge
from newsbot.crawl.links.queue import Links
from newsbot.crawl.sources import SourceRegistry
from newsbot.crawl.visit import Found, Visit
from newsbot.items import EventKind, Kind, Link, Reason, Where
from newsbot.pages.discovery.autodiscovery import RARE_PLACES, usual_places
from newsbot.pages.rules.rule import classify
from newsbot.pages.rules.shape import is_front_page
from newsbot.urls import canonicalize

logger = logging.getLogger(__name__)

NOTE_KIND = "usual_places:"
"""Prefix of a note's kind, followed by the domain. The note holds the result."""
ASK_AGAIN = 30 * 86400.0
"""Seconds until a site without feed and sitemap is tried again."""
AFTER_TROUBLE = 86400.0
"""Seconds until a site is tried again if it refused the request or did not respond."""
_ABSENT = (
    Reason.ROBOTS,
    Reason.DENIED,
    Reason.REDIRECT_KNOWN,
    Reason.REDIRECTS,
    Reason.BAD_URL,
    Reason.NOTHING_THERE,
)
"""Errors after which the next usual place is tried, because there is no feed at this address."""
_SAYS_NOTHING = (Reason.TOO_YOUNG, Reason.OURS, Reason.UNNAMED)
"""Errors of visits that say nothing about the source."""


class UsualPlaces:
    """Requests the usual places of sites that name no source.

    All methods raise :class:`newsbot.errors.DataError`.
    """

    def __init__(self, context: Context, judge: LinkJudge, links: Links, registry: SourceRegistry) -> None:
        self._context, self._judge, self._links, self._registry = context, judge, links, registry

    def guess(self, visit: Visit) -> None:
        """After the visit of a home page, queue the first usual place of a kind of source that is not
        known."""
        if not visit.outcome.failed and _is_home(visit):
            self._begin(visit, visit.url)

    def judge_source(self, visit: Visit) -> None:
        """After the visit of a feed or sitemap, check whether the site still has a source that exists.

        Many robots.txt files name a sitemap that never existed. A site whose sources are all dead is treated
        like a site without sources: links on article pages are followed, and the usual places are requested.
        """
        domain, url = visit.rule.domain, visit.lease.entry.url
        if not visit.kind.is_listing or visit.guessed or visit.outcome.error in _SAYS_NOTHING:
            return
        site = self._registry.of(domain)
        if not _is_dead(visit):
            self._registry.judged(url, dead=False)
            if not visit.outcome.failed:
                site.add(visit.kind)
            return
        self._registry.judged(url, dead=True)
        best = self._context.storage.sources.best(domain, visit.kind, 2)
        others = any(one.url != url and not one.failures for one in best)
        named = visit.rule.sitemaps if visit.kind.is_sitemap else visit.rule.feeds
        last_of_kind = not others and not named
        # An empty feed still counts as a feed, because it may have its first items tomorrow.
        if last_of_kind and (visit.kind.is_sitemap or visit.outcome.failed):
            site.add(visit.kind, known=False)
        if visit.rule.has_sources or visit.of_index or visit.data.get("where") != Where.AUTODISCOVERY:
            return
        if last_of_kind:
            self._begin(visit, visit.data.get("referrer") or url)

    def _begin(self, visit: Visit, url: str) -> None:
        """Queue the first usual place on the host of ``url``, unless this was done recently."""
        domain = visit.rule.domain
        if self._registry.of(domain).feed and self._registry.of(domain).sitemap:
            return
        note = self._context.notes.all(NOTE_KIND + domain).get("asked", {})
        until, kinds = note.get("until"), note.get("kinds", [])
        places = self._places(visit, url)
        if isinstance(until, int | float) and self._context.clock() < until:
            # A source that died in the meantime may be of a kind that was not looked for.
            places = [place for place in places if place.kind not in kinds]
        if places:
            wanted = sorted({str(place.kind) for place in places} | {*map(str, kinds)})
            self._remember(
                domain, ASK_AGAIN, kinds=wanted
            )  # written before the request, so that no other worker tries too
            self._ask(visit, places[0])

    def end(self, visit: Visit) -> bool:
        """After the visit of a usual place, record the result, and queue the next place that is still needed.

        Returns True if there is no source at this place. The place is then never due again.
        """
        domain, outcome = visit.rule.domain, visit.outcome
        # A feed or sitemap without links at a guessed address is not worth polling.
        if not outcome.failed and not outcome.shown:
            visit.settling.error = Reason.NOTHING_THERE.value
            outcome = visit.outcome
        if not outcome.failed:
            self._registry.of(domain).add(visit.kind)
            self._context.count("guessed/found")
            self._remember(domain, ASK_AGAIN, found=visit.lease.entry.url)
            logger.info("guessed domain=%s %s=%s", domain, visit.kind, visit.lease.entry.url)
            self._ask_next(visit)
            return False
        self._context.count("guessed/absent")
        visit.note(self._context.clock(), EventKind.GUESSED, absent=outcome.cause)
        # The host refused the request or did not respond, so the other places are not tried today.
        if outcome.cause not in _ABSENT and not is_no_source(outcome.cause):
            self._remember(domain, AFTER_TROUBLE, cause=outcome.cause)
            return True
        self._ask_next(visit)
        return True

    def _ask_next(self, visit: Visit) -> None:
        """Queue the next usual place of a kind of source that is not known yet."""
        if (place := self._place_after(visit)) is not None:
            self._ask(visit, place)

    def _places(self, visit: Visit, url: str) -> Sequence[Link]:
        """Return the usual places of the kinds of sources that are not known, on the host of ``url``."""
        site = self._registry.of(visit.rule.domain)
        return [
            place
            for place in usual_places(url)
            if not site.has(place.kind)
            and self._judge.follows(place.kind or Kind.FEED, visit.rule, visit)
            and not classify(visit.rule, canonicalize(place.url)).denied
        ]

    def _place_after(self, visit: Visit) -> Link | None:
        """Return the usual place that follows the visited place, or None if it was the last one."""
        url = visit.lease.entry.url
        order = [place.url for place in usual_places(url)]
        if url not in order:
            return None
        later = frozenset(order[order.index(url) + 1 :])
        return next((place for place in self._places(visit, url) if place.url in later), None)

    def _ask(self, visit: Visit, place: Link) -> None:
        self._context.count("guessed/asked")
        patient = urlsplit(place.url).path in RARE_PLACES
        found = Found(
            links=(place,), referrer=None, depth=1, force=True, site=visit.rule.domain, patient=patient
        )
        self._links.queue(found, visit)

    def _remember(self, domain: str, rest: float, **more: str | list[str]) -> None:
        known = self._context.notes.all(NOTE_KIND + domain).get("asked", {})
        kinds = {"kinds": known.get("kinds", [])}
        until = {"until": round(self._context.clock() + rest)}
        self._context.notes.save(NOTE_KIND + domain, "asked", {**kinds, **until, **more})


def _is_dead(visit: Visit) -> bool:
    outcome = visit.outcome
    if outcome.failed:
        return is_no_source(outcome.cause)
    # An unchanged source was not read, so the number of its links is unknown.
    read = not outcome.not_modified and outcome.changed is not False
    return read and not visit.reading.links_count


def _is_home(visit: Visit) -> bool:
    entry = visit.lease.entry
    named = visit.data.get("where") in (Where.SEED, Where.ARGUMENT)
    home = visit.kind is Kind.SECTION and entry.depth == 0 and is_front_page(canonicalize(entry.url))
    return named and home and not visit.rule.has_sources
