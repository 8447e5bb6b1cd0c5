"""What belongs to a crawl: its arguments, and the sites, hosts and dates that they select.

The arguments are those of ``scrapy crawl news -a name=value``. A wrong argument raises
:class:`newsbot.errors.ArgumentError`. Its message is one line and names the allowed values.

:class:`Removals` prevents the crawl from collecting removed pages and sites again (``scrapy remove``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, cast, get_args
from xml.etree.ElementTree import ParseError

from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import fromstring
from scrapy.settings import BaseSettings

from newsbot import backends
from newsbot.clock import parse_duration
from newsbot.config.settings import SETTINGS, as_switch
from newsbot.crawl.context import MAX_HOSTS, Context
from newsbot.errors import MAX_QUOTE, ArgumentError, did_you_mean
from newsbot.items import Article, Bounded
from newsbot.pages.rules.rule import FOLLOW, Follow, Rule, RuleSet
from newsbot.sites.pauses_and_removals import LateArrivals, RemovalNotes
from newsbot.urls import canonicalize, meant

Mode = Literal["once", "continuous"]
MAX_LIST_FILE = 50 * 2**20
"""Maximum size in bytes of a file with URLs or feeds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """The arguments of one crawl. An empty tuple or None means that the argument was not given."""

    sites: tuple[str, ...] = ()
    urls: tuple[str, ...] = ()
    feeds: tuple[str, ...] = ()
    follow: tuple[Follow, ...] | None = None
    since: datetime | None = None
    until: datetime | None = None
    max_articles: int | None = None
    max_articles_per_site: int | None = None
    mode: Mode = "once"
    now: bool = False
    dry_run: bool = False

    @property
    def named(self) -> bool:
        """True if URLs or feeds were given. The crawl then does not read all sites of the rules."""
        return bool(self.urls or self.feeds)

    @property
    def needs_rules(self) -> bool:
        """True if the crawl reads sites that only the rules describe."""
        return bool(self.sites) or not self.named

    @property
    def narrows(self) -> bool:
        """True if the arguments restrict which links of a source are followed (dates, ``follow``)."""
        return bool(self.since or self.until or self.follow)


HELP = {
    "sites": "domains of rule files, comma separated: sites=lenta.ru,bbc.com",
    "url": "one address to fetch now: url=https://example.org/news/1",
    "urls": "several addresses, space separated",
    "urls_file": "a file with one address per line",
    "feeds": "feeds to read now: addresses (space separated), or a file with one per line, or an OPML file",
    "follow": f"any of {','.join(FOLLOW)}",
    "since": "articles published since then: 2026-11-20, 2026-11-20T08:00Z or an age such as 12h, 7d",
    "until": "articles published before this time; same format as since",
    "max_articles": "stop after this number of new articles",
    "max_articles_per_site": "maximum number of new articles of each site",
    "mode": "once (until no URL is due) or continuous",
    "now": "yes: read all known feeds, sitemaps and sections now, even if they are not due",
    "dry_run": "yes: fetch pages and extract articles, but do not store them",
}
"""The meaning of each argument. Error messages show it."""

SCRAPYD_JOB = "_job"
"""The argument with the id of a job, which scrapyd passes to every spider."""


def parse_arguments(given: Mapping[str, Any], *, now: datetime) -> Arguments:
    """Return the checked arguments of a crawl.

    ``given`` maps names to the strings that Scrapy passes. An age in ``since`` or ``until`` counts back from
    ``now``. Raises :class:`newsbot.errors.ArgumentError`.
    """
    values = given_values(given, HELP)
    urls = [
        *addresses(values.get("url")),
        *addresses(values.get("urls")),
        *lines_of("urls_file", values.get("urls_file")),
    ]
    arguments = Arguments(
        sites=tuple(word.lower() for word in words(values.get("sites"))),
        urls=tuple(address("url", url) for url in urls),
        feeds=tuple(address("feeds", url) for url in _feeds(values.get("feeds"))),
        follow=_follow(values.get("follow")),
        since=_moment("since", values.get("since"), now),
        until=_moment("until", values.get("until"), now),
        max_articles=count("max_articles", values.get("max_articles")),
        max_articles_per_site=count("max_articles_per_site", values.get("max_articles_per_site")),
        mode=_mode(values.get("mode")),
        now=_flag("now", values.get("now")),
        dry_run=_flag("dry_run", values.get("dry_run")),
    )
    if arguments.since and arguments.until and arguments.since >= arguments.until:
        raise ArgumentError(
            f"since={values['since']} is not before until={values['until']}: no article would match"
        )
    return arguments


def arguments_for(rules: RuleSet, named: Iterable[str]) -> dict[str, list[str]]:
    """Return the arguments ``sites`` and ``urls`` of a crawl of sites that are named by domain or address."""
    # The argument ``sites`` accepts only sites with a rule. Other sites are passed as URLs.
    parts: dict[str, list[str]] = {"sites": [], "urls": []}
    for name in named:
        parts["sites" if "/" not in name and rules.get(name) is not None else "urls"].append(name)
    return {argument: names for argument, names in parts.items() if names}


def given_values(given: Mapping[str, Any], known: Mapping[str, str]) -> dict[str, str]:
    """Return the values as text, by name. Raises :class:`ArgumentError` for a name that is not ``known``."""
    given = {name: value for name, value in given.items() if name != SCRAPYD_JOB}
    for name in given:
        if name not in known:
            hint = did_you_mean(name, known)
            raise ArgumentError(f"unknown argument '{name}'{hint}; allowed: {', '.join(known)}")
    return {name: str(value).strip() for name, value in given.items() if value is not None}


def _invalid(name: str, value: str) -> ArgumentError:
    return ArgumentError(f"{name}={value}: invalid value; {name}: {HELP[name]}")


def words(text: str | None) -> list[str]:
    """Return the words of ``text``. Commas or blanks separate the words."""
    return (text or "").replace(",", " ").split()


_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)


def addresses(text: str | None) -> list[str]:
    """Return the addresses in ``text``. Blanks separate them, and commas that are not part of an address."""
    found: list[str] = []
    for word in (text or "").split():
        current, *parts = word.split(",")
        for part in parts:
            if _begins_address(current, part):
                found.append(current)
                current = part
            else:
                current += f",{part}"
        found.append(current)
    return [one for given in found if (one := given.strip(","))]


def _begins_address(before: str, part: str) -> bool:
    """Return True if ``part``, which follows a comma after the address ``before``, is another address.

    A host has no comma, so a comma ends an address without a path. After a path, an address must have a
    scheme, as in ``/7,75398,story.html,https://…``, unless no address has one (``a.org/1,b.org/2``).
    """
    if _SCHEME.match(part):
        return True
    host, slash, _ = part.partition("/")
    scheme, _, rest = before.rpartition("://")
    has_path = bool(rest.partition("/")[2]) or "?" in rest
    return "." in host and (not has_path or (not scheme and bool(slash)))


def address(name: str, given: str) -> str:
    """Return an absolute URL; ``https://`` is added if the scheme is missing.

    Raises :class:`ArgumentError`, whose message contains the argument's ``name``.
    """
    url, shown = given, given[:MAX_QUOTE]
    if "://" not in given:
        if "." not in given.partition("/")[0]:
            raise ArgumentError(f"{name}={shown}: is not an address{meant(shown)}")
        url = f"https://{given}"
    try:
        canonicalize(url)
    except ValueError as error:
        raise ArgumentError(f"{name}={shown}: {error}{meant(shown)}") from error
    return url


def _read(name: str, file: str) -> str:
    path = Path(file).expanduser()
    try:
        if path.stat().st_size > MAX_LIST_FILE:
            raise ArgumentError(f"{name}={file}: is larger than {MAX_LIST_FILE >> 20} MB")
        return path.read_text(encoding="utf-8-sig")  # drops the byte order mark that Windows editors write
    except OSError as error:
        raise ArgumentError(f"{name}={file}: cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise ArgumentError(f"{name}={file}: is not UTF-8 text") from error


def _lines(text: str) -> list[str]:
    lines = (line.strip() for line in text.splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def lines_of(name: str, file: str | None) -> list[str]:
    """Return the lines of ``file`` without blank lines and # comments. ``name`` is the argument's name."""
    return _not_empty(name, file, _lines(_read(name, file))) if file else []


def _not_empty(name: str, file: str, found: list[str]) -> list[str]:
    """Return ``found``. Raises :class:`ArgumentError` if it is empty, because the crawl would do nothing."""
    if not found:
        raise ArgumentError(f"{name}={file}: the file is empty; write one entry per line")
    return found


def _feeds(value: str | None) -> list[str]:
    """Return the URLs of feeds. ``value`` is a list of URLs, or the name of a text file or an OPML file."""
    if not value:
        return []
    if "://" in value or not Path(value).expanduser().is_file():
        # Without this check, a wrong file name would be treated as a domain, with a misleading error message.
        if _looks_like_a_file(value):
            _read("feeds", value)  # the file does not exist, so this raises the right error
        return addresses(value)
    text = _read("feeds", value)
    # OPML has no fixed file name, so the content decides.
    markup = text.lstrip().startswith("<")
    return _not_empty("feeds", value, _opml(value, text) if markup else _lines(text))


def _looks_like_a_file(value: str) -> bool:
    if "://" in value:
        return False
    if value.startswith(("/", "./", "../", "~")) or value.endswith(".opml"):
        return True
    return value.endswith((".xml", ".txt")) and "/" not in value


def _opml(file: str, text: str) -> list[str]:
    """Return the URLs of the feeds in an OPML file (http://opml.org/spec2.opml)."""
    try:
        root = fromstring(text.encode())
    except (ParseError, DefusedXmlException) as error:
        raise ArgumentError(f"feeds={file}: is not well-formed OPML ({str(error)[:MAX_QUOTE]})") from error
    if not root.tag.lower().endswith("opml"):
        raise ArgumentError(f"feeds={file}: is not OPML: the file begins with <{root.tag[:MAX_QUOTE]}>")
    # the specification says xmlUrl; some exports have xmlurl
    feeds = [node.get("xmlUrl") or node.get("xmlurl") for node in root.iter("outline")]
    return [feed for feed in feeds if feed]


def _follow(value: str | None) -> tuple[Follow, ...] | None:
    if not value:
        return None
    chosen = words(value)
    if any(word not in FOLLOW for word in chosen):
        raise _invalid("follow", value)
    return tuple(word for word in FOLLOW if word in chosen)


def _moment(name: str, value: str | None, now: datetime) -> datetime | None:
    if not value:
        return None
    # A number without a unit is read only as a date: "20261120" is a valid ISO date. As a duration, it would
    # mean 20 million seconds.
    with suppress(ValueError, OverflowError):
        if not value.isdigit():
            return now - timedelta(seconds=parse_duration(value))
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        raise _invalid(name, value) from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def count(name: str, value: str | None, known: Mapping[str, str] = HELP) -> int | None:
    """Return a whole number of at least 1, or None if ``value`` is empty. Raises :class:`ArgumentError`."""
    if not value:
        return None
    # isascii() is needed because isdigit() is also true for ² and for digits of other scripts
    if not value.isascii() or not value.isdigit() or int(value) == 0:
        raise ArgumentError(f"{name}={value}: must be a whole number above 0 ({known[name]})")
    return int(value)


def _mode(value: str | None) -> Mode:
    if not value:
        return "once"
    if value not in get_args(Mode):
        raise _invalid("mode", value)
    return cast("Mode", value)


def _flag(name: str, value: str | None) -> bool:
    try:
        return as_switch(value or "no")
    except ValueError:
        raise ArgumentError(f"{name}={value}: must be yes or no ({HELP[name]})") from None


# --- scope
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
