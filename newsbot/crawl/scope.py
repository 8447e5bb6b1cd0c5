"""Which sites a crawl works on, as it was asked."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from scrapy.settings import BaseSettings

from newsbot import backends
from newsbot.crawl.arguments import Arguments
from newsbot.errors import ArgumentError
from newsbot.rules import RuleSet


def check_scope(settings: BaseSettings, rules: RuleSet, arguments: Arguments) -> frozenset[str] | None:
    """Return the domains that a crawl is limited to, or None for all.

    Raises :class:`newsbot.errors.ArgumentError` if it names a site without a rule, or if there is none.
    """
    for site in arguments.sites:
        if rules.get(site) is None:
            near = get_close_matches(site, [rule.domain for rule in rules], n=1)
            hint = f"did you mean '{near[0]}'? Else " if near else ""
            raise ArgumentError(
                f"sites={site}: no rule for it in {backends.rules_folder(settings)}; {hint}add {site}.yaml "
                f"there with the line 'domain: {site}', or crawl without a rule: url=https://{site}/"
            )
    if not arguments.sites and not arguments.named:
        if not len(rules):
            raise ArgumentError(f"there are no rules in {backends.rules_folder(settings)} (NEWSBOT_RULES)")
        return None
    asked = [rules.for_url(url).domain for url in (*arguments.urls, *arguments.feeds)]
    return domains_of(rules, arguments.sites) | frozenset(asked)


def domains_of(rules: RuleSet, sites: Iterable[str]) -> frozenset[str]:
    """Return the domains of rules as the rules have them; people also write ``правда.рф``."""
    return frozenset(rule.domain for site in sites if (rule := rules.get(site)) is not None)
