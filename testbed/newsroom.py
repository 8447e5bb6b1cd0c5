"""Invented data of a newsroom in seven languages: sites, events with their reports, searches, faults.

The walks through the pages, the pictures of the pages and the picture in README show it.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import yaml

from newsbot.apps.alerts.saved import save
from newsbot.apps.demo.server import Writer
from newsbot.apps.search.articles import searching
from newsbot.backends import open_frontier, open_storage
from newsbot.dedup.index import text_key
from newsbot.frontier.base import Entry, EntryData
from newsbot.items import Article, Kind
from newsbot.storage.articles import story_id
from newsbot.storage.base import HOUR, SiteRecord, SourceRecord, Storage
from newsbot.urls import canonicalize, fingerprint, host_key

_FIRST = ("valley", "river", "capital", "harbour", "northern", "island", "county", "hill")
_SECOND = ("post", "herald", "tribune", "echo")
_OTHERS = {
    "ru": ("vestnik-gory", "utro-reki", "gazeta-sever", "slovo-goroda", "delo-kraya"),
    "de": ("tagblatt-see", "nordkurier", "stadtanzeiger"),
    "ar": ("alkhabar", "sawt-albahr"),
    "fa": ("rooznameh", "khabar-shahr"),
    "he": ("hadashot", "yom-tov"),
    "zh": ("rizhao-bao", "dongfang-zao"),
}
SITES = {"en": [f"{first}-{second}.example" for first in _FIRST for second in _SECOND]} | {
    language: [f"{name}.example" for name in names] for language, names in _OTHERS.items()
}
"""The sites by language."""
FAILING = {"harbour-herald.example": "dns", "hill-post.example": "timeout"}
"""Sites that cannot be read, each with the cause."""


@dataclass(frozen=True)
class Happening:
    """An event: language, number of sites, hours since the first report, headline and text."""

    language: str
    sites: int
    hours: float
    headline: str
    text: str


HAPPENINGS = [
    Happening(**one)
    for one in yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
]


def settings_in(folder: Path) -> dict[str, str]:
    """Return the settings of a newsroom whose data and rules are in ``folder``."""
    return {"NEWSBOT_DATA": str(folder), "NEWSBOT_RULES": str(folder / "rules")}


def furnish(folder: Path, *, days: int = 3, daily: int = 30) -> dict[str, str]:
    """Write the data and the rules into ``folder``, and return the settings.

    The last ``days`` have ``daily`` articles each, besides the reports of the events.
    """
    chance, now, settings = (
        random.Random("newsroom"),
        datetime.now(UTC).replace(microsecond=0),
        settings_in(folder),
    )
    sites = [site for some in SITES.values() for site in some]
    rules = folder / "rules"
    rules.mkdir(parents=True, exist_ok=True)
    for number, site in enumerate(sites):
        tag = "regional" if number % 3 else "national"
        (rules / f"{site}.yaml").write_text(
            f"domain: {site}\nfeeds: https://{site}/feed.xml\ntags: [{tag}]\n"
        )
    storage = open_storage(settings)
    for one in sorted(_background(chance, now, days, daily), key=lambda one: str(one.published_at)):
        storage.articles.store(one)
    for number, happening in enumerate(HAPPENINGS):
        for one in _reports(chance, now, number, happening):
            storage.articles.store(one)
    _books(storage, sites, chance)
    storage.close()
    frontier = open_frontier(settings)
    frontier.add([_entry(f"https://{site}/next/{number}", site) for site in sites for number in range(3)])
    frontier.lease("desk-1 pid 812", 2, horizon=time.time(), ttl=3 * HOUR)
    frontier.close()
    with searching(settings) as search:
        search.follow()
    return settings


def _article(
    chance: random.Random, site: str, language: str, at: datetime, *, name: str, title: str, text: str
) -> Article:
    url = f"https://{site}/{at:%Y/%m/%d}/{name}"
    return Article(
        url=url,
        canonical_url=url,
        source=site,
        title=title,
        text=text,
        content_hash=str(text_key(text)),
        language=language,
        authors=["Ann Lee"] if language == "en" and chance.random() < 0.5 else [],
        published_at=at,
        published_precision="minute",
        fetched_at=at + timedelta(minutes=chance.randrange(2, 9)),
        discovered_at=at + timedelta(minutes=1),
        section=chance.choice(("Region", "Economy", "Sport")) if language == "en" else None,
        extraction={"title": "json-ld", "text": "readability", "published_at": "json-ld"},
    )


def _background(chance: random.Random, now: datetime, days: int, daily: int) -> Iterator[Article]:
    writers = {language: Writer(language, random.Random(language)) for language in ("en", "ru")}
    for number in range(days * daily):
        language = "ru" if number % 5 == 0 else "en"
        some, story = SITES[language], writers[language].story()
        at = now - timedelta(days=days * chance.random())
        site = some[int(len(some) * chance.random() ** 2)]
        text = "\n".join(story.paragraphs)
        yield _article(chance, site, language, at, name=f"story-{number}", title=story.title, text=text)


def _reports(chance: random.Random, now: datetime, number: int, happening: Happening) -> Iterator[Article]:
    """Yield the reports of an event. Each fourth one begins a story; the first one has two versions."""
    language, first = happening.language, ""
    delays = sorted(chance.betavariate(1.6, 2.2) for _ in range(happening.sites))
    some = chance.sample(SITES[language], happening.sites)
    for place, (site, delay) in enumerate(zip(some, delays, strict=True)):
        at = now - timedelta(hours=happening.hours * (1 - delay + delays[0]))
        own = f" ({site.partition('.')[0]}, {place})" if place else ""
        text = happening.text.replace(". ", ".\n", 1) + own
        name = f"event-{number}-{place}"
        one = _article(chance, site, language, at, name=name, title=happening.headline, text=text)
        first = first or one.canonical_url
        one.story = story_id(one.canonical_url if place % 4 == 3 else first)
        if place:
            one.relation, one.similarity = (
                ("derived" if place % 3 == 0 else "member"),
                0.5 + chance.random() / 2,
            )
            one.derived_from = [first] if one.relation == "derived" else []
        yield one
        if not place:
            text = f"{text}\n{happening.text.partition('.')[0]}."
            later = one.fetched_at + timedelta(minutes=20) if one.fetched_at else None
            yield replace(one, text=text, content_hash=str(text_key(text)), fetched_at=later)


def _books(storage: Storage, sites: list[str], chance: random.Random) -> None:
    """Write the activity of the sites, their feeds and faults, and saved searches."""
    now = time.time()
    for hour in range(48):
        many = {site: chance.randrange(1, 4) for site in sites}
        storage.activity.add(
            now - hour * HOUR,
            {
                site: {"fetched": 3 * n, "pages": 2 * n, "article_pages": n, "articles": n}
                for site, n in many.items()
            },
        )
    for number, site in enumerate(sites):
        cause = FAILING.get(site)
        counters: dict[str, float] = {"pages": 900, "article_pages": 700, "articles": 650, "fetched": 1000}
        counters |= {f"errors/{cause}": 40} if cause else {}
        last = now - (25 * HOUR if cause else 60 * number)
        storage.sites.add(
            [
                SiteRecord(
                    source=site,
                    counters=counters,
                    last_article=last,
                    last_error=cause,
                    last_error_at=now - 3000 if cause else None,
                )
            ]
        )
        feed = SourceRecord(
            url=f"https://{site}/feed.xml",
            source=site,
            kind=Kind.FEED,
            polls=400,
            failures=7 if cause else 0,
            failing_since=now - 11 * HOUR if cause else None,
            last_error=cause,
            last_new=last,
            last_poll=now - 60,
            next_due=now + 600,
            new_links=800,
        )
        storage.sources.save([feed])
    for name, query, tell in (
        ("Floods", "flood OR hochwasser", "hourly"),
        ("Strikes", "strike OR забастовка", "daily"),
        ("Oldport", "Oldport", "off"),
    ):
        save(storage, name, query, tell, now)


def _entry(url: str, site: str) -> Entry:
    data: EntryData = {"source": site, "discovered_at": time.time(), "where": "feed", "why": "new"}
    key = fingerprint(canonicalize(url))
    return Entry(url=url, fingerprint=key, host=host_key(url), kind=Kind.ARTICLE, data=data)
