"""Is this page an article at all? A verdict from evidence, with a stable reason when it is none."""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import SplitResult, parse_qsl, unquote

import numpy as np

from newsbot.extraction import notices
from newsbot.extraction.blocks import Block, join
from newsbot.extraction.body.features import Known, View
from newsbot.extraction.body.judge import SCALE, judge
from newsbot.extraction.body.pieces import REGIONS, cut
from newsbot.extraction.page import Page, xpath
from newsbot.extraction.sitename import site_names
from newsbot.extraction.strings import key, size
from newsbot.items import Kind, Link, Where
from newsbot.rules.match import classify
from newsbot.rules.schema import Rule

SHORT_WITH_HINT = 60
"""Letters of text that are enough when a feed or a news sitemap calls the page news."""
SHORT_WITH_METADATA = 110
"""… when the page calls itself an article."""
SHORT_HEADED = 180
"""… when the page as a whole is headed as one story."""
SHORT_PLAIN = 250
"""… when nothing speaks for it but its text."""
LONG = 1200

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
_AT_ONCE = re.compile(r"\s{0,9}[0-5]\s{0,9}[;,]\s{0,9}url", re.IGNORECASE)
_REFRESH = xpath("//meta[translate(@http-equiv,'REFSH','refsh')='refresh']")


_NAME_PATH = re.compile(r"/[a-z]{2,20}(?:[-_/][a-z]{2,20})?(?:[-_/][a-z]{2,20})?/?$", re.IGNORECASE)
_LINKED_HEADINGS = xpath("//*[self::h2 or self::h3 or self::h4][a[@href] or parent::a[@href]]")
_LEAST_LINKED = 4
_MANY_WORDS = 4
_LONG_HEADLINE = 25
_BESIDE = 15
"""Letters that may stand beside a link in its line."""
_LEAST_PROSE = 25
_LONG_PROSE = 300
_FRAME = sum(1 << REGIONS.index(name) for name in ("nav", "footer", "aside", "header"))
_SURE = 2 * SCALE
"""Score of a piece of which the judge is sure: log odds of 2."""
_SURE_IF_SUSPECTED = 0.5
_SURE_IF_NAMED = 0.2
_SURE_ELSE = 0.3
"""Share of the text that is sure, from which on a page with many headlines is an article: where its address
or data speak of a list, where its data call it an article, and elsewhere."""


def is_strong(hint: Link | None) -> bool:
    """True for a page that its site announced as news."""
    return hint is not None and hint.where in (Where.FEED, Where.NEWS_SITEMAP, Where.PUSH)


_NO_PAGE = re.compile(
    rb"(?:\xef\xbb\xbf)?\s{0,200}(?:<\?xml[^>]{0,200}>\s{0,200})?(?:<!--[^>]{0,500}-->\s{0,200})?"
    rb"(?:<(?:rss|feed|urlset|sitemapindex|rdf:RDF)\b|\{\s{0,200}\"|\[\s{0,200}[{\"])"
)


def is_no_page(html: bytes) -> bool:
    """True for feeds, sitemaps and JSON, by how they begin."""
    return _NO_PAGE.match(html) is not None


def refuse_page(page: Page, text: str, hint: Link | None) -> str | None:
    """Return why the page is no article whatever its text: stub, challenge, error, login; else None."""
    length = size(text)
    if length < 600 and _is_stub(page):
        return "redirect_stub"
    if length >= LONG or page.article is not None:
        return None
    return _notice(page, text, length, hint)


def _notice(page: Page, text: str, length: int, hint: Link | None) -> str | None:
    """A page that holds no more than a word of the site to the reader."""
    heading = page.headings[0] if page.headings else ""
    if length < 800 and any(map(notices.is_challenge, (page.title_tag, heading, text[:200]))):
        return "blocked"
    if any(map(notices.is_error, (page.title_tag, heading))) and not (is_strong(hint) and length > 400):
        return "error_page"
    if _calls_itself(page):
        return None
    if not is_strong(hint) and notices.asks_consent(text):
        return "consent"
    wanted = notices.is_login(f"{page.title_tag} {heading}") or not is_strong(hint)
    return "login" if length < 500 and wanted and _PASSWORD(page.tree) else None


def refuse_text(
    page: Page, blocks: Sequence[Block], view: View | None, rule: Rule | None, hint: Link | None
) -> str | None:
    """Return why the text is not that of an article: too short, or a list of other articles; else None.

    ``view`` holds the pieces of the page where they are known already.
    """
    text = join(blocks)
    length = size(text)
    expected = is_strong(hint) or (rule is not None and classify(rule, page.url).kind is Kind.ARTICLE)
    own = page.nodes.own is not None
    named = own or _calls_itself(page)
    if not text.strip():
        return "no_text"
    plain = SHORT_HEADED if _is_headed(page) else SHORT_PLAIN
    if length < (SHORT_WITH_HINT if expected else SHORT_WITH_METADATA if named else plain):
        if expected:
            return "too_short"
        if _is_front(page):
            return "front_page"
        return (view and _listing(page, blocks, view, length, named=named)) or "too_short"
    if expected or (own and not _is_front(page)) or (named and _is_headed_as_shared(page)):
        return None
    return _listing(page, blocks, view, length, named=named)


def _listing(
    page: Page, blocks: Sequence[Block], view: View | None, length: int, *, named: bool
) -> str | None:
    """A front shows many headlines that are links, and its prose is unlike that of an article.

    The judge of the text takes teasers for want of better, but is not sure of them: of an article it is sure
    of nine tenths of the text, of a front of less than a fifth.
    """
    path = unquote(page.parts.path)
    front, search = _is_front(page), _is_search(page.parts)
    listed = (not named and _is_named_as_list(page)) or bool(
        _TAG_PATH.search(path) or _LIST_PATH.search(path)
    )
    suspected = page.nodes.has_list_type() or listed or search or front
    paragraphs = sum(1 for block in blocks if len(block.text) >= 100 and _SENTENCE_END.search(block.text))
    view = view or View(cut(page.tree), Known())  # a rule gave the text, and nobody has looked at the page
    headlines = _headline_links(view)
    per_paragraph = 3 if named else 1 if listed else 2
    if headlines < (4 if suspected else 10) or headlines < paragraphs * per_paragraph:
        return None
    prose, share = _concentration(view, length)
    if share >= (0.6 if suspected else 0.2 if named else 0.3) and prose >= (LONG / 2 if suspected else 200):
        return None
    if _sure_share(view) >= (_SURE_IF_SUSPECTED if suspected else _SURE_IF_NAMED if named else _SURE_ELSE):
        return None
    if search:
        return "search_results"
    if _TAG_PATH.search(path):
        return "tag_page"
    return "front_page" if front else "section_front"


def _headline_links(view: View) -> int:
    """How many different lines are links that read like headlines: 25 letters and four words or more."""
    beside = view.length - view.linked
    return len(
        {
            text
            for text, rest in zip(view.pieces.texts, beside.tolist(), strict=True)
            if rest <= _BESIDE and len(text) >= _LONG_HEADLINE and len(text.split()) >= _MANY_WORDS
        }
    )


def _concentration(view: View, length: int) -> tuple[float, float]:
    """Return the prose of the one box that holds most of it, and that as a share of ``length``.

    Paragraphs of an article stand side by side; teasers of a front page each stand in a box of their own.
    """
    if not view.count:
        return 0.0, 0.0
    frame = np.array(view.pieces.tree.regions)[view.box] & _FRAME > 0
    own = np.bincount(view.box, np.where(frame, 0, view.length), len(view.parent))
    worth = own - 2 * np.bincount(view.box, np.where(frame, 0, view.linked), len(view.parent))
    worth = np.where(worth >= _LEAST_PROSE, worth, 0)
    sums = np.bincount(view.parent, worth, len(view.parent)) + np.where(own > _LONG_PROSE, worth, 0)
    most = float(sums.max())
    return most, most / max(length, 1)


def _sure_share(view: View) -> float:
    """The share of the letters of a page's prose, as it was judged, of which the judge is sure."""
    scores = judge(view)
    taken = int(view.length[scores > 0].sum())
    return int(view.length[scores > _SURE].sum()) / max(1, taken)


def _calls_itself(page: Page) -> bool:
    """True when the metadata say article."""
    return "article" in page.meta("og:type").lower() or bool(page.meta("article:published_time"))


def _is_stub(page: Page) -> bool:
    """True for a page that only sends the reader on, within five seconds."""
    return any(_AT_ONCE.match(element.get("content") or "") for element in _REFRESH(page.tree)[:3])


def _is_front(page: Page) -> bool:
    """True for the address of a home page, unless the page is headed as one story.

    Some sites show the day's story at their root; saved pages often keep no more than the host.
    """
    name = page.parts.path.strip("/").lower()
    if name not in ("", "index.html", "index.php", "index.htm", "home") or page.parts.query:
        return False
    return not _is_headed(page)


def _is_named_as_list(page: Page) -> bool:
    """True for linked headlines below a mere name, at an address of a few plain words: /news/politics."""
    heading = page.headings[0] if page.headings else page.title_tag
    if len(heading) >= _LONG_HEADLINE or len(heading.split()) >= _MANY_WORDS:
        return False
    return bool(_NAME_PATH.match(page.parts.path)) and len(_LINKED_HEADINGS(page.tree)) >= _LEAST_LINKED


def _is_headed(page: Page) -> bool:
    """True when the title of the page begins with its first heading, and that is no mere name."""
    heading = page.headings[0] if page.headings else ""
    if len(heading) < _LONG_HEADLINE or len(heading.split()) < _MANY_WORDS:
        return False
    words = key(heading)
    return key(page.title_tag).startswith(words) and words not in map(key, site_names(page))


def _is_headed_as_shared(page: Page) -> bool:
    """True when a heading that is no mere name is what the page is called when it is shared."""
    shared = key(page.meta("og:title"))
    return any(
        len(heading) >= _LONG_HEADLINE and len(heading.split()) >= _MANY_WORDS and key(heading) == shared
        for heading in page.headings
    )


def _is_search(parts: SplitResult) -> bool:
    if _SEARCH_PATH.search(parts.path):
        return True
    return len(parts.path) <= 1 and any(name in _SEARCH_KEYS for name, _ in parse_qsl(parts.query[:500]))
