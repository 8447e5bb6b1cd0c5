"""The addresses that a page states: its canonical URL, the page to which it forwards, and its next page.

:func:`is_variant` decides from the URLs alone whether two URLs are forms of one page (AMP, print, mobile,
parameters). :func:`join_pages` joins the pages of an article.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from lxml.html import HtmlElement

from newsbot import urls
from newsbot.clock import system_clock, utc
from newsbot.errors import NotAnArticle
from newsbot.items import Article
from newsbot.pages.extraction.body.selectors import Selected, layout_for
from newsbot.pages.extraction.fields.details import listed
from newsbot.pages.extraction.fields.published import probable_day
from newsbot.pages.extraction.page import Page, base_of
from newsbot.pages.extraction.parsing import parse_html
from newsbot.pages.extraction.visible import visible_text, xpath
from newsbot.pages.rules.rule import Rule
from newsbot.pages.text.languages import compiled, words
from newsbot.pages.text.words import is_template, key, size, word_set
from newsbot.urls import absolute


def canonical_url(page: Page, drop_query: tuple[str, ...] = (), stated: str | None = None) -> tuple[str, str]:
    """Return the canonical URL of the page and the method: ``rule``, ``link``, ``og`` or ``url``.

    ``drop_query`` has the parameters that the site's rule removes from URLs. ``stated`` is the URL that the
    rule's selectors found. A URL that the page or the rule states is trusted only if it is on the same site.
    A home page is trusted only as the URL of a home page, because some sites state it on every page. Raises
    ``ValueError`` if the page's own URL is not absolute.
    """
    own = urls.canonicalize(page.url, drop_query)
    for method, value in (
        ("rule", stated),
        ("link", next(iter(page.links.get("canonical", ())), None)),
        ("og", page.meta("og:url") or None),
    ):
        found = _trusted(value, page, own, drop_query) if value else None
        if found is not None:
            return found, method
    return own, "url"


def _trusted(value: str, page: Page, own: str, drop_query: tuple[str, ...]) -> str | None:
    """Return the canonical form of the stated URL ``value`` if it can be trusted, else None.

    ``own`` is the canonical form of the page's own URL.
    """
    resolved = urls.absolute(base_of(page), value)
    if resolved is None or is_template(value):
        return None
    try:
        found = urls.canonicalize(resolved, drop_query)
    except ValueError:
        return None
    # If several sites publish a text, their pages may state the URL on the original publisher's site.
    target, source = urlsplit(found), urlsplit(own)
    if urls.site_of(target.hostname or "") != urls.site_of(source.hostname or "") and not _is_kept_for(
        source, target
    ):
        return None
    if _is_front(found) and not _is_front(own):
        return None
    if (
        len(target.path) < len(source.path)
        and source.path.startswith(target.path.rstrip("/") + "/")
        and not _same_story(target.path)
        and source.path[len(target.path) :].strip("/").lower() not in _VARIANT_STEPS
    ):
        return None  # some sites state the section as the canonical URL of its articles
    return found


def _is_kept_for(source: SplitResult, target: SplitResult) -> bool:
    """True if ``source`` is a copy of an AMP page in Google's cache and ``target`` its original.

    The path of the copy begins with the host of the original.
    """
    return (source.hostname or "").endswith(_AMP_CACHE) and (target.hostname or "") in source.path.split("/")[
        :4
    ]


def _is_front(url: str) -> bool:
    """True for the URL of a home page."""
    parts = urlsplit(url)
    return (
        parts.path.strip("/") in ("", "index.html", "index.php", "home", "en", "ru", "ua", "uk")
        and not parts.query
    )


def _same_story(path: str) -> bool:
    """True for a path that can name an article: it has a number or a long last part."""
    last = path.rstrip("/").rsplit("/", 1)[-1]
    return (
        any(sign.isdigit() for sign in last)
        or last.count("-") >= 2
        or last.endswith((".html", ".htm", ".shtml", ".php"))
    )


# --- forms of one page

_VARIANT_STEPS = word_set("amp amp.html print printable print.html mobile share")
"""Segments of a path that mark another form of a page. The URL without these segments is the URL of the page
itself."""
_AMP_CACHE = ".cdn.ampproject.org"
"""The end of the host names of Google's cache of AMP pages."""

# m.example.org, but not m.org
_HOSTS = re.compile(r"^(?:www|m|mobile|mobil|amp|wap|touch|print|pda|lite)\.(?=[^.]+\.)")
_ENDS = re.compile(r"(?:\.(?:amp|html?|shtml|xhtml|php|aspx?|print))+$", re.IGNORECASE)
_KEYS = re.compile(r"(?:amp|print|printable|mobile|share|outputtype|output|view|format|m)(?:=|$)")
# 12345-title, a12345, title-12345, title_id12345
_NUMBER = re.compile(r"^(?:[a-z]{0,3})(\d{5,})(?=$|[-_])|(?:^|[-_])[a-z]{0,3}(\d{5,})$")
# 20240503
_DATE = re.compile(r"(?:19|20)\d\d(?:0[1-9]|1[0-2])(?:[0-2]\d|3[01])")


def is_variant(url: str, canonical: str) -> bool:
    """Return True if the two URLs show that ``canonical`` is another form of ``url``.

    Both URLs are in canonical form (:func:`newsbot.urls.canonicalize`) and on one site. Their hosts may
    differ in a prefix such as ``m.``. Their paths may differ in segments such as ``amp`` and ``print``, or in
    the ending. ``canonical`` may lack parameters if its path still identifies one page. If the paths differ
    in any other way, both must contain the same article number.
    """
    one, other = urlsplit(url), urlsplit(canonical)
    host, path = one.netloc, one.path
    if host.partition(":")[0].endswith(_AMP_CACHE):
        # The path in the cache contains the URL of the page: /c/s/news.test/story.
        _, found, rest = path.partition(f"/{other.netloc}/")
        if not found:
            return False
        host, path = other.netloc, f"/{rest}"
    if _bare_host(host) != _bare_host(other.netloc):
        return False
    left, right = _steps(path), _steps(other.path)
    mine, theirs = _parameters(one.query), _parameters(other.query)
    if not theirs <= mine:  # a canonical URL has no additional parameters
        return False
    if left == right:
        return mine == theirs or _names_a_page(right)
    return mine == theirs and _number(left) is not None and _number(left) == _number(right)


def adds_parameters(url: str, plain: str) -> bool:
    """Return True if two URLs differ only in parameters that ``plain`` lacks."""
    one, other = urlsplit(url), urlsplit(plain)
    more, fewer = ({part for part in query.split("&") if part} for query in (one.query, other.query))
    return (one.scheme, one.netloc, one.path) == (other.scheme, other.netloc, other.path) and fewer < more


def on_one_host(one: str, other: str) -> bool:
    """Return True if the hosts of two URLs are equal, apart from prefixes such as ``www.`` and ``m.``."""
    return _bare_host(urlsplit(one).netloc) == _bare_host(urlsplit(other).netloc)


def _bare_host(host: str) -> str:
    return _HOSTS.sub("", host)


def _steps(path: str) -> tuple[str, ...]:
    steps = [step for step in path.split("/") if step and step.lower() not in _VARIANT_STEPS]
    if steps:
        steps[-1] = _ENDS.sub("", steps[-1])
    return tuple(steps)


def _parameters(query: str) -> frozenset[str]:
    return frozenset(part for part in query.split("&") if part and not _KEYS.match(part.lower()))


def _names_a_page(steps: tuple[str, ...]) -> bool:
    """True for a path that identifies one page without parameters.

    For example, ``/news`` in ``/news?id=7`` does not identify a page.
    """
    last = unquote(steps[-1]) if steps else ""
    return any(sign.isdigit() for sign in last) or last.count("-") + last.count("_") >= 2


def _number(steps: tuple[str, ...]) -> str | None:
    """Return the number of the article in the URL, or None.

    It is a long number at the start or end of the last segment. Dates and round numbers do not count.
    """
    found = _NUMBER.search(steps[-1].lower()) if steps else None
    number = found and (found[1] or found[2])
    if not number or _DATE.fullmatch(number) or number.endswith("000"):
        return None
    return str(number)


_AT_ONCE = 5
"""Maximum number of seconds until a page forwards. Pages that reload themselves wait for minutes."""
_HARDLY_ANY = 600
"""A page with at least this number of letters is read, although it forwards."""
_HEAD = 50_000
"""Number of bytes at the start of a page that are searched."""
# Matches values such as "0; url=/new" and "3, '/new'".
_VALUE = re.compile(
    r"\s{0,20}(\d{1,4})?(?:\.\d{0,9})?\s{0,20}[;,\s]\s{0,20}(?:url\s{0,20}=\s{0,20})?"
    r"(?:\"([^\"]+)|'([^']+)|([^\s'\"].*))",
    re.IGNORECASE | re.DOTALL,
)


def forward_target(
    body: bytes, url: str, header: str = "", charset: str | None = None, *, reloads: bool = False
) -> str | None:
    """Return the absolute URL to which a response forwards at once, or None.

    ``header`` is the value of the header ``Refresh``. The result is None if the page has a text of its own,
    and, unless ``reloads`` is True, if it reloads itself.
    """
    start = body[:_HEAD].lower()
    if not header and not (b"http-equiv" in start and b"refresh" in start):
        return None
    own = "" if reloads else url
    try:
        tree = parse_html(body, charset)
    except NotAnArticle:
        return _target(header, url, own)
    values = [header]
    values += [
        element.get("content") or ""
        for element in tree.iter("meta")
        if (element.get("http-equiv") or "").strip().lower() == "refresh"
    ]
    base = absolute(url, next((element.get("href") or "" for element in tree.iter("base")), "")) or url
    targets = (_target(value, base, own) for value in values)
    found = next((target for target in targets if target is not None), None)
    return found if found is not None and size(visible_text(tree)) < _HARDLY_ANY else None


def _target(value: str, base: str, own: str) -> str | None:
    match = _VALUE.match(value[:5000])
    if match is None or int(match[1] or 0) > _AT_ONCE:
        return None
    address = absolute(base, (match[2] or match[3] or match[4]).strip())
    return None if address is None or address.partition("#")[0] == own.partition("#")[0] else address


MAX_PAGES = 20
"""Maximum number of pages that are joined. A longer chain of pages is a list or a crawler trap."""
MAX_TEXT = 1_000_000
"""Maximum length of the joined text, in characters."""

_NEXT = xpath("//a[contains(concat(' ',@rel,' '),' next ')]")
# The last segment of a path if it is a page number: "2", "page-2".
_PAGE_PART = r"^(?:%(url_pages)s|p|part|str)?[-_]?(\d{1,3})(?:\.\w{2,5})?$"
_PAGE_TAIL = r"(.{8,}?)[-_,](?:(?:%(url_pages)s|p)[-_]?)?(\d{1,2})(\.\w{2,5})"
# Query parameters for the page number, besides the words for "page".
_PAGE_KEYS = frozenset(
    {"p", "pg", "part", "start", "paged", "pagenum", "pageno", "pagenumber", "page_no", "page_num"}
    | {"currentpage", "_page"}
)
_ENDING = re.compile(r"\.(?:s?html?|php|aspx?)$", re.IGNORECASE)
_SHORT = (["p"], ["page"], ["part"])
"""Paths in which the number is the id of an article and not a page number: /p/7."""
_SAYS_PAGE = r"%(url_pages)s|\bpg="
_LONG_NAME = 12
"""Maximum length of a word that is the whole path and names a section or a script.

A longer word may name an article.
"""
_SAME_LINE = 40
"""Minimum length of a repeated line that is removed. Shorter lines may occur twice in one article."""


def next_page(
    tree: HtmlElement, url: str, rule: Rule | None = None, now: datetime | None = None
) -> str | None:
    """Return the absolute URL of the article's next page, or None.

    ``tree`` is the page and ``url`` its URL. A URL that the rule's ``next_page`` selects is trusted if it is
    on the same site. A URL in ``rel=next`` is trusted only if it equals ``url`` except for a number, because
    on many sites ``rel=next`` leads to the next article. ``now`` (aware; by default from the clock) helps to
    choose the layout of the rule.
    """
    page = Page.read(tree, url)
    if rule is not None:
        now = now or utc(system_clock())
        selected = Selected(tree, layout_for(rule, probable_day(page, None, now), now))
        for address in selected.addresses("next_page"):
            if (found := _elsewhere(url, address)) is not None:
                return found
    stated = [*page.links.get("next", ())[:5], *(link.get("href") or "" for link in _NEXT(tree)[:5])]
    for address in stated:
        found = _elsewhere(url, address)
        if found is not None and is_continuation(url, found):
            return found
    return None


def first_page(tree: HtmlElement, url: str) -> str | None:
    """Return the URL of the article's first page if ``url`` is a later page, else None.

    ``rel=canonical`` is trusted if it is the page's own URL without the page number. A canonical URL that
    ends in a number is not used, because it may be another article. ``rel=prev`` is not used either, because
    it may lead to the previous article.
    """
    if _page_number(urlsplit(url))[1] < 2:  # the first page itself, or an article of one page
        return None
    for address in Page.read(tree, url).links.get("canonical", ())[:3]:
        found = _elsewhere(url, address)
        numbered = found is not None and urlsplit(found).path.rstrip("/").rpartition("/")[2].isdecimal()
        if found is not None and not numbered and is_continuation(found, url):
            return found
    return None


def is_continuation(url: str, other: str) -> bool:
    """True if ``other`` is a later page of the article at ``url``: the URLs differ only in a page number."""
    one, two = urlsplit(url), urlsplit(other)
    if _host(one) != _host(two):
        return False
    here, there = _page_number(one), _page_number(two)
    # The URLs /article/18 and /article/19 also differ only in a number, but they are two articles. So the URL
    # must contain a word such as "page", or the rest of the URL must name the story.
    return (
        here[0] == there[0]
        and there[1] > here[1]
        and (compiled(_SAYS_PAGE).search(f"{two.path}?{two.query}") is not None or _names_story(here[0]))
    )


def _names_story(address: tuple[str, tuple[tuple[str, str], ...]]) -> bool:
    """True if a URL without its page number names a story.

    /?p=7 and /news/7 do not name a story, because the same URL with another number is another article.
    """
    path, query = address
    return bool(query) or "/" in path or any(not sign.isalpha() for sign in path) or len(path) > _LONG_NAME


def join_pages(pages: Sequence[Article]) -> Article:
    """Return one article with the fields of the first page, and the text and media of all pages, in order.

    A long line that occurs on an earlier page (headline, lead, box) is not repeated. Raises ``ValueError`` if
    there are no pages.
    """
    if not pages:
        raise ValueError("there are no pages to join")
    lines, seen = list[str](), set[str]()
    site_lines, structure = list[tuple[int, str]](), dict[str, list[int]]()
    for page in pages[:MAX_PAGES]:
        removed = page.site_lines
        kinds = {number: kind for kind, numbers in page.structure.items() for number in numbers}
        for number, line in enumerate(page.text.split("\n")):
            # The removed lines of the site keep their places, which now refer to the joined text.
            while removed and removed[0][0] <= number:
                site_lines.append((len(lines), removed.pop(0)[1]))
            words = key(line)
            if len(line) < _SAME_LINE or words not in seen:
                seen.add(words)
                if number in kinds:
                    structure.setdefault(kinds[number], []).append(len(lines))
                lines.append(line)
        site_lines += [(len(lines), line) for _, line in removed]
    joined = replace(
        pages[0],
        text="\n".join(lines)[:MAX_TEXT],
        structure=structure,
        media=listed(one for page in pages[:MAX_PAGES] for one in page.media),
        modified_at=max((page.modified_at for page in pages if page.modified_at is not None), default=None),
        partial=any(page.partial for page in pages),
        extraction=pages[0].extraction | {"pages": str(min(len(pages), MAX_PAGES))},
    )
    joined.site_lines = site_lines
    return joined


def _elsewhere(url: str, address: str) -> str | None:
    """Return the absolute URL of ``address`` if it is another page of the same site, else None."""
    found = urls.resolve(url, address) if address else None
    if found is None or found.partition("#")[0] == url.partition("#")[0]:
        return None
    same = urls.site_of(_host(urlsplit(found))) == urls.site_of(_host(urlsplit(url)))
    return found if same else None


def _host(parts: SplitResult) -> str:
    return (parts.hostname or "").lower()


def _page_number(parts: SplitResult) -> tuple[tuple[str, tuple[tuple[str, str], ...]], int]:
    """Return the path and query of a URL without its page number, and the page number.

    The number is 1 if the URL has no page number.
    """
    number = 1
    query = []
    for name, value in parse_qsl(parts.query[:2000], keep_blank_values=True):
        if _is_page_key(name) and value.isdecimal() and len(value) <= 3:
            number = int(value)
        else:
            query.append((name, value))
    steps = [step for step in parts.path.split("/") if step]
    # The number may be a segment of the path: /story/2, /story/page-2, /story/page/2.
    match = compiled(_PAGE_PART).match(steps[-1]) if len(steps) > 1 and steps[:-1] not in _SHORT else None
    if match is not None:
        number = int(match[1])
        steps.pop()
        if len(steps) > 1 and _is_page_key(steps[-1]):
            steps.pop()
    path = "/".join(steps)
    # Or it is at the end of a file's name: /story-2.html, /story,page-2.html.
    tail = compiled(_PAGE_TAIL).fullmatch(path)
    if tail is not None:
        number, path = int(tail[2]), tail[1] + tail[3]
    return (_ENDING.sub("", path), tuple(query)), number


def _is_page_key(name: str) -> bool:
    """True for the name of a query parameter, or the segment of a path, before a page number."""
    return name.lower() in _PAGE_KEYS or name.lower() in words("url_pages")
