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
"""Minimum share of the article's words that a correct text contains."""
FIRST_LETTERS = 60
"""Number of characters at the start of the first line that a correct text contains."""
COLUMNS = ("site", "expected", "stored once", "missing", "twice", "unexpected", "wrong", "dated")
STORY_COLUMNS = ("pairs of similar texts", "pairs", "in one story", "wrong")
_SOURCES = frozenset({"robots", "feed", "sitemap", "section"})
_Pair = frozenset[bytes]


@dataclass(frozen=True, slots=True)
class Fault:
    """One difference between the stored articles and the manifest."""

    what: str
    """``missing``, ``twice``, ``unexpected``, ``wrong title`` or ``wrong text``."""
    url: str
    detail: str = ""


@dataclass(slots=True)
class Tally:
    """Counts of the articles of one source."""

    expected: int = 0
    once: int = 0
    """Number of articles that were stored exactly once."""
    missing: int = 0
    twice: int = 0
    """Number of articles that were stored more than once."""
    unexpected: int = 0
    wrong: int = 0
    """Number of articles that were stored with a wrong title or text."""
    dated: int = 0
    """Number of articles that were stored with the correct time of publication."""


@dataclass(slots=True)
class Report:
    """The result of :func:`compare`."""

    faults: list[Fault] = field(default_factory=list)
    hosts: defaultdict[str, Tally] = field(default_factory=lambda: defaultdict(Tally))
    """Counts by source."""

    @property
    def ok(self) -> bool:
        """True if every article was stored exactly once and correctly, and nothing else was stored."""
        return not self.faults

    def rows(self) -> list[Sequence[object]]:
        """Return a table row for each source, and one row for their sum, with the columns :data:`COLUMNS`."""
        rows = [(source, *astuple(tally)) for source, tally in sorted(self.hosts.items())]
        return [*rows, ("all", *(sum(row[at] for row in rows) for at in range(1, len(COLUMNS))))]


def compare(articles: Iterable[Article], manifest: Manifest) -> Report:
    """Return the differences between the stored articles and the manifest.

    The articles may have any order.
    """
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
        # Further copies are counted as "twice" below. Their content is not compared.
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
    """Return the first fault in the content of a stored article, or an empty list."""
    if _plain(article.title) != _plain(expected.title):
        return [Fault("wrong title", expected.url, f"{article.title!r} instead of {expected.title!r}")]
    words = len(article.text.split())
    if words < WORDS_SHARE * expected.words:
        return [Fault("wrong text", expected.url, f"{words} words instead of {expected.words}")]
    if _plain(expected.first_line)[:FIRST_LETTERS] not in _plain(article.text):
        return [Fault("wrong text", expected.url, f"begins {article.text[:FIRST_LETTERS]!r}")]
    return []


def _key(url: str) -> bytes:
    """Return the identity of a URL. For a text that is not a URL, return the text itself."""
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
    """Number of pairs that newsbot put into one story."""
    wrong: int
    """Number of pairs with a wrong result: different news in one story, or the same news in two stories."""


def judge(articles: Iterable[Article], manifest: Manifest) -> list[Judged]:
    """Compare the stories to which newsbot assigned the articles with the stories of the manifest."""
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
    # Pairs of articles on the same site with the same news.
    at_home = {pair for pair in same if len({source.get(key) for key in pair}) == 1}
    kinds = (
        ("same news on another site", same - at_home, True),
        ("same news on the same site", at_home, True),
        ("same template, different numbers", reports, False),
        ("different news", joined - same - reports, False),
    )
    return [
        Judged(what, len(pairs), len(pairs & joined), len(pairs - joined if wanted else pairs & joined))
        for what, pairs, wanted in kinds
    ]


def _pairs(groups: Iterable[Iterable[bytes]]) -> set[_Pair]:
    return {frozenset(pair) for group in groups for pair in combinations(group, 2)}


@dataclass(frozen=True, slots=True)
class Record:
    """One request in the log of the server."""

    at: float
    """Time of arrival in POSIX seconds."""
    method: str
    host: str
    path: str
    kind: str
    """The kind of the page (:class:`newsbot.demo.pages.Page`)."""
    status: int
    """Status of the response; 0 if the server sent none on purpose."""
    whole: bool
    """False if the server broke the connection on purpose before the end of the response."""
    conditional: bool
    """True if the request had validators."""
    active: int
    """Number of requests to this host in progress, including this one."""
    user_agent: str | None


@dataclass(slots=True)
class Figures:
    """Counts of a request log."""

    requests: int = 0
    by_kind: Counter[str] = field(default_factory=Counter)
    articles: int = 0
    """Number of articles that were sent completely.

    An article with several requested URLs is counted once.
    """
    pages: int = 0
    """Number of complete responses with status 200. Robots.txt, feeds, sitemaps and sections do not count."""
    conditional: int = 0
    """Number of requests with validators."""
    forbidden: list[str] = field(default_factory=list)
    """URLs that were requested although robots.txt disallows them."""

    @property
    def useful_share(self) -> float:
        """Share of articles among the fetched pages; 1 if none was fetched."""
        return self.articles / self.pages if self.pages else 1.0


def count_log(log: Iterable[Record], manifest: Manifest) -> Figures:
    """Return the counts of a request log. ``manifest`` describes the web that was crawled."""
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
            # The owner of a page without an article is None. None is in ``seen`` from the start, so such
            # pages do not count.
            figures.articles += owner not in seen
            seen.add(owner)
    return figures
