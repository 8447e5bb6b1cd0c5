"""Finds the smaller fields of an article: summary, section, tags and picture."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from newsbot import urls
from newsbot.pages.extraction.fields import JSON_LD, META, MICRODATA, OPEN_GRAPH, Candidate
from newsbot.pages.extraction.page.canonical import base_of
from newsbot.pages.extraction.page.jsonld import first_text, texts
from newsbot.pages.extraction.page.page import Page, text_of
from newsbot.pages.extraction.strings import key, plain, word_list

MAX_SUMMARY = 2000
"""Maximum length of a summary, in characters."""
MAX_TAGS = 30
"""Maximum number of tags of an article."""

_COMMA = re.compile(r"\s*[,;|]\s*")


def summary(page: Page, title: str) -> Candidate[str] | None:
    """Return the short description that the page states, or None.

    A description that is short or only repeats the title does not count.
    """
    metas = ("description", "twitter:description", "dc.description", "sailthru.description")
    for text, method in _stated(page, "description", ("og:description",), metas):
        if len(text) >= 20 and key(text) != key(title):
            return Candidate(text[:MAX_SUMMARY], method, 0.8)
    return None


def section(page: Page) -> Candidate[str] | None:
    """Return the section in the metadata of the page, or None."""
    metas = word_list(
        "parsely-section section cxenseparse:section sailthru.section category dc.subject.section"
    )
    for text, method in _stated(page, "articleSection", ("article:section", "og:article:section"), metas):
        # Some sites state the URL or the number of the section instead of its name.
        if 1 < len(text) <= 80 and not text.startswith(("http:", "https:")) and not text.isdecimal():
            return Candidate(text, method, 0.8)
    return None


def _stated(
    page: Page, name: str, open_graph: Sequence[str], metas: Sequence[str]
) -> Iterator[tuple[str, str]]:
    """Yield the values of a field with their methods, in the order JSON-LD, Open Graph, meta, microdata.

    ``name`` is the name of the field in JSON-LD and microdata. A value may be empty.
    """
    yield first_text((page.article or {}).get(name)), JSON_LD
    yield page.meta(*open_graph), OPEN_GRAPH
    yield page.meta(*metas), META
    for item in page.items.get(name, [])[:1]:
        yield item.get("content") or text_of(item, MAX_SUMMARY), MICRODATA


def tags(page: Page, title: str) -> Candidate[list[str]] | None:
    """Return the keywords of the first source that has keywords, or None."""
    node = page.article or {}
    for values, method in (
        (texts(node.get("keywords")), JSON_LD),
        (page.meta_all("article:tag", "og:article:tag"), OPEN_GRAPH),
        (page.meta_all("news_keywords", "parsely-tags", "sailthru.tags", "keywords"), META),
    ):
        found = clean_tags(values, title)
        if found:
            return Candidate(found, method, 0.8)
    return None


def clean_tags(values: Iterable[str], title: str = "") -> list[str]:
    """Return the tags in ``values``, which may be lists separated by commas.

    Duplicates, machine keys (``type:article``) and the title are left out.
    """
    found: dict[str, str] = {}
    for value in values:
        for part in _COMMA.split(plain(value[:5000])):
            name = key(part)
            # A long tag is a sentence: some sites repeat their description as keywords.
            if (
                name
                and len(part) <= 60
                and name != key(title)
                and ":" not in part
                and not part.startswith("http")
            ):
                found.setdefault(name, part.strip("#\"' "))
    return list(found.values())[:MAX_TAGS]


def image(page: Page) -> Candidate[str] | None:
    """Return the absolute URL of the main picture, or None."""
    for value, method in _images(page):
        resolved = urls.resolve(base_of(page), value) if value and len(value) < 2000 else None
        if resolved is not None:
            return Candidate(resolved, method, 0.8)
    return None


def _images(page: Page) -> Iterator[tuple[str, str]]:
    yield page.meta("og:image", "og:image:secure_url", "og:image:url"), OPEN_GRAPH
    if page.article is not None:
        yield _address(page.nodes.follow(page.article.get("image"))), JSON_LD
    yield page.meta("twitter:image", "twitter:image:src", "thumbnail"), META
    yield next(iter(page.links.get("image_src", ())), ""), META


def _address(value: Any) -> str:
    """Return the URL in the ``image`` of a JSON-LD node. The result is empty if there is none."""
    if isinstance(value, list):
        value = value[0] if value else None
    if isinstance(value, dict):
        value = value.get("url") or value.get("contentUrl") or value.get("@id")
        if isinstance(value, list):
            value = value[0] if value else None
    return value if isinstance(value, str) else ""
