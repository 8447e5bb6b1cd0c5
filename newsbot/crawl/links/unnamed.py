"""Sources that no rule names any more: taken out of their rule, or their rule was deleted."""

from __future__ import annotations

from newsbot.crawl.context import CrawlState
from newsbot.crawl.failures import Ignored
from newsbot.crawl.visit import Visit
from newsbot.items import Where
from newsbot.urls import canonicalize, fingerprint

UNNAMED = "unnamed"
"""The cause of a visit that was not made for it."""


def refuse_unnamed(state: CrawlState, visit: Visit) -> None:
    """Raise :class:`Ignored` for a source that was named by a rule and is not now.

    One that the rule itself named comes back when it is named again; another one asks again each day.
    """
    if is_unnamed(state, visit):
        if visit.data.get("where") == Where.SEED:
            visit.page["next_due"] = None
        raise Ignored(UNNAMED, "no rule names it any more")


def is_unnamed(state: CrawlState, visit: Visit) -> bool:
    """Tell whether a source that a rule led to is no more of that rule, as the rules are now."""
    domain = visit.data.get("source", "")
    if not visit.kind.is_source or visit.forced:
        return False
    rule = state.rules.get(domain)
    if rule is None:
        asked = state.limited_to is not None and domain in state.limited_to
        return bool(visit.data.get("ruled")) and not asked
    if visit.data.get("where") != Where.SEED or not (rule.has_sources or rule.seeds):
        return False  # it was found, or its rule leaves it to us what to begin with
    named = (*rule.feeds, *rule.sitemaps, *rule.sections, *rule.seeds)
    key = visit.lease.entry.fingerprint
    return all(fingerprint(canonicalize(url, rule.drop_query)) != key for url in named)
