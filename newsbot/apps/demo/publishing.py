"""Makes invented news stories from the sentence templates and words of a YAML file.

Then it decides which site publishes which story, when and under which URLs, and makes the manifest. The
result depends only on the number of articles and the time. The manifest contains the expected result of a
crawl. It is a JSON file in the folder of the demo's rules.
"""

from __future__ import annotations

import json
import random
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timedelta, timezone
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any
from zlib import crc32

import yaml

from newsbot.clock import iso

SENTENCES = 24
"""Number of sentences of a story."""
PER_PARAGRAPH = 3
CUT = 4
"""Number of sentences that another site leaves out when it edits a story."""
_SLOT = re.compile(r"\{(\w+)\}")


@cache
def load(name: str) -> Any:
    """Return the content of a YAML file of this package."""
    return yaml.safe_load(files("newsbot.apps.demo").joinpath(f"{name}.yaml").read_text(encoding="utf-8"))


def fill(template: str, words: Mapping[str, Any], rng: random.Random) -> str:
    """Return the template with each ``{slot}`` replaced by a random word of this slot.

    ``{Slot}`` gives a word with a capital letter. Words may contain slots themselves.
    """

    def word(slot: re.Match[str]) -> str:
        choice = words[slot[1].lower()]
        text = fill(str(rng.choice(choice) if isinstance(choice, list) else choice), words, rng)
        return text[0].upper() + text[1:] if slot[1][0].isupper() else text

    return _SLOT.sub(word, template)


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """The text of one article, before a site publishes it."""

    language: str
    topic: str
    label: str
    """The topic's name for readers."""
    town: str
    subject: str
    title: str
    sentences: tuple[str, ...]
    author: str
    family: str
    """The title under which the story was first published. It is the same for edited versions."""
    template: str = ""
    """The template of a report; empty for other stories.

    Reports from the same template differ only in their numbers.
    """

    @property
    def paragraphs(self) -> list[str]:
        """The paragraphs, each of several sentences."""
        starts = range(0, len(self.sentences), PER_PARAGRAPH)
        return [" ".join(self.sentences[start : start + PER_PARAGRAPH]) for start in starts]

    @property
    def summary(self) -> str:
        """The first sentence, which is shown below headlines and in feeds."""
        return self.sentences[0]


class Writer:
    """Writes stories in one language, each with its own title.

    Two random generators ``rng`` in the same state give the same stories.
    """

    def __init__(self, language: str, rng: random.Random) -> None:
        self._language = language
        self._rng = rng
        self._words: dict[str, Any] = load(language)
        # e.g. "a old" becomes "an old"
        self._repairs = [(re.compile(pattern), better) for pattern, better in self._words["repairs"]]
        self._titles: set[str] = set()

    def story(self) -> Story:
        """Return a new story."""
        words = self._cast(self._rng.choice(list(self._words["topics"])))
        # Together with the lead, the story has SENTENCES sentences.
        body = self._rng.sample(words["fact"], 3) + self._rng.sample(words["general"], SENTENCES - 4)
        self._rng.shuffle(body)
        return self._story(words, words["title"], [self._rng.choice(words["lead"]), *body])

    def report(self, number: int) -> Story:
        """Return a weather report. All reports have the same words, but different numbers."""
        words = {**self._cast("transport"), "edition": number}
        return replace(self._story(words, words["report_title"], words["report"]), template=self._language)

    def edited(self, story: Story) -> Story:
        """Return the story as another site would publish it.

        It has a new title and author, some sentences are left out, and one sentence is added.
        """
        words = {**self._cast(story.topic), "home": story.town, "object": story.subject}
        sentences = list(story.sentences)
        for _ in range(CUT):
            # The first sentence stays, because it is the summary.
            sentences.pop(self._rng.randrange(1, len(sentences)))
        sentences.insert(PER_PARAGRAPH, self._fill(self._rng.choice(words["edit"]), words))
        title = self._title(words, words["title"])
        return replace(story, title=title, sentences=tuple(sentences), author=words["person"])

    def _story(self, words: Mapping[str, Any], titles: Sequence[str], body: Sequence[str]) -> Story:
        title = self._title(words, titles)
        return Story(
            language=self._language,
            topic=words["topic"],
            label=words["label"],
            town=words["home"],
            subject=words["object"],
            title=title,
            sentences=tuple(self._fill(template, words) for template in body),
            author=fill("{person}", self._words, self._rng),
            family=title,
        )

    def _cast(self, topic: str) -> dict[str, Any]:
        """Return the words for one story: the words of its topic, and a town, a subject and two speakers.

        The town, the subject and the speakers are drawn once, so they stay the same in the whole story.
        """
        words = {**self._words, **self._words["topics"][topic], "topic": topic}
        for name, slot in (("home", "town"), ("object", "object"), ("other", "person"), ("person", "person")):
            words[name] = fill(f"{{{slot}}}", words, self._rng)
        role, role2 = self._rng.sample(words["role"], 2)
        return words | {"last": words["person"].split()[-1], "role": role, "role2": role2}

    def _title(self, words: Mapping[str, Any], titles: Sequence[str]) -> str:
        while (title := self._fill(self._rng.choice(titles), words)) in self._titles:
            pass
        self._titles.add(title)
        return title

    def _fill(self, template: str, words: Mapping[str, Any]) -> str:
        text = fill(template, words, self._rng)
        for pattern, better in self._repairs:
            text = pattern.sub(better, text)
        return text[0].upper() + text[1:]


# Parameters that a crawler must remove from URLs.
TRACKING = "?utm_source=demo&utm_medium=feed&fbclid=Zx81"


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """One article that must be stored exactly once."""

    url: str
    title: str
    language: str
    host: str
    source: str
    """The domain of the rule, in ASCII form."""
    first_line: str
    """The first paragraph of the text."""
    words: int
    """Number of words of the text."""
    published: str
    """Time of publication in ISO 8601."""
    addresses: list[str] = field(default_factory=list)
    """All URLs of the host that have this text. The first URL is the canonical one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """The content of the web. All URLs are in the form in which the sites write them."""

    now: str
    """The current time of the demo web in ISO 8601. The newest articles are a little older."""
    articles: list[Expected]
    families: list[list[str]]
    """Groups of canonical URLs of articles with the same news, in the same or almost the same words."""
    templates: list[list[str]]
    """Groups of canonical URLs of reports. The reports of a group differ only in their numbers.

    These reports are different news, although they have the same words.
    """
    homes: list[str]
    """URLs of the front pages."""
    forbidden: list[str] = field(default_factory=list)
    """URLs of articles that robots.txt disallows."""
    seed: int = 1

    def save(self, path: Path) -> None:
        """Write the manifest as JSON."""
        path.write_text(json.dumps(asdict(self), ensure_ascii=False, indent=1), encoding="utf-8")


def without_tracking(path: str) -> str:
    """Return a path and its query without tracking and session parameters, which the sites ignore."""
    start, _, query = path.partition("?")
    kept = [part for part in query.split("&") if part and not part.startswith(("utm_", "fbclid=", "sid="))]
    return f"{start}?{'&'.join(kept)}" if kept else start


MIN_ARTICLES = 60
MAX_ARTICLES = 50_000
FRESH_DAYS = 2
"""Maximum age in days of the articles of sites without an archive."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """One site. The comment at the top of ``sites.yaml`` explains the fields."""

    name: str
    title: str
    languages: Sequence[str]
    share: float
    path: str
    markup: str
    section: Sequence[str] = ()
    charset: str = "utf-8"
    zone: int = 0
    sources: dict[str, tuple[str, str, str]] = field(default_factory=dict)
    disallow: Sequence[str] = ()
    copy: str = ""
    hidden: int = 0
    faults: Sequence[str] = ()
    odd: dict[str, dict[str, Any]] = field(default_factory=dict)
    traits: Sequence[str] = ()
    rule: str = ""

    @property
    def domain(self) -> str:
        """The domain of the site's rule file."""
        return self.name.removeprefix("www.")

    @property
    def ascii(self) -> str:
        """The host name as it is sent in requests."""
        return self.name.encode("idna").decode("ascii")

    @property
    def base(self) -> str:
        """The URL of the site, without a slash at its end."""
        return f"http://{self.name}"


def load_sites() -> list[Site]:
    """Return the sites of the web. The first one is the news agency."""
    return [Site(**row) for row in load("sites")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Article:
    """A story on a site."""

    site: Site
    number: int
    """The id of the article in URLs, unique on all sites."""
    story: Story
    published: datetime
    path: str
    fault: str
    """The fault of the article's page (:mod:`newsbot.apps.demo.server`); empty if there is none."""

    @property
    def url(self) -> str:
        """The canonical URL, as the site writes it."""
        return self.site.base + self.path

    @property
    def copies(self) -> list[str]:
        """Other paths of this site with the same text."""
        return [self.site.copy.format(path=self.path, number=self.number)] if self.site.copy else []

    def link(self, page: str) -> str:
        """Return the target of a link on ``page`` to this article.

        Some sites add a session id. It is different on each page.
        """
        return self.path + f"?sid={crc32(page.encode()):032x}" * ("sessions" in self.site.traits)


def publish(size: int, now: datetime) -> list[Article]:
    """Return ``size`` articles, sorted by site. The articles of each site are sorted by time, newest first.

    Raises ``ValueError`` if ``size`` is not between MIN_ARTICLES and MAX_ARTICLES.
    """
    if not MIN_ARTICLES <= size <= MAX_ARTICLES:
        raise ValueError(f"the demo can have {MIN_ARTICLES} to {MAX_ARTICLES} articles, but not {size}")
    publisher = _Publisher(random.Random(1), now)  # noqa: S311  # the web must be the same in each run
    sites = load_sites()
    counts = {site.name: int(site.share * size) for site in sites}
    # The shares are rounded down. The agency gets the remaining articles.
    counts[sites[0].name] += size - sum(counts.values())
    return [article for site in sites for article in publisher.run(site, counts[site.name])]


class _Publisher:
    def __init__(self, rng: random.Random, now: datetime) -> None:
        self._rng = rng
        self._now = now
        self._writers = {code: Writer(code, rng) for code in ("en", "ru")}
        self._agency: list[Story] = []
        self._number = 10_000

    def run(self, site: Site, count: int) -> list[Article]:
        stories = self._stories(site, count)
        # The agency is the first site. The other sites reprint its stories.
        self._agency = self._agency or stories
        self._rng.shuffle(stories)
        moments = self._moments(site, count)
        # Every second article has a fault until each fault has occurred once.
        faults = [fault for one in site.faults for fault in ("", one)] + [""] * count
        return [self._article(site, *row) for row in zip(stories, moments, faults, strict=False)]

    def _stories(self, site: Site, count: int) -> list[Story]:
        """Return the stories of a site.

        They are texts of the agency, reports, the site's own stories, and second versions of its stories. The
        first text of the agency is reprinted word for word. All further texts of the agency are edited.
        """
        stories: list[Story] = []
        writer = self._writers[site.languages[0]]
        if "reprints" in site.traits:
            agency = [story for story in self._agency if story.language in site.languages]
            first, *others = self._rng.sample(agency, min(len(agency), max(2, count // 8)))
            stories += [first, *map(writer.edited, others)]
        if "reports" in site.traits:
            stories += map(writer.report, range(1, 1 + max(2, count // 15)))
        twice = max(1, count // 20) if "retells" in site.traits else 0
        while len(stories) < count - twice:
            stories.append(self._writers[site.languages[len(stories) % len(site.languages)]].story())
        return [*stories, *map(writer.edited, stories[len(stories) - twice :])]

    def _moments(self, site: Site, count: int) -> list[datetime]:
        """Return times of publication, the latest first.

        The times are within the last FRESH_DAYS days. For a site with an archive, only one third of the times
        are within this period. All other times are on a few days of many earlier months.
        """
        fresh = count // 3 if "archive" in site.traits else count
        step = FRESH_DAYS * 24 * 60 / fresh  # in minutes, because pages show no seconds
        moments = [self._now - timedelta(minutes=int(step * (index + 0.5))) for index in range(fresh)]
        days = max(1, (count - fresh) // 4)
        for index in range(count - fresh):
            # These days are spread evenly between 640 and 40 days ago. Each day has about four articles.
            back = 40 + (index % days) * 600 // days
            moments.append(self._now - timedelta(days=back, minutes=self._rng.randint(1, 300)))
        return sorted(moments, reverse=True)

    def _article(self, site: Site, story: Story, moment: datetime, fault: str) -> Article:
        self._number += self._rng.randint(1, 9)
        at = moment.astimezone(timezone(timedelta(hours=site.zone)))
        slug = "-".join(re.findall(r"[a-z0-9]+", story.title.lower())[:6])
        path = site.path.format(topic=story.topic, slug=slug, number=self._number, at=at)
        return Article(site=site, number=self._number, story=story, published=at, path=path, fault=fault)


def make_manifest(articles: Sequence[Article], now: datetime) -> Manifest:
    """Return the manifest of these articles."""
    families: defaultdict[str, list[str]] = defaultdict(list)
    templates: defaultdict[str, list[str]] = defaultdict(list)
    for article in articles:
        families[article.story.family].append(article.url)
        templates[article.story.template].append(article.url)
    del templates[""]
    return Manifest(
        now=iso(now) or "",
        articles=[_expected(article) for article in articles],
        families=[urls for urls in families.values() if len(urls) > 1],
        templates=list(templates.values()),
        homes=[f"{site.base}/" for site in load_sites()],
    )


def _expected(article: Article) -> Expected:
    story, site = article.story, article.site
    tracked = [article.url + TRACKING] if "?" not in article.path else []
    return Expected(
        url=article.url,
        title=story.title,
        language=story.language,
        host=site.name,
        source=site.domain.encode("idna").decode("ascii"),
        first_line=story.paragraphs[0],
        words=len(" ".join(story.sentences).split()),
        published=iso(article.published) or "",
        addresses=[article.url, *tracked, *(site.base + path for path in article.copies)],
    )
