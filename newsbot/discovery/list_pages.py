"""Recognizes the URLs of page lists and archives, URLs that lead to endlessly many pages, and the next page
of a list.

Page numbers have many forms: ``/page/3/``, ``?page=3``, ``index3.html``, ``sport3.html``, ``/sport/3``. A
number after the word "page" is always taken for a page number. Another number is taken for one only if the
text of the link is a number or a word such as "older", because ``/news/3`` may be an article. A link with
``rel=next`` always leads to the next page.

One URL may contain several numbers. A *reading* of a URL takes one of them for the page number. In this
module a *name* is a URL in a form for comparison (:func:`_name`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import datetime

from lxml import etree

from newsbot.discovery.sections import base_of, elements
from newsbot.items import Link, Where
from newsbot.urls import absolute, canonical_or_same, host_key

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
_PAGE_KEY = re.compile(r"[?&](?:page|pg|paged|pagen_\d|seite|start|offset)=(\d{1,9})(?=&|$)", re.IGNORECASE)
# /page/3/, /seite-3.html
_PAGE_PATH = re.compile(
    r"/(?:page|seite|strana|stranica)[/_-]?(\d{1,9})(?:/|\.\w{1,5})?(?:$|\?)", re.IGNORECASE
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
    """Return the reason why a URL should not be followed; None if it may be.

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
    """Return True if a URL is that of the second or a further page of a list."""
    return _page(url) is not None


def _page(url: str) -> re.Match[str] | None:
    if _DIGIT.search(url) is None:  # a fast test before the slower patterns
        return None
    return _PAGE_PATH.search(url) or (_PAGE_KEY.search(url) if "?" in url else None)


def is_archive(url: str) -> bool:
    """Return True if a URL is that of an archive: the list of a year, a month or a day."""
    return _archive(url) is not None


def is_archive_front(url: str) -> bool:
    """Return True if a URL is that of the front page of an archive, which links to years or days."""
    return _FRONT.search(url) is not None


def _archive(url: str) -> re.Match[str] | None:
    if _DIGIT.search(url) is None:
        return None
    return _ARCHIVE.search(url) or (_DATE_KEY.search(url) if "?" in url else None)


def _repeats(path: str) -> bool:
    """Return True for paths such as ``/a/b/a/b/a/b``. They result from relative links with a wrong base."""
    segments = path.split("/")[3:]
    if len(segments) < 2 * _MAX_REPEATS:
        return False
    return any(segment and segments.count(segment) >= _MAX_REPEATS for segment in set(segments))


MAX_LISTS = 5
"""Maximum number of lists on one page whose next pages are returned."""
_MAX_STATED = 500
_MAX_NUMBER = 6
"""Maximum number of characters of a link's text that may be a page number or an arrow."""

# ?page=3, &start=40
_IN_QUERY = re.compile(
    r"(?<=[?&])(?:page|pg|paged|pagenum|pagen_\d|pagina|seite|strana|stranica|start|offset)=(\d{1,9})(?=&|$)",
    re.IGNORECASE,
)
# /page/3/, /seite-3.html
_IN_PATH = re.compile(
    r"/(?:page|pagina|seite|strana|stranica)[/_-]?(\d{1,9})(?:/|\.\w{1,5})?(?=$|\?)", re.IGNORECASE
)
_ANY_KEY = re.compile(r"(?<=[?&])[\w:%.-]{1,30}=(\d{1,9})(?=&|$)")
"""A query key of any name with a number."""
_BARE = re.compile(r"[-_/]?(?<![\d=])(\d{1,3})(?=(?:/|\.\w{1,5})?(?:$|\?))")
"""A number at the end of the path: ``/sport/3``, ``sport3.html``."""
# /index.html, /default.aspx
_INDEX = re.compile(r"/(?:index|default)(?:\.\w{1,5})?(?=$|\?)", re.IGNORECASE)
_OLDER = re.compile(
    r"\W{0,5}(?:next|older|earlier|previous (?:posts|entries)|weiter|nächste|ältere|suivant|plus ancien"
    r"|précédents|siguiente|anteriores|más antigu|successiv|precedenti|più vecchi|volgende|oudere|próxim"
    r"|następn|starsze|äldre|nästa|eldre|ældre|næste|далее|след|раньше|старые|ранние|下一|次|다음).{0,25}$|\W{0,3}[>»›→⟩▶❯]\s{0,3}$",
    re.IGNORECASE | re.DOTALL,
)
"""The text of a link to older items: a word in one of several languages, or an arrow."""
_STATED = etree.XPath("//link[@href and @rel] | //a[@href and @rel]")


def split_pages(links: Iterable[Link], url: str, stated: Iterable[str] = ()) -> tuple[list[Link], list[Link]]:
    """Split the links of the page at ``url`` into the links to other pages, and the next pages of its lists.

    The next page of a list has the lowest number above the number of this page. ``where`` of its link is
    NEXT_PAGE. The pages after it are not returned, because each page leads to its next page. ``stated`` is
    the result of :func:`stated_next`. Never raises.
    """
    # For each reading of this page's URL: the URL without the page number -> the number. The URL of a list's
    # first page usually has no number.
    own = dict(_readings(_name(url)))
    own.setdefault(_plain(_name(url)), 0)
    believed = {_name(address): address for address in stated if _is_on_host(address, url)}
    others: list[Link] = []
    following: dict[str, tuple[int, str]] = {}
    for name, address in believed.items():
        _offer(following, name, address, own)
    for link in links:
        name = _name(link.url)
        if name in believed:
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
    """Return the absolute URLs to which the page at ``url`` has links with ``rel=next``."""
    base = base_of(tree, url)
    addresses = (
        absolute(base, element.get("href") or "")
        for element in elements(_STATED, tree, _MAX_STATED)
        if "next" in (element.get("rel") or "").lower().split()
    )
    return [address.partition("#")[0] for address in addresses if address is not None]


def belongs_to(url: str, page: str) -> bool:
    """Return True if ``url`` is a further page of the list on ``page``: only the page number differs."""
    own = {key for key, _ in _readings(_name(page))} | {_plain(_name(page))}
    return any(key in own for key, _ in _readings(_name(url)))


def _is_page(name: str, text: str, own: dict[str, int]) -> bool:
    """Return True if a link leads to a page of a list, by its URL and its text.

    ``own`` are the readings of the URL of the page with the link.
    """
    says = _IN_QUERY.search(name) or _IN_PATH.search(name)
    numbered = 0 < len(text) <= _MAX_NUMBER and not any(map(str.isalpha, text))  # a number or an arrow
    if says is not None and numbered:
        return True
    # a link with another text must have "page" in its URL, and differ from this page only in the number
    same = {number for key, number in _readings(name, said=not numbered) if key in own}
    return bool(same)


def _offer(following: dict[str, tuple[int, str]], name: str, address: str, own: dict[str, int]) -> None:
    """Store a page of a list in ``following`` as the next page, unless a page with a lower number is known.

    Pages before the present page are ignored. ``own`` are the readings of the present page's URL.
    """
    # the last reading is for URLs that contain a cursor (``?after=abc``) and no page number
    readings = [*_readings(name), (_plain(name.partition("?")[0]), 0)]
    key, number = next((one for one in readings if one[0] in own), readings[0])
    here = own.get(key, 0)
    if number and number <= here:
        return
    following[key] = min(following.get(key, (number, address)), (number, address))


def _readings(name: str, *, said: bool = False) -> Iterator[tuple[str, int]]:
    """Yield the readings of a URL, as pairs (URL without the page number, page number).

    If ``said`` is True, only numbers after the word "page" count. The same holds for the URLs of archives,
    because their other numbers are dates.
    """
    forms = (_IN_QUERY, _IN_PATH) if said or is_archive(name) else (_IN_QUERY, _IN_PATH, _ANY_KEY, _BARE)
    for form in forms:
        for found in form.finditer(name):
            yield _plain(name[: found.start()] + name[found.end() :]), int(found[1])


def _plain(name: str) -> str:
    """Return a URL without the remains of a removed number: empty query keys, ``index``, a slash."""
    return _INDEX.sub("", re.sub(r"[?&]+(?=&|$)", "", name).replace("?&", "?")).rstrip("/?&")


def _name(url: str) -> str:
    """Return a URL for comparison, without scheme and ``www.``: links of one site may differ in them."""
    return canonical_or_same(url).partition("://")[2].removeprefix("www.")


def _is_on_host(address: str, url: str) -> bool:
    try:
        return host_key(address) == host_key(url)
    except ValueError:
        return False
