"""Families of addresses: whether the members of a family are fetched.

A site is a set of *families*. A family is the set of addresses of a site with one shape (:func:`family_of`),
such as ``/posts/*/``. Nobody knows from an address or the text of a link whether a page is an article. So a
few members of a family are fetched, and their pages decide for all members:

========  ============================================================  =====================================
state     when                                                          what is fetched
========  ============================================================  =====================================
open      the site's feeds or news sitemaps name members, or pages of   all members
          the family were articles, or a person opened it
unknown   nothing is known of its pages                                 a sample, if the site's budget allows
closed    its pages were not articles                                   now and then a page, so that a wrong
                                                                        decision heals
========  ============================================================  =====================================

Pages that a feed, a news sitemap, a rule or a person names are fetched in every state. The *budget* of a site
is the number of pages that may be fetched in vain: it grows with the number of its articles.

:class:`FamilyNotes` shares the families of each site between workers. The functions after it describe them
for people. All other functions are pure.
"""

from __future__ import annotations

import math
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any, Self

from newsbot.cli.program import PROGRAM
from newsbot.cli.terminal import counted
from newsbot.items import Reason
from newsbot.pages.extraction.verdict import (
    ARTICLE,
    BYLINE,
    DATE_IN_METADATA,
    DATED,
    LAYOUT,
    Evidence,
    Witnesses,
)
from newsbot.pages.rules.shape import kind_of, split_path
from newsbot.storage.notes import Notes, SharedSites

MAX_FAMILIES = 200
"""Maximum number of families of a site. A family without results is dropped first."""
MAX_NAME = 100
"""Maximum number of characters of a family's name. Longer names are cut."""
SAMPLES = 2
"""Number of pages of an unknown family that are fetched at the same time."""
MOST_SAMPLES = 4
"""Maximum number of pages of a family that are fetched to decide about it."""
ENOUGH = 2
"""A family is closed from this number of refused pages on, if fewer of its pages were articles."""
FIRST_BUDGET = 6
"""Minimum number of useless pages that may be fetched on a site that names no articles."""
LISTED_BUDGET = 2
"""Number of pages added to the budget for families that a sitemap lists."""
UNNAMED_SHARE = 0.1
"""The budget of a site that names no articles, as a share of its articles."""
FORGET_SAMPLES = 3600.0
"""Seconds after which a sample without a result is no longer waited for."""
HEAL_AFTER = 86400.0
"""Seconds after the last sample of a closed family until one more page is tried."""
MAX_BESIDE = 20
"""Maximum number of articles of a site that are remembered because no source names them."""
MAX_AWAITED = 50
"""Maximum number of feeds and sitemaps of a site for which samples wait."""

_FINGERPRINT = re.compile(r"(?:[0-9a-f]{2})+")
_NUMBERS = re.compile(r"\d+")
_SHORT_CODE = 9
_ID_IN_FRONT = re.compile(r"\d{5}")
"""Matches an id at the start of a segment. The number in ``37-million-for-a-race`` is not an id."""
_LONG_WORD = 20
"""Maximum number of characters of a word. Longer texts are most likely slugs without hyphens."""
_MOST_KEYS = 8


# --- shapes


def family_of(url: str) -> str:
    """Return the name of the family of a canonical URL, such as ``/sport/*#.html`` or ``/?p&a=b``.

    ``*`` stands for words, ``#`` for a number, and ``@`` for a single word at the end of the path. Words in
    front of the last segment are kept. Values in the query that identify a page are left out.
    """
    _, segments, extension, slash, query = split_path(url)
    parts = [_part(segment) for segment in segments]
    if parts and not query and kind_of(segments[-1]) == "word":
        parts[-1] = "@"
    path = "/" + "/".join(parts) + (f".{extension}" if extension else "") + ("/" if slash and parts else "")
    # sorted, because sites write the keys of a query in any order
    keys = sorted(key if _is_value(value) else f"{key}={value}" for key, _, value in _pairs(query))
    return (path + ("?" + "&".join(keys) if keys else ""))[:MAX_NAME]


def _part(segment: str) -> str:
    """Return the shape of one segment of the path."""
    kind = kind_of(segment)
    if kind == "word":
        return segment.lower() if len(segment) <= _LONG_WORD else "*"
    # An id at either end of a slug is part of the shape: "12345-a-headline", "a-headline-12345".
    if kind in ("slug", "mixed", "other"):
        in_front = _ID_IN_FRONT.match(segment) is not None
        # '#' * True is "#", and '#' * False is empty
        return f"{'#' * in_front}*{'#' * segment[-1:].isdecimal()}"
    return _NUMBERS.sub("#", segment) if len(segment) < _SHORT_CODE else "#"


def _pairs(query: str) -> Iterable[tuple[str, str, str]]:
    return (part.partition("=") for part in query.split("&")[:_MOST_KEYS] if part)


def _is_value(value: str) -> bool:
    """Return True for a value that identifies a page; other values belong to the shape (``view=print``)."""
    return any(map(str.isdecimal, value)) or len(value) > _LONG_WORD or not value


def _kin(name: str) -> str | None:
    """Return what families have in common whose members differ only in the numbers of their last segment.

    Example: ``/posts/*/`` and ``/posts/*#/``. Returns None for families whose last segment is not a slug.
    """
    path, mark, query = name.partition("?")
    above, _, last = path.rstrip("/").rpartition("/")
    if "*" not in last:
        return None
    return f"{above}/{last.replace('#', '')}{'/' * path.endswith('/')}{mark}{query}"


LISTS = "list:"
"""Prefix of the names of families of lists."""


BY_SUBJECT = f"{LISTS}subject:"
"""Prefix of the names of families of lists by tag, category or author."""


def list_family(url: str, *, by_subject: bool = False) -> str:
    """Return the family of the list at a canonical URL, such as ``list:/#/#/``."""
    return f"{BY_SUBJECT if by_subject else LISTS}{family_of(url)}"[:MAX_NAME]


# --- states


class State(StrEnum):
    """The state of a family."""

    OPEN = "open"
    UNKNOWN = "unknown"
    CLOSED = "closed"


@dataclass(slots=True)
class Family:
    """What is known of a family. Pages that a feed, a news sitemap or a person names are counted apart."""

    named: bool = False
    """True if a feed or news sitemap of the site names members."""
    listed: bool = False
    """True if a sitemap of the site lists members."""
    opened: bool = False
    """True if a person opened the family."""
    good: int = 0
    """Number of fetched pages that were articles by their own evidence, and that nobody named."""
    refused: Counter[str] = field(default_factory=Counter)
    """Reason -> number of fetched pages that were not articles, and that nobody named."""
    named_good: int = 0
    named_bad: int = 0
    sampled: int = 0
    """Number of pages that were queued before the family was open, minus those without a result."""
    sampled_at: float = 0.0
    """Time of the last sample, in POSIX seconds."""
    leads_on: bool = False
    """True for lists whose last sample has only lists below it. Those decide whether it was worth reading."""
    waiting: int = 0
    """Number of links that wait."""
    best: float = 0.0
    """Highest priority of a link that waits."""
    lacking: tuple[str, ...] = ()
    """Fingerprints (hexadecimal) of samples that had too little evidence while the family was not open."""

    @property
    def bad(self) -> int:
        """The number of refused pages that nobody named."""
        return self.refused.total()

    @property
    def tried(self) -> int:
        """The number of fetched pages."""
        return self.good + self.bad + self.named_good + self.named_bad

    def in_flight(self, now: float) -> int:
        """Return the number of queued samples that have no result yet."""
        return 0 if now - self.sampled_at > FORGET_SAMPLES else max(0, self.sampled - self.good - self.bad)

    @property
    def is_witnessed(self) -> bool:
        """True if the site names members, and most named members were articles."""
        return self.named and self.named_good >= self.named_bad

    def plain(self) -> dict[str, Any]:
        """Return the fields that differ from those of a new family, as a JSON-serializable mapping."""
        new = _NEW
        values: dict[str, Any] = {
            name: getattr(self, name) for name in _FIELDS if getattr(self, name) != getattr(new, name)
        }
        values |= {"refused": dict(self.refused)} if self.refused else {}
        return values | ({"lacking": list(self.lacking)} if self.lacking else {})

    @classmethod
    def read(cls, plain: Mapping[str, Any]) -> Self:
        """Return the family of a mapping made by :meth:`plain`. Values of other types are ignored."""
        family = cls()
        for name in _FIELDS:
            value = plain.get(name)
            if isinstance(value, int | float) and math.isfinite(value):
                setattr(family, name, type(getattr(_NEW, name))(value))
        refused = _mapping(plain.get("refused"))
        family.refused.update({key: number for key, number in refused.items() if isinstance(number, int)})
        family.lacking = _fingerprints(plain.get("lacking"))
        return family


_FIELDS = tuple(one.name for one in fields(Family) if one.name not in ("refused", "lacking"))
_NEW = Family()


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """Something that was learned of a family, or of the whole site."""

    family: str = ""
    """The name of the family; empty if the result is not of a family."""
    named: bool | None = None
    """For a fetched page: True if a feed, a news sitemap, a rule or a person named it. None for other
    results."""
    refusal: str = ""
    """For a fetched page: why it is not an article; empty for an article."""
    is_list: bool = False
    """True if the page is a list. It is good if it led to articles that nothing else names."""
    beside: tuple[str, float] | None = None
    """Fingerprint, and time of discovery, of an article that no source has named before."""
    listed: tuple[str, ...] = ()
    """Fingerprints of such articles that a source names now."""
    heard_at: float = 0.0
    """Time when a sitemap was read."""
    is_weak: bool = False
    """True for an article that has no evidence of its own. It says nothing about other members."""
    leads_on: bool = False
    """True for a list that has only lists below it."""
    is_void: bool = False
    """True for a sample that gave no result, because the page could not be fetched."""
    evidence: Evidence | None = None
    """The evidence of an article that is a witness."""
    lacking: str = ""
    """Fingerprint of a sample that had too little evidence."""
    is_retried: bool = False
    """True if the samples that had too little evidence were queued again."""
    is_named: bool = False
    """True if a feed or news sitemap of the site names a member."""
    is_listed: bool = False
    """True if a sitemap of the site lists a member."""
    is_opened: bool = False
    sampled_at: float | None = None
    """Time when a sample was queued."""
    waiting: int | None = None
    """The number of links that wait now."""
    best: float = 0.0
    rule: str = ""
    """Digest of the rule's patterns with which the waiting links were compared."""
    awaited: tuple[str, ...] = ()
    """Fingerprints of feeds and sitemaps that a page names and that were not visited yet."""
    visited: tuple[str, ...] = ()
    """Fingerprints of feeds and sitemaps that were visited."""
    has_source: bool = False
    """True if a feed or sitemap of the site was read."""


@dataclass(slots=True)
class SiteFamilies:
    """The families of one site, and how its articles look."""

    families: dict[str, Family] = field(default_factory=dict)
    witnesses: Witnesses = field(default_factory=Witnesses)
    articles: int = 0
    """Number of fetched pages that were articles by their own evidence."""
    wasted: int = 0
    """Number of fetched pages that were not articles, and that nobody named."""
    beside: dict[str, float] = field(default_factory=dict)
    """Fingerprints (hexadecimal), and times of discovery, of the latest articles that no feed or sitemap of
    the site names."""
    heard_at: float = 0.0
    """Time when a sitemap of the site was last read."""
    rule: str = ""
    """Digest of the rule's patterns with which the waiting links were last compared."""
    awaited: tuple[str, ...] = ()
    """Fingerprints (hexadecimal) of feeds and sitemaps that the site names and that nobody has visited."""
    has_source: bool = False
    """True if a feed or sitemap of the site was read."""

    def add(self, result: Result) -> None:
        """Add a result."""
        if not self.has_source:
            self.awaited = tuple(dict.fromkeys((*self.awaited, *result.awaited)))[:MAX_AWAITED]
        if result.visited:
            self.awaited = tuple(key for key in self.awaited if key not in result.visited)
        self.has_source |= result.has_source
        self.heard_at = max(self.heard_at, result.heard_at)
        for key in result.listed:
            self.beside.pop(key, None)
        if result.beside is not None:
            self.beside |= (result.beside,)
            self.beside = dict(sorted(self.beside.items(), key=lambda one: one[1])[-MAX_BESIDE:])
        self.rule = result.rule or self.rule
        if result.family:
            self._add_to_family(result)

    def _add_to_family(self, result: Result) -> None:
        family = self._family(result.family)
        family.named |= result.is_named
        family.listed |= result.is_listed
        family.opened |= result.is_opened
        if result.sampled_at is not None:
            if family.in_flight(result.sampled_at) == 0:
                family.sampled = family.good + family.bad
            family.sampled += 1
            family.sampled_at = max(family.sampled_at, result.sampled_at)
        family.leads_on = result.leads_on or (family.leads_on and result.sampled_at is None)
        if result.waiting is not None:
            family.waiting, family.best = result.waiting, result.best
        if result.is_void:
            family.sampled -= 1
        if result.named is not None:
            self._count(family, result, named=result.named)
        if result.is_retried:
            family.lacking = ()
        elif result.lacking and result.lacking not in family.lacking:
            family.lacking = (*family.lacking, result.lacking)[-ENOUGH:]
        if result.evidence is not None:
            self.witnesses.add(result.evidence)

    def _count(self, family: Family, result: Result, *, named: bool) -> None:
        good = not result.refusal
        self.articles += good and not result.is_list
        if named:
            family.named_good += good and not result.is_weak
            family.named_bad += not good
        elif good:
            family.good += not result.is_weak
            family.sampled -= result.is_weak
        else:
            family.refused[result.refusal] += 1
            self.wasted += not result.is_list

    def _family(self, name: str) -> Family:
        if name not in self.families:
            if len(self.families) >= MAX_FAMILIES:
                least = min(self.families, key=lambda one: _worth(self.families[one]))
                del self.families[least]
            self.families[name] = Family()
        return self.families[name]

    @property
    def names_articles(self) -> bool:
        """True if the site's feeds or news sitemaps name articles."""
        return any(family.is_witnessed for family in self.families.values())

    @property
    def lists_articles(self) -> bool:
        """True if the site's sitemaps list members of the families of its articles.

        If no articles are known, a family that may be one of articles suffices.
        """
        listed = [(name, family) for name, family in self.families.items() if family.listed]
        if self.articles or self.names_articles:
            return any(family.is_witnessed or family.good or family.named_good for _, family in listed)
        return any(self.state(name) is not State.CLOSED for name, _ in listed)

    @property
    def has_unlisted(self) -> bool:
        """True if a sitemap that was read after an article was found does not list it."""
        return any(at < self.heard_at for at in self.beside.values())

    def state(self, name: str) -> State:
        """Return the state of a family."""
        family = self.families.get(name, _NEW)
        if family.opened:
            return State.OPEN
        if family.bad >= ENOUGH and family.good < family.bad:
            return State.CLOSED
        if family.is_witnessed or family.good or (not family.tried and self._inherits(name)):
            return State.OPEN
        return State.UNKNOWN

    def _inherits(self, name: str) -> bool:
        """Return True if the members of the family differ only in numbers from those of open families."""
        kin = _kin(name)
        if kin is None:
            return False
        others = [one for other, one in self.families.items() if other != name and _kin(other) == kin]
        good = sum(one.good + one.named_good for one in others)
        bad = sum(one.bad + one.named_bad for one in others)
        return any(one.is_witnessed for one in others) and good >= bad

    def promise(self, name: str) -> tuple[int, bool, float]:
        """Return the order in which families are tried, the most promising first.

        Open families come first, then families that a sitemap lists, then those with the best link.
        """
        family = self.families.get(name, _NEW)
        order = (State.OPEN, State.UNKNOWN, State.CLOSED)
        return order.index(self.state(name)), not family.listed, -family.best

    def may_fetch(self, name: str, now: float, explore: float, *, needs_lists: bool = False) -> bool:
        """Return True if one more member may be queued now. ``explore`` is NEWSBOT_EXPLORE (0 to 1).

        Lists are tried one after the other. If the site needs them to find its articles, they need no budget.
        Further lists by subject need it after one that led to nothing, if feeds name articles.
        """
        family, state = self.families.get(name, _NEW), self.state(name)
        in_flight, is_list = family.in_flight(now), name.startswith(LISTS)
        if state is State.OPEN:
            return True
        if state is State.CLOSED:
            if now - family.sampled_at < HEAL_AFTER:
                return False
        elif in_flight >= (1 if is_list else SAMPLES) or family.bad + in_flight >= MOST_SAMPLES:
            return False
        if self.is_needless(name):
            return False
        doubtful = family.bad > 0 and self.names_articles and name.startswith(BY_SUBJECT)
        if is_list and needs_lists and not doubtful:
            return True
        return self.may_waste(now, explore, listed=family.listed and state is State.UNKNOWN, lists=is_list)

    def may_waste(self, now: float, explore: float, *, listed: bool, lists: bool = False) -> bool:
        """Return True if one more page may be fetched that may be no article, or may be a needless list.

        All pages that are fetched now count as if they were no articles, so that they cannot exceed the
        budget. ``lists``: the page is a list. Lists have a budget of their own.
        """
        flying, wasted = 0, 0 if lists else self.wasted
        for name, family in self.families.items():
            if name.startswith(LISTS) is lists and self.state(name) is not State.OPEN:
                flying += 0 if family.leads_on else family.in_flight(now)
                wasted += family.bad * lists
        if self.names_articles or lists:
            budget = math.floor(explore * self.articles) + (LISTED_BUDGET if listed else 0)
        else:
            budget = max(FIRST_BUDGET, math.floor(max(explore, UNNAMED_SHARE) * self.articles))
        return wasted + flying < budget

    def is_needless(self, name: str) -> bool:
        """Return True for lists by tag, category or author if numbered pages or an archive lead to the same
        articles."""
        if not name.startswith(BY_SUBJECT) or self.state(name) is State.OPEN:
            return False
        return any(
            family.good and other.startswith(LISTS) and not other.startswith(BY_SUBJECT)
            for other, family in self.families.items()
        )

    def reason(self, name: str) -> str:
        """Return why the members of a family wait, as a token with the numbers:
        ``refused:2:2:no_evidence``."""
        family = self.families.get(name, _NEW)
        if family.bad:
            most = family.refused.most_common(1)[0][0]
            return f"refused:{family.bad}:{family.bad + family.good}:{most}"
        return "untried"

    def plain(self) -> dict[str, Any]:
        """Return the families as a JSON-serializable mapping."""
        return {
            "families": {name: family.plain() for name, family in self.families.items()},
            "witnesses": self.witnesses.plain(),
            "articles": self.articles,
            "wasted": self.wasted,
            "beside": dict(self.beside),
            "heard_at": self.heard_at,
            "rule": self.rule,
            "awaited": list(self.awaited),
            "has_source": self.has_source,
        }

    @classmethod
    def read(cls, plain: Mapping[str, Any]) -> SiteFamilies:
        """Return the families of a mapping made by :meth:`plain`. Damaged parts are left out."""
        families = _mapping(plain.get("families"))
        found = {name: Family.read(one) for name, one in families.items() if isinstance(one, dict)}
        beside = _mapping(plain.get("beside"))
        try:
            witnesses = Witnesses.read(plain.get("witnesses") or {})
        except (TypeError, ValueError, AttributeError):
            witnesses = Witnesses()
        return cls(
            families=found,
            witnesses=witnesses,
            articles=int(_number(plain, "articles")),
            wasted=int(_number(plain, "wasted")),
            beside={key: _number(beside, key) for key in beside},
            heard_at=_number(plain, "heard_at"),
            rule=str(plain.get("rule", "")),
            awaited=_fingerprints(plain.get("awaited")),
            has_source=bool(plain.get("has_source", False)),
        )


def _fingerprints(value: object) -> tuple[str, ...]:
    texts = [one for one in value if isinstance(one, str)] if isinstance(value, list) else []
    return tuple(filter(_FINGERPRINT.fullmatch, texts))


def _mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _number(plain: Mapping[str, Any], name: str) -> float:
    value = plain.get(name)
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else 0.0


def _worth(family: Family) -> tuple[bool, bool, int, float]:
    """Return the order in which families are kept: first those that a site names or a person opened."""
    return family.named or family.opened, family.waiting > 0, family.tried, family.sampled_at


# --- shared between workers
NOTE_KIND = "families"
"""The kind of the notes. Their keys are the domains of the sites."""
MAX_SITES = 5000
"""Maximum number of sites whose families are kept in memory."""


class FamilyNotes(SharedSites[SiteFamilies, Result]):
    """The families of all sites of one crawl, with one note for each site."""

    def __init__(self) -> None:
        super().__init__(NOTE_KIND, SiteFamilies.read, SiteFamilies.add, SiteFamilies.plain, most=MAX_SITES)


# --- for people

EVIDENCE = {
    ARTICLE: "metadata of an article",
    DATED: "a date of its own",
    DATE_IN_METADATA: "a date in its metadata",
    BYLINE: "an author",
    LAYOUT: "the layout of the site's articles",
}
"""What a page may lack, in words."""
_REFUSED = {
    "no_evidence": "had too little evidence of being articles",
    "other_text": "had another text than the announced one",
    "section_front": "were lists",
    "too_short": "had hardly any text",
    "no_text": "had no text",
    "noindex": "say noindex",
    Reason.COPY.value: "were copies of stored articles",
    Reason.BARREN_LIST.value: "led to no articles that nothing else names",
    "login": "asked for a login",
    "consent": "asked about cookies",
    "error_page": "were error messages",
    "blocked": "asked whether the visitor is a robot",
    "author_page": "were pages of authors",
    "not_html": "were no HTML pages",
    "encrypted": "were documents with a password",
    "damaged": "were damaged documents",
}
"""Why pages were refused, in words that follow "2 of 2 tried pages"."""


@dataclass(frozen=True, slots=True)
class FamilyRow:
    """One family, for people and programs."""

    site: str
    family: str
    state: str
    waiting: int
    """Number of links that wait."""
    tried: int
    articles: int
    why: str
    """The reason for the state, as a sentence."""
    command: str
    """The command that fetches the waiting links; empty if no links wait."""


def rows_of(domain: str, site: SiteFamilies) -> list[FamilyRow]:
    """Return the families of a site: first those with most waiting links."""
    rows = [_row(domain, site, name, family) for name, family in site.families.items()]
    return sorted(rows, key=lambda row: (-row.waiting, -row.tried, row.family))


def _row(domain: str, site: SiteFamilies, name: str, family: Family) -> FamilyRow:
    return FamilyRow(
        site=domain,
        family=name,
        state=site.state(name).value,
        waiting=family.waiting,
        tried=family.tried,
        articles=family.good + family.named_good,
        why=reason_for(site, name),
        command=f"{PROGRAM} add --family {domain} {shlex.quote(name)}" if family.waiting else "",
    )


def reason_for(site: SiteFamilies, name: str) -> str:
    """Return the reason for the state of a family."""
    family = site.families.get(name, Family())
    state = site.state(name)
    if state is State.OPEN:
        return _reason_of_open(family)
    if family.bad:
        tried = family.bad + family.good
        return f"{family.bad} of {tried} tried pages {_reason(family)}"
    if family.named:
        tried = family.named_bad + family.named_good
        return f"{family.named_bad} of {tried} pages that feeds name were no articles"
    return "no such page was tried yet"


def _reason_of_open(family: Family) -> str:
    if family.opened:
        return "a person opened it"
    if family.named:
        return "the site's feeds or news sitemaps name such pages"
    if family.good:
        return f"{family.good} of {family.good + family.bad} tried pages were articles"
    return "such addresses differ only in numbers from those of articles"


def _reason(family: Family) -> str:
    most = family.refused.most_common(1)[0][0]
    return _REFUSED.get(most, f"were refused ({most})")


def sentences(rows: Iterable[FamilyRow], most: int) -> list[str]:
    """Return a sentence for each of the first ``most`` families with waiting links, and one for the
    others."""
    waiting = [row for row in rows if row.waiting]
    lines = [
        f"{counted(row.waiting, 'link')} of {row.family} at {row.site} "
        f"{'waits' if row.waiting == 1 else 'wait'}: {row.why}; to fetch: {row.command}"
        for row in waiting[:most]
    ]
    if rest := waiting[most:]:
        number = sum(row.waiting for row in rest)
        site = rest[0].site if len({row.site for row in rest}) == 1 else "SITE"
        lines.append(
            f"{counted(number, 'link')} of {len(rest)} more families wait; to list them: "
            f"{PROGRAM} rules learn {site} --why"
        )
    return lines


def read_site(notes: Notes, domain: str) -> SiteFamilies:
    """Return the stored families of a site. Raises :class:`newsbot.errors.DataError`."""
    return FamilyNotes().of(notes, domain)


def lacking(missing: Sequence[str]) -> str:
    """Return what a page lacks, in words: ``a date of its own, an author``."""
    return ", ".join(EVIDENCE.get(name, name) for name in missing)
