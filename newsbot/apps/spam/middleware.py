"""Judges whether a page of a crawl is made for search engines and not for readers (NEWSBOT_SPAM).

``scrapy spam`` and the verdict on the crawl show the pages with a sign of spam. There are three signs. Each
of them is rare on honest pages, so one is enough:

* hidden text: many words that no reader sees, in a way that only serves to hide them: letters of size 0, text
  outside of the window, or in the colour of its background. Menus, dialogs and texts for screen readers are
  hidden too, but by other means, or they are short.
* repetition: the same two or three words make up a large part of the text.
* link farm: most of the page is links to many other sites.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from lxml.html import HtmlElement
from scrapy.crawler import Crawler
from scrapy.http import Response

from newsbot.apps.operations.verdict import Sign
from newsbot.backends import stored
from newsbot.cli.command import Action, Argument, Call
from newsbot.cli.program import PROGRAM
from newsbot.cli.terminal import columns, counted
from newsbot.clock import iso, utc
from newsbot.config.settings import SettingsLike
from newsbot.crawl.assembly import Crawl
from newsbot.crawl.visit import META_KEY, Visit
from newsbot.errors import DataError, NotAnArticle
from newsbot.items import Article
from newsbot.middlewares import Middleware, content_type_of, tree_of
from newsbot.pages.text.words import letters
from newsbot.storage.base import Storage
from newsbot.storage.notes import Notes
from newsbot.urls import ascii_host, canonicalize, site_of

logger = logging.getLogger(__name__)

SITES = "spam_sites"
"""Kind of the notes with the sites that have such pages; the key is the domain."""
KIND = "spam:"
"""Kind of the notes about pages, before the domain of the site. The key is the URL of the page."""
MAX_PAGES = 1_000
"""Maximum number of pages of a site that are listed. Further ones are only counted by the crawl."""


def pages_of(notes: Notes, domain: str) -> dict[str, dict[str, Any]]:
    """Return the pages of a site with a sign of spam: URL -> sign, detail and time."""
    return notes.all(KIND + domain)


def listing(call: Call) -> None:
    """List the pages with a sign of spam."""
    wanted = call.options.site and ascii_host(call.options.site.lower())
    with stored(call.settings, stale=True) as storage:
        rows = [
            {"site": site, "url": url, **note, "at": iso(utc(note["at"]))}
            for site in ([wanted] if wanted else sorted(storage.notes.all(SITES)))
            for url, note in sorted(pages_of(storage.notes, site).items())
        ]
    call.listing(
        rows,
        columns("site | sign | detail | url *"),
        ((row["site"], row["sign"].replace("_", " "), row["detail"], row["url"]) for row in rows),
        empty="no page with a sign of spam",
    )


def signs(settings: SettingsLike, storage: Storage) -> Iterator[Sign]:  # noqa: ARG001  (the form of all signs)
    """Yield the sites with pages that have a sign of spam."""
    for site in sorted(storage.notes.all(SITES)):
        if found := pages_of(storage.notes, site):
            number = counted(len(found), "page")
            yield Sign(text=f"{site}: {number} with a sign of spam; see: {PROGRAM} spam {site}")


ACTIONS = (
    Action(
        "",
        "List the pages of sites on which a crawl or a check of the site found a sign of spam",
        listing,
        Argument("site", nargs="?", help="only pages of this site (a domain)"),
    ),
)


MAX_WORDS = 20_000
"""Maximum number of words of a page that are judged."""
HIDDEN_WORDS, HIDDEN_SHARE = 60, 0.4
"""Least number of hidden words, and their least share of all words."""
REPEATED, REPEATED_SHARE, REPEATED_WORDS = 12, 0.2, 80
"""Least number of repetitions, their least share of the words, and the least number of words."""
FARM_SITES, FARM_REST = 25, 100
"""Least number of other sites that a link farm links to, and the most words outside of such links."""
_WORD = re.compile(r"[^\W_]+")
_NO_TEXT = frozenset(
    ("script", "style", "noscript", "template", "head", "title", "svg", "math", "textarea", "select")
)
_OFF = re.compile(
    # -100% is a drawer that opens, and -120px moves a box a little
    r"(?:^|;)\s*(?:text-indent|left|top|right|margin-left|margin-top)\s*:\s*-(?:\d{4,}|[5-9]\d\d)(?![\d%])",
    re.IGNORECASE,
)
_NOTHING = re.compile(
    r"(?:^|;)\s*(?:font-size\s*:\s*0(?![.\d]*[1-9])|color\s*:\s*transparent)", re.IGNORECASE
)
_COLOR = re.compile(r"(?:^|;)\s*color\s*:\s*([^;]{1,40})", re.IGNORECASE)
_BACKGROUND = re.compile(r"(?:^|;)\s*background(?:-color)?\s*:\s*([^;]{1,40})", re.IGNORECASE)
_CLOSED = re.compile(r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*hidden)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Spam:
    """What speaks against a page."""

    sign: str
    """``hidden_text``, ``repetition`` or ``link_farm``."""
    detail: str
    """The figures, for people."""


def spam_of(tree: HtmlElement, url: str) -> Spam | None:
    """Return the first sign of spam on a page; None if there is none."""
    page = _Page(site_of(urlsplit(url).hostname or ""))
    page.read(tree)
    return page.hidden_text() or page.repetition() or page.link_farm()


class _Page:
    """The words of a page, by where they are."""

    def __init__(self, site: str) -> None:
        self._site = site
        self._shown: list[str] = []
        self._hidden: list[str] = []
        self._away = 0
        """Number of words in links to other sites."""
        self._sites: set[str] = set()

    def read(self, tree: HtmlElement) -> None:
        """Collect the words, without recursion, because a page can be deeply nested."""
        waiting: list[tuple[HtmlElement, bool, bool, str]] = [(tree, False, False, "#fff")]
        while waiting and len(self._shown) + len(self._hidden) < MAX_WORDS:
            element, hidden, away, background = waiting.pop()
            if not isinstance(element.tag, str) or element.tag in _NO_TEXT:
                continue
            style = str(element.get("style", ""))
            if element.get("hidden") is not None or _CLOSED.search(style):
                continue  # a menu or a dialog, which scripts open
            painted = _BACKGROUND.search(style)
            background = _plain(painted[1]) if painted else background
            inked = _COLOR.search(style)
            own = bool(_OFF.search(style) or _NOTHING.search(style))
            own = own or (inked is not None and _plain(inked[1]) == background)
            hidden = hidden or own
            away = away or self._leads_away(element)
            self._take(element.text, hidden=hidden, away=away)
            for child in element:
                # a tail belongs to the parent
                self._take(child.tail, hidden=hidden, away=away)
                waiting.append((child, hidden, away, background))

    def _take(self, text: str | None, *, hidden: bool, away: bool) -> None:
        words = [letters(word) for word in _WORD.findall(text or "")]
        (self._hidden if hidden else self._shown).extend(words)
        self._away += len(words) if away else 0

    def _leads_away(self, element: HtmlElement) -> bool:
        if element.tag != "a":
            return False
        try:
            host = urlsplit(str(element.get("href", ""))).hostname or ""
        except ValueError:
            return False
        site = site_of(host) if host else self._site
        if site == self._site:
            return False
        self._sites.add(site)
        return True

    def hidden_text(self) -> Spam | None:
        number, total = len(self._hidden), len(self._hidden) + len(self._shown)
        if number >= HIDDEN_WORDS and number >= HIDDEN_SHARE * total:
            return Spam("hidden_text", f"{number} of {total} words are hidden")
        return None

    def repetition(self) -> Spam | None:
        words = self._shown
        if len(words) < REPEATED_WORDS:
            return None
        for size in (3, 2):
            runs = Counter(zip(*(words[place:] for place in range(size)), strict=False))
            found = sorted(((number, run) for run, number in runs.items() if _is_phrase(run)), reverse=True)
            number, run = found[0] if found else (0, ())
            # In tables and tickers, each row has the same words, and so several phrases are as frequent.
            other = next((n for n, one in found if len(set(one) & set(run)) < size - 1), 0)
            if number >= REPEATED and number * size >= REPEATED_SHARE * len(words) and other < number / 2:
                return Spam("repetition", f"{number} times {' '.join(run)!r} in {len(words)} words")
        return None

    def link_farm(self) -> Spam | None:
        total = len(self._hidden) + len(self._shown)
        if len(self._sites) >= FARM_SITES and total - self._away < FARM_REST:
            detail = f"{self._away} of {total} words are links to {len(self._sites)} other sites"
            return Spam("link_farm", detail)
        return None


def _is_phrase(run: tuple[str, ...]) -> bool:
    return len(set(run)) == len(run) and all(map(str.isalpha, run)) and sum(map(len, run)) >= 4 * len(run)


def _plain(color: str) -> str:
    """Return a colour in one form for white; other colours are compared as they are written."""
    text = color.split("!", maxsplit=1)[0].strip().lower().replace(" ", "")
    return "#fff" if text in ("white", "#ffffff", "rgb(255,255,255)") else text


class SpamMiddleware(Middleware):
    """Notes pages with a sign of spam. With ``drop``, their articles are left out."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._context = Crawl.of(crawler).context
        self._does = str(crawler.settings.get("NEWSBOT_SPAM") or "off")
        self._is_monitor = getattr(crawler.spidercls, "name", "") == "monitor"

    async def process_spider_output(
        self, response: Response, result: AsyncIterator[Any]
    ) -> AsyncIterator[Any]:
        """Pass on what the spider yields, except for the article of a spam page if it is to be dropped."""
        found: Spam | None = None
        judged = self._is_monitor and self._is_page(response)
        if judged:
            found = await self._judge(response)
        async for output in result:
            # In a news crawl, only pages with an article are judged.
            if isinstance(output, Article) and self._does != "off" and not judged:
                judged, found = True, await self._judge(response)
            if isinstance(output, Article) and found is not None and self._does == "drop":
                visit: Visit | None = response.meta.get(META_KEY)
                if visit is not None:
                    visit.read(is_article=False, no_article="spam")
                self._context.count("not_article/spam")
                continue
            yield output
        if judged:
            await self._note(response, found)

    @staticmethod
    def _is_page(response: Response) -> bool:
        return response.status < 300 and bool(response.body) and "html" in content_type_of(response).lower()

    async def _judge(self, response: Response) -> Spam | None:
        with suppress(NotAnArticle):
            return await asyncio.to_thread(lambda: spam_of(tree_of(response), response.url))
        return None

    async def _note(self, response: Response, found: Spam | None) -> None:
        domain = self._context.rule_for(response.url).domain
        with suppress(DataError):  # the outage is logged already
            if await self._context.calls.run(self._keep, domain, canonicalize(response.url), found):
                assert found is not None
                self._context.count(f"spam/{found.sign}")
                logger.warning(
                    "spam domain=%s url=%s sign=%s (%s)", domain, response.url, found.sign, found.detail
                )

    def _keep(self, domain: str, url: str, found: Spam | None) -> bool:
        """Store or delete the note about a page. Return True if the page is spam."""
        notes = self._context.storage.notes
        if found is None:
            # Few pages have a note, and most sites have none.
            if notes.get_many([(KIND + domain, url)]):
                notes.forget(KIND + domain, url)
            return False
        if len(pages_of(notes, domain)) < MAX_PAGES:
            note = {"sign": found.sign, "detail": found.detail[:200], "at": self._context.clock()}
            notes.save(KIND + domain, url, note)
            notes.save(SITES, domain, {})
        return True
