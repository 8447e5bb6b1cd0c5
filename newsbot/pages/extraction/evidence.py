"""Measures the evidence that a page is an article.

:func:`measure` reads only the page: its prose, its own date, its metadata, its heading, and the place of its
text. It does not read the page's URL, and it knows no words of any language. The weights of the features are
a logistic regression; ``python -m training.evidence`` computes them.

:class:`Witnesses` describes how the articles of one site look. Witnesses are pages that the site announces as
news, or whose own evidence is strong. A page is then compared with them: it counts for a page if it has what
all witnesses have (such as metadata of an article, or the same *layout*, which is the path of the box that
holds the text), and it counts against a page if it lacks this.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any, Final

import numpy as np
from lxml.html import HtmlElement
from numpy.typing import NDArray

from newsbot.pages.extraction.body.features import Known, Marks, View
from newsbot.pages.extraction.body.pieces import REGIONS, cut
from newsbot.pages.extraction.body.text import Body
from newsbot.pages.extraction.fields import GENERIC, TIME_TAG, URL, VISIBLE
from newsbot.pages.extraction.fields.titles import site_names
from newsbot.pages.extraction.page.jsonld import types_of
from newsbot.pages.extraction.page.page import Page
from newsbot.pages.extraction.strings import key, size
from newsbot.urls import resolve

LONG_PARAGRAPH = 100
"""Minimum number of characters of a paragraph that counts as prose of an article."""
_BESIDE = 15
"""Maximum number of letters outside the link in a line that is a linked headline."""
MANY_WORDS, LONG_HEADLINE = 4, 25
"""A heading with at least this number of words or letters counts as a headline, and not as a name."""
_LEAST_PROSE, _LONG_PROSE = 25, 300
"""Letters (minus twice the letters in links) from which a piece counts, and from which it counts for its own
box."""
_FRAME = sum(1 << REGIONS.index(name) for name in ("nav", "footer", "aside"))
_IN_FORM = 1 << REGIONS.index("form")
_SENTENCE_END = re.compile(r"[.!?…。！？»”\"')]\s*$")
_PRICE = re.compile(r"[$€£¥₹₽₴₺₩]\s?\d|\d\s?(?:[$€£¥₹₽₴₺₩]|(?:USD|EUR|GBP|CHF|zł|kr|Kč|Ft|lei|лв|руб|грн)\b)")
_SHORT_LINE = 40
_YEAR_OR_CLOCK = re.compile(r"\b\d{1,2}[:.]\d\d\b|\b(?:19|20)\d\d\b")
_COUNTED = ("pre", "code", "article", "button", "input", "select", "textarea", "img")
_TYPES = {
    # types of schema.org, in JSON-LD and microdata
    "news": re.compile(
        r"(?:NewsArticle|ReportageNewsArticle|AnalysisNewsArticle|OpinionNewsArticle|LiveBlogPosting)$"
    ),
    "forum": re.compile(r"(?:DiscussionForumPosting|QAPage|Question|Answer)$"),
    "product": re.compile(
        r"(?:Product|ProductGroup|Offer|AggregateOffer|Service|JobPosting|Event|Course|LocalBusiness)$"
    ),
    "list": re.compile(r"(?:CollectionPage|SearchResultsPage|ProfilePage|ContactPage|AboutPage|ItemList)$"),
}
_FRONT_NAME = re.compile(r"(?:index-?\d{0,3}\.(?:html?|php)|home)?", re.IGNORECASE)
_MOST_TYPED = 300
_MANUALS = re.compile(
    "asciidoc|docbook|docutils|doxygen|gitbook|hevea|javadoc|latex2html|makeinfo|rustdoc|sphinx|tex4ht|texi2|"
    "docusaurus|mkdocs|vitepress|vuepress|antora|mediawiki|dokuwiki",
    re.IGNORECASE,
)
"""Generators of manuals and wikis, in ``<meta name=generator>``. Some of them also make blogs."""
_FORUMS = re.compile(
    "discourse|phpbb|vbulletin|xenforo|mybb|invision|flarum|nodebb|misago|discuz", re.IGNORECASE
)

ARTICLE, DATED, DATE_IN_METADATA, BYLINE, LAYOUT = "metadata", "date", "date_in_metadata", "byline", "layout"
MONTH_FIRST, DAY_FIRST = "month_first", "day_first"
"""Marks that are no evidence. They show the order in which the site writes dates."""
MARKS: Final = (ARTICLE, DATED, DATE_IN_METADATA, BYLINE)
"""What articles of a site have in common, besides their layout."""
_AMONG_OTHERS: Final[Mapping[str, float]] = {
    ARTICLE: 0.25, DATED: 0.5, DATE_IN_METADATA: 0.2, BYLINE: 0.3, LAYOUT: 0.2,
}  # fmt: skip
"""The share of pages that are not articles and have a mark (``python -m benchmarks.verdict``)."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a page shows of being an article."""

    odds: float
    """Log-odds that the page is an article, from the page alone."""
    marks: frozenset[str] = frozenset()
    layout: tuple[str, ...] = ()
    """The innermost elements around the text, outermost first: tag and words of class and id."""

    @property
    def missing(self) -> tuple[str, ...]:
        """The marks that the page does not have, in the order of :data:`MARKS`."""
        return tuple(mark for mark in MARKS if mark not in self.marks)


def measure(
    page: Page, body: Body, *, date: str | None, byline: bool, month_first: bool | None = None
) -> Evidence:
    """Return the evidence of a page.

    ``date`` is the source of the page's date (:mod:`newsbot.pages.extraction.fields`), or None. A
    date that only the URL has is no date of the page. ``byline`` is True if the page names its authors.
    ``month_first`` is the order of day and month in the page's date; None if it is unknown.
    """
    date = None if date == URL else date
    values = features(page, body, date=date, byline=byline)
    of = weights()
    odds = of[""] + sum(of.get(name, 0.0) * value for name, value in values.items())
    marks = {
        ARTICLE: page.article is not None or calls_itself_article(page),
        DATED: date is not None,
        DATE_IN_METADATA: date is not None and date not in (VISIBLE, TIME_TAG, GENERIC),
        BYLINE: byline,
        MONTH_FIRST: month_first is True,
        DAY_FIRST: month_first is False,
    }
    return Evidence(odds, frozenset(name for name, has in marks.items() if has), layout_of(page, body))


@cache
def weights() -> Mapping[str, float]:
    """Return the weight of each feature, and the constant under the name ''."""
    text = resources.files("newsbot.pages.extraction").joinpath("evidence.json").read_text(encoding="utf-8")
    found: dict[str, float] = json.loads(text)
    return found


def features(page: Page, body: Body, *, date: str | None, byline: bool) -> dict[str, float]:
    """Return the features of a page by name. Counts and lengths are logarithms."""
    view, text = view_of(page, body), body.text
    length = size(text)
    letters = max(1, sum(len(block.text) for block in body.blocks))
    prose, share = concentration(view, length)
    types = _types(page)
    tags = Counter(element.tag for element in page.tree.iter(*_COUNTED))
    heading = page.headings[0] if page.headings else ""
    shared = page.meta("og:type").lower()
    of_kind = Counter[str]()
    for block in body.blocks:
        of_kind[block.kind] += len(block.text)
    return {
        "own_article": page.has_own_article,
        "other_article": page.article is not None and not page.has_own_article,
        "news_type": types["news"],
        "forum_type": types["forum"],
        "product_type": types["product"],
        "list_type": types["list"],
        "og_article": "article" in shared,
        "og_website": shared == "website",
        "og_product": shared.startswith("product"),
        "published_time": bool(page.meta("article:published_time")),
        "microdata": bool(page.items),
        "no_date": date is None,
        "visible_date": date in (VISIBLE, TIME_TAG),
        "byline": byline,
        "generator": _is_manual_or_forum(page, date, byline=byline),
        "manual": _is_in_manual(page),
        "tags": bool(page.meta("article:tag", "article:section", "news_keywords")),
        "picture": bool(page.meta("og:image")),
        "feed": "alternate" in page.links,
        "amp": "amphtml" in page.links,
        "log_length": math.log(length + 50),
        "short": length < 600,
        "log_prose": math.log(prose + 50),
        "concentration": min(share, 1.5),
        "share_of_page": min(1.0, length / max(1.0, float(view.length.sum()))) if view.count else 0.0,
        "linked": float(view.linked.sum()) / max(1.0, float(view.length.sum())) if view.count else 0.0,
        "headlines": math.log1p(headline_links(view)),
        "paragraphs": math.log1p(paragraphs(body)),
        "headings": of_kind["heading"] / letters,
        "items": of_kind["item"] / letters,
        "cells": of_kind["cell"] / letters,
        "headed": is_headed(page),
        "headed_as_shared": _is_headed_as_shared(page),
        "no_heading": not heading,
        "heading_words": min(12, len(heading.split())),
        "code": math.log1p(tags["pre"] + tags["code"]),
        "buttons": math.log1p(tags["button"]),
        "controls": math.log1p(tags["input"] + tags["select"] + tags["textarea"]),
        "pictures": math.log1p(tags["img"]),
        "teasers": math.log1p(tags["article"]),
        "prices": math.log1p(_short_lines(view, _PRICE)),
        "dates": math.log1p(_short_lines(view, _YEAR_OR_CLOCK)),
        "in_form": _share_in(view, _IN_FORM),
    }


def layout_of(page: Page, body: Body, most: int = 4) -> tuple[str, ...]:
    """Return the innermost ``most`` elements around the page's text."""
    view = view_of(page, body)
    if not view.count:
        return ()
    box = int(np.argmax(_worth(view)))
    return tuple(view.pieces.tree.kinds[box].split("/")[-most:])


def view_of(page: Page, body: Body) -> View:
    """Return the pieces of the page. They are cut here if a rule selected the text."""
    return body.view or View(cut(page.tree), Known())


def headline_links(view: View, span: slice = slice(None)) -> int:
    """Return the number of different lines that are links and look like headlines.

    ``span`` selects the pieces of the page that are read.
    """
    beside = (view.length - view.linked)[span]
    return len(
        {
            text
            for text, rest in zip(view.pieces.texts[span], beside.tolist(), strict=True)
            if rest <= _BESIDE and len(text) >= LONG_HEADLINE and len(text.split()) >= MANY_WORDS
        }
    )


def span_of(view: View, body: Body) -> slice:
    """Return the pieces of the page from the first to the last paragraph of the text."""
    known = {block.text for block in body.blocks if len(block.text) >= LONG_PARAGRAPH}
    places = [place for place, text in enumerate(view.pieces.texts) if text in known]
    return slice(places[0], places[-1]) if places else slice(0)


def paragraphs(body: Body) -> int:
    """Return the number of long paragraphs that end like sentences."""
    return sum(
        len(block.text) >= LONG_PARAGRAPH and _SENTENCE_END.search(block.text) is not None
        for block in body.blocks
    )


def concentration(view: View, length: int) -> tuple[float, float]:
    """Return the number of letters of prose in the box with the most prose, and their share of ``length``.

    ``length`` is the length of the page's text in letters. The paragraphs of an article are siblings, so the
    share is high. Each teaser of a front page is in its own box, so the share is low.
    """
    if not view.count:
        return 0.0, 0.0
    most = float(_worth(view).max())
    return most, most / max(length, 1)


def _worth(view: View) -> NDArray[np.float64]:
    """Return the prose in each box: the letters that are not in links, without frames of the site."""
    frame = _in_frame(view)
    own = np.bincount(view.box, np.where(frame, 0, view.length), len(view.parent))
    worth = own - 2 * np.bincount(view.box, np.where(frame, 0, view.linked), len(view.parent))
    worth = np.where(worth >= _LEAST_PROSE, worth, 0)
    # The second term is for paragraphs that are separated by <br>, which are all in one box.
    sums = np.bincount(view.parent, worth, len(view.parent)) + np.where(own > _LONG_PROSE, worth, 0)
    return sums.astype(np.float64)


def _in_frame(view: View) -> Marks:
    """True for pieces in footers, menus and side columns."""
    return np.array(view.pieces.tree.regions)[view.box] & _FRAME > 0


def _share_in(view: View, region: int) -> float:
    if not view.count:
        return 0.0
    inside = np.array(view.pieces.tree.regions)[view.box] & region > 0
    return float(view.prose[inside].sum()) / max(1.0, float(view.prose.sum()))


def _short_lines(view: View, pattern: re.Pattern[str]) -> int:
    if not view.count:
        return 0
    short = np.flatnonzero(~_in_frame(view) & (view.length <= _SHORT_LINE)).tolist()
    return sum(pattern.search(view.pieces.texts[place]) is not None for place in short)


def _types(page: Page) -> dict[str, bool]:
    said = {name for node in page.nodes.whole() for name in types_of(node)}
    said |= {(one.get("itemtype") or "").rpartition("/")[2] for one in _typed(page)}
    return {kind: any(map(pattern.search, said)) for kind, pattern in _TYPES.items()}


def _typed(page: Page) -> list[HtmlElement]:
    return [one for one in page.marked if one.get("itemtype") is not None][:_MOST_TYPED]


def calls_itself_article(page: Page) -> bool:
    """True if Open Graph metadata declare an article."""
    return "article" in page.meta("og:type").lower() or bool(page.meta("article:published_time"))


def _is_manual_or_forum(page: Page, date: str | None, *, byline: bool) -> bool:
    """True if the page was made by a program for forums, or by one for manuals and is no post of a blog."""
    generator = " ".join(page.meta_all("generator"))
    is_post = date is not None and (byline or date != VISIBLE)
    return bool(_FORUMS.search(generator)) or (not is_post and bool(_MANUALS.search(generator)))


def _is_in_manual(page: Page) -> bool:
    """True if the page's head links to a parent page, or to an index of words.

    Some blogs link to their home page as the index. Such a link does not count.
    """
    indexes = (resolve(page.url, link) for link in page.links.get("index", ()))
    return "up" in page.links or any(
        not page.url.startswith(url.rstrip("/")) and not _FRONT_NAME.fullmatch(url.rpartition("/")[2])
        for url in indexes
        if url is not None
    )


def is_headline(text: str) -> bool:
    """True if a heading is a headline and not a name.

    Three Chinese or Japanese characters count as a word.
    """
    words = max(len(text.split()), (size(text) - len(text)) // 6)
    return size(text) >= LONG_HEADLINE and words >= MANY_WORDS


def is_headed(page: Page) -> bool:
    """True if the page's title begins with its first heading, and this heading is a headline and not a
    name."""
    heading = page.headings[0] if page.headings else ""
    if not is_headline(heading):
        return False
    words = key(heading)
    return key(page.title_tag).startswith(words) and words not in map(key, site_names(page))


def _is_headed_as_shared(page: Page) -> bool:
    """True if a headline on the page equals the title for shared links (``og:title``)."""
    shared = key(page.meta("og:title"))
    return any(is_headline(heading) and key(heading) == shared for heading in page.headings)


# --- the articles of one site

MAX_LAYOUTS = 10
"""Maximum number of layouts of a site that are kept."""
_MOST_SEEN = 200
"""From this number of witnesses on, older witnesses count less, so that a new design of the site is
learned."""
_STRONGEST = 5.0
"""Maximum absolute value of :meth:`Witnesses.agreement`."""


@dataclass(slots=True)
class Witnesses:
    """How the articles of one site look: counts over its witnesses."""

    number: float = 0.0
    marks: Counter[str] = field(default_factory=Counter)
    layouts: dict[str, float] = field(default_factory=dict)
    """Layout (elements joined by ``/``) -> number of witnesses."""

    def add(self, evidence: Evidence) -> None:
        """Count a witness."""
        if self.number >= _MOST_SEEN:
            for counts in (self.marks, self.layouts):
                for name in counts:
                    counts[name] /= 2  # type: ignore[assignment]
            self.number /= 2
        self.number += 1
        self.marks.update(evidence.marks)
        if evidence.layout:
            layout = "/".join(evidence.layout)
            self.layouts[layout] = self.layouts.get(layout, 0.0) + 1
            if len(self.layouts) > MAX_LAYOUTS:
                del self.layouts[min(self.layouts, key=lambda one: (self.layouts[one], one != layout))]

    @property
    def month_first(self) -> bool | None:
        """The order of day and month in the dates of the site: True if the month is first.

        None if no date shows the order, or if both orders occur.
        """
        month, day = self.marks[MONTH_FIRST] > 0, self.marks[DAY_FIRST] > 0
        return month if month != day else None

    def agreement(self, evidence: Evidence) -> float:
        """Return the log-odds that the page is an article of this site, from its likeness to the witnesses.

        Each mark counts as in naive Bayes: its share among the witnesses against its share among other pages.
        Returns 0 if there are no witnesses.
        """
        if not self.number:
            return 0.0
        odds = sum(self._odds(mark, self.marks[mark], mark in evidence.marks) for mark in MARKS)
        odds += self._odds(LAYOUT, self.number, self._has_layout(evidence.layout))
        return max(-_STRONGEST, min(_STRONGEST, odds))

    def lacking(self, evidence: Evidence) -> list[str]:
        """Return what nearly all witnesses have and the page has not."""
        usual = [mark for mark in MARKS if self.number and self.marks[mark] >= 0.8 * self.number]
        found = [mark for mark in usual if mark not in evidence.marks]
        return found if not self.number or self._has_layout(evidence.layout) else [*found, LAYOUT]

    def _odds(self, mark: str, count: float, has: bool) -> float:
        share = (count + 0.5) / (self.number + 1.0)
        other = _AMONG_OTHERS[mark]
        return math.log(share / other if has else (1.0 - share) / (1.0 - other))

    def _has_layout(self, layout: tuple[str, ...]) -> bool:
        """True if at least half of the innermost elements agree with a layout of the witnesses."""
        return any(2 * _common(layout, tuple(one.split("/"))) >= max(1, len(layout)) for one in self.layouts)

    def plain(self) -> dict[str, Any]:
        """Return the counts as a JSON-serializable mapping."""
        return {"number": self.number, "marks": dict(self.marks), "layouts": self.layouts}

    @classmethod
    def read(cls, plain: Mapping[str, Any]) -> Witnesses:
        """Return the witnesses of a mapping made by :meth:`plain`. Raises ``ValueError`` for other values."""
        try:
            return cls(
                float(plain.get("number", 0.0)),
                Counter({str(name): value + 0.0 for name, value in dict(plain.get("marks", {})).items()}),
                {str(name): float(value) for name, value in dict(plain.get("layouts", {})).items()},
            )
        except TypeError as error:
            raise ValueError(f"damaged witnesses: {error}") from error


def _common(one: tuple[str, ...], other: tuple[str, ...]) -> int:
    """Return the number of elements that agree, counted from the innermost element."""
    return sum(mine == theirs for mine, theirs in zip(reversed(one), reversed(other), strict=False))
