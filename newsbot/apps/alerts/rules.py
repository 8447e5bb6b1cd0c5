"""The alert rules and their thresholds, and the measurements that they need.

Rules are pure functions from measurements to alerts. :func:`measure` reads the measurements from the data.

Open and sent alerts are stored as notes, so that the beginning and the end of each alert are sent once.

An alert is over if :data:`CALM_ROUNDS` rounds in a row did not find it. If an output fails, only this output
gets the message again in the next round. Only one process sends at a time. It holds a lock: a note that is
swapped atomically. The lock expires if the process does not renew it.

In the notes, ``told`` means that an output has received a message.
"""

from __future__ import annotations

import logging
import math
import shutil
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from newsbot.apps.numbers import iso_of, utc_of
from newsbot.apps.operations.verdict import Sign, alarms, in_words
from newsbot.cli.program import PROGRAM
from newsbot.cli.terminal import counted, one_line
from newsbot.clock import DAY
from newsbot.errors import DataError
from newsbot.frontier.base import Frontier
from newsbot.recrawl.planning import DEAD_AFTER, HOUR
from newsbot.sites.health import ENOUGH, NOTE_KIND, Pages, full_queues, hourly, pages_from
from newsbot.storage.base import SiteRecord, SourceRecord, Storage
from newsbot.storage.notes import NoteName, Notes

logger = logging.getLogger(__name__)

TOTALS = ("alerts_totals", "all")
"""Kind and key of the note with the hourly totals of the last days."""
KEPT_HOURS = 8 * 24
"""Maximum number of hourly totals that are kept."""


@dataclass(frozen=True, slots=True)
class Total:
    """Sums over all sites at the time ``at`` (POSIX seconds).

    ``pages`` is the number of fetched pages, without feeds, sitemaps and sections. ``articles`` is the number
    of these pages that contained an article.
    """

    at: float
    pages: float
    articles: float


@dataclass(slots=True, kw_only=True)
class Measured:
    """All measurements of one round. Times are POSIX seconds."""

    now: float
    sources: Mapping[str, list[SourceRecord]] = field(default_factory=dict)
    """All sources of each site that may be in trouble (:meth:`newsbot.storage.base.Sources.troubled`), by
    domain."""
    active: int = 0
    """Number of sites in the data."""
    alive: int = 0
    """Number of sources that have a next poll and are not dead."""
    late: int = 0
    """Number of these sources that should have been polled ``Limits.lag`` seconds ago or earlier."""
    first_due: float | None = None
    """The earliest time at which one of these sources is due."""
    sites: Mapping[str, SiteRecord] = field(default_factory=dict)
    pages: Mapping[str, Pages] = field(default_factory=dict)
    """Outcomes of the last pages, by domain of their site."""
    totals: list[Total] = field(default_factory=list)
    """One total per hour, oldest first; the last one is the current total."""
    pending: int = 0
    workers: int = 0
    """Number of workers that hold leases."""
    full_queues: Mapping[str, int] = field(default_factory=dict)
    """Number of waiting pages of each site whose queue was full within the last hour."""
    disk_free: float | None = None
    """Free bytes on the disk of the data folder; None if unknown."""


def measure(storage: Storage, frontier: Frontier, folder: Path | None, now: float, lag: float) -> Measured:
    """Return the current measurements. ``folder`` is the data folder; ``now`` is in POSIX seconds.

    ``lag`` is :attr:`Limits.lag`. Raises :class:`newsbot.errors.DataError`.
    """
    notes = storage.notes
    sources: dict[str, list[SourceRecord]] = defaultdict(list)
    for record in storage.sources.troubled(FAILED_POLLS):
        sources[record.source].append(record)
    late = storage.sources.count(failures=DEAD_AFTER, due=now - lag)
    first = storage.sources.first_due(failures=DEAD_AFTER) if late else None
    sites = storage.sites.all()
    return Measured(
        now=now,
        sources=dict(sources),
        active=storage.sites.count(),
        alive=storage.sources.count(failures=DEAD_AFTER, due=math.inf) if late else 0,
        late=late,
        first_due=first.next_due if first else None,
        sites=sites,
        pages={domain: pages_from(plain) for domain, plain in notes.all(NOTE_KIND).items()},
        totals=[*_kept(notes), _total(sites, now)],
        pending=frontier.counts()["pending"],
        workers=len(frontier.owners()),
        full_queues=full_queues(notes, now),
        disk_free=_free(folder),
    )


def keep_totals(notes: Notes, measured: Measured) -> None:
    """Store the current total, unless one was stored within the last hour.

    Raises :class:`newsbot.errors.DataError`.
    """
    *kept, latest = measured.totals
    if kept and latest.at - kept[-1].at < HOUR:
        return
    rows = [[one.at, one.pages, one.articles] for one in [*kept, latest][-KEPT_HOURS:]]
    notes.save(*TOTALS, {"rows": rows})


def _kept(notes: Notes) -> list[Total]:
    rows: Any = notes.all(TOTALS[0]).get(TOTALS[1], {}).get("rows", [])
    try:
        return [Total(float(at), float(pages), float(articles)) for at, pages, articles in rows]
    except (TypeError, ValueError):  # a note of another version is replaced
        return []


def _total(sites: Mapping[str, SiteRecord], now: float) -> Total:
    counters = [site.counters for site in sites.values()]
    return Total(
        now,
        sum(one.get("pages", 0) for one in counters),
        sum(one.get("article_pages", 0) for one in counters),
    )


def _free(folder: Path | None) -> float | None:
    if folder is None:
        return None
    try:
        return float(shutil.disk_usage(folder).free)
    except OSError:
        return None


Event = Literal["began", "over", "test"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """A problem, described for users. Times are POSIX seconds."""

    rule: str
    subject: str
    """The domain of a site, ``crawl``, or ``disk``."""
    what: str
    """The problem in one sentence."""
    cause: str
    """The likely cause."""
    todo: str
    """What the operator should do."""
    since: float | None = None
    """Time at which the problem began; None if it is unknown."""

    @property
    def key(self) -> str:
        """The identity of the alert. Alerts with the same rule and the same subject have the same key."""
        return f"{self.rule}/{self.subject}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A message about the beginning or the end of an alert. ``at`` is in POSIX seconds."""

    event: Event
    alert: Alert
    at: float

    def plain(self) -> dict[str, Any]:
        """Return a dict for JSON with times in ISO 8601."""
        times = {"at": iso_of(self.at), "since": iso_of(self.alert.since)}
        return asdict(self.alert) | {"event": self.event} | times

    @property
    def title(self) -> str:
        """The first line: event, subject and rule."""
        word = {"began": "ALERT", "over": "over", "test": "test"}[self.event]
        return f"{word}: {self.alert.subject}: {self.alert.rule}"

    @property
    def line(self) -> str:
        """The text for the log, in one line."""
        alert = self.alert
        words = (("what", alert.what), ("cause", alert.cause), ("todo", alert.todo))
        pairs = " ".join(f"{name}={one_line(word)!r}" for name, word in words)
        return f"event={self.event} rule={alert.rule} subject={alert.subject} {pairs}"

    @property
    def letter(self) -> str:
        """The text of an e-mail."""
        return self.text

    @property
    def text(self) -> str:
        """The whole message in a few lines."""
        alert = self.alert
        since = "" if alert.since is None else f"\nsince: {iso_of(alert.since)}"
        if self.event == "over":
            return f"{self.title}\nit was: {alert.what}{since}\nover: {iso_of(self.at)}"
        return f"{self.title}\n{alert.what}{since}\nlikely cause: {alert.cause}\nwhat to do: {alert.todo}"


REFUSALS = frozenset({"http_401", "http_402", "http_403", "http_429", "http_451"})
FAILED_POLLS = 3
"""A site counts as failing if each of its sources had at least this number of failed polls in a row."""
FAILING_FOR = 3600.0
"""A site counts as failing only if each of its sources has failed for at least this number of seconds."""
REFUSED_SHARE = 0.5
"""A site counts as refusing if at least this share of its last pages was refused."""
STORM_SITES, STORM_SHARE = 5, 0.25
"""If at least this number and this share of the sites refuse, one alert is raised for all these sites."""
FRESH = 3 * DAY
"""Maximum age in seconds of a refusal. Older refusals are ignored."""
FELL_TO = 0.6
"""An alert is raised if the useful share of the last day is below this factor times that of the week before.

The useful share is the share of fetched pages that contained an article.
"""
FEWEST_PAGES = 200
"""The shares are compared only if the last day and the week before each have this number of pages or more."""
LATE_SHARE = 0.1
"""An alert is raised if at least this share of the sources is late."""
NAMED = 5
"""Maximum number of sites or sources that a text names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The thresholds that settings can change."""

    lag: float = 6 * 3600.0
    """Maximum number of seconds by which polls may be late."""
    disk: float = 1024.0
    """Minimum free disk space in MiB."""
    off: frozenset[str] = frozenset()
    """Names of rules that are switched off."""


def find(measured: Measured, limits: Limits, rules: Mapping[str, Rule] | None = None) -> list[Alert]:
    """Return the alerts of all rules that are on, in their order. By default these are :data:`RULES`.

    A rule that fails is logged. Only its alerts are missing.
    """
    found: list[Alert] = []
    for name, rule in (RULES if rules is None else rules).items():
        if name not in limits.off:
            try:
                found += rule(measured, limits)
            except DataError:
                raise
            except Exception:
                logger.exception("alert rule=%s failed", name)
    return found


def silent(measured: Measured, _limits: Limits) -> Iterator[Alert]:
    """Yield sites whose most important sources have had no new items for an unusually long time.

    Together, these sources usually have at least half of the site's items.
    """
    for site, records in measured.sources.items():
        quiet = [one for one in records if one.silent]
        if not quiet:
            continue
        rates = {one.url: hourly(one) for one in records}
        lost = sum(rates[one.url] for one in quiet)
        # If all other sources usually have more than half of the items, most articles are still found.
        if 2 * lost < sum(rates.values()):
            continue
        last = max(one.last_new or 0.0 for one in quiet)
        yield Alert(
            rule="silent",
            subject=site,
            what=f"no new links from {_some(quiet)}; usually there are {lost:.1f} per hour",
            since=last,
            cause="the site publishes elsewhere, or its feed or section page has changed",
            todo=f"open the site in a browser; new sources can be found with {PROGRAM} rules new {site}",
        )


def failing(measured: Measured, _limits: Limits) -> Iterator[Alert]:
    """Yield sites whose sources all fail."""
    for site, records in measured.sources.items():
        polled = [one for one in records if one.last_poll is not None or one.failures]
        since = [one.failing_since for one in polled if one.failing_since is not None]
        # If a single source works, the site is not failing.
        if not polled or len(since) < len(polled) or any(one.failures < FAILED_POLLS for one in polled):
            continue
        # The site as a whole has been failing since the time at which the last source began to fail.
        if measured.now - max(since) < FAILING_FOR:
            continue
        causes = Counter(one.last_error or "unknown" for one in polled)
        cause = causes.most_common(1)[0][0]
        if cause in REFUSALS:
            continue  # reported by the rule "refused"
        yield Alert(
            rule="failing",
            subject=site,
            what=f"every source fails: {_some(polled)} ({', '.join(map(in_words, causes))})",
            since=min(since),
            cause=_CAUSES.get(cause, "the site is down or has moved, or this machine is offline"),
            todo=f"run {PROGRAM} sources {site}, open the site in a browser, and correct rules/{site}.yaml",
        )


def extraction(measured: Measured, _limits: Limits) -> Iterator[Alert]:
    """Yield sites whose pages no longer contain articles that can be extracted."""
    for site, pages in measured.pages.items():
        alarm = pages.alarm()
        # The pages of a site that refuses the crawler have no articles either. The rule "refused" reports
        # such a site.
        if alarm is None or _refused_share(measured, site) >= REFUSED_SHARE:
            continue
        what, _, cause = alarm.partition(": ")
        yield Alert(
            rule="extraction",
            subject=site,
            what=what,
            cause=cause,
            todo=f"run {PROGRAM} why URL for a page, {PROGRAM} rules test {site}; correct rules/{site}.yaml",
        )


def refused(measured: Measured, _limits: Limits) -> Iterator[Alert]:
    """Yield sites that refuse the crawler (HTTP 401, 402, 403, 429, 451).

    If many sites refuse at the same time, the cause is probably on our side, so there is one alert for all
    these sites.
    """
    sites = sorted(site for site in measured.sites if _is_refused(measured, site))
    active = measured.active
    # It is unlikely that independent sites begin to refuse the crawler at the same time.
    if len(sites) >= STORM_SITES and len(sites) >= STORM_SHARE * active:
        yield Alert(
            rule="refused",
            subject="crawl",
            what=f"{len(sites)} of {active} sites refuse the crawler: {', '.join(sites[:NAMED])}, …",
            cause="the IP address or the user agent of this crawler is on a blocklist that many sites use",
            todo="set NEWSBOT_CONTACT, ask the sites, and raise delay in rules/_defaults.yaml",
        )
        return
    for site in sites:
        last = measured.sites[site].last_error
        yield Alert(
            rule="refused",
            subject=site,
            what=f"{_refused_share(measured, site):.0%} of the last pages and polls were refused ({last})",
            cause="the site limits or forbids crawlers",
            todo=f"set NEWSBOT_CONTACT, ask the site, and raise delay in rules/{site}.yaml",
        )


def useful(measured: Measured, _limits: Limits) -> Iterator[Alert]:
    """Yield an alert if the useful share of the last day is much lower than that of the week before."""
    latest = measured.totals[-1] if measured.totals else None
    day_ago = next((one for one in measured.totals if one.at >= measured.now - DAY), None)
    first = measured.totals[0] if measured.totals else None
    # If the oldest total is less than a day old, there is no earlier period for the comparison.
    if latest is None or day_ago is None or first is None or day_ago is first:
        return
    now, before = _share(day_ago, latest), _share(first, day_ago)
    if now is None or before is None or now >= FELL_TO * before:
        return
    yield Alert(
        rule="useful",
        subject="crawl",
        what=f"{now:.0%} of the pages of the last day contained an article, {before:.0%} in the week before",
        since=day_ago.at,
        cause="large sites have changed their layouts or URLs, or pages are cookie or log-in walls",
        todo=f"find the sites with {PROGRAM} sources, and what happened to a page with {PROGRAM} why URL",
    )


def lag(measured: Measured, limits: Limits) -> Iterator[Alert]:
    """Yield an alert if many polls are late because no crawl is running or there are too few workers."""
    # Dead sources are polled rarely, so they are not late.
    late, alive, first = measured.late, measured.alive, measured.first_due
    if first is None or late < LATE_SHARE * alive:
        return
    idle = measured.workers == 0
    yield Alert(
        rule="lag",
        subject="crawl",
        what=f"{late} of {counted(alive, 'source')} are more than {limits.lag / 3600:g} h late; "
        f"the queue holds {counted(measured.pending, 'URL')}",
        since=first + limits.lag,
        cause="no crawl is running" if idle
        else f"only {counted(measured.workers, 'worker')} running, or hosts are paused",
        todo=f"start a crawl: {PROGRAM} crawl news -a mode=continuous" if idle
        else f"start more workers, or raise NEWSBOT_POLL_BUDGET if they are idle (see {PROGRAM} sources)",
    )  # fmt: skip


def disk(measured: Measured, limits: Limits) -> Iterator[Alert]:
    """Yield an alert if the disk of the data folder is nearly full."""
    free = measured.disk_free
    if free is None or free >= limits.disk * 2**20:
        return
    yield Alert(
        rule="disk",
        subject="disk",
        what=f"only {free / 2**20:.0f} MiB are free on the disk of the data folder",
        cause="the disk is filled by articles and pages, or by other files",
        todo="free disk space, or move the data (NEWSBOT_DATA). A full disk stops crawls; data are not lost",
    )


def queue(measured: Measured, _limits: Limits) -> Iterator[Alert]:
    """Yield sites with as many waiting pages as NEWSBOT_QUEUE_PER_SITE allows."""
    for site, waiting in measured.full_queues.items():
        yield Alert(
            rule="queue",
            subject=site,
            what=f"{counted(waiting, 'page')} of the site are in the queue; more links stay in its sitemaps",
            cause="the site has a large archive, or its sitemaps list pages without end",
            todo=f"exclude pages with deny in rules/{site}.yaml, or raise NEWSBOT_QUEUE_PER_SITE",
        )


Rule = Callable[[Measured, Limits], Iterator[Alert]]
RULES: dict[str, Rule] = {
    one.__name__: one for one in (silent, failing, extraction, refused, useful, lag, queue, disk)
}
_CAUSES = {
    "dns": "the host name does not resolve: the site has moved, or the DNS server is unreachable",
    "tls": "the certificate of the site is not valid (to crawl it anyway, set tls: in its rule)",
    "robots": "robots.txt now forbids pages that it allowed before",
    "http_404": "the URLs of its feeds have changed",
    "http_410": "the URLs of its feeds have changed",
    "too_large": "the feed is larger than NEWSBOT_SOURCE_MAXSIZE",
}


def _is_refused(measured: Measured, site: str) -> bool:
    at = measured.sites[site].last_error_at
    return (
        at is not None
        and measured.now - at <= FRESH
        and _refused_share(measured, site) >= REFUSED_SHARE
    )  # fmt: skip


def _refused_share(measured: Measured, site: str) -> float:
    """Return the share of the last pages that were refused (0 to 1). It is 1 if every source refuses."""
    polled = [one for one in measured.sources.get(site, []) if one.last_poll is not None or one.failures]
    if polled and all(one.failures >= FAILED_POLLS and one.last_error in REFUSALS for one in polled):
        return 1.0
    pages = measured.pages.get(site)
    if pages is None or len(pages.lately) < ENOUGH:
        return 0.0
    return sum(one in REFUSALS for one in pages.lately) / len(pages.lately)


def _share(since: Total, until: Total) -> float | None:
    pages = until.pages - since.pages
    return None if pages < FEWEST_PAGES else (until.articles - since.articles) / pages


def _some(records: list[SourceRecord]) -> str:
    """Return the URLs of the first few sources as text, with the number of further sources."""
    named = ", ".join(one.url for one in records[:NAMED])
    return named if len(records) <= NAMED else f"{named} and {len(records) - NAMED} more"


KIND = "alerts"
LOCK = ("alerts_lock", "lock")
CALM_ROUNDS = 2
"""An alert is over after this number of rounds in a row that did not find it."""
GIVE_UP = 86400.0
"""Seconds after which the unsent end of an alert is dropped."""
MAX_ALERTS = 1000
"""Maximum number of alerts that are kept. Further alerts wait for later rounds."""
MAX_TEXT = 2000
"""Maximum number of characters of each text of an alert."""


@dataclass(slots=True, kw_only=True)
class Entry:
    """An alert and its messages, from its first round to its end. Times are POSIX seconds."""

    alert: Alert
    first: float
    last: float
    missing: int = 0
    """Number of rounds in a row that did not find the alert."""
    over: float | None = None
    """Time at which the alert ended; None while it is open."""
    told: dict[str, float] = field(default_factory=dict)
    """Time at which each output received the beginning of the alert, by name of the output."""
    told_over: dict[str, float] = field(default_factory=dict)
    """Time at which each output received the end of the alert, by name of the output."""


def entry_from(plain: Mapping[str, Any]) -> Entry | None:
    """Return the entry in a note. Return None if the note is invalid; the rules then find the alert again."""
    try:
        return Entry(**{**plain, "alert": Alert(**plain["alert"])})
    except (KeyError, TypeError):
        return None


def entries(notes: Notes) -> dict[str, Entry]:
    """Return all stored entries, by key of their alert. Raises :class:`newsbot.errors.DataError`."""
    read = {key: entry_from(plain) for key, plain in notes.all(KIND).items()}
    return {key: entry for key, entry in read.items() if entry is not None}


def current(notes: Notes) -> list[Entry]:
    """Return the open alerts, latest first. Raises :class:`newsbot.errors.DataError`."""
    found = [entry for entry in entries(notes).values() if entry.over is None]
    return sorted(found, key=lambda entry: (-entry.first, entry.alert.key))


def signs(_settings: object, storage: Storage) -> Iterator[Sign]:
    """Yield the number of alerts, and of sites whose figures have fallen, for the verdict on the crawl."""
    alerts = [entry.alert for entry in current(storage.notes)]
    number = len(alerts) + len(alarms(storage.notes).keys() - {one.subject for one in alerts})
    if number:
        since = min((one.since for one in alerts if one.since is not None), default=None)
        yield Sign(text=counted(number, "alert"), since=utc_of(since))


def updated(kept: Mapping[str, Entry], found: Sequence[Alert], now: float) -> dict[str, Entry]:
    """Return the entries after a round that found these alerts.

    ``kept`` contains the entries before the round.
    """
    after: dict[str, Entry] = {}
    for alert in map(_bounded, found):
        known = kept.get(alert.key)
        if known is None:
            if len(kept) + len(after) < MAX_ALERTS:
                since = now if alert.since is None else alert.since
                after[alert.key] = Entry(alert=replace(alert, since=since), first=now, last=now)
            continue
        # If a rule does not know when the problem began, the time of the first round is kept.
        began = known.alert.since if alert.since is None else alert.since
        # An alert that has ended can still be stored, because its end has not been sent yet. If a round finds
        # such an alert again, it is open again.
        after[alert.key] = replace(
            known, alert=replace(alert, since=began), last=now, missing=0, over=None, told_over={}
        )
    for key, entry in kept.items():
        if key in after:
            continue
        missing = entry.missing + 1
        over = now if entry.over is None and missing >= CALM_ROUNDS else entry.over
        after[key] = replace(entry, missing=missing, over=over)
    return after


def messages_for(output: str, book: Mapping[str, Entry]) -> list[Message]:
    """Return the messages that an output has not received, oldest first.

    The end of an alert is sent only to outputs that received its beginning.
    """
    found = []
    for entry in sorted(book.values(), key=lambda one: (one.first, one.alert.key)):
        if entry.over is None and output not in entry.told:
            found.append(Message(event="began", alert=entry.alert, at=entry.first))
        elif entry.over is not None and output in entry.told and output not in entry.told_over:
            found.append(Message(event="over", alert=entry.alert, at=entry.over))
    return found


def note_told(book: Mapping[str, Entry], output: str, messages: Iterable[Message], now: float) -> None:
    """Record in ``book`` that an output received these messages."""
    for message in messages:
        entry = book[message.alert.key]
        (entry.told if message.event == "began" else entry.told_over)[output] = now


def write(notes: Notes, before: Mapping[str, Any], book: Mapping[str, Entry], now: float) -> None:
    """Store the entries that have changed, and delete the entries that are done (:func:`_done`).

    ``before`` contains the stored notes by key, and ``book`` contains the new entries. Raises
    :class:`newsbot.errors.DataError`.
    """
    done = set(_done(book, now))
    for key, entry in book.items():
        note = asdict(entry)
        if key not in done and before.get(key) != note:
            notes.save(KIND, key, note)
    for key in before:
        if key in done or key not in book:
            notes.forget(KIND, key)


def take_lock(notes: Notes, owner: str, now: float, seconds: float, lock: NoteName = LOCK) -> bool:
    """Take or renew a lock for ``seconds``. Return False if another process holds it.

    Raises :class:`newsbot.errors.DataError`.
    """
    held = notes.all(lock[0]).get(lock[1])
    if held is not None and held.get("owner") != owner:
        until = held.get("until")
        # A lock that ends after now + 2 * seconds can only come from a machine with a wrong clock. It is
        # ignored, because otherwise no process would send alerts until that time.
        if isinstance(until, int | float) and now < until <= now + 2 * seconds:
            return False
    # If two processes find the lock free, the swap succeeds for only one of them.
    return notes.swap(*lock, held, {"owner": owner, "until": now + seconds})


def drop_lock(notes: Notes, owner: str, lock: NoteName = LOCK) -> None:
    """Release a lock if this process holds it. Raises :class:`newsbot.errors.DataError`."""
    held = notes.all(lock[0]).get(lock[1])
    if held is not None and held.get("owner") == owner:
        notes.swap(*lock, held, {"owner": "", "until": 0})


def _done(book: Mapping[str, Entry], now: float) -> Iterator[str]:
    """Yield the keys of ended alerts that are no longer needed.

    All outputs have received the end of the alert, or the end is too old to be sent.
    """
    for key, entry in book.items():
        if entry.over is not None and (set(entry.told) <= set(entry.told_over) or now - entry.over > GIVE_UP):
            yield key


def _bounded(alert: Alert) -> Alert:
    texts = {name: getattr(alert, name)[:MAX_TEXT] for name in ("what", "cause", "todo")}
    return replace(alert, subject=alert.subject[:300], **texts)
