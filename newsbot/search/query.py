"""Parses what people type into a search: words, ``"a phrase"``, ``-without``, and fields.

Fields: ``title:`` and ``author:`` with a word or a phrase, ``site:`` and ``lang:`` (several: any of
them), ``since:`` and ``until:`` with a day, month or year (``2024``, ``2024-05``, ``2024-05-31``; UTC,
``until`` itself is left out) or an age (``12h``, ``7d``, ``2w``). Every text is a legal query: an open quote
runs to the end, signs that are no word are passed over, a date that is none is a word, and there are no
reserved words (AND, OR and NOT are words like others).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import islice, product

from newsbot.items import Article
from newsbot.text.stems import asked_stems

MAX_QUERY = 1000
"""Characters of a query that are read."""
MAX_TERMS = 32
"""Terms of a query, and words of a phrase, that are read."""
MAX_PHRASES = 16

_QUOTES = str.maketrans(dict.fromkeys("“”„«»", '"'))
_TERM = re.compile(
    r"(?P<minus>-)?(?:(?P<field>title|author|site|lang|since|until):)?"
    r'(?:"(?P<phrase>[^"]*)"?|(?P<word>[^\s"]+))',
    re.IGNORECASE,
)
_AGE = re.compile(r"(?P<number>[0-9]{1,4})(?P<unit>[hdw])")
_UNITS = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}
_DATE = re.compile(r"(?P<year>[0-9]{4})(?:-(?P<month>[0-9]{2})(?:-(?P<day>[0-9]{2}))?)?")


@dataclass(frozen=True, slots=True)
class Term:
    """One word, or several that follow each other."""

    words: tuple[tuple[str, ...], ...]
    """Of each word, the stems any of which will do (see :func:`newsbot.text.stems.asked_stems`)."""
    field: str = ""
    """``title``, ``author``, or empty: title or text."""

    def phrases(self) -> list[tuple[str, ...]]:
        """The runs of stems any of which will do."""
        return list(islice(product(*self.words), MAX_PHRASES))


@dataclass(slots=True)
class Query:
    """All of ``wanted`` and none of ``unwanted``."""

    wanted: list[Term] = field(default_factory=list)
    unwanted: list[Term] = field(default_factory=list)
    sites: list[str] = field(default_factory=list)
    """Of any of these, if there are some."""
    languages: list[str] = field(default_factory=list)
    not_sites: list[str] = field(default_factory=list)
    not_languages: list[str] = field(default_factory=list)
    since: datetime | None = None
    until: datetime | None = None
    no_dates: list[str] = field(default_factory=list)
    """What stands behind ``since:`` and ``until:`` and is no date: it is looked for as a word."""
    blank: bool = False
    """Nothing but white space was asked."""

    @property
    def stems(self) -> frozenset[str]:
        """The stems that a snippet marks."""
        shown = (term for term in self.wanted if term.field != "author")
        return frozenset(stem for term in shown for word in term.words for stem in word)

    @property
    def empty(self) -> bool:
        """Nothing was asked that an article can have or lack."""
        marks = (self.sites, self.languages, self.not_sites, self.not_languages)
        return not (self.wanted or self.unwanted or any(marks) or self.since or self.until)


def parse(query: str) -> Query:
    """Read a query; never fails."""
    text = query[:MAX_QUERY].translate(_QUOTES)
    found = Query(blank=not text.strip())
    for number, match in enumerate(_TERM.finditer(text)):
        if number >= MAX_QUERY or len(found.wanted) + len(found.unwanted) >= MAX_TERMS:
            break
        name = (match["field"] or "").lower()
        value = match["phrase"] if match["word"] is None else match["word"]
        if not _take_mark(found, name, value.strip().lower(), without=match["minus"] is not None):
            _take_words(found, name, value, without=match["minus"] is not None)
    return found


def _take_mark(query: Query, name: str, value: str, *, without: bool) -> bool:
    """Note a site, a language or a date; False if it is none."""
    if name in ("since", "until"):
        moment = None if without else _moment(value)
        if moment is not None:
            setattr(query, name, moment)
        elif not without:
            query.no_dates.append(f"{name}:{value}")
        return moment is not None
    lists = {
        ("site", False): query.sites,
        ("site", True): query.not_sites,
        ("lang", False): query.languages,
        ("lang", True): query.not_languages,
    }
    marks = lists.get((name, without))
    if marks is None or not value:
        return False
    if len(marks) < MAX_TERMS:
        marks.append(value)
    return True


def _take_words(query: Query, name: str, value: str, *, without: bool) -> None:
    found = asked_stems(value)[:MAX_TERMS]
    if found:
        term = Term(tuple(found), name if name in ("title", "author") else "")
        (query.unwanted if without else query.wanted).append(term)


def _moment(value: str) -> datetime | None:
    if age := _AGE.fullmatch(value):
        return datetime.now(UTC) - int(age["number"]) * _UNITS[age["unit"]]
    match = _DATE.fullmatch(value)
    if match is None:
        return None
    try:
        return datetime(int(match["year"]), int(match["month"] or 1), int(match["day"] or 1), tzinfo=UTC)
    except ValueError:
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class ArticleFilter:
    """Which articles; all conditions hold together, None asks nothing."""

    source: str | None = None
    language: str | None = None
    story: str | None = None
    """Its id, or that of a story that was joined with it."""
    since: datetime | None = None
    """Published (or, where unknown, fetched) at or after."""
    until: datetime | None = None
    """Published (or, where unknown, fetched) before."""


@dataclass(frozen=True, slots=True)
class Hit:
    """One found article; ``snippet`` has the matches between ``[`` and ``]``."""

    article: Article
    snippet: str
    score: float
