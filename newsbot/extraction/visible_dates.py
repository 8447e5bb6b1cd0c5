"""Dates in the visible text of a page: bylines, date lines, the surroundings of the headline."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, tzinfo

from lxml.html import HtmlElement

from newsbot.extraction.dates import Written, find_date
from newsbot.extraction.page import Page, text_of, xpath
from newsbot.extraction.relative import MAX_TEXT as MAX_RELATIVE
from newsbot.extraction.relative import relative_moment

MAX_ELEMENTS = 120

_DATED = xpath(
    "//*[contains(@class,'date') or contains(@class,'Date') or contains(@class,'time')"
    " or contains(@class,'publi')"
    " or contains(@class,'posted') or contains(@class,'byline') or contains(@class,'meta')"
    " or contains(@class,'info') or contains(@class,'data') or contains(@class,'footer')"
    " or contains(@id,'date') or contains(@id,'time') or contains(@id,'published')]"
    "[not(self::body or self::html or self::article or self::main or self::script or self::meta"
    " or self::time)]"
)
_STRONG = re.compile(r"publi|posted|date|byline", re.IGNORECASE)
_ASIDE = re.compile(
    r"comment|related|sidebar|recommend|widget|popular|latest|more-|teaser|card|promo|calendar|copyright|"
    r"weather",
    re.IGNORECASE,
)
_ASIDE_TAGS = frozenset({"aside", "footer", "nav", "form"})
_SAYS_PUBLISHED = re.compile(
    r"publi|posted|created|erstellt|veröffentlicht|опубликован|размещен|дата|написа|добавлен|on\b|by\b|"
    r"\bam\b|vom|stand|pubblicat|gepubliceerd",
    re.IGNORECASE,
)
_SAYS_OTHER = re.compile(
    r"updat|modif|aktualisiert|обновлен|изменен|copyright|©|deadline|registr|expires|mis à jour",
    re.IGNORECASE,
)


def visible_dates(page: Page, region: str | None) -> Iterator[tuple[Written, float]]:
    """Yield dates with a confidence of .3 to .6: near the headline, then in elements named for dates."""
    for element in page.h1[:2]:
        yield from _near(element, region)
    for index, element in enumerate(_DATED(page.tree)[:MAX_ELEMENTS]):
        text = text_of(element, 300)
        if not 6 <= len(text) <= 200 or not any(sign.isdigit() for sign in text):
            continue
        written = find_date(text, region)
        if written is not None:
            yield written, _confidence(element, text, index)


def relative_dates(page: Page, now: datetime, zone: tzinfo) -> Iterator[tuple[Written, float]]:
    """Yield times such as "yesterday, 14:05": near the headline, then in elements named for dates.

    ``now`` is when the page was fetched, ``zone`` that of the site.
    """
    for headline in page.h1[:1]:
        for element in _around(headline):
            written = relative_moment(text_of(element, MAX_RELATIVE + 1), now, zone)
            if written is not None and not _is_aside(element):
                yield written, 0.4
    for element in _DATED(page.tree)[:MAX_ELEMENTS]:
        text = text_of(element, MAX_RELATIVE + 1)
        written = relative_moment(text, now, zone)
        if written is not None and not _is_aside(element) and not _SAYS_OTHER.search(text):
            yield written, 0.35


def _near(headline: HtmlElement, region: str | None) -> Iterator[tuple[Written, float]]:
    """Dates in what stands right before and after the headline."""
    for index, element in enumerate(_around(headline)):
        text = text_of(element, 400)[:250]
        written = find_date(text, region)
        if written is not None and not _is_aside(element):
            long = 0.08 if len(text) > 120 else 0.0
            yield written, _worded(text, 0.56 - 0.01 * index - long)


def _around(headline: HtmlElement) -> list[HtmlElement]:
    around = [*list(headline.itersiblings(preceding=True))[:3], *list(headline.itersiblings())[:4]]
    parent = headline.getparent()
    if parent is not None:
        around += [*list(parent.itersiblings(preceding=True))[:1], *list(parent.itersiblings())[:3]]
    return [element for element in around if isinstance(element.tag, str)]


def _confidence(element: HtmlElement, text: str, index: int) -> float:
    named = bool(_STRONG.search(f"{element.get('class')} {element.get('id')}"))
    score = (
        (0.5 if named else 0.44)
        - 0.001 * index
        - (0.05 if len(text) > 80 else 0.0)
        - (0.14 if _is_aside(element) else 0.0)
    )
    return _worded(text, score)


def _worded(text: str, score: float) -> float:
    if _SAYS_OTHER.search(text):
        return score - 0.1
    return score + (0.04 if _SAYS_PUBLISHED.search(text) else 0.0)


def _is_aside(element: HtmlElement) -> bool:
    chain = [element, *element.iterancestors()][:10]
    return any(
        e.tag in _ASIDE_TAGS or _ASIDE.search(f"{e.get('class') or ''} {e.get('id') or ''}") for e in chain
    )
