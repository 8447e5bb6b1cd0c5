"""Holds all rules of a crawl, and finds the one that applies to a URL."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache

from newsbot.rules.schema import Rule
from newsbot.urls import host_key, site_of

_HOSTS = 65_536
"""Maximum number of hosts whose rule is cached. Links lead to many hosts that have no rule."""


class RuleSet:
    """The rules by domain, in the order of their file names.

    ``dropped`` has query keys by domain. They are removed from URLs in addition to the keys in the rules.
    """

    def __init__(
        self,
        rules: Iterable[Rule],
        defaults: Rule | None = None,
        dropped: Mapping[str, Iterable[str]] | None = None,
    ) -> None:
        self._dropped = {domain: tuple(sorted(keys)) for domain, keys in (dropped or {}).items()}
        self._given = tuple(rules)
        self._rules: Mapping[str, Rule] = {rule.domain: self._with_dropped(rule) for rule in self._given}
        self.defaults = defaults or Rule(domain="")
        """The rule for sites that have no rule file. Its ``domain`` is empty."""
        self._for_host = lru_cache(_HOSTS)(self._find)

    def dropping(self, keys: Mapping[str, Iterable[str]]) -> RuleSet:
        """Return a copy of the rules that also removes the query keys in ``keys``, by domain.

        ``keys`` may contain sites without a rule.
        """
        return RuleSet(self._given, self.defaults, keys)

    def _with_dropped(self, rule: Rule) -> Rule:
        keys = tuple(key for key in self._dropped.get(rule.domain, ()) if key not in rule.drop_query)
        return replace(rule, drop_query=rule.drop_query + keys) if keys else rule

    def for_url(self, url: str) -> Rule:
        """Return the rule of the longest domain that covers the URL's host.

        If there is none, return the defaults with ``domain`` set to the site's registered domain. Raises
        ``ValueError`` if ``url`` is not an absolute http(s) URL.
        """
        return self._for_host(host_key(url))

    def get(self, domain: str) -> Rule | None:
        """Return the rule of exactly this domain, or None. The domain may be in Unicode or in upper case."""
        try:
            return self._rules.get(domain) or self._rules.get(ascii_domain(domain))
        except ValueError:
            return None

    def tagged(self, tag: str) -> list[str]:
        """Return the domains of the sites that have this tag."""
        return [rule.domain for rule in self if tag in rule.tags]

    def __iter__(self) -> Iterator[Rule]:
        return iter(self._rules.values())

    def __len__(self) -> int:
        return len(self._rules)

    def __contains__(self, domain: object) -> bool:
        return isinstance(domain, str) and self.get(domain) is not None

    def _find(self, host: str) -> Rule:
        # The port is removed. IPv6 addresses are in brackets and contain colons themselves.
        name = host if host.startswith("[") else host.partition(":")[0]
        labels = name.split(".")
        for start in range(len(labels)):  # a.b.example.org, b.example.org, example.org, org
            rule = self._rules.get(".".join(labels[start:]))
            if rule is not None:
                return rule
        return self._with_dropped(replace(self.defaults, domain=site_of(host)))


def ascii_domain(domain: str) -> str:
    """Return a domain in lower-case ASCII form (``правда.рф`` → ``xn--80aafi6cg.xn--p1ai``).

    Raises ``ValueError`` if it is not a plain host name.
    """
    if not domain or not _NO_HOST.isdisjoint(domain):
        raise ValueError(f"{domain!r} is not a domain; write for example example.org")
    try:
        return host_key(f"https://{domain}/")
    except ValueError as error:
        raise ValueError(f"{domain!r} is not a domain; write for example example.org") from error


_NO_HOST = frozenset("/:?#@%*[]\\ \t\r\n")
