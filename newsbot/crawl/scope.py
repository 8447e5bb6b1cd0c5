"""Decides which sites, hosts and dates belong to a crawl.

:class:`Removals` prevents the crawl from collecting removed pages and sites again (``scrapy remove``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from functools import lru_cache

from scrapy.settings import BaseSettings

from newsbot import backends
from newsbot.config.table import SETTINGS
from newsbot.crawl.arguments import Arguments
from newsbot.crawl.context import MAX_HOSTS, Context
from newsbot.errors import ArgumentError, did_you_mean
from newsbot.items import Article, Bounded
from newsbot.pages.rules import RuleSet
from newsbot.pages.rules.rule import Rule
from newsbot.sites.pauses_and_removals import LateArrivals, RemovalNotes

SMALL_ARCHIVE = 500
"""By default, the lists of a site are read without a date limit until they have shown more than this number
of articles."""


class Scope:
    """Decides which sites and dates belong to a crawl, by its arguments, by pauses and by limits."""

    def __init__(self, context: Context, settings: BaseSettings, arguments: Arguments) -> None:
        """Raises :class:`newsbot.errors.ArgumentError` if the arguments name a site without a rule."""
        self._context, self._settings = context, settings
        self.arguments = arguments
        self.limited_to = check_scope(settings, context.rules, arguments)
        """Domains that this crawl works on; None means all."""
        self.limited: set[str] = set()
        """Domains that have reached their limit of articles in this crawl."""
        self.paused: frozenset[str] = frozenset()
        """Domains that people have paused, see :mod:`newsbot.sites.pauses_and_removals`."""
        self.named_hosts = Bounded[str, None](MAX_HOSTS)
        """Hosts that belong to the crawl although its arguments do not name their sites."""
        # Each call of the frontier's ``lease`` checks each host. Without a cache this would be too slow.
        self._domain = lru_cache(MAX_HOSTS)(self._domain_of)

    def take_rules(self, rules: RuleSet) -> None:
        """Use ``rules`` from now on.

        Raises :class:`newsbot.errors.ArgumentError` if the arguments name a site for which ``rules`` has no
        rule.
        """
        self.limited_to = check_scope(self._settings, rules, self.arguments)
        self._domain.cache_clear()

    def selected_rules(self) -> list[Rule]:
        """Return the rules whose sources this crawl reads."""
        rules = self._context.rules
        if self.arguments.sites:
            asked = domains_of(rules, self.arguments.sites)
            return [rule for rule in rules if rule.domain in asked]
        return [] if self.arguments.named else list(rules)

    def in_scope(self, domain: str) -> bool:
        """Return True if the arguments name this site, or if they name no site."""
        return self.limited_to is None or domain in self.limited_to

    def accepts(self, host: str) -> bool:
        """Return True if this crawl may work on URLs of ``host`` now."""
        domain = self._domain(host)
        # This comes before named_hosts, because a pause also holds for hosts that the arguments name.
        if domain in self.limited or domain in self.paused:
            return False
        return self.in_scope(domain) or host in self.named_hosts

    @property
    def accepting(self) -> Callable[[str], bool] | None:
        """The function :meth:`accepts`, or None if all hosts are accepted. None avoids a call per host."""
        return self.accepts if self.limited_to is not None or self.limited or self.paused else None

    def since_of_sitemaps(self) -> datetime | None:
        """Return the earliest date of pages from sitemaps: ``since``, else NEWSBOT_MAX_AGE_DAYS days ago.

        None means that there is no limit.
        """
        days = self._settings.getfloat("NEWSBOT_MAX_AGE_DAYS")
        if self.arguments.since is not None or not days:
            return self.arguments.since
        return self._context.now() - timedelta(days=days)

    def since_of_lists(self, shown: int) -> datetime | None:
        """Return the earliest date of articles for which lists are read; None if there is no limit.

        ``shown`` is the number of articles that the site's lists have shown so far. The date is the same as
        for sitemaps. If neither arguments nor settings set a date, an archive of up to :data:`SMALL_ARCHIVE`
        articles is read completely.
        """
        chosen = SETTINGS["NEWSBOT_MAX_AGE_DAYS"].default != self._settings.getfloat("NEWSBOT_MAX_AGE_DAYS")
        if self.arguments.since is None and not chosen and shown < SMALL_ARCHIVE:
            return None
        return self.since_of_sitemaps()

    def _domain_of(self, host: str) -> str:
        return self._context.rule_for(f"http://{host}/").domain


def check_scope(settings: BaseSettings, rules: RuleSet, arguments: Arguments) -> frozenset[str] | None:
    """Return the domains that a crawl is limited to, or None if it is not limited.

    Raises :class:`newsbot.errors.ArgumentError` if the arguments name a site without a rule, or if there are
    neither rules nor URLs.
    """
    for site in arguments.sites:
        if rules.get(site) is None:
            hint = did_you_mean(site, [rule.domain for rule in rules])
            raise ArgumentError(
                f"sites={site}: no rule for it in {backends.rules_folder(settings)}{hint}; add {site}.yaml "
                f"there with the line 'domain: {site}', or crawl without a rule: url=https://{site}/"
            )
    if not arguments.sites and not arguments.named:
        if not len(rules):
            folder = backends.rules_folder(settings)
            raise ArgumentError(
                f"there are no rules in {folder} (NEWSBOT_RULES); add example.org.yaml there with the line "
                "'domain: example.org', choose sites with init --sites, or crawl url=https://example.org/"
            )
        return None
    asked = [rules.for_url(url).domain for url in (*arguments.urls, *arguments.feeds)]
    return domains_of(rules, arguments.sites) | frozenset(asked)


def domains_of(rules: RuleSet, sites: Iterable[str]) -> frozenset[str]:
    """Return the domains of ``sites`` in the spelling of their rules. Sites without a rule are left out.

    The spelling may differ: people may write ``правда.рф`` where the rule has the ASCII form.
    """
    return frozenset(rule.domain for site in sites if (rule := rules.get(site)) is not None)


class Removals:
    """Holds the removed pages and sites, and the articles that were stored since the notes on removals were
    last read.

    Another program may remove a page while this worker stores its article. The article is then deleted at the
    next heartbeat.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._tombstones, self._latecomers = RemovalNotes(context.clock), LateArrivals()

    def read(self) -> None:
        """Read the notes. Raises :class:`newsbot.errors.DataError`."""
        self._tombstones.read(self._context.notes)

    def covers(self, key: bytes, host: str) -> bool:
        """Return True if a URL was removed. ``key`` is its fingerprint, and ``host`` is its host key.

        Outside of a section, a server's notes are not read again, because this would block the event loop.
        """
        if self._context.storage.is_local or self._context.calls.in_section:
            self._tombstones.refresh(self._context.notes)
        return self._tombstones.covers(key, host)

    def covers_site(self, domain: str) -> bool:
        """Return True for a site that was removed as a whole."""
        return self._tombstones.covers_site(domain)

    def stored(self, article: Article) -> None:
        """Remember an article that was stored or moved to another address. :meth:`take_out` checks it."""
        self._latecomers.stored(article)

    def take_out(self) -> None:
        """Delete articles that were stored while another program removed them.

        Raises :class:`newsbot.errors.DataError`.
        """
        self.read()
        context = self._context
        gone = self._latecomers.take_out(
            self._tombstones.covers, context.storage, context.index, context.clock()
        )
        if gone:
            context.count("removed_again", gone)
