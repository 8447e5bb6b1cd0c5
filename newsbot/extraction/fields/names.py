"""Extracts the names of authors and news agencies from bylines such as "By Jane Doe, Political Editor".

Words such as "by", job titles, dates, e-mail addresses and handles (@jane) are removed. Each agency has
several spellings, which are all converted to one name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import islice

from newsbot.extraction.page.jsonld import texts
from newsbot.extraction.page.page import Page
from newsbot.extraction.strings import key, plain
from newsbot.text.languages import compiled, pairs, words

MAX_AUTHORS = 25
"""Maximum number of names of one article."""
MAX_BYLINES = 100
"""Maximum number of bylines that are read."""

_AND = r"(?:&|%(and)s|(?-i:%(and_in_lower_case)s))"
"""Words between two names. Some count only in lower case, because "Mary E Smith" is one name."""
_SPLIT = (
    rf"\s*[;|•·/\n、，]\s*|\s*[,،]\s+(?:{_AND}\s+)?|(?<=[a-zа-яё]),(?=[A-ZА-ЯЁ])|\s+{_AND}\s+|"
    r"\.?\s+(?=(?:%(photo_labels)s|%(text_labels)s)\s?[:：])"
)
BY = r"^(?:%(bylines)s\s*[:：\-–—.]?\s*)+|^%(byline_labels)s\s?[:：\-–]\s?"
"""Words before the first name of a byline."""
_PLACED = r"^[(\[]?[가-힣]{2,8}\s?=\s?[가-힣]{2,10}[)\]]?\s+|^.{0,60}?\d.{0,30}?\s%(by)s\s+"
"""Text before the first name: town and agency in a Korean byline, or a date that "by" follows."""
_TAIL = (
    r"\s*(?:[(\[<].{0,80}[)\]>]|[-–—|]\s+(?:[A-ZА-Я][\w.]*\s?){1,4}|@\w+)\s*$|"
    r"\s+%(after_names)s.*$|\s+(?:%(on)s\s)?%(weekdays)s$|"
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
_NOT_A_NAME = r"https?:|www\.|\.(?:com|org|net|ru|html?)/|^/|@|[<>{}=_#*\\]|\$\$|%%|\d{2}|\s\d$|%(not_names)s"
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
        found = list(_names(value))
        # Beside the name of a person, "Science Desk" is a job title and is removed. Alone, it is the author.
        persons = [name for name in found if not compiled(_ROLE).match(name)]
        for name in persons or found:
            if key(name) not in seen and len(names) < MAX_AUTHORS:
                seen.add(key(name))
                names.append(name)
    return names


def _names(value: str) -> Iterator[str]:
    text = compiled(_EDITED).sub("", _ADDRESS.sub(" ", plain(value[:1000]))).strip()
    by = compiled(BY)
    text = by.sub("", compiled(_PLACED).sub("", compiled(_IN_PLACE).sub("", text)))
    # Open Graph defines article:author as the URL of a profile, and many sites follow it.
    if not text or text.startswith(("http:", "https:", "/", "www.")):
        return
    for part in compiled(_SPLIT).split(text):
        # Each part may have its own "by" and its own job title: "Text: Jane Doe, Fotos: John Roe".
        name = by.sub("", (part or "").strip(' \t,:;-–—|="«»“”').lstrip("."))
        name = compiled(_ROLE_BEHIND).sub("", compiled(_TAIL).sub("", name))
        if not compiled(rf"{_OFFICE}s?$").match(name):
            name = compiled(rf"(?<=\w\s)(?<=\w\w\s){_OFFICE}$").sub("", name).strip(" ,:;-–—|")
        if not _SHORT.search(name):
            name = name.rstrip(". ")
        if is_name(name):
            yield name


def is_name(name: str) -> bool:
    """True if the string may be the name of a person or an editorial office."""
    parts = key(name).split()
    if not 2 <= len(name) <= 60 or not any(sign.isalpha() for sign in name):
        return False
    if set(parts) <= words("no_authors") or "".join(parts) in words("degrees"):
        return False
    if name.count("(") != name.count(")"):  # _SPLIT has divided a text in parentheses
        return False
    return len(name.split()) <= 6 and not compiled(_NOT_A_NAME).search(name)


# --- agencies
@cache
def _agencies() -> dict[str, str]:
    """Return the name of each agency by the key of its spellings."""
    return {
        key(spelling): name
        for names in pairs("agencies").values()
        for name, spellings in names.items()
        for spelling in spellings.split(",")
    }


def agency_of(name: str) -> str | None:
    """Return the agency that ``name``, a name in a byline, stands for, or None if it is not an agency.

    >>> agency_of("Agence France-Presse")
    'AFP'
    """
    # The name is compared without words such as "mit" in "mit dpa". Then it is compared with all its words,
    # because "belga news agency" is a spelling of its own.
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
