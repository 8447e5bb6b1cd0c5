"""The rule of one site, the set of all rules, and what a rule says about a URL.

:mod:`newsbot.pages.rules.load` creates rules from files. :class:`RuleSet` finds the rule that applies to a
URL, and :func:`classify` matches a URL against a rule. :func:`classify` runs for every link, several hundred
times per page. So all patterns of a rule are searched in one pass. If several patterns match, the first
pattern decides.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from functools import lru_cache
from types import MappingProxyType
from typing import Literal

from newsbot.items import KINDS, Kind
from newsbot.pages.rules.expressions import PatternSet, Selector, pattern_set
from newsbot.pages.rules.yamlfile import Secret
from newsbot.urls import canonicalize, host_key, site_of

# Kinds of sources whose links may be followed.
Follow = Literal["feeds", "sitemaps", "sections", "links"]
FOLLOW: tuple[Follow, ...] = ("feeds", "sitemaps", "sections", "links")

TLS = Literal["verify", "ignore"]
Recrawl = Literal["index", "ladder", "optimum", "fixed", "off"]
RECRAWL: Mapping[Kind, tuple[Recrawl, ...]] = MappingProxyType(
    {
        Kind.FEED: ("index", "fixed"),
        Kind.SITEMAP: ("index", "fixed"),
        Kind.SECTION: ("index", "fixed"),
        Kind.ARTICLE: ("ladder", "optimum", "fixed", "off"),
        Kind.OTHER: ("fixed", "optimum", "off"),
    }
)
"""Kind of a page -> allowed policies for fetching such pages again. The first policy is the default."""

RECHECK = (3 * 3600.0, 9 * 3600.0, 24 * 3600.0, 50 * 3600.0, 96 * 3600.0, 7 * 86400.0)
"""Default ages in seconds at which articles are fetched again."""

FIELDS = (
    "title", "text", "summary", "authors", "published_at", "modified_at", "language", "section", "tags",
    "image", "canonical_url", "next_page",
)  # fmt: skip
"""Fields of an article that may have selectors in ``extract``."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A regular expression that is searched anywhere in the path and query of a URL."""

    text: str
    file: str
    """Name of the rule file that contains the pattern."""
    line: int
    """Line in this file, from 1."""

    def __str__(self) -> str:
        return f"{self.text} ({self.file}:{self.line})"


@dataclass(frozen=True, slots=True)
class Layout:
    """The selectors for pages of a site from the day ``valid_from`` on.

    ``valid_from`` is compared with the publication date of the page, or with the current day if the date is
    unknown. It is None for the layout that applies to all earlier pages.
    """

    valid_from: date | None = None
    extract: Mapping[str, tuple[Selector, ...]] = field(default_factory=lambda: MappingProxyType({}))
    remove: tuple[Selector, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """The rule of one site. It applies to ``domain`` and to its subdomains without rules of their own.

    docs/rules.md describes the keys.
    """

    domain: str
    file: str = "(built in)"
    seeds: tuple[str, ...] = ()
    feeds: tuple[str, ...] = ()
    sitemaps: tuple[str, ...] = ()
    sections: tuple[str, ...] = ()
    article: tuple[Pattern, ...] = ()
    section: tuple[Pattern, ...] = ()
    deny: tuple[Pattern, ...] = ()
    drop_query: tuple[str, ...] = ()
    max_depth: int = 5
    interval: Mapping[Kind, float] = field(default_factory=lambda: MappingProxyType({}))
    """Kind of a page -> seconds between two fetches. Loaded rules have a value for every kind."""
    recrawl: Mapping[Kind, Recrawl] = field(default_factory=lambda: MappingProxyType({}))
    """Kind of a page -> the policy that schedules its next visit."""
    recheck: tuple[float, ...] = RECHECK
    """Seconds after the discovery of an article at which the policy ``ladder`` fetches it again."""
    delay: float = 1.0
    """Seconds between two requests to a host."""
    concurrency: int = 1
    """Maximum number of simultaneous requests to a host."""
    tls: TLS = "verify"
    """How an invalid certificate is handled."""
    headers: Mapping[str, Secret] = field(default_factory=lambda: MappingProxyType({}))
    """More headers of requests to the site."""
    cookies: Mapping[str, Secret] | Secret = field(default_factory=lambda: MappingProxyType({}))
    """Cookies by name; or a text in the form of the header ``Cookie`` or of a cookies.txt."""
    user_agent: str = ""
    accept_language: str = ""
    """The header ``Accept-Language``. If it is empty, ``language`` comes first."""
    proxy: Secret | None = None
    auth: Secret | None = None
    """``NAME:PASSWORD`` of HTTP authentication."""
    render: bool | None = None
    """Whether a browser loads the pages and runs their scripts. None: the setting NEWSBOT_RENDER decides."""
    language: str | None = None
    timezone: str | None = None
    layouts: tuple[Layout, ...] = ()
    """The layouts, newest ``valid_from`` first.

    The last layout has the keys ``extract`` and ``remove`` from the top level of the file.
    """
    learn: bool | None = None
    """Whether the forms of article URLs are learned. None: only if the rule has no article patterns."""
    follow: tuple[Follow, ...] | None = None
    """Sources whose links are followed. None: all sources that the site offers."""
    tags: tuple[str, ...] = ()
    """Names of the collections that contain the site. Each is one short lower-case word."""
    notes: str = ""
    patterns: PatternSet = field(init=False, repr=False, compare=False)
    """All patterns of the rule, compiled together, in the order deny, article, section."""

    def __post_init__(self) -> None:
        texts = tuple(pattern.text for pattern in (*self.deny, *self.article, *self.section))
        # object.__setattr__ can set a field of a frozen dataclass.
        object.__setattr__(self, "patterns", pattern_set(texts))

    @property
    def has_sources(self) -> bool:
        """True if the file lists feeds, sitemaps or sections. If it is True, no sources are discovered."""
        return bool(self.feeds or self.sitemaps or self.sections)


_HOSTS = 65_536
"""Maximum number of hosts whose rule is cached. A limit is needed because links lead to many hosts without a
rule."""


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
        self._originals = tuple(rules)
        self._rules: Mapping[str, Rule] = {rule.domain: self._with_dropped(rule) for rule in self._originals}
        self.defaults = defaults or Rule(domain="")
        """The rule for sites that have no rule file. Its ``domain`` is empty."""
        self._for_host = lru_cache(_HOSTS)(self._find)

    def dropping(self, keys: Mapping[str, Iterable[str]]) -> RuleSet:
        """Return a copy of the rules in which the query keys in ``keys`` are removed from URLs too.

        ``keys`` maps domains to query keys. It may contain domains without a rule.
        """
        return RuleSet(self._originals, self.defaults, keys)

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


MAX_SEARCHED = 2048
"""Maximum number of characters of path and query that are searched. The rest of a longer URL is ignored."""


@dataclass(frozen=True, slots=True)
class Match:
    """What a rule says about a URL."""

    kind: Kind | None
    """The kind of page, or None if the rule does not state it."""
    denied: bool = False
    """True if the URL must not be fetched."""
    pattern: Pattern | None = None
    """The pattern that decided. None if no pattern matched, or if the rule lists the URL itself."""


_NOTHING = Match(None)
_LISTED = {kind: Match(kind) for kind in KINDS}


def classify(rule: Rule, url: str) -> Match:
    """Match a canonical URL against the rule.

    The first match decides. The order is: deny patterns, URLs that the rule lists (seeds count as sections),
    article patterns, section patterns.
    """
    slash = url.find("/", 8)
    text = url[slash : slash + MAX_SEARCHED] if slash > 0 else "/"
    # ``first`` is an index in deny + article + section, so it identifies both the list and the pattern.
    first = rule.patterns.first(text)
    if first is not None and first < len(rule.deny):
        return Match(None, denied=True, pattern=rule.deny[first])
    listed = _listed_urls(rule.feeds, rule.sitemaps, rule.sections, rule.seeds, rule.drop_query)
    if listed and (kind := listed.get(_bare(url))) is not None:
        return _LISTED[kind]
    if first is None:
        return _NOTHING
    place = first - len(rule.deny)
    if place < len(rule.article):
        return Match(Kind.ARTICLE, pattern=rule.article[place])
    return Match(Kind.SECTION, pattern=rule.section[place - len(rule.article)])


# Returns the kind of each URL that the rule lists. The arguments are parts of the rule. The rule itself
# cannot be the key of the cache, because it contains mappings, which are not hashable.
@lru_cache(maxsize=4096)
def _listed_urls(
    feeds: tuple[str, ...],
    sitemaps: tuple[str, ...],
    sections: tuple[str, ...],
    seeds: tuple[str, ...],
    drop_query: tuple[str, ...],
) -> dict[str, Kind]:
    kinds: dict[str, Kind] = {}
    for urls, kind in (
        (seeds, Kind.SECTION),
        (sections, Kind.SECTION),
        (sitemaps, Kind.SITEMAP),
        (feeds, Kind.FEED),  # a later entry replaces an earlier one, so a feed that is also a seed is a feed
    ):
        for url in urls:
            kinds[_bare(canonicalize(url, drop_query))] = kind
    return kinds


def _bare(url: str) -> str:
    """Return a URL without scheme and ``www.``, because sites link to a page in all these forms."""
    return url.partition("://")[2].removeprefix("www.")
