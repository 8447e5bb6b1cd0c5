"""Makes invented news stories from the sentence templates and words of a YAML file.

Then it decides which site publishes which story, when and under which URLs, and makes the manifest. The
result depends only on the number of articles and the time. The manifest contains the expected result of a
crawl. It is a JSON file in the folder of the demo's rules.

An HTTP server and forward proxy on loopback has the pages of all sites.

A client uses the server as its ``http_proxy`` and sends the whole URL in the request line. So any host name
works without DNS.

Some pages have a fault:

- ``error`` (500), ``busy`` (503), ``too-many`` (429, with Retry-After), ``broken`` (the response ends early)
  and ``hang-up`` (no response): these faults affect only the first request for a page.
- ``slow``: the response is late.
- ``latin-header`` and ``utf8-header``: the charset in Content-Type is wrong.
- ``year-9999``: the date of publication is in the year 9999.
- ``binary``: the body is not HTML, although the Content-Type is HTML.
- ``huge``: the body is larger than usual limits.
"""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import json
import random
import re
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime, timedelta, timezone
from email.utils import format_datetime
from functools import cache, partial
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from zlib import crc32

import yaml
from aiohttp import ETag, web
from jinja2 import Environment, PackageLoader, StrictUndefined

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


# --- the server
PER_PAGE = 15
"""Number of articles on a page of a section."""
ON_FRONT = 20
"""Number of articles on the front page."""
COPIES_ON_FRONT = 3
"""The front page of a site with the trait ``links-copies`` links to the copies of this number of articles."""
TRACKED = 3
"""Number of items in a feed whose links have tracking parameters."""
Link = tuple[str, Any]
"""URL of a link, and its text or the story that it shows."""


@dataclass(frozen=True, slots=True)
class Page:
    """One response."""

    kind: str
    """The kind of the page for the server's log, for example ``article``, ``feed`` or ``redirect``."""
    make: Callable[[], bytes] = bytes
    """A function that returns the body. It is called at each request."""
    content_type: str = "text/html"
    status: int = 200
    location: str = ""
    modified: datetime | None = None
    fault: str = ""
    """Name of a fault, as described in :mod:`newsbot.apps.demo.server`."""
    gzip: bool = False


def make_environment() -> Environment:
    """Return the Jinja environment for the templates of this package."""
    loader = PackageLoader("newsbot.apps.demo")
    environment = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    environment.globals |= {"noise": noise, "months": {code: load(code)["months"] for code in ("en", "ru")}}
    environment.filters["rfc5322"] = format_datetime
    return environment


def noise(site: Site, page: str, count: int) -> list[Link]:
    """Return ``count`` links to pages that are not articles. A page always gets the same links."""
    # With a str as the seed, the result does not depend on PYTHONHASHSEED.
    rng = random.Random(site.name + page)  # noqa: S311  # the web must be the same in each run
    drawn = (fill("{link}", load("noise"), rng).partition("|") for _ in range(count))
    return [(href, text) for href, _, text in drawn]


class Pages:
    """All pages of one site. ``articles`` must be sorted, newest first."""

    def __init__(self, site: Site, articles: list[Article], now: datetime, templates: Environment) -> None:
        self.site = site
        self._now = now
        self._html: Any = templates.get_template("pages.html").module
        self._xml: Any = templates.get_template("sources.xml").module
        archive = "archive" in site.traits
        oldest = now - timedelta(days=FRESH_DAYS)
        self._fresh = [one for one in articles if not archive or one.published > oldest]
        self._old = articles[len(self._fresh) :]
        # Hidden articles are in no list. Only short links on the front page lead to them. The slice
        # [:-hidden] would be wrong, because it is empty if hidden is 0.
        self._listed = self._fresh[: len(self._fresh) - site.hidden]
        self._type = "text/html" + f"; charset={site.charset}" * ("undeclared" not in site.traits)
        self._topics = load(site.languages[0])["topics"] if site.section else {}
        self._menu = [(self._address(topic, 1), words["label"]) for topic, words in self._topics.items()]
        self._menu += [("/archive/", "Archive")] * archive
        parts = (self._sources, self._articles, self._redirects, self._odd, self._sections, self._archive)
        self._routes = {path: page for part in parts for path, page in part()}

    def answer(self, path: str) -> Page:
        """Return the response for a path with its query. An unknown path gets a 404."""
        kind = path.split("/")[1].partition("?")[0]
        if path.startswith(tuple(self.site.disallow)):
            kind = "forbidden"
        elif (page := self._routes.get(path)) is not None:
            return page
        elif kind not in load("noise")["kinds"]:
            return Page("missing", lambda: b"<h1>404</h1>", self._type, 404)
        # As on real sites, tags, searches and calendars have an endless number of pages. So these pages are
        # made from the path and are not stored.
        return Page(kind, self._html_of("noise_page", path), self._type)

    def _html_of(self, macro: str, title: str, *rest: object) -> Callable[[], bytes]:
        """Return a function that makes an HTML page with a macro of the template."""
        return self._made(getattr(self._html, macro), self.site.charset, self._menu, title, *rest)

    def _made(self, macro: Any, charset: str, *arguments: object) -> Callable[[], bytes]:
        return lambda: macro(self.site, *arguments).encode(charset, "xmlcharrefreplace")

    def _sources(self) -> Iterator[tuple[str, Page]]:
        """Yield robots.txt, feeds and sitemaps."""
        if "no-robots" not in self.site.traits:
            yield "/robots.txt", Page("robots", self._made(self._xml.robots, "utf-8"), "text/plain")
        for path, (kind, part, content_type) in self.site.sources.items():
            # ``part`` is a slice of the list in Python's notation: "::2" is every second article.
            articles = self._listed[slice(*(int(end) if end else None for end in part.split(":")))]
            rows = [
                (one.url + TRACKING * (at < TRACKED and "?" not in one.path), one)
                for at, one in enumerate(articles)
            ]
            charset = self.site.charset if kind == "rdf" else "utf-8"
            make = self._made(getattr(self._xml, kind), charset, rows, self._now)
            if path.endswith(".gz"):
                make = partial(_packed, make)
            yield path, Page("sitemap" if "sitemap" in kind else "feed", make, content_type)

    def _articles(self) -> Iterator[tuple[str, Page]]:
        """Yield the articles and their copies."""
        for index, article in enumerate([*self._fresh, *self._old]):
            others = [self._listed[(index + step) % len(self._listed)] for step in (1, 2, 3)]
            related = self._teasers([one for one in others if one is not article], article.path)
            make = self._html_of("article_page", article.story.title, article, related)
            for path in (article.path, *article.copies):
                kind, fault = ("copy", "") if path in article.copies else ("article", article.fault)
                if path.startswith(("/amp/", "/print/")):
                    make = self._made(self._html.bare, self.site.charset, article)
                yield path, Page(kind, make, self._type, modified=article.published, fault=fault)

    def _teasers(self, articles: Sequence[Article], page: str) -> list[Link]:
        return [(article.link(page), article.story) for article in articles]

    def _short_links(self) -> list[tuple[str, Article]]:
        # If there are hidden articles, the newest article has a short link too ([:True] is one article). The
        # lists also show this article, so the redirects lead to a known page.
        articles = [*self._fresh[len(self._listed) :], *self._fresh[: self.site.hidden > 0]]
        return [(f"/s/x{article.number:x}", article) for article in articles]

    def _redirects(self) -> Iterator[tuple[str, Page]]:
        """Yield the redirects from short links to articles, in three steps."""
        for path, article in self._short_links():
            chain = pairwise(
                (path, f"{self.site.base}/r/{article.number}", f"/r/{article.number}/", article.path)
            )
            for (start, target), status in zip(chain, (302, 301, 307), strict=True):
                # The target of the first redirect is a whole URL. The target of each further redirect is a
                # path. Real sites use both forms.
                yield start.removeprefix(self.site.base), Page("redirect", status=status, location=target)

    def _odd(self) -> Iterator[tuple[str, Page]]:
        """Yield pages that are not articles, although their URLs look like URLs of articles."""
        for path, fields in self.site.odd.items():
            yield path.format(at=self._now), Page(**fields)

    def _list(self, path: str, title: str, teasers: list[Link], more: Sequence[Link]) -> tuple[str, Page]:
        make = self._html_of("listing", title, path, teasers, more)
        return path, Page("section", make, self._type, modified=self._now)

    def _sections(self) -> Iterator[tuple[str, Page]]:
        """Yield the front page and the pages of the sections."""
        copied = self._listed[:COPIES_ON_FRONT] if "links-copies" in self.site.traits else []
        front = self._teasers(self._listed[:ON_FRONT], "/")
        front += [(path, article.story) for path, article in self._short_links()]
        front += [(path, article.story) for article in copied for path in article.copies]
        front += [(path.format(at=self._now), {"title": path, "summary": ""}) for path in self.site.odd]
        yield self._list("/", self.site.title, front, [])
        for topic, words in self._topics.items():
            mine = [article for article in self._listed if article.story.topic == topic]
            # -(-a // b) divides and rounds up. A section without articles has one empty page.
            count = max(1, -(-len(mine) // PER_PAGE))
            pages = [(self._address(topic, number), str(number)) for number in range(1, count + 1)]
            for index, (path, _) in enumerate(pages):
                teasers = self._teasers(mine[index * PER_PAGE : (index + 1) * PER_PAGE], path)
                yield self._list(path, words["label"], teasers, pages)

    def _address(self, topic: str, page: int) -> str:
        # On many sites, the URL of the first page of a section has another form than the URLs of its further
        # pages.
        return self.site.section[page > 1].format(topic=topic, page=page)

    def _archive(self) -> Iterator[tuple[str, Page]]:
        """Yield the pages of the archive: one for all years, and one for each year, month and day."""
        below: defaultdict[str, dict[str, str]] = defaultdict(dict)
        days: defaultdict[str, list[Article]] = defaultdict(list)
        for article in self._old:
            path = "/archive/"
            for part in f"{article.published:%Y/%m/%d}".split("/"):
                below[path][f"{path}{part}/"] = part
                path += f"{part}/"
            days[path].append(article)
        for path in {**below, **days}:
            yield self._list(path, path, self._teasers(days[path], path), sorted(below[path].items()))


def _packed(make: Callable[[], bytes]) -> bytes:
    return gzip.compress(make(), mtime=0)  # without a time, so that the bytes and the ETag stay the same


DEFAULT_ARTICLES = 300
SLOW_SECONDS = 1.0
THREAD_TIMEOUT = 10.0
"""Maximum number of seconds to wait for the thread of the server to start, and to end."""
_ONCE = {"error": 500, "busy": 503, "too-many": 429, "broken": 200, "hang-up": 0}
"""Status of the response, by name of the fault, for faults that affect only the first request."""
_CUT = frozenset({"broken", "hang-up"})
"""Faults after which the connection is closed."""
_CHARSETS = {"latin-header": "iso-8859-1", "utf8-header": "utf-8", "binary": "utf-8"}
_BINARY = b"%PDF-1.7\n" + bytes(range(256)) * 200
_ROW = b"<p>minute by minute</p>\n"
HUGE_ROWS = 500_000
"""Number of rows of a huge page (12 MB)."""
_RULES = """\
# Rules for the demo only: a server on loopback does not need delays between requests.
delay: 0
concurrency: 4
max_depth: 5
interval: {feed: 10m, sitemap: 10m, section: 10m, article: 30d, other: 30d}
"""


@dataclass(frozen=True, slots=True)
class ServedRequest:
    """One request in the log of the server."""

    at: float
    """Time of arrival in POSIX seconds."""
    method: str
    host: str
    path: str
    kind: str
    """The kind of the page (:class:`newsbot.apps.demo.server.Page`)."""
    status: int
    """Status of the response; 0 if the server sent no response on purpose."""
    whole: bool
    """False if the server broke the connection on purpose before the end of the response."""
    conditional: bool
    """True if the request had validators."""
    active: int
    """Number of requests to this host in progress, including this one."""
    user_agent: str | None


class DemoServer:
    """The demo on 127.0.0.1, served by a thread between ``__enter__`` and ``__exit__``.

    The rules for the demo's sites, and the manifest, are written into ``folder``. ``now`` is the current time
    of the demo's sites, with a time zone.
    """

    def __init__(self, folder: Path, *, articles: int = DEFAULT_ARTICLES, now: datetime) -> None:
        published = publish(articles, now)
        templates = make_environment()
        self._sites: dict[str, Pages] = {}
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "_defaults.yaml").write_text(_RULES, encoding="utf-8")
        for site in load_sites():
            mine = [article for article in published if article.site.name == site.name]
            self._sites[site.ascii] = Pages(site, mine, now, templates)
            rule = f"domain: {site.domain}\n{site.rule}"
            (folder / f"{site.domain}.yaml").write_text(rule, encoding="utf-8")
        self.rules = folder
        self.manifest = make_manifest(published, now)
        self.manifest.save(folder / "manifest.json")
        self.log: list[ServedRequest] = []
        """All requests, in the order of their responses. The thread of the server appends to it."""
        self.address = ""
        """URL of the server, ``http://127.0.0.1:PORT``, without a slash at the end."""
        self._tries: Counter[tuple[str, str]] = Counter()
        self._active: Counter[str] = Counter()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), name="demo", daemon=True)

    @property
    def crawl_environment(self) -> dict[str, str]:
        """Environment variables for a crawl of the demo. The caller must set NEWSBOT_DATA itself."""
        proxy = {"http_proxy": self.address, "https_proxy": self.address, "no_proxy": ""}
        return {**proxy, "NEWSBOT_RULES": str(self.rules)}

    def __enter__(self) -> Self:
        self._thread.start()
        self._ready.wait(THREAD_TIMEOUT)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(THREAD_TIMEOUT)

    async def _serve(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        runner = web.ServerRunner(web.Server(self._handle, access_log=None), shutdown_timeout=0)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        self.address = "http://{}:{}".format(*runner.addresses[0])
        self._ready.set()
        await self._stop.wait()
        await runner.cleanup()

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        host, path, arrived = request.url.raw_host or "", request.url.raw_path_qs, time.time()
        page = self._find(request.method, host, without_tracking(path))
        response = _response(request, page)
        self._active[host] += 1
        # A request that is not answered has the status 0 in the log.
        status, whole = response.status * (page.fault != "hang-up"), page.fault not in _CUT
        row = (arrived, request.method, host, path, page.kind, status, whole, bool(request.if_none_match))
        self.log.append(ServedRequest(*row, self._active[host], request.headers.get("User-Agent")))
        try:
            await _send(request, page, response)
        finally:
            self._active[host] -= 1
        return response

    def _find(self, method: str, host: str, path: str) -> Page:
        """Return the page for a request.

        A fault that affects only the first request is removed from the page for later requests.
        """
        if method == "CONNECT":
            return Page("tunnel", status=501)
        if (other := self._sites.get(f"www.{host}")) is not None:
            return Page("redirect", status=301, location=other.site.base + path)
        if (site := self._sites.get(host)) is None:
            return Page("elsewhere", status=502)
        page = site.answer(path)
        # Only requests for pages with such a fault are counted, so the counter stays small.
        self._tries[host, path] += page.fault in _ONCE
        fault = page.fault if self._tries[host, path] < 2 else ""
        return replace(page, fault=fault, gzip="gzip" in site.site.traits)


def this_hour() -> datetime:
    """Return the start of the current hour in UTC.

    The articles of the demo are from the two days before it.
    """
    return datetime.now(UTC).replace(minute=0, second=0, microsecond=0)


def _response(request: web.BaseRequest, page: Page) -> web.Response:
    """Return the response for a page, with faults of status, headers and body."""
    headers = {"Content-Type": page.content_type}
    if page.fault in _CHARSETS:
        headers["Content-Type"] = f"text/html; charset={_CHARSETS[page.fault]}"
    if page.fault in {"busy", "too-many"}:
        headers["Retry-After"] = "1"
    if page.location:
        headers["Location"] = page.location
    body = _BINARY if page.fault == "binary" else page.make()
    if page.fault == "broken":
        # The header has the length of the whole body, so the client can see that the response is incomplete.
        headers["Content-Length"], body = str(len(body)), body[: len(body) // 2]
    response = web.Response(status=_ONCE.get(page.fault) or page.status, body=body, headers=headers)
    if response.status == 200:
        etag = hashlib.sha256(body).hexdigest()[:20]
        if any(known.value == etag for known in request.if_none_match or ()):
            response = web.Response(status=304)
        response.etag, response.last_modified = ETag(etag), page.modified
    if page.fault == "huge":
        response.body = _ROW * HUGE_ROWS
        response.enable_chunked_encoding()
    # The header of a broken response has the length of the uncompressed body.
    if page.gzip and page.fault != "broken":
        response.enable_compression()
    return response


async def _send(request: web.BaseRequest, page: Page, response: web.Response) -> None:
    """Send the response, with faults of the connection."""
    await asyncio.sleep(SLOW_SECONDS * (page.fault == "slow"))
    if page.fault != "hang-up":
        await response.prepare(request)
        await response.write_eof()
    if page.fault in _CUT and request.transport is not None:
        request.transport.close()
