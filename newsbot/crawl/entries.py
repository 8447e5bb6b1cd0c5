"""Makes frontier entries and page records from judged links."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field

from newsbot.clock import iso
from newsbot.frontier.base import Entry, EntryData
from newsbot.items import Details, Event, EventKind, GivenBy, Link, PageRecord, Reason, Where
from newsbot.pages.rules.rule import Rule
from newsbot.ranking.judging import PATIENT_PRIORITY, SOURCE_PRIORITY, Judgement
from newsbot.urls import canonicalize, fingerprint, host_key

MAX_TITLE = 300
"""Maximum number of characters of a link's text that are stored."""
MAX_MEDIA = 5
"""Maximum number of files of a feed's item that are stored with its link."""
MAX_ADDRESS = 1000
"""Maximum number of characters of the address of such a file. Others are left out."""
AGAIN_PRIORITY = 30.0
"""Priority of pages that were fetched before. It is lower than the priority of new articles."""

_USER = re.compile(r"\s*([a-z]+:[/\\]*)[^/\\?#]*@(.*)", re.IGNORECASE | re.DOTALL)
"""Matches a URL with userinfo. The groups are the scheme, and the part after the userinfo.

By the WHATWG URL standard, the host begins after the last ``@`` before the path, and ``\\`` counts as ``/``.
"""


def entry_for(
    link: Link,
    rule: Rule,
    judgement: Judgement,
    *,
    depth: int,
    referrer: str | None,
    now: float,
    force: bool = False,
    given_by: GivenBy | None = None,
) -> Entry:
    """Return the frontier entry for a judged link.

    ``depth``: number of clicks from a seed to the link. ``referrer``: the URL of the page that has the link.
    ``now``: POSIX seconds. ``force``: a person requested the URL. ``given_by``: the site that has the link;
    None if a person or the rule names the URL. Raises ``ValueError`` if the URL is not a valid http(s) URL.
    """
    data: EntryData = {
        "source": rule.domain,
        "referrer": referrer,
        "where": link.where.value,
        "discovered_at": round(now, 3),
        "why": judgement.reason,
        "given_by": rule.domain if given_by is None else given_by,
    }
    if link.text:
        data["title"] = link.text[:MAX_TITLE]
    if published_at := iso(link.published_at):
        data["published_at"] = published_at
    if link.authors:
        data["authors"] = list(link.authors)
    if media := [one for one in link.media if len(one["url"]) <= MAX_ADDRESS][:MAX_MEDIA]:
        data["media"] = media
    if force:
        data["force"] = True
    return Entry(
        url=without_user(link.url),  # requests use the site's spelling; the canonical form is the identity
        fingerprint=fingerprint(canonicalize(link.url, rule.drop_query)),
        host=host_key(link.url),
        kind=judgement.kind,
        priority=judgement.priority,
        depth=depth,
        data=data,
    )


def without_user(url: str) -> str:
    """Return ``url`` without ``user:password@``. Everything else stays as the site wrote it.

    Credentials are never sent and must not appear in data and logs.
    """
    if "@" not in url:
        return url
    parts = _USER.match(url)
    return url if parts is None else parts[1] + parts[2]


def entry_again(page: PageRecord) -> Entry:
    """Return the frontier entry that queues a stored page again, at its due time."""
    # The record has no field for the place where the page was found. The first ``discovered`` event has it.
    events = (event for event in page.history if event.get("event") == EventKind.DISCOVERED)
    found: Details = next(events, Details())
    data: EntryData = {
        "source": page.source,
        "referrer": page.referrers[0] if page.referrers else None,
        "where": found.get("where", Where.BODY.value),
        "discovered_at": round(page.first_seen, 3),
        "why": found.get("why", Reason.DUE_AGAIN.value),
        "again": True,
    }
    if "given_by" in found:
        data["given_by"] = found["given_by"]
    if found.get("published_at"):
        data["published_at"] = found["published_at"]
    if found.get("authors"):
        data["authors"] = found["authors"]
    if found.get("media"):
        data["media"] = found["media"]
    if found.get("ruled"):
        data["ruled"] = found["ruled"]
    return Entry(
        url=page.url,
        fingerprint=page.fingerprint,
        host=page.host,
        kind=page.kind,
        priority=_priority_again(page, data["where"]),
        due=page.next_due or 0.0,
        depth=page.depth,
        data=data,
    )


def _priority_again(page: PageRecord, where: str) -> float:
    """Return the priority of a known page.

    The lowest priority is for files of a sitemap index that have never changed.
    """
    if page.kind.is_sitemap and where == Where.SITEMAP and not page.changes:
        return PATIENT_PRIORITY
    return SOURCE_PRIORITY.get(page.kind.like, AGAIN_PRIORITY)


def page_for(entry: Entry, now: float) -> PageRecord:
    """Return a pending page record for ``entry``; ``now`` is in POSIX seconds."""
    referrer = entry.data.get("referrer")
    # A frontier may forget an entry that is done. entry_again() restores its data from this event.
    discovered: Event = {
        "at": round(now, 3),
        "event": EventKind.DISCOVERED.value,
        "where": entry.data["where"],
        "referrer": referrer,
        "why": entry.data["why"],
    }
    if "given_by" in entry.data:
        discovered["given_by"] = entry.data["given_by"]
    if "published_at" in entry.data:
        discovered["published_at"] = entry.data["published_at"]
    if "authors" in entry.data:
        discovered["authors"] = entry.data["authors"]
    if "media" in entry.data:
        discovered["media"] = entry.data["media"]
    if "ruled" in entry.data:
        discovered["ruled"] = entry.data["ruled"]
    return PageRecord(
        url=entry.url,
        fingerprint=entry.fingerprint,
        host=entry.host,
        source=entry.data["source"],
        kind=entry.kind,
        referrers=[referrer] if referrer else [],
        referrer_count=1 if referrer else 0,
        depth=entry.depth,
        first_seen=now,
        history=[discovered],
    )


@dataclass(slots=True)
class Batch:
    """The result of judging links."""

    entries: dict[bytes, Entry] = field(default_factory=dict)
    """The frontier entries of the links to be queued, by fingerprint."""
    pages: list[PageRecord] = field(default_factory=list)
    """New page records for ``entries``."""
    held: dict[bytes, Entry] = field(default_factory=dict)
    """Links that wait for their family, by fingerprint (:mod:`newsbot.crawl.links.families`).

    They are queued when another page with the same shape turns out to be an article.
    """
    rejected: Counter[str] = field(default_factory=Counter)
    """The number of links that are not followed, by reason."""
