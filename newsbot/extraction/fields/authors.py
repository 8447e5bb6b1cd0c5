"""Who wrote an article: a clean list of names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain, islice
from typing import Any

from lxml.html import HtmlElement

from newsbot.extraction.fields.author_marks import AuthorMarks, author_marks
from newsbot.extraction.fields.evidence import JSON_LD, META, MICRODATA, RULE, VISIBLE, Candidate
from newsbot.extraction.fields.names import BY, MAX_AUTHORS, clean_authors
from newsbot.extraction.fields.site_name import site_names
from newsbot.extraction.page.jsonld import Nodes, texts, types_of
from newsbot.extraction.page.page import Page, text_of, xpath
from newsbot.extraction.strings import key

MAX_LOOKED_AT = 10_000
MAX_LABELLED = 300
"""Lines with a label that are read for names."""
VISIBLE_TRUST = 0.5
_SITE_TRUST = 0.3

_LABEL = re.compile(
    r"[(\[]?(?:(?P<sure>(?:责编|责任编辑|作者|撰文|記者|文／|기자)\s?[:：]?|"
    r"(?:by|von|par|por|di|door|av|af|text|texte|words|story|текст|автор(?:ы)?|aut(?:h)?or(?:en|in|es|a|e)?|"
    r"autorin/autor|auteur|redazione|redaktion|yazan|haber)\s?[:：]|autorin/autor\b)|(?:by|von|par|por)\s)",
    re.IGNORECASE,
)
"""What stands before the names in a line; after a ``sure`` one anything that may be a name is one."""
_RIGHT = re.compile(r"text-align\s*:\s*right|;\s*right\s*$", re.IGNORECASE)
_NAME = xpath(".//*[@itemprop='name']")
_ASIDE = re.compile(r"comment|related|sidebar|footer|recommend|widget|bio\b|popular|social", re.IGNORECASE)


def author_candidates(page: Page) -> Iterator[Candidate[list[str]]]:
    """Yield lists of authors by source: JSON-LD, microdata, meta.

    The site's own name beside others is none of them; alone, it is the last thing to believe.
    """
    for candidate in _stated_authors(page):
        others = [name for name in candidate.value if not _is_site(name, page)]
        if others:
            yield Candidate(others, candidate.method, candidate.confidence)
        else:
            yield Candidate(candidate.value, candidate.method, _SITE_TRUST)


def _stated_authors(page: Page) -> Iterator[Candidate[list[str]]]:
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
                "citation_author",
                "dc.creator",
                "dcterms.creator",
                "dcsext.author",
                "mediator_author",
                "articleauthor",
                "article_author",
                "article-author",
                "author_name",
                "author-name",
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
    """Return the names of the visible byline; asked only where nothing else names persons."""
    found = clean_authors(_bylines(page))
    return Candidate(found, VISIBLE, VISIBLE_TRUST) if found else None


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
            isinstance(item, dict) and not any("Organization" in name for name in types_of(item))
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
    name = key(name)
    sites = [*site_names(page), key(page.meta("copyright", "publisher", "dc.publisher"))]
    return bool(name) and (
        name.replace(" ", "") in (labels := page.host.replace("-", "").replace(".", " ").split())
        or (" " in name and "".join(word[0] for word in name.split()) in labels)
        or any(name == site or (len(site) > 2 and name.startswith(f"{site} ")) for site in sites)
    )


def _bylines(page: Page) -> list[str]:
    """Visible bylines outside of comments and side columns: the first that gives names."""
    marks = author_marks(page.tree)
    if marked := _marked_names(page, marks):
        return marked
    for element in marks.named:
        if _is_aside(element, page):
            continue
        text = text_of(element, 400)
        if 3 < len(text) <= 120 and clean_authors([text]) and (BY.match(text) or _capitalised(text)):
            return [text]
    return _labelled_names(page) or _signature(page)


def _labelled_names(page: Page) -> list[str]:
    """Names behind a label in a line of their own: "Von: Jane Doe", "责编：牛镛"."""
    lines = page.tree.iter("p", "li", "div", "span", "small", "td", "em", "i")
    labelled = (element for element in islice(lines, MAX_LOOKED_AT) if _LABEL.match(_start(element)))
    for element in islice(labelled, MAX_LABELLED):
        text = text_of(element, 200).strip("()[] ")
        label = _LABEL.match(text)
        if label is None or len(text) > 100 or _is_aside(element, page):
            continue
        names = clean_authors([text[label.end() :]])
        if names and (label["sure"] or all(_is_full_name(name) for name in names)):
            return names
    return []


def _signature(page: Page) -> list[str]:
    """The full name that closes a text, set at the right: "<p align=right><b>Jane Doe</b></p>"."""
    for element in islice(page.tree.iter("p", "div"), MAX_LOOKED_AT):
        placed = f"{element.get('style') or ''};{element.get('align') or ''}"
        if not _RIGHT.search(placed[:200]):
            continue
        names = clean_authors([text]) if 4 < len(text := text_of(element, 100)) <= 60 else []
        if names and all(_is_full_name(name) for name in names) and not _is_aside(element, page):
            return names
    return []


def _start(element: HtmlElement) -> str:
    """The first words in an element, be they in an element of their own."""
    own = (element.text or "").strip()
    if own or not len(element):
        return own[:60]
    return (element[0].text or "").strip()[:60] + " "


def _is_full_name(name: str) -> bool:
    words = name.split()
    return 2 <= len(words) <= 4 and all(word[:1].isupper() for word in words)


def _marked_names(page: Page, marks: AuthorMarks) -> list[str]:
    """Names that markup alone makes certain, be they one word in small letters; those side by side."""
    names: list[str] = []
    beside: HtmlElement | None = None
    for element in marks.sure:
        parent = element.getparent()
        group = parent.getparent() if parent is not None else None
        text = text_of(element, 100)
        if (names and group is not beside) or not clean_authors([text]) or _is_aside(element, page):
            continue
        if text not in names:
            names.append(text)
        beside = group
    return names[:5]


def _capitalised(text: str) -> bool:
    names = text.split()
    return 2 <= len(names) <= 8 and all(
        word[0].isupper() or not word[0].isalpha() or len(word) <= 3 for word in names
    )


def _is_aside(element: HtmlElement, page: Page) -> bool:
    for box in islice(chain((element,), element.iterancestors()), 12):
        if box in page.around_headline or box.tag == "body":
            return False
        names = f"{box.get('class') or ''} {box.get('id') or ''}"
        if box.tag in ("footer", "aside", "nav") or _ASIDE.search(names):
            return True
    return False
