"""Decides whether the whole crawl works. The dashboard and the commands show this verdict in the same words.

:func:`read_facts` reads the state from the data, and :func:`judge` makes the verdict of it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from newsbot.apps.numbers import utc_of
from newsbot.cli.program import PROGRAM
from newsbot.cli.terminal import clean, counted, when
from newsbot.clock import DAY, system_clock
from newsbot.config.apps import active_apps, load
from newsbot.config.settings import SettingsLike
from newsbot.frontier.base import Frontier, Watch
from newsbot.pages.rules import RuleSet
from newsbot.sites.health import NOTE_KIND, full_queues, pages_from
from newsbot.sites.statistics import Run, runs
from newsbot.storage.base import HOUR, SiteRecord, SourceRecord, Storage
from newsbot.storage.notes import Notes


class State(StrEnum):
    """The state of the whole crawl."""

    IDLE = "idle"
    STARTING = "starting"
    RUNNING = "running"
    INDEXING = "indexing"
    UNREACHABLE = "unreachable"
    BROKEN = "broken"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sign:
    """A sentence for users that names a fault of a part, or work that is not done yet."""

    text: str
    since: datetime | None = None
    page: str = "/crawl"
    """Path of the page of the dashboard with details."""
    state: State | None = None
    """The state of the crawl if it does nothing else: :attr:`State.INDEXING`. None for a fault."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict on the whole crawl."""

    state: State
    text: str
    """The reason for the state, in a sentence for users."""
    since: datetime | None = None
    signs: list[Sign] = field(default_factory=list)
    """Faults of parts of the crawl, and work that is not done yet."""
    page: str = "/crawl"
    """Path of the page of the dashboard with details."""

    @property
    def is_bad(self) -> bool:
        """True if nothing can be fetched until a user acts."""
        return self.state in (State.UNREACHABLE, State.BROKEN)

    @property
    def needs_look(self) -> bool:
        """True if a part of the crawl is faulty."""
        return any(one.state is None for one in self.signs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What :func:`judge` needs to know. Times are POSIX seconds."""

    now: float
    watch: Watch
    pending: int = 0
    runs: Sequence[Run] = ()
    """The known crawls, the latest first."""
    sites: int = 0
    """Number of sites in the rules or the data."""
    sources: Mapping[str, Sequence[SourceRecord]] = field(default_factory=dict)
    """Sources that fail, by site."""
    more_fail: bool = False
    """True if more sources may fail."""
    any_works: bool = False
    """True if the last poll of any source with a next poll succeeded."""
    records: Mapping[str, SiteRecord] = field(default_factory=dict)
    last_fetch: float | None = None
    """End of the last hour in which a page was fetched."""
    articles: int = 0
    """Number of articles that were stored in the current hour."""
    signs: Sequence[Sign] = ()
    """What the apps add."""


def verdict(
    settings: SettingsLike, storage: Storage, frontier: Frontier, rules: RuleSet, now: float
) -> Verdict:
    """Return the verdict on the crawl at ``now`` (POSIX seconds).

    Raises :class:`newsbot.errors.DataError`.
    """
    signs = [
        sign
        for app in active_apps(settings.get("NEWSBOT_APPS"))
        for place in app.signs
        for sign in load(place)(settings, storage)
    ]
    return judge(read_facts(storage, frontier, rules, now, signs))


def read_facts(
    storage: Storage, frontier: Frontier, rules: RuleSet, now: float, signs: Sequence[Sign] = ()
) -> Facts:
    """Read the state of the crawl.

    The number of read records does not depend on the number of articles, and up to :data:`MOST_READ` sources
    and sites are read. Sites whose sources all work are only counted.
    """
    records = storage.sites.latest(MOST_READ)
    failing = storage.sources.failing(MOST_READ)
    sources: dict[str, list[SourceRecord]] = defaultdict(list)
    for one in failing:
        sources[one.source].append(one)
    hours = storage.activity.hours(now - 30 * DAY)
    worked = max((one.hour for one in hours if one.counts.get("fetched")), default=None)
    watch = frontier.watch()
    return Facts(
        now=now,
        watch=watch,
        pending=frontier.counts()["pending"],
        runs=runs(storage.notes),
        sites=storage.sites.count({rule.domain for rule in rules}),
        sources=sources,
        more_fail=len(failing) == MOST_READ,
        any_works=storage.sources.first_due(failures=1) is not None,
        records=records,
        # The end of the current hour is in the future.
        last_fetch=None if worked is None else min(now, (worked + 1) * HOUR),
        articles=sum(one.counts.get("articles", 0) for one in hours if one.hour == int(now) // HOUR),
        signs=signs,
    )


def judge(facts: Facts) -> Verdict:
    """Return the verdict."""
    signs = [*_signs(facts), *facts.signs]
    alive = [one for one in facts.runs if one.ended is None and one.until > facts.now]
    holding = {one.owner for one in facts.watch.workers if one.deadline >= facts.watch.now}
    cut_off = _cut_off(facts)
    last = facts.runs[0] if facts.runs else None
    if last is not None and last.reason == "no_network" and not alive and not holding:
        return Verdict(State.UNREACHABLE, cut_off or last.fault, utc_of(last.ended), signs, "/sources")
    if not alive and not holding and (broken := _broken(facts)) is not None:
        text, since = broken
        return Verdict(State.BROKEN, text, utc_of(since), signs, "/crawl#workers")
    if cut_off is not None:
        since = min(filter(None, _since_of(facts).values()), default=None)
        return Verdict(State.UNREACHABLE, cut_off, utc_of(since), signs, "/sources")
    if alive or holding:
        return _working(facts, alive, holding, signs)
    for sign in facts.signs:
        if sign.state is not None:
            return Verdict(sign.state, sign.text, None, [one for one in signs if one is not sign])
    text, since = _idle(facts)
    return Verdict(State.IDLE, text, utc_of(since), signs)


def _working(facts: Facts, alive: Sequence[Run], holding: set[str], signs: list[Sign]) -> Verdict:
    """Return the verdict on a crawl with the workers ``alive`` and those that are ``holding`` leases."""
    began = utc_of(min((one.began for one in alive), default=None))
    if alive and not holding and not any(one.fetched for one in alive):
        return Verdict(State.STARTING, "no page was read yet", began, signs)
    workers = len(holding | {one.owner for one in alive})
    text = (
        f"{counted(facts.sites, 'site')}, {counted(workers, 'worker')}, "
        f"{counted(facts.articles, 'article')} stored this hour"
    )
    return Verdict(State.RUNNING, text, began, signs)


def _idle(facts: Facts) -> tuple[str, float | None]:
    """Return why no crawl is running, and since when."""
    last = next((one for one in facts.runs if one.ended is not None), None)
    if last is None:
        if facts.last_fetch is None:
            return f"nothing was crawled yet; to start a crawl, run: {PROGRAM} crawl news", None
        return "no crawl is running", facts.last_fetch
    if last.reason == "finished":
        return "the one-off crawl finished", last.ended
    return "the crawl was stopped", last.ended


_ENDS = {
    "data_unavailable": "the crawl ended because its data could not be read",
    "data_damaged": "the crawl ended because its data are damaged",
    "start_error": "the crawl could not start",
}
"""Ends of a crawl that a user must look at, by finish reason."""


def _broken(facts: Facts) -> tuple[str, float | None] | None:
    """Return the fault and its start if no worker is left, although one should be; otherwise None."""
    dead = [one for one in facts.watch.workers if one.deadline < facts.watch.now]
    if dead:
        return _silent(len(dead)), min(one.deadline for one in dead) + facts.now - facts.watch.now
    last = facts.runs[0] if facts.runs else None
    if last is None:
        return None
    if last.ended is None:
        return _silent(1), last.until
    if last.reason in _ENDS:
        return _ENDS[last.reason], last.ended
    return None


def _silent(number: int) -> str:
    return f"{counted(number, 'worker')} stopped without notice, and no other worker is running"


MOST_READ = 1000
"""Maximum number of failing sources, and of sites, that are read for the verdict."""
LATE = 3600.0
"""The queue counts as late if its due pages are more than this number of seconds late while a crawl runs."""


def _signs(facts: Facts) -> Iterator[Sign]:
    """Yield faults of parts of the crawl, the worst first."""
    workers = facts.watch.workers
    dead = [one for one in workers if one.deadline < facts.watch.now]
    if dead and len(dead) < len(workers):
        since = min(one.deadline for one in dead) + facts.now - facts.watch.now
        text = f"{len(dead)} of {len(workers)} workers do not respond"
        yield Sign(text=text, since=utc_of(since), page="/crawl#workers")
    if len(dead) < len(workers) and facts.watch.lag > LATE:
        yield Sign(text="the queue is late", since=utc_of(facts.now - facts.watch.lag), page="/crawl#queue")
    failing = _since_of(facts)
    if failing and _cut_off(facts) is None:
        since = min(filter(None, failing.values()), default=0.0)
        sites = counted(len(failing), "site")
        more = facts.more_fail
        text = f"feeds or sitemaps of {sites} or more fail" if more else f"feeds or sitemaps of {sites} fail"
        yield Sign(text=text, since=utc_of(since or None), page="/sources")


def _since_of(facts: Facts) -> dict[str, float | None]:
    """Return the sites with a failing source or without any answer, with the start of the failures."""
    found: dict[str, float | None] = {}
    for site in {*facts.sources, *facts.records}:
        records, record = facts.sources.get(site, ()), facts.records.get(site)
        if is_unanswered(record, records):
            found[site] = record.last_error_at if record else None
        if since := [one.failing_since for one in records if one.failures]:
            found[site] = min(filter(None, since), default=None)
    return found


def is_unanswered(record: SiteRecord | None, sources: Iterable[SourceRecord]) -> bool:
    """Return True if requests to a site failed and none was ever answered.

    Its sources have no failures then: robots.txt is requested before them.
    """
    if record is None or any(one.polls or one.failures for one in sources):
        return False
    counters = record.counters
    return bool(counters.get("errors")) and not counters.get("fetched") and not counters.get("pages")


def _cut_off(facts: Facts) -> str | None:
    """Return the number of sites and the causes if no site can be reached; otherwise None."""
    if facts.any_works:
        return None
    causes: Counter[str] = Counter()
    for site in {*facts.sources, *facts.records}:
        records, record = facts.sources.get(site, ()), facts.records.get(site)
        if not records and not is_unanswered(record, records):
            if record is not None and record.counters.get("fetched"):
                return None
            continue
        if any(one.last_error not in UNREACHED for one in records):
            return None
        cause = Counter(one.last_error or "" for one in records).most_common(1)
        causes[in_words(cause[0][0] if cause else (record.last_error if record else "") or "")] += 1
    if not causes:
        return None
    listed = [cause if len(causes) == 1 else f"{cause} ({number})" for cause, number in causes.most_common(3)]
    tried_sites = causes.total()
    told, reasons = counted(tried_sites, "site"), ", ".join(listed)
    if tried_sites < facts.sites:
        return f"{tried_sites} of {told} (of {facts.sites} sites in all): {reasons}"
    return f"{tried_sites} of {told}: {reasons}"


UNREACHED: Mapping[str, str] = {
    "dns": "the host name does not resolve",
    "timeout": "no answer in time",
    "connection": "the connection fails",
    "refused": "the connection is refused",
    "tls": "the certificate is not valid",
    "proxy": "the proxy does not forward the request",
    "private_address": "the address is private",
    "robots_unreachable": "the host cannot be reached",
    "robots_failing": "the host answers with errors",
}
"""Reasons for which a host was not reached, in words for users."""


def in_words(reason: str) -> str:
    """Return a reason for which a request failed, in words for users."""
    status = reason.removeprefix("http_")
    if status != reason:
        return f"HTTP {status}"
    return UNREACHED.get(reason, reason.replace("_", " ") or "the cause is not known")


def line_of(found: Verdict, now: float) -> str:
    """Return a verdict as one line for the terminal. ``now`` is in POSIX seconds."""

    def dated(text: str, since: datetime | None) -> str:
        return clean(text) if since is None else f"{clean(text)} ({when(since.timestamp(), now)})"

    signs = (dated(one.text, one.since) for one in found.signs)
    return "; ".join([f"{found.state}: {dated(found.text, found.since)}", *signs])


def alarms(storage: Notes) -> dict[str, str]:
    """Return the alarm of each site that has an alarm."""
    found = {domain: pages_from(plain).alarm() for domain, plain in storage.all(NOTE_KIND).items()}
    full = {
        domain: f"{counted(waiting, 'page')} in the queue; the rest stays in the sitemaps until there is room"
        for domain, waiting in full_queues(storage, system_clock()).items()
    }
    return full | {domain: alarm for domain, alarm in found.items() if alarm is not None}
