"""Finds the authors of an article, as a list of clean names.

A byline is the line on the page that names the authors, such as "By Jane Doe, Political Editor". Words such
as "by", job titles, dates, e-mail addresses and handles (@jane) are removed. News agencies are spelled in
several ways, and all spellings of an agency are converted to one name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache, lru_cache
from itertools import chain, islice, pairwise
from typing import Any
from zoneinfo import available_timezones

from lxml import etree
from lxml.html import HtmlElement

from newsbot.items import Link
from newsbot.pages.extraction.fields import FEED, JSON_LD, META, MICRODATA, RULE, VISIBLE, Candidate
from newsbot.pages.extraction.fields.date_candidates import beside, is_of_teaser
from newsbot.pages.extraction.fields.titles import site_names
from newsbot.pages.extraction.page import Nodes, Page, texts, types_of
from newsbot.pages.extraction.visible import pieces_of, text_of, xpath
from newsbot.pages.text.languages import compiled, pairs, words
from newsbot.pages.text.words import (
    is_full_name,
    is_small,
    is_template,
    is_uncased_name,
    key,
    plain,
    word_list,
)

# --- names in a byline

MAX_AUTHORS = 25
"""Maximum number of names of one article."""
MAX_BYLINES = 100
"""Maximum number of bylines that are read."""
_MAX_BYLINE = 1000
"""Maximum number of characters of a byline that are read."""

_AND = r"(?:&|%(and)s|(?-i:%(and_in_lower_case)s))"
"""Words between two names. Some words, such as "e" (Italian), count only in lower case, because "Mary E
Smith" is one name."""
_SPLIT = (
    rf"\s*[;|•/\n、，]\s*|\s*(?<![㐀-鿿])·\s*|\s*·(?![㐀-鿿])\s*|\s*[,،]\s+(?:{_AND}\s+)?|(?<=[a-zа-яё]),(?=[A-ZА-ЯЁ])|\s+{_AND}\s+|"
    r"\.?\s+(?=(?:%(photo_labels)s|%(text_labels)s)\s?[:：])|[／＝●]|\s+%(translated)s\s*[:：]?\s*"
)
BY = r"^(?:%(bylines)s\s*[:：\-–—.]?\s*)+|^%(byline_labels)s\s?[:：\-–]\s?"
"""Words before the first name of a byline."""
_PLACED = (
    r"^[(\[]?[가-힣]{2,8}\s?=(?:\s?[가-힣]{2,10}[)\]]?\s+(?!%(roles_behind)s))?|"
    r"^.{0,60}?\d.{0,30}?\s%(by)s\s+"
)
"""Text before the first name: town and agency in a Korean byline, or a date before the word "by"."""
_TAIL = (
    r"\s*(?:[(\[<].{0,80}[)\]>]|[-–—|]\s+(?:[A-ZА-Я][\w.]*\s?){1,4}|@\w+)\s*$|"
    r"\s+%(after_names)s.*$|\s+%(at)s\s\d{1,2}[:.h]\d\d\b.*$|\s+(?:%(on)s\s)?%(weekdays)s$|"
    r"\s+(?:%(on)s\s)?\d{1,2}\.?\s[^\W\d]{3,12}\.?\s(?:19|20)\d\d\b.*$|"
    r"(?<!^the)(?<=\w\w)\s+(?:the\s)?associated press$|"
    r"\s+(?-i:[Ff]or (?:[A-Z][\w.]+ ?){1,4})$"
)
_ADDRESS = re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4}")
_EDITED = r"[;,.]?\s*%(edited)s.*"
_IN_PLACE = (
    r"\s%(in_places)s\s(?-i:[A-ZÄÖÜ][\w.'’-]+(?:\s[A-ZÄÖÜ][\w.'’-]+){0,2}"
    r"(?:,\s[A-ZÄÖÜ][\w.]+)?)(?=$|[,;]|\s%(and)s\s)"
)
"""The place of a reporter after the name, as in "Jane Doe in Munich, Germany"."""
_ROLE_BEHIND = r"\s?%(roles_behind)s$"
_OFFICE = r"%(role_kinds)s(?:\s%(role_kinds)s){0,3}\s%(roles)s"
"""A job title directly after a name, without a comma: "Jane Doe Political Editor"."""
_ROLE = r"^(?:[\w-]+\s){0,3}%(role_kinds)s\s(?:[\w-]+\s){0,2}%(roles)ss?$|^[\w-]+\s%(roles)ss?$"
"""A part of a byline that is a job title and not a name. It is removed only if names remain."""
_NOT_A_NAME = (
    r"https?:|www\.|\.(?:com|org|net|ru|html?)/|^/|@|[<>{}=_#*\\]|\?$|\$\$|%%|\d{2}|\s\d$|%(not_names)s"
)
_SHORT = re.compile(r"(?:\b(?-i:[A-ZА-Я])|\b[JS]r)\.$")
"""A full stop that is part of the name, as in "Smith Jr."."""


def clean_authors(values: Iterable[str]) -> list[str]:
    """Return the names in the bylines ``values``. Each name is returned once.

    >>> clean_authors(["By Jane Doe and John Roe, jane@example.org"])
    ['Jane Doe', 'John Roe']
    """
    names: list[str] = []
    seen: set[str] = set()
    for value in islice(values, MAX_BYLINES):
        found = _names(value[:_MAX_BYLINE])
        # If there is also the name of a person, "Science Desk" is a job title and is removed. Alone, it is
        # the author.
        persons = [name for name in found if not compiled(_ROLE).match(name)]
        if any(is_full_name(name) for name in persons):  # "CEO" beside a name is a title too
            persons = [name for name in persons if not _is_title(name)]
        elif han := [name for name in persons if _HAN_NAME.fullmatch(name)]:
            persons = han
        for name in persons or found:
            if key(name) not in seen and len(names) < MAX_AUTHORS:
                seen.add(key(name))
                names.append(name)
    return names


_HAN_NAME = re.compile("[㐀-鿿々ぁ-んァ-ヴー]{2,6}(?:·[㐀-鿿]{1,8})*|[가-힣]{2,4}")
"""A Chinese, Japanese or Korean name. A name from another language has a dot between its parts."""
_HAN_LABEL = r"(?<![^\s|])(%(byline_labels)s|%(photo_labels)s)\s?[/／｜丨＝]\s?"
"""A label with a slash, a bar or a double line: "文/王小明 图/李丽", "文｜王小明", "文・写真＝王小明"."""
_COUNTRY = re.compile(r"^[\[［〔【(（][㐀-鿿]{1,3}[\]］〕】)）]\s*|^[㐀-鿿]{1,4}(?:部|支局|总局|総局)[・\s]")
"""The country of a foreign author, or the office, before the name: "[美] 约翰·史密斯", "政治部・山田太郎"."""
_REPORTERS = re.compile(r"(?<=记者)[:：\s]\s?[㐀-鿿]{2,4}(?:\s[㐀-鿿]{2,4})+$")
"""The names of Chinese reporters, with spaces between them: "本报记者 李大海 王小明"."""


def _is_title(name: str) -> bool:
    """True for a single word in capitals or in lower case that is not an agency."""
    return (name.isupper() or name.islower()) and " " not in name and agency_of(name) is None


@lru_cache(maxsize=512)  # the authors of a page are read several times, and a site has few authors
def _names(value: str) -> tuple[str, ...]:
    if is_template(value):
        return ()
    text = compiled(_EDITED).sub("", _ADDRESS.sub(" ", plain(value))).strip()
    text = compiled(_HAN_LABEL).sub(r"\1:", text)
    text = _REPORTERS.sub(lambda names: ":" + "、".join(names[0].strip(" :：").split()), text)
    text = _GLUED_BY.sub("", _before_date(compiled(_PLACED).sub("", text)).strip("[]［］【】（）"))
    by = compiled(BY)
    text = by.sub("", compiled(_IN_PLACE).sub("", text))
    # In Open Graph, article:author is the URL of a profile, and many sites follow this definition.
    if not text or text.startswith(("http:", "https:", "/", "www.")):
        return ()
    names: list[str] = []
    for part in compiled(_SPLIT).split(text):
        if compiled(r"%(photo_labels)s\s?[:：]").match(part or ""):
            continue
        # Each part may have its own "by" and its own job title: "Text: Jane Doe, Fotos: John Roe".
        name = by.sub("", (part or "").strip(' \t,:;-–—|="«»“”').lstrip("."))
        name = _COUNTRY.sub("", name)
        name = compiled(_ROLE_BEHIND).sub("", compiled(_TAIL).sub("", name))
        name = compiled(rf"^{_OFFICE}\s(?=(?-i:[A-Z])[\w.'’-]+\s\w)").sub("", name)
        if not compiled(rf"{_OFFICE}s?$").match(name):
            name = compiled(rf"(?<=\w\s)(?<=\w\w\s){_OFFICE}$").sub("", name).strip(" ,:;-–—|")
        if not _SHORT.search(name):
            name = name.rstrip(". ")
        if _is_name(name):
            names.append(name)
    return tuple(names)


_GLUED_BY = re.compile("^By(?=[A-Z][a-z])")
_ONE_LAST_FIRST = (
    r"\s*(?:(?:van|von|de|der|den|del|di|da|la|le)\s){0,3}[^\W\d_][^\W\d_’'-]*(?:[’'-][^\W\d_]+)?,\s"
    r"[^\W\d_]+(?:-[^\W\d_]+)?(?:\s[^\W\d_]\.?)?\s*"
)
_LAST_FIRST = re.compile(rf"{_ONE_LAST_FIRST}(?:;{_ONE_LAST_FIRST}){{0,20}}")
"""Matches names of the form "Last, First", with semicolons between them."""


def _in_order(value: str) -> str:
    """Return a value of the metadata with the first names first: "Doe, Jane" becomes "Jane Doe"."""
    if not _LAST_FIRST.fullmatch(value := plain(value)):
        return value
    turned = (one.strip().partition(", ") for one in value.split(";"))
    return "; ".join(f"{first} {last}" for last, _, first in turned)


_DATE = re.compile(
    r"(?<![\d./-])(?:\d{1,2}\.?\s[^\W\d]{3,12}\.?\s(?:19|20)\d\d|\d{1,2}[./-]\s?\d{1,2}[./-]\s?\d{2,4}|(?:19|20)\d\d[./-]\d{1,2}[./-]\d{1,2})(?![\d/-])"
)


def _before_date(text: str) -> str:
    """Return ``text`` without a date and what follows: "By Jane Doe on 27/11/2026, 10:04"."""
    date = _DATE.search(text)
    if date is None or len(text[: date.start()]) < _LEAST_BEFORE_DATE:
        return text
    return compiled(r"\W{0,5}(?:%(on)s|%(at)s)?\W{0,5}$").sub("", text[: date.start()])


_LEAST_BEFORE_DATE = 5
"""A date with fewer characters before it is at the start of the byline."""


def _is_name(name: str) -> bool:
    """True if the string may be the name of a person or an editorial office."""
    parts = key(name).split()
    if not 2 <= len(name) <= 60 or not any(sign.isalpha() for sign in name):
        return False
    if set(parts) <= words("no_authors") | words("articles") or "".join(parts) in words("degrees"):
        return False
    if name.count("(") != name.count(")"):  # _SPLIT has split a text in parentheses
        return False
    return len(name.split()) <= 6 and not compiled(_NOT_A_NAME).search(name)


# --- agencies
@cache
def _agencies() -> dict[str, str]:
    """Return a mapping from the key of each spelling to the name of the agency."""
    return {
        key(spelling): name
        for names in pairs("agencies").values()
        for name, spellings in names.items()
        for spelling in spellings.split(",")
    }


def agency_of(name: str) -> str | None:
    """Return the agency for ``name``, a name in a byline. Return None if it is not the name of an agency.

    >>> agency_of("Agence France-Presse")
    'AFP'
    """
    # The name is looked up twice: without words such as "mit" in "mit dpa", and with all its words, because
    # "belga news agency" is a separate spelling.
    parts = [part for part in key(name).split() if part not in words("agency_words")]
    return _agencies().get(" ".join(parts)) or _agencies().get(key(name))


def named_agencies(page: Page, authors: Iterable[str]) -> list[str]:
    """Return the agencies among ``authors`` and in the page's metadata about its sources.

    Each agency is returned once.
    """
    node = page.article or {}
    stated = [
        text
        for field in ("sourceOrganization", "provider", "creditText", "contributor")
        for text in texts(page.nodes.follow(node.get(field)))
    ]
    stated += page.meta_all("article:source", "source", "source-organization", "news_source", "dc.source")
    found = [agency_of(name) for name in (*authors, *stated[:20])]
    return list(dict.fromkeys(agency for agency in found if agency is not None))


# --- bylines of a page

MAX_LOOKED_AT = 10_000
"""Maximum number of elements that are searched for labels or signatures."""
MAX_DATE_LINES = 30
"""Maximum number of paragraphs that are searched for a place at their start ("Munich, Germany –")."""
MAX_PROFILES = 4
"""Maximum number of names that are read from one box about authors."""
MAX_LABELLED = 300
"""Maximum number of lines with a label such as "By" or "Text:" that are searched for names."""
MAX_SURE = 20
"""Maximum number of elements in :attr:`AuthorMarks.sure`."""
MAX_NAMED = 40
"""Maximum number of elements in :attr:`AuthorMarks.named`."""
MAX_MARKED = 2000
"""Maximum number of elements that are checked in full after a quick test of their attributes."""
_NO_BYLINE = frozenset({"body", "html", "article", "main", "script", "img"})
_is_named = re.compile("[Aa]ut(?:h?or|eur)|[Bb]yline|avtor|reporter|writer|penulis|yazar|muhabir").search
# Attributes that may name an author.
_LOOKED_AT = frozenset({"class", "id", "rel", "href", "data-testid", "property", "itemprop"})
_NO_NAME = frozenset({"meta", "link"})
_AUTHOR_PATHS = ("/author/", "/autor/", "/autoren/", "/auteur/")

_METAS = (
    # The "author" of a page may be its publisher, also beside the author of the article.
    (word_list("article:author article:author_name og:article:author"), 0.755),
    (word_list("author"), 0.75),
    (word_list("parsely-author sailthru.author cxenseparse:author byl cxensparse:author"), 0.76),
    (
        word_list(
            "citation_author dc.creator dcterms.creator dcsext.author mediator_author articleauthor",
            "article_author article-author author_name author-name",
        ),
        0.74,
    ),
)
"""Names of metadata with authors, and the confidence in these authors."""
VISIBLE_TRUST = 0.5
"""Confidence in the visible byline. Metadata with a higher confidence are preferred."""
_SITE_TRUST = 0.3
"""Confidence in a list of authors that has only the name of the site."""

_LABEL = (
    r"[(\[（【]?(?:(?P<sure>%(author_labels)s\s?[:：]?|(?:%(bylines)s|%(text_labels)s)\s?[:：]|"
    r"%(byline_labels)s\s?[:：/／|｜])|"
    r"(?!%(other_makers)s)(?:-+\s)?(?:[^\W\d_]+\s){0,2}?%(by)s\s|"
    r"%(published)s\s.{0,12}?\d[^.!?]{1,30}?\s%(by)s\s|(?P<bare>%(bylines)s\s))"
)
"""Labels before the names in a line.

After a label of the group ``sure``, any possible name is accepted. After other labels, only full names are
accepted. Those after the group ``bare`` are in a script without capitals.
"""
# The place at the start of a report: "Munich, Germany (dpa) –".
_DATE_LINE = re.compile(r"([^\W\d][^\d–—:;()]{1,40}?)\s?(?:\([^)]{2,30}\))?\s?[–—-]+\s")
_BEHIND = re.compile(r"\s[|•·]\s")
"""Separators between the names and a date or section in the same line."""
_SHORT_LINE = 40
"""Maximum number of characters of a byline in a script without capitals."""
_LONG_LABEL = 20
"""Minimum length of a text that is surely more than a label."""
_RIGHT = re.compile(r"text-align\s*:\s*right|;\s*right\s*$", re.IGNORECASE)
_NAME = xpath(".//*[@itemprop='name' or @property='schema:name']")
_ASIDE = re.compile(r"comment|related|sidebar|recommend|widget|bio\b|popular|social", re.IGNORECASE)
_ASIDE_TAGS = frozenset({"aside", "nav", "form"})
_OTHERS = re.compile("comment|related|recommend|popular|latest|teaser", re.IGNORECASE)
_BY_BEHIND = r"%(by)s$"
"""The end of a ``twitter:label1`` whose value is the author: "Written by", "Verfasst von"."""


def author_candidates(page: Page, hint: Link | None = None) -> Iterator[Candidate[list[str]]]:
    """Yield one list of authors per source: JSON-LD, microdata, meta, and the feed that listed the page.

    The site's own name is removed from a list that has other names. A list that has only the site's name gets
    a low confidence.
    """
    fed = clean_authors(hint.authors) if hint is not None else []
    for candidate in chain(_stated_authors(page), [Candidate(fed, FEED, 0.7)] if fed else ()):
        names = _without_places(candidate.value, page)
        others = [name for name in names if not _is_site(name, page)]
        if others:
            yield Candidate(others, candidate.method, candidate.confidence)
        elif names:
            yield Candidate(names, candidate.method, _SITE_TRUST)


def _stated_authors(page: Page) -> Iterator[Candidate[list[str]]]:
    node = page.article
    if node is not None:
        # Many sites state their publisher as the author, so the confidence in organisations is lower than in
        # the meta elements.
        persons, others = _by_type(node.get("author") or node.get("creator"), page.nodes)
        if persons:  # a second author; alone, a contributor may be an editor
            persons += [
                name for name in _by_type(node.get("contributor"), page.nodes)[0] if agency_of(name) is None
            ]
        found = clean_authors(persons + others)
        if found:
            yield Candidate(found, JSON_LD, 0.9 if persons else 0.72)
    preview = ("twitter:data1",) if compiled(_BY_BEHIND).search(page.meta("twitter:label1")) else ()
    for values, method, confidence in (
        (_microdata(page), MICRODATA, 0.8),
        (page.meta_all(*preview), META, 0.72),
        *((page.meta_all(*names), META, confidence) for names, confidence in _METAS),
    ):
        found = clean_authors(map(_in_order, values) if method == META else values)
        if found and not all(_is_site(name, page) for name in found):
            yield Candidate(found, method, confidence)
    for weak in page.nodes.weaker():
        found = clean_authors(texts(page.nodes.follow(weak.get("author"))))
        if found and not all(_is_site(name, page) for name in found):
            yield Candidate(found, JSON_LD, 0.6)
            break


def visible_authors(page: Page) -> Candidate[list[str]] | None:
    """Return the names in the visible byline, or None if there are none.

    The caller uses them only if no better source has names.
    """
    names = _without_places(clean_authors(_bylines(page)), page)
    found = [name for name in names if not _is_site(name, page)]
    found = found or [name for name in names if not _is_office(name)]
    found = _people(found)
    return Candidate(found, VISIBLE, VISIBLE_TRUST) if found else None


def _people(names: list[str]) -> list[str]:
    """Return the names of a byline without the places and roles behind a full name: "Jane Doe, Munich"."""
    if not names or not is_full_name(names[0]):
        return names
    return [name for name in names if (is_full_name(name) and key(name) not in _cities()) or agency_of(name)]


@cache
def _cities() -> frozenset[str]:
    """Return the keys of the cities after which time zones are named: "new york"."""
    return frozenset(key(name.rpartition("/")[2].replace("_", " ")) for name in available_timezones())


def is_account(names: list[str]) -> bool:
    """True if none of ``names`` is the full name of a person, as in "wpeditor7", "news feed", "News Desk"."""
    role = compiled(_ROLE)
    return not any(
        (is_full_name(name) and role.match(name) is None) or not name[:1].isascii() for name in names
    )


def rule_authors(values: list[str]) -> Candidate[list[str]] | None:
    """Return the names in the texts that a rule has selected, or None if there are none."""
    found = clean_authors(values)
    return Candidate(found, RULE, 1.0) if found else None


def _by_type(value: Any, nodes: Nodes) -> tuple[list[str], list[str]]:
    """Return two lists of the names in a JSON-LD value: the names of persons, and the names of organisations.

    A plain string and a node without a type count as persons.
    """
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
        target = _name_in(element)
        values.append(target.get("content") or text_of(target, 300))
    return values


def _name_in(element: HtmlElement) -> HtmlElement:
    """Return the name in an item that may have a job title and a picture too."""
    return next(iter(_NAME(element)), element)


def _without_places(names: list[str], page: Page) -> list[str]:
    """Return ``names`` without places, as in "By Jane Doe, Munich"."""
    # Only a single word may be a place, because "Paris Hilton" is a name. The search for places is slow, so
    # it runs only if there is a single word.
    places = _places(page) if any(" " not in name for name in names) else set()
    return [name for name in names if " " in name or key(name) not in places]


def _places(page: Page) -> set[str]:
    """Return the keys of the places in the metadata and in the date line of the text ("Munich, Germany –").

    For keys see :func:`~newsbot.pages.text.words.key`.
    """
    node = page.article or {}
    fields = ("contentLocation", "locationCreated", "spatialCoverage", "dateline")
    found = [text for field in fields for text in texts(page.nodes.follow(node.get(field)))]
    found += page.meta_all("geo.placename", "dateline", "article:location", "dc.coverage")
    for element in islice(page.tree.iter("p"), MAX_DATE_LINES):
        if place := _DATE_LINE.match(text_of(element, 80)):
            found.append(place[1])
    return {key(part) for text in found for part in text.split(",")}


def _is_office(name: str) -> bool:
    """True for the name of a site or of its staff that is not the name of a person: "Harbour News"."""
    return " " in name and not words("site_words").isdisjoint(key(name).split())


def _is_site(name: str, page: Page) -> bool:
    """True if ``name`` is the name of the site.

    The name is compared with the host, with initials in the host, and with the metadata.
    """
    # "The Daily News", or the staff of the Daily News
    offices = words("no_authors") | words("articles")
    bare = " ".join(part for part in key(name).split() if part not in offices)
    return _names_site(key(name), page) or (bare != key(name) and _names_site(bare, page))


def _names_site(name: str, page: Page) -> bool:
    """True if ``name``, a key, names the site."""
    sites = [*site_names(page), key(page.meta("copyright", "publisher", "dc.publisher"))]
    # The host contains the name without spaces, or the initials of the name: "Deutsche Welle" at dw.com.
    return bool(name) and (
        name.replace(" ", "") in (labels := page.host.replace("-", "").replace(".", " ").split())
        or (" " in name and "".join(word[0] for word in name.split()) in labels)
        or any(
            name in (site, site.replace(" ", "")) or (len(site) > 2 and name.startswith(f"{site} "))
            for site in sites
        )
    )


def _bylines(page: Page) -> list[str]:
    """Return the texts of the first visible byline with names, outside of comments and side columns."""
    # The most certain source comes first: markup, class names, labels in the text, a signature, a profile.
    marks = author_marks(page.tree)
    for found in (marks.sure, marks.named):
        found[:] = [one for one in found if not _is_in_menu(one, page) and not is_of_teaser(one, page)]
    if marked := _marked_names(page, marks):
        return marked
    for element in marks.named:
        if _is_aside(element, page):
            continue
        text = _unglued(element)
        names = clean_authors([text]) if 3 < len(text) <= 120 else []
        # Boxes without an author may also have classes with the word "author". So if the text has no "by",
        # its words must begin with capitals.
        if any(
            compiled(rf"{BY}|^{_OFFICE}\s").match(text)
            or _HAN_NAME.fullmatch(one)
            or (is_full_name(one) and text.startswith(f"{one},"))
            or (_capitalised(text) and (" " in one or agency_of(one)))
            for one in names
        ):
            return [text]
    labelled = _labelled_names(page) or _dated_name(page) or _agency_line(page)
    return labelled or _signature(page) or _profile(page, marks) or _bold_name(page)


def _is_in_menu(element: HtmlElement, page: Page) -> bool:
    """True for an element in the header of the page, which is not the header of the article."""
    header = next(element.iterancestors("header"), None)
    inside = header is None or next(header.iterancestors("article", "main", "section"), None) is not None
    return not inside and header not in page.around_headline


def _unglued(element: HtmlElement) -> str:
    """Return the text of an element, with a semicolon where only markup separates two words."""
    text = text_of(element, 400)
    parts = [part for part in map(plain, islice(pieces_of(element), 40)) if part]
    glued = any(
        f"{one}{other}" in text for one, other in pairwise(parts) if one[-1].isalpha() and other[0].isupper()
    )
    return "; ".join(parts) if glued else text


def _labelled_names(page: Page) -> list[str]:
    """Return the names in the first line that has a label and names: "Von: Jane Doe", "责编：牛镛"."""
    lines = page.tree.iter("p", "li", "div", "span", "small", "font", "td", "em", "i", "th", "dt", "dd")
    # The first words of an element are checked first, because getting its whole text is slow.
    label_of = compiled(_LABEL).match
    labelled = (
        element
        for element in islice(lines, MAX_LOOKED_AT)
        if label_of(f"{_start(element).rstrip(' :')}: " if element.tag in ("th", "dt") else _start(element))
    )
    for element in islice(labelled, MAX_LABELLED):
        text = text_of(element, 200).strip("()[]（）【】 ")
        if element.tag in ("th", "dt") and (value := element.getnext()) is not None:
            text = f"{text.rstrip(' :：')}: {text_of(value, 100)}"
        label = label_of(text)
        if label is None or len(text) > 100 or _is_aside(element, page) or _in_link(element, text):
            continue
        names = _people(clean_authors([_BEHIND.split(text[label.end() :])[0]]))
        # "By Friday the water went down" begins like a byline, so only full names count after "by".
        is_named = is_uncased_name if label["bare"] and len(text) <= _SHORT_LINE else is_full_name
        if names and (label["sure"] or all(map(is_named, names))):
            return names
    return []


def _profile(page: Page, marks: AuthorMarks) -> list[str]:
    """Return the full name at the top of the boxes about an author if all these boxes have the same name.

    Boxes in side columns count too. In navigation, only boxes without links count, because boxes with links
    are menus.
    """
    names: set[str] = set()
    for box in marks.named:
        heads = list(islice(box.iter("h2", "h3", "h4", "h5", "h6", "strong", "b", "a"), MAX_PROFILES))
        found = clean_authors(text_of(head, 60) for head in heads)
        if len(found) < len(heads) or not all(is_full_name(name) for name in found):
            found = clean_authors(text_of(head, 60) for head in heads[:1])
        if len(found) > 1 and not page.is_aside(box, _OTHERS, frozenset({"form"})):
            return found
        # Boxes with different names are teasers of other articles or a list of the staff.
        outside = frozenset({"form"} if not any(True for _ in box.iter("a")) else {"nav", "form"})
        if len(found) == 1 and is_full_name(found[0]) and not page.is_aside(box, _OTHERS, outside):
            names.add(found[0])
    return list(names) if len(names) == 1 else []


def _dated_name(page: Page) -> list[str]:
    """Return the full name before the date in a short line beside the headline: "Jane Doe | 3 May 2024"."""
    around = chain.from_iterable(map(beside, page.headlines[:1]))
    for element in around:
        line = _NAME_AND_DATE.match(text) if 10 < len(text := text_of(element, 100)) <= _DATED_LINE else None
        names = _people_in(line[1], element, page) if line is not None and not _in_link(element, text) else []
        if names and not any(_is_site(name, page) for name in names):
            return names
    return []


def _people_in(text: str, element: HtmlElement, page: Page) -> list[str]:
    """Return the names in the text of an element, if all are full names and the element is not aside."""
    names = clean_authors([text])
    return names if all(map(is_full_name, names)) and not _is_aside(element, page) else []


def _agency_line(page: Page) -> list[str]:
    """Return the reporters at the start of a Korean report: "[서울=뉴시스] 김민수 기자 = "."""
    for element in islice(page.tree.iter("p", "div"), MAX_DATE_LINES):
        if line := _KOREAN_LINE.match(text_of(element, 80)):
            return clean_authors([line[1]])
    return []


_KOREAN_LINE = re.compile(
    r"[\[(][가-힣]{2,8}\s?=\s?[^\])]{2,12}[\])]\s?([가-힣·,\s]{2,30}?\s?(?:기자|특파원))\s?="
)
_DATED_LINE = 80
_NAME_AND_DATE = re.compile(r"([^\W\d_][^|,·•\d]{4,40}?)\s*[|,·•–—-]\s*.{0,12}?\d\d?\b.{0,15}(?:\d\d)")


def _in_link(element: HtmlElement, text: str) -> bool:
    """True for an element inside a link, or whose whole text is a link with the label in it.

    Such a link usually leads to another article or is part of a menu.
    """
    inner = next(element.iter("a"), None)
    return next(element.iterancestors("a"), None) is not None or (
        inner is not None and len(text_of(inner, 200).strip("()[]（）【】 ")) >= len(text)
    )


def _signature(page: Page) -> list[str]:
    """Return the full name in a right-aligned line: "<p align=right><b>Jane Doe</b></p>"."""
    for element in islice(page.tree.iter("p", "div"), MAX_LOOKED_AT):
        placed = f"{element.get('style') or ''};{element.get('align') or ''}"
        if (
            _RIGHT.search(placed[:200])
            and 4 < len(text := text_of(element, 100)) <= 60
            and (names := _people_in(text, element, page))
        ):
            return names
    return []


def _bold_name(page: Page) -> list[str]:
    """Return the full name that is a bold paragraph of its own before the text.

    Without other signs, such a line may be a heading. So it counts only if the metadata name the site as the
    author.
    """
    stated = clean_authors(page.meta_all("author", "article:author"))
    if not stated or not all(_is_site(name, page) for name in stated):
        return []
    for element in islice(page.tree.iter("p"), MAX_DATE_LINES):
        text = text_of(element, _MAX_BOLD + 1)
        bold = element.find("strong") if element.find("b") is None else element.find("b")
        following = element.getnext()
        if (
            bold is not None
            and 4 < len(text) <= _MAX_BOLD
            and text == text_of(bold, _MAX_BOLD + 1)
            and following is not None
            and len(text_of(following, 200)) > 2 * _MAX_BOLD
            and not _is_aside(element, page)
        ):
            names = clean_authors([text])
            return names if names and all(map(is_full_name, names)) else []
    return []


_MAX_BOLD = 40


def _start(element: HtmlElement) -> str:
    """Return the start of the text of an element, including its first child: "<p>By <strong>Jane
    Doe</strong>"."""
    own = (element.text or "").strip()
    if len(own) >= _LONG_LABEL or not len(element):
        return own[:60]
    # _LABEL expects a space after some labels, but strip() has removed it.
    return f"{own} {(element[0].text or '').strip()}".strip()[:60] + " "


def _marked_names(page: Page, marks: AuthorMarks) -> list[str]:
    """Return the names that are certain because of the markup alone, even single words in lower case."""
    names: list[str] = []
    beside: HtmlElement | None = None
    for element in marks.sure:
        # Only names in the same box as the first name count. Other names belong to comments or teasers.
        parent = element.getparent()
        group = parent.getparent() if parent is not None else None
        text = text_of(_name_in(element), 100)
        if (names and group is not beside) or not clean_authors([text]) or _is_aside(element, page):
            continue
        if _is_editor(element):
            continue
        if text not in names:
            names.append(text)
        beside = group
    return names[:5]


def _is_editor(element: HtmlElement) -> bool:
    """True for the name of an editor: the text before the element is a label such as "Editor:"."""
    before, box = element.getprevious(), element.getparent()
    said = before.tail or text_of(before, 60) if before is not None else box.text if box is not None else ""
    if not (said or "").strip() and box is not None and box.getprevious() is not None:
        said = text_of(box.getprevious(), 60)
    return bool(compiled(r"(?:^|\W)%(edited)s\W*$").search((said or "").strip()[-60:]))


def _capitalised(text: str) -> bool:
    names = text.split()
    return 2 <= len(names) <= 12 and all(
        word[0].isupper() or not word[0].isalpha() or len(word) <= 3 or is_small(word) for word in names
    )


def _is_aside(element: HtmlElement, page: Page) -> bool:
    return page.is_aside(element, _ASIDE, _ASIDE_TAGS) or is_of_teaser(element, page)


# --- markup
@dataclass(frozen=True, slots=True)
class AuthorMarks:
    """The elements of a page whose markup names an author, in page order."""

    sure: list[HtmlElement] = field(default_factory=list)
    """Links to an author, and names in hCard and microformats2 (https://microformats.org)."""
    named: list[HtmlElement] = field(default_factory=list)
    """Elements whose class, id or test id mentions an author."""


def author_marks(tree: HtmlElement) -> AuthorMarks:
    """Return the elements of a page whose markup names an author, found in one walk over the page."""
    marks = AuthorMarks()
    known: dict[HtmlElement, bool] = {}
    left = MAX_MARKED
    for element in tree.iter(etree.Element):
        attributes: Any = element.items()
        for name, value in attributes:
            # This test runs for each attribute of the page. Searching substrings is faster than any regex.
            if name in _LOOKED_AT and (
                "aut" in value
                or "Aut" in value
                or "yline" in value
                or "avtor" in value
                or "fn" in value
                or "reporter" in value
                or "writer" in value
                or "penulis" in value
                or "yazar" in value
                or "muhabir" in value
            ):
                if len(marks.sure) < MAX_SURE and _is_sure(element, known):
                    marks.sure.append(element)
                if len(marks.named) < MAX_NAMED and _is_named_byline(element):
                    marks.named.append(element)
                left -= 1
                if not left:
                    return marks
                break
    return marks


def _is_sure(element: HtmlElement, known: dict[HtmlElement, bool]) -> bool:
    if element.tag == "a":
        href = element.get("href") or ""
        if " author " in f" {element.get('rel')} " or any(path in href for path in _AUTHOR_PATHS):
            return True
    # Microdata without the item of an article, and RDFa.
    stated = f"{element.get('itemprop') or ''} {element.get('property') or ''}".split()
    if "author" in stated or "schema:author" in (*stated, element.get("rel")):
        return element.tag not in _NO_NAME and is_full_name(text_of(_name_in(element), 60))
    named = f" {element.get('class') or ''} "
    # Classes of hCard ("fn") and of microformats2 ("p-author").
    return (" fn " in named or " p-author " in named) and _in_author_box(element, known)


def _is_named_byline(element: HtmlElement) -> bool:
    if element.get("rel") == "author":
        return True
    named, tested = element.get("class"), element.get("data-testid")
    return element.tag not in _NO_BYLINE and bool(
        (named and _is_named(named))
        or "author" in (element.get("id") or "")
        or (tested and ("author" in tested or "byline" in tested))
    )


def _in_author_box(element: HtmlElement, known: dict[HtmlElement, bool]) -> bool:
    """True if the class of the element or of an ancestor mentions an author or a byline.

    ``known`` caches the results by element. Without the cache, a deeply nested page with many names would
    take quadratic time.
    """
    passed: list[HtmlElement] = []
    found = False
    for box in chain((element,), element.iterancestors()):
        if box in known:
            found = known[box]
            break
        passed.append(box)
        named = box.get("class") or ""
        if "author" in named or "byline" in named:
            found = True
            break
    known.update(dict.fromkeys(passed, found))
    return found
