"""Decides whether a page is an article, and states a reason if it is not.

The reasons are short strings that do not change, such as ``too_short``. A hint is the link that led to the
page.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice
from urllib.parse import SplitResult, parse_qsl, unquote

import numpy as np

from newsbot.extraction.blocks import Block
from newsbot.extraction.body.features import Known, Marks, View
from newsbot.extraction.body.pieces import REGIONS, cut
from newsbot.extraction.body.text import Body
from newsbot.extraction.fields.evidence import VISIBLE
from newsbot.extraction.fields.titles import site_names
from newsbot.extraction.page.page import Page, xpath
from newsbot.extraction.strings import key, size
from newsbot.items import Kind, Link, Where
from newsbot.rules.rule import Rule, classify
from newsbot.rules.shape import log_odds
from newsbot.text.languages import compiled
from newsbot.urls import canonicalize, resolve

_SHORT_WITH_HINT = 60
"""Minimum length of the text, in letters, if a feed or a news sitemap lists the page as news."""
_SHORT_WITH_METADATA = 110
"""Minimum length of the text, in letters, if the metadata of the page declare an article."""
_SHORT_HEADED = 180
"""Minimum length of the text, in letters, if the page has the heading of one story."""
_SHORT_PLAIN = 250
"""Minimum length of the text, in letters, if there is no evidence besides the text."""
LONG = 1200
"""A text of at least this length, in letters, cannot be an error message or a login page."""
_ARTICLE_ADDRESS = 1.5
"""Minimum log-odds (:mod:`newsbot.rules.shape`) of the URL if it is the only evidence for an article."""
_OTHER_ADDRESS = -6.0
"""A URL with lower log-odds belongs to a service, a shop or a list, even if the page has dates."""
PARAGRAPHS, PROSE = 8, 3000
"""Number of paragraphs of prose, and number of their letters, that a list of teasers never reaches."""

_FRONT_NAME = re.compile(r"(?:index-?\d{0,3}\.(?:html?|php)|home)?", re.IGNORECASE)
_MANUAL = re.compile(
    "asciidoc|docbook|docutils|doxygen|gitbook|hevea|javadoc|latex2html|makeinfo|rustdoc|sphinx|tex4ht|texi2",
    re.IGNORECASE,
)
"""Generators of manuals, in ``<meta name=generator>``."""
_MOST_OFFERS, _MOST_CONTROLS = 100, 4000
"""Maximum number of offers or carts whose ancestors are checked, and maximum number of checked controls."""
_OFFERS = xpath(f"(//*[@itemprop='offers' or @itemprop='price'])[position() <= {_MOST_OFFERS}]")
_CART = re.compile(
    r"(?:cart|basket)(?![a-z])|checkout|warenkorb|panier|carrito|carrello|koszyk|kosar|kosik|sepet|korzin|"
    r"winkelwagen|varukorg|indkobskurv",
    re.IGNORECASE,
)
"""Names of shopping carts in class names, ids and URLs."""
_PRICE = re.compile(r"[$€£¥₹₽₴₺₩]\s?\d|\d\s?(?:[$€£¥₹₽₴₺₩]|(?:USD|EUR|GBP|CHF|zł|kr|Kč|Ft|lei|лв|руб|грн)\b)")
_SHORT_LINE = 40
"""Maximum number of letters of a line that shows a price and is not a sentence."""
_PASSWORD = xpath("//input[@type='password']")
_TAG_PATH = re.compile(
    r"/(?:tags?|topics?|themes?|keywords?|labels?|tema|temas|thema|sujet|tegi?|metki|story-tags?)(?:/|$)",
    re.IGNORECASE,
)
_LIST_PATH = re.compile(
    r"/(?:categor(?:y|ies)|rubrics?|rubrika|author|authors|avtor|autor|user|users|profile|archive|archives|"
    r"arhiv|page/\d+|all|latest)(?:/[^/]*)?/?$",
    re.IGNORECASE,
)
_SEARCH_PATH = re.compile(r"/(?:search|poisk|suche|recherche|buscar|ricerca|szukaj)(?:/|\.|$)", re.IGNORECASE)
_SEARCH_KEYS = frozenset({"q", "s", "query", "search", "text"})
_SENTENCE_END = re.compile(r"[.!?…。»”\"')]\s*$")
# e.g. "0; url=/new"
_AT_ONCE = re.compile(r"\s{0,9}[0-5]\s{0,9}[;,]\s{0,9}url", re.IGNORECASE)
# XPath 1.0 cannot ignore case, so translate() converts the letters of "Refresh" to lower case.
_REFRESH = xpath("//meta[translate(@http-equiv,'REFSH','refsh')='refresh']")


# One to three plain words: /news, /news/politics, /local-news/.
_NAME_PATH = re.compile(r"/[a-z]{2,20}(?:[-_/][a-z]{2,20})?(?:[-_/][a-z]{2,20})?/?$", re.IGNORECASE)
_LINKED_HEADINGS = xpath("//*[self::h2 or self::h3 or self::h4][a[@href] or parent::a[@href]]")
_LEAST_LINKED = 4
"""Minimum number of linked headings on a list."""
_MANY_WORDS = 4
"""A heading with at least this number of words counts as a headline and not as a name."""
_LONG_HEADLINE = 25
"""A heading with at least this number of letters counts as a headline and not as a name."""

_BESIDE = 15
"""Maximum number of letters outside the link in a line that is a linked headline."""
_LEAST_PROSE = 25
"""Minimum score of a box with prose.

The score is its number of letters minus twice its number of letters in links.
"""
_LONG_PROSE = 300
"""Prose counts for the box around its own box.

If it has more letters than this, it counts for its own box too.
"""
_FRAMES = ("nav", "footer", "aside", "header")
_FRAME = sum(1 << REGIONS.index(name) for name in _FRAMES)


def _is_strong(hint: Link | None) -> bool:
    """True if the site announced the page as news, in a feed, a news sitemap or a push notification."""
    return hint is not None and hint.where in (Where.FEED, Where.NEWS_SITEMAP, Where.PUSH)


def is_named(page: Page, rule: Rule | None, hint: Link | None) -> bool:
    """True if the site announced the page as news, or an article pattern of the site's rule matches."""
    return _is_strong(hint) or (rule is not None and classify(rule, page.url).kind is Kind.ARTICLE)


def lacks_evidence(page: Page, body: Body, hint: Link | None, date: str | None) -> bool:
    """True for a page without evidence that it is an article.

    JSON-LD of the page's own article is always evidence. Dates, metadata and sitemaps are weaker evidence,
    because pages of every kind have them. Weaker evidence does not count in these cases:

    * on a page of a shop
    * in a manual, if the only evidence is a date in the text
    * at the URL of a home page or a list, unless most of the text is in one place
    * at a URL that is unlikely to be the URL of an article

    The last two cases do not apply to a page that a sitemap lists. If a page has no metadata and no date, and
    no sitemap lists it, its URL must look like the URL of an article. ``date`` is the source of the date, or
    None if no date was found.
    """
    if page.has_own_article:
        return False
    named = _calls_itself(page)
    if _is_product(page, named=named) or (not named and _sells(page, body)):
        return True
    if not named and date in (None, VISIBLE) and _is_in_manual(page):
        return True
    if hint is not None and hint.where is Where.SITEMAP:
        return False
    if date is None and not named:
        return _odds(page) < _ARTICLE_ADDRESS
    is_list = _is_front(page) if named else _is_list_address(page)
    scattered = is_list and _concentration(_view(page, body), size(body.text))[1] < 0.6
    return scattered or _odds(page) < _OTHER_ADDRESS


# A byte order mark, an XML declaration and a comment may precede the root element. JSON is an object with a
# name ({"), or a list of objects or strings.
_NO_PAGE = re.compile(
    rb"(?:\xef\xbb\xbf)?\s{0,200}(?:<\?xml[^>]{0,200}>\s{0,200})?(?:<!--[^>]{0,500}-->\s{0,200})?"
    rb"(?:<(?:rss|feed|urlset|sitemapindex|rdf:RDF)\b|\{\s{0,200}\"|\[\s{0,200}[{\"])"
)


def is_no_page(html: bytes) -> bool:
    """True if the bytes begin like a feed, a sitemap or JSON."""
    return _NO_PAGE.match(html) is not None


def refuse_page(page: Page, text: str, hint: Link | None) -> str | None:
    """Return a reason if the page shows only a message of the site, else None.

    Such pages are redirects, challenges for robots, errors, consent questions and logins. ``text`` is the
    text found on the page.
    """
    length = size(text)
    if length < 600 and _is_stub(page):
        return "redirect_stub"
    # A page with a long text, or with an article in its structured data, shows more than a message.
    if length >= LONG or page.article is not None:
        return None
    return _notice(page, text, length, hint)


def _notice(page: Page, text: str, length: int, hint: Link | None) -> str | None:
    """Return the reason if the page contains only a message of the site to the reader, else None."""
    heading = page.headings[0] if page.headings else ""
    if length < 800 and any(map(is_challenge, (page.title_tag, heading, text[:200]))):
        return "blocked"
    # A feed does not list error pages. So if the text is not short, it is news about an error.
    if any(map(is_error, (page.title_tag, heading))) and not (_is_strong(hint) and length > 400):
        return "error_page"
    # Error pages may have the metadata of the site's template. So metadata that declare an article count only
    # in the following checks.
    if _calls_itself(page):
        return None
    if not _is_strong(hint) and asks_consent(text):
        return "consent"
    # Many sites have a login form in the frame of each article. So a page that a feed lists is not refused
    # because of a password field alone.
    wanted = is_login(f"{page.title_tag} {heading}") or not _is_strong(hint)
    return "login" if length < 500 and wanted and _PASSWORD(page.tree) else None


def refuse_text(page: Page, body: Body, rule: Rule | None, hint: Link | None, *, vouched: bool) -> str | None:
    """Return the reason if the text is too short, or if it is a list of other articles, else None.

    ``vouched`` is True if the page is expected to be an article. Its text may then be as short as the text of
    a page with metadata.
    """
    text = body.text
    length = size(text)
    expected = is_named(page, rule, hint)
    own = page.has_own_article
    named = own or _calls_itself(page)
    if not text.strip():
        return "no_text"
    plain = _SHORT_HEADED if _is_headed(page) else _SHORT_PLAIN
    if length < (_SHORT_WITH_HINT if expected else _SHORT_WITH_METADATA if named or vouched else plain):
        return "front_page" if _is_front(page) and not expected else "too_short"
    if expected or (own and not _is_front(page)) or (named and _is_headed_as_shared(page)):
        return None
    return _listing(page, body, length, named=named)


def _listing(page: Page, body: Body, length: int, *, named: bool) -> str | None:
    """Return the reason if the page is a list: many linked headlines, and little prose in one place."""
    path = unquote(page.parts.path)
    front, search = _is_front(page), _is_search(page.parts)
    named_as_list = not named and _is_named_as_list(page)
    # A page with long prose is an article even if it has many links, unless its URL or type suggests a list.
    if _is_prose(body.blocks) and not (front or search or named_as_list or _odds(page) < _OTHER_ADDRESS):
        return None
    listed = named_as_list or bool(_TAG_PATH.search(path) or _LIST_PATH.search(path))
    suspected = named_as_list or _is_list_address(page)
    view = _view(page, body)
    headlines = _headline_links(view)
    paragraphs = sum(len(block.text) >= 100 and _is_sentence(block) for block in body.blocks)
    # Articles also link to other articles. So many links are required. Fewer links are enough if the URL or
    # the structured data suggest a list. A page that declares itself an article must have many more headlines
    # than paragraphs.
    per_paragraph = 3 if named else 1 if listed else 2
    if headlines < max(4 if suspected else 10, paragraphs * per_paragraph):
        return None
    if _is_in_one_place(view, length, suspected=suspected):
        return None
    if search:
        return "search_results"
    if _TAG_PATH.search(path):
        return "tag_page"
    return "front_page" if front else "section_front"


def _is_in_one_place(view: View, length: int, *, suspected: bool) -> bool:
    """True if the prose is in one place, as the paragraphs of an article are.

    On a list, each teaser is in its own box.
    """
    prose, share = _concentration(view, length)
    return share >= (0.6 if suspected else 0.15) and prose >= (LONG / 2 if suspected else 150)


def _is_sentence(block: Block) -> bool:
    return _SENTENCE_END.search(block.text) is not None


def _view(page: Page, body: Body) -> View:
    """Return the pieces of the page. They are cut here if a rule selected the text."""
    return body.view or View(cut(page.tree), Known())


def _headline_links(view: View) -> int:
    """Return the number of different lines that are links and look like headlines."""
    beside = view.length - view.linked
    return len(
        {
            text
            for text, rest in zip(view.pieces.texts, beside.tolist(), strict=True)
            if rest <= _BESIDE and len(text) >= _LONG_HEADLINE and len(text.split()) >= _MANY_WORDS
        }
    )


def _concentration(view: View, length: int) -> tuple[float, float]:
    """Return the number of letters of prose in the box with the most prose, and their share of ``length``.

    ``length`` is the length of the page's text in letters. The paragraphs of an article are siblings, so the
    share is high. Each teaser of a front page is in its own box, so the share is low.
    """
    if not view.count:
        return 0.0, 0.0
    frame = _in_frame(view)
    own = np.bincount(view.box, np.where(frame, 0, view.length), len(view.parent))
    worth = own - 2 * np.bincount(view.box, np.where(frame, 0, view.linked), len(view.parent))
    worth = np.where(worth >= _LEAST_PROSE, worth, 0)
    # The second term is for paragraphs that are separated by <br>, which are all in one box.
    sums = np.bincount(view.parent, worth, len(view.parent)) + np.where(own > _LONG_PROSE, worth, 0)
    most = float(sums.max())
    return most, most / max(length, 1)


def _in_frame(view: View) -> Marks:
    """True for pieces in headers, footers, menus and side columns."""
    return np.array(view.pieces.tree.regions)[view.box] & _FRAME > 0


def _is_prose(blocks: Sequence[Block]) -> bool:
    """True if there is more prose than in any list of teasers."""
    prose = [len(block.text) for block in blocks if _is_sentence(block)]
    return len(prose) >= PARAGRAPHS and sum(prose) >= PROSE


def _odds(page: Page) -> float:
    """Return the log-odds that the URL belongs to an article, or 0 for a page without a valid URL."""
    try:
        return log_odds(canonicalize(page.url))
    except ValueError:
        return 0.0


def _is_list_address(page: Page) -> bool:
    """True if the URL or the JSON-LD declares a home page, a list or a search."""
    path = unquote(page.parts.path)
    listed = bool(_TAG_PATH.search(path) or _LIST_PATH.search(path))
    return listed or page.nodes.has_list_type() or _is_search(page.parts) or _is_front(page)


def _is_product(page: Page, *, named: bool) -> bool:
    """True if the metadata declare a product for sale.

    Reviews may also name a product. So if the page declares itself an article (``named``), the product must
    have the name of the page.
    """
    if page.meta("og:type").lower().startswith("product"):
        return True
    if not named and any(
        "/Product" in (box.get("itemtype") or "")
        for offer in _OFFERS(page.tree)
        for box in offer.iterancestors()
    ):
        return True
    return any(not named or key(name) in map(key, page.headings) for name in page.nodes.offered())


def _sells(page: Page, body: Body) -> bool:
    """True if the page shows a price in a short line, and a button or link with the name of a cart.

    Magazines with a shop have a cart in the header of each page, so elements there do not count.
    """
    view = _view(page, body)
    short = np.flatnonzero(~_in_frame(view) & (view.length <= _SHORT_LINE)).tolist()
    if not any(_PRICE.search(view.pieces.texts[place]) for place in short):
        return False
    carts = (
        element
        for element in islice(page.tree.iter("form", "button", "input", "a"), _MOST_CONTROLS)
        if any(_CART.search(element.get(name) or "") for name in ("class", "id", "name", "action", "href"))
    )
    return any(
        not any(box.tag in _FRAMES for box in cart.iterancestors()) for cart in islice(carts, _MOST_OFFERS)
    )


def _is_in_manual(page: Page) -> bool:
    """True if the page's head names a generator of manuals, or links to an index of words or a parent page.

    Some blogs link to their home page as the index. Such a link does not count.
    """
    if "up" in page.links or _MANUAL.search(" ".join(page.meta_all("generator"))):
        return True
    indexes = (resolve(page.url, link) for link in page.links.get("index", ()))
    return any(
        not page.url.startswith(url.rstrip("/")) and not _FRONT_NAME.fullmatch(url.rpartition("/")[2])
        for url in indexes
        if url is not None
    )


def _calls_itself(page: Page) -> bool:
    """True if Open Graph metadata declare an article."""
    return "article" in page.meta("og:type").lower() or bool(page.meta("article:published_time"))


def _is_stub(page: Page) -> bool:
    """True if the page redirects the reader within five seconds (``<meta http-equiv=refresh>``)."""
    return any(_AT_ONCE.match(element.get("content") or "") for element in _REFRESH(page.tree)[:3])


def _is_front(page: Page) -> bool:
    """True for the URL of a home page, unless the page has the heading of one story.

    Some sites show the story of the day at their root. The URL of a page in a file often has only the host.
    """
    if not _FRONT_NAME.fullmatch(page.parts.path.strip("/")) or page.parts.query:
        return False
    return not _is_headed(page)


def _is_named_as_list(page: Page) -> bool:
    """True for a page of linked headlines with a short heading, at a URL of a few plain words.

    Example of such a URL: /news/politics.
    """
    heading = page.headings[0] if page.headings else page.title_tag
    if len(heading) >= _LONG_HEADLINE or len(heading.split()) >= _MANY_WORDS:
        return False
    return bool(_NAME_PATH.match(page.parts.path)) and len(_LINKED_HEADINGS(page.tree)) >= _LEAST_LINKED


def _is_headed(page: Page) -> bool:
    """True if the page's title begins with its first heading, and this heading is a headline and not a
    name."""
    heading = page.headings[0] if page.headings else ""
    if len(heading) < _LONG_HEADLINE or len(heading.split()) < _MANY_WORDS:
        return False
    words = key(heading)
    return key(page.title_tag).startswith(words) and words not in map(key, site_names(page))


def _is_headed_as_shared(page: Page) -> bool:
    """True if a headline on the page equals the title for shared links (``og:title``)."""
    shared = key(page.meta("og:title"))
    return any(
        len(heading) >= _LONG_HEADLINE and len(heading.split()) >= _MANY_WORDS and key(heading) == shared
        for heading in page.headings
    )


def _is_search(parts: SplitResult) -> bool:
    if _SEARCH_PATH.search(parts.path):
        return True
    # At the root, a parameter with such a name is a search (/?s=word). At other paths it may identify an
    # article.
    return len(parts.path) <= 1 and any(name in _SEARCH_KEYS for name, _ in parse_qsl(parts.query[:500]))


# --- pages with a message of the site: errors, bot challenges, logins and cookie consent

_ERROR = (
    r"^\W*(?:%(error)s\W*)?(?:40[0134]|410|50[0234])\b.{0,40}$|%(error)s\W{1,3}[45]\d\d\b|^%(error)s\W*$|"
    r"%(errors)s"
)
_LEAST_CONSENT = 4
"""Minimum number of words about consent (such as "cookies") in a text that only asks for consent."""
_CONSENT_SHARE = 90
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
