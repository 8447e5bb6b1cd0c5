"""Runs rounds of alerts. A round measures, applies the rules and sends messages.

A crawl and ``scrapy serve`` run a round every few minutes. ``scrapy alerts --send`` runs one round. Only one
worker of a crawl does this at a time.

``scrapy alerts``: shows current problems and the alerts that were sent for them, and tests the outputs.

``scrapy articles save``, ``saved`` and ``forget`` keep the saved searches.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from scrapy import Spider
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured

from newsbot import backends
from newsbot.apps.alerts import rules as book
from newsbot.apps.alerts import saved
from newsbot.apps.alerts.outputs import AT_ONCE, Output, OutputError, only_log, outputs_from
from newsbot.apps.alerts.rules import (
    RULES,
    Alert,
    Entry,
    Limits,
    Measured,
    Message,
    current,
    find,
    keep_totals,
    measure,
)
from newsbot.apps.alerts.rules import Rule as AlertRule
from newsbot.apps.alerts.saved import Found
from newsbot.apps.followers.following import Follower
from newsbot.apps.numbers import iso_of
from newsbot.apps.operations.verdict import line_of, verdict
from newsbot.apps.search.articles import searching
from newsbot.apps.search.labels import NO_LABELS, Labels, open_labels
from newsbot.apps.search.query import Tagged
from newsbot.backends import open_frontier, open_rules, open_storage, stored
from newsbot.cli.command import Action, Argument, Call
from newsbot.cli.program import PROGRAM
from newsbot.cli.terminal import columns, when
from newsbot.clock import Clock, system_clock
from newsbot.config.apps import active_apps, load
from newsbot.config.settings import SettingsLike, number_of
from newsbot.crawl.assembly import Crawl
from newsbot.errors import ArgumentError, DataError, UserError
from newsbot.extensions import Extension
from newsbot.frontier.base import Frontier, owner_name
from newsbot.pages.rules.rule import Rule
from newsbot.storage.articles import Changes
from newsbot.storage.base import Storage

logger = logging.getLogger(__name__)

EVERY = 300.0
"""Seconds between two rounds if NEWSBOT_ALERT_EVERY is not set."""


@dataclass(slots=True)
class Delivery:
    """The messages for an output. ``done`` is True once the output has received them."""

    output: Output
    messages: list[Message | Found]
    done: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The settings of alerts."""

    outputs: tuple[Output, ...]
    limits: Limits
    every: float
    """Seconds between two rounds; 0 means that no rounds are run."""
    folder: Path | None
    """The data folder, whose disk is watched."""
    tagged: Tagged
    """Returns the sites of a tag, for queries of saved searches."""
    labels: Labels = NO_LABELS
    """Finds the labels of articles, for queries of saved searches."""
    rules: Mapping[str, AlertRule] = field(default_factory=lambda: RULES)
    """The alert rules by name, with those of other apps."""


def options_from(settings: SettingsLike) -> Options:
    """Return the options that the settings describe. Raises :class:`ArgumentError`."""
    given = settings.get("NEWSBOT_ALERTS_OFF") or ""
    words = given if isinstance(given, list | tuple) else str(given).replace(",", " ").split()
    rules = dict(RULES)
    for app in active_apps(settings.get("NEWSBOT_APPS")):
        rules |= {name: load(place) for name, place in app.alert_rules.items()}
    for word in words:
        if word not in rules:
            raise ArgumentError(f"NEWSBOT_ALERTS_OFF={word}: is not an alert rule ({', '.join(rules)})")
    present = backends.present_rules(settings)
    return Options(
        outputs=tuple(outputs_from(settings)),
        limits=Limits(
            lag=number_of(settings, "NEWSBOT_ALERT_LAG"),
            disk=number_of(settings, "NEWSBOT_ALERT_DISK"),
            off=frozenset(map(str, words)),
        ),
        rules=rules,
        every=number_of(settings, "NEWSBOT_ALERT_EVERY"),
        folder=backends.data_folder(settings),
        tagged=lambda tag: present.get().tagged(tag),
        labels=open_labels(settings),
    )


def check(settings: SettingsLike, rules: Iterable[Rule]) -> None:  # noqa: ARG001  (the form of all checks)
    """Raise :class:`ArgumentError` if a setting of the alerts is invalid."""
    options_from(settings)


class Watch:
    """Runs the rounds of one process. A round calls :meth:`look`, then :func:`tell`, then :meth:`note`.

    :meth:`look` and :meth:`note` use the data. :func:`tell` uses the network, so it can run in another
    thread.
    """

    def __init__(
        self, storage: Storage, frontier: Frontier, options: Options, *, owner: str, clock: Clock
    ) -> None:
        self._storage, self._frontier = storage, frontier
        self._notes = storage.notes
        self._options, self._owner, self._clock = options, owner, clock
        self._book: dict[str, book.Entry] = {}
        self.is_locked_out = False
        """True if another process held the lock at the last :meth:`look`."""

    def found(self) -> list[Alert]:
        """Return the current alerts without storing anything. Raises :class:`newsbot.errors.DataError`."""
        measured = self._measured(self._clock())
        return find(measured, self._options.limits, self._options.rules)

    def _measured(self, now: float) -> Measured:
        options = self._options
        return measure(self._storage, self._frontier, options.folder, now, options.limits.lag)

    def look(self) -> list[Delivery]:
        """Measure, apply the rules, and return the messages to send.

        The list is empty while another process holds the lock. Raises :class:`newsbot.errors.DataError`.
        """
        now = self._clock()
        # Each round renews the lock. If the process that holds it has died, another process gets it after
        # three rounds.
        seconds = 3 * (self._options.every or EVERY)
        self.is_locked_out = not book.take_lock(self._notes, self._owner, now, seconds)
        if self.is_locked_out:
            return []
        measured = self._measured(now)
        keep_totals(self._notes, measured)
        kept = book.entries(self._notes)
        self._book = book.updated(kept, find(measured, self._options.limits, self._options.rules), now)
        found = found_by_searches(self._storage, self._options, self._owner, now)
        deliveries = []
        for output in self._options.outputs:
            messages: list[Message | Found] = [
                *book.messages_for(output.name, self._book),
                *found.get(output.name, ()),
            ]
            deliveries.append(Delivery(output, messages[:AT_ONCE]))
        # The process may be killed while it sends messages, so the entries are stored first.
        book.write(self._notes, self._notes.all(book.KIND), self._book, now)
        return [one for one in deliveries if one.messages]

    def note(self, deliveries: Sequence[Delivery]) -> None:
        """Record which messages were sent.

        Raises :class:`newsbot.errors.DataError`; the messages are then sent again.
        """
        if not deliveries:  # another process may hold the lock, and its entries must not be overwritten
            return
        now = self._clock()
        told = [(one.output.name, message) for one in deliveries if one.done for message in one.messages]
        for name, message in told:
            if isinstance(message, Message):
                book.note_told(self._book, name, [message], now)
        book.write(self._notes, self._notes.all(book.KIND), self._book, now)
        note_found(self._storage, self._options, self._owner, deliveries, now)

    def leave(self) -> None:
        """Release the lock, so that another process can send alerts.

        Raises :class:`newsbot.errors.DataError`.
        """
        book.drop_lock(self._notes, self._owner)


SEARCHES_LOCK = ("alerts", "searches")
"""Name of the lock of the process that sends notices of saved searches."""
LOCK_TIMEOUT = 5.0
"""Maximum number of seconds that :class:`SearchNotices` waits for this lock."""
SENDING = 120.0
"""Maximum number of seconds for which a process keeps this lock."""


def found_by_searches(storage: Storage, options: Options, owner: str, now: float) -> dict[str, list[Found]]:
    """Match the saved searches against new articles. Return the notices to send, by name of the output.

    Nothing is returned while another process sends notices. Raises :class:`newsbot.errors.DataError`.
    """
    if not book.take_lock(storage.notes, owner, now, SENDING, SEARCHES_LOCK):
        return {}
    saved.look(storage, options.tagged, now, options.labels)
    found = {one.name: saved.messages_for(one.name, storage) for one in options.outputs}
    if not any(found.values()):
        book.drop_lock(storage.notes, owner, SEARCHES_LOCK)
    return found


def note_found(storage: Storage, options: Options, owner: str, told: Iterable[Delivery], now: float) -> None:
    """Record which notices of saved searches were sent. Raises :class:`newsbot.errors.DataError`."""
    found = [(one.output.name, message) for one in told if one.done for message in one.messages]
    notices = [(name, message) for name, message in found if isinstance(message, Found)]
    saved.note_told(storage.notes, notices, [one.name for one in options.outputs], now)
    book.drop_lock(storage.notes, owner, SEARCHES_LOCK)


class SearchNotices(Follower):
    """Sends notices of saved searches with ``at_once`` soon after articles were stored.

    It is a follower (:class:`newsbot.apps.followers.following.Follower`). The rounds of :class:`Watch` send
    the other notices, and notices that could not be sent.
    """

    def __init__(self, settings: SettingsLike, options: Options) -> None:
        self._settings, self._options = settings, options
        self._storage: Storage | None = None
        self._owner = f"{owner_name(system_clock())} searches"

    def is_idle(self) -> bool:
        """Return True if no search sends its notices at once."""
        return not self._searches()

    def position(self) -> str:
        """Return the position of a search that lacks changes; the end of the changes if none does."""
        end = self._data().articles.end_of_changes()
        return next((one.cursor for one in self._searches() if one.cursor != end), end)

    def take(self, changes: Changes) -> None:
        """Look for new articles of the searches. The searches have their own positions in the changes."""
        if not changes.found:
            return
        storage, now = self._data(), system_clock()
        # A round of alerts may hold the lock for a moment. What it does not send is sent by the next round.
        give_up = time.monotonic() + LOCK_TIMEOUT
        while not book.take_lock(storage.notes, self._owner, system_clock(), SENDING, SEARCHES_LOCK):
            if time.monotonic() > give_up:
                return
            time.sleep(0.1)
        found = found_by_searches(storage, self._options, self._owner, now)
        deliveries = [Delivery(one, [*found.get(one.name, ())][:AT_ONCE]) for one in self._options.outputs]
        deliveries = [one for one in deliveries if one.messages]
        if deliveries:
            for fault in tell(deliveries):
                logger.error("notice not sent fault=%s", fault)
            note_found(storage, self._options, self._owner, deliveries, system_clock())

    def _data(self) -> Storage:
        # The storage is opened by the thread that runs the follower, to which SQLite binds it.
        if self._storage is None:
            self._storage = backends.open_storage(self._settings)
        return self._storage

    def _searches(self) -> list[saved.SavedSearch]:
        return [one for one in saved.saved_searches(self._data().notes) if one.tell == "at_once"]

    def close(self) -> None:
        """Close the storage."""
        if self._storage is not None:
            self._storage.close()
            self._storage = None


def followers(settings: SettingsLike) -> dict[str, Follower]:
    """Return the follower of saved searches by name; nothing if alerts are off."""
    options = options_from(settings)
    return {"saved searches": SearchNotices(settings, options)} if options.every else {}


def tell(deliveries: Sequence[Delivery]) -> list[str]:
    """Send the messages, and return one line of text for each output that failed.

    The function blocks while it sends, so do not call it in the thread of the reactor.
    """
    faults = []
    for one in deliveries:
        try:
            one.output.send(one.messages)
            one.done = True
        except OutputError as error:
            faults.append(f"alerts: {one.output.name}: {error}; the alerts are sent again in the next round")
    return faults


FIRST_AFTER = 60.0
"""Maximum number of seconds from the start of the crawl to the first check.

A crawl that starts after a break finds pages that are late. When the first check runs, these pages are
already being fetched, so they do not cause an alert.
"""


class Alerts(Extension):
    """Checks for alerts and sends them.

    Settings: NEWSBOT_ALERT_EVERY (seconds between two checks; 0 means never), and the settings that say where
    alerts are sent.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        try:
            self.options = options_from(crawler.settings)
        except (ArgumentError, ValueError) as error:
            raise NotConfigured(str(error)) from error
        if not self.options.every:
            raise NotConfigured
        self._watch: Watch | None = None
        self._round: asyncio.Task[None] | None = None
        self._due = 0.0

    def spider_opened(self, spider: Spider) -> None:
        """Start the checks, if this is the spider ``news`` and the crawl stores its results."""
        crawl = Crawl.of(self.crawler)
        context = self._context = crawl.context
        if spider.name != "news" or crawl.scope.arguments.dry_run or not context.is_open:
            return
        self._watch = Watch(
            context.storage, context.frontier, self.options, owner=crawl.owner, clock=context.clock
        )
        crawl.before_close.append(self._watch.leave)
        first = min(FIRST_AFTER, self.options.every)
        self._due = context.clock() + first
        self.repeat(self._look, first)

    def spider_closed(self, spider: Spider, reason: str) -> None:
        """Stop the checks. Another worker takes over when the lock is released or, after a crash, expires."""
        super().spider_closed(spider, reason)
        if self._round is not None:
            # A thread that sends a message is not interrupted, but its result is not stored.
            self._round.cancel()

    def _look(self) -> None:
        """Start a check if it is due and the last one has ended."""
        now = self._context.clock()
        if now < self._due or (self._round is not None and not self._round.done()):
            return
        # The timer runs every ``first`` seconds, which may be shorter than NEWSBOT_ALERT_EVERY.
        self._due = now + self.options.every
        self._round = asyncio.ensure_future(self._once())

    async def _once(self) -> None:
        assert self._watch is not None
        try:
            run = Crawl.of(self.crawler).context.calls.run
            deliveries = await run(self._watch.look)
            if deliveries:
                # Sending may take long, so it runs in a thread, outside of the calls to the backends. The
                # results are stored afterwards.
                for fault in await asyncio.to_thread(tell, deliveries):
                    logger.error("alert not sent fault=%s", fault)
                await run(self._watch.note, deliveries)
        except DataError:  # the outage is logged already; the next check tries again
            return
        except Exception:
            logger.exception("the check for alerts failed; it is tried again")


TEST = Alert(
    rule="test",
    subject="newsbot",
    what="this is a test message, not a problem",
    cause=f"{PROGRAM} alerts --test was run",
    todo="nothing",
)


def alerts(call: Call) -> None:
    """Show the current problems, send them (``--send``), or send a test message (``--test``)."""
    options = options_from(call.settings)
    if call.options.test:
        now = system_clock()
        message = Message(event="test", alert=TEST, at=now)
        _tell(call, [Delivery(output, [message]) for output in options.outputs])
        return
    if call.options.send:
        _send(call, options)
        return
    with stored(call.settings) as storage, closing(open_frontier(call.settings)) as frontier:
        found = Watch(storage, frontier, options, owner="", clock=system_clock).found()
        state = verdict(call.settings, storage, frontier, open_rules(call.settings), system_clock())
        sent = {entry.alert.key: entry for entry in current(storage.notes)}
    # The alerts that remain in `sent` were sent, but their problems were not found this time. These alerts
    # will end soon.
    shown = [(one, sent.pop(one.key, None), True) for one in found]
    shown += [(entry.alert, entry, False) for entry in sent.values()]
    now = time.time()
    if not call.json:
        call.note(line_of(state, now))
    call.listing(
        [_plain(*one) for one in shown],
        columns("rule | about | since > | told | what * | likely cause * | what to do *"),
        (
            (
                *(alert.rule, alert.subject, when(_since(alert, entry), now)),
                *(", ".join(entry.told if entry else ()) or "no", alert.what, alert.cause, alert.todo),
            )
            for alert, entry, _ in shown
        ),
        empty=f"no alerts; outputs: {', '.join(output.name for output in options.outputs)}",
    )


def _send(call: Call, options: Options) -> None:
    """Check once and send the messages, as a running crawl does.

    This is for cron jobs on machines where no crawl runs continuously.
    """
    with closing(open_storage(call.settings)) as storage, closing(open_frontier(call.settings)) as frontier:
        watch = Watch(storage, frontier, options, owner=owner_name(system_clock()), clock=system_clock)
        deliveries = watch.look()
        if watch.is_locked_out:
            call.note(
                f"a crawl or {PROGRAM} serve is sending the alerts; if it was killed, try again in 15 minutes"
            )
        try:
            _tell(call, deliveries)
        finally:
            # The deliveries are recorded even if an output failed. Otherwise the other outputs would send
            # their messages again.
            watch.note(deliveries)
            watch.leave()


def _tell(call: Call, deliveries: list[Delivery]) -> None:
    """Send the messages and print the result. Raises :class:`UserError` if an output failed."""
    faults = tell(deliveries)
    if call.json:
        rows = [
            {"output": one.output.name, "messages": len(one.messages), "told": one.done} for one in deliveries
        ]
        call.document(rows)
    for one in deliveries:
        if one.done and not call.json:
            call.note(f"{one.output.name}: {len(one.messages)} sent")
    if faults:
        raise UserError("\n".join(faults))


def _since(alert: Alert, entry: Entry | None) -> float | None:
    return alert.since if alert.since is not None or entry is None else entry.alert.since


def _plain(alert: Alert, entry: Entry | None, found_now: bool) -> dict[str, Any]:
    """Return an alert as a JSON-serializable dict.

    ``found_now`` is False if the alert was sent before, but the rules no longer find the problem.
    """
    return {
        "rule": alert.rule,
        "subject": alert.subject,
        "what": alert.what,
        "since": iso_of(_since(alert, entry)),
        "cause": alert.cause,
        "todo": alert.todo,
        "told": {name: iso_of(at) for name, at in entry.told.items()} if entry else {},
        "found_now": found_now,
    }


def save(call: Call) -> None:
    """Save a search under a name."""
    options = call.options
    with closing(open_storage(call.settings)) as storage:
        kept = saved.save(
            storage, options.name, options.query, options.tell, system_clock(), fields=options.fields
        )
    with searching(call.settings) as articles:
        for note in articles.explain(kept.query, found=True):
            call.note(note)
    call.note(f"{kept.name}: saved; notices: {kept.tell}")
    if kept.tell != "off" and (hint := only_log(call.settings)):
        call.note(f"{kept.name}: {hint}")


def list_saved(call: Call) -> None:
    """List saved searches."""
    with stored(call.settings) as storage:
        found = saved.saved_searches(storage.notes)
    call.listing(
        [one.plain() for one in found],
        columns("name * | tells | notices > | query *"),
        ((one.name, one.tell, one.number, one.query) for one in found),
        empty=f"no search is saved; to save one, run: {PROGRAM} articles save NAME QUERY --tell daily",
    )


def forget(call: Call) -> None:
    """Delete a saved search."""
    with stored(call.settings) as storage:
        if not saved.forget(storage.notes, call.options.name):
            raise UserError(
                f"{call.options.name}: no saved search has this name; see: {PROGRAM} articles saved"
            )
    call.note(f"{call.options.name}: deleted")


ACTIONS = (
    Action(
        "",
        "Show current problems with start, likely cause and remedy, without sending alerts",
        alerts,
        Argument("--test", action="store_true", help="send a test message to all outputs"),
        Argument("--send", action="store_true", help="send the alerts that have not been sent yet"),
    ),
)
