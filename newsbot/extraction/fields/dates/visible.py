"""Finds dates in the visible text of a page: in bylines, in date lines and around the headline.

``region`` is the language and country of the page in all functions, such as ``en-us`` (or None). It decides
the order of day and month.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, tzinfo
from itertools import islice

from lxml.html import HtmlElement

from newsbot.extraction.fields.dates.moments import Written, find_date, has_digit, parse_stamp
from newsbot.extraction.fields.dates.relative import MAX_TEXT as MAX_RELATIVE
from newsbot.extraction.fields.dates.relative import relative_moment
from newsbot.extraction.page.page import Page, text_of, xpath
from newsbot.text.languages import compiled

MAX_ELEMENTS = 120
"""Maximum number of elements named after dates that are read."""
MAX_LINE = 70
"""Number of characters at the start of a line that are searched. Dates further on belong to the story."""
MAX_LINES = 20
"""Maximum number of dates that :func:`dates_in_text` yields."""
MAX_BESIDE = 250
"""Maximum length of a date line beside the headline. A longer text is the story itself."""
MAX_LOOKED_AT = 10_000
"""Maximum number of elements that :func:`dates_in_text` checks."""
MAX_SCRIPT = 1_000_000
"""Maximum number of characters of a script that are searched."""

_DATED = xpath(
    "(//*[@class or @id]"
    "[contains(@class,'date') or contains(@class,'Date') or contains(@class,'time')"
    " or contains(@class,'publi')"
    " or contains(@class,'posted') or contains(@class,'byline') or contains(@class,'meta')"
    " or contains(@class,'info') or contains(@class,'data') or contains(@class,'footer')"
    " or contains(@id,'date') or contains(@id,'time') or contains(@id,'published')]"
    "[not(self::body or self::html or self::article or self::main or self::script or self::meta"
    f" or self::time)])[position() <= {MAX_ELEMENTS}]"
)
_ISO = re.compile(r"\s{0,9}\d{4}-\d\d-\d\d")
_STRONG = re.compile(r"publi|posted|date|byline", re.IGNORECASE)
_ASIDE = re.compile(
    r"comment|related|sidebar|recommend|widget|popular|latest|more-|teaser|card|promo|calendar|copyright|"
    r"weather",
    re.IGNORECASE,
)
_LINES = (
    "p", "span", "div", "li", "td", "small", "b", "i", "em", "strong", "font", "h1", "h2", "h3", "h4", "h5",
    "h6", "dd", "a", "section", "article", "header",
)  # fmt: skip
# The last part of a title after a separator.
_LAST_PART = re.compile(r"[|·•–—-]\s+([^|·•–—]{6,20})$")
# A publication time with its name in the data of a script: "datePublished": "2024-05-03T14:05".
_IN_DATA = re.compile(
    r"[\"']?(?:date_?published|published_?(?:at|date|time)|publish_?(?:date|time)|publication_?(?:date|time)|"
    r"pub_?date|cms_?publishing_?date|first_?published(?:_?(?:at|date))?|issued)[\"']?\s{0,3}[:=]\s{0,3}"
    r"[\"'](\d{4}-\d\d-\d\d[^\"'\\]{0,30})[\"']",
    re.IGNORECASE,
)
_ASIDE_TAGS = frozenset({"aside", "nav", "form"})
_SAYS_PUBLISHED = r"%(published)s|%(dated)s"
_SAYS_OTHER = r"%(updated)s|%(other_dates)s|©"


def visible_dates(page: Page, region: str | None) -> Iterator[tuple[Written, float]]:
    """Yield dates near the headline, then dates in elements named after dates.

    The second value is the confidence, from 0.3 to 0.6.
    """
    yield from near_headline(page, region)
    for index, element in enumerate(_DATED(page.tree)):
        text = text_of(element, 300)
        written = _stamped(element, region)
        if written is None and 6 <= len(text) <= 200 and has_digit(text):
            written = find_date(_from_publication(text), region)
        if written is not None:
            yield written, _confidence(element, page, text, index)


def _stamped(element: HtmlElement, region: str | None) -> Written | None:
    """Return the machine-readable time of an element, or None.

    The time may be in the ``title`` attribute, as in hAtom: ``<abbr class="published"
    title="2026-11-15T07:00Z">``.
    """
    stamp = element.get("datetime") or element.get("title") or ""
    return parse_stamp(stamp[:100], region) if _ISO.match(stamp) else None


def near_headline(page: Page, region: str | None) -> Iterator[tuple[Written, float]]:
    """Yield the dates directly before and after the headline, each with its confidence."""
    for element in page.h1[:4]:
        yield from _near(element, page, region)


def around_headline(page: Page) -> Iterator[str]:
    """Yield the short texts directly before and after the first headline."""
    for element in page.h1[:1]:
        for around in _around(element):
            text = text_of(around, 400)
            if len(text) <= MAX_BESIDE and not is_aside(around, page):
                yield text


def title_date(page: Page, region: str | None) -> Written | None:
    """Return the date in the last part of the page's title ("… | DW | 28.04.2023"), or None."""
    for title in (page.title_tag, page.meta("og:title")):
        last = _LAST_PART.search(title[-60:])
        written = find_date(last[1], region) if last is not None else None
        if written is not None:
            return written
    return None


def dates_in_text(page: Page, region: str | None) -> Iterator[tuple[Written, float]]:
    """Yield dates in short lines and at the start of paragraphs, anywhere on the page.

    The second value is the confidence. It is lower before the headline and in side columns.
    """
    headline = page.h1[0] if page.h1 else None
    after, count = headline is None, 0
    for element in islice(page.tree.iter(*_LINES), MAX_LOOKED_AT):
        after = after or element is headline
        # The text of the children is not read here, because the loop also visits the children.
        own = _own_start(element)
        if not has_digit(own) or compiled(_SAYS_OTHER).search(own):
            continue
        written = find_date(own, region)
        if written is not None:
            beside = 0.1 if is_aside(element, page) else 0.0
            yield written, _worded(own, (0.3 if after else 0.24) - 0.001 * count - beside)
            count += 1
            if count >= MAX_LINES:
                return


def dates_in_data(page: Page) -> Iterator[Written]:
    """Yield the first publication time in the data of the page's scripts. At most one is yielded."""
    for script in page.tree.iter("script"):
        # JSON-LD has its own reader, which knows the node of the article.
        if "ld+json" in (script.get("type") or ""):
            continue
        match = _IN_DATA.search((script.text or "")[:MAX_SCRIPT])
        written = parse_stamp(match[1]) if match is not None else None
        if written is not None:
            yield written
            return


def _from_publication(text: str) -> str:
    """Return the end of a line such as "Updated … Published …", from the word "Published" on.

    Other lines are returned unchanged.
    """
    change = compiled(_SAYS_OTHER).search(text)
    told = compiled("%(published)s").search(text, change.end()) if change is not None else None
    return text[told.start() :] if told is not None and has_digit(text, told.end()) else text


def _own_start(element: HtmlElement) -> str:
    """Return the first characters of the text directly in an element, without the text of its children."""
    own = f"{element.text or ''} {' '.join(child.tail or '' for child in element[:10])}"
    return " ".join(own[:1000].split())[:MAX_LINE]


def relative_dates(page: Page, now: datetime, zone: tzinfo) -> Iterator[tuple[Written, float]]:
    """Yield times such as "yesterday, 14:05".

    Those near the headline come first, then those in elements named after dates.

    The second value is the confidence. ``now`` is the time of the download, and ``zone`` is the time zone of
    the site.
    """
    for headline in page.h1[:1]:
        for element in _around(headline):
            written = relative_moment(text_of(element, MAX_RELATIVE + 1), now, zone)
            if written is not None and not is_aside(element, page):
                yield written, 0.4
    for element in _DATED(page.tree):
        text = text_of(element, MAX_RELATIVE + 1)
        written = relative_moment(text, now, zone)
        if written is not None and not is_aside(element, page) and not compiled(_SAYS_OTHER).search(text):
            yield written, 0.35


def _near(headline: HtmlElement, page: Page, region: str | None) -> Iterator[tuple[Written, float]]:
    """Yield dates in the texts directly before and after the headline, each with its confidence."""
    for index, element in enumerate(_around(headline)):
        text = text_of(element, 400)[:250]
        # In a long text, dates after the start belong to the story.
        written = find_date(_from_publication(text) if len(text) <= 120 else text[:MAX_LINE], region)
        if written is not None and not is_aside(element, page):
            long = 0.08 if len(text) > 120 else 0.0
            yield written, _worded(text, 0.56 - 0.01 * index - long)


def _around(headline: HtmlElement) -> list[HtmlElement]:
    """Return the elements directly before and after the headline."""
    # The date line is beside the headline, or beside the box that contains the headline.
    around = [*islice(headline.itersiblings(preceding=True), 3), *islice(headline.itersiblings(), 4)]
    parent = headline.getparent()
    if parent is not None:
        around += [*islice(parent.itersiblings(preceding=True), 1), *islice(parent.itersiblings(), 3)]
    return [element for element in around if isinstance(element.tag, str)]


def _confidence(element: HtmlElement, page: Page, text: str, index: int) -> float:
    """Return the confidence of the date in the ``index``-th element that is named after dates."""
    named = bool(_STRONG.search(f"{element.get('class')} {element.get('id')}"))
    score = (
        (0.5 if named else 0.44)
        - 0.001 * index
        - (0.05 if len(text) > 80 else 0.0)
        - (0.14 if is_aside(element, page) else 0.0)
    )
    return _worded(text, score)


def _worded(text: str, score: float) -> float:
    """Return the confidence ``score``, changed by words such as "updated" and "published" in ``text``."""
    if compiled(_SAYS_OTHER).search(text):
        return score - 0.1
    return score + (0.04 if compiled(_SAYS_PUBLISHED).search(text) else 0.0)


def is_aside(element: HtmlElement, page: Page) -> bool:
    """True for an element in a side column, a footer, a comment or a box of other articles."""
    return page.is_aside(element, _ASIDE, _ASIDE_TAGS)
