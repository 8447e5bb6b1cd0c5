"""Decides whether a page is an article, and states a reason if it is not.

The decision has three steps. A page that shows only a message of the site (an error, a login, a question
about cookies) or hardly any text is refused. A page that the site announces as news, that matches an article
pattern of the rule, or that a person asked for is then accepted, unless it is a list. Every other page is
accepted if its evidence (:mod:`newsbot.pages.extraction.evidence`) and its likeness to the site's articles
reach the value that its :class:`Standing` requires.

The reasons are short strings that do not change, such as ``too_short``. A hint is the link that led to the
page.
"""

from __future__ import annotations

import re
from enum import IntEnum
from itertools import pairwise
from urllib.parse import unquote, urlsplit

from newsbot.items import Kind, Link, Where
from newsbot.pages.extraction.body.text import Body
from newsbot.pages.extraction.evidence import (
    Evidence,
    Witnesses,
    calls_itself_article,
    concentration,
    headline_links,
    is_headed,
    is_headline,
    paragraphs,
    span_of,
    view_of,
)
from newsbot.pages.extraction.page.page import Page, text_of, xpath
from newsbot.pages.extraction.strings import key, size
from newsbot.pages.rules.rule import Rule, classify
from newsbot.pages.text.languages import compiled
from newsbot.pages.text.words import is_unspaced, tokens
from newsbot.urls import host_key, resolve, site_of


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
