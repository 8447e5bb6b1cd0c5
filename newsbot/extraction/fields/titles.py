"""Finds the headline of an article and removes the name of the site from it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lxml.html import HtmlElement

from newsbot.extraction.fields.evidence import (
    FEED,
    JSON_LD,
    META,
    MICRODATA,
    OPEN_GRAPH,
    SITEMAP,
    VISIBLE,
    Candidate,
)
from newsbot.extraction.fields.site_name import clean_title, site_names
from newsbot.extraction.page.jsonld import first_text
from newsbot.extraction.page.page import Page, text_of
from newsbot.extraction.strings import key, plain, words
from newsbot.items import Link, Where
from newsbot.text.languages import words as words_of

# The start of the text that follows a headline: a separator before the name of the site or section.
_TAILED = re.compile(r"\s*(?:[|¦│‖•·»›/]|::|\s[–—\-]\s|:\s[^–—\-]|-\w{1,12}$)")
# Separators that hardly ever occur inside a headline.
_STRONG = re.compile(r"\s*[|│‖ㅣ]\s*|\s+(?:::+|»|›|«)\s+")
_IN_TRAIL = re.compile(r"bread-?crumb|seo-?title", re.IGNORECASE)
_NEXT_LINE = frozenset({"br", "small", "div", "p", "h2", "h3"})
_LEAST_LINE = 20
"""Minimum length of the first line of a heading that can be the headline alone."""


def title_candidates(page: Page, hint: Link | None) -> Iterator[Candidate[str]]:
    """Yield possible headlines, from which the name of the site is removed.

    The confidence depends on the source. :func:`choose_title` adds points for the agreement between sources.
    """
    sites = site_names(page)
    raw: list[tuple[str, str, float]] = []
    if page.article is not None:
        raw.append((first_text(page.article.get("headline")), JSON_LD, 0.82))
        raw.append((first_text(page.article.get("name")), JSON_LD, 0.7))
    raw.append((page.meta("og:title"), OPEN_GRAPH, 0.81))
    raw.extend((text, VISIBLE, trust) for text, trust in _visible(page))
    for_search = {key(clean_title(text_of(heading), sites)) for heading in page.h1 if _is_for_search(heading)}
    raw.extend(
        (item.get("content") or text_of(item, 600), MICRODATA, 0.8)
        for item in page.items.get("headline", [])[:1]
    )
    raw.append((page.meta("twitter:title"), META, 0.74))
    raw.append(
        (
            page.meta(
                "citation_title", "dc.title", "parsely-title", "sailthru.title", "title", "cxenseparse:title"
            ),
            META,
            0.72,
        )
    )
    if hint is not None and hint.text and hint.where in (Where.FEED, Where.NEWS_SITEMAP, Where.PUSH):
        raw.append((hint.text, SITEMAP if hint.where is Where.NEWS_SITEMAP else FEED, 0.73))
    # The <title> often contains the section and the site too. Its longest part is usually the headline.
    raw.append((max(_STRONG.split(page.title_tag), key=len), META, 0.5))
    for text, method, confidence in raw:
        title = clean_title(text, sites) if text else ""
        if _usable(title, sites):
            yield Candidate(title, method, confidence - (0.25 if key(title) in for_search else 0.0))


def _visible(page: Page) -> Iterator[tuple[str, float]]:
    """Yield the texts of the ``<h1>`` headings, each with its confidence.

    If a heading has two lines, its first line is yielded too.
    """
    trust = 0.86
    for heading in page.h1:
        text = text_of(heading)
        if not text or trust < 0.6:
            continue
        yield text, trust
        # The second line is usually a subtitle, so the first line alone is trusted a little more.
        lead = plain(heading.text or "")
        if len(lead) >= _LEAST_LINE and any(child.tag in _NEXT_LINE for child in heading):
            yield lead, trust + 0.01
        trust -= 0.1  # a heading further down is more often that of another part of the page


def _is_for_search(heading: HtmlElement) -> bool:
    """True for a heading that is part of the breadcrumbs or made for search engines.

    Readers see another headline.
    """
    return bool(_IN_TRAIL.search(" ".join(part for pair in heading.items() for part in pair)))


def _usable(title: str, sites: list[str]) -> bool:
    name = key(title)
    return bool(name) and name not in words_of("no_titles") and name not in sites and len(title) >= 2


def choose_title(candidates: list[Candidate[str]]) -> Candidate[str] | None:
    """Return the headline with the most evidence, or None if there are no candidates.

    A candidate gains points if candidates of other sources have the same words. It gains fewer points if they
    have more words or are cut short. It loses points if another candidate equals its beginning up to a
    separator, because the rest is then a section or the name of the site. A heading also loses points if it
    shares few words with the metadata, because it is then the heading of another part of the page.
    """
    if not candidates:
        return None
    keys = [key(candidate.value) for candidate in candidates]
    scores = [
        candidate.confidence + _support(index, candidates, keys) - _doubt(index, candidates, keys)
        for index, candidate in enumerate(candidates)
    ]
    return candidates[max(range(len(candidates)), key=lambda index: scores[index])]


def _support(index: int, candidates: list[Candidate[str]], keys: list[str]) -> float:
    """Return the points that a candidate gains by agreement with other sources."""
    # Candidates of the same source do not confirm each other: JSON-LD often repeats itself.
    votes = (
        0.06 if keys[other] == keys[index] else 0.02 if _near(keys[other], keys[index]) else 0.0
        for other, candidate in enumerate(candidates)
        if candidate.method != candidates[index].method
    )
    return min(sum(votes), 0.15)


def _doubt(index: int, candidates: list[Candidate[str]], keys: list[str]) -> float:
    """Return the points that a candidate loses."""
    doubt = 0.0
    own = candidates[index].value
    # Another candidate is the same without " - Daily News" or ": Politics" at the end.
    if any(_is_tailed(own, other.value) for other in candidates):
        doubt += 0.25
    if candidates[index].method == VISIBLE:
        mine = set(keys[index].split())
        stated = [keys[o] for o, other in enumerate(candidates) if other.method != VISIBLE]
        if stated and not any(len(mine & set(name.split())) * 2 >= len(mine) for name in stated):
            doubt += 0.4
        elif keys[index] not in stated and any(
            _calls(name, keys[o]) and len(keys[o]) > len(keys[index])
            for o, other in enumerate(candidates)
            for name in stated
            if other.method == VISIBLE
        ):
            doubt += 0.2  # the metadata state another, longer heading, so this one names the site
    return doubt


def _calls(name: str, heading: str) -> bool:
    """True if ``name`` equals ``heading``, alone or with the name of the site before or after it."""
    return name == heading or name.startswith(f"{heading} ") or name.endswith(f" {heading}")


def _is_tailed(long: str, short: str) -> bool:
    """True if ``long`` is ``short`` followed by a separator and a short rest."""
    if len(short) < 12 or len(long) <= len(short) or not long.startswith(short):
        return False
    rest = long[len(short) :]
    return bool(_TAILED.match(rest)) and len(rest) < 80


def _near(one: str, other: str) -> bool:
    return len(one) > 12 and len(other) > 12 and (one in other or other in one)


def same_title(one: str, other: str) -> bool:
    """True if two headlines share most of their words."""
    left, right = set(words(one)), set(words(other))
    return bool(left and right) and len(left & right) >= 0.8 * min(len(left), len(right))
