"""Lists of sites that other programs keep, as one-line rules: OPML, and the site lists of news-please."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass, field
from xml.etree.ElementTree import ParseError

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import fromstring

from newsbot.authoring.learned import quoted
from newsbot.urls import canonicalize, host_key, site_of

MAX_BYTES = 20 * 2**20
MAX_SITES = 20_000
MAX_FEEDS = 100
_COMMENT = re.compile(r"^\s*(?:#|//).*$", re.MULTILINE)
_COMMA = re.compile(r",(\s*[}\]])")
_FEED_SCHEME = re.compile(r"^\s*feed:(//)?(?=\S)", re.IGNORECASE)
"""``feed://example.org/rss`` and ``feed:https://example.org/rss``, as readers of other days wrote them."""


@dataclass(slots=True)
class Sites:
    """Sites with what their list says of each."""

    feeds: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    """Domain -> feeds."""
    seeds: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    left_out: list[str] = field(default_factory=list)

    @property
    def domains(self) -> list[str]:
        """All domains, sorted."""
        return sorted({*self.feeds, *self.seeds})

    def as_yaml(self, domain: str) -> str:
        """Return the rule file of a domain."""
        lines = [f"domain: {domain}"]
        for key, urls in (("feeds", self.feeds.get(domain, [])), ("seeds", self.seeds.get(domain, []))):
            if urls:
                lines += [f"{key}:", *(f"  - {quoted(url)}" for url in urls)]
        return "\n".join(lines) + "\n"


def read_opml(data: bytes) -> Sites:
    """Read the feeds of an OPML file (http://opml.org/spec2.opml). Raises ``ValueError`` if it is none."""
    sites = Sites()
    try:
        root = fromstring(_bounded(data))
    except (ParseError, DefusedXmlException, ValueError) as error:
        raise ValueError(f"is no well-formed OPML ({error})") from error
    if not root.tag.lower().endswith("opml"):
        raise ValueError(f"is no OPML: the file begins with <{root.tag}>")
    for outline in root.iter():
        feed = outline.get("xmlUrl") or outline.get("xmlurl")
        if feed:
            _add(sites, sites.feeds, _FEED_SCHEME.sub(_of_feed, feed), home_page=outline.get("htmlUrl"))
    return sites


def read_news_please(data: bytes) -> Sites:
    """Read a ``sitelist.hjson`` of news-please: ``base_urls``, each with a ``url`` or several.

    Raises ``ValueError`` if it is none. Of HJSON's freedoms comments, keys without quotes, missing commas and
    commas too many are understood.
    """
    text = _COMMA.sub(r"\1", _COMMENT.sub("", _bounded(data).decode("utf-8-sig", "replace")))
    try:
        document = json.loads(_with_quoted_keys(text))
        entries = document["base_urls"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ValueError("is no site list of news-please: no 'base_urls' in it") from error
    sites = Sites()
    for entry in entries if isinstance(entries, list) else ():
        urls = entry.get("url") if isinstance(entry, dict) else entry
        feeds = entry.get("crawler") == "RssCrawler" if isinstance(entry, dict) else False
        for url in urls if isinstance(urls, list) else [urls]:
            _add(sites, sites.feeds if feeds and _is_feed(url) else sites.seeds, url)
    return sites


def _bounded(data: bytes) -> bytes:
    if len(data) > MAX_BYTES:
        raise ValueError(f"is larger than {MAX_BYTES // 2**20} MiB")
    return data


def _with_quoted_keys(text: str) -> str:
    """HJSON lets keys go without quotes, and line ends stand for commas."""
    text = re.sub(r"(?m)(^|[{,])([ \t]*)([A-Za-z_]\w*)([ \t]*):(?!//)", r'\1\2"\3"\4:', text)
    return re.sub(r'(?m)(["\d\]}el])[ \t]*\n(\s*)(?=["{\[])', r"\1,\n\2", text)


def _is_feed(url: object) -> bool:
    return isinstance(url, str) and re.search(r"rss|feed|atom|\.xml", url, re.IGNORECASE) is not None


def _of_feed(scheme: re.Match[str]) -> str:
    return "http://" if scheme[1] else ""


def _host_of(home_page: str | None) -> str | None:
    """Return the host of a home page, None where none can be read: the feed may still be good."""
    for address in (home_page or "", f"http://{(home_page or '').strip()}"):
        with suppress(ValueError):
            if "." in (host := host_key(address)):
                return host
    return None


def _add(sites: Sites, home: dict[str, list[str]], url: object, *, home_page: str | None = None) -> None:
    try:
        address = str(url).strip()
        canonicalize(address)
        domain = site_of(_host_of(home_page) or host_key(address))
    except ValueError as error:
        sites.left_out.append(f"{str(url)[:100]}: {error}")
        return
    known = home[domain] if domain in home or len(sites.domains) < MAX_SITES else None
    if known is None or len(known) >= MAX_FEEDS:
        sites.left_out.append(f"{address[:100]}: too many")
    elif address not in known:
        known.append(address)
