"""Compares what a crawl stored with what the demo holds: every article exactly once, with its words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from benchmarks.demoweb.manifest import Expected, Manifest
from newsbot.items import Article
from newsbot.urls import canonicalize, fingerprint

WORDS_SHARE = 0.8
"""A text with fewer of the article's words than that counts as wrong."""
FIRST_LETTERS = 60


@dataclass(frozen=True, slots=True)
class Fault:
    """One difference: ``what`` is missing, twice, unexpected, wrong title or wrong text."""

    what: str
    url: str
    detail: str = ""


@dataclass(slots=True)
class Report:
    """The outcome of :func:`compare`."""

    faults: list[Fault] = field(default_factory=list)
    hosts: dict[str, Tally] = field(default_factory=dict)
    """Counts by source."""

    @property
    def ok(self) -> bool:
        """True when every article was stored exactly once, rightly, and nothing else."""
        return not self.faults

    def rows(self) -> list[Sequence[object]]:
        """Return a table row for each source and one for all; :data:`COLUMNS` are its heads."""
        total = Tally()
        for tally in self.hosts.values():
            for name in Tally.__slots__:
                setattr(total, name, getattr(total, name) + getattr(tally, name))
        return [(source, *tally.row()) for source, tally in [*sorted(self.hosts.items()), ("all", total)]]


@dataclass(slots=True)
class Tally:
    """Counts of one source. ``dated`` are those stored with the right time of publication."""

    expected: int = 0
    once: int = 0
    missing: int = 0
    twice: int = 0
    unexpected: int = 0
    wrong: int = 0
    dated: int = 0

    def row(self) -> tuple[int, ...]:
        """The counts in the order of :data:`COLUMNS`."""
        return tuple(getattr(self, name) for name in Tally.__slots__)


COLUMNS = ("site", "expected", "stored once", "missing", "twice", "unexpected", "wrong", "dated")


def compare(articles: Iterable[Article], manifest: Manifest) -> Report:
    """Return how the stored articles differ from the manifest (any order, streamed)."""
    report = Report()
    owners = {_key(address): expected for expected in manifest.articles for address in expected.addresses}
    stored: Counter[str] = Counter()
    for expected in manifest.articles:
        report.hosts.setdefault(expected.source, Tally()).expected += 1
    for article in articles:
        tally = report.hosts.setdefault(article.source, Tally())
        owner = owners.get(_key(article.canonical_url)) or owners.get(_key(article.url))
        if owner is None:
            tally.unexpected += 1
            report.faults.append(Fault("unexpected", article.canonical_url, article.title))
            continue
        stored[owner.url] += 1
        if stored[owner.url] == 1:
            _judge(article, owner, tally, report)
    _count(manifest, stored, report)
    return report


def _judge(article: Article, expected: Expected, tally: Tally, report: Report) -> None:
    published = article.as_row()["published_at"]
    tally.dated += published == expected.published
    if (fault := _wrong(article, expected)) is not None:
        tally.wrong += 1
        report.faults.append(fault)


def _wrong(article: Article, expected: Expected) -> Fault | None:
    if _plain(article.title) != _plain(expected.title):
        return Fault("wrong title", expected.url, f"{article.title!r} instead of {expected.title!r}")
    words = len(article.text.split())
    if words < WORDS_SHARE * expected.words:
        return Fault("wrong text", expected.url, f"{words} words instead of {expected.words}")
    if _plain(expected.first_line)[:FIRST_LETTERS] not in _plain(article.text):
        return Fault("wrong text", expected.url, f"begins {article.text[:FIRST_LETTERS]!r}")
    return None


def _count(manifest: Manifest, stored: Counter[str], report: Report) -> None:
    for expected in manifest.articles:
        tally = report.hosts[expected.source]
        count = stored[expected.url]
        if count == 0:
            tally.missing += 1
            report.faults.append(Fault("missing", expected.url, expected.title))
        elif count == 1:
            tally.once += 1
        else:
            tally.twice += 1
            report.faults.append(Fault("twice", expected.url, f"stored {count} times"))


def _key(url: str) -> bytes:
    """Return the identity of an address; what is none stands for itself."""
    try:
        return fingerprint(canonicalize(url))
    except ValueError:
        return url.encode()


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()
