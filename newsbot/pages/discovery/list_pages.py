"""Finds the links of HTML pages: section fronts, home pages, articles.

Lists of pages are recognised by their URLs; then the next page is found, and it is decided how far a list is
read. Such lists are sections with several pages, archives, and calendars with an endless number of pages.

Page numbers have many forms: ``/page/3/``, ``?page=3``, ``index3.html``, ``sport3.html``, ``/sport/3``. A
number after the word "page" always counts as a page number. Any other number counts as a page number only if
the text of the link is a number or a word such as "older", because ``/news/3`` may be an article. A link with
``rel=next`` always leads to the next page.

One URL may contain several numbers. A *reading* of a URL takes one of these numbers as the page number. In
this module, a *name* is a URL in a form for comparison (:func:`_name`).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from itertools import islice

from lxml import etree

from newsbot.clock import system_clock, utc
from newsbot.items import Bounded, Link, Where
from newsbot.pages.discovery.dates import parse_date
from newsbot.pages.rules.shape import LISTS, log_odds
from newsbot.urls import absolute, canonical_or_same, host_key, is_asset

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


MAX_LENGTH = 1500
"""Maximum length of a URL in characters. Longer URLs contain the state of a program and are not pages."""
MAX_QUERY = 300
"""Maximum length of the query of a URL in characters."""
MAX_PAIRS = 8
"""Maximum number of keys in the query of a URL."""
MAX_PAGE = 2_000
"""Maximum page number (or offset) of a list that is followed."""
_OLDEST_YEAR = 1990
_MAX_REPEATS = 3
_MIN_SESSION = 20

_DIGIT = re.compile(r"\d")
# ?page=3, &start=40
_IN_QUERY = re.compile(
    r"(?<=[?&])(?:page|pg|paged|pagenum|pagen_\d|pagina|seite|strana|stranica|start|offset)=(\d{1,9})(?=&|$)",
    re.IGNORECASE,
)
# /page/3/, /seite-3.html
_IN_PATH = re.compile(
    r"/(?:page|pagina|seite|strana|stranica)[/_-]?(\d{1,9})(?:/|\.\w{1,5})?(?=$|\?)", re.IGNORECASE
)
# An archive of a year, month or day: /2024/, /2024-05/index.html, /2024/05/03
_ARCHIVE = re.compile(
    r"/((?:19|20|21)\d\d)(?:[/-](?:0?[1-9]|1[0-2])(?:[/-](?:0?[1-9]|[12]\d|3[01]))?)?(?:/(?:index)?)?(?:\.\w{1,5})?(?:$|\?)"
)
# /archive, /arhiv/, /archiv.html
_FRONT = re.compile(
    r"/(?:archives?|archiv|arhiv|arkiv|archivio|archivo|arsiv|archiwum)(?:/|/?(?:index)?\.\w{1,5})?$",
    re.IGNORECASE,
)
# ?year=2024, &date=20240503
_DATE_KEY = re.compile(r"[?&](?:year|date|day|ym|month)=((?:19|20|21)\d\d)", re.IGNORECASE)
# ?PHPSESSID=…, &sid=…
_SESSION = re.compile(r"[?&;](?:[a-z_]{0,20}sess[a-z_]{0,10}|sid|s|token)=([0-9A-Za-z]+)", re.IGNORECASE)


def trap(url: str, now: datetime) -> str | None:
    """Return the reason why a URL should not be followed; None if it may be followed.

    The reasons are long_url, long_query, session_id, repeating_path, deep_pagination and calendar (a date
    before 1990 or after the year of ``now``).
    """
    if len(url) > MAX_LENGTH:
        return "long_url"
    path, _, query = url.partition("?")
    if query and (reason := _query_trap(url, query)):
        return reason
    if _repeats(path):
        return "repeating_path"
    page = _page(url)
    if page and int(page[1]) > MAX_PAGE:
        return "deep_pagination"
    date = _archive(url)
    return "calendar" if date and not _OLDEST_YEAR <= int(date[1]) <= now.year else None


def _query_trap(url: str, query: str) -> str | None:
    if len(query) > MAX_QUERY or query.count("&") >= MAX_PAIRS:
        return "long_query"
    session = _SESSION.search(url)
    # short values and words (?s=election is a search) are not session ids
    if session and len(session[1]) >= _MIN_SESSION and any(map(str.isdigit, session[1])):
        return "session_id"
    return None


def is_pagination(url: str) -> bool:
    """Return True for the URL of the second or a later page of a list."""
    return _page(url) is not None


def _page(url: str) -> re.Match[str] | None:
    if _DIGIT.search(url) is None:  # a fast check before the slower patterns
        return None
    return _IN_PATH.search(url) or (_IN_QUERY.search(url) if "?" in url else None)


def is_archive(url: str) -> bool:
    """Return True for the URL of an archive: the list of a year, a month or a day."""
    return _archive(url) is not None


def is_archive_front(url: str) -> bool:
    """Return True for the URL of the front page of an archive, which links to years or days."""
    return _FRONT.search(url) is not None


def _archive(url: str) -> re.Match[str] | None:
    if _DIGIT.search(url) is None:
        return None
    return _ARCHIVE.search(url) or (_DATE_KEY.search(url) if "?" in url else None)


def _repeats(path: str) -> bool:
    """Return True for paths such as ``/a/b/a/b/a/b``. Such paths result from relative links with a wrong
    base."""
    segments = path.split("/")[3:]
    if len(segments) < 2 * _MAX_REPEATS:
        return False
    return any(segment and segments.count(segment) >= _MAX_REPEATS for segment in set(segments))


MAX_LISTS = 5
"""Maximum number of lists on one page whose next pages are returned."""
_MAX_STATED = 500
_MAX_NUMBER = 6
"""Maximum number of characters of a link's text that may be a page number or an arrow."""

_ANY_KEY = re.compile(r"(?<=[?&])[\w:%.-]{1,30}=(\d{1,9})(?=&|$)")
"""Matches a query key of any name whose value is a number."""
_BARE = re.compile(
    r"(?:[-_/](?:pg?|\(page\)|page)[-_/:]?|[-_/]?(?<![\d=]))(\d{1,3})(?=(?:/|\.\w{1,5})?(?:$|\?))",
    re.IGNORECASE,
)
"""Matches a number at the end of the path: ``/sport/3``, ``sport3.html``, ``/sport/p3``."""
# /index.html, /default.aspx
_INDEX = re.compile(r"/(?:index|default)(?:\.\w{1,5})?(?=$|\?)", re.IGNORECASE)
_OLDER = re.compile(
    r"\W{0,5}(?:next|older|earlier|previous (?:posts|entries)|weiter|nächste|ältere|suivant|plus ancien"
    r"|précédents|siguiente|anteriores|más antigu|successiv|precedenti|più vecchi|volgende|oudere|próxim"
    r"|następn|starsze|äldre|nästa|eldre|ældre|næste|далее|след|раньше|старые|ранние|下一|次|다음).{0,25}$|\W{0,3}[>»›→⟩▶❯]\s{0,3}$",
    re.IGNORECASE | re.DOTALL,
)
"""Matches the text of a link to older items: a word in one of several languages, or an arrow."""
_STATED = etree.XPath("//link[@href and @rel] | //a[@href and @rel]")


def split_pages(links: Iterable[Link], url: str, stated: Iterable[str] = ()) -> tuple[list[Link], list[Link]]:
    """Split the links of the page at ``url`` into the links to other pages, and the next pages of its lists.

    The next page of a list has the lowest number above the number of this page. ``where`` of its link is
    NEXT_PAGE. Later pages are not returned, because each page links to the page after it. ``stated`` is the
    result of :func:`stated_next`. Never raises.
    """
    # For each reading of this page's URL, ``own`` maps the URL without the page number to the page number.
    # The URL of the first page of a list usually has no number.
    own = dict(_readings(_name(url)))
    own.setdefault(_plain(_name(url)), 0)
    trusted = {_name(address): address for address in stated if _is_on_host(address, url)}
    others: list[Link] = []
    following: dict[str, tuple[int, str]] = {}
    for name, address in trusted.items():
        _offer(following, name, address, own)
    for link in links:
        name = _name(link.url)
        if name in trusted:
            continue
        text = (link.text or "").strip()
        older = _OLDER.match(text) is not None and _is_on_host(link.url, url)
        if not older and not _is_page(name, text, own):
            others.append(link)
        elif older or text != "1":  # "1" leads back to the first page
            _offer(following, name, link.url, own)
    best = sorted(following.values())[:MAX_LISTS]
    return others, [Link(url=address, where=Where.NEXT_PAGE) for _, address in best]


def stated_next(tree: etree._Element, url: str) -> list[str]:
    """Return the absolute URLs in the ``rel=next`` links of the page at ``url``."""
    base = base_of(tree, url)
    addresses = (
        absolute(base, element.get("href") or "")
        for element in elements(_STATED, tree, _MAX_STATED)
        if "next" in (element.get("rel") or "").lower().split()
    )
    return [address.partition("#")[0] for address in addresses if address is not None]


def _is_page(name: str, text: str, own: dict[str, int]) -> bool:
    """Return True if a link leads to a page of a list, judged by its URL and text.

    ``own`` are the readings of the URL of the page with the link.
    """
    says = _IN_QUERY.search(name) or _IN_PATH.search(name)
    numbered = 0 < len(text) <= _MAX_NUMBER and not any(map(str.isalpha, text))  # a number or an arrow
    if says is not None and numbered:
        return True
    # If the text is not a number or an arrow, the URL must contain the word "page", and must differ from the
    # URL of this page only in the number.
    same = {number for key, number in _readings(name, said=not numbered) if key in own}
    return bool(same)


def _offer(following: dict[str, tuple[int, str]], name: str, address: str, own: dict[str, int]) -> None:
    """Store a page of a list in ``following`` as the next page, unless a page with a lower number is known.

    Pages before the present page are ignored. ``own`` are the readings of the present page's URL.
    """
    # the last reading is for URLs with a cursor (``?after=abc``) instead of a page number
    readings = [*_readings(name), (_plain(name.partition("?")[0]), _NO_NUMBER)]
    key, number = next((one for one in readings if one[0] in own), readings[0])
    # The first page of some themes links to a page 0 before it, which does not exist.
    if number <= own.get(key, 0) and number != _NO_NUMBER:
        return
    following[key] = min(following.get(key, (number, address)), (number, address))


_NO_NUMBER = -1


def _readings(name: str, *, said: bool = False) -> Iterator[tuple[str, int]]:
    """Yield the readings of a URL, as pairs (URL without the page number, page number).

    If ``said`` is True, only numbers after the word "page" count. In URLs of archives, too, only such numbers
    count, because the other numbers are dates.
    """
    forms = (_IN_QUERY, _IN_PATH) if said or is_archive(name) else (_IN_QUERY, _IN_PATH, _ANY_KEY, _BARE)
    for form in forms:
        for found in form.finditer(name):
            yield _plain(name[: found.start()] + name[found.end() :]), int(found[1])


def _plain(name: str) -> str:
    """Clean a URL whose page number was removed: drop empty query keys, ``index`` and the last slash."""
    return _INDEX.sub("", re.sub(r"[?&]+(?=&|$)", "", name).replace("?&", "?")).rstrip("/?&")


def _name(url: str) -> str:
    """Return a URL for comparison, without scheme and ``www.``. These may differ in the links of one site."""
    return canonical_or_same(url).partition("://")[2].removeprefix("www.")


def _is_on_host(address: str, url: str) -> bool:
    try:
        return host_key(address) == host_key(url)
    except ValueError:
        return False


# --- how far a list is read

MAX_WALKS = 2000
"""Maximum number of lists whose state is kept until their next page is read.

It is also the maximum number of sites whose shown articles are remembered.
"""
MAX_SHOWN = 50_000
"""Maximum number of articles of a site that are remembered as shown by its lists."""
MAX_COVERED = 200_000
"""Maximum number of articles of all sites that are remembered as shown. They take 20 MB."""
OLD_ENOUGH = 5
"""The reading of a list ends after this number of consecutive articles that are too old. Articles without a
date are not counted."""
MAX_STALE = 2
"""The reading of a list ends after this number of consecutive pages whose articles were all shown by other
lists before."""

_HOST_SLASHES = 2
_NUMBER = re.compile(r"\d+")
_SUFFIX = re.compile(r"\.\w{1,5}$")


@dataclass(slots=True)
class Walk:
    """The state of a list that is being read."""

    shown: set[bytes] = field(default_factory=set)
    """Fingerprints of the articles on the pages of the list that were read so far."""
    stale: int = 0
    """Number of consecutive pages, up to the last page read, whose articles were all shown by other lists
    before."""
    dates: list[float] = field(default_factory=list)
    """The known publication times (POSIX seconds) of the list's articles, in the order in which they were
    found.

    Only the last times are kept. The first item is the latest of all times that were dropped.
    """


class ListWalks:
    """The lists whose pages this crawl reads one after the other."""

    def __init__(self) -> None:
        self._walks = Bounded[str, Walk](MAX_WALKS)
        """URL of the last page of a list that was read -> state of the list."""
        self._covered = Bounded[str, set[bytes]](MAX_WALKS)
        """Domain -> fingerprints of the articles that the lists of the site have shown."""

    def read(self, domain: str, url: str, before: str | None, articles: Collection[bytes]) -> bool:
        """Record the articles on a page of a list. Return True if the next page may be read.

        ``before`` is the URL of the preceding page of the list. ``articles`` are fingerprints. The next page
        may be read if this page shows an article that the preceding pages did not show. The article need not
        be new. Reading ends if other lists of the site have shown all articles of the last :data:`MAX_STALE`
        pages.
        """
        # If another worker read the preceding page, there is no state here. Then this page counts as the
        # first page.
        walk = self._walks.pop(before, None) if before is not None else None
        walk = walk or Walk()
        covered = self._covered[domain] = self._covered.get(domain, set())
        unseen = set(articles) - walk.shown
        # must be computed before the articles of this page are added to ``covered``
        walk.stale = 0 if unseen - covered else walk.stale + 1
        for seen in (walk.shown, covered):
            seen.update(unseen if len(seen) < MAX_SHOWN else ())
        self._covered.shrink(MAX_COVERED, len)
        self._walks[url] = walk
        return bool(unseen) and walk.stale < MAX_STALE

    def shown(self, domain: str) -> int:
        """Return the number of different articles that the lists of a site have shown."""
        return len(self._covered.get(domain, ()))

    def dated(self, page: str, published: float) -> None:
        """Record the publication time (POSIX seconds) of an article on ``page``, a page of a list."""
        walk = self._walks.get(page)
        if walk is not None:
            walk.dates.append(published)
            if len(walk.dates) > OLD_ENOUGH + 1:
                # The first value is the latest of all dates that were dropped; is_older() compares it with
                # ``since``.
                walk.dates[:2] = [max(walk.dates[:2])]

    def is_older(self, page: str, since: float) -> bool:
        """Return True if a list began with articles after ``since`` and has reached earlier articles.

        ``page`` is the last page of the list that was read. ``since`` is in POSIX seconds.
        """
        dates = self._walks[page].dates if page in self._walks else []
        recent = dates[-OLD_ENOUGH:]
        # If all articles were older from the beginning, the list is old, or it is not sorted by date. Then
        # its reading does not end here.
        return len(recent) == OLD_ENOUGH and max(recent) < since <= max(dates)


def narrows(url: str, page: str) -> bool:
    """Return True if ``url`` is below the list at ``page``, for example a month below its year."""
    above = _list_of(page)
    return "?" not in url and "?" not in above and _list_of(url).startswith(above + "/")


def above(url: str) -> Iterator[str]:
    """Yield the URLs of the folders above a list, each with and without a slash at the end."""
    path = url.partition("?")[0].rstrip("/").rpartition("/")[0]
    while path.count("/") > _HOST_SLASHES:
        yield from (path, path + "/")
        path = path.rpartition("/")[0]


def _list_of(url: str) -> str:
    return url.partition("://")[2].removeprefix("www.").rstrip("/?&")


def is_index(url: str) -> bool:
    """Return True for the page that lists all tags, categories or authors of a site."""
    return _SUFFIX.sub("", _list_of(url)).rpartition("/")[2].lower() in LISTS
