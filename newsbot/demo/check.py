"""Compares the stored articles and the requests of a crawl with the manifest of the invented web."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass, field
from itertools import combinations

from newsbot.demo.manifest import Expected, Manifest
from newsbot.items import Article
from newsbot.urls import canonicalize, fingerprint

WORDS_SHARE = 0.8
"""Minimum share of the article's words in a correct text."""
FIRST_LETTERS = 60
COLUMNS = ("site", "expected", "stored once", "missing", "twice", "unexpected", "wrong", "dated")
STORY_COLUMNS = ("which texts resemble each other", "pairs", "in one story", "wrong")
_SOURCES = frozenset({"robots", "feed", "sitemap", "section"})
_Pair = frozenset[bytes]


@dataclass(frozen=True, slots=True)
class Fault:
    """One difference. ``what`` is missing, twice, unexpected, wrong title or wrong text."""

    what: str
    url: str
    detail: str = ""


@dataclass(slots=True)
class Tally:
    """Counts of one source. ``dated`` are stored articles with the correct time of publication."""

    expected: int = 0
    once: int = 0
    missing: int = 0
    twice: int = 0
    unexpected: int = 0
    wrong: int = 0
    dated: int = 0


@dataclass(slots=True)
class Report:
    """The outcome of :func:`compare`."""

    faults: list[Fault] = field(default_factory=list)
    hosts: defaultdict[str, Tally] = field(default_factory=lambda: defaultdict(Tally))
    """Counts by source."""

    @property
    def ok(self) -> bool:
        """True if every article was stored exactly once and correctly, and nothing else was stored."""
        return not self.faults

    def rows(self) -> list[Sequence[object]]:
        """Return a table row for each source and one for all, with the columns of :data:`COLUMNS`."""
        rows = [(source, *astuple(tally)) for source, tally in sorted(self.hosts.items())]
        return [*rows, ("all", *(sum(row[at] for row in rows) for at in range(1, len(COLUMNS))))]


def compare(articles: Iterable[Article], manifest: Manifest) -> Report:
    """Return how the stored articles, in any order, differ from the manifest."""
    report = Report()
    owners = {_key(address): expected for expected in manifest.articles for address in expected.addresses}
    stored: Counter[str] = Counter()
    for article in articles:
        owner = owners.get(_key(article.canonical_url)) or owners.get(_key(article.url))
        if owner is None:
            report.hosts[article.source].unexpected += 1
            report.faults.append(Fault("unexpected", article.canonical_url, article.title))
            continue
        stored[owner.url] += 1
        # Further copies count as "twice" below; their content is not compared.
        if stored[owner.url] == 1:
            tally = report.hosts[article.source]
            tally.dated += article.to_dict()["published_at"] == owner.published
            faults = _wrong(article, owner)
            tally.wrong += len(faults)
            report.faults += faults
    for expected in manifest.articles:
        tally, count = report.hosts[expected.source], stored[expected.url]
        tally.expected += 1
        tally.once += count == 1
        tally.missing += count == 0
        tally.twice += count > 1
        if count != 1:
            detail = f"copies stored: {count}" if count else expected.title
            report.faults.append(Fault("twice" if count else "missing", expected.url, detail))
    return report


def _wrong(article: Article, expected: Expected) -> list[Fault]:
    if _plain(article.title) != _plain(expected.title):
        return [Fault("wrong title", expected.url, f"{article.title!r} instead of {expected.title!r}")]
    words = len(article.text.split())
    if words < WORDS_SHARE * expected.words:
        return [Fault("wrong text", expected.url, f"{words} words instead of {expected.words}")]
    if _plain(expected.first_line)[:FIRST_LETTERS] not in _plain(article.text):
        return [Fault("wrong text", expected.url, f"begins {article.text[:FIRST_LETTERS]!r}")]
    return []


def _key(url: str) -> bytes:
    """Return the identity of a URL. Text that is not a URL stands for itself."""
    try:
        return fingerprint(canonicalize(url))
    except ValueError:
        return url.encode()


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()


@dataclass(frozen=True, slots=True)
class Judged:
    """The result for one kind of pairs of stored articles."""

    what: str
    pairs: int
    joined: int
    """Pairs that are in one story."""
    wrong: int
    """Pairs with the wrong result: in one story but different news, or the same news but not in one story."""


def judge(articles: Iterable[Article], manifest: Manifest) -> list[Judged]:
    """Compare the stories of the stored articles, in any order, with the manifest."""
    known = {_key(address): _key(one.url) for one in manifest.articles for address in one.addresses}
    keys = ((_key(one.canonical_url), one.story or one.canonical_url) for one in articles)
    story = {known.get(key, key): name for key, name in keys}
    source = {_key(one.url): one.source for one in manifest.articles}
    stories: defaultdict[str, list[bytes]] = defaultdict(list)
    for key, name in story.items():
        stories[name].append(key)
    joined = _pairs(stories.values())
    same = _pairs([key for url in group if (key := _key(url)) in story] for group in manifest.families)
    reports = _pairs([key for url in group if (key := _key(url)) in story] for group in manifest.templates)
    at_home = {pair for pair in same if len({source.get(key) for key in pair}) == 1}
    kinds = (
        ("told again by another site", same - at_home, True),
        ("told again by the same site", at_home, True),
        ("one template, other numbers", reports, False),
        ("anything else", joined - same - reports, False),
    )
    return [
        Judged(what, len(pairs), len(pairs & joined), len(pairs - joined if wanted else pairs & joined))
        for what, pairs, wanted in kinds
    ]


def _pairs(groups: Iterable[Iterable[bytes]]) -> set[_Pair]:
    return {frozenset(pair) for group in groups for pair in combinations(group, 2)}


@dataclass(frozen=True, slots=True)
class Record:
    """One request in the log of a server. ``at`` is POSIX seconds of its arrival."""

    at: float
    method: str
    host: str
    path: str
    kind: str
    """The kind of the page."""
    status: int
    whole: bool
    """False if the server broke the connection on purpose before the end of the response."""
    conditional: bool
    active: int
    """Number of requests to this host in progress, including this one."""
    user_agent: str | None


@dataclass(slots=True)
class Figures:
    """Counts of a request log."""

    requests: int = 0
    by_kind: Counter[str] = field(default_factory=Counter)
    articles: int = 0
    """Articles that were sent completely. Each one is counted once, whichever of its addresses was
    requested."""
    pages: int = 0
    """Complete responses with status 200 other than robots.txt, feeds, sitemaps and sections."""
    conditional: int = 0
    forbidden: list[str] = field(default_factory=list)
    """Addresses that were requested although robots.txt disallows them."""

    @property
    def useful_share(self) -> float:
        """Share of articles among the pages; 1 if no page was fetched."""
        return self.articles / self.pages if self.pages else 1.0


def count_log(log: Iterable[Record], manifest: Manifest) -> Figures:
    """Return the counts of a request log of the web described by the manifest."""
    figures = Figures()
    owners = {_key(address): article.url for article in manifest.articles for address in article.addresses}
    seen: set[str | None] = {None}
    for record in log:
        figures.requests += 1
        figures.by_kind[record.kind] += 1
        figures.conditional += record.conditional
        if record.kind == "forbidden":
            figures.forbidden.append(f"http://{record.host}{record.path}")
        if record.status == 200 and record.whole and record.kind not in _SOURCES:
            figures.pages += 1
            owner = owners.get(_key(f"http://{record.host}{record.path}"))
            # None is in ``seen`` from the start, so that other pages do not count.
            figures.articles += owner not in seen
            seen.add(owner)
    return figures
