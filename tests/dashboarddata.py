"""Data for tests of the dashboard: ordinary data, and malicious data."""

from __future__ import annotations

import time
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Any, cast

from newsbot import backends
from newsbot.apps.alerts import rules as alertbook
from newsbot.apps.alerts.rules import Alert
from newsbot.apps.alerts.saved import save
from newsbot.apps.monitor.report import site_report
from newsbot.apps.monitor.results import PageCheck, SearchResult, checks_of, keep_report, searches_of
from newsbot.apps.operations.notifier_trust import TRUST, Trust
from newsbot.apps.search.phrases import Position
from newsbot.frontier.base import Entry
from newsbot.items import Article, Kind, PageRecord
from newsbot.storage.articles import story_id
from newsbot.storage.base import SiteRecord, SourceRecord, Storage
from newsbot.urls import canonicalize, fingerprint, host_key

SITE = "news.test"
EVIL = "\"'><script>document.title='owned'</script><img src=x onerror=document.title='owned'>[b]\u202e"
"""This text breaks out of HTML attributes and texts that are not escaped."""
EVIL_URL = "javascript:document.title='owned'"


def address(number: int) -> str:
    """Return the URL of an article."""
    return f"https://{SITE}/2026/11/20/story-{number}.html"


def make_article(number: int, **fields: Any) -> Article:
    """Return an article of the site; each has its own text and time."""
    published = datetime.now(UTC).replace(microsecond=0) - timedelta(hours=number + 1)
    defaults = {
        "url": address(number),
        "canonical_url": address(number),
        "source": SITE,
        "title": f"Bridge number {number} opened",
        "text": f"The bridge number {number} was opened by the mayor.\nMany people came.",
        "content_hash": f"hash {number}",
        "language": "en",
        "authors": ["Ann Lee"],
        "published_at": published,
        "published_precision": "minute",
        "fetched_at": published + timedelta(minutes=5),
        "discovered_at": published + timedelta(minutes=4),
        "extraction": {"title": "json-ld", "text": "rule"},
        **fields,
    }
    return Article(**defaults)


def fill(settings: dict[str, Any], *, evil: bool = False, articles: int = 45) -> None:
    """Write the data of one site: articles, versions, a story, a page, sources, errors, checks, a search."""
    storage, frontier = backends.open_storage(settings), backends.open_frontier(settings)
    bad = EVIL if evil else "plain"
    try:
        for number in range(articles):
            storage.articles.store(
                make_article(number, title=f"Bridge {number} {bad}") if evil else make_article(number)
            )
        storage.articles.store(
            make_article(0, text=f"Another text.\n{bad}", content_hash="b", title=f"New {bad}")
        )
        storage.stories.join([address(1), address(2)])
        _pages(storage, bad)
        _books(storage, bad)
        page = PageRecord(
            url=address(0),
            fingerprint=fingerprint(canonicalize(address(0))),
            host=host_key(address(0)),
            source=SITE,
            kind=Kind.ARTICLE,
            history=[{"at": time.time(), "event": "dropped", "reason": bad}],
        )
        storage.pages.save([page])
        frontier.add([_entry(3), _entry(4)])
        frontier.lease(f"worker {bad}", 1, horizon=time.time(), ttl=60)
    finally:
        frontier.close()
        storage.close()


def write_events(settings: dict[str, Any]) -> None:
    """Write three events: two stories on three sites; an older one on two sites; one on a single site."""
    storage = backends.open_storage(settings)
    now = datetime.now(UTC)
    events = (
        ("flood", "first.test", 5), ("flood", "second.test", 2), ("flood", "third.test", 1),
        ("fair", "second.test", 20), ("fair", "third.test", 19), ("again", SITE, 3), ("again", SITE, 4),
    )  # fmt: skip
    begun = {"fair": "https://second.test/fair-20", "again": f"https://{SITE}/again-4"}
    for story, source, hours in events:
        at, url = now - timedelta(hours=hours), f"https://{source}/{story}-{hours}"
        text = (
            "The dam of Ostrava broke, mayor Jana Dvorak said."
            if story == "flood"
            else "Sellers of Opava had honey."
        )
        fields: dict[str, Any] = {"url": url, "canonical_url": url, "source": source, "text": text}
        first = "https://first.test/flood-5" if source != "third.test" else url
        fields |= {"published_at": at, "fetched_at": at, "discovered_at": at, "content_hash": url}
        title = f"Ostrava flooded, {source} tells" if story == "flood" else f"Honey and cheese for {source}"
        storage.articles.store(
            make_article(0, **fields, title=title, story=story_id(begun.get(story, first)))
        )
    storage.close()


def _entry(number: int) -> Entry:
    url = address(number)
    return Entry(
        url=url,
        fingerprint=fingerprint(canonicalize(url)),
        host=host_key(url),
        kind=Kind.ARTICLE,
        data={"source": SITE, "discovered_at": time.time(), "where": "feed", "why": "new"},
    )


def _pages(storage: Storage, bad: str) -> None:
    now = time.time()
    checks = [
        PageCheck(url=address(5), source=SITE, at=now, run=now, status=404, server=bad, found_on=address(0)),
        PageCheck(url=address(6), source=SITE, at=now, run=now, status=200, hops=((301, EVIL_URL),)),
    ]
    checks_of(cast("Any", storage)).save(checks)
    report = site_report(cast("Any", storage), SITE)
    keep_report(storage.notes, report, {"began": now, "ended": now, "reason": "finished"})


def _books(storage: Storage, bad: str) -> None:
    now = time.time()
    save(storage, f"Bridges {bad}"[:80].strip(), "bridge", "daily", now)
    storage.sources.save(
        [
            SourceRecord(
                url=f"https://{SITE}/feed.xml",
                source=SITE,
                kind=Kind.FEED,
                polls=9,
                failures=3,
                failing_since=now - 600,
                last_error=bad,
                last_poll=now - 60,
                next_due=now + 60,
            )
        ]
    )
    counters = {"pages": 60, "article_pages": 45, "articles": 45, "fetched": 70, "errors": 4}
    alert = Alert(rule="silent", subject=SITE, what=f"silent {bad}", cause=bad, todo=bad, since=now - 60)
    entry = alertbook.Entry(alert=alert, first=now, last=now)
    storage.notes.save(alertbook.KIND, alert.key, asdict(entry))
    storage.sites.add(
        [
            SiteRecord(
                source=SITE,
                counters={**counters, f"errors/{bad}": 4},
                last_article=now,
                last_error=bad,
                last_error_at=now,
            )
        ]
    )
    storage.activity.add(now, {SITE: counters})
    position = Position(start=0, end=3, line=1, before=bad, found="abc", after=bad)
    result = SearchResult(
        search=bad, text=bad, url=address(1), source=SITE, looked_at=now, positions=[position], hits=1
    )
    searches_of(cast("Any", storage)).save([result])
    trust = Trust(at=now, hits=30.0, misses=10.0, told=30.0, untold=10.0)
    storage.notes.save(TRUST, f"websub:hub.test {bad}", asdict(trust))
