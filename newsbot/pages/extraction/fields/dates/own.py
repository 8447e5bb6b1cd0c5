"""Decides whether a place on the page can hold the date of the page's own article.

A page has many other dates: of teasers and tickers, of comments and embedded posts, of pictures, of the
weather, and the current day in the page's header. If the date of the article cannot be read, none of them may
be taken for it.
"""

from __future__ import annotations

import re
from itertools import chain, islice

from lxml import etree
from lxml.html import HtmlElement

from newsbot.pages.extraction.page.page import MAX_BOXES, Page, text_of
from newsbot.pages.extraction.strings import COMMENTS_HEADING, is_full_name, size
from newsbot.pages.text.languages import compiled

_SIDE = re.compile(r"side-?bar|side-?box", re.IGNORECASE)
_SIDE_TAGS = frozenset({"aside", "nav"})
_OTHER = re.compile(
    r"[ck]om+ent|related|recommend|popular|latest|more-|most-?(?:read|viewed|shared|popular)|trending|similar|"
    r"teaser|card|promo|calendar|copyright|weather|ticker|"
    r"today|current-?(?:date|time)|clock|caption|tweet|twitter|instagram|prev|next",
    re.IGNORECASE,
)
"""Words in the class or id of boxes that do not belong to the article."""
_OTHER_TAGS = frozenset({"form", "figure", "figcaption", "blockquote"})
_MAX_TEASER = 1000
"""Maximum number of characters of a box that is checked for the headline of another article."""
_MAX_CARD = 200
"""Maximum number of characters, and of elements, of a box with a heading and a date of its own."""
_LINKED = 16
"""Minimum number of characters of a link that may be a headline. Most names of sections are shorter."""
_LINKED_CJK = 8
_CJK = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_HEADINGS = frozenset({"h2", "h3", "h4", "h5", "h6"})
_MENU = 6
"""A box with more links is a menu."""


def is_own(element: HtmlElement, page: Page, *, beside: bool = False) -> bool:
    """True if a date in ``element`` may be the date of the page's own article.

    If ``beside`` is true, side columns count too, because some themes print the data of the article there.
    """
    words, tags = (_OTHER, _OTHER_TAGS) if beside else (_BOTH, _OTHER_TAGS | _SIDE_TAGS)
    if page.is_aside(element, words, tags) or _is_comment(element, page):
        return False
    if (not beside and _is_page_header(element, page)) or _is_below_other_heading(element, page):
        return False
    return not is_of_teaser(element, page)


def is_of_teaser(element: HtmlElement, page: Page) -> bool:
    """True for an element in or beside the headline of another article.

    Directly below the headline of the page, a link beside the element is not that of another article.
    """
    if any(map(is_headline_link, islice(element.iterancestors("a"), 1))):
        return True
    return not is_below_headline(element, page) and _is_teaser(element, page)


_BOTH = re.compile(f"{_OTHER.pattern}|{_SIDE.pattern}", re.IGNORECASE)


def _is_comment(element: HtmlElement, page: Page) -> bool:
    """True if the heading of a box around ``element`` is that of the comments of readers."""
    says = compiled(COMMENTS_HEADING).match
    for box in islice(element.iterancestors(), MAX_BOXES):
        if box.tag in ("body", "main", "article") or box in page.around_headline:
            return False
        heading = next(box.iter("h2", "h3", "h4"), None)
        if heading is not None and says(text_of(heading, 60)):
            return True
    return False


def _is_below_other_heading(element: HtmlElement, page: Page) -> bool:
    """True for a date in a small box that has a heading of its own above the date, as that of an event."""
    if element.tag in _HEADINGS:
        return False
    for box in islice(chain((element,), element.iterancestors()), MAX_BOXES):
        text = page.start_of(box, _MAX_TEASER + 1)
        if box.tag in ("body", "main", "article") or box in page.around_headline or len(text) > _MAX_CARD:
            return False
        inner = (one for one in islice(box.iter(), 1, _MAX_CARD) if one is element or one.tag in _HEADINGS)
        if (heading := next(inner, element)) is not element:
            # A heading with digits may be the line of the date itself.
            words = text_of(heading, _MAX_TEASER)
            is_own = (
                heading in page.headlines or any(map(str.isdigit, words)) or not any(map(str.isalpha, words))
            )
            return not is_own and compiled("%(published)s").search(text) is None
    return False


def _is_teaser(element: HtmlElement, page: Page) -> bool:
    """True for an element in a box with the linked headline of another article.

    Such a box has a heading with a link, or is mostly a link that can be a headline.
    """
    for box in islice(chain((element,), element.iterancestors()), MAX_BOXES):
        if box.tag in ("body", "main") or box in page.around_headline:
            return False
        text = page.start_of(box, _MAX_TEASER + 1)
        if len(text) > _MAX_TEASER:
            return False
        if any(map(_is_linked, islice(box.iter(*_HEADINGS), _MENU))):
            return True
        links = [box] if box.tag == "a" else list(islice(box.iter("a"), _MENU))
        if (headline := next(filter(is_headline_link, links), None)) is not None:
            return len(text_of(headline, 300)) * 3 >= len(text)
    return False


def _is_linked(heading: HtmlElement) -> bool:
    """True for a heading that is a link to another page, or in such a link."""
    links = chain(islice(heading.iterancestors("a"), 1), islice(heading.iter("a"), 1))
    return any(is_headline_link(link) for link in links)


def is_headline_link(link: HtmlElement) -> bool:
    """True for a link whose text may be the headline of another article.

    A date may be a link to the article itself or to the archive of the day, so such links do not count.
    """
    text = text_of(link, 300)
    least = _LINKED_CJK if _CJK.search(text) else _LINKED
    if len(text) < least or (link.get("href") or "#").startswith(("#", "javascript:")):
        return False
    return not is_full_name(text) and not _is_name_link(link, text)


def _is_name_link(link: HtmlElement, text: str) -> bool:
    """True for a link to an author, a section or the article itself, whose text is no headline."""
    names = f"{link.get('rel') or ''} {link.get('href') or ''} {link.get('class') or ''}"
    digits = sum(sign.isdigit() for sign in text)
    is_date = digits >= 3 and len(_WORDS.findall(text)) < _LEAST_WORDS
    return is_date or bool(_NAMES.search(names)) or bool(compiled(r"%(by)s\s").match(text))


_WORDS = re.compile(r"[^\W\d_]{3,}|[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{3}")
_LEAST_WORDS = 4
"""Minimum number of words of a link that is more than a date."""


_NAMES = re.compile(
    "comment|respond|author|auth?or|byline|tag|category|section|profile|people|staff|mailto:", re.IGNORECASE
)


def _is_page_header(element: HtmlElement, page: Page) -> bool:
    """True for an element before the headline that belongs to the page and not to the article.

    Such an element is outside of ``<main>``, in the ``<header>`` of the page, or has a menu beside it or
    between it and the headline.
    """
    branch = _branch(element, page)
    if branch is None:
        return False
    between: list[HtmlElement] = [branch]
    for box in islice(branch.itersiblings(), _MAX_SIBLINGS):
        if _has_headline(box, page):
            break
        between.append(box)
    else:
        return False  # the element is after the headline
    main = box if box.tag == "main" else next(box.iter("main"), None)
    if main is not None and main in page.around_headline:
        return True
    header = next(chain(branch.iterancestors("header"), (branch,) if branch.tag == "header" else ()), None)
    if header is not None and next(header.iterancestors("article", "main", "section"), None) is None:
        return True
    links = sum(1 for part in between for _ in islice(part.iter("a"), _MENU + 1))
    return links > _MENU or any(next(part.iter("nav"), None) is not None for part in between)


_MAX_SIBLINGS = 200
"""Maximum number of boxes after an element in which the headline is looked for."""


def is_below_headline(element: HtmlElement, page: Page) -> bool:
    """True for an element in one of the boxes directly after the headline, where the line of the date is."""
    branch = _branch(element, page)
    if branch is None or _letters_before(element, branch) > _MAX_HEAD:
        return False
    for box in islice(branch.itersiblings(preceding=True), _BELOW):
        if size(text_of(box, _MAX_HEAD + 1)) > _MAX_HEAD:  # the text of the article is above the element
            return False
        if _has_headline(box, page):
            return True
    return False


def _letters_before(element: HtmlElement, box: HtmlElement) -> int:
    """Return the number of letters in ``box`` before ``element``.

    The result is more than :data:`_MAX_HEAD` if there are that many letters or very many elements.
    """
    letters = 0
    for event, inner in islice(etree.iterwalk(box, events=("start", "end")), _MAX_TAGS):
        if inner is element or letters > _MAX_HEAD:
            return letters
        if event == "end" or inner.tag not in _CODE:
            letters += size((inner.text if event == "start" else inner.tail) or "")
    return _MAX_HEAD + 1


_CODE = frozenset({"script", "style"})
_MAX_TAGS = 1000
"""Maximum number of start and end tags between the headline and a date directly below it."""
_MAX_HEAD = 300
"""Maximum number of letters of a box that is the head of an article. A longer box has the text too."""
_BELOW = 3
"""Maximum number of boxes after the headline in which a link is not read as that of a teaser."""


def _branch(element: HtmlElement, page: Page) -> HtmlElement | None:
    """Return the largest box around ``element`` without the headline, or None if there is none."""
    around = page.around_headline
    for box in chain((element,), element.iterancestors()):
        parent = box.getparent()
        if parent is not None and parent in around:
            return None if _has_headline(box, page) else box
    return None


def _has_headline(box: HtmlElement, page: Page) -> bool:
    return box in page.around_headline or box in page.headlines[:2]
