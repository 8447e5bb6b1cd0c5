"""Yields candidates for the times of an article, each with its source and confidence.

The times come from a page, its URL and the link to the page. The confidence is from 0 to 1. In all functions,
``region`` is the result of :func:`~newsbot.pages.extraction.fields.moments.region_of`.

:func:`is_own` decides whether a place on the page can hold the date of the page's own article.
A page has many other dates: of teasers and tickers, of comments and embedded posts, of pictures, of the
weather, and the current day in the page's header. If the date of the article cannot be read, none of them may
be taken for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, tzinfo
from itertools import chain, islice

from lxml import etree
from lxml.html import HtmlElement

from newsbot.items import Link, Precision, Where
from newsbot.pages.extraction.fields import (
    FEED,
    GENERIC,
    JSON_LD,
    META,
    MICRODATA,
    OPEN_GRAPH,
    RULE,
    SITEMAP,
    TIME_TAG,
    URL,
    VISIBLE,
    Candidate,
)
from newsbot.pages.extraction.fields.moments import (
    MAX_RELATIVE,
    Written,
    date_without_year,
    find_date,
    has_digit,
    parse_stamp,
    region_of,
    relative_moment,
)
from newsbot.pages.extraction.page import MAX_BOXES, Page, Times, scalar, stamp_of
from newsbot.pages.extraction.visible import PHRASING, text_of
from newsbot.pages.text.languages import compiled
from newsbot.pages.text.words import COMMENTS_HEADING, is_full_name, size, word_list

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
    is_date = digits >= 3 and len(_WORDS.findall(text)) < _LEAST_LINK_WORDS
    return is_date or bool(_NAMES.search(names)) or bool(compiled(r"%(by)s\s").match(text))


_WORDS = re.compile(r"[^\W\d_]{3,}|[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{3}")
_LEAST_LINK_WORDS = 4
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


Moment = Candidate[Written]
MAX_TAGS = 40
"""Maximum number of ``<time>`` elements that are read."""

_PUBLISHED = word_list(
    "datepublished publishdate publish-date publish_date pubdate pub_date published_time published_at "
    "published article.published "
    "originalpublicationdate date_published publication_date publication-date parsely-pub-date "
    "sailthru.date cxenseparse:recs:publishtime "
    "cxenseparse:publishtime vr:published_time mediator_published_time dc.date.issued dcterms.issued "
    "dcterms.created citation_publication_date "
    "citation_online_date article_date_original dcsext.articlefirstpublished bt:pubdate rnews:datepublished "
    "datecreated ptime "
    "release_date displaydate articlepublisheddate article_publish_date article-published-date "
    "article:publish_date date:published"
)
# Names of metadata that usually, but not always, contain the time of publication.
_LOOSE = word_list(
    "date dc.date dcterms.date dc.date.created citation_date article.created creation_date timestamp"
)
_MODIFIED = word_list(
    "article:modified_time og:updated_time datemodified article:modified modified_time lastmod "
    "last-modified dc.date.modified dcterms.modified "
    "parsely-updated-date cxenseparse:recs:modifiedtime mediator_modified_time article.updated revised "
    "date_modified updated_time"
)
_NAMED_CHANGED = re.compile("updat|modif")
_NAMED_PUBLISHED = re.compile("publi|pubdate|entry-date|posted|created")
"""Matches the class, ``itemprop`` or id of a ``<time>`` with the publication time."""
# /2024/05/17/, /2024-5-17, 2024_05_17
_URL_DATE = re.compile(r"(?<!\d)((?:19|20)\d\d)[/_.-](0?[1-9]|1[0-2])[/_.-](0?[1-9]|[12]\d|3[01])(?!\d)")
# 20240517 or 2024/0517, but not within a longer number
_URL_COMPACT = re.compile(r"(?<![\d-])(20[0-3]\d)/?(0[1-9]|1[0-2])/?(0[1-9]|[12]\d|3[01])(?![\d])")
# 17-05-2024, 17/05/2024
_URL_REVERSED = re.compile(r"(?<!\d)(0[1-9]|[12]\d|3[01])[-/.](0[1-9]|1[0-2])[-/.](20[0-3]\d)(?!\d)")
_URL_NUMBER = re.compile(r"(?<!\d)(20[0-3]\d)(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])\d{4,11}(?!\d)")
"""Article numbers that begin with a date, as on many sites in Korea and Japan."""
_URL_FORMS = (
    (_URL_DATE, (1, 2, 3), 0.62),
    (_URL_COMPACT, (1, 2, 3), 0.62),
    (_URL_REVERSED, (3, 2, 1), 0.62),
    (_URL_NUMBER, (1, 2, 3), 0.4),
)


def _stamp(text: str, method: str, confidence: float, region: str | None) -> Iterator[Moment]:
    """Yield the time in a value that contains only a date. Yield nothing if the value is not a date."""
    written = parse_stamp(text, region) if text else None
    if written is not None:
        yield Candidate(written, method, confidence)


def aware(moment: datetime, method: str, confidence: float) -> Moment:
    """Return a candidate for an aware ``moment``. Midnight in UTC is returned as a day without a time."""
    moment = moment.astimezone(UTC)
    precision: Precision = "second" if moment.time().replace(tzinfo=None) != datetime.min.time() else "day"
    return Candidate(Written(moment.replace(tzinfo=None), precision, UTC), method, confidence)


def from_rule(values: list[str], region: str | None) -> Iterator[Moment]:
    """Yield the times in the values that the selectors of a rule found."""
    for value in values[:5]:
        yield from _stamp(value, RULE, 1.0, region)


def structured(page: Page, region: str | None) -> Iterator[Moment]:
    """Yield times of publication from JSON-LD, Open Graph, microdata and meta."""
    node = page.article
    if node is not None:
        yield from _stamp(scalar(node.get("datePublished")), JSON_LD, 0.95, region)
        # A draft may be created long before its publication.
        yield from _stamp(scalar(node.get("dateCreated")), JSON_LD, 0.62, region)
    yield from _stamp(
        page.meta(
            "article:published_time",
            "article:published:time",
            "og:article:published_time",
            "og:published_time",
        ),
        OPEN_GRAPH,
        0.92,
        region,
    )
    for item in page.items.get("datePublished", [])[:1]:
        value = item.get("content") or item.get("datetime") or text_of(item, 100)
        yield from _stamp(value, MICRODATA, 0.88, region)
    for element in islice(_in_rdfa(page), 1):
        value = element.get("content") or text_of(element, 100)
        yield from _stamp(value, MICRODATA, 0.8, region)
    for name in _PUBLISHED:
        yield from _stamp(page.meta(name), META, 0.85, region)
    for weak in page.nodes.weaker():
        yield from _stamp(scalar(weak.get("datePublished") or weak.get("uploadDate")), JSON_LD, 0.78, region)
    for name in _LOOSE:
        yield from _stamp(page.meta(name), META, 0.72, region)


def _in_rdfa(page: Page) -> Iterator[HtmlElement]:
    """Yield the elements with the time of publication in RDFa, as Drupal writes them.

    Example: ``<span property="schema:dateCreated" content="2026-11-27T10:04:00+00:00">``. For ``<meta>`` see
    :meth:`~newsbot.pages.extraction.page.Page.meta`.
    """
    for element in page.marked:
        if (
            element.tag != "meta"
            and _RDFA(element.get("property") or "")
            and is_own(element, page, beside=True)
        ):
            yield element


_RDFA = re.compile(
    r"(?:schema:|(?<!\S))date(?:Published|Created)(?!\S)|(?:dc|dct|dcterms):(?:created|issued)"
).search


def changed(page: Page, region: str | None) -> Iterator[Moment]:
    """Yield times of the last change.

    They come from the metadata, from ``<time>`` elements, and from the text around the headline.
    """
    yield from stated_changes(page, region)
    own = [tag for tag in page.times[:MAX_TAGS] if is_own(tag.element, page, beside=True)]
    later = _later_of_two(own, region)
    for tag in own:
        if tag is later or _tells_change(tag):
            written = parse_stamp(tag.stamp or tag.text, region)
            if written is not None:
                yield Candidate(written, TIME_TAG, 0.6)
    # The date is after the word: "Updated: 3 May 2024, 14:05".
    updated = compiled("%(updated)s")
    for text in around_headline(page):
        label = updated.search(text)
        shown = find_date(text[label.end() : label.end() + 60], region) if label is not None else None
        if shown is not None:
            yield Candidate(shown, VISIBLE, 0.5)


def stated_changes(page: Page, region: str | None) -> Iterator[Moment]:
    """Yield the times of the last change in the metadata."""
    if page.article is not None:
        yield from _stamp(scalar(page.article.get("dateModified")), JSON_LD, 0.9, region)
    for item in page.items.get("dateModified", [])[:1]:
        value = item.get("content") or item.get("datetime") or text_of(item, 100)
        yield from _stamp(value, MICRODATA, 0.8, region)
    for name in _MODIFIED:
        yield from _stamp(page.meta(name), OPEN_GRAPH if ":" in name else META, 0.7, region)


def _tells_change(tag: Times) -> bool:
    """True for a ``<time>`` whose markup or preceding word marks it as the time of a change."""
    # In WordPress, a post that was never edited has one <time> with both classes, "published" and "updated".
    if _NAMED_PUBLISHED.search(tag.names):
        return False
    # In lxml, the text before an element is the tail of the previous element, or the text of the parent.
    before = tag.element.getprevious()
    parent = tag.element.getparent()
    said = (before.tail if before is not None else parent.text if parent is not None else "") or ""
    return bool(_NAMED_CHANGED.search(tag.names) or compiled("%(updated)s").search(said[-30:]))


def _later_of_two(own: list[Times], region: str | None) -> Times | None:
    """Return the later of the first two ``<time>`` elements if it is the time of a change, else None.

    It counts as the time of a change if there is little text between the two elements, and no word or name
    states their meaning. ``own`` are the elements that may have the dates of the article.
    """
    tags = own[:2]
    if len(tags) < 2 or any(_NAMED_PUBLISHED.search(tag.names) or _tells_change(tag) for tag in tags):
        return None
    first, second = (parse_stamp(tag.stamp or tag.text, region) for tag in tags)
    if first is None or second is None or not _are_close(tags[0].element, tags[1].element):
        return None
    return tags[0] if first.at(UTC) > second.at(UTC) else tags[1]


def _are_close(one: HtmlElement, other: HtmlElement) -> bool:
    """True if there is little text between two elements. Paragraphs or a headline are more text."""
    length = 0
    for text in islice(_texts_between(one, other), MAX_BETWEEN):
        length += len((text or "").strip())
        if length > MAX_GAP:
            return False
    return True


def _texts_between(one: HtmlElement, other: HtmlElement) -> Iterator[str | None]:
    for box in chain((one,), one.iterancestors()):
        yield box.tail
        for sibling in box.itersiblings(etree.Element):
            for event, inner in etree.iterwalk(sibling, events=("start", "end")):
                if inner is other:
                    return
                yield inner.text if event == "start" else inner.tail


def from_hint(hint: Link | None) -> Iterator[Moment]:
    """Yield the publication time that a feed, a news sitemap or a push notification states."""
    if (
        hint is not None
        and hint.published_at is not None
        and hint.where in (Where.FEED, Where.NEWS_SITEMAP, Where.PUSH)
    ):
        news = hint.where is Where.NEWS_SITEMAP
        yield aware(hint.published_at, SITEMAP if news else FEED, 0.84 if news else 0.8)


def time_tags(page: Page, region: str | None) -> Iterator[Moment]:
    """Yield the times of ``<time>`` elements. Times that are marked as publication have the highest
    confidence."""
    tags = page.times[:MAX_TAGS]
    own = [tag for tag in tags if is_own(tag.element, page)]
    # Some themes print the times of the article in a side column. More than two are a list of articles.
    beside = (
        [] if own else [tag for tag in tags if ":" in tag.stamp and is_own(tag.element, page, beside=True)]
    )
    later = _later_of_two(own or beside, region)
    for index, tag in enumerate(own or beside[: 2 * (len(beside) < 3)]):
        confidence = 0.35 if tag is later else _time_confidence(tag, index, page)
        written = parse_stamp(tag.stamp, region) if tag.stamp else None
        # Some sites put only the day into the attribute and the time into the text.
        shown = _shown(tag.text, region) if written is None or written.precision == "day" else None
        if shown is not None and (written is None or shown.local.date() == written.local.date()):
            written = shown
        if written is not None:
            yield Candidate(written, TIME_TAG, confidence - (0.1 if beside else 0.0))


def _time_confidence(tag: Times, index: int, page: Page) -> float:
    if _tells_change(tag):
        return 0.35
    marked = _NAMED_PUBLISHED.search(tag.names) or tag.element.get("pubdate") is not None
    # Elements further down the page belong to other articles more often.
    return (0.72 if marked else 0.66 if len(page.times) == 1 else 0.58) - 0.01 * min(index, 10)


def _shown(text: str, region: str | None) -> Written | None:
    """Return the first date in a line beside the headline or in an element for dates."""
    return find_date(text, region) or date_without_year(text, region)


def from_url(url: str) -> Iterator[Moment]:
    """Yield the first date in the path of a URL, if there is one."""
    path = url.partition("#")[0].partition("?")[0]
    for pattern, order, trust in _URL_FORMS:
        match = pattern.search(path)
        if match is None:
            continue
        try:
            day = datetime(int(match[order[0]]), int(match[order[1]]), int(match[order[2]]))
        except ValueError:  # 31 February
            continue
        yield Candidate(Written(day, "day"), URL, trust)
        return


def visible(page: Page, region: str | None) -> Iterator[Moment]:
    """Yield dates in the title, around the headline and in elements named after dates."""
    if (titled := _title_date(page, region)) is not None:
        yield Candidate(titled, VISIBLE, 0.63)
    for written, confidence in _visible_dates(page, region):
        yield Candidate(written, VISIBLE, confidence)


def remaining(page: Page) -> list[Moment]:
    """Return the dates in scripts and in short lines.

    The caller uses them only if no better source has a date.
    """
    region = region_of(page)
    found = [Candidate(written, GENERIC, 0.4) for written in _dates_in_data(page)]
    found += [Candidate(written, VISIBLE, trust) for written, trust in _dates_in_text(page, region)]
    return found


def relative(page: Page, now: datetime, zone: tzinfo) -> list[Moment]:
    """Return times such as "5 minutes ago".

    The caller uses them only if the page has no absolute date. ``now`` is the time of the download and
    ``zone`` the time zone of the site.
    """
    moments = [Candidate(written, VISIBLE, trust) for written, trust in _relative_dates(page, now, zone)]
    return moments[:10]


# --- dates in the visible text: in bylines, in date lines and around the headline

MAX_ELEMENTS = 120
"""Maximum number of elements named after dates that are read."""
MAX_LINE = 70
"""Number of characters at the start of a line that are searched. Later dates belong to the story."""
MAX_LINES = 20
"""Maximum number of dates that :func:`_dates_in_text` yields."""
MAX_CHECKED = 200
"""Maximum number of dates whose place on the page :func:`_dates_in_text` checks."""
MAX_BESIDE = 250
"""Maximum length of a date line beside the headline. A longer text is the story itself."""
MAX_BETWEEN = 100
"""Maximum number of texts that are read between two ``<time>`` elements."""
MAX_GAP = 60
"""Maximum number of characters between two ``<time>`` elements that belong together."""
MAX_LOOKED_AT = 10_000
"""Maximum number of elements that :func:`_dates_in_text` checks."""
MAX_SCRIPT = 1_000_000
"""Maximum number of characters of a script that are searched."""

_DATED_CLASS = re.compile("date|Date|time|publi|posted|byline|meta|info|data|footer").search
_DATED_ID = re.compile("date|time|published").search
_NOT_DATED = frozenset({"body", "html", "article", "main", "script", "meta", "time"})
_STAMP = re.compile(r"\s{0,9}(?:\d{4}-\d\d-\d\d|1\d{9}(?:\d{3})?\s{0,9}$)")
_STRONG = re.compile(r"publi|posted|date|byline", re.IGNORECASE)
_LINES = (
    "p", "span", "div", "li", "td", "small", "b", "i", "em", "strong", "font", "h1", "h2", "h3", "h4", "h5",
    "h6", "dd", "a", "section", "article", "header",
)  # fmt: skip
# The last part of a title after a separator.
_LAST_PART = re.compile(r"[|·•–—-]\s+([^|·•–—]{6,20})$")
# A publication time with its key in the data of a script: "datePublished": "2024-05-03T14:05".
_IN_DATA = re.compile(
    r"[\"']?(?:date_?published|published_?(?:at|date|time)|publish_?(?:date|time)|publication_?(?:date|time)|"
    r"pub_?date|cms_?publishing_?date|first_?published(?:_?(?:at|date))?|issued)[\"']?\s{0,3}[:=]\s{0,3}"
    r"[\"'](\d{4}-\d\d-\d\d[^\"'\\]{0,30})[\"']",
    re.IGNORECASE,
)
_SAYS_PUBLISHED = r"%(published)s|%(dated)s"
_SAYS_OTHER = r"%(updated)s|%(other_dates)s|©"


def _visible_dates(page: Page, region: str | None) -> Iterator[tuple[Written, float]]:
    """Yield dates near the headline, then dates in elements named after dates.

    The second value is the confidence, from 0.3 to 0.6.
    """
    yield from near_headline(page, region)
    found: list[tuple[HtmlElement, Written, float]] = []
    for index, element in enumerate(dated_elements(page.tree)):
        text = text_of(element, 300)
        written = _stamped(element, region)
        if written is None and 4 <= len(text) <= 200 and has_digit(text) and not _is_caption(element, text):
            written = _shown(_from_publication(text), region)
        if written is not None:
            found.append((element, written, _confidence(element, text, index)))
    listed = _listed([element for element, _, _ in found], page)
    for element, written, confidence in found:
        if element not in listed and is_own(element, page):
            yield written, confidence


def _listed(dated: list[HtmlElement], page: Page) -> set[HtmlElement]:
    """Return the elements with dates that are those of a list of articles, or of comments.

    They have equal markup. Several dates without links directly below the headline are those of the article.
    """
    alike: dict[tuple[str | None, ...], list[HtmlElement]] = {}
    for element in dated:
        box = element.getparent()
        of_box = () if box is None else (str(box.tag), box.get("class"))
        alike.setdefault((str(element.tag), element.get("class"), *of_box), []).append(element)
    return {
        element
        for group in alike.values()
        if len(group) >= _LISTED
        for element in group
        if _has_link(element.getparent()) or not is_below_headline(element, page)
    }


_LISTED = 3
"""Minimum number of dates in equal markup that make a list."""


def _has_link(box: HtmlElement | None) -> bool:
    return box is not None and next(box.iter("a"), None) is not None


def _is_caption(element: HtmlElement, text: str) -> bool:
    """True for the text below a picture: words of a story in a box with a picture."""
    if compiled(r"^\W*(?:%(by)s|%(published)s)(?!\w)").search(text):
        return False
    if len(_STORY_WORDS.findall(_FROM_FIRST_DIGIT.sub(" ", text))) < _LEAST_WORDS:
        return False
    before = element.getprevious()
    return any(next(box.iter("img"), None) is not None for box in (element, before) if box is not None)


def dated_elements(tree: HtmlElement) -> list[HtmlElement]:
    """Return the elements whose class or id suggests a date, in page order, at most :data:`MAX_ELEMENTS`."""
    named = (
        element
        for element in tree.iter(etree.Element)
        if element.tag not in _NOT_DATED
        and (_DATED_CLASS(element.get("class", "")) or _DATED_ID(element.get("id", "")))
    )
    return list(islice(named, MAX_ELEMENTS))


def _stamped(element: HtmlElement, region: str | None) -> Written | None:
    """Return the machine-readable time of an element, or None."""
    return parse_stamp(stamp, region) if _STAMP.match(stamp := stamp_of(element)[:100]) else None


def near_headline(page: Page, region: str | None) -> Iterator[tuple[Written, float]]:
    """Yield the dates directly before and after the headline, each with its confidence."""
    for element in page.headlines[:4]:
        yield from _near(element, page, region)


def around_headline(page: Page) -> Iterator[str]:
    """Yield the short texts directly before and after the first headline."""
    for element in page.headlines[:1]:
        for around in beside(element):
            text = text_of(around, 400)
            if len(text) <= MAX_BESIDE and is_own(around, page):
                yield text


def _title_date(page: Page, region: str | None) -> Written | None:
    """Return the date in the last part of the page's title ("… | DW | 28.04.2023"), or None."""
    for title in (page.title_tag, page.meta("og:title")):
        last = _LAST_PART.search(title[-60:])
        written = find_date(last[1], region) if last is not None else None
        if written is not None:
            return written
    return None


def _dates_in_text(page: Page, region: str | None) -> Iterator[tuple[Written, float]]:
    """Yield dates in short lines and at the start of paragraphs, anywhere on the page.

    The second value is the confidence. It is lower before the headline and in side columns.
    """
    headline = next(iter(page.headlines), None)
    after, paragraphs, checked = headline is None, 0, 0
    found: list[tuple[HtmlElement, int, Written, float]] = []
    for element in islice(page.tree.iter(*_LINES), MAX_LOOKED_AT):
        after = after or element is headline
        # The text of the children is not read here, because the loop also visits the children.
        text = _own_text(element)
        paragraphs += after and len(text) > _SENTENCE
        own = _date_line(text)[:MAX_LINE]
        if (
            len(found) >= MAX_LINES
            or checked >= MAX_CHECKED
            or not has_digit(own)
            or compiled(_SAYS_OTHER).search(own)
            or _is_of_other(element, page)
            or _is_caption(element, own)
        ):
            continue
        written = find_date(own, region)
        checked += written is not None
        if written is not None and is_own(element, page):
            confidence = _worded(own, (0.3 if after else 0.24) - 0.001 * len(found))
            found.append((element, paragraphs, written, confidence))
    listed = _listed([element for element, *_ in found], page)
    for element, before, written, confidence in found:
        # Dates between paragraphs belong to the story, and those after other texts to other articles. A note
        # about the author may follow the date at the end.
        if element not in listed and (before < _HEAD or before >= paragraphs - 1):
            yield written, confidence


def _date_line(text: str) -> str:
    """Return a line, or the beginning of a sentence that is a date line: "OSLO, 3 May 2024 (NTB) – The …".

    A date inside a sentence is that of an event, so the result is empty for other sentences.
    """
    if not _is_sentence(text) or _NUMERIC.match(text):
        return text
    start = _DASH.search(text)
    return text[: start.start()] if start is not None and start.start() <= _LONGEST_PLACE else ""


def _is_sentence(text: str) -> bool:
    """True for a long line, and for a short line with a full stop and words of a story around its date."""
    if len(text) > _SENTENCE:
        return True
    if _FULL_STOP.search(text) is None or compiled("%(published)s").search(text):
        return False
    around = _FROM_FIRST_DIGIT.sub(" ", text)
    return len(_STORY_WORDS.findall(around)) >= _LEAST_WORDS or len(_CJK.findall(around)) >= _LEAST_SIGNS


_HEAD = 3
"""Number of paragraphs after the headline before which a date line can be that of the article."""
_SENTENCE = 90
"""Minimum number of characters of a line that is surely a sentence."""
_FULL_STOP = re.compile(r"[.!?…。！？।۔]\W*$|[。！？]")
_FROM_FIRST_DIGIT = re.compile(r"\d.*\d")
_STORY_WORDS = re.compile(r"(?<![^\W_])(?:[^\W\d_A-ZА-ЯÀ-Þ]|[\u0900-\u0dff]){3,}")
_LEAST_WORDS = 3
"""Minimum number of words in lower case around a date in a sentence: "The mill was built on 3 May 1998."."""
_LEAST_SIGNS = 5
"""Minimum number of Chinese, Japanese or Korean characters around a date in a sentence."""
_LONGEST_PLACE = 60
"""Maximum number of characters of a date line before the dash or bracket."""
_DASH = re.compile(r"\s[–—-]{1,2}\s|[(（—–]")
_NUMERIC = re.compile(r"\W{0,3}(?:\d{4}[./-]\d\d?[./-]\d\d?|\d\d?[./-]\d\d?[./-]\d{4})(?![\w./-])")


def _is_of_other(element: HtmlElement, page: Page) -> bool:
    """True for a date in a sentence, or beside a link to another article, a picture or the name of a fact."""
    before, box = element.getprevious(), element.getparent()
    if box is not None and element.tag in PHRASING and _is_sentence(_own_text(box)):
        return True
    if before is None or box is None or box in page.around_headline:
        return False
    if before.tag == "img":
        return True
    if before.tag == "a":
        return is_headline_link(before)
    text = text_of(before, 200)
    is_fact = before.tag in ("th", "dt")
    return is_fact and any(map(str.isalpha, text)) and not compiled(_SAYS_PUBLISHED).search(text)


def _dates_in_data(page: Page) -> Iterator[Written]:
    """Yield the publication time in the data of the page's scripts, if all of them have the same day."""
    found: list[Written] = []
    for script in page.tree.iter("script"):
        # JSON-LD is read elsewhere, where the node of the article is known.
        if "ld+json" in (script.get("type") or ""):
            continue
        for match in islice(_IN_DATA.finditer((script.text or "")[:MAX_SCRIPT]), MAX_LINES):
            written = parse_stamp(match[1])
            found += [written] if written is not None else []
    if len({written.local.date() for written in found}) == 1:
        yield found[0]


def _from_publication(text: str) -> str:
    """Return the part of a line with several dates that begins with "Published".

    Examples: "Updated … Published …", "Received … Accepted … Published …". A date after "Updated" is never
    that of the publication, even if no known word is before the other date. Other lines are returned
    unchanged.
    """
    label = compiled("%(published)s").search(text)
    if label is None or not has_digit(text[: label.start()]) or not has_digit(text, label.end()):
        return _after_update(text)
    return text[label.start() :] if find_date(text[label.end() : label.end() + 60]) is not None else text


def _after_update(text: str) -> str:
    """Return what follows the date of a change at the start of ``text``, if it has another date."""
    label = compiled("%(updated)s").search(text)
    if label is None or has_digit(text[: label.start()]):
        return text
    changed = find_date(text[label.end() :])
    for word in _WORD.finditer(text, label.end()) if changed is not None else ():
        other = find_date(text[word.start() :])
        if other is None or changed is None:
            return text
        if has_digit(text, label.end(), word.start()) and other.local != changed.local:
            return text[word.start() :]
    return text


_WORD = re.compile(r"[^\W\d_]{2,}")


def _own_text(element: HtmlElement) -> str:
    """Return the first characters of the text directly in an element, without the text of its children."""
    own = f"{element.text or ''} {' '.join(child.tail or '' for child in islice(element, 10))}"
    return " ".join(own[:1000].split())


def _relative_dates(page: Page, now: datetime, zone: tzinfo) -> Iterator[tuple[Written, float]]:
    """Yield times such as "yesterday, 14:05", each with its confidence.

    Times near the headline come first, then times in elements named after dates. ``now`` is the time of the
    download, and ``zone`` is the time zone of the site.
    """
    for headline in page.headlines[:1]:
        for element in beside(headline):
            written = relative_moment(text_of(element, MAX_RELATIVE + 1), now, zone)
            if written is not None and is_own(element, page):
                yield written, 0.4
    for element in dated_elements(page.tree):
        text = text_of(element, MAX_RELATIVE + 1)
        written = relative_moment(text, now, zone)
        if written is not None and is_own(element, page) and not compiled(_SAYS_OTHER).search(text):
            yield written, 0.35


def _near(headline: HtmlElement, page: Page, region: str | None) -> Iterator[tuple[Written, float]]:
    """Yield dates in the texts directly before and after the headline, each with its confidence."""
    for index, element in enumerate(beside(headline)):
        text = text_of(element, 400)[:250]
        if not compiled("%(published)s").search(text):
            text = "" if _is_caption(element, text) else _without_story(element, text)
        # In a long text, dates after the start belong to the story.
        written = _shown(_from_publication(text) if len(text) <= 120 else text[:MAX_LINE], region)
        if written is not None and is_own(element, page):
            long = 0.08 if len(text) > 120 else 0.0
            yield written, _worded(text, 0.56 - 0.01 * index - long)


def _without_story(element: HtmlElement, text: str) -> str:
    """Return the ``text`` of an element beside the headline, or the part of it that may be a date line.

    The result is empty if the element is a list, a picture or a teaser, or begins with the text of the story.
    """
    if _has_other(element):
        return ""
    if _is_sentence(_own_text(element)):
        return _date_line(text)
    first = next(element.iter("p", "figure", "blockquote"), element)
    line = text_of(first, 400)[:250]
    if first is element or not line or not text.startswith(line[:_SAME]):
        return text
    if first.tag != "p":
        return ""
    return _date_line(line) if _is_sentence(line) else text


_SAME = 20
"""Number of characters at the start of a box that show that it begins with its first paragraph or picture."""


def _has_other(element: HtmlElement) -> bool:
    """True for a list of facts, a picture with its caption, or a link to another article."""
    if element.tag in ("dl", "table", "figure") or element.find("img") is not None:
        return True
    return any(map(is_headline_link, islice(element.iter("a"), 5)))


def beside(headline: HtmlElement) -> list[HtmlElement]:
    """Return the elements directly before and after the headline."""
    # The date line is beside the headline, or beside the box that contains the headline.
    around = [*islice(headline.itersiblings(preceding=True), 3), *islice(headline.itersiblings(), 4)]
    parent = headline.getparent()
    if parent is not None:
        around += [*islice(parent.itersiblings(preceding=True), 1), *islice(parent.itersiblings(), 3)]
    return [element for element in around if isinstance(element.tag, str)]


def _confidence(element: HtmlElement, text: str, index: int) -> float:
    """Return the confidence of the date in the ``index``-th element that is named after dates."""
    named = bool(_STRONG.search(f"{element.get('class')} {element.get('id')}"))
    score = (0.5 if named else 0.44) - 0.001 * index - (0.05 if len(text) > 80 else 0.0)
    return _worded(text, score)


def _worded(text: str, score: float) -> float:
    """Return ``score`` raised or lowered for words such as "published" and "updated" in ``text``."""
    if compiled(_SAYS_OTHER).search(text):
        return score - 0.1
    return score + (0.04 if compiled(_SAYS_PUBLISHED).search(text) else 0.0)
