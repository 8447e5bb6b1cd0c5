"""Whether a site still gives articles as it used to: its last pages compared with all before them."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from newsbot.recrawl.planning import DEAD_AFTER
from newsbot.storage.notes import Notes
from newsbot.storage.shared_notes import SharedNotes
from newsbot.storage.sources import SourceRecord

NOTE_KIND = "health"
WINDOW = 40
"""Pages that "lately" means."""
ENOUGH = 20
"""Pages lately, and before, without which nothing is said."""
CLIFF = 0.5
"""A share is alarming when it fell below so much of what it was."""
USUAL = 0.4
"""Sites with a smaller share never were good: that is no fall."""
MAX_REASON = 40
MAX_SITES = 5000

_CAUSES = (
    (("http_404", "http_410"), "addresses changed: scrapy rules learn, scrapy rules new"),
    (
        ("http_401", "http_403", "http_429", "http_451"),
        "the site refuses the crawler (NEWSBOT_CONTACT, delay)",
    ),
    (("robots", "robots_unreachable"), "robots.txt forbids what it allowed"),
    (("http_5xx", "timeout", "dns", "connection", "refused", "tls"), "the site is down or moved"),
    (("too_large", "not_html", "binary"), "addresses lead to files: a deny pattern"),
)
_LAYOUT = "the layout changed, or pages are walls: scrapy rules test, extract, layouts"


@dataclass(slots=True)
class Pages:
    """What pages of one site were that were fetched as articles: "" for an article, else why none."""

    lately: deque[str] = field(default_factory=lambda: deque(maxlen=WINDOW))
    pages: int = 0
    """Pages before those."""
    articles: int = 0
    """Articles among them."""

    def saw(self, reason: str) -> None:
        """Add a page."""
        if len(self.lately) == WINDOW:
            self.pages += 1
            self.articles += not self.lately[0]
        self.lately.append(reason[:MAX_REASON])

    def alarm(self) -> str | None:
        """Return what happened and the likely cause, in one line; None if all is as it was."""
        if len(self.lately) < ENOUGH or self.pages < ENOUGH:
            return None
        before = self.articles / self.pages
        now = self.lately.count("") / len(self.lately)
        if before < USUAL or now >= before * CLIFF:
            return None
        reason, number = Counter(one for one in self.lately if one).most_common(1)[0]
        cause = next((text for reasons, text in _CAUSES if reason in reasons), _LAYOUT)
        return (
            f"articles in {now:.0%} of the last {len(self.lately)} pages, {before:.0%} before; "
            f"mostly {reason} ({number}): {cause}"
        )

    def plain(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return {"lately": list(self.lately), "pages": self.pages, "articles": self.articles}


def pages_from(plain: Mapping[str, Any]) -> Pages:
    """Return what :meth:`Pages.plain` gave; what cannot be read counts as nothing seen."""
    try:
        lately = deque((str(one)[:MAX_REASON] for one in plain["lately"]), maxlen=WINDOW)
        return Pages(lately, int(plain["pages"]), int(plain["articles"]))
    except (KeyError, TypeError, ValueError):
        return Pages()


def alarms(storage: Notes) -> dict[str, str]:
    """Return the alarm of each site that has one."""
    found = {domain: pages_from(plain).alarm() for domain, plain in storage.all(NOTE_KIND).items()}
    return {domain: alarm for domain, alarm in found.items() if alarm is not None}


class SiteHealth:
    """The sites of one crawl."""

    def __init__(self) -> None:
        self._sites: dict[str, Pages] = {}
        self._new: dict[str, list[str]] = {}
        """What pages were since the last writing."""
        self._kept: dict[str, dict[str, Any]] | None = None

    def saw(self, storage: Notes, domain: str, reason: str) -> None:
        """Add a page of a site. Raises :class:`newsbot.errors.DataError` when what is kept cannot be read."""
        if self._kept is None:
            self._kept = storage.all(NOTE_KIND)
        if domain not in self._sites and len(self._sites) < MAX_SITES:
            self._sites[domain] = pages_from(self._kept.pop(domain, {}))
        if domain in self._sites:
            self._sites[domain].saw(reason)
            self._new.setdefault(domain, []).append(reason)

    def write(self, storage: Notes, is_out: Callable[[str], bool] = lambda _: False) -> None:
        """Add what has come to what all workers saw, but of sites that ``is_out`` names: they were taken out.

        Raises :class:`newsbot.errors.DataError`; what could not be written is written next time.
        """
        for domain in [one for one in self._new if is_out(one)]:
            del self._new[domain]
        for domain, note in _SHARED.write(storage, self._new).items():
            self._sites[domain] = pages_from(note)
            del self._new[domain]


def _with_pages(note: dict[str, Any] | None, reasons: list[str]) -> dict[str, Any]:
    pages = pages_from(note or {})
    for reason in reasons:
        pages.saw(reason)
    return pages.plain()


_SHARED = SharedNotes(NOTE_KIND, _with_pages)


QUIET_SECONDS = 7 * 86400.0
"""Without a new link for so long a source is quiet: it may be dead, or only slow."""


class Health(StrEnum):
    """The verdict."""

    OK = "ok"
    QUIET = "quiet"
    FAILING = "failing"
    DEAD = "dead"
    NEVER_POLLED = "never polled"


def health(record: SourceRecord, now: float) -> Health:
    """Return how the source does at ``now`` (POSIX seconds)."""
    if record.failures:
        return Health.DEAD if record.failures >= DEAD_AFTER else Health.FAILING
    if record.last_poll is None:
        return Health.NEVER_POLLED
    # A source without any new link yet is quiet only if it is older than that; its age is not known,
    # but one poll an interval is, so a second poll is asked for.
    if record.last_new is None:
        return Health.QUIET if record.polls > 1 else Health.OK
    return Health.QUIET if now - record.last_new > QUIET_SECONDS else Health.OK
