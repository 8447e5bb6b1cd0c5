"""Who wrote an article: a clean list of names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from lxml.html import HtmlElement

from newsbot.extraction.evidence import JSON_LD, META, MICRODATA, RULE, VISIBLE, Candidate
from newsbot.extraction.jsonld import Nodes, texts
from newsbot.extraction.page import Page, text_of, xpath
from newsbot.extraction.strings import key, plain, word_set

MAX_AUTHORS = 25

_SPLIT = re.compile(
    r"\s*[;|•·/\n]\s*|\s*,\s+|(?<=[a-zа-яё]),(?=[A-ZА-ЯЁ])|\s+(?:and|und|et|e|y|i|og|och|en|и|й|та|ve|&|"
    r"with|mit|avec|con)\s+",
    re.IGNORECASE,
)
_BY = re.compile(
    r"^(?:(?:written|story|text|texte?|report(?:ed|ing)?|posted|published|фото и текст|текст|автор(?:ы|"
    r"и)?(?: статьи| текста| материала)?|"
    r"подготовил[аи]?|беседовал[аи]?|записал[аи]?|von|par|por|de la redacción|redigerad av|af|av|di|door|"
    r"przez|yazan|autor(?:en|in|es|a|zy)?|"
    r"auteur|author(?:s)?|byline|by|от|от автора|opinion|column|essay|kommentar|ein (?:kommentar|"
    r"gastbeitrag|interview) von|"
    r"an analysis|interview)\b\s*(?:by|von|par|of)?\s*[:\-–—]?\s*)+",
    re.IGNORECASE,
)
_TAIL = re.compile(
    r"\s*(?:[(\[<].{0,80}[)\]>]|[-–—|]\s+(?:[A-ZА-Я][\w.]*\s?){1,4}|@\w+|,\s*(?:md|phd|dr|jr|sr|"
    r"ph\.d\.?))\s*$|\s+(?:updated|published|обновлено)\b.*$",
    re.IGNORECASE,
)
_NOT_A_NAME = re.compile(
    r"https?:|www\.|\.(?:com|org|net|ru|html?)/|@|[<>{}=_#*\\]|\d{2}|\b(?:updated|published|posted|"
    r"comments?|share|follow|subscribe|photo|photos|image|video|"
    r"copyright|all rights|read more|reporter|correspondent|editor|journalist|journalistin|redakteur(?:in)?|"
    r"redaktor|autor|admin(?:istrator)?|"
    r"contributor|contributors|read|minutes?|min|ago|edited|additional reporting|contact|email|more from|"
    r"корреспондент|редактор|обозреватель|"
    r"журналист|опубликовано|обновлено|фото|источник|читать|подписаться)\b",
    re.IGNORECASE,
)
_EMPTY = word_set(
    "admin administrator author autor автор editor redaktion redakcja redakce redacción redacao redação "
    "redactie redazione редакция редактор "
    "staff null none undefined unknown anonymous user guest name nan n a false true webmaster root superuser"
)
_BYLINE = xpath(
    "//*[@rel='author'] | //*[contains(@class,'author') or contains(@class,'byline')"
    " or contains(@class,'Author') or contains(@class,'Byline') or contains(@class,'avtor')"
    " or contains(@id,'author')"
    " or contains(@data-testid,'author') or contains(@data-testid,'byline')]"
    "[not(self::body or self::html or self::article or self::main or self::script or self::img)]"
)
_NAME = xpath(".//*[@itemprop='name']")
_ASIDE = re.compile(r"comment|related|sidebar|footer|recommend|widget|bio\b|popular|social", re.IGNORECASE)


def clean_authors(values: Iterable[str]) -> list[str]:
    """Return names out of written bylines: one each, without "by", dates, addresses and handles.

    >>> clean_authors(["By Jane Doe and John Roe, jane@example.org"])
    ['Jane Doe', 'John Roe']
    """
    names: list[str] = []
    seen: set[str] = set()
    for value in values:
        for name in _names(value):
            if key(name) not in seen and len(names) < MAX_AUTHORS:
                seen.add(key(name))
                names.append(name)
    return names


def _names(value: str) -> Iterator[str]:
    text = _BY.sub("", plain(value[:1000]))
    if not text or text.startswith(("http:", "https:", "//", "www.")):
        return
    for part in _SPLIT.split(text):
        name = _BY.sub("", (part or "").strip(' \t.,:;-–—|"«»“”'))
        name = _TAIL.sub("", name).strip(" ,:;-–—|")
        if _is_name(name):
            yield name


def _is_name(name: str) -> bool:
    if not 2 <= len(name) <= 60 or key(name) in _EMPTY or not any(sign.isalpha() for sign in name):
        return False
    return len(name.split()) <= 6 and not _NOT_A_NAME.search(name)


def author_candidates(page: Page) -> Iterator[Candidate[list[str]]]:
    """Yield lists of authors by source: JSON-LD, microdata, meta."""
    node = page.article
    if node is not None:
        persons, others = _by_type(node.get("author") or node.get("creator"), page.nodes)
        found = clean_authors(persons + others)
        if found:
            yield Candidate(found, JSON_LD, 0.9 if persons else 0.72)
    for values, method, confidence in (
        (_microdata(page), MICRODATA, 0.8),
        (page.meta_all("author", "article:author", "article:author_name", "og:article:author"), META, 0.75),
        (
            page.meta_all(
                "parsely-author", "sailthru.author", "cxenseparse:author", "byl", "cxensparse:author"
            ),
            META,
            0.76,
        ),
        (
            page.meta_all(
                "citation_author", "dc.creator", "dcterms.creator", "dcsext.author", "mediator_author"
            ),
            META,
            0.74,
        ),
    ):
        found = clean_authors(values)
        if found and not all(_is_site(name, page) for name in found):
            yield Candidate(found, method, confidence)
    for weak in page.nodes.weaker():
        found = clean_authors(texts(page.nodes.follow(weak.get("author"))))
        if found and not all(_is_site(name, page) for name in found):
            yield Candidate(found, JSON_LD, 0.6)
            break


def visible_authors(page: Page) -> Candidate[list[str]] | None:
    """Return the names of the visible byline; asked only where nothing else names authors."""
    found = clean_authors(_bylines(page))
    return Candidate(found, VISIBLE, 0.5) if found else None


def rule_authors(values: list[str]) -> Candidate[list[str]] | None:
    """Return what a rule's selectors gave, cleaned; None if nothing of it is a name."""
    found = clean_authors(values)
    return Candidate(found, RULE, 1.0) if found else None


def _by_type(value: Any, nodes: Nodes) -> tuple[list[str], list[str]]:
    """Names of persons, and of organisations and things without a type, in JSON-LD."""
    persons: list[str] = []
    others: list[str] = []
    for entry in (value if isinstance(value, list) else [value])[:50]:
        item = nodes.follow(entry)
        is_person = isinstance(item, str) or (
            isinstance(item, dict) and "Organization" not in str(item.get("@type"))
        )
        (persons if is_person else others).extend(texts(item))
    return persons, others


def _microdata(page: Page) -> list[str]:
    values = []
    for element in page.items.get("author", [])[:MAX_AUTHORS]:
        target = next(iter(_NAME(element)), element)
        values.append(target.get("content") or text_of(target, 300))
    return values


def _is_site(name: str, page: Page) -> bool:
    """True for a "name" that is the site's own."""
    site = key(page.meta("og:site_name"))
    name = key(name)
    return bool(name) and (
        name == site or name.replace(" ", "") in page.host.replace("-", "").replace(".", " ").split()
    )


def _bylines(page: Page) -> list[str]:
    """Visible bylines outside of comments and side columns: the first that gives names."""
    for element in _BYLINE(page.tree)[:40]:
        if _is_aside(element):
            continue
        text = text_of(element, 400)
        if 3 < len(text) <= 120 and clean_authors([text]) and (_BY.match(text) or _capitalised(text)):
            return [text]
    return []


def _capitalised(text: str) -> bool:
    names = text.split()
    return 2 <= len(names) <= 8 and all(
        word[0].isupper() or not word[0].isalpha() or len(word) <= 3 for word in names
    )


def _is_aside(element: HtmlElement) -> bool:
    chain = [element, *element.iterancestors()]
    return any(
        _ASIDE.search(f"{e.get('class') or ''} {e.get('id') or ''}") or e.tag in ("footer", "aside", "nav")
        for e in chain[:12]
    )
