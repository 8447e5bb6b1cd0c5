"""Finds a site's feeds, sitemaps and sections from its home page and robots.txt.

The WebSub hubs that a feed or a page names are found as well. Source: W3C Recommendation WebSub, 23 January
2018, section 4 (https://www.w3.org/TR/websub/#discovery).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import cast
from urllib.parse import urljoin

from lxml import etree
from lxml.html import HtmlElement

from newsbot.items import Kind, Link, Where
from newsbot.pages.discovery.list_pages import PageLinks, base_of, elements, split_pages, text_of
from newsbot.pages.rules.rule import Rule, classify
from newsbot.pages.rules.shape import RUBRICS, UTILITIES, features, is_front_page, is_list_id
from newsbot.urls import MAX_URL, absolute, canonical_or_same, host_key, resolve, site_of

MAX_FEEDS = 20
_RUBRIC_DEPTH = 2
"""Number of folders in the URL of a section such as ``/category/politics/``."""
MAX_SITEMAPS = 50
MAX_SECTIONS = 30
MAX_ROBOTS = 500_000
"""Maximum number of characters of a robots.txt that are read (RFC 9309, 2.5: at least 500 KiB)."""

_ANNOUNCED = etree.XPath("//link[@href and @rel and @type]|//a[@href and @rel and @type]")
_ANCHORS = etree.XPath("//a[@href]")
_MAX_ANCHORS = 5000
_FEED_TYPES = ("application/rss+xml", "application/atom+xml", "application/rdf+xml", "application/feed+json")
_VAGUE_TYPES = ("application/json", "application/xml", "text/xml")
"""Media types that are used for feeds and for other data.

A link with such a type counts as a feed only if its URL looks like the URL of a feed.
"""
# Three forms: /rss, /feed/sport/, /atom1.0.xml; /news-rss.xml, /feed_sport.php; and any path that ends in
# .rss, .rdf or .atom.
_FEED_PATH = re.compile(
    r"/(?:rss|feed|feeds|atom)(?:[0-9.]{1,4}|[-_][\w-]{1,40})?(?:/[\w-]{1,40}){0,3}(?:/|\.(?:xml|rss|rdf|atom))?$"
    r"|/(?:[\w-]{1,40}[-_.])?(?:rss|feed|atom)(?:[-_][\w-]{1,40})?\.(?:xml|rss|php|json)$"
    r"|\.(?:rss|rdf|atom)$",
    re.IGNORECASE,
)
_VAGUE_PATH = re.compile(r"/(?:index|news|export)[\w-]{0,20}\.xml$", re.IGNORECASE)
"""A path that is ambiguous: in a link of a page it is a feed, and in robots.txt it is a sitemap."""
_FEED_QUERY = re.compile(
    r"[?&](?:feed=(?:rss2?|atom|rdf)|format=(?:rss|feed|atom)|type=rss)(?:&|$)", re.IGNORECASE
)
_COMMENTS = re.compile(r"comment|kommentar|commentaire|respon[sd]|/oembed|wp-json|[?&]p=\d", re.IGNORECASE)
"""Matches URLs that do not list articles although pages declare them as feeds.

These are feeds of comments, oEmbed, and the API of WordPress.
"""
# Blanks are written as "[ \t]", because \s also matches line ends, and a URL in the next line would then be
# matched.
_SITEMAP_LINE = re.compile(
    r"^[ \t]{0,20}sitemap[ \t]{0,20}:[ \t]{0,20}(\S{1,4000})", re.IGNORECASE | re.MULTILINE
)
_FEED_HOSTS = ("feeds.feedburner.com", "feeds2.feedburner.com", "feedpress.me", "feeds.feedblitz.com")
"""Hosts that serve feeds for other sites."""
_NAME_WORDS = 3
"""Maximum number of words of the name of a section whose address has only a query."""
_SECTION_SHAPES = ("1 at depth 1", "2 at depth 1", "1 at depth 2", "front page")
_USUAL_FEEDS = (
    "/feed", "/rss", "/rss.xml", "/feed.xml", "/feed/rss", "/atom.xml", "/index.xml", "/news/rss",
    "/feed.json",
)  # fmt: skip
_USUAL_SITEMAPS = (
    "/sitemap.xml", "/sitemap_index.xml", "/news-sitemap.xml", "/sitemap-news.xml", "/sitemap_news.xml",
    "/sitemap-index.xml", "/wp-sitemap.xml",
)  # fmt: skip


RARE_PLACES = frozenset((*_USUAL_FEEDS[3:], *_USUAL_SITEMAPS[1:]))
"""Paths of usual places at which few sites have a feed or sitemap."""


def find_sources(tree: etree._Element, url: str) -> list[Link]:
    """Return the feeds that a page links to, declared feeds first.

    A feed is declared by the ``rel`` and ``type`` of a link. Feeds of comments and of other sites are left
    out. At most :data:`MAX_FEEDS` feeds are returned. Never raises.
    """
    base = base_of(tree, url)
    site = _site(url)
    found: dict[str, Link] = {}
    for address, text in (*_announced(tree, base), *_linked(tree, base)):
        if len(found) >= MAX_FEEDS:
            break
        if _COMMENTS.search(address) or "comment" in (text or "").lower() or not _belongs(address, site):
            continue
        link = Link(url=address, where=Where.AUTODISCOVERY, kind=Kind.FEED, text=text)
        found.setdefault(canonical_or_same(address), link)
    return list(found.values())


def from_robots(text: str, url: str) -> list[Link]:
    """Return the links in the ``Sitemap:`` lines of a robots.txt, at most :data:`MAX_SITEMAPS`.

    Such a link may also be a feed. The link may be on another host (https://www.sitemaps.org/protocol.html),
    because the site itself names it in its robots.txt. Never raises.
    """
    found: dict[str, Link] = {}
    lines = text[:MAX_ROBOTS].replace("\r", "\n")  # some servers end lines with CR only
    for match in _SITEMAP_LINE.finditer(lines):
        address = absolute(url, match[1])
        if address is not None and len(found) < MAX_SITEMAPS:
            kind = Kind.FEED if is_feed_address(address) else Kind.SITEMAP
            link = Link(url=address, where=Where.AUTODISCOVERY, kind=kind)
            found.setdefault(canonical_or_same(address), link)
    return list(found.values())


def usual_places(url: str) -> list[Link]:
    """Return URLs at which many sites have a feed or sitemap, most likely first.

    These URLs are guesses. Try them one after the other, and only if a site declares no sources.
    """
    feeds, sitemaps = (
        [Link(url=place, where=Where.GUESS, kind=kind) for path in paths if (place := resolve(url, path))]
        for kind, paths in ((Kind.FEED, _USUAL_FEEDS), (Kind.SITEMAP, _USUAL_SITEMAPS))
    )
    # the most common places of both kinds come first, then the rare places of both kinds
    return feeds[:3] + sitemaps[:4] + feeds[3:] + sitemaps[4:]


def find_sections(links: PageLinks, url: str, rule: Rule) -> list[Link]:
    """Return the section fronts that the menus of a home page link to, section fronts on its own host first.

    A section front is on the same site and has a short path. The rule does not deny it, and it is not a
    service, login or legal page. A URL that matches a section pattern of the rule is accepted even if the
    link is not in a menu. At most :data:`MAX_SECTIONS` links are returned.
    """
    site, host = _site(url), _host(url)
    here: dict[str, Link] = {}
    elsewhere: dict[str, Link] = {}
    for link in split_pages(links.find(menus=True), url)[0]:
        name = canonical_or_same(link.url)
        own = _host(name) == host
        if is_front_page(name) if own else not is_front_page(name):
            continue  # skip the home page itself; on other hosts of the site, only home pages are accepted
        if _is_section(link, name, rule, site):
            section = Link(url=link.url, where=Where.AUTODISCOVERY, kind=Kind.SECTION, text=link.text)
            (here if own else elsewhere).setdefault(name, section)
    return [*here.values(), *elsewhere.values()][:MAX_SECTIONS]


def is_feed_address(url: str) -> bool:
    """Return True for a URL that looks like the URL of a feed."""
    path, mark, query = url.partition("#")[0].partition("?")
    return _FEED_PATH.search(path) is not None or _FEED_QUERY.search(mark + query) is not None


def _announced(tree: etree._Element, base: str) -> Iterator[tuple[str, str | None]]:
    """Yield the feeds that are declared by ``rel=alternate`` and type
    (https://www.rssboard.org/rss-autodiscovery)."""
    for element in elements(_ANNOUNCED, tree, _MAX_ANCHORS):
        relations = (element.get("rel") or "").lower().split()
        media_type = (element.get("type") or "").partition(";")[0].strip().lower()
        if not {"alternate", "feed"} & set(relations):
            continue
        address = absolute(base, element.get("href") or "")
        if address is None:
            continue
        if media_type in _FEED_TYPES or (media_type in _VAGUE_TYPES and is_feed_address(address)):
            yield address, element.get("title")


def _linked(tree: etree._Element, base: str) -> Iterator[tuple[str, str | None]]:
    """Yield ordinary links whose URL looks like the URL of a feed."""
    for element in elements(_ANCHORS, tree, _MAX_ANCHORS):
        href = (element.get("href") or "").strip()
        # The form is checked before the URL is resolved, because most links of a page are dropped here.
        if len(href) > MAX_URL or not (is_feed_address(href) or _VAGUE_PATH.search(href)):
            continue
        if (address := absolute(base, href)) is not None:
            yield address, text_of(element)[0] or None


def _is_section(link: Link, name: str, rule: Rule, site: str) -> bool:
    match = classify(rule, name)
    if match.denied or _site(link.url) != site:
        return False
    if match.kind is not None:
        return match.kind is Kind.SECTION
    path, _, query = name.partition("//")[2].partition("/")[2].partition("?")
    if link.where is not Where.NAVIGATION or (query and path):
        return False
    if query:  # the addresses of all pages of the site may differ only in the query: /index.php?id=12
        return len((link.text or "").split()) <= _NAME_WORDS
    shape = features(name)
    # By its features, "/category/politics/" is a list, but in the menu of a home page it is a section.
    if any(feature.startswith(("utility", "list", "media")) for feature in shape) and not _is_rubric(name):
        return False
    shown_as_section = is_list_id(name) or any(feature in _SECTION_SHAPES for feature in shape)
    return shown_as_section and (link.text or "").lower() not in UTILITIES


def _is_rubric(url: str) -> bool:
    """Return True for ``/category/politics/`` and similar URLs."""
    folders = url.lower().partition("://")[2].rstrip("/").split("/")[1:]
    return is_list_id(url) or (len(folders) == _RUBRIC_DEPTH and folders[0] in RUBRICS)


def _belongs(address: str, site: str) -> bool:
    return _site(address) == site or _host(address) in _FEED_HOSTS


def _host(url: str) -> str:
    return url.partition("://")[2].partition("/")[0].lower()


def _site(url: str) -> str:
    try:
        return site_of(host_key(url))
    except ValueError:
        return ""


MAX_LINKS = 50
"""Maximum number of links that are read from a header or a page."""
# Matches <https://hub.example/>; rel="hub": the target in angle brackets, then parameters. The length of each
# part is limited, so that a match takes a limited time.
_LINK = re.compile(
    r"<([^<>]{1,2000})>((?:\s*;\s*[\w!#$%&'*+.^`|~-]+\s*=\s*(?:\"[^\"]{0,500}\"|[^\s\",;]{1,500}))*)"
)
_HEAD_LINKS = etree.XPath("//head/link[@href and @rel]")
# Matches ; rel="hub self" and ; rel=hub.
_RELATION = re.compile(r";\s*rel\s*=\s*(?:\"([^\"]*)\"|([^\s\",;]+))", re.IGNORECASE)


def links_of(headers: Iterable[str], base: str) -> dict[str, list[str]]:
    """Return the targets of ``Link`` headers (RFC 8288) by relation, in order, as absolute URLs."""
    found: dict[str, list[str]] = {}
    for header in headers:
        # The length is limited, because any server can send the header, and the pattern must not take long.
        for target, parameters in _LINK.findall(header[:20_000])[:MAX_LINKS]:
            relation = _RELATION.search(parameters)
            for name in (relation[1] or relation[2]).lower().split() if relation else ():
                found.setdefault(name, []).append(urljoin(base, target.strip()))
    return found


def hubs_in(tree: HtmlElement, base: str) -> tuple[list[str], str | None]:
    """Return the hubs and the first ``self`` link in the head of a page, as absolute URLs."""
    found: dict[str, list[str]] = {"hub": [], "self": []}
    for link in cast("list[HtmlElement]", _HEAD_LINKS(tree))[:MAX_LINKS]:
        for relation in link.get("rel", "").lower().split():
            if relation in found:
                found[relation].append(urljoin(base, link.get("href", "").strip()))
    return found["hub"], next(iter(found["self"]), None)


def topic_and_hubs(
    headers: Iterable[str], url: str, in_document: Iterable[str], self_in_document: str | None
) -> tuple[str, list[str]] | None:
    """Return the topic and the hubs of a feed, in order of preference; None if it has no hub (section 4).

    ``url`` is the URL of the feed. It is the topic, unless a ``self`` link names another URL. Headers take
    precedence over links in the document.
    """
    links = links_of(headers, url)
    hubs = list(dict.fromkeys([*links.get("hub", []), *in_document]))
    if not hubs:
        return None
    return next(iter(links.get("self", [])), self_in_document or url), hubs
