"""Parses and checks the arguments of ``scrapy crawl news -a name=value``.

A wrong argument raises :class:`newsbot.errors.ArgumentError`. Its message is one line and names the allowed
values.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal, cast, get_args
from xml.etree.ElementTree import ParseError

from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import fromstring

from newsbot.clock import parse_duration
from newsbot.config.table import as_switch
from newsbot.errors import MAX_QUOTE, ArgumentError, did_you_mean
from newsbot.pages.rules.rule import FOLLOW, Follow, RuleSet
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
