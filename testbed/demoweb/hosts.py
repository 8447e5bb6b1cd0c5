"""The host names of the demo and how each of them works: language, URLs, markup, sources, rule."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone, tzinfo
from typing import Literal

Markup = Literal["json-ld", "open-graph", "microdata", "visible"]

_LATIN = dict(
    zip("абвгдеёзийклмнопрстуфцыэ", "abvgdeeziiklmnoprstufcye", strict=True),
    ж="zh",
    х="kh",
    ч="ch",
    ш="sh",
    щ="shch",
    ю="iu",
    я="ia",
    ъ="",
    ь="",
)
SLUG_WORDS = 6


def slug(title: str) -> str:
    """Return the title as used in URLs: Latin letters, words joined by hyphens."""
    latin = "".join(_LATIN.get(letter, letter) for letter in title.lower())
    return "-".join(re.findall(r"[a-z0-9]+", latin)[:SLUG_WORDS])


PathMaker = Callable[[str, str, int, datetime], str]
"""(topic slug, title, number, publication) -> path and query."""
SectionMaker = Callable[[str, int], str]
"""(topic slug, page from 1) -> path of a section front."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """One site of the demo."""

    name: str
    """The host as the site writes it; may be an internationalised name."""
    domain: str
    """The domain in its rule file."""
    title: str
    languages: Sequence[str]
    share: float
    """The share of all articles that this host publishes."""
    path: PathMaker
    section: SectionMaker | None = None
    """None for a host without section fronts."""
    markup: Markup
    charset: str = "utf-8"
    declare_charset: bool = True
    """Whether Content-Type names the charset."""
    gzip: bool = False
    canonical: bool = True
    """Whether articles name their canonical address."""
    zone: tzinfo = timezone.utc  # noqa: UP017  # datetime.UTC is the same object; the type reads better
    disallowed: tuple[str, ...] = ()
    """Path prefixes that robots.txt disallows."""
    rule: str = ""
    """The rule file after its ``domain`` line."""
    faults: Sequence[str] = ()
    """Faults that are assigned to articles one by one; see :mod:`testbed.demoweb.web`."""

    @property
    def ascii(self) -> str:
        """The host name as used in requests."""
        return self.name.encode("idna").decode("ascii")

    @property
    def source(self) -> str:
        """The source of its articles: the rule's domain in ASCII form."""
        return self.domain.encode("idna").decode("ascii")

    @property
    def base(self) -> str:
        """``http://host`` without a slash at the end."""
        return f"http://{self.name}"


GAZETA = Host(
    name="gazeta.demo.example",
    domain="gazeta.demo.example",
    title="Областная газета",
    languages=("ru",),
    share=0.19,
    path=lambda topic, title, number, at: f"/{topic}/{at:%Y/%m/%d}/{slug(title)}-{number}/",
    section=lambda topic, page: f"/{topic}/" + (f"?page={page}" if page > 1 else ""),
    markup="json-ld",
    declare_charset=False,
    gzip=True,
    disallowed=("/closed/", "/login"),
    zone=timezone(timedelta(hours=3)),
    faults=("slow", "flaky", "latin-header", "year-9999", "slow"),
    rule=r"""
feeds: [http://gazeta.demo.example/rss.xml]
sections: [http://gazeta.demo.example/]
article:
  - ^/[a-z]+/\d{4}/\d\d/\d\d/[\w-]+/$
  - ^/s/\w+$
section:
  - ^/[a-z]+/(\?page=\d+)?$
language: ru
timezone: Europe/Moscow
""",
)

HERALD = Host(
    name="www.herald.demo.example",
    domain="herald.demo.example",
    title="The County Herald",
    languages=("en",),
    share=0.18,
    path=lambda topic, title, number, at: f"/news/{topic}/{slug(title)}-{number}",
    section=lambda topic, page: f"/news/{topic}" + (f"?page={page}" if page > 1 else ""),
    markup="open-graph",
    disallowed=("/news/closed/",),
    faults=("flaky",),
)

NOVOSTI = Host(
    name="новости.demo.example",
    domain="новости.demo.example",
    title="Новости района",
    languages=("ru",),
    share=0.15,
    path=lambda topic, title, number, at: f"/news/{number}.html",
    section=lambda topic, page: f"/rubric/{topic}/" + (f"{page}/" if page > 1 else ""),
    markup="microdata",
    charset="windows-1251",
    disallowed=("/login",),
    zone=timezone(timedelta(hours=5)),
    faults=("utf8-header", "busy"),
    rule=r"""
feeds: [http://новости.demo.example/rss/rdf.xml]
sections: [http://новости.demo.example/]
article: ['^/news/\d+\.html$']
section: ['^/rubric/[a-z]+/(\d+/)?$']
deny: [^/print/]
drop_query: [sid]
language: ru
timezone: Asia/Yekaterinburg
""",
)

WIRE = Host(
    name="wire.demo.example",
    domain="wire.demo.example",
    title="Wire Agency",
    languages=("en", "ru"),
    share=0.14,
    path=lambda topic, title, number, at: f"/story.php?id={number}&desk={topic}",
    markup="visible",
    rule=r"""
feeds:
  - http://wire.demo.example/feed.json
  - http://wire.demo.example/all.rss
  - http://wire.demo.example/empty.rss
  - http://wire.demo.example/moved.rss
article: ['^/story\.php\?']
""",
)

ARCHIVE = Host(
    name="archive.demo.example",
    domain="archive.demo.example",
    title="The Evening Archive",
    languages=("en",),
    share=0.22,
    path=lambda topic, title, number, at: f"/{at:%Y/%m/%d}/{slug(title)}-{number}.html",
    markup="open-graph",
    zone=timezone(timedelta(hours=-5)),
    rule=r"""
sitemaps: [http://archive.demo.example/sitemap_index.xml]
sections: [http://archive.demo.example/]
article: ['^/\d{4}/\d\d/\d\d/[\w-]+\.html$']
section: ['^/archive/(\d{4}/(\d\d/(\d\d/)?)?)?$']
max_depth: 5
""",
)

COURIER = Host(
    name="courier.demo.example",
    domain="courier.demo.example",
    title="Harbour Courier",
    languages=("en",),
    share=0.12,
    path=lambda topic, title, number, at: f"/{topic}/{slug(title)}-{number}.html",
    section=lambda topic, page: f"/{topic}/" + (f"index{page}.html" if page > 1 else ""),
    markup="visible",
    canonical=False,
    zone=timezone(timedelta(hours=1)),
    faults=("broken", "busy", "hang-up", "slow"),
    rule=r"""
sections: [http://courier.demo.example/]
article: ['^/[a-z]+/[\w-]+-\d+\.html$']
section: ['^/[a-z]+/(index\d+\.html)?$']
language: en
timezone: Europe/Berlin
""",
)

HOSTS = (WIRE, GAZETA, HERALD, NOVOSTI, ARCHIVE, COURIER)
"""The agency is first because other hosts print its stories."""
