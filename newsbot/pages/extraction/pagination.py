"""Handles articles that have several pages: finds the URL of the next page, and joins the pages."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from urllib.parse import SplitResult, parse_qsl, urlsplit

from lxml.html import HtmlElement

from newsbot import urls
from newsbot.clock import system_clock, utc
from newsbot.items import Article
from newsbot.pages.extraction.fields.dates.published import probable_day
from newsbot.pages.extraction.fields.media import listed
from newsbot.pages.extraction.page.page import Page, xpath
from newsbot.pages.extraction.selectors import Selected, layout_for
from newsbot.pages.extraction.strings import key
from newsbot.pages.rules.rule import Rule
from newsbot.pages.text.languages import compiled, words

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
    if _number(urlsplit(url))[1] < 2:  # the first page itself, or an article of one page
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
    here, there = _number(one), _number(two)
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


def _number(parts: SplitResult) -> tuple[tuple[str, tuple[tuple[str, str], ...]], int]:
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
