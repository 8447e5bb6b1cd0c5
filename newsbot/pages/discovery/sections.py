"""Finds the links of HTML pages: section fronts, home pages, articles."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from itertools import islice

from lxml import etree

from newsbot.clock import system_clock, utc
from newsbot.items import Link, Where
from newsbot.pages.discovery.dates import parse_date
from newsbot.pages.rules.shape import log_odds
from newsbot.urls import absolute, is_asset

_NAVIGATION = frozenset(("nav", "footer", "aside", "menu"))
_CONTENT = frozenset(("article", "main"))
_TRANSPARENT = frozenset(
    ("html", "body", "a", "span", "h1", "h2", "h3", "h4", "p", "b", "strong", "em", "i", "td", "tr")
)
_NAVIGATION_ROLES = frozenset(
    ("navigation", "menu", "menubar", "banner", "contentinfo", "search", "toolbar", "complementary")
)
# Words in a class or id, such as "main-nav", "footer", "breadcrumbs", "siteHeader" or "topNav". A word ends
# at a blank, "-" or "_". The last line matches words in camel case.
_NAVIGATION_NAME = re.compile(
    r"(?:^|[\s_-])(?:(?:main|site|top|sub|mega|side|foot|mobile|primary|secondary|sec|meta|service)?-?_?"
    r"(?:nav|navbar|navi|navigation|menu|footer|sidebar)|breadcrumbs?|pagination|pager|topbar|toolbar|masthead|"
    r"(?:site|page|main|global)[_-]?header|social|share|sharing|login|subscribe|cookie|copyright|language)s?(?:$|[\s_-])"
    r"|(?:[a-z](?:Nav|Navigation|Menu|Footer|Breadcrumbs?))(?:$|[\s_A-Z-])",
)
_MODIFIER = re.compile(r"(?:^|(?<=\s))(?:has|with|without|no|is|js|u|l)[_-]\S+")
"""Matches words in a class that do not name the element: ``has-sidebar``, ``js-menu``."""
_MAX_NAMES = 300
"""Maximum number of characters of an element's classes and id that are read."""

_NEUTRAL, _CONTENT_STATE, _NAVIGATION_STATE = 0, 1, 2


class Context:
    """Determines which elements of a page are in navigation (menus, headers, footers).

    Each element is examined once. The *state* of an element is neutral, content or navigation.
    """

    def __init__(self) -> None:
        self._states: dict[etree._Element, int] = {}

    def is_navigation(self, element: etree._Element) -> bool:
        """Return True if ``element`` is in navigation."""
        return self._state(element) == _NAVIGATION_STATE

    def _state(self, element: etree._Element) -> int:
        """Return the state of an element.

        The method goes up to an ancestor whose state is known, and then down again. It does not use
        recursion, because nesting can be deeper than Python's stack allows.
        """
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
    """Return the state of an element whose parent has the state ``outer``."""
    tag = element.tag
    if tag in _TRANSPARENT or not isinstance(tag, str):
        return outer
    if tag in _CONTENT:  # even inside navigation, because a sidebar may contain teasers of articles
        return _CONTENT_STATE
    if outer == _NAVIGATION_STATE or tag in _NAVIGATION:
        return _NAVIGATION_STATE
    if tag == "header":  # a header outside of content belongs to the page; otherwise it belongs to an article
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
    """Return True if the classes and the id of an element name a menu, footer or similar box."""
    names = names[:_MAX_NAMES]
    match = _NAVIGATION_NAME.search(names)
    if match is None:
        return False
    # classes such as "has-sidebar" and "no-menu" describe the layout of the element
    return _NAVIGATION_NAME.search(_MODIFIER.sub("", names)) is not None


class _Menus:
    """Recognises menus by their content: lists, columns and table rows with short links and little else.

    Tags and names of the elements are ignored.
    """

    def __init__(self) -> None:
        self._verdicts: dict[etree._Element, bool] = {}

    def contain(self, anchor: etree._Element) -> bool:
        """Return True if a link is in a menu. The smallest box that contains this and other links decides."""
        box = anchor.getparent()
        for _ in range(_MAX_STEPS):
            if box is None or box.tag in _PAGE:
                return False
            # a box with too few links is not judged; then the next larger box decides
            if box not in self._verdicts:
                anchors = list(islice(box.iter("a"), _MAX_OF_MENU))
                if len(anchors) >= _LEAST_OF_MENU:
                    self._verdicts[box] = _is_menu(box, anchors)
            if box in self._verdicts:
                return self._verdicts[box]
            box = box.getparent()
        return False


def _is_menu(box: etree._Element, anchors: list[etree._Element]) -> bool:
    """Return True if the links in a box are short and make up at least half of its text."""
    texts = [text_of(anchor)[0] for anchor in anchors]
    # one headline is enough to make the box a list of articles
    if len(anchors) >= _MAX_OF_MENU or any(text.count(" ") >= _WORDS_OF_ITEM for text in texts):
        return False
    # itertext("*") leaves out comments. Blanks are not counted, because markup is indented.
    around = sum(len("".join(str(part).split())) for part in islice(box.itertext("*"), _MAX_OF_MENU * 10))
    return around <= 2 * sum(map(len, texts))


MAX_LINKS = 2000
"""Maximum number of links that are returned for one page."""

_MAX_SEEN = 6000
"""Maximum number of links that are read on one page. Front pages of large sites have up to 2,500 links."""
_MAX_TEXT = 300
_MAX_TEXT_PARTS = 40
_MAX_TIMES = 200
_MAX_STEPS = 5
_MAX_NEAR = 12
_HEADLINE_BLANKS = 3
_PAGE = frozenset(("html", "body", "main", "article"))
_LEAST_OF_MENU, _MAX_OF_MENU = 4, 80
_WORDS_OF_ITEM = 4
_LONG_HEADLINE, _ODDS_OF_WORD, _ODDS_OF_NAVIGATION = 7, 0.3, 2.0
_OTHER_SCHEMES = (
    "#", "javascript:", "mailto:", "tel:", "data:", "whatsapp:", "viber:", "tg:", "about:", "sms:",
)  # fmt: skip


def find_links(
    tree: etree._Element,
    url: str,
    *,
    now: datetime | None = None,
    zone: tzinfo = UTC,
    menus: bool = False,
) -> list[Link]:
    """Return the links of a page, each URL once, in page order.

    ``tree`` is the page, ``url`` its URL. ``where`` of a link is NAVIGATION in menus, headers and footers,
    and BODY elsewhere. If several links have the same URL, the best evidence is kept: BODY is better than
    NAVIGATION, the text of the link itself is better than the text of its picture, and a longer text is
    better than a shorter text. A headline gets the ``<time>`` next to it as ``published_at``. ``now`` and
    ``zone`` are as in :func:`newsbot.pages.discovery.feeds.parse_feed`. If ``menus`` is True, a box with
    mostly short links counts as navigation too, whatever its tag and names are.

    Assets and links to the page itself are left out, and fragments are removed. Never raises. At most
    :data:`MAX_LINKS` links are returned. If a page has more links, the links that look most like articles are
    chosen.
    """
    return PageLinks(tree, url).find(now=now, zone=zone, menus=menus)


class PageLinks:
    """The links of one page. If :meth:`find` is called several times, the elements are read only once."""

    def __init__(self, tree: etree._Element, url: str, documents: Collection[str] = ()) -> None:
        """Read the links of a page. The arguments have the same meaning as in :func:`find_links`.

        ``documents`` are extensions of files that are read like pages.
        """
        context, resolved = Context(), _Resolver(base_of(tree, url), url, documents)
        self._tree = tree
        self._anchors = [
            (element, address, context.is_navigation(element), *text_of(element))
            for element, href in islice(_anchors(tree), _MAX_SEEN)
            if (address := resolved[href]) is not None
        ]

    def find(self, *, now: datetime | None = None, zone: tzinfo = UTC, menus: bool = False) -> list[Link]:
        """Return the links; see :func:`find_links`."""
        found: dict[str, _Found] = {}
        by_anchor: dict[etree._Element, _Found] = {}
        boxes = _Menus()
        for element, address, navigation, text, own in self._anchors:
            # all links to a URL share one record, so that a time next to any of these links is added to the
            # record
            one = by_anchor[element] = found.setdefault(address, _Found(address))
            one.add(navigation or (menus and boxes.contain(element)), text, own)
        _add_times(self._tree, by_anchor, now or utc(system_clock()), zone)
        return [one.link() for one in _likeliest(list(found.values()))]


def _likeliest(found: list[_Found]) -> list[_Found]:
    """Return the links in page order. If there are too many, only the most likely articles are returned."""
    if len(found) <= MAX_LINKS:
        return found
    # sorted by weight to select the links, then sorted by place to restore the page order
    best = sorted(range(len(found)), key=lambda place: -found[place].weight())[:MAX_LINKS]
    return [found[place] for place in sorted(best)]


@dataclass(slots=True)
class _Found:
    """The best evidence about one URL, from all links to it on the page."""

    address: str
    navigation: bool = True
    text: str = ""
    rank: tuple[bool, bool, int] = (False, False, 0)
    moment: datetime | None = None

    def add(self, navigation: bool, text: str, own: bool) -> None:
        """Add one link. Its text replaces the present text if it is better (see :func:`find_links`)."""
        # One link in the content is enough, because menus may repeat links of the content.
        self.navigation = self.navigation and navigation
        rank = (own, not navigation, len(text))
        if rank > self.rank:
            self.rank, self.text = rank, text

    def weight(self) -> float:
        """Return the log-odds that the URL is an article, computed from the URL, the link text and the
        place."""
        headline = min(self.text.count(" "), _LONG_HEADLINE) * _ODDS_OF_WORD
        return log_odds(self.address) + headline - (_ODDS_OF_NAVIGATION if self.navigation else 0.0)

    def link(self) -> Link:
        """Return the evidence as a link."""
        return Link(
            url=self.address,
            where=Where.NAVIGATION if self.navigation else Where.BODY,
            text=self.text or None,
            published_at=self.moment,
        )


class _Resolver(dict[str, str | None]):
    """A cache that maps ``href`` to an absolute URL without fragment, or to None if it is not a page."""

    def __init__(self, base: str, url: str, documents: Collection[str]) -> None:
        super().__init__()
        self._documents = documents
        self._base = base
        self._own = url.partition("#")[0]

    def __missing__(self, href: str) -> str | None:
        address = absolute(self._base, href)
        if address is not None:
            address = address.partition("#")[0]
            if address == self._own or is_asset(address, self._documents):
                address = None
        self[href] = address
        return address


def text_of(element: etree._Element) -> tuple[str, bool]:
    """Return the text of a link as one line, and True if it is the text of the link itself.

    If the link has no text, the description of its picture or its title is returned, with False.
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


def _anchors(tree: etree._Element) -> Iterator[tuple[etree._Element, str]]:
    for element in tree.iter("a", "area"):
        href = (element.get("href") or "").strip()
        if href and not href.lower().startswith(_OTHER_SCHEMES):
            yield element, href


def _add_times(
    tree: etree._Element, by_anchor: dict[etree._Element, _Found], now: datetime, zone: tzinfo
) -> None:
    """Add each time on the page to the headline next to it."""
    stamped = (element for element in tree.iter("time") if element.get("datetime") is not None)
    for element in islice(stamped, _MAX_TIMES):
        moment = parse_date(element.get("datetime") or "", now=now, zone=zone)
        headline = _headline_beside(element, by_anchor) if moment else None
        if headline is not None and headline.moment is None:
            headline.moment = moment


def _headline_beside(time: etree._Element, by_anchor: dict[etree._Element, _Found]) -> _Found | None:
    """Return the headline in the smallest box around a time; None if there are several headlines, or none
    nearby."""
    box: etree._Element | None = time
    for _step in range(_MAX_STEPS):
        box = box.getparent() if box is not None else None
        if box is None:
            return None
        near = [by_anchor[anchor] for anchor in islice(box.iter("a"), _MAX_NEAR) if anchor in by_anchor]
        # counted by URL, because the picture and the text of a teaser may both be links to the article
        headlines = {one.address: one for one in near if one.text.count(" ") >= _HEADLINE_BLANKS}
        if headlines:
            return headlines.popitem()[1] if len(headlines) == 1 else None
    return None


def elements(path: etree.XPath, tree: etree._Element, most: int) -> list[etree._Element]:
    """Return the first ``most`` elements that an XPath selects."""
    found: list[etree._Element] = path(tree)  # type: ignore[assignment]  # an XPath may also select other things
    return found[:most]


_BASE = etree.XPath("/*/head/base/@href | /*/body/base/@href")


def base_of(tree: etree._Element, url: str) -> str:
    """Return the base of relative links of a page: the URL of its ``<base>``, or else its own URL."""
    found = _BASE(tree)
    href = found[0] if isinstance(found, list) and found else None
    return (absolute(url, href) if isinstance(href, str) else None) or url
