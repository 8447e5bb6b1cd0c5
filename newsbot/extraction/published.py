"""When an article was published and last changed, with the source, the precision and the zone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from newsbot.extraction.dates import Written, find_date, parse_stamp, plausible
from newsbot.extraction.evidence import (
    FEED,
    JSON_LD,
    META,
    MICRODATA,
    OPEN_GRAPH,
    RULE,
    SITEMAP,
    TIME_TAG,
    URL,
    VISIBLE,
    Candidate,
)
from newsbot.extraction.page import Page, Times, text_of
from newsbot.extraction.strings import word_list
from newsbot.extraction.visible_dates import relative_dates, visible_dates
from newsbot.items import Link, Precision, Where

Moment = Candidate[Written]

_PUBLISHED = word_list(
    "datepublished publishdate publish-date publish_date pubdate pub_date published_time published_at "
    "published article.published "
    "originalpublicationdate date_published publication_date publication-date parsely-pub-date "
    "sailthru.date cxenseparse:recs:publishtime "
    "cxenseparse:publishtime vr:published_time mediator_published_time dc.date.issued dcterms.issued "
    "dcterms.created citation_publication_date "
    "citation_online_date article_date_original dcsext.articlefirstpublished bt:pubdate rnews:datepublished "
    "datecreated ptime "
    "release_date displaydate"
)
_LOOSE = word_list(
    "date dc.date dcterms.date dc.date.created citation_date article.created creation_date timestamp"
)
_MODIFIED = word_list(
    "article:modified_time og:updated_time datemodified article:modified modified_time lastmod "
    "last-modified dc.date.modified dcterms.modified "
    "parsely-updated-date cxenseparse:recs:modifiedtime mediator_modified_time article.updated revised "
    "date_modified updated_time"
)
_URL_DATE = re.compile(r"(?<!\d)((?:19|20)\d\d)[/_.-](0?[1-9]|1[0-2])[/_.-](0?[1-9]|[12]\d|3[01])(?!\d)")
_URL_COMPACT = re.compile(r"(?<![\d-])(20[0-3]\d)/?(0[1-9]|1[0-2])/?(0[1-9]|[12]\d|3[01])(?![\d])")
_URL_REVERSED = re.compile(r"(?<!\d)(0[1-9]|[12]\d|3[01])[-/.](0[1-9]|1[0-2])[-/.](20[0-3]\d)(?!\d)")
_FINER_FROM = 0.45
_ENOUGH = 0.75
"""A time from metadata that is trusted so far makes the search of visible text needless."""


@dataclass(frozen=True, slots=True)
class Given:
    """What is known besides the page: the link that led to it, the rule's time zone, the present."""

    hint: Link | None
    timezone: str | None
    now: datetime


@dataclass(frozen=True, slots=True)
class When:
    """A time of an article. ``note`` is what ``Article.extraction`` says of it."""

    at: datetime
    source: str
    precision: Precision
    note: str


@dataclass(frozen=True, slots=True)
class Zones:
    """How a time without zone is read: as the page writes others, else as the rule says, else as UTC."""

    page: tzinfo | None
    rule: tzinfo | None

    @property
    def default(self) -> tzinfo:
        """The zone that is taken where none is written."""
        return self.page or self.rule or UTC

    def apply(self, moment: Moment) -> When:
        """Return the moment by the site's clock; the note says whence its zone is unless it was written."""
        written = moment.value
        said = "+page-zone" if self.page else "+rule-zone" if self.rule else "+assumed-utc"
        note = moment.method + (said if written.zone is None and written.precision != "day" else "")
        return When(written.at(self.default), moment.method, written.precision, note)


def rule_zone(name: str | None) -> tzinfo | None:
    """Return the zone of a rule's ``timezone``; None for none, and for one that is not known here."""
    if not name:
        return None
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None


def published(page: Page, stated: list[str], given: Given) -> When | None:
    """Return the time of publication; ``stated`` holds what the rule's selectors gave."""
    region = _region(page)
    first = [*_from_rule(stated, region), *_structured(page, region), *_from_hint(given.hint)]
    zones = _zones(page, first, given.timezone)
    found = _usable(first, zones, given.now)
    if not any(c.value.precision != "day" and c.confidence >= _ENOUGH for c in found):
        second = [*_time_tags(page, region), *_from_url(page.url), *_visible(page, region)]
        found += _usable(second, zones, given.now)
    if not found:
        found = _usable(_relative(page, given.now, zones.default), zones, given.now)
    chosen = _choose(found)
    return zones.apply(chosen) if chosen else None


def modified(page: Page, stated: list[str], given: Given, since: datetime | None) -> When | None:
    """Return the time of the last change, if it lies not before ``since`` (the publication)."""
    region = _region(page)
    candidates = [*_from_rule(stated, region), *_changed(page, region)]
    hint = given.hint
    if hint is not None and hint.modified_at is not None:
        method = SITEMAP if hint.where is Where.NEWS_SITEMAP else FEED
        candidates.append(_aware(hint.modified_at, method, 0.5))
    zones = _zones(page, candidates, given.timezone)
    usable = [
        c
        for c in _usable(candidates, zones, given.now)
        if since is None or c.value.at(zones.default) >= since
    ]
    chosen = max(usable, key=lambda c: c.confidence, default=None)
    return zones.apply(chosen) if chosen else None


def probable_day(page: Page, hint: Link | None, now: datetime) -> datetime | None:
    """Return a quick idea of the publication time, to choose the layout of a rule by."""
    if hint is not None and hint.published_at is not None and plausible(hint.published_at, now):
        return hint.published_at
    region = _region(page)
    for candidate in (*_structured(page, region), *_from_url(page.url)):
        at = candidate.value.at(UTC)
        if plausible(at, now):
            return at
    return None


def _region(page: Page) -> str | None:
    """Language and country (``en-us``) that decide how 3/4/2024 is read."""
    tag = page.meta("og:locale") or page.html_lang or ""
    return tag.replace("_", "-").lower()[:5] or None


def _stamp(text: str, method: str, confidence: float, region: str | None) -> Iterator[Moment]:
    written = parse_stamp(text, region) if text else None
    if written is not None:
        yield Candidate(written, method, confidence)


def _aware(moment: datetime, method: str, confidence: float) -> Moment:
    moment = moment.astimezone(UTC)
    precision: Precision = "second" if moment.time().replace(tzinfo=None) != datetime.min.time() else "day"
    return Candidate(Written(moment.replace(tzinfo=None), precision, UTC), method, confidence)


def _from_rule(values: list[str], region: str | None) -> Iterator[Moment]:
    for value in values[:5]:
        yield from _stamp(value, RULE, 1.0, region)


def _structured(page: Page, region: str | None) -> Iterator[Moment]:
    node = page.article
    if node is not None:
        yield from _stamp(str(node.get("datePublished") or ""), JSON_LD, 0.95, region)
        yield from _stamp(str(node.get("dateCreated") or ""), JSON_LD, 0.62, region)
    yield from _stamp(
        page.meta("article:published_time", "og:article:published_time", "og:published_time"),
        OPEN_GRAPH,
        0.92,
        region,
    )
    for item in page.items.get("datePublished", [])[:1]:
        value = item.get("content") or item.get("datetime") or text_of(item, 100)
        yield from _stamp(value, MICRODATA, 0.88, region)
    for name in _PUBLISHED:
        yield from _stamp(page.meta(name), META, 0.85, region)
    for weak in page.nodes.weaker():
        yield from _stamp(
            str(weak.get("datePublished") or weak.get("uploadDate") or ""), JSON_LD, 0.78, region
        )
    for name in _LOOSE:
        yield from _stamp(page.meta(name), META, 0.72, region)


def _changed(page: Page, region: str | None) -> Iterator[Moment]:
    if page.article is not None:
        yield from _stamp(str(page.article.get("dateModified") or ""), JSON_LD, 0.9, region)
    for item in page.items.get("dateModified", [])[:1]:
        value = item.get("content") or item.get("datetime") or text_of(item, 100)
        yield from _stamp(value, MICRODATA, 0.8, region)
    for name in _MODIFIED:
        yield from _stamp(page.meta(name), OPEN_GRAPH if ":" in name else META, 0.7, region)


def _from_hint(hint: Link | None) -> Iterator[Moment]:
    if (
        hint is not None
        and hint.published_at is not None
        and hint.where in (Where.FEED, Where.NEWS_SITEMAP, Where.PUSH)
    ):
        news = hint.where is Where.NEWS_SITEMAP
        yield _aware(hint.published_at, SITEMAP if news else FEED, 0.84 if news else 0.8)


def _time_tags(page: Page, region: str | None) -> Iterator[Moment]:
    for index, tag in enumerate(page.times[:40]):
        confidence = _time_confidence(tag, index, len(page.times))
        written = parse_stamp(tag.stamp, region) if tag.stamp else None
        shown = find_date(tag.text, region) if written is None or written.precision == "day" else None
        if shown is not None and (written is None or shown.local.date() == written.local.date()):
            written = shown
        if written is not None:
            yield Candidate(written, TIME_TAG, confidence)


def _time_confidence(tag: Times, index: int, count: int) -> float:
    if re.search(r"updat|modif", tag.names):
        return 0.35
    marked = (
        re.search(r"publi|pubdate|entry-date|posted|dt-published|created", tag.names)
        or tag.element.get("pubdate") is not None
    )
    return (0.72 if marked else 0.66 if count == 1 else 0.58) - 0.01 * min(index, 10)


def _from_url(url: str) -> Iterator[Moment]:
    path = url.partition("?")[0]
    for pattern, order in ((_URL_DATE, (1, 2, 3)), (_URL_COMPACT, (1, 2, 3)), (_URL_REVERSED, (3, 2, 1))):
        match = pattern.search(path)
        if match is None:
            continue
        try:
            day = datetime(int(match[order[0]]), int(match[order[1]]), int(match[order[2]]))
        except ValueError:  # 31 February
            continue
        yield Candidate(Written(day, "day"), URL, 0.62)
        return


def _visible(page: Page, region: str | None) -> Iterator[Moment]:
    for written, confidence in visible_dates(page, region):
        yield Candidate(written, VISIBLE, confidence)


def _relative(page: Page, now: datetime, zone: tzinfo) -> list[Moment]:
    """What the page tells from the reader's day; asked only where it names no date at all."""
    moments = [Candidate(written, VISIBLE, trust) for written, trust in relative_dates(page, now, zone)]
    return moments[:10]


def _zones(page: Page, candidates: list[Moment], timezone: str | None) -> Zones:
    """Find the zone of the page in the times that have one; UTC says nothing about the site."""
    offsets = [c.value.zone for c in candidates if c.value.zone is not None]
    if page.article is not None:
        other = parse_stamp(str(page.article.get("dateModified") or ""))
        offsets += [other.zone] if other is not None and other.zone is not None else []
    local = [zone for zone in offsets if zone.utcoffset(None)]
    return Zones(local[0] if local else None, rule_zone(timezone))


def _usable(candidates: list[Moment], zones: Zones, now: datetime) -> list[Moment]:
    return [_honest(c) for c in candidates if plausible(c.value.at(zones.default), now)]


def _honest(candidate: Moment) -> Moment:
    """Midnight sharp is a day whose time nobody filled in."""
    written = candidate.value
    if written.precision == "day" or written.local.time() != datetime.min.time():
        return candidate
    return Candidate(Written(written.local, "day", written.zone), candidate.method, candidate.confidence)


def _choose(found: list[Moment]) -> Moment | None:
    """The most trusted one; if it is a bare day, the most trusted one with a time on that day."""
    chosen = max(found, key=lambda c: c.confidence, default=None)
    if chosen is None or chosen.value.precision != "day":
        return chosen
    day = chosen.value.local.date()
    finer = [
        c
        for c in found
        if c.value.precision != "day" and c.value.local.date() == day and c.confidence >= _FINER_FROM
    ]
    return max(finer, key=lambda c: c.confidence, default=chosen)
