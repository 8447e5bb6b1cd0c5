"""Shares the families of each site between workers, and describes them for people
(:mod:`newsbot.ranking.families`)."""

from __future__ import annotations

import re
import shlex
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass

from newsbot.cli.program import PROGRAM
from newsbot.cli.terminal import counted
from newsbot.items import Reason
from newsbot.pages.extraction.evidence import ARTICLE, BYLINE, DATE_IN_METADATA, DATED, LAYOUT
from newsbot.ranking.families import LISTS, MAX_NAME, Family, Result, SiteFamilies, State
from newsbot.storage.notes import Notes, SharedSites

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


def waiting_rows(notes: Notes, domains: Container[str]) -> list[FamilyRow]:
    """Return the families with waiting links of these sites: those with most links first."""
    rows = [
        row
        for domain, note in notes.all(NOTE_KIND).items()
        if domain in domains
        for row in rows_of(domain, SiteFamilies.read(note))
        if row.waiting
    ]
    return sorted(rows, key=lambda row: (-row.waiting, row.site, row.family))


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


def pattern_of(name: str) -> str | None:
    """Return a pattern for ``article:`` of a rule that matches the members of a family.

    Returns None for lists and for families whose shape is in the query.
    """
    if name.startswith(LISTS) or "?" in name or len(name) >= MAX_NAME:
        return None
    return (
        "^"
        + re.sub(r"[*#@]+", lambda found: r"\d+" if set(found[0]) == {"#"} else "[^/]+", _escaped(name))
        + "$"
    )


def _escaped(name: str) -> str:
    """Escape what has a meaning in a regular expression, except the signs of families."""
    return re.sub(r"[.+()\[\]{}|^$\\]", r"\\\g<0>", name)


def lacking(missing: Sequence[str]) -> str:
    """Return what a page lacks, in words: ``a date of its own, an author``."""
    return ", ".join(EVIDENCE.get(name, name) for name in missing)
