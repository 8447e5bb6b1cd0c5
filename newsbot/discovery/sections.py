"""Links of HTML pages: section fronts, home pages, articles."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, tzinfo
from itertools import islice

from lxml import etree

from newsbot.clock import system_clock, utc
from newsbot.discovery.dates import parse_date
from newsbot.discovery.pages import Page, absolute, as_tree, base_of
from newsbot.items import Link, Where
from newsbot.rules.shape import log_odds
from newsbot.urls import is_asset

_NAVIGATION = frozenset(("nav", "footer", "aside", "menu"))
_CONTENT = frozenset(("article", "main"))
_TRANSPARENT = frozenset(
    ("html", "body", "a", "span", "h1", "h2", "h3", "h4", "p", "b", "strong", "em", "i", "td", "tr")
)
_NAVIGATION_ROLES = frozenset(
    ("navigation", "menu", "menubar", "banner", "contentinfo", "search", "toolbar", "complementary")
)
_NAVIGATION_NAME = re.compile(
    r"(?:^|[\s_-])(?:(?:main|site|top|sub|mega|side|foot|mobile|primary|secondary|sec|meta|service)?-?_?"
    r"(?:nav|navbar|navi|navigation|menu|footer|sidebar)|breadcrumbs?|pagination|pager|topbar|toolbar|masthead|"
    r"(?:site|page|main|global)[_-]?header|social|share|sharing|login|subscribe|cookie|copyright|language)s?(?:$|[\s_-])"
    r"|(?:[a-z](?:Nav|Navigation|Menu|Footer|Breadcrumbs?))(?:$|[\s_A-Z-])",
)
_MODIFIER = re.compile(r"(?:^|(?<=\s))(?:has|with|without|no|is|js|u|l)[_-]\S+")
_MAX_NAMES = 300

_NEUTRAL, _CONTENT_STATE, _NAVIGATION_STATE = 0, 1, 2


class Context:
    """Answers for one page; remembers what it found, so that each element is looked at once."""

    def __init__(self) -> None:
        self._states: dict[etree._Element, int] = {}

    def is_navigation(self, element: etree._Element) -> bool:
        """Tell whether ``element`` stands in navigation."""
        return self._state(element) == _NAVIGATION_STATE

    def _state(self, element: etree._Element) -> int:
        """Walk up to an ancestor whose state is known, then down again."""
        states = self._states
        path: list[etree._Element] = []
        current: etree._Element | None = element
        while current is not None and current not in states:
            path.append(current)
            current = current.getparent()
        state = _NEUTRAL if current is None else states[current]
        for node in reversed(path):
            state = _own_state(node, state)
            states[node] = state
        return state


def _own_state(element: etree._Element, outer: int) -> int:
    tag = element.tag
    if tag in _TRANSPARENT or not isinstance(tag, str):
        return outer
    if tag in _CONTENT:
        return _CONTENT_STATE
    if outer == _NAVIGATION_STATE or tag in _NAVIGATION:
        return _NAVIGATION_STATE
    if tag == "header":  # of the page, unless it is an article's
        return outer or _NAVIGATION_STATE
    return _NAVIGATION_STATE if _says_navigation(element.attrib) else outer


def _says_navigation(attributes: etree._Attrib) -> bool:
    if not attributes:
        return False
    if attributes.get("role") in _NAVIGATION_ROLES:
        return True
    names = f"{attributes.get('class', '')} {attributes.get('id', '')}"
    return len(names) > 1 and is_navigation_name(names)


def is_navigation_name(names: str) -> bool:
    """Tell whether classes and id of an element say that it is a menu, footer or the like."""
    names = names[:_MAX_NAMES]
    match = _NAVIGATION_NAME.search(names)
    if match is None:
        return False
    return _NAVIGATION_NAME.search(_MODIFIER.sub("", names)) is not None


MAX_LINKS = 2000
"""Links given of one page."""

_MAX_SEEN = 20_000
_MAX_TEXT = 300
_MAX_TEXT_PARTS = 40
_MAX_TIMES = 200
_MAX_STEPS = 5
_MAX_NEAR = 12
_HEADLINE_BLANKS = 3
_LONG_HEADLINE, _ODDS_OF_WORD, _ODDS_OF_NAVIGATION = 7, 0.3, 2.0
_OTHER_SCHEMES = (
    "#",
    "javascript:",
    "mailto:",
    "tel:",
    "data:",
    "whatsapp:",
    "viber:",
    "tg:",
    "about:",
    "sms:",
)

_ANCHORS = etree.XPath("//a[@href]|//area[@href]")
_TIMES = etree.XPath("//time[@datetime]")


def find_links(
    page: Page,
    url: str,
    *,
    nofollow: bool = True,
    now: datetime | None = None,
    zone: tzinfo = UTC,
) -> list[Link]:
    """Return the links of a page, each address once, in the order of the page.

    ``page`` is a body or a tree, ``url`` its address. ``where`` is NAVIGATION for menus, headers and
    footers, BODY elsewhere; of several links to one address the best evidence stays: body before
    navigation, a text of its own before a picture's, the longer text. A headline takes over the
    ``<time>`` beside it (``now`` and ``zone`` as in feeds). Left out are assets, the page itself and,
    without ``nofollow``, links so marked; fragments are cut off. Never raises; gives at most
    :data:`MAX_LINKS` links, of more those that look most like articles.
    """
    tree = as_tree(page)
    if tree is None:
        return []
    found: dict[str, _Found] = {}
    homes: dict[etree._Element, _Found] = {}
    context = Context()
    resolved = _Resolver(base_of(tree, url), url)
    for element, href in _anchors(tree, nofollow=nofollow):
        address = resolved[href]
        if address is None:
            continue
        one = found.get(address)
        if one is None:
            one = found[address] = _Found(address)
        one.add(context.is_navigation(element), *text_of(element))
        homes[element] = one
    _add_times(tree, homes, now or utc(system_clock()), zone)
    return [one.link() for one in _likeliest(list(found.values()))]


def _likeliest(found: list[_Found]) -> list[_Found]:
    """Return those that are most likely articles, in the order of the page, if there are too many."""
    if len(found) <= MAX_LINKS:
        return found
    best = sorted(range(len(found)), key=lambda place: -found[place].weight())[:MAX_LINKS]
    return [found[place] for place in sorted(best)]


class _Found:
    """What is known of one address: the best of its links."""

    __slots__ = ("address", "moment", "navigation", "rank", "text")

    def __init__(self, address: str) -> None:
        self.address = address
        self.navigation = True
        self.text = ""
        self.rank = (False, False, 0)
        self.moment: datetime | None = None

    def add(self, navigation: bool, text: str, own: bool) -> None:
        """Join in one link. Its text is the better the more it is in the body, its own, and long."""
        self.navigation = self.navigation and navigation
        rank = (own, not navigation, len(text))
        if rank > self.rank:
            self.rank, self.text = rank, text

    def weight(self) -> float:
        """Return how much speaks for an article, as log-odds: the address, a headline's text, its place."""
        headline = min(self.text.count(" "), _LONG_HEADLINE) * _ODDS_OF_WORD
        return log_odds(self.address) + headline - (_ODDS_OF_NAVIGATION if self.navigation else 0.0)

    def link(self) -> Link:
        """Return it as a link."""
        return Link(
            url=self.address,
            where=Where.NAVIGATION if self.navigation else Where.BODY,
            text=self.text or None,
            published_at=self.moment,
        )


class _Resolver(dict[str, str | None]):
    """From ``href`` to address without fragment, worked out once each; None for what is no page."""

    def __init__(self, base: str, url: str) -> None:
        super().__init__()
        self._base = base
        self._own = url.partition("#")[0]

    def __missing__(self, href: str) -> str | None:
        address = absolute(self._base, href)
        if address is not None:
            address = address.partition("#")[0]
            if address == self._own or is_asset(address):
                address = None
        self[href] = address
        return address


def text_of(element: etree._Element) -> tuple[str, bool]:
    """Return the text of a link on one line, and whether it is its own.

    A picture's description or a title stands in for a link without text.
    """
    if not len(element):
        text = _one_line(element.text)
    else:
        text = _one_line(" ".join(str(part) for part in islice(element.itertext("*"), _MAX_TEXT_PARTS)))
    if text:
        return text, True
    pictures = islice(element.iter("img"), 3) if len(element) else ()
    described = next((alt for picture in pictures if (alt := picture.get("alt"))), None)
    return _one_line(described or element.get("title") or element.get("aria-label")), False


def _one_line(text: str | None) -> str:
    return " ".join(text[: 3 * _MAX_TEXT].split())[:_MAX_TEXT].rstrip() if text else ""


def _anchors(tree: etree._Element, *, nofollow: bool) -> Iterator[tuple[etree._Element, str]]:
    elements = _ANCHORS(tree)
    if not isinstance(elements, list):
        return
    for element in elements[:_MAX_SEEN]:
        if not isinstance(element, etree._Element):  # noqa: SLF001 - lxml's only name for the type
            continue
        href = (element.get("href") or "").strip()
        if not href or href.lower().startswith(_OTHER_SCHEMES):
            continue
        if nofollow or "nofollow" not in (element.get("rel") or "").lower():
            yield element, href


def _add_times(
    tree: etree._Element, homes: dict[etree._Element, _Found], now: datetime, zone: tzinfo
) -> None:
    """Give headlines the time that stands in the same teaser."""
    times = _TIMES(tree)
    for element in times[:_MAX_TIMES] if isinstance(times, list) else ():
        if isinstance(element, etree._Element):  # noqa: SLF001 - lxml's only name for the type
            moment = parse_date(element.get("datetime") or "", now=now, zone=zone)
            headline = _headline_beside(element, homes) if moment else None
            if headline is not None and headline.moment is None:
                headline.moment = moment


def _headline_beside(time: etree._Element, homes: dict[etree._Element, _Found]) -> _Found | None:
    """Return the one headline of the smallest box around a time; None if there are several."""
    box: etree._Element | None = time
    for _step in range(_MAX_STEPS):
        box = box.getparent() if box is not None else None
        if box is None:
            return None
        near = [homes[anchor] for anchor in islice(box.iter("a"), _MAX_NEAR) if anchor in homes]
        headlines = {one.address: one for one in near if one.text.count(" ") >= _HEADLINE_BLANKS}
        if headlines:
            return headlines.popitem()[1] if len(headlines) == 1 else None
    return None
