"""Finds the headline of an article and removes the name of the site from it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice
from urllib.parse import urlsplit

from lxml import etree
from lxml.html import HtmlElement

from newsbot import urls
from newsbot.items import Link, Where
from newsbot.pages.extraction.fields import (
    FEED,
    JSON_LD,
    META,
    MICRODATA,
    OPEN_GRAPH,
    SITEMAP,
    VISIBLE,
    Candidate,
)
from newsbot.pages.extraction.page import Page, first_text
from newsbot.pages.extraction.visible import text_of, xpath
from newsbot.pages.text.languages import compiled
from newsbot.pages.text.languages import words as words_of
from newsbot.pages.text.words import is_template, key, plain, size, words

# --- names of the site

MAX_TITLE = 400
"""Maximum length of a headline. Longer headlines are cut."""

# e.g. "Headline | Site", "Headline - Site", "Headline_Site", "Headline: example.org". Separators that words
# may contain, such as "-", count only between spaces.
_SEPARATOR = re.compile(
    r"\s+[|¦│‖•·«»‹›—–\-:/~]{1,2}\s+|\s*[|｜│‖ㅣ]\s*|\s+::\s+|\s*»\s*$|--|_(?=[^_]{2,20}$)|\s*›\s*"
    r"|:\s+(?=[\w-]{2,20}\.[a-z]{2,4}$)"
)
_NO_HEADLINE = (
    r"[\w-]{2,20}\.(?:com|org|net|info|news|tv|eu|de|at|ch|fr|it|es|pt|pl|cz|sk|hu|ro|bg|gr|tr|nl|be|se|no|dk|"
    r"fi|is|ie|lt|lv|ee|by|kz|ru|ua|uk|us|ca|au|nz|in|id|my|sg|jp|kr|cn|tw|hk|vn|il|za|br|mx|ar|cl|co|me)|\d{1,4}[./-]\d{1,2}[./-]\d{2,4}|"
    r"%(page)s\s\d{1,3}"
)
"""Parts of a title that are never a headline: a host name, a date, a page number."""
_DATED = re.compile(r",\s\d{1,2}\.\d{1,2}\.\d{4}$")
"""The date after the name of the site: "… - РИА Новости, 03.05.2024"."""
_COLON = re.compile(r"\s*[:：]\s*")
_SITE_ENDS = r"[\u3400-\u9fff\w]{1,10}%(site_ends)s"
"""The name of a Chinese site."""
_UNSPACED = re.compile(
    r"(?<=[\u3040-\u9fff\uac00-\ud7af\uff00-\uff65”’])(?:[-_–－＿]{1,2}|(?<!—)—)(?=[^-_–—－＿\s]{2,20}$)"
)
"""The dash before the name of a Chinese or Japanese site, without spaces: "新闻标题-新华网"."""
_SECTION = re.compile(r"(?<=[\u3040-\u9fff\uac00-\ud7af\uff01-\uff65”’])[_＿][^_＿\s]{2,8}$")
"""The section before the name of a Chinese site, between underscores: "新闻标题_社会_新华网"."""
# Cyrillic letter -> Latin letters.
_ROMAN = dict(zip("абвгдежзийклмнопрстуфхцчшщъыьэюяёіїєґў", (
    "a", "b", "v", "g", "d", "e", "zh", "z", "i", "y", "k", "l", "m", "n", "o", "p", "r", "s", "t", "u", "f",
    "h", "c", "ch", "sh", "sch", "", "y", "", "e", "yu", "ya", "e", "i", "i", "e", "g", "u",
), strict=True))  # fmt: skip


def clean_title(title: str, sites: Sequence[str]) -> str:
    """Return ``title`` without a leading or trailing part that names the site.

    ``sites`` is the result of :func:`site_names`.

    >>> clean_title("Rain in May - The Daily News", ["daily news"])
    'Rain in May'
    """
    title = plain(title)[:MAX_TITLE]
    # The name may occur on both sides or twice: "Rain in May | The Daily News | dailynews.com".
    for _ in range(3):
        shorter = _without_label(_without_site(title, sites), sites)
        if shorter == title:
            break
        title = shorter
    title = _ANCHOR.sub("", title).strip(" |│›–—-")
    return title if "«" in title else title.strip(" |│»›–—-")


_ANCHOR = re.compile(r"\s?[¶🔗]\s*$|\s#\s*$")
"""The link of a heading to itself, which generators of documents add."""


def _without_site(title: str, sites: Sequence[str]) -> str:
    parts = _separators(title)
    if not parts:
        return title
    # Only the first and the last part can be the name of the site. A part between them is never the name.
    last, first = parts[-1], parts[0]
    tail = title[last.end() :]
    if (_names_site(tail, sites) or compiled(_NO_HEADLINE).fullmatch(tail)) and title[: last.start()].strip():
        return _SECTION.sub("", title[: last.start()])
    if _names_site(title[: first.start()], sites) and title[first.end() :].strip():
        return title[first.end() :]
    return title


def _separators(title: str) -> list[re.Match[str]]:
    """Return the separators in a title. The end of a quotation («…») is none."""
    found = _SEPARATOR.finditer(title)
    return [match for match in found if match[0].strip() != "»" or "«" not in title[: match.start()]]


def _without_label(title: str, sites: Sequence[str]) -> str:
    """Remove the name of the site before or after a colon, or after a dash without spaces.

    A single word (in ASCII) before or after a colon is kept, because it may be the subject of the story. A
    dash without spaces counts only in languages that are written without spaces.
    """
    dash = _UNSPACED.search(title)
    if dash is not None and (
        key(tail := title[dash.end() :]) in sites or compiled(_SITE_ENDS).fullmatch(tail)
    ):
        return _SECTION.sub("", title[: dash.start()])
    colons = list(_COLON.finditer(title))
    for at in (colons[-1], colons[0]) if colons else ():
        head, tail = title[: at.start()], title[at.end() :]
        for part, rest in ((tail, head), (head, tail)):
            name = key(part)
            known = name in sites or name.replace(" ", "") in sites
            if known and (" " in name or not name.isascii()) and rest.strip():
                return rest
    return title


def _names_site(part: str, sites: Sequence[str]) -> bool:
    name = key(_DATED.sub("", part))
    if not name:
        return True
    return len(name) < 60 and any(_is_name_of(name, site) for site in sites)


def _is_name_of(name: str, site: str) -> bool:
    # Names are compared without spaces, because host names have none.
    together, joined = site.replace(" ", ""), name.replace(" ", "")
    if name == site or joined == together or _romanised(joined) == together:
        return True
    # One name may contain the other: "Example" and "example.org". If the part is much longer than the name of
    # the site, it is a headline.
    shorter, longer = sorted((joined, together), key=len)
    parts = name.split()
    if len(shorter) >= 4 and shorter in longer:
        return len(parts) <= len(site.split()) + 3 and len(longer) < 3 * len(shorter)
    # A short name must be a whole word, and the other words must be common: "BBC News" at bbc.co.uk.
    if any(_romanised(end) == site for end in (parts[0], parts[-1])) and all(
        part in words_of("site_words") or _romanised(part) == site for part in parts
    ):
        return True
    return len(parts) > 1 and site.isascii() and 3 <= len(site) <= 20 and _abbreviates(site, parts)


def _abbreviates(label: str, parts: Sequence[str]) -> bool:
    """True if ``label`` consists of the first letters of ``parts`` in order: nytimes, wsj, latimes.

    >>> _abbreviates("nytimes", ["the", "new", "york", "times"])
    True
    """
    # ``reached`` has positions in the label. Up to such a position, the label consists of the first letters
    # of the parts that were read so far. Every part except articles and "and" must contribute at least one
    # letter.
    reached = {0}
    for part in parts:
        further = set(reached) if part in words_of("articles") else set()
        for start in reached:
            for length in range(1, min(len(part), len(label) - start) + 1):
                if label[start + length - 1] != part[length - 1]:
                    break
                further.add(start + length)
        reached = further
    return len(label) in reached


def _romanised(word: str) -> str:
    """Return a Cyrillic word in the Latin letters of host names.

    >>> _romanised("фонтанка")
    'fontanka'
    """
    return word if word.isascii() else "".join(_ROMAN.get(sign, sign) for sign in word)


def _leads_up(heading: HtmlElement, page: Page) -> bool:
    """True for a heading that names the site or a section.

    Such a heading is a link to a folder above the page's URL.
    """
    link = next(chain(heading.iter("a"), heading.iterancestors("a")), None)
    target = urls.resolve(page.url, link.get("href") or "") if link is not None else None
    # A single heading is the headline, even if it is a link, as on a home page with one story. But if the
    # title of the page ends with its text, the single heading is the logo.
    is_name = key(page.title_tag).endswith(f" {key(text_of(heading, 100))}")
    if target is None or (len(page.h1) < 2 and not is_name and heading not in page.logos):
        return False
    there, here = urlsplit(target), page.parts.path
    folder = re.sub(r"/index\.\w{3,5}$", "/", there.path or "/")
    return there.hostname == page.host and folder.endswith("/") and here != folder and here.startswith(folder)


def site_names(page: Page) -> list[str]:
    """Return the possible names of the site as keys (:func:`~newsbot.pages.text.words.key`).

    They come from the metadata, the publisher, headings that link to the site, and the labels of the host.
    """
    publisher = page.article.get("publisher") if page.article else None
    raw = [
        page.meta("og:site_name"),
        page.meta("application-name"),
        page.meta("twitter:site").lstrip("@"),
        page.meta("apple-mobile-web-app-title"),
        first_text(page.nodes.follow(publisher)),
        *(text_of(heading, 100) for heading in page.h1[:3] if _leads_up(heading, page)),
        *(_SEPARATOR.split(text_of(logo, 100))[0] for logo in _logos(page)),
        *(page.home_names if page.logos else ()),
    ]
    labels = [
        label
        for label in page.host.split(".")
        if label not in ("www", "com", "co", "m", "org", "net", "news")
    ]
    own = labels[:-1] or labels  # without the top-level domain
    host = [page.host.removeprefix("www."), *[label for label in own if len(label) > 2 or len(own) == 1]]
    found = [key(name) for name in [*raw, *host] if name and len(name) < _LONGEST_NAME]
    return list(dict.fromkeys(filter(None, found)))


def _logos(page: Page) -> list[HtmlElement]:
    """Return the ``<h1>`` elements that name the site or a section: logos, and headings above the headline.

    The title of the page has the name of a section, and the headline does not.
    """
    if not page.headlines or page.headlines[0] in page.h1:
        return page.logos
    whole, headline = key(page.title_tag or page.meta("og:title")), key(text_of(page.headlines[0], MAX_TITLE))
    # A headline below its kicker is a part of the title too, and of the smaller heading with both of them.
    names = [(f" {key(text_of(one, 100))} ", one) for one in page.h1[:3]]
    sections = [one for name, one in names if name in f" {whole} " and name not in f" {headline} "]
    return [*page.logos, *sections]


_LONGEST_NAME = 60
_MOST_LINKS = 1000
"""Maximum number of links of a page that are compared with the parts of its title."""
_COPYRIGHT = re.compile(
    r"(?:©|\(c\)|\bcopyright\b)[\s\d©,–—-]*(?:by\s)?([^\d.|©][^.|©\n]{1,80})", re.IGNORECASE
)
_WITH_COPYRIGHT = xpath("//*[text()[contains(., '©') or contains(., '(c)') or contains(., 'opyright')]]")
_FEED_OF_SITE = re.compile(r"(?:/[^/]*){0,2}/?")


def _without_shown_name(title: str, page: Page) -> str:
    """Return ``title`` without its first or last part, if the page shows this part as the name of its site.

    Such names are less certain than :func:`site_names`, so they are compared exactly.
    """
    spans = [match.span() for match in (*_separators(title), *_COLON.finditer(title))]
    if not spans:
        return title
    (_, last), (first, end) = max(spans), min(spans)
    before_last = title[: max(spans)[0]]
    shown = _shown_names(page)
    if key(title[last:]) in shown and len(before_last) > len(title) - last:
        return _SECTION.sub("", before_last)
    return title[end:] if key(title[:first]) in shown and len(title) - end > first else title


def _is_shown_name(title: str, page: Page) -> bool:
    """True if the page has another headline, and shows its whole title as the name of its site."""
    name = key(title)
    return (
        len(title) < _LONGEST_NAME
        and len(page.headings) == 1
        and name != key(page.headings[0])
        and name in _shown_names(page)
    )


def _shown_names(page: Page) -> set[str]:
    """Return the keys of the texts of a page that may be the name of its site.

    They are metadata, titles of feeds, links to the home page, and copyright lines.
    """
    stated = page.meta_all("copyright", "publisher", "dc.publisher")
    found = [*stated]
    for link in islice(page.tree.iter("link"), _MOST_LINKS):
        title, path = link.get("title") or "", _path_on_site(link.get("href") or "", page)
        if "alternate" in (link.get("rel") or "") and path is not None and _FEED_OF_SITE.fullmatch(path):
            found += (title, *_SEPARATOR.split(title))
    shown = (text_of(element, 500) for element in islice(_WITH_COPYRIGHT(page.tree), 20))
    for match in chain.from_iterable(map(_COPYRIGHT.finditer, (*stated, *shown))):
        found += (match[1], match[1].partition(",")[0])
    return {key(name) for name in found if len(name) < _LONGEST_NAME} | page.home_names


def _path_on_site(href: str, page: Page) -> str | None:
    target = urls.resolve(page.url, href) if len(href) < 200 else None
    there = urlsplit(target) if target is not None else None
    return (there.path or "/") if there is not None and there.hostname == page.host else None


# --- headlines

# A separator after a headline. The name of the site or of a section follows it.
_TAILED = re.compile(r"\s*(?:[|¦│‖•·»›/]|::|\s[–—\-]\s|:\s[^–—\-]|-\w{1,12}$)")
# Separators that rarely occur inside a headline.
_STRONG = re.compile(r"\s*[|│‖ㅣ]\s*|\s+(?:::+|»|›|«)\s+")
_IN_TRAIL = re.compile(r"bread-?crumb|seo-?title", re.IGNORECASE)
_NEXT_LINE = frozenset({"br", "small", "div", "p", "h2", "h3"})
_LEAST_LINE = 20
"""Minimum length of a heading's first line that can be the headline without the other lines."""


def title_candidates(page: Page, hint: Link | None) -> Iterator[Candidate[str]]:
    """Yield possible headlines, without the name of the site.

    The confidence depends on the source. :func:`choose_title` adds points for the agreement between sources.
    """
    sites = site_names(page)
    raw: list[tuple[str, str, float]] = []
    if page.article is not None:
        raw.append((first_text(page.article.get("headline")), JSON_LD, 0.82))
        raw.append((first_text(page.article.get("name")), JSON_LD, 0.7))
    raw.append((page.meta("og:title"), OPEN_GRAPH, 0.81))
    raw.extend((text, VISIBLE, trust) for text, trust in _visible(page))
    if page.headlines and page.headlines[0] not in page.h1 and (_logos(page) or not page.h1):
        raw.append((text_of(page.headlines[0], MAX_TITLE), VISIBLE, 0.8 if page.h1 else 0.6))
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
    alone = True
    for text, method, confidence in raw:
        title = clean_title(text, sites) if text else ""
        if _usable(title, sites):
            alone = False
            yield Candidate(title, method, confidence - (0.25 if key(title) in for_search else 0.0))
    # The <title> often contains the section and the site too. Its longest part is usually the headline.
    longest = max(_STRONG.split(page.title_tag), key=len)
    title = clean_title(_without_shown_name(longest, page) if alone else longest, sites)
    is_home = not alone and key(title) in page.home_names
    if _usable(title, sites) and not is_home and not _is_shown_name(title, page):
        yield Candidate(title, META, 0.5)


def _visible(page: Page) -> Iterator[tuple[str, float]]:
    """Yield the texts of the ``<h1>`` headings, each with its confidence.

    The first line of a heading with two lines is yielded too.
    """
    trust = 0.86
    for heading in page.h1:
        if trust < 0.6:
            return
        text = text_of(heading)
        if not text or heading in page.logos:
            continue
        yield text, trust
        # The second line is usually a subtitle, so the first line alone is trusted a little more.
        lead = plain(heading.text or "")
        if len(lead) >= _LEAST_LINE and any(child.tag in _NEXT_LINE for child in heading):
            yield lead, trust + 0.01
        # The first element may be the name of the section. If so, the metadata have the rest alone.
        if not lead and len(heading) and text.startswith(kicker := text_of(heading[0], MAX_TITLE)):
            yield text[len(kicker) :].strip(), trust - 0.01
        trust -= 0.1  # a heading further down more often belongs to another part of the page
    # Without a headline of the first level, the heading that is directly above the text is the headline.
    if all(key(heading) in words_of("no_titles") for heading in page.headings) and (
        above := _above_text(page)
    ):
        yield above, trust - 0.1


def headline_over_text(page: Page) -> str:
    """Return the text of the ``<h1>`` that the reader sees above the text, or an empty string."""
    found = next((one for one in page.headlines[:3] if one in page.h1 and _is_over_text(one, page)), None)
    return clean_title(text_of(found), site_names(page)) if found is not None else ""


def _is_over_text(heading: HtmlElement, page: Page) -> bool:
    """True for an ``<h1>`` that the reader sees directly above the text, and that names no section."""
    name = key(text_of(heading, MAX_TITLE))
    if heading in page.logos or _is_for_search(heading):
        return False
    if len(name.split()) < _LEAST_SHOWN and not _HEADLINE(heading.get("class") or ""):
        return False
    if name in map(key, _SEPARATOR.split(page.title_tag)[1:]) or name == key(page.meta("article:section")):
        return False
    if any(key(text_of(link, MAX_TITLE)) == name for link in islice(page.tree.iter("a"), _MOST_LINKS)):
        return False
    boxes = islice(chain((heading,), heading.iterancestors()), _HEAD_BOXES)
    # The paragraphs follow the heading, or are in a box that follows it.
    following = (
        (one,) if one.tag == "p" else islice(one.iterchildren("p"), 12)
        for box in boxes
        for one in islice(box.itersiblings(etree.Element), 12)
    )
    long = (p for p in chain.from_iterable(following) if size(text_of(p, 100)) > 60)
    return sum(1 for _ in islice(long, _LEAST_PARAGRAPHS)) == _LEAST_PARAGRAPHS


_LEAST_SHOWN = 4
"""Minimum number of words of a headline that no markup names. Headings of sections are shorter."""
_HEAD_BOXES = 3
"""A heading and the boxes around it whose next siblings may be the paragraphs of the text."""


def _above_text(page: Page) -> str:
    """Return the text of the first ``<h2>`` or marked headline that paragraphs follow, or an empty string."""
    marked = (
        one
        for one in page.tree.iter("h2", "h3", "div", "p", "span")
        if one.tag == "h2" or one.get("itemprop") == "headline" or _HEADLINE(one.get("class") or "")
    )
    for heading in islice(marked, MAX_ABOVE):
        text = text_of(heading, MAX_TITLE)
        follow = sum(1 for one in islice(heading.itersiblings(), 12) if one.tag == "p")
        if text and follow >= _LEAST_PARAGRAPHS and not page.is_aside(heading, _ASIDE, _ASIDE_TAGS):
            return text
    return ""


MAX_ABOVE = 40
"""Maximum number of smaller headings that are looked at."""
_HEADLINE = re.compile(
    r"(?:^|\s)(?:headline|(?:entry|post|article|news|story)-?(?:title|headline))(?:\s|$)"
).search
_LEAST_PARAGRAPHS = 2
_ASIDE = re.compile(r"comment|related|sidebar|recommend|popular|latest|teaser", re.IGNORECASE)
_ASIDE_TAGS = frozenset({"aside", "nav", "form"})


def _is_for_search(heading: HtmlElement) -> bool:
    """True for a heading that is part of the breadcrumbs or made for search engines.

    Readers see another headline.
    """
    return bool(_IN_TRAIL.search(" ".join(part for pair in heading.items() for part in pair)))


def _usable(title: str, sites: list[str]) -> bool:
    name = key(title)
    if is_template(title[:3]):
        return False
    return bool(name) and name not in words_of("no_titles") and name not in sites and len(title) >= 2


def choose_title(
    candidates: list[Candidate[str]], shown: Callable[[], str] = lambda: ""
) -> Candidate[str] | None:
    """Return the headline with the most evidence, or None if there are no candidates.

    A candidate gains points if candidates of other sources have the same words. It gains fewer points if
    these candidates have more words or are cut short. A candidate loses points if another candidate equals
    its beginning up to a separator, because the rest is then a section or the name of the site. A heading
    also loses points if it shares few words with the metadata, because it then belongs to another part of the
    page. But if it is ``shown()`` (:func:`headline_over_text`), the metadata have a title for search engines.
    """
    if not candidates:
        return None
    keys = [key(candidate.value) for candidate in candidates]
    scores = [
        candidate.confidence + _support(index, candidates, keys) - _doubt(index, candidates, keys, shown)
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


_SEEN = 0.15
"""The points that a heading above the text gains over metadata with other words."""


def _doubt(index: int, candidates: list[Candidate[str]], keys: list[str], shown: Callable[[], str]) -> float:
    """Return the points that a candidate loses."""
    doubt = 0.0
    own = candidates[index].value
    # Another candidate is the same except for " - Daily News" or ": Politics" at the end.
    if any(_is_tailed(own, other.value) for other in candidates):
        doubt += 0.25
    if candidates[index].method == VISIBLE:
        mine = set(keys[index].split())
        stated = [keys[o] for o, other in enumerate(candidates) if other.method != VISIBLE]
        if stated and not any(len(mine & set(name.split())) * 2 >= len(mine) for name in stated):
            other = not any(len(mine & set(name.split())) * 2 >= len(set(name.split())) for name in stated)
            doubt += -_SEEN if other and keys[index] == key(shown()) else 0.4
        elif keys[index] not in stated and any(
            _calls(name, keys[o]) and len(keys[o]) > len(keys[index])
            for o, other in enumerate(candidates)
            for name in stated
            if other.method == VISIBLE
        ):
            doubt += 0.2  # the metadata state a longer heading, so this heading names the site
    return doubt


def _calls(name: str, heading: str) -> bool:
    """True if ``name`` equals ``heading``, alone or with the name of the site before or after it."""
    return name == heading or name.startswith(f"{heading} ") or name.endswith(f" {heading}")


def _is_tailed(long: str, short: str) -> bool:
    """True if ``long`` consists of ``short``, a separator and a short rest."""
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
