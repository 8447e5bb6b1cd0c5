"""Decides whether the crawl still gets articles from a site, and new links from a source.

The last pages of a site are compared with all earlier pages. A source is silent if it has had no new links
for an unusually long time.
"""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import numpy as np

from newsbot.cli.program import PROGRAM
from newsbot.cli.terminal import when
from newsbot.recrawl.planning import DEAD_AFTER, HOUR
from newsbot.recrawl.policies import HALF_LIFE, PRIOR_HOURS, PRIOR_ITEMS, Rhythm, overlaps
from newsbot.storage.base import SourceRecord, Sources
from newsbot.storage.notes import Notes, SharedSites

NOTE_KIND = "health"
WINDOW = 40
"""Number of pages of a site that count as its recent pages."""
ENOUGH = 20
"""An alarm needs at least this number of recent pages, and at least this number of earlier pages."""
CLIFF = 0.5
"""An alarm is raised if the share of articles among recent pages is below the earlier share multiplied by
this factor."""
USUAL = 0.4
"""Minimum share of articles among earlier pages for an alarm. A site with a lower share never had many
articles."""
MAX_REASON = 40
"""Maximum length of a stored reason in characters."""
MAX_SITES = 5000
"""Maximum number of sites that are kept in memory."""

SESSION_ENDED = "session_ended"
"""A site whose rule gives cookies or a password sent only a part of an article."""
_CAUSES = (
    ((SESSION_ENDED,), "the session of the site has ended (rule keys: cookies, auth)"),
    (("http_404", "http_410"), f"URLs have changed (see {PROGRAM} rules learn and {PROGRAM} rules new)"),
    (
        ("http_401", "http_403", "http_429", "http_451"),
        "the site refuses the crawler (see NEWSBOT_CONTACT and the rule key delay)",
    ),
    (("robots", "robots_unreachable"), "robots.txt forbids pages that it allowed before"),
    (("http_5xx", "timeout", "dns", "connection", "refused"), "the site is down or has moved"),
    (("render",), "the browser fails (see docs/render.md)"),
    (("tls",), "the certificate of the site is not valid (rule key: tls)"),
    (("too_large", "not_html", "binary"), "URLs lead to files (exclude them with a deny pattern)"),
)
_LAYOUT = f"the layout has changed, or these are log-in or consent pages (see {PROGRAM} rules test)"


@dataclass(slots=True)
class Pages:
    """The results of a site's pages that were fetched as articles."""

    lately: deque[str] = field(default_factory=lambda: deque(maxlen=WINDOW))
    """Results of the recent pages: "" for an article, otherwise the reason why the page was not an
    article."""
    pages: int = 0
    """Number of earlier pages."""
    articles: int = 0
    """Number of articles among the earlier pages."""

    def saw(self, reason: str) -> None:
        """Add the result of a page: "" for an article, otherwise the reason."""
        if len(self.lately) == WINDOW:  # the oldest recent page becomes an earlier one
            self.pages += 1
            self.articles += not self.lately[0]
        self.lately.append(reason[:MAX_REASON])

    def alarm(self) -> str | None:
        """Return one line with what happened and the likely cause, or None if there is no alarm."""
        if len(self.lately) < ENOUGH or self.pages < ENOUGH:
            return None
        # Only earlier pages count for ``before``, so that a sudden change does not lower it.
        before = self.articles / self.pages
        now = self.lately.count("") / len(self.lately)
        if before < USUAL or now >= before * CLIFF:
            return None
        # A reason that is not in the table, such as no_text, most likely means a new layout.
        reason, number = Counter(one for one in self.lately if one).most_common(1)[0]
        cause = next((text for reasons, text in _CAUSES if reason in reasons), _LAYOUT)
        return (
            f"articles in {now:.0%} of the last {len(self.lately)} pages, {before:.0%} before; "
            f"mostly {reason} ({number}): {cause}"
        )

    def plain(self) -> dict[str, Any]:
        """Return the record as a JSON-serializable mapping."""
        return {"lately": list(self.lately), "pages": self.pages, "articles": self.articles}


def pages_from(plain: Mapping[str, Any]) -> Pages:
    """Return the results from a mapping of :meth:`Pages.plain`. The result is empty if the mapping is
    invalid."""
    try:
        lately = deque((str(one)[:MAX_REASON] for one in plain["lately"]), maxlen=WINDOW)
        return Pages(lately, int(plain["pages"]), int(plain["articles"]))
    except (KeyError, TypeError, ValueError):
        return Pages()


def next_due(sources: Sources, sites: Collection[str] | None, now: float) -> str:
    """Return one line with the source that is due next and the number of sources that are due within the
    hour.

    Only the sources of ``sites`` count, or all sources if it is None. The text is empty without sources.
    ``now`` is in POSIX seconds.
    """
    first = sources.first_due(sites=sites)
    if first is None or first.next_due is None:
        return ""
    due = "now" if first.next_due <= now else when(first.next_due, now)
    soon, every = sources.count(due=now + 3600, sites=sites), sources.count(due=math.inf, sites=sites)
    return f"next source due: {due} ({first.url}), {soon} of {every} within the hour"


FULL_QUEUE = "queue_full"
"""The kind of the notes about sites whose queue was full. The key is the domain."""
FULL_FOR = 3600.0
"""Seconds for which such a note is shown."""


def full_queues(storage: Notes, now: float) -> dict[str, int]:
    """Return the number of waiting pages of each site whose queue was full within the last hour."""
    notes = storage.all(FULL_QUEUE)
    return {site: int(note["waiting"]) for site, note in notes.items() if now - note["at"] <= FULL_FOR}


class SiteHealth(SharedSites[Pages, str]):
    """The health of all sites of one crawl."""

    def __init__(self) -> None:
        super().__init__(NOTE_KIND, pages_from, Pages.saw, Pages.plain, most=MAX_SITES)

    def saw(self, storage: Notes, domain: str, reason: str) -> None:
        """Add the result of a page of a site. Raises :class:`newsbot.errors.DataError`."""
        self.add(storage, domain, reason)


QUIET_SECONDS = 7 * 86400.0
"""Seconds without a new link after which a source is quiet. It may be abandoned, or it rarely has new
links."""


class Health(StrEnum):
    """The state of a source."""

    OK = "ok"
    QUIET = "quiet"
    FAILING = "failing"
    DEAD = "dead"
    NEVER_POLLED = "never polled"
    UNREACHABLE = "unreachable"
    """Only for whole sites: no request to the site was ever answered."""


def health(record: SourceRecord, now: float) -> Health:
    """Return the state of a source at ``now`` (POSIX seconds)."""
    if record.failures:
        return Health.DEAD if record.failures >= DEAD_AFTER else Health.FAILING
    if record.last_poll is None:
        return Health.NEVER_POLLED
    # If a source never had a new link, the start of its quiet time is unknown. Such a source counts as quiet
    # after the second poll, which is at least one interval after the first.
    if record.last_new is None:
        return Health.QUIET if record.polls > 1 else Health.OK
    return Health.QUIET if now - record.last_new > QUIET_SECONDS else Health.OK


# --- silence
EXPECTED = 20.0
"""A silence is a problem if :func:`expected_items` returns at least this number."""
SHORTEST = 6 * HOUR
"""Minimum duration of a silence in seconds. Shorter silences are ignored."""
LONGEST_LOOK = 30 * 24
"""Expected items are counted only for this number of hours after the start of a silence."""
KNOWN_HOURS, KNOWN_ITEMS = 24.0, 10.0
"""The rhythm of a source is used only after this number of observed hours and this number of new links."""
FEWEST_ITEMS = 15.0
"""The level before a silence is known only if the weights of the remembered items add up to at least this.

The weight of an item is 1 at first, and halves every week.
"""


def is_silent(record: SourceRecord) -> bool:
    """Return True if many new links were expected since the last new one, and the last poll found none."""
    return expected_items(record) >= EXPECTED


def expected_items(record: SourceRecord) -> float:
    """Return the number of items that were expected during a source's silence, divided by its usual spread.

    The result is 0 if the last poll failed, the silence is short, or too little is known about the source.
    """
    heard, polled = record.last_new, record.last_poll
    if heard is None or polled is None or record.failures or polled - heard < SHORTEST:
        return 0.0
    rhythm = _rhythm(record)
    if rhythm is None:
        return 0.0
    return expected(rhythm, 0, heard, polled)


def expected(rhythm: Rhythm, row: int, heard: float, polled: float) -> float:
    """Return the number of expected items for one row of a rhythm, divided by its usual spread.

    ``heard`` is the time of the last new item, and ``polled`` is the time of the last poll (POSIX seconds).
    """
    if polled - heard < SHORTEST:
        return 0.0
    rows, since = np.array([row]), np.array([heard])
    until = np.array([min(polled, heard + LONGEST_LOOK * HOUR)])
    level = _level_before(rhythm, row, polled - heard)
    if not level:
        return 0.0
    hours = int((until[0] - since[0]) / HOUR) + 2
    # The rhythm gives the shape of the week. Its current level is replaced by the level before the silence.
    rates = rhythm.rates(rows, since, hours) / HOUR * level / float(rhythm.level(rows)[0])
    items = float((rates * overlaps(since, until, hours)).sum())
    return items / max(1.0, float(rhythm.spread[row]))


def _level_before(rhythm: Rhythm, row: int, silent: float) -> float:
    """Return the level (items per hour) before a silence of ``silent`` seconds; 0 if too little is known.

    The estimate of the level falls during a silence, so a long silence would look normal. Each poll in the
    silence has lowered the estimate by the same formula. The inverse formula gives the level before the
    silence.
    """
    # After some weeks of silence the weight is nearly 0, and a division by it would give meaningless numbers.
    # So it has a lower bound.
    left = max(0.5 ** (silent / HALF_LIFE), 1e-3)
    # This is the weight of the hours that the silence has added: the integral of 0.5 ** (t / HALF_LIFE) over
    # the silence.
    added = HALF_LIFE / HOUR / np.log(2) * (1 - left)
    hours = max((float(rhythm.hours[row]) - added) / left, KNOWN_HOURS)
    items = float(rhythm.items[row]) / left
    return float((items + PRIOR_ITEMS) / (hours + PRIOR_HOURS)) if items >= FEWEST_ITEMS else 0.0


def hourly(record: SourceRecord) -> float:
    """Return the number of items per hour before the current silence; 0 if too little is known."""
    rhythm = _rhythm(record)
    if rhythm is None:
        return 0.0
    return _level_before(rhythm, 0, max(0.0, (record.last_poll or 0.0) - (record.last_new or 0.0)))


def _rhythm(record: SourceRecord) -> Rhythm | None:
    rhythm = Rhythm(1)
    try:
        rhythm.take_note(0, record.rhythm)
    except (ValueError, TypeError):  # a damaged note, or one of another version
        return None
    known = float(rhythm.hours[0]) >= KNOWN_HOURS and record.new_links >= KNOWN_ITEMS
    return rhythm if known else None
