"""The content of the demo: which stories appear where, when, at which URLs, and how a crawl can find them.

The plan is a pure function of the number of articles, a seed and a moment. It does not contain HTML.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum

from testbed.demoweb.bulletins import bulletin
from testbed.demoweb.hosts import ARCHIVE, COURIER, GAZETA, HERALD, HOSTS, NOVOSTI, WIRE, Host
from testbed.demoweb.lexicon import load_language
from testbed.demoweb.prose import Story, Writer

MIN_ARTICLES = 60
MAX_ARTICLES = 50_000
FRESH_DAYS = 2.0
FORBIDDEN_EACH = 3
AMP_LINKS = 3
SECOND_ADDRESSES = 3
SHORT_ONLY = 2
SECTION_ONLY = 4
"""Number of articles of the host with the one-line rule that are neither in its feed nor in its sitemap."""
PER_FEED = 20
FIRST_NUMBER = 10_000


class Way(StrEnum):
    """How the articles of a host can be found."""

    FEED = "feed"
    SITEMAP = "sitemap"
    SECTION = "section"
    ARCHIVE = "archive"
    """Only through five clicks: home, archive, year, month, day."""
    SHORT = "short"
    """Only through a short link that redirects."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Paper:
    """One published article: a story on a host."""

    host: Host
    number: int
    story: Story
    published: datetime
    ways: frozenset[Way]
    fault: str = ""
    family: int | None = None
    """Number of the first article with this story, for stories that were published more than once."""
    template: str = ""
    """The series of reports to which the article belongs: the same words with other numbers."""
    copies: tuple[str, ...] = ()
    """Other paths of this host with the same text."""

    @property
    def path(self) -> str:
        """Path and query of the canonical URL."""
        return self.host.path(self.story.topic.slug, self.story.title, self.number, self.published)

    @property
    def url(self) -> str:
        """The canonical URL, as the site writes it."""
        return self.host.base + self.path


@dataclass(slots=True)
class Plan:
    """The content of the whole demo."""

    seed: int
    now: datetime
    papers: list[Paper] = field(default_factory=list)
    forbidden: list[Paper] = field(default_factory=list)
    """Articles under paths that robots.txt disallows."""

    def of(self, host: Host) -> list[Paper]:
        """The articles of a host, newest first."""
        mine = [paper for paper in self.papers if paper.host is host]
        return sorted(mine, key=lambda paper: paper.published, reverse=True)

    def families(self) -> list[list[Paper]]:
        """Articles with the same story: the agency's text and the versions of other hosts."""
        groups: defaultdict[int, list[Paper]] = defaultdict(list)
        for paper in self.papers:
            if paper.family is not None:
                groups[paper.family].append(paper)
        return [group for group in groups.values() if len(group) > 1]

    def templates(self) -> list[list[Paper]]:
        """Groups of reports with the same template."""
        groups: defaultdict[str, list[Paper]] = defaultdict(list)
        for paper in self.papers:
            groups[paper.template].append(paper)
        return [group for template, group in groups.items() if template]


@dataclass(frozen=True, slots=True)
class _Draft:
    story: Story
    family: int | None = None
    template: str = ""


def make_plan(articles: int = 300, *, seed: int = 1, now: datetime) -> Plan:
    """Return the plan of a demo with exactly this many articles (MIN_ARTICLES to MAX_ARTICLES)."""
    if not MIN_ARTICLES <= articles <= MAX_ARTICLES:
        raise ValueError(f"the demo has {MIN_ARTICLES} to {MAX_ARTICLES} articles, not {articles}")
    rng = random.Random(seed)  # the site must be reproducible
    return _Planner(rng, Plan(seed, now)).run(articles)


class _Planner:
    def __init__(self, rng: random.Random, plan: Plan) -> None:
        self.rng = rng
        self.plan = plan
        self.writers = {code: Writer(load_language(code), rng) for code in ("en", "ru")}
        self.number = FIRST_NUMBER
        self.agency: list[_Draft] = []

    def run(self, articles: int) -> Plan:
        for host, count in _counts(articles):
            drafts = list(self._drafts(host, count))
            if host is WIRE:
                self.agency = drafts
            self.rng.shuffle(drafts)
            self._print(host, drafts)
        self._mark_families()
        for host in (GAZETA, HERALD):
            self._print_forbidden(host)
        return self.plan

    def _drafts(self, host: Host, count: int) -> Iterator[_Draft]:
        """Yield the stories of a host: first the agency's, then its own, some of which appear twice."""
        made = 0
        if host in (GAZETA, HERALD, COURIER):
            agency = [draft for draft in self.agency if draft.story.language in host.languages]
            taken = self.rng.sample(agency, min(len(agency), max(2, count // 8)))
            for index, draft in enumerate(taken):  # the first one is copied word for word
                story = draft.story if index == 0 else self._writer(draft.story.language).edited(draft.story)
                yield replace(draft, story=story)
                made += 1
        twice = max(1, count // 20) if host in (GAZETA, COURIER) else 0
        reports = max(2, count // 15) if host in (GAZETA, HERALD) else 0
        for index in range(reports):
            writer = self._writer(host.languages[0])
            topic, author = writer.language.topics[0], writer.language.people[0][0]
            report = bulletin(writer.language.code, topic, author, index + 1, self.plan.seed)
            yield _Draft(report, template=host.name)
        for index in range(count - made - twice - reports):
            family = self._next_number()
            story = self._writer(host.languages[index % len(host.languages)]).story()
            yield _Draft(story, family)
            if index < twice:
                yield _Draft(self._writer(story.language).edited(story), family)

    def _writer(self, language: str) -> Writer:
        return self.writers[language]

    def _next_number(self) -> int:
        self.number += self.rng.randint(1, 9)
        return self.number

    def _print(self, host: Host, drafts: list[_Draft]) -> None:
        moments = sorted(self._moments(host, len(drafts)), reverse=True)
        for index, (draft, published) in enumerate(zip(drafts, moments, strict=True)):
            self.plan.papers.append(
                Paper(
                    host=host,
                    number=self._next_number(),
                    story=draft.story,
                    published=published.astimezone(host.zone),
                    ways=_ways(host, index, len(drafts)),
                    fault=_fault(host, index),
                    family=draft.family,
                    template=draft.template,
                )
            )
        self._add_copies(host)

    def _moments(self, host: Host, count: int) -> list[datetime]:
        """Return publication times in the last two days. The archive host also has a few older days."""
        fresh = count if host is not ARCHIVE else count // 3
        now = self.plan.now
        step = FRESH_DAYS * 24 * 60 / fresh  # whole minutes: pages show no seconds
        moments = [now - timedelta(minutes=int(step * (index + 0.5))) for index in range(fresh)]
        days = max(1, (count - fresh) // 4)
        for index in range(count - fresh):
            back = 40 + (index % days) * 600 // days
            moments.append(now - timedelta(days=back, minutes=self.rng.randint(1, 300)))
        return moments

    def _add_copies(self, host: Host) -> None:
        """Give some articles additional URLs with the same text."""
        mine = [index for index, paper in enumerate(self.plan.papers) if paper.host is host]
        for index in mine[:SECOND_ADDRESSES] if host is COURIER else mine:
            paper = self.plan.papers[index]
            copies = _copies(paper)
            if copies:
                self.plan.papers[index] = replace(paper, copies=copies)

    def _mark_families(self) -> None:
        """Clear the family of stories that were published only once."""
        groups: defaultdict[int | None, int] = defaultdict(int)
        for paper in self.plan.papers:
            groups[paper.family] += 1
        self.plan.papers = [
            paper if groups[paper.family] > 1 else replace(paper, family=None) for paper in self.plan.papers
        ]

    def _print_forbidden(self, host: Host) -> None:
        for index in range(FORBIDDEN_EACH):
            story = self._writer(host.languages[0]).story()
            closed = replace(story, topic=replace(story.topic, slug="closed"))
            published = (self.plan.now - timedelta(hours=index + 1)).astimezone(host.zone)
            paper = Paper(
                host=host,
                number=self._next_number(),
                story=closed,
                published=published,
                ways=frozenset({Way.SECTION}),
            )
            self.plan.forbidden.append(paper)


def _counts(articles: int) -> Iterator[tuple[Host, int]]:
    counts = {host.name: int(host.share * articles) for host in HOSTS}
    counts[ARCHIVE.name] += articles - sum(counts.values())
    for host in HOSTS:
        yield host, counts[host.name]


def _ways(host: Host, index: int, count: int) -> frozenset[Way]:
    """Return how article ``index`` (0 is the newest) of a host can be found."""
    fed = {Way.FEED} if index < PER_FEED else set()
    if host is WIRE:
        return frozenset({Way.FEED})
    if host is ARCHIVE:
        if index < count // 3:
            return frozenset({Way.SITEMAP, Way.SECTION} if index < PER_FEED // 2 else {Way.SITEMAP})
        return frozenset({Way.ARCHIVE})
    if host is GAZETA and index >= count - SHORT_ONLY:
        return frozenset({Way.SHORT})
    if host is HERALD and index < count - SECTION_ONLY:
        fed.add(Way.SITEMAP)
    if host is COURIER:
        return frozenset({Way.SECTION})
    return frozenset(fed | {Way.SECTION})


def _fault(host: Host, index: int) -> str:
    """Return the fault of article ``index``: every second article has one, until all faults are used."""
    at, odd = divmod(index, 2)
    return host.faults[at] if odd and at < len(host.faults) else ""


def _copies(paper: Paper) -> tuple[str, ...]:
    if paper.host is HERALD:
        return (f"/amp{paper.path}",)
    if paper.host is NOVOSTI:
        return (f"/print/{paper.number}.html",)
    if paper.host is COURIER:
        return ("/city/" + paper.path.rpartition("/")[2],)
    return ()
