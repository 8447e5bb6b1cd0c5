"""Decides whether a page is an article, and states a reason if it is not.

The decision has three steps. A page that shows only a message of the site (an error, a login, a question
about cookies) or hardly any text is refused. A page that the site announces as news, that matches an article
pattern of the rule, or that a person asked for is then accepted, unless it is a list. Every other page is
accepted if its evidence (:func:`measure`) and its likeness to the site's articles
reach the value that its :class:`Standing` requires.

The reasons are short strings that do not change, such as ``too_short``. A hint is the link that led to the
page.

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
from enum import IntEnum
from functools import cache
from importlib import resources
from itertools import pairwise
from typing import Any, Final
from urllib.parse import unquote, urlsplit

import numpy as np
from lxml.html import HtmlElement
from numpy.typing import NDArray

from newsbot.items import Kind, Link, Where
from newsbot.pages.extraction.body.features import Known, Marks, View
from newsbot.pages.extraction.body.pieces import REGIONS, cut
from newsbot.pages.extraction.body.text import Body
from newsbot.pages.extraction.fields import GENERIC, TIME_TAG, URL, VISIBLE
from newsbot.pages.extraction.fields.titles import site_names
from newsbot.pages.extraction.page import Page, types_of
from newsbot.pages.extraction.visible import text_of, xpath
from newsbot.pages.rules.rule import Rule, classify
from newsbot.pages.text.languages import compiled
from newsbot.pages.text.words import is_unspaced, key, size, tokens
from newsbot.urls import host_key, resolve, site_of

# --- evidence
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
    inside = np.array(view.pieces.tree.regions)[view.box] & region > 0
    return float(view.prose[inside].sum()) / max(1.0, float(view.prose.sum()))


def _short_lines(view: View, pattern: re.Pattern[str]) -> int:
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


class Standing(IntEnum):
    """What is known of a page before it is read."""

    OTHER = -1
    """The page shows nothing of the headline under which the site announced it."""
    ALONE = 0
    """Nothing is known, for example because the page comes from a file."""
    SAMPLE = 1
    """A link led to the page, and no page with a URL of this form is known to be an article."""
    MEMBER = 2
    """Pages with URLs of this form are articles."""
    NAMED = 3
    """The site announces the page as news, an article pattern of the rule matches, or a person asked for
    it."""


# --- the verdict
FIRST_SAMPLE = 1.3
"""Minimum log-odds of a sample on a site of which no article is known. There is nothing to compare it
with."""
REQUIRED = {Standing.OTHER: 3.0, Standing.ALONE: 0.0, Standing.SAMPLE: 3.2, Standing.MEMBER: -1.0}
"""Minimum log-odds. Four of five pages that are not articles and reach 0 do not reach 3
(``python -m benchmarks.verdict``). Consent pages reach at most 1.7."""
SHORT_NAMED, SHORT = 60, 110
"""Minimum length of the text, in letters, of pages that are named as articles, and of other pages."""
LONG = 1200
"""A text of at least this length, in letters, cannot be an error message or a login page."""
_LEAST_STEMS, _SHOWN = 3, 0.34
"""Minimum number of long words of a headline that is looked for, and the share of them that the text of an
article exceeds."""
_SYLLABLES = re.compile("[\uac00-\ud7af]")
LIST_HEADLINES = 10
"""Minimum number of linked headlines on a list."""
_PROSE = 3
"""Minimum number of paragraphs of an article that has more linked headlines around it."""
_PASSWORD = xpath("//input[@type='password']")
# e.g. "0; url=/new"
_AT_ONCE = re.compile(r"\s{0,9}[0-5]\s{0,9}[;,]\s{0,9}url", re.IGNORECASE)
# XPath 1.0 cannot ignore case, so translate() converts the letters of "Refresh" to lower case.
_REFRESH = xpath("//meta[translate(@http-equiv,'REFSH','refsh')='refresh']")


def announced(hint: Link | None) -> bool:
    """True if the site announced the page as news, in a feed, a news sitemap or a push notification."""
    return hint is not None and hint.where in (Where.FEED, Where.NEWS_SITEMAP, Where.PUSH)


def standing_of(page: Page, body: Body, rule: Rule | None, hint: Link | None, given: Standing) -> Standing:
    """Return ``given``, or :attr:`Standing.NAMED` if the hint or an article pattern of the rule names the
    page, or :attr:`Standing.OTHER` if the page is not the one that the hint names."""
    # The text of a link on a page may be any text, such as "Continue reading this article".
    if hint is not None and announced(hint) and not shows(page, body, hint.text):
        return Standing.OTHER
    named = announced(hint) or (rule is not None and classify(rule, page.url).kind is Kind.ARTICLE)
    return Standing.NAMED if named else given


def shows(page: Page, body: Body, headline: str | None) -> bool:
    """True if the visible text of the page has some words of a headline, or if the headline is short.

    On 704 real pages, 5 % of the texts had at most a third of the long words of their headline; most of these
    pages have the headline itself as a heading. Of the texts of other articles, 95 % have no more.
    """
    wanted = _stems(headline or "")
    if len(wanted) < _LEAST_STEMS:
        return True
    shown = " ".join(tokens("\n".join((*page.headings, body.text))))
    return sum(stem in shown for stem in wanted) > _SHOWN * len(wanted)


def _stems(headline: str) -> set[str]:
    """Return the beginnings of the long words of a headline. In scripts without spaces, these are pairs of
    characters."""
    found, words = set(), tokens(headline)
    for word, following in pairwise([*words, ""]):
        if is_unspaced(word):
            found.add(f"{word} {following}")
        elif len(word) >= (least := 2 if _SYLLABLES.match(word) else 5):
            found.add(word[:least])
    return found


# A byte order mark, an XML declaration and a comment may precede the root element. JSON is an object with a
# name ({"), or a list of objects or strings.
_NO_PAGE = re.compile(
    rb"(?:\xef\xbb\xbf)?\s{0,200}(?:<\?xml[^>]{0,200}>\s{0,200})?(?:<!--[^>]{0,500}-->\s{0,200})?"
    rb"(?:<(?:rss|feed|urlset|sitemapindex|rdf:RDF)\b|\{\s{0,200}\"|\[\s{0,200}[{\"])"
)


def is_no_page(html: bytes) -> bool:
    """True if the bytes begin like a feed, a sitemap or JSON."""
    return _NO_PAGE.match(html) is not None


def refuse_page(page: Page, body: Body, hint: Link | None) -> str | None:
    """Return a reason if the page shows only a message of the site, else None.

    Such pages are redirects, challenges for robots, errors, consent questions and logins. ``body`` is the
    text found on the page.
    """
    text, length = body.text, size(body.text)
    if length < 600 and _is_stub(page):
        return "redirect_stub"
    # A page with a long text, or with an article in its structured data, shows more than a message.
    if length >= LONG or page.article is not None:
        return None
    heading = page.headings[0] if page.headings else ""
    if length < 800 and any(map(is_challenge, (page.title_tag, heading, text[:200]))):
        return "blocked"
    # A feed does not list error pages. So if the text is not short, it is news about an error.
    if any(map(is_error, (page.title_tag, heading))) and not (announced(hint) and length > 400):
        return "error_page"
    return _asks_reader(page, body, length, hint, heading)


def _asks_reader(page: Page, body: Body, length: int, hint: Link | None, heading: str) -> str | None:
    """Return the reason if the page only asks the reader for consent or a login, else None."""
    # Error pages may have the metadata of the site's template. So metadata that declare an article count only
    # here.
    if calls_itself_article(page):
        return None
    # News about consent has the headline that the site announced; a consent page in its place has not.
    if not (announced(hint) and _has_headline(page, hint)) and asks_consent(body.text):
        return "consent"
    # Many sites have a login form in the frame of each article. So a page that a feed lists is not refused
    # because of a password field alone, and neither is a page with a headline or with prose.
    shows_more = announced(hint) or is_headed(page) or paragraphs(body) > 0
    wanted = is_login(f"{page.title_tag} {heading}") or not shows_more
    return "login" if length < 500 and wanted and _PASSWORD(page.tree) else None


def _has_headline(page: Page, hint: Link | None) -> bool:
    """True if the headline of the link is on the page."""
    headline = key((hint and hint.text) or "")
    return bool(headline) and any(headline in key(one) for one in (page.title_tag, *page.headings))


def refuse_text(page: Page, body: Body, standing: Standing) -> str | None:
    """Return the reason if there is hardly any text, or if a page that is named as an article is a list."""
    length = size(body.text)
    if not length:
        return "no_text"
    if length < (SHORT_NAMED if standing is Standing.NAMED else SHORT):
        return "too_short"
    return "section_front" if standing is Standing.NAMED and is_list(page, body) else None


def refuse_evidence(
    page: Page,
    body: Body,
    evidence: Evidence,
    standing: Standing,
    witnesses: Witnesses | None,
) -> str | None:
    """Return the reason if a page that nobody names as an article has too little evidence of being one."""
    if standing is Standing.NAMED:
        return None
    # The head of a consent page may be that of the article, and the page then shows nothing of its own title.
    has_metadata = calls_itself_article(page) or page.article is not None
    if (
        standing is Standing.OTHER
        and has_metadata
        and not shows(page, body, page.meta("og:title") or page.title_tag)
    ):
        return "other_text"
    if heads_to(page, body) is not None:
        return "section_front"
    odds = evidence.odds + (witnesses.agreement(evidence) if witnesses is not None else 0.0)
    is_first = standing is Standing.SAMPLE and (witnesses is None or not witnesses.number)
    if odds >= (FIRST_SAMPLE if is_first else REQUIRED[standing]):
        return None
    if is_list(page, body):
        return "section_front"
    return "other_text" if standing is Standing.OTHER else "no_evidence"


def is_list(page: Page, body: Body) -> bool:
    """True for a page that shows many linked headlines and little prose in one place.

    Articles link to other articles too. But their prose is in one box, while each teaser of a list is in its
    own. A page whose title is its heading, with a paragraph of prose, is not a list.
    """
    if page.has_own_article or (is_headed(page) and paragraphs(body)):
        return False
    view = view_of(page, body)
    number = paragraphs(body)
    if not view.count or headline_links(view) < max(LIST_HEADLINES, 2 * number):
        return False
    # The headlines around an article may be more than its paragraphs, but there are few among them.
    if number >= _PROSE and headline_links(view, span_of(view, body)) < number:
        return False
    prose, share = concentration(view, size(body.text))
    return share < 0.15 or prose < 150


_HEADINGS = ("h1", "h2", "h3", "h4")
_NEAR = 8
"""Maximum number of pieces of text from a headline to the text below it.

In 39 of 42 lists there are at most 6. The name of the site is further away."""


def heads_to(page: Page, body: Body) -> str | None:
    """Return the URL of another page of the site to which the headline of the text links, or None.

    Lists show whole texts or beginnings of them below such headlines, also if they show only one. The
    headline of an article may link to the article itself. A page whose title or metadata are those of an
    article is none of these lists.
    """
    if page.has_own_article or page.meta("article:published_time") or is_headed(page):
        return None
    first = next((block.text for block in body.blocks if block.kind != "heading"), None)
    texts, boxes, kinds = (pieces := view_of(page, body).pieces).texts, pieces.boxes, pieces.tree.kinds
    if first is None or first not in texts:
        return None
    begin = texts.index(first)
    above = [
        place
        for place in range(max(0, begin - _NEAR), begin)
        if kinds[boxes[place]].rpartition("/")[2].partition(".")[0] in _HEADINGS
    ]
    if not above or key(texts[above[-1]]) in key(page.title_tag):
        return None
    # A short heading may be the name of a section or an author, below the headline of the article.
    linked = [place for place in above if pieces.linked[place] >= len(texts[place])]
    is_headed_by_link = above[-1] in linked if is_headline(texts[above[-1]]) else linked == above
    return _other_page(page, texts[above[-1]]) if is_headed_by_link else None


def _other_page(page: Page, headline: str) -> str | None:
    """Return the URL to which a headline links; None if it leads to this page or to another site."""
    own = {_address(url) for url in (page.url, *page.links.get("canonical", ())) if url}
    for heading in page.tree.iter(*_HEADINGS):
        if text_of(heading) == headline:
            link = next(heading.iter("a"), None)
            around = heading.getparent() if link is None else None
            link = around if around is not None and around.tag == "a" else link
            url = None if link is None else resolve(page.url, link.get("href") or "")
            if url is None or site_of(host_key(url)) != site_of(page.host):
                return None
            return None if _address(url) in own or not urlsplit(url).path.strip("/") else url
    return None


def _address(url: str) -> str:
    """Return what remains of a URL if its scheme, ``www.``, query and last slash do not matter."""
    parts = urlsplit(unquote(url))
    return f"{(parts.hostname or '').removeprefix('www.')}{parts.path.rstrip('/')}"


def _is_stub(page: Page) -> bool:
    """True if the page redirects the reader within five seconds (``<meta http-equiv=refresh>``)."""
    return any(_AT_ONCE.match(element.get("content") or "") for element in _REFRESH(page.tree)[:3])


# --- pages with a message of the site: errors, bot challenges, logins and cookie consent

_ERROR = (
    r"^\W*(?:%(error)s\W*)?(?:40[0134]|410|50[0234])\b.{0,40}$|%(error)s\W{1,3}[45]\d\d\b|^%(error)s\W*$|"
    r"%(errors)s"
)
_LEAST_CONSENT = 5
"""Minimum number of words about consent (such as "cookies") in a text that only asks for consent."""
_CONSENT_SHARE = 120
"""Maximum number of letters per word about consent in such a text."""
_PARTS = re.compile(r"\s[|–—:-]\s")
_LONG = 1500
"""Maximum length of a text that only asks for consent, in letters."""


def is_error(title: str) -> bool:
    """True if a part of a title consists mostly of an error message."""
    for part in _PARTS.split(title):
        match = compiled(_ERROR).search(part)
        # The message must be at least half of the part, because "Site admits: 'page not found' cost us
        # millions" is a headline.
        if match is not None and (match.end() - match.start()) * 2 >= len(part.strip()):
            return True
    return False


def is_challenge(text: str) -> bool:
    """True for the text of a page that checks whether the visitor is a robot."""
    return compiled("%(challenges)s").search(text) is not None


def is_login(text: str) -> bool:
    """True for a heading that asks the reader to sign in."""
    return compiled("%(logins)s").search(text) is not None


def asks_consent(text: str) -> bool:
    """True for a text that only asks for consent to cookies. News articles about cookies are longer."""
    length = size(text)
    if length > _LONG:
        return False
    found = len(compiled("%(consent)s").findall(text))
    return found >= _LEAST_CONSENT and found * _CONSENT_SHARE >= length
